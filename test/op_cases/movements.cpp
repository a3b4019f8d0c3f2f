// Rows of the ops that move elements: shapes, joins, indexing, casts.
#include "references/movements.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace moves;
using X = Operands;
using A = Arrays;

Tensor numbers(std::initializer_list<std::int64_t> list) { return from_data(std::vector<std::int64_t>(list)); }
Integers integers(std::initializer_list<std::int64_t> list) { return {{static_cast<std::int64_t>(list.size())}, list}; }
Integers integers_of(const Array& x) {
  Integers y{x.shape, {}};
  for (const Real v : x.values) y.values.push_back(static_cast<std::int64_t>(v));
  return y;
}

// clang-format off
constexpr Shaped rows[] = {
    {"reshape", "3x4;2x6;12", [](X x) { return reshape(x[0], {2, -1, 3}); }, [](A x) { return reshaped_to(x[0], {2, -1, 3}); }},
    {"reshape", "0x3", [](X x) { return reshape(x[0], {3, 0}); }, [](A x) { return reshaped_to(x[0], {3, 0}); }},
    {"transpose", "3x4;2x3x4;5;();2x0x3", [](X x) { return transpose(x[0]); }, [](A x) { return transposed(x[0]); }},
    {"transpose", "2x3x4", [](X x) { return transpose(x[0], {1, -1, 0}); }, [](A x) { return permuted(x[0], {1, -1, 0}); }},
    {"moveaxis", "2x3x4", [](X x) { return moveaxis(x[0], 0, -1); }, [](A x) { return moved_axis(x[0], 0, -1); }},
    {"squeeze", "1x3x1;1", [](X x) { return squeeze(x[0]); }, [](A x) { return without_axes(x[0], x[0].shape.rank() == 3 ? Ints{0, 2} : Ints{0}); }},
    {"squeeze", "2x1x3", [](X x) { return squeeze(x[0], 1); }, [](A x) { return without_axes(x[0], {1}); }},
    {"expand_dims", "2x3", [](X x) { return expand_dims(x[0], -1); }, [](A x) { return with_axis(x[0], -1); }},
    {"broadcast_to", "3;1x3;2x1;1x1;()", [](X x) { return broadcast_to(x[0], {4, 2, 3}); }, [](A x) { return broadcast_array(x[0], {4, 2, 3}); }},
    {"flip", "3x4;5;2x3x4", [](X x) { return flip(x[0], -1); }, [](A x) { return flipped(x[0], {-1}); }},
    {"flip", "3x4;5;2x3x4;()", [](X x) { return flip(x[0]); }, [](A x) { return flipped(x[0], axes_of(x[0].shape.rank())); }},
    {"roll", "4x3;4", [](X x) { return roll(x[0], 5, 0); }, [](A x) { return rolled(x[0], 5, 0); }},
    {"roll", "2x4;2x1x4", [](X x) { return roll(x[0], -1, -1); }, [](A x) { return rolled(x[0], -1, -1); }},
    {"tile", "2x3;3", [](X x) { return tile(x[0], {2, 2}); }, [](A x) { return tiled(x[0], {2, 2}); }},
    {"tile", "2x3", [](X x) { return tile(x[0], {2, 1, 0}); }, [](A x) { return tiled(x[0], {2, 1, 0}); }},
    {"repeat", "2x3;3", [](X x) { return repeat(x[0], 2, -1); }, [](A x) { return repeated(x[0], 2, -1); }},
    {"concatenate", "2x3,4x3;0x3,2x3;2,3", [](X x) { return concatenate(x, 0); }, [](A x) { return joined(x, 0); }},
    {"concatenate", "2x3,2x1;2x2x2,2x2x1", [](X x) { return concatenate({x[0], x[1], x[0]}, -1); }, [](A x) { const Array parts[] = {x[0], x[1], x[0]}; return joined(A(parts), -1); }},
    {"stack", "2x3,2x3", [](X x) { return stack(x, 1); }, [](A x) { return stacked(x, 1); }},
    {"stack", "(),()", [](X x) { return stack({x[0], x[1]}); }, [](A x) { return stacked(x, 0); }},
    {"split", "6x2;6", [](X x) { return split(x[0], 3)[1]; }, [](A x) { return part(x[0], 0, 2, 4); }},
    {"split_sizes", "2x6", [](X x) { return split_sizes(x[0], {1, 0, 3, 2}, 1)[2]; }, [](A x) { return part(x[0], 1, 1, 4); }},
    {"unstack", "3x2", [](X x) { return unstack(x[0])[2]; }, [](A x) { return without_axes(part(x[0], 0, 2, 3), {0}); }},
    {"unstack", "3x2;2x3x2", [](X x) { return unstack(x[0], 1)[1]; }, [](A x) { return without_axes(part(x[0], 1, 1, 2), {1}); }},
    {"pad", "2x3", [](X x) { return pad(x[0], {1, 0}, {0, 2}, 1.5); }, [](A x) { return padded(x[0], {1, 0}, {0, 2}, 1.5L); }},
    {"pad", "2x3,();0x2,();2x2,1", [](X x) { return pad(x[0], {1, 2}, {0, 1}, x[1]); }, [](A x) { return padded(x[0], {1, 2}, {0, 1}, x[1].values[0]); }},
    {"contiguous", "2x3;()", [](X x) { return contiguous(x[0]); }, [](A x) { return x[0]; }},
    {"cast", "2x3;0", [](X x) { return cast(cast(x[0], DType::float32), DType::float64); },
      [](A x) { Array y = x[0]; for (Real& v : y.values) v = static_cast<float>(v); return y; }, {-2, 2}, nullptr, none, 1e6},
    {"identity", "2x3;()", [](X x) { return identity(x[0]); }, [](A x) { return x[0]; }},
    {"stop_gradient", "2x3;()", [](X x) { return stop_gradient(x[0]); }, [](A x) { return x[0]; }, {-2, 2}, nullptr, constant},
    {"zeros_like", "2x3", [](X x) { return zeros_like(x[0]); }, [](A x) { return filled<Real>(x[0].shape, 0); }, {-2, 2}, nullptr, constant},
    {"ones_like", "2x3", [](X x) { return ones_like(x[0]); }, [](A x) { return filled<Real>(x[0].shape, 1); }, {-2, 2}, nullptr, constant},
    {"full_like", "2x3", [](X x) { return full_like(x[0], 7); }, [](A x) { return filled<Real>(x[0].shape, 7); }, {-2, 2}, nullptr, constant},

    {"slice", "5x4;4x4", [](X x) { return slice(x[0], {reel::range(1, 4, 2), 1}); }, [](A x) { return sliced(x[0], {{Item::range, 1, 4, 2}, {Item::index, 1}}); }},
    {"slice", "4x3", [](X x) { return slice(x[0], {reel::range_from(-1, -2), newaxis, reel::range_to(-1)}); }, [](A x) { return sliced(x[0], {{Item::from, -1, 0, -2}, {Item::new_axis}, {Item::to, 0, -1}}); }},
    {"slice", "2x3x4", [](X x) { return slice(x[0], {ellipsis, -1}); }, [](A x) { return sliced(x[0], {{}, {}, {Item::index, -1}}); }},
    {"slice", "2x4", [](X x) { return slice(x[0], {reel::all, reel::range(3, 3)}); }, [](A x) { return sliced(x[0], {{}, {Item::range, 3, 3}}); }},
    {"gather", "3x2", [](X x) { return gather(x[0], numbers({2, 0, 2, -1})); }, [](A x) { return gathered(x[0], integers({2, 0, 2, -1})); }},
    {"gather", "2x3", [](X x) { return gather(x[0], reshape(numbers({2, 0, 2, 1}), {2, 2}), 1); }, [](A x) { return gathered(x[0], {{2, 2}, {2, 0, 2, 1}}, 1); }},
    {"take_along_axis", "3x2", [](X x) { return take_along_axis(x[0], reshape(numbers({2, 0, 2, 1}), {2, 2}), 0); }, [](A x) { return taken_along(x[0], {{2, 2}, {2, 0, 2, 1}}, 0); }},
    {"take_along_axis", "2x3", [](X x) { return take_along_axis(x[0], reshape(numbers({2, 0, 2, 1, 1, 0, 2, 2}), {2, 4}), -1); }, [](A x) { return taken_along(x[0], {{2, 4}, {2, 0, 2, 1, 1, 0, 2, 2}}, -1); }},
    {"gather", "2x3", [](X x) { return gather(gather(x[0], numbers({2, 0}), 1), numbers({1, 1, 0})); }, [](A x) { return gathered(gathered(x[0], integers({2, 0}), 1), integers({1, 1, 0})); }},
    {"gather", "4x2", [](X x) { return gather(gather(x[0], reshape(numbers({3, 0, 1, 1, 2, 0}), {3, 2})), numbers({2, 0, 2})); },
      [](A x) { return gathered(gathered(x[0], {{3, 2}, {3, 0, 1, 1, 2, 0}}), integers({2, 0, 2})); }},
    {"scatter_add", "3x2,4x2", [](X x) { return scatter_add(x[0], numbers({2, 0, 2, -2}), x[1]); }, [](A x) { return scattered(x[0], integers({2, 0, 2, -2}), x[1]); }},
    {"diag", "3", [](X x) { return diag(x[0], 1); }, [](A x) { return moves::diag(x[0], 1); }},
    {"diag", "3x4", [](X x) { return diag(x[0], -1); }, [](A x) { return moves::diag(x[0], -1); }},
    {"diagonal", "2x3x4", [](X x) { return diagonal(x[0], 1); }, [](A x) { return moves::diagonal(x[0], 1); }},
    {"tril", "3x4;2x3x3", [](X x) { return tril(x[0]); }, [](A x) { return band(x[0], -far, 0); }},
    {"triu", "3x4;2x3x3", [](X x) { return triu(x[0], -1); }, [](A x) { return band(x[0], -1, far); }},
    {"trace", "3x4;2x3x3", [](X x) { return trace(x[0]); }, [](A x) { return moves::trace(x[0], 0); }},
    {"one_hot", "3", [](X x) { return one_hot(cast(x[0], DType::int64), 3); }, [](A x) { return one_hot_rows<Real>(integers_of(x[0]), 3); }, {0, 4}, nullptr, constant},
};
// clang-format on

}  // namespace

std::span<const Shaped> movements() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
