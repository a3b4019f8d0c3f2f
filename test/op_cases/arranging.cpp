// Rows of the ops of <reel/ops/arranging.hpp>.
#include <reel/ops/arranging.hpp>

#include "references/movements.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace moves;
using X = Operands;
using A = Arrays;

Array product_of(const Array& a, const Array& b) {
  const Array both[] = {a, b};
  return by_elements(A(both), [](const Real* v) { return v[0] * v[1]; });
}
Array sum_of(const Array& a, const Array& b) {
  const Array both[] = {a, b};
  return by_elements(A(both), [](const Real* v) { return v[0] + v[1]; });
}
Array doubled(Array x) {
  for (Real& v : x.values) v *= 2;
  return x;
}
Array blocks_of(std::vector<std::vector<Array>> rows) {
  std::vector<Array> all;
  for (std::vector<Array>& row : rows) {
    for (Array& one : row) one = at_least(one, 2);
    all.push_back(moves::joined(A(row), 1));
  }
  return moves::joined(A(all), 0);
}

// clang-format off
constexpr Shaped rows[] = {
    {"swapaxes", "2x3x4", [](X x) { return swapaxes(x[0], 0, -1); }, [](A x) { return swapped_axes(x[0], 0, -1); }},
    {"swapaxes", "2x3", [](X x) { return swapaxes(x[0], 1, 1); }, [](A x) { return swapped_axes(x[0], 1, 1); }},
    {"matrix_transpose", "2x3x4;3x2", [](X x) { return matrix_transpose(x[0]); }, [](A x) { return swapped_axes(x[0], -1, -2); }},
    {"moveaxis", "2x3x4x1", [](X x) { return moveaxis(x[0], {0, -1}, {2, 0}); }, [](A x) { return permuted(x[0], {3, 1, 0, 2}); }},
    {"unflatten", "2x6", [](X x) { return unflatten(x[0], -1, {3, -1}); }, [](A x) { return reshaped_to(x[0], {2, 3, -1}); }},
    {"unflatten", "4x0;4x3", [](X x) { return unflatten(x[0], 0, {2, 1, 2}); }, [](A x) { return reshaped(x[0], {2, 1, 2, x[0].shape[1]}); }},
    {"flatten", "2x3x4;5;();2x0", [](X x) { return flatten(x[0]); }, [](A x) { return flattened(x[0]); }},
    {"rot90", "3x4;3x4x2", [](X x) { return rot90(x[0]); }, [](A x) { return rotated(x[0], 1); }},
    {"rot90", "3x4", [](X x) { return rot90(x[0], -2); }, [](A x) { return rotated(x[0], -2); }},
    {"rot90", "2x3x4", [](X x) { return rot90(x[0], 3, 1, -1); }, [](A x) { return rotated(x[0], 3, 1, -1); }},
    {"rot90", "2x3", [](X x) { return rot90(x[0], 8); }, [](A x) { return rotated(x[0], 8); }},
    {"diag_embed", "3;2x3;2x0", [](X x) { return diag_embed(x[0]); }, [](A x) { return diagonal_matrices(x[0], 0); }},
    {"diag_embed", "2x3", [](X x) { return diag_embed(x[0], -2); }, [](A x) { return diagonal_matrices(x[0], -2); }},
    {"set_diagonal", "3x4,3;2x3x4,3;2x3x4,2x3;3x4,()", [](X x) { return set_diagonal(x[0], x[1]); }, [](A x) { return with_diagonal(x[0], x[1]); }},
    {"set_diagonal", "3x4,2;3x2,0", [](X x) { return set_diagonal(x[0], x[1], 2); }, [](A x) { return with_diagonal(x[0], x[1], 2); }},
    {"band_part", "4x5;2x3x3", [](X x) { return band_part(x[0], 1, 0); }, [](A x) { return moves::band_part(x[0], 1, 0); }},
    {"band_part", "4x5", [](X x) { return band_part(x[0], -1, 2); }, [](A x) { return moves::band_part(x[0], -1, 2); }},
    {"band_part", "4x5", [](X x) { return band_part(x[0], 2, -1); }, [](A x) { return moves::band_part(x[0], 2, -1); }},
    {"band_part", "2x3", [](X x) { return band_part(x[0], -1, -1); }, [](A x) { return moves::band_part(x[0], -1, -1); }},
    {"block_diag", "2x3,1x2;2x2,0x1", [](X x) { return block_diag(x); }, block_diagonal<Real>},
    {"meshgrid", "2,3", [](X x) { return meshgrid(x)[0] * meshgrid(x, true)[1][0][0] + meshgrid(x)[1]; }, [](A x) { return sum_of(product_of(grid(x, 0, false), part(flattened(x[1]), 0, 0, 1)), grid(x, 1, false)); }},
    {"meshgrid", "2,3,2", [](X x) { return meshgrid({x[0], x[1], x[2]}, true)[1]; }, [](A x) { return grid(x, 1, true); }},
    {"toeplitz", "3,4;1,3;3,1", [](X x) { return toeplitz(x[0], x[1]); }, toeplitz_matrix<Real>},
    {"hankel", "3,4;1,3;3,1", [](X x) { return hankel(x[0], x[1]); }, hankel_matrix<Real>},
    {"circulant", "4;1;0", [](X x) { return circulant(x[0]); }, [](A x) { return circulant_matrix(x[0]); }},
    {"vander", "3;2x3;()", [](X x) { return vander(x[0], 4); }, [](A x) { return powers(x[0], 4, false); }, {-2, 2}, nullptr, none, 8},
    {"vander", "3", [](X x) { return vander(x[0], -1, true); }, [](A x) { return powers(x[0], 3, true); }, {-2, 2}, nullptr, none, 4},
    {"linspace", "(),();2,3x2;3,1", [](X x) { return linspace(x[0], x[1], 4); }, [](A x) { return steps_between(x, 4); }, {-2, 2}, nullptr, none, 2},
    {"linspace", "2,2", [](X x) { return linspace(x[0], x[1], 1); }, [](A x) { return steps_between(x, 1); }},
    {"atleast_1d", "();3", [](X x) { return atleast_1d(x[0]); }, [](A x) { return at_least(x[0], 1); }},
    {"atleast_2d", "();3;2x3", [](X x) { return atleast_2d(x[0]); }, [](A x) { return at_least(x[0], 2); }},
    {"atleast_3d", "();3;2x3;1x2x3", [](X x) { return atleast_3d(x[0]); }, [](A x) { return at_least(x[0], 3); }},
    {"hstack", "2,3;2x1,2x2;(),3", [](X x) { return hstack(x); }, horizontally<Real>},
    {"vstack", "2,2;1x2,2x2;2,2x2", [](X x) { return vstack(x); }, vertically<Real>},
    {"dstack", "3,3;2x3,2x3", [](X x) { return dstack(x); }, in_depth<Real>},
    {"column_stack", "3,3;3,3x2", [](X x) { return column_stack(x); }, columns<Real>},
    {"append", "2x3,2;(),3;0,2", [](X x) { return append(x[0], x[1]); }, [](A x) { return moves::joined(x, 0, flattened<Real>); }},
    {"append", "1x3,2x3", [](X x) { return append(x[0], x[1], 0); }, [](A x) { return moves::joined(x, 0); }},
    {"block", "2x1,2x2", [](X x) { return block({{x[0], x[1]}, {x[1], x[0]}}); }, [](A x) { return blocks_of({{x[0], x[1]}, {x[1], x[0]}}); }},
    {"block", "(),2", [](X x) { return block({{x[0], x[1]}}); }, [](A x) { return blocks_of({{x[0], x[1]}}); }},
    {"array_split", "7", [](X x) { const std::vector<Tensor> y = array_split(x[0], 3); return concatenate({y[2], y[0], y[1] * 2}); }, [](A x) { const Array parts[] = {part_of(x[0], 2, 3, 0), part_of(x[0], 0, 3, 0), doubled(part_of(x[0], 1, 3, 0))}; return moves::joined(A(parts), 0); }},
    {"array_split", "2x3", [](X x) { return array_split(x[0], 4, -1)[1]; }, [](A x) { return part_of(x[0], 1, 4, -1); }},
    {"hsplit", "4;2x4", [](X x) { return hsplit(x[0], 2)[1]; }, [](A x) { return part_of(x[0], 1, 2, x[0].shape.rank() > 1); }},
    {"vsplit", "4x2", [](X x) { return vsplit(x[0], 2)[1]; }, [](A x) { return part_of(x[0], 1, 2, 0); }},
    {"dsplit", "2x1x2", [](X x) { return dsplit(x[0], 2)[1]; }, [](A x) { return part_of(x[0], 1, 2, 2); }},
    {"broadcast_arrays", "2x1,3", [](X x) { const std::vector<Tensor> y = broadcast_arrays(x); return y[0] * y[1]; }, [](A x) { return product_of(x[0], x[1]); }},
    {"repeat", "3x2", [](X x) { return repeat(x[0], tensor<std::int64_t>({2, 0, 3}), 0); }, [](A x) { return repeated(x[0], Ints{2, 0, 3}, 0); }, {-2, 2}, nullptr, by_values},
    {"repeat", "2x3", [](X x) { return repeat(x[0], tensor<std::int64_t>({2}), 1); }, [](A x) { return repeated(x[0], 2, 1); }, {-2, 2}, nullptr, by_values},
    {"reverse_sequence", "2x4;2x3x2", [](X x) { return reverse_sequence(x[0], tensor<std::int64_t>({3, 0}), 1); }, [](A x) { return reversed_sequences(x[0], {3, 0}, 1); }},
    {"reverse_sequence", "4x2x3", [](X x) { return reverse_sequence(x[0], tensor<std::int64_t>({4, 1, 2}), 0, -1); }, [](A x) { return reversed_sequences(x[0], {4, 1, 2}, 0, -1); }},
    {"full", "();1", [](X x) { return full({2, 3}, x[0]); }, [](A x) { return Array{{2, 3}, Row(6, x[0].values[0])}; }},
};
// clang-format on

}  // namespace

std::span<const Shaped> arranging() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
