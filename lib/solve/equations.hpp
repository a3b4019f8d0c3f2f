// What fixed_point, root and minimum share: options, the start, the size of a step, Newton's method.
#pragma once
#include "solve/implicit.hpp"

namespace reel::autodiff {

double number_from(const Tensor& x);
double size_of(const Tensor& x);
/// The rounding unit of x's dtype.
double unit_of(const Tensor& x);

/// Options with the defaults filled in. Errors name the op.
EquationOptions check_options(const char* name, const EquationFunction& f, const Tensor& x, EquationOptions options,
                              std::int64_t iterations);
/// x0 without its derivatives.
Tensor start_of(const char* name, const Operand& x0);
Equation equation_of(const char* name, EquationFunction residual, const EquationOptions& options, const Tensor& like,
                     bool symmetric = false);
/// Whether the callback ends the iterations.
bool is_ended(const EquationOptions& options, std::int64_t iterations, double residual);
/// A root of the residual, by Newton's method from x.
Tensor newton(const Equation& e, Tensor x, const EquationOptions& options);

}  // namespace reel::autodiff
