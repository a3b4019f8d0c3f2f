// Krylov methods for operators given as functions, unrecorded.
#pragma once
#include <reel/linalg/iterative.hpp>

namespace reel::autodiff {

/// What a Krylov method found.
struct KrylovResult : IterativeResult {
  double operator_norm = 0;  ///< the largest |a v| / |v| of its products: a lower bound of |a|
};
/// Solves a x = b. `name` is the function in errors.
using KrylovMethod = KrylovResult (*)(const char* name, const LinearOperator& a, const Tensor& b,
                                      const IterativeOptions& options);
/// For symmetric positive definite operators: conjugate gradients.
KrylovResult run_cg(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options);
KrylovResult run_gmres(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options);

/// ValueError or ShapeError for options that no method takes.
void require_krylov_options(const char* name, const Tensor& b, const IterativeOptions& options);
double norm_of(const Tensor& x);

}  // namespace reel::autodiff
