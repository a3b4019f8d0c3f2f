// Rows of the ops of <reel/ops/indexing.hpp>.
#include <reel/ops/indexing.hpp>

#include "references/updates.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;
using Ints = std::vector<std::int64_t>;

Tensor numbers(const Ints& list) { return from_data(list); }
Tensor grid(const Ints& list, const Shape& shape) { return reshape(from_data(list), shape); }
std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }

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
template <Update how>
Array rows_of(A x) {
  return updated(x[0], x[1], {3, x[0].shape[1]}, by_rows, how);
}
template <Update how>
Array both_of(A x) {
  return updated(x[0], x[1], {3}, by_both, how);
}

// ---- scatter_reduce and segments

template <Reduction R, bool Member>
Tensor reduce_by(X x) {
  return scatter_reduce(x[0], along(), x[1], 0, R, Member);
}
template <Update how, bool Member, bool Mean = false>
Array reduced_by(A x) {
  return scatter_reduce_of(x[0], along_rows, x[1], 0, how, Mean, Member);
}

// Segments 0 to 3 of the first axis; nothing goes to 1.
const Ints ids = {2, 0, -1, 2, 0, 3, 2};
template <Tensor (*F)(const Operand&, const Operand&, std::int64_t)>
Tensor segment_by(X x) {
  return F(x[0], numbers(ids), 4);
}
template <Update how, int Power = 0>
Array segments_by(A x) {
  return segments_of(x[0], ids, 4, how, Power);
}
// Without the empty segment, which has no largest element.
template <Tensor (*F)(const Operand&, const Operand&, std::int64_t)>
Tensor extreme_by(X x) {
  return gather(F(x[0], numbers(ids), 4), numbers({0, 2, 3}));
}
template <Update how>
Array extremes_by(A x) {
  const Array y = segments_of(x[0], ids, 4, how);
  Extents region = y.shape;
  region[0] = 3;
  return gathered(y, region, [](Index i) { return i[0] += i[0] > 0, i; });
}
const Ints sparse_rows = {1, 0, 1, 2};
const Ints sparse_ids = {0, 2, 2, 0};
template <Tensor (*F)(const Operand&, const Operand&, const Operand&, std::int64_t)>
Tensor sparse_by(X x) {
  return F(x[0], numbers(sparse_rows), numbers(sparse_ids), 3);
}
// Sums divided by the number of terms to the power Halves / 2.
template <int Halves>
Array sparse_of(A x) {
  return segments_of(x[0], sparse_ids, 3, Update::add, 0.5 * Halves, &sparse_rows);
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

    {"index_update", "3x2,3x2;3x4,4;3x2,();3x2,3x1", rows_by<index_update>, rows_of<Update::set>},
    {"index_update", "3x4,3;3x4,1", both_by<index_update>, both_of<Update::set>},
    {"index_update", "2x3x2,2x3;2x3x2,3", [](X x) { return index_update(x[0], {numbers(second), reel::all, numbers({1, 0})}, x[1]); },
      [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{second[u(i[0])], i[1], 1 - i[0]}; }, Update::set); }},
    {"index_update", "4x3,2x2", [](X x) { return index_update(x[0], {reel::range(0, 4, 2), numbers({2, 0})}, x[1]); },
      [](A x) { return updated(x[0], x[1], {2, 2}, [](const Index& i) { return Index{2 * i[0], i[1] == 0 ? 2 : 0}; }, Update::set); }},
    {"index_update", "4x3,3", [](X x) { return index_update(x[0], {reel::range(1, 3)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{i[0] + 1, i[1]}; }, Update::set); }},
    {"index_add", "3x2,3x2;3x4,4", rows_by<index_add>, rows_of<Update::add>},
    {"index_add", "3x4,3", both_by<index_add>, both_of<Update::add>},
    {"index_add", "2x5,2x3", [](X x) { return index_add(x[0], {reel::all, numbers({4, 0, 4})}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{i[0], i[1] == 1 ? 0 : 4}; }, Update::add); }},
    {"index_multiply", "3x2,3x2;3x4,4", rows_by<index_multiply>, rows_of<Update::multiply>},
    {"index_multiply", "3x4,3", both_by<index_multiply>, both_of<Update::multiply>},
    {"index_multiply", "2,5", [](X x) { return index_multiply(x[0], {numbers({1, 1, 0, 1, 1})}, x[1]); }, [](A x) { return updated(x[0], x[1], {5}, [](const Index& i) { return Index{i[0] != 2}; }, Update::multiply); }},
    {"index_multiply", "2x3,2x4", [](X x) { return index_multiply(x[0], {reel::all, numbers({2, 0, 2, 2})}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 4}, [](const Index& i) { return Index{i[0], i[1] == 1 ? 0 : 2}; }, Update::multiply); }},
    {"index_max", "3x2,3x2", rows_by<index_max>, rows_of<Update::max>},
    {"index_max", "3x4,3", both_by<index_max>, both_of<Update::max>},
    {"index_min", "3x2,3x2;3x4,4", rows_by<index_min>, rows_of<Update::min>},
    {"index_min", "4x3,2x3", [](X x) { return index_min(x[0], {reel::range(0, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return i; }, Update::min); }},

    {"slice_update", "4x3,2x3;4x3,3;4x3,()", [](X x) { return slice_update(x[0], {reel::range(1, 4, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{1 + 2 * i[0], i[1]}; }, Update::set); }},
    {"slice_update", "4x3,4", [](X x) { return slice_update(x[0] * 1.0, {reel::range_from(-1, -1), -1}, x[1]); }, [](A x) { return updated(x[0], x[1], {4}, [](const Index& i) { return Index{3 - i[0], 2}; }, Update::set); }},
    {"slice_update", "2x3,1x3", [](X x) { return slice_update(x[0], {newaxis, ellipsis, 1, reel::all}, x[1]); }, [](A x) { return updated(x[0], x[1], {1, 3}, [](const Index& i) { return Index{1, i[1]}; }, Update::set); }},
    {"slice_add", "4x3,2x3;4x3,3", [](X x) { return slice_add(x[0], {reel::range(1, 4, 2)}, x[1]); }, [](A x) { return updated(x[0], x[1], {2, 3}, [](const Index& i) { return Index{1 + 2 * i[0], i[1]}; }, Update::add); }},
    {"put_along_axis", "2x3,2x3;2x3,3;2x3,()", [](X x) { return put_along_axis(x[0], along(), x[1], 0); }, [](A x) { return updated(x[0], x[1], {2, 3}, by_along, Update::set); }},
    {"put_along_axis", "2x3,2x2", [](X x) { return put_along_axis(x[0], grid({2, -3}, {1, 2}), x[1], -1); }, [](A x) { return updated(x[0], x[1], {2, 2}, [](const Index& i) { return Index{i[0], i[1] == 0 ? 2 : 0}; }, Update::set); }},
    {"scatter_add_along_axis", "2x3,2x3;2x3,3", [](X x) { return scatter_add_along_axis(x[0], along(), x[1], 0); }, [](A x) { return updated(x[0], x[1], {2, 3}, by_along, Update::add); }},

    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::sum, true>, reduced_by<Update::add, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::mean, true>, reduced_by<Update::add, true, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::prod, true>, reduced_by<Update::multiply, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::max, true>, reduced_by<Update::max, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::min, true>, reduced_by<Update::min, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::sum, false>, reduced_by<Update::add, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::mean, false>, reduced_by<Update::add, false, true>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::prod, false>, reduced_by<Update::multiply, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::max, false>, reduced_by<Update::max, false>},
    {"scatter_reduce", "2x3,2x3", reduce_by<Reduction::min, false>, reduced_by<Update::min, false>},

    {"take", "2x3;6", [](X x) { return take(x[0], grid({5, 0, -1, 2}, {2, 2})); }, [](A x) { return take_of(x[0], {2, 2}, {5, 0, -1, 2}, OutOfRange::error); }},
    {"take", "2x3", [](X x) { return take(x[0], numbers({6, -7, 100}), IndexMode::wrap); }, [](A x) { return take_of(x[0], {3}, {6, -7, 100}, OutOfRange::wrap); }},
    {"take", "2x3", [](X x) { return take(x[0], numbers({6, -7, 3}), IndexMode::clip); }, [](A x) { return take_of(x[0], {3}, {6, -7, 3}, OutOfRange::clip); }},
    {"put", "2x3,4;6,()", [](X x) { return put(x[0], numbers({5, 0, -1, 2}), x[1]); },
      [](A x) { return put_of(x[0], {5, 0, -1, 2}, x[1], OutOfRange::error); }},
    {"put", "2x3,2", [](X x) { return put(x[0], numbers({7, -8}), x[1], IndexMode::clip); }, [](A x) { return put_of(x[0], {7, -8}, x[1], OutOfRange::clip); }},
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
      [](A x) { return embedding_of(x[0], {2, 2}, {2, 0, 1, -1}); }},
    {"embedding", "3x2", [](X x) { return embedding(x[0], numbers({2, 1, -1}), 0); }, [](A x) { return embedding_of(x[0], {3}, {2, 1, -1}, 0); }},

    {"segment_sum", "7x2;7;7x0", segment_by<segment_sum>, segments_by<Update::add>},
    {"segment_sum", "2x3x2", [](X x) { return segment_sum(x[0], grid({1, 0, 1, 1, -2, 0}, {2, 3}), 2); },
      [](A x) { return segments_of(Array{{6, 2}, x[0].values}, {1, 0, 1, 1, -2, 0}, 2, Update::add); }},
    {"segment_mean", "7x2;7", segment_by<segment_mean>, segments_by<Update::add, 1>},
    {"segment_prod", "7x2;7", segment_by<segment_prod>, segments_by<Update::multiply>},
    {"segment_max", "7x2;7", extreme_by<segment_max>, extremes_by<Update::max>},
    {"segment_min", "7x2;7", extreme_by<segment_min>, extremes_by<Update::min>},
    {"sparse_segment_sum", "3x2;3", sparse_by<sparse_segment_sum>, sparse_of<0>},
    {"sparse_segment_mean", "3x2", sparse_by<sparse_segment_mean>, sparse_of<2>},
    {"sparse_segment_sqrt_n", "3x2", sparse_by<sparse_segment_sqrt_n>, sparse_of<1>},
    {"bincount", "7", [](X x) { return bincount(numbers({2, 0, 1, 2, 0, 3, 2}), 5, x[0]); }, [](A x) { return segments_of(x[0], {2, 0, 1, 2, 0, 3, 2}, 5, Update::add); }},
    {"bincount", "3x2", [](X x) { return bincount(cast(abs(x[0]), DType::int32), 3); }, [](A x) { return build({3}, [&](const Index& i) { Real n = 0; for (const Real v : x[0].values) n += std::trunc(std::abs(v)) == static_cast<Real>(i[0]); return n; }); }, {-2, 2}, nullptr, constant},
};
// clang-format on

}  // namespace

std::span<const Shaped> indexing() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
