// Single steps of methods for ordinary differential equations, recorded as the ops that they are made of.
#pragma once
#include <reel/ode.hpp>
#include <vector>

#include "core/fail.hpp"
#include "interpolate/cold_tensor.hpp"
#include "tape/record.hpp"

namespace reel::autodiff {

struct Ode {
  OdeFunction f;
  OdeMethod method;
  DType dtype;
  const char* name = "odeint";  // of the public function, for errors
};
/// The derivative of y at time t. ShapeError or TypeError unless it is like y.
ops::Quantity slope_of(const Ode& ode, const Tensor& y, const Tensor& t);

struct StepResult {
  ops::Quantity y, error;
  std::vector<ops::Quantity> slopes;  ///< of the stages
};
/// A step of the method by h; `whole` with its error and all stages, which between() needs.
StepResult take_step(const Ode& ode, const Tensor& y, const Tensor& t, const Tensor& h, bool whole);
StepResult dormand_prince_step(const Ode& ode, const Tensor& y, const Tensor& t, const Tensor& h, bool whole);
/// The solution at a part of the step from y, 0 to 1.
ops::Quantity between(const Ode& ode, const Tensor& y, const StepResult& step, double h, double part);

/// A number in the dtype of y.
ops::Quantity number_of(const Ode& ode, double x);

}  // namespace reel::autodiff
