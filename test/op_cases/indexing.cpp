// Rows of the ops of <reel/ops/indexing.hpp>.
#include <algorithm>
#include <reel/ops/indexing.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;
using Ints = std::vector<std::int64_t>;

Tensor numbers(const Ints& list) { return from_data(list); }
Tensor grid(const Ints& list, const Shape& shape) { return reshape(from_data(list), shape); }
std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }

// y with f(element, value, first) at the elements that `place` returns for each index of the values. `first` is true at
// the first visit of an element.
template <class Place, class F>
Array updated(Array y, const Array& values, const Shape& region, const Place& place, const F& f) {
  std::vector<Index> seen;
  for_each_index(region, [&](const Index& i) {
    Index from(i.end() - values.shape.rank(), i.end());
    for (std::size_t d = 0; d < from.size(); ++d)
      if (values.shape[static_cast<std::int64_t>(d)] == 1) from[d] = 0;
    const Index to = place(i);
    const bool first = std::find(seen.begin(), seen.end(), to) == seen.end();
    seen.push_back(to);
    at(y, to) = f(at(y, to), at(values, from), first);
  });
  return y;
}
Real set(Real, Real v, bool) { return v; }
Real plus(Real y, Real v, bool) { return y + v; }
Real times(Real y, Real v, bool) { return y * v; }
Real larger(Real y, Real v, bool) { return std::max(y, v); }
Real smaller(Real y, Real v, bool) { return std::min(y, v); }

// Rows 2, 0, 2 of the first axis, and columns 1, 3, 1 of the second: twice the same element.
const Ints some_rows = {2, 0, -1}, some_columns = {1, 3, 1};
Index by_rows(const Index& i) { return {i[0] == 1 ? 0 : 2, i[1]}; }
Index by_both(const Index& i) { return {i[0] == 1 ? 0 : 2, some_columns[u(i[0])]}; }
const Ints along_rows = {1, 0, 1, 1, 0, 0};  // [2, 3], for x [2, 3]
Index by_along(const Index& i) { return {along_rows[u(3 * i[0] + i[1])], i[1]}; }
Tensor along() { return grid(along_rows, {2, 3}); }

template <Tensor (*F)(const Operand&, IndexItems, const Operand&)>
Tensor rows_by(X x) {
  return F(x[0], {numbers(some_rows)}, x[1]);
}
template <Tensor (*F)(const Operand&, IndexItems, const Operand&)>
Tensor both_by(X x) {
  return F(x[0], {numbers(some_rows), numbers(some_columns)}, x[1]);
}
template <Real (*F)(Real, Real, bool)>
Array rows_of(A x) {
  return updated(x[0], x[1], {3, x[0].shape[1]}, by_rows, F);
}
template <Real (*F)(Real, Real, bool)>
Array both_of(A x) {
  return updated(x[0], x[1], {3}, by_both, F);
}

// ---- scatter_reduce and segments

// The values for each element, folded by f, beginning with the element itself.
template <class F>
Array reduced(A x, bool member, const F& f) {
  std::vector<Row> groups;
  for (const Real v : x[0].values) groups.push_back({v});
  for_each_index({2, 3}, [&](const Index& i) {
    const Index to = by_along(i);
    groups[u(3 * to[0] + to[1])].push_back(at(x[1], i));
  });
  Array y = x[0];
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (!member && groups[k].size() > 1) groups[k].erase(groups[k].begin());
    y.values[k] = f(groups[k]);
  }
  return y;
}
Real total_of(const Row& r) {
  Real s = 0;
  for (const Real v : r) s += v;
  return s;
}
Real mean_of(const Row& r) { return r.empty() ? 0 : total_of(r) / static_cast<Real>(r.size()); }
Real product_of(const Row& r) {
  Real p = 1;
  for (const Real v : r) p *= v;
  return p;
}
Real greatest_of(const Row& r) { return r.empty() ? 0 : *std::max_element(r.begin(), r.end()); }
Real least_of(const Row& r) { return r.empty() ? 0 : *std::min_element(r.begin(), r.end()); }
Real root_of(const Row& r) { return r.empty() ? 0 : total_of(r) / std::sqrt(static_cast<Real>(r.size())); }

template <Reduction R, bool Member>
Tensor reduce_by(X x) {
  return scatter_reduce(x[0], along(), x[1], 0, R, Member);
}
template <Real (*F)(const Row&), bool Member>
Array reduced_by(A x) {
  return reduced(x, Member, F);
}

