// Rows of the ops that move elements: shapes, joins, indexing, casts.
#include <algorithm>
#include <numeric>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Array reshaped(const Array& x, const Shape& shape) { return {shape, x.values}; }
// Axis i of the result is axis order[i] of x.
Array permuted(const Array& x, const std::vector<std::size_t>& order) {
  Shape shape;
  for (std::size_t a : order) shape.push_back(x.shape[static_cast<std::int64_t>(a)]);
  return build(shape, [&](const Index& i) {
    Index from(i.size());
    for (std::size_t k = 0; k < i.size(); ++k) from[order[k]] = i[k];
    return at(x, from);
  });
}
Array reversed_axes(const Array& x) {
  std::vector<std::size_t> order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return permuted(x, order);
}
Row backwards(Row r) {
  std::reverse(r.begin(), r.end());
  return r;
}
Row picked(const Row& r, std::initializer_list<std::size_t> which) {
  Row out;
  for (std::size_t i : which) out.push_back(r[i]);
  return out;
}
Array broadcast(const Array& x, const Shape& shape) {
  const std::size_t extra = shape.size() - x.shape.size();
  return build(shape, [&](const Index& i) {
    Index from(i.begin() + static_cast<std::ptrdiff_t>(extra), i.end());
    for (std::size_t k = 0; k < from.size(); ++k)
      if (x.shape[static_cast<std::int64_t>(k)] == 1) from[k] = 0;
    return at(x, from);
  });
}
Array joined(A parts, int axis) {
  return along(parts[0], axis, [&, line = std::size_t{0}](Row r) mutable {
    for (std::size_t p = 1; p < parts.size(); ++p) {
      std::size_t count = 0;
      along(parts[p], axis, [&](Row other) {
        if (count++ == line) r.insert(r.end(), other.begin(), other.end());
        return other;
      });
    }
    ++line;
    return r;
  });
}
Array part(const Array& x, int axis, std::size_t from, std::size_t to) {
  return along(x, axis, [&](const Row& r) {
    return Row(r.begin() + static_cast<std::ptrdiff_t>(from), r.begin() + static_cast<std::ptrdiff_t>(to));
  });
}
Tensor numbers(std::initializer_list<std::int64_t> list) { return from_data(std::vector<std::int64_t>(list)); }

Array banded(const Array& x, std::int64_t low, std::int64_t high) {  // keeps low <= j - i <= high
  return build(x.shape, [&](const Index& i) {
    const std::int64_t d = i[i.size() - 1] - i[i.size() - 2];
    return d >= low && d <= high ? at(x, i) : 0;
  });
}
constexpr std::int64_t far = 1000;

