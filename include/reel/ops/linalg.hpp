// Matrix products and factorisations, of float32 and float64 (integers are computed in float64; matmul, dot, outer and
// einsum of integers stay integers). Leading axes are batches and broadcast.
#pragma once
#include <reel/tensor.hpp>
#include <string_view>

namespace [[gnu::visibility("default")]] reel {

/// Which operands of matmul are taken transposed (their last two axes), without a copy.
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
};
/// The matrix product [..., n, k] x [..., k, m]; a vector on the left is a row, on the right a column, and its axis
/// goes (NumPy's matmul). ShapeError naming both shapes. Gradient: g b^T, a^T g, summed over broadcast batches.
Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options = {});
/// The inner product of two vectors; for higher ranks, over a's last and b's second-to-last axis (NumPy's dot).
Tensor dot(const Operand& a, const Operand& b);
/// a_i b_j of the flattened operands.
Tensor outer(const Operand& a, const Operand& b);
/// Summed over the given axes of each, or over a's last and b's first `count` axes.
Tensor tensordot(const Operand& a, const Operand& b, std::int64_t count = 2);
Tensor tensordot(const Operand& a, const Operand& b, const Axes& axes_a, const Axes& axes_b);
/// Einstein summation: "ij,jk->ik", repeated indices take diagonals, "..." stands for batches; without "->" the
/// indices that occur once, in alphabetical order (NumPy's einsum). ValueError naming what is wrong in the text.
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands);
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands);

/// The lower triangular L with L L^T = a, of symmetric positive definite a [..., n, n] (its lower triangle is read).
/// ValueError when it is not positive definite. Gradient: the symmetric half (Murray 2016).
Tensor cholesky(const Operand& a);
/// x with a x = b, of a [..., n, n] and b [..., n] or [..., n, m]. ValueError when a is singular. Gradient: db = solve(a^T, g),
/// da = -db x^T.
Tensor solve(const Operand& a, const Operand& b);
struct TriangularOptions {
  bool lower = true, transpose = false, unit_diagonal = false;
};
/// The same for triangular a; its other triangle is not read and gets gradient 0.
Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options = {});
/// The inverse of a [..., n, n]. ValueError when singular. Gradient: -z^T g z^T.
Tensor inverse(const Operand& a);
/// The determinant of a [..., n, n]. Gradient: g times the matrix of cofactors, also where a is singular.
Tensor det(const Operand& a);
/// Sign and logarithm of the absolute value of the determinant; 0 and -inf when singular. Gradient of the logarithm: inverse(a)^T.
struct SignLogDet {
  Tensor sign, logdet;
};
SignLogDet slogdet(const Operand& a);

}  // namespace reel