// Segments 0 to 3 of the first axis; nothing goes to 1.
const Ints ids = {2, 0, -1, 2, 0, 3, 2};
template <Real (*F)(const Row&)>
Array segments(const Array& x, std::int64_t n, const Ints& of) {
  Shape shape = x.shape;
  shape[0] = n;
  return build(shape, [&](const Index& i) {
    Row r;
    for (std::size_t k = 0; k < of.size(); ++k) {
      Index from = i;
      from[0] = static_cast<std::int64_t>(k);
      if (of[k] == i[0]) r.push_back(at(x, from));
    }
    return F(r);
  });
}
template <Tensor (*F)(const Operand&, const Operand&, std::int64_t)>
Tensor segment_by(X x) {
  return F(x[0], numbers(ids), 4);
}
template <Real (*F)(const Row&)>
Array segments_by(A x) {
  return segments<F>(x[0], 4, ids);
}
// Without the empty segment, which has no largest element.
template <Tensor (*F)(const Operand&, const Operand&, std::int64_t)>
Tensor extreme_by(X x) {
  return gather(F(x[0], numbers(ids), 4), numbers({0, 2, 3}));
}
template <Real (*F)(const Row&)>
Array extremes_by(A x) {
  const Array y = segments<F>(x[0], 4, ids);
  Shape shape = y.shape;
  shape[0] = 3;
  return build(shape, [&](const Index& i) {
    Index from = i;
    from[0] = i[0] + (i[0] > 0);
    return at(y, from);
  });
}
const Ints sparse_rows = {1, 0, 1, 2};
const Ints sparse_ids = {0, 2, 2, 0};
template <Tensor (*F)(const Operand&, const Operand&, const Operand&, std::int64_t)>
Tensor sparse_by(X x) {
  return F(x[0], numbers(sparse_rows), numbers(sparse_ids), 3);
}
template <Real (*F)(const Row&)>
Array sparse_of(A x) {
  Shape shape = x[0].shape;
  shape[0] = 4;
  const Array rows = build(shape, [&](const Index& i) {
    Index from = i;
    from[0] = sparse_rows[u(i[0])];
    return at(x[0], from);
  });
  return segments<F>(rows, 3, sparse_ids);
}

const Ints first_row = {0, 2, 1}, second = {1, 0};

