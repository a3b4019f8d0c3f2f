// Solutions of ordinary differential equations, with the derivatives of the steps that were taken. <reel/reel.hpp> does
// not include this header.
#pragma once
#include <reel/callback.hpp>
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// f(y, t), the derivative of y by t: of y's shape and dtype. t has rank 0. It may read other tensors and variables, by
/// which the solution is differentiable. Tapes keep it for their gradients: it captures by value.
using OdeFunction = Callback<Tensor(const Tensor& y, const Tensor& t)>;

/// Explicit of order 5 (Dormand and Prince 1980), with SciPy's interpolant of order 4 (Shampine 1986); or, for stiff
/// equations, linearly implicit of order 2 with a Jacobian per step (ode23s of Shampine and Reichelt 1997).
enum class OdeMethod : std::uint8_t { dormand_prince, rosenbrock };

/// Options of odeint().
struct OdeOptions {
  OdeMethod method = OdeMethod::dormand_prince;
  /// A step is accepted when the root mean square of error / (absolute_tolerance + relative_tolerance |y|) is at
  /// most 1.
  double relative_tolerance = 1e-6, absolute_tolerance = 1e-9;
  double first_step = 0;  ///< its length; 0: chosen by the slopes at the start (Hairer, Norsett and Wanner 1993)
  std::int64_t max_steps = 10000;  ///< accepted and rejected ones together
  /// Bytes that may be kept for the derivative of steps without output, which are one loop (LoopOptions). 0: no limit.
  std::int64_t memory_budget = 0;
};

/// y at each of the times t [m], which ascend or descend strictly, from y0 at t[0]: [m, y0's shape]. y0 is float32 or
/// float64 (TypeError), t is cast to its dtype. ShapeError or TypeError for an f of another shape or dtype; ValueError
/// for times out of order, f that is infinite or NaN, and where the steps become too short or too many. It reads
/// elements: TraceError in a traced function.
///
/// Derivatives of every order in both modes, by y0 and by all that f reads, are those of the accepted steps, exact for
/// what was computed; the lengths of steps are constants. By times, where a tape follows t: f(y, t) at each of them,
/// and by t[0] that of the solution by the start of time; with derivatives in turn up to order 5.
Tensor odeint(const OdeFunction& f, const Operand& y0, const Operand& t, const OdeOptions& options = {});

}  // namespace reel
