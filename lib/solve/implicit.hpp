// Solutions of equations as single entries, with implicit derivatives.
#pragma once
#include <reel/solve/equations.hpp>

namespace reel::autodiff {

/// r(x) = 0, and how linear systems with its Jacobian and the transpose are solved.
struct Equation {
  const char* name;
  EquationFunction residual;
  LinearSolver solver, transposed_solver;
  bool symmetric = false;
};

/// The residual at x. ShapeError or TypeError unless it is like x.
Tensor residual_of(const Equation& e, const Tensor& x);
/// v to r'(x) v, and its transpose.
LinearOperator jacobian_of(const Equation& e, const Tensor& x);
LinearOperator transposed_jacobian_of(const Equation& e, const Tensor& x);
/// The solution that find() computes unrecorded, as one entry of the tapes that follow what the residual reads. Its
/// derivatives read the recorded solution, so that they can be differentiated in turn.
Tensor implicit_solution(const Equation& e, const Callback<Tensor()>& find);

}  // namespace reel::autodiff