// clang-format off
constexpr Shaped rows[] = {
    {"index", "3x2;3x2x2;3", [](X x) { return index(x[0], {numbers(some_rows)}); },
      [](A x) { Shape s = x[0].shape; return build(s, [&](const Index& i) { Index from = i; from[0] = i[0] == 1 ? 0 : 2; return at(x[0], from); }); }},
    {"index", "3x4;3x4x2", [](X x) { return index(x[0], {numbers(some_rows), numbers(some_columns)}); },
      [](A x) { Shape s = x[0].shape; s.erase(0); s[0] = 3; return build(s, [&](const Index& i) { Index from = i; from[0] = i[0] == 1 ? 0 : 2; from.insert(from.begin() + 1, some_columns[u(i[0])]); return at(x[0], from); }); }},
    {"index", "2x3x2", [](X x) { return index(x[0], {reel::all, grid(first_row, {3, 1}), numbers(second)}); },
      [](A x) { return build({2, 3, 2}, [&](const Index& i) { return at(x[0], {i[0], first_row[u(i[1])], second[u(i[2])]}); }); }},
    {"index", "2x3x4", [](X x) { return index(x[0], {numbers(second), reel::range(0, 3, 2), numbers({3, 1})}); },
      [](A x) { return build({2, 2}, [&](const Index& i) { return at(x[0], {second[u(i[0])], 2 * i[1], i[0] == 0 ? 3 : 1}); }); }},
    {"index", "2x3x4", [](X x) { return index(x[0], {0, ellipsis, numbers({3, 1, 0})}); },
      [](A x) { return build({3, 3}, [&](const Index& i) { const std::int64_t last[] = {3, 1, 0}; return at(x[0], {0, i[1], last[i[0]]}); }); }},
    {"index", "2x3", [](X x) { return index(x[0], {newaxis, numbers(second), reel::range_from(-1, -1)}); },
      [](A x) { return build({1, 2, 3}, [&](const Index& i) { return at(x[0], {second[u(i[1])], 2 - i[2]}); }); }},
    {"index", "3x2", [](X x) { return index(x[0], {reel::range_from(1), -1}); }, [](A x) { return build({2}, [&](const Index& i) { return at(x[0], {i[0] + 1, 1}); }); }},
    {"index", "3x2", [](X x) { return index(x[0], {zeros({0, 2}, DType::int64)}); }, [](A) { return Array{{0, 2, 2}, {}}; }},

    {"index_update", "3x2,3x2;3x4,4;3x2,();3x2,3x1", rows_by<index_update>, rows_of<set>},
    {"index_update", "3x4,3;3x4,1", both_by<index_update>, both_of<set>},
    {"index_update", "2x3x2,2x3;2x3x2,3", [](X x) { return index_update(x[0], {numbers(second), reel::all, numbers({1, 0})}, x[1]); },
      [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{second[u(i[0])], i[1], 1 - i[0]}; }, set); }},
    {"index_update", "4x3,2x2", [](X x) { return index_update(x[0], {reel::range(0, 4, 2), numbers({2, 0})}, x[1]); },
      [](A x) { return updated(x[0], x[1], {2, 2}, [](const Index& i) { return Index{2 * i[0], i[1] == 0 ? 2 : 0}; }, set); }},
    {"index_update", "4x3,3", [](X x) { return index_update(x[0], {reel::range(1, 3)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{i[0] + 1, i[1]}; }, set); }},
    {"index_add", "3x2,3x2;3x4,4", rows_by<index_add>, rows_of<plus>},
    {"index_add", "3x4,3", both_by<index_add>, both_of<plus>},
    {"index_add", "2x5,2x3", [](X x) { return index_add(x[0], {reel::all, numbers({4, 0, 4})}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{i[0], i[1] == 1 ? 0 : 4}; }, plus); }},
    {"index_multiply", "3x2,3x2;3x4,4", rows_by<index_multiply>, rows_of<times>},
    {"index_multiply", "3x4,3", both_by<index_multiply>, both_of<times>},
    {"index_multiply", "2,5", [](X x) { return index_multiply(x[0], {numbers({1, 1, 0, 1, 1})}, x[1]); }, [](A x) { return updated(x[0], x[1], {5}, [](const Index& i) { return Index{i[0] != 2}; }, times); }},
    {"index_multiply", "2x3,2x4", [](X x) { return index_multiply(x[0], {reel::all, numbers({2, 0, 2, 2})}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 4}, [](const Index& i) { return Index{i[0], i[1] == 1 ? 0 : 2}; }, times); }},
    {"index_max", "3x2,3x2", rows_by<index_max>, rows_of<larger>},
    {"index_max", "3x4,3", both_by<index_max>, both_of<larger>},
    {"index_min", "3x2,3x2;3x4,4", rows_by<index_min>, rows_of<smaller>},
    {"index_min", "4x3,2x3", [](X x) { return index_min(x[0], {reel::range(0, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return i; }, smaller); }},

    {"slice_update", "4x3,2x3;4x3,3;4x3,()", [](X x) { return slice_update(x[0], {reel::range(1, 4, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{1 + 2 * i[0], i[1]}; }, set); }},
    {"slice_update", "4x3,4", [](X x) { return slice_update(x[0] * 1.0, {reel::range_from(-1, -1), -1}, x[1]); }, [](A x) { return updated(x[0], x[1], {4}, [](const Index& i) { return Index{3 - i[0], 2}; }, set); }},
    {"slice_update", "2x3,1x3", [](X x) { return slice_update(x[0], {newaxis, ellipsis, 1, reel::all}, x[1]); }, [](A x) { return updated(x[0], x[1], {1, 3}, [](const Index& i) { return Index{1, i[1]}; }, set); }},
    {"slice_add", "4x3,2x3;4x3,3", [](X x) { return slice_add(x[0], {reel::range(1, 4, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{1 + 2 * i[0], i[1]}; }, plus); }},
    {"put_along_axis", "2x3,2x3;2x3,3;2x3,()", [](X x) { return put_along_axis(x[0], along(), x[1], 0); }, [](A x) { return updated(x[0], x[1], {2, 3}, by_along, set); }},
    {"put_along_axis", "2x3,2x2", [](X x) { return put_along_axis(x[0], grid({2, -3}, {1, 2}), x[1], -1); }, [](A x) { return updated(x[0], x[1], {2, 2}, [](const Index& i) { return Index{i[0], i[1] == 0 ? 2 : 0}; }, set); }},
    {"scatter_add_along_axis", "2x3,2x3;2x3,3", [](X x) { return scatter_add_along_axis(x[0], along(), x[1], 0); }, [](A x) { return updated(x[0], x[1], {2, 3}, by_along, plus); }},

    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::sum, true>, reduced_by<total_of, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::mean, true>, reduced_by<mean_of, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::prod, true>, reduced_by<product_of, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::max, true>, reduced_by<greatest_of, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::min, true>, reduced_by<least_of, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::sum, false>, reduced_by<total_of, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::mean, false>, reduced_by<mean_of, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::prod, false>, reduced_by<product_of, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::max, false>, reduced_by<greatest_of, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::min, false>, reduced_by<least_of, false>},

    {"take", "2x3;6", [](X x) { return take(x[0], grid({5, 0, -1, 2}, {2, 2})); }, [](A x) { const Row& v = x[0].values; return Array{{2, 2}, {v[5], v[0], v[5], v[2]}}; }},
    {"take", "2x3", [](X x) { return take(x[0], numbers({6, -7, 100}), IndexMode::wrap); }, [](A x) { const Row& v = x[0].values; return Array{{3}, {v[0], v[5], v[4]}}; }},
    {"take", "2x3", [](X x) { return take(x[0], numbers({6, -7, 3}), IndexMode::clip); }, [](A x) { const Row& v = x[0].values; return Array{{3}, {v[5], v[0], v[3]}}; }},
    {"put", "2x3,4;6,()", [](X x) { return put(x[0], numbers({5, 0, -1, 2}), x[1]); },
      [](A x) { Array y = x[0]; const auto v = [&](std::size_t k) { return x[1].values[x[1].values.size() > 1 ? k : 0]; }; y.values[0] = v(1); y.values[5] = v(2); y.values[2] = v(3); return y; }},
    {"put", "2x3,2", [](X x) { return put(x[0], numbers({7, -8}), x[1], IndexMode::clip); }, [](A x) { Array y = x[0]; y.values[5] = x[1].values[0]; y.values[0] = x[1].values[1]; return y; }},
    {"masked_fill", "2x3,();2x3,3", [](X x) { return masked_fill(x[0], tensor<bool>({true, false, true}), x[1]); },
      [](A x) { return build({2, 3}, [&](const Index& i) { return i[1] == 1 ? at(x[0], i) : x[1].shape.rank() ? at(x[1], {i[1]}) : x[1].values[0]; }); }},
    {"masked_scatter", "2x3,2x2;2x3,5", [](X x) { return masked_scatter(x[0], tensor<bool>({true, false, true}), x[1]); },
      [](A x) { std::size_t k = 0; return build({2, 3}, [&](const Index& i) { return i[1] == 1 ? at(x[0], i) : x[1].values[k++]; }); }},
    {"masked_scatter", "3,0", [](X x) { return masked_scatter(x[0], zeros({3}, DType::boolean), x[1]); }, [](A x) { return x[0]; }, {-2, 2}, nullptr, by_values},
    {"select", "3,2x3,()", [](X x) { return select({tensor<bool>({true, false, false}), tensor<bool>({{true, false, true}, {false, false, false}})}, {x[0], x[1]}, x[2]); },
      [](A x) { return build({2, 3}, [&](const Index& i) { return i[1] == 0 ? at(x[0], {0}) : i[0] == 0 && i[1] == 2 ? at(x[1], i) : x[2].values[0]; }); }},
    {"choose", "3,2x1,()", [](X x) { return choose(grid({0, 1, 2, -1, 0, 1}, {2, 3}), {x[0], x[1], x[2]}); },
      [](A x) { return build({2, 3}, [&](const Index& i) { const int which[] = {0, 1, 2, 2, 0, 1}; const int k = which[3 * i[0] + i[1]]; return k == 0 ? at(x[0], {i[1]}) : k == 1 ? at(x[1], {i[0], 0}) : x[2].values[0]; }); }},
    {"choose", "3,3", [](X x) { return choose(numbers({-5, 1, 9}), {x[0], x[1]}, IndexMode::clip); }, [](A x) { return Array{{3}, {x[0].values[0], x[1].values[1], x[1].values[2]}}; }},
    {"piecewise", "2x3", [](X x) { return piecewise(x[0], {tensor<bool>({{true, false, true}, {false, false, true}}), tensor<bool>({{false, false, true}, {true, false, false}})}, {[](const Tensor& t) { return square(t); }, [](const Tensor& t) { return 3 * t; }}, 0.5); },
      [](A x) { return build({2, 3}, [&](const Index& i) { const Real v = at(x[0], i); const std::int64_t k = 3 * i[0] + i[1]; return k == 0 || k == 5 ? v * v : k == 2 || k == 3 ? 3 * v : Real{0.5}; }); }, {-2, 2}, nullptr, by_values, 4},
    {"boolean_mask", "2x3;2x3x2", [](X x) { return boolean_mask(x[0], tensor<bool>({{true, false, true}, {false, false, true}})); },
      [](A x) { Shape s = x[0].shape; s.erase(0); s[0] = 3; return build(s, [&](const Index& i) { const std::int64_t column[] = {0, 2, 2}; Index from = i; from[0] = i[0] == 2; from.insert(from.begin() + 1, column[i[0]]); return at(x[0], from); }); }, {-2, 2}, nullptr, by_values},
    {"boolean_mask", "3", [](X x) { return boolean_mask(x[0], zeros({3}, DType::boolean)); }, [](A) { return Array{{0}, {}}; }, {-2, 2}, nullptr, by_values},
    {"compress", "2x4", [](X x) { return compress(tensor<bool>({false, true, true}), x[0], -1); }, [](A x) { return build({2, 2}, [&](const Index& i) { return at(x[0], {i[0], i[1] + 1}); }); }, {-2, 2}, nullptr, by_values},
    {"nonzero", "2x3;()", [](X x) { const auto all = nonzero(x[0] > 0.3, {.size = 4, .fill = -1}); return all.empty() ? zeros({4}, DType::int64) : all.back(); },
      [](A x) { Row r; for (std::size_t k = 0; k < x[0].values.size(); ++k) if (x[0].values[k] > 0.3L) r.push_back(static_cast<Real>(k % 3)); r.resize(4, -1); return Array{{4}, x[0].shape.rank() ? r : Row(4, 0)}; }, {-2, 2}, nullptr, constant},
    {"nonzero", "3x2", [](X x) { return nonzero(trunc(x[0]))[0]; },
      [](A x) { Row r; for (std::size_t k = 0; k < 6; ++k) if (std::trunc(x[0].values[k]) != 0) r.push_back(static_cast<Real>(k / 2)); const auto n = static_cast<std::int64_t>(r.size()); return Array{{n}, r}; }, {-2, 2}, nullptr, constant | by_values},
    {"embedding", "3x2;3", [](X x) { return embedding(x[0], grid({2, 0, 1, -1}, {2, 2})); },
      [](A x) { return build(x[0].shape.rank() == 2 ? Shape{2, 2, 2} : Shape{2, 2}, [&](const Index& i) { const std::int64_t row[] = {2, 0, 1, 2}; Index from(i.begin() + 1, i.end()); from[0] = row[2 * i[0] + i[1]]; return at(x[0], from); }); }},
    {"embedding", "3x2", [](X x) { return embedding(x[0], numbers({2, 1, -1}), 0); }, [](A x) { return build({3, 2}, [&](const Index& i) { return at(x[0], {i[0] == 1 ? 1 : 2, i[1]}); }); }},

    {"segment_sum", "7x2;7;7x0", segment_by<segment_sum>, segments_by<total_of>},
    {"segment_sum", "2x3x2", [](X x) { return segment_sum(x[0], grid({1, 0, 1, 1, -2, 0}, {2, 3}), 2); },
      [](A x) { return segments<total_of>({{6, 2}, x[0].values}, 2, {1, 0, 1, 1, -2, 0}); }},
    {"segment_mean", "7x2;7", segment_by<segment_mean>, segments_by<mean_of>},
    {"segment_prod", "7x2;7", segment_by<segment_prod>, segments_by<product_of>},
    {"segment_max", "7x2;7", extreme_by<segment_max>, extremes_by<greatest_of>},
    {"segment_min", "7x2;7", extreme_by<segment_min>, extremes_by<least_of>},
    {"sparse_segment_sum", "3x2;3", sparse_by<sparse_segment_sum>, sparse_of<total_of>},
    {"sparse_segment_mean", "3x2", sparse_by<sparse_segment_mean>, sparse_of<mean_of>},
    {"sparse_segment_sqrt_n", "3x2", sparse_by<sparse_segment_sqrt_n>, sparse_of<root_of>},
    {"bincount", "7", [](X x) { return bincount(numbers({2, 0, 1, 2, 0, 3, 2}), 5, x[0]); }, [](A x) { return segments<total_of>(x[0], 5, {2, 0, 1, 2, 0, 3, 2}); }},
    {"bincount", "3x2", [](X x) { return bincount(cast(abs(x[0]), DType::int32), 3); }, [](A x) { return build({3}, [&](const Index& i) { Real n = 0; for (const Real v : x[0].values) n += std::trunc(std::abs(v)) == static_cast<Real>(i[0]); return n; }); }, {-2, 2}, nullptr, constant},
};
// clang-format on

}  // namespace

std::span<const Shaped> indexing() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
