// Initial value problems of ordinary differential equations, and events of their solutions, with derivatives.
// <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tensor.hpp>
#include <vector>

namespace REEL_API reel {

/// f(y, t), the derivative of y by t: of y's shape and dtype. t has rank 0. It may read other tensors and variables, by
/// which the solution is differentiable. Tapes keep it for their gradients: it captures by value.
using OdeFunction = Callback<Tensor(const Tensor& y, const Tensor& t)>;

/// Explicit of order 5 (Dormand and Prince 1980), with SciPy's interpolant of order 4 (Shampine 1986); or, for stiff
/// equations, linearly implicit of order 2 with a Jacobian per step (ode23s of Shampine and Reichelt 1997).
enum class OdeMethod : std::uint8_t { dormand_prince, rosenbrock };

/// What is differentiated. Discrete: the accepted steps. Continuous: the equation; the equations of tangents are solved
/// forwards and those of cotangents backwards (Chen et al. 2018; JAX's odeint), to the same tolerances.
enum class OdeAdjoint : std::uint8_t { discrete, continuous };

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
  OdeAdjoint adjoint = OdeAdjoint::discrete;
  double longest_step = 0;  ///< 0: no limit
};

/// y at each of the times t [m], which ascend or descend strictly, from y0 at t[0]: [m, y0's shape]. y0 is float32 or
/// float64 (TypeError), t is cast to its dtype. ShapeError or TypeError for an f of another shape or dtype; ValueError
/// for times out of order, f that is infinite or NaN, and where the steps become too short or too many. It reads
/// elements: TraceError in a traced function.
///
/// Derivatives exist to every order, in both modes, by y0 and by all that f reads. They are the exact derivatives of
/// the accepted steps, whose lengths are constants. By a time they are those of the equation: f(y, t) there; by t[0]
/// the derivative of the solution by its initial time. Steps are chosen by the error of y alone: a solution at rest
/// takes long ones, on which its derivatives may be inaccurate; longest_step limits them.
///
/// With OdeAdjoint::continuous each interval between times is solved separately. It is one entry of a tape, which keeps
/// only the states at its ends: memory does not grow with the number of steps. Derivatives, also of every order in both
/// modes, agree with the discrete ones only to the tolerances, and the equation must be stable backwards in time, as a
/// stiff one is not: OdeMethod::rosenbrock belongs to the discrete adjoint. The
/// root mean square of a backward step is over y, its cotangent and the cotangents of all that f reads. `memory_budget`
/// is not used.
Tensor odeint(const OdeFunction& f, const Operand& y0, const Operand& t, const OdeOptions& options = {});

/// g(y, t), real and of size 1. It may read other tensors and variables.
struct OdeEvent {
  OdeFunction function;
  int direction = 0;      ///< 1: roots where g rises as the solution proceeds, -1: where it falls, 0: both; no other
  bool terminal = false;  ///< whether the solution ends at the first root
};
/// The solution up to its end, and the roots of the events.
struct OdeEvents {
  Tensor y;                           ///< at the times that are reached, t[0] at least: [k, y0's shape]
  std::vector<Tensor> times, states;  ///< of the roots of each event, in order: [r] and [r, y0's shape]
  std::int64_t stopped_by = -1;       ///< the terminal event that ended the solution; -1: none
};
/// odeint with events (SciPy's solve_ivp). An event's root is a time at which g changes its sign or becomes 0. t[0] is
/// no root, to rounding, so that a solution can start from an event. Signs are compared at the quarters of each step.
/// Two roots of one event within a quarter, and a root where g touches 0 without crossing it, may be missed; shorter
/// steps find them (longest_step). Roots are found to the rounding of t.
///
/// Roots in one step are in the order of time, and of the list of events where times are equal. After a terminal root
/// neither roots nor times t are reported. The step that contains it is computed to its end: f and g must be defined
/// there. Errors are those of odeint, and ValueError for an event that is empty or NaN.
///
/// Derivatives exist to every order, in both modes, by y0 and by all that f and the events read. The time of a root has
/// the derivative dt = -dg / (dg / dt), with dg / dt along the step that ends at the root, and the state there changes
/// with it. A derivative of a root where dg / dt is 0 throws ValueError. With OdeAdjoint::continuous a root ends an
/// interval, as the times do, and dg / dt is along the solution; the steps are searched first, and three numbers of
/// each are kept until then.
OdeEvents odeint_events(const OdeFunction& f, const Operand& y0, const Operand& t, const std::vector<OdeEvent>& events,
                        const OdeOptions& options = {});

}  // namespace reel
