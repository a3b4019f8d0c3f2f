// Shared by contractions and factorisations.
#pragma once
#include <optional>
#include <reel/ops/linalg.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <string>

#include "linalg/factorise.hpp"
#include "ops/apply/primitive.hpp"
#include "ops/complex.hpp"
#include "ops/engine.hpp"
#include "ops/product/matmul.hpp"

namespace reel::ops {

/// The conjugate transpose of matrices.
inline Tensor adjoint(const Tensor& x) { return conjugate(swap_matrix_axes(x)); }
/// a^H b, a b^H.
inline Tensor adjoint_product(const char* op, const Tensor& a, const Tensor& b) {
  return product(op, conjugate(a), b, {.transpose_a = true});
}
inline Tensor product_adjoint(const char* op, const Tensor& a, const Tensor& b) {
  return product(op, a, conjugate(b), {.transpose_b = true});
}
/// (x + x^H) / 2.
Tensor hermitian_part(const Tensor& x);
/// One value per matrix, in a shape that broadcasts to the matrices.
inline Tensor per_matrix(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }
/// The batch axes: those before the last `own_axes`, which are 2 for matrices.
Shape batch_of(const Tensor& a, int own_axes = 2);

/// The dtype in which factorisations of dtype d compute: d itself, float64 for integers, float32 for float16 and
/// bfloat16.
DType lapack_dtype(DType d);
/// The operand of that name. ShapeError unless its last two axes are equal.
Tensor square_operand(const char* op, const Operand& a, const char* operand = "a");
/// The same, cast to lapack_dtype (recorded).
Tensor square_matrices(const char* op, const Operand& a, const char* operand = "a");
/// How is_vector_side reads and names its operands: a's own axes, 2 for matrices or 1 for diagonals, and b's name.
struct SideOptions {
  int matrix_axes = 2;
  const char* side = "b";
};
/// Whether b of a x = b is a vector: it has one axis. Otherwise it is matrices. ShapeError unless it has a's number of
/// rows, with the form of a batch of vectors where b has their shape and cannot be matrices.
bool is_vector_side(const char* op, const char* operand, const Shape& a, const Shape& b, const SideOptions& = {});
/// A result in lapack_dtype(d), cast to the dtype that the op promises.
inline Tensor in_dtype_of(const Operand& a, const Tensor& result) {
  return a.is_tensor() && is_half(a.tensor().dtype()) ? cast(result, a.tensor().dtype()) : result;
}

/// The op in whose name a triangular solve or a Cholesky factorisation reports errors. `rule` reports none: a singular
/// matrix gives infinities and NaN.
enum class Caller : std::uint8_t { itself, rule, lu_solve, cholesky_solve, cholesky_inverse, eigh };
/// solve for matrices b, for rules.
Tensor solve_any(const Tensor& a, const Tensor& b);
/// triangular_solve and cholesky for a caller. float16 and bfloat16 compute in float32. `vector` is whether b is a
/// vector with batch axes, where is_vector_side(b) does not decide.
Tensor triangular_solve_for(Caller caller, const Operand& a, const Operand& b, const TriangularOptions& options,
                            std::optional<bool> vector = std::nullopt);
inline Tensor triangular_solve_any(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  return triangular_solve_for(Caller::rule, a, b, options, false);
}
Tensor cholesky_for(Caller caller, const Tensor& a);
/// The cotangent of a Hermitian matrix whose Cholesky factor l has the cotangent g, and the tangent of that factor.
Tensor cholesky_cotangent(const Tensor& l, const Tensor& g);
Tensor cholesky_tangent(const Tensor& l, const Tensor& da);

/// The shape of the pivots of a's LU factors.
Shape pivots_shape(const Tensor& a);
/// Announces the LU factors and pivots of a as residuals.
void add_factors(Metas& out, const Tensor& a);
/// " of matrix [i, j]": the matrix at a row-major position of a batch, for errors; nothing if there is no batch.
std::string matrix_name(std::int64_t at, const Shape& batch);
/// The inverse of a from its factors, as a differentiable function of a. Where a is singular, infinite with the signs
/// of its adjugate.
Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots);

/// matrix_norm: the largest singular value, or the sum of all.
Tensor norm_by_spectrum(const Operand& a, bool spectral, bool keepdims);

}  // namespace reel::ops