// clang-format off
constexpr Shaped rows[] = {
    {"reshape", "3x4;2x6;12", [](X x) { return reshape(x[0], {2, -1, 3}); }, [](A x) { return reshaped(x[0], {2, 2, 3}); }},
    {"reshape", "0x3", [](X x) { return reshape(x[0], {3, 0}); }, [](A x) { return reshaped(x[0], {3, 0}); }},
    {"transpose", "3x4;2x3x4;5;();2x0x3", [](X x) { return transpose(x[0]); }, [](A x) { return reversed_axes(x[0]); }},
    {"transpose", "2x3x4", [](X x) { return transpose(x[0], {1, -1, 0}); }, [](A x) { return permuted(x[0], {1, 2, 0}); }},
    {"moveaxis", "2x3x4", [](X x) { return moveaxis(x[0], 0, -1); }, [](A x) { return permuted(x[0], {1, 2, 0}); }},
    {"squeeze", "1x3x1;1", [](X x) { return squeeze(x[0]); }, [](A x) { return x[0].shape.rank() == 3 ? reshaped(x[0], {3}) : reshaped(x[0], {}); }},
    {"squeeze", "2x1x3", [](X x) { return squeeze(x[0], 1); }, [](A x) { return reshaped(x[0], {2, 3}); }},
    {"expand_dims", "2x3", [](X x) { return expand_dims(x[0], -1); }, [](A x) { return reshaped(x[0], {2, 3, 1}); }},
    {"broadcast_to", "3;1x3;2x1;1x1;()", [](X x) { return broadcast_to(x[0], {4, 2, 3}); }, [](A x) { return broadcast(x[0], {4, 2, 3}); }},
    {"flip", "3x4;5;2x3x4", [](X x) { return flip(x[0], -1); }, [](A x) { return along(x[0], -1, backwards); }},
    {"flip", "3x4;5;2x3x4;()", [](X x) { return flip(x[0]); }, [](A x) { return reshaped({x[0].shape, backwards(x[0].values)}, x[0].shape); }},
    {"roll", "4x3;4", [](X x) { return roll(x[0], 5, 0); }, [](A x) { return along(x[0], 0, [](const Row& r) { return picked(r, {3, 0, 1, 2}); }); }},
    {"roll", "2x4;2x1x4", [](X x) { return roll(x[0], -1, -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return picked(r, {1, 2, 3, 0}); }); }},
    {"tile", "2x3;3", [](X x) { return tile(x[0], {2, 2}); },
      [](A x) { return build({x[0].shape.rank() == 2 ? 4 : 2, 6}, [&](const Index& i) { return x[0].shape.rank() == 2 ? at(x[0], {i[0] % 2, i[1] % 3}) : at(x[0], {i[1] % 3}); }); }},
    {"tile", "2x3", [](X x) { return tile(x[0], {2, 1, 0}); }, [](A) { return Array{{2, 2, 0}, {}}; }},
    {"repeat", "2x3;3", [](X x) { return repeat(x[0], 2, -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return picked(r, {0, 0, 1, 1, 2, 2}); }); }},
    {"concatenate", "2x3,4x3;0x3,2x3;2,3", [](X x) { return concatenate(x, 0); }, [](A x) { return joined(x, 0); }},
    {"concatenate", "2x3,2x1;2x2x2,2x2x1", [](X x) { return concatenate({x[0], x[1], x[0]}, -1); }, [](A x) { const Array parts[] = {x[0], x[1], x[0]}; return joined(parts, -1); }},
    {"stack", "2x3,2x3", [](X x) { return stack(x, 1); },
      [](A x) { return build({2, 2, 3}, [&](const Index& i) { return at(x[static_cast<std::size_t>(i[1])], {i[0], i[2]}); }); }},
    {"stack", "(),()", [](X x) { return stack({x[0], x[1]}); }, [](A x) { return Array{{2}, {x[0].values[0], x[1].values[0]}}; }},
    {"split", "6x2;6", [](X x) { return split(x[0], 3)[1]; }, [](A x) { return part(x[0], 0, 2, 4); }},
    {"split_sizes", "2x6", [](X x) { return split_sizes(x[0], {1, 0, 3, 2}, 1)[2]; }, [](A x) { return part(x[0], 1, 1, 4); }},
    {"unstack", "3x2", [](X x) { return unstack(x[0])[2]; }, [](A x) { return Array{{2}, {x[0].values[4], x[0].values[5]}}; }},
    {"unstack", "3x2;2x3x2", [](X x) { return unstack(x[0], 1)[1]; },
      [](A x) { const Array y = part(x[0], 1, 1, 2); return x[0].shape.rank() == 2 ? reshaped(y, {3}) : reshaped(y, {2, 2}); }},
    {"pad", "2x3", [](X x) { return pad(x[0], {1, 0}, {0, 2}, 1.5); },
      [](A x) { return build({3, 5}, [&](const Index& i) { return i[0] > 0 && i[1] < 3 ? at(x[0], {i[0] - 1, i[1]}) : 1.5L; }); }},
    {"pad", "2x3,();0x2,();2x2,1", [](X x) { return pad(x[0], {1, 2}, {0, 1}, x[1]); },
      [](A x) { const Shape s = x[0].shape; return build({s[0] + 1, s[1] + 3}, [&](const Index& i) { return i[0] > 0 && i[1] > 1 && i[1] < s[1] + 2 ? at(x[0], {i[0] - 1, i[1] - 2}) : x[1].values[0]; }); }},
    {"contiguous", "2x3;()", [](X x) { return contiguous(x[0]); }, [](A x) { return x[0]; }},
    {"cast", "2x3;0", [](X x) { return cast(cast(x[0], DType::float32), DType::float64); },
      [](A x) { Array y = x[0]; for (Real& v : y.values) v = static_cast<float>(v); return y; }, {-2, 2}, nullptr, none, 1e6},
    {"identity", "2x3;()", [](X x) { return identity(x[0]); }, [](A x) { return x[0]; }},
    {"stop_gradient", "2x3;()", [](X x) { return stop_gradient(x[0]); }, [](A x) { return x[0]; }, {-2, 2}, nullptr, constant},
    {"zeros_like", "2x3", [](X x) { return zeros_like(x[0]); }, [](A x) { return build(x[0].shape, [](const Index&) { return 0.0L; }); }, {-2, 2}, nullptr, constant},
    {"ones_like", "2x3", [](X x) { return ones_like(x[0]); }, [](A x) { return build(x[0].shape, [](const Index&) { return 1.0L; }); }, {-2, 2}, nullptr, constant},
    {"full_like", "2x3", [](X x) { return full_like(x[0], 7); }, [](A x) { return build(x[0].shape, [](const Index&) { return 7.0L; }); }, {-2, 2}, nullptr, constant},

    {"slice", "5x4;4x4", [](X x) { return slice(x[0], {reel::range(1, 4, 2), 1}); },
      [](A x) { return build({2}, [&](const Index& i) { return at(x[0], {1 + 2 * i[0], 1}); }); }},
    {"slice", "4x3", [](X x) { return slice(x[0], {reel::range_from(-1, -2), newaxis, reel::range_to(-1)}); },
      [](A x) { return build({2, 1, 2}, [&](const Index& i) { return at(x[0], {3 - 2 * i[0], i[2]}); }); }},
    {"slice", "2x3x4", [](X x) { return slice(x[0], {ellipsis, -1}); }, [](A x) { return build({2, 3}, [&](const Index& i) { return at(x[0], {i[0], i[1], 3}); }); }},
    {"slice", "2x4", [](X x) { return slice(x[0], {reel::all, reel::range(3, 3)}); }, [](A) { return Array{{2, 0}, {}}; }},
    {"gather", "3x2", [](X x) { return gather(x[0], numbers({2, 0, 2, -1})); },
      [](A x) { return build({4, 2}, [&](const Index& i) { const std::int64_t rows_of[] = {2, 0, 2, 2}; return at(x[0], {rows_of[i[0]], i[1]}); }); }},
    {"gather", "2x3", [](X x) { return gather(x[0], reshape(numbers({2, 0, 2, 1}), {2, 2}), 1); },
      [](A x) { return build({2, 2, 2}, [&](const Index& i) { const std::int64_t columns[] = {2, 0, 2, 1}; return at(x[0], {i[0], columns[2 * i[1] + i[2]]}); }); }},
    {"take_along_axis", "3x2", [](X x) { return take_along_axis(x[0], reshape(numbers({2, 0, 2, 1}), {2, 2}), 0); },
      [](A x) { return build({2, 2}, [&](const Index& i) { const std::int64_t from[] = {2, 0, 2, 1}; return at(x[0], {from[2 * i[0] + i[1]], i[1]}); }); }},
    {"take_along_axis", "2x3", [](X x) { return take_along_axis(x[0], reshape(numbers({2, 0, 2, 1, 1, 0, 2, 2}), {2, 4}), -1); },
      [](A x) { return build({2, 4}, [&](const Index& i) { const std::int64_t from[] = {2, 0, 2, 1, 1, 0, 2, 2}; return at(x[0], {i[0], from[4 * i[0] + i[1]]}); }); }},
    {"gather", "2x3", [](X x) { return gather(gather(x[0], numbers({2, 0}), 1), numbers({1, 1, 0})); },
      [](A x) { return build({3, 2}, [&](const Index& i) { const std::int64_t rows_of[] = {1, 1, 0}, columns[] = {2, 0}; return at(x[0], {rows_of[i[0]], columns[i[1]]}); }); }},
    {"gather", "4x2", [](X x) { return gather(gather(x[0], reshape(numbers({3, 0, 1, 1, 2, 0}), {3, 2})), numbers({2, 0, 2})); },
      [](A x) { return build({3, 2, 2}, [&](const Index& i) { const std::int64_t rows_of[] = {3, 0, 1, 1, 2, 0}, outer[] = {2, 0, 2}; return at(x[0], {rows_of[2 * outer[i[0]] + i[1]], i[2]}); }); }},
    {"scatter_add", "3x2,4x2", [](X x) { return scatter_add(x[0], numbers({2, 0, 2, -2}), x[1]); },
      [](A x) { Array y = x[0]; for_each_index(x[1].shape, [&](const Index& i) { const std::int64_t to[] = {2, 0, 2, 1}; at(y, {to[i[0]], i[1]}) += at(x[1], i); }); return y; }},
    {"diag", "3", [](X x) { return diag(x[0], 1); }, [](A x) { return build({4, 4}, [&](const Index& i) { return i[1] == i[0] + 1 ? at(x[0], {i[0]}) : 0; }); }},
    {"diag", "3x4", [](X x) { return diag(x[0], -1); }, [](A x) { return build({2}, [&](const Index& i) { return at(x[0], {i[0] + 1, i[0]}); }); }},
    {"diagonal", "2x3x4", [](X x) { return diagonal(x[0], 1); }, [](A x) { return build({2, 3}, [&](const Index& i) { return at(x[0], {i[0], i[1], i[1] + 1}); }); }},
    {"tril", "3x4;2x3x3", [](X x) { return tril(x[0]); }, [](A x) { return banded(x[0], -far, 0); }},
    {"triu", "3x4;2x3x3", [](X x) { return triu(x[0], -1); }, [](A x) { return banded(x[0], -1, far); }},
    {"trace", "3x4;2x3x3", [](X x) { return trace(x[0]); },
      [](A x) { return fold(banded(x[0], 0, 0), {-2, -1}, false, total); }},
    {"one_hot", "3", [](X x) { return one_hot(cast(x[0], DType::int64), 3); },
      [](A x) { return build({3, 3}, [&](const Index& i) { return Real(static_cast<std::int64_t>(at(x[0], {i[0]})) == i[1]); }); }, {0, 4}, nullptr, constant},
};
// clang-format on

}  // namespace

std::span<const Shaped> movements() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
