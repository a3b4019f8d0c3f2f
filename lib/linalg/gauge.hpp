// Shared by the rules of factorisations: division by differences that may vanish, and checks that a cotangent does not
// depend on arbitrary choices, such as the phase of an eigenvector.
#pragma once
#include <reel/linalg/factorisations.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "core/rounding.hpp"
#include "linalg/decompose.hpp"
#include "linalg/matrices.hpp"
#include "loops/elementwise/complex.hpp"
#include "ops/apply/apply.hpp"

namespace reel::ops {

/// Matrices of any shape, in the dtype in which factorisations compute (recorded). ShapeError for a lower rank.
Tensor matrix_operand(const char* op, const Operand& a);

/// A column vector and a row vector per matrix.
inline Tensor as_column(const Tensor& x) { return expand_dims(x, -1); }
inline Tensor as_row(const Tensor& x) { return expand_dims(x, -2); }
/// Of floating or complex d, the dtype of singular values, and that of eigenvalues.
inline DType real_dtype(DType d) { return is_complex(d) ? loops::part_dtype(d) : d; }
inline DType complex_dtype(DType d) { return loops::complex_dtype(real_dtype(d)); }
using detail::epsilon;
/// The product of matrices.
inline Tensor mm(const Tensor& x, const Tensor& y) { return product("linear algebra", x, y); }
/// x r^-1 and x r^-H for the upper triangle of r.
inline Tensor divide_upper(const Tensor& x, const Tensor& r) {
  return swap_matrix_axes(triangular_solve_any(r, swap_matrix_axes(x), {.lower = false, .transpose = true}));
}
inline Tensor divide_upper_adjoint(const Tensor& x, const Tensor& r) {
  return adjoint(triangular_solve_any(r, adjoint(x), {.lower = false}));
}
/// sum + x, where an empty sum is zero.
inline void add_to(Tensor& sum, const Tensor& x) { sum = sum.defined() ? add(sum, x) : x; }

/// Which differences x (matrices, or vectors if `vector`) count as 0: those within rounding error, (n + 10) eps times
/// the largest of the n values [..., n]. No gradient.
Tensor vanishing(const Tensor& x, const Tensor& values, bool vector = false);
/// m / by for matrices m. Where `by` vanishes: 0 where `unused`, else NaN.
Tensor divide_where_defined(const Tensor& m, const Tensor& by, const Tensor& vanishes, const Tensor& unused);
/// Whether the cotangent of vectors may come from a rule of values alone. The second derivative of such a rule is not
/// determined by the vectors where values are equal.
enum class VectorsFor : std::uint8_t { caller, rule_of_values };
/// The pairs (i, j) of vectors that m = v^H g_v shows to be unused, or used alike: both of its elements are exactly 0.
/// The diagonal counts as such a pair; for VectorsFor::rule_of_values it is the only one.
Tensor unused_pairs(const Tensor& m, VectorsFor vectors);
/// values[j] - values[i] at (i, j).
inline Tensor differences(const Tensor& values) { return subtract(as_row(values), as_column(values)); }

/// What a factorisation leaves arbitrary.
enum class Gauge : std::uint8_t { eigenvector_phase, singular_phase, complement };
/// Returns x. ValueError unless `defect` is negligible compared with `reference`: it measures how much a function
/// changes with that choice. It has the batch axes of x and `own_axes` further ones. Both are real or both complex.
Tensor require_invariant(Gauge gauge, const Tensor& x, const Tensor& defect, const Tensor& reference);

/// rest [..., m, m - k] of a square unitary matrix as a function of its first columns q [..., m, k], for functions that
/// depend on the span of the rest alone: d rest = -q dq^H rest.
Tensor complement(const Tensor& q, const Tensor& rest);

/// ValueError of an iteration that has not converged.
void require_convergence(const char* op, const loops::FactorInfo& info);

/// A shape with other last extents.
Shape with_extents(Shape batch, std::initializer_list<std::int64_t> extents);

}  // namespace reel::ops
