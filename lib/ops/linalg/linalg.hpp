// Shared by matrix products, contractions and factorisations.
#pragma once
#include <reel/ops/linalg.hpp>
#include <reel/ops/shape.hpp>

#include "loops/linalg/factorise.hpp"
#include "ops/apply/primitive.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// The matrix product of a and b, of one dtype that loops::matmul supports (float16 and bfloat16 through float32). `op`
/// is the name in errors.
Tensor product(const char* op, const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

/// The last two axes exchanged: a view, recorded.
inline Tensor swapped(const Tensor& x) { return moveaxis(x, -1, -2); }
/// One value per matrix, in a shape that broadcasts to the matrices.
inline Tensor per_matrix(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }
/// The batch axes of matrices.
Shape batch_of(const Tensor& a);

/// The dtype in which factorisations of dtype d compute: d itself, float64 for integers, float32 for halves. TypeError
/// for complex dtypes.
DType lapack_dtype(const char* op, DType d);
/// The operand of a factorisation, cast to that dtype (recorded). ShapeError unless its last two axes are equal.
Tensor square_matrices(const char* op, const Operand& a);
/// A result in lapack_dtype(d), cast to the dtype that the op promises.
inline Tensor in_dtype_of(const Operand& a, const Tensor& result) {
  return a.is_tensor() && is_half(a.tensor().dtype()) ? cast(result, a.tensor().dtype()) : result;
}

/// The shape of the pivots of a's LU factors.
Shape pivots_shape(const Tensor& a);
/// Announces the LU factors and pivots of a as residuals.
void add_factors(Metas& out, const Tensor& a);
/// The inverse of a from its factors, as a differentiable function of a. Where a is singular, infinite with the signs
/// of its adjugate.
Tensor inverse_of(const Tensor& a, const Tensor& lu, const Tensor& pivots);

}  // namespace reel::ops
