// Integrals: of samples, and of functions by Gaussian quadrature.
//
// float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as float64; TypeError for complex
// numbers. Derivatives of every order in both modes. <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// The integral of samples y along an axis, by straight lines between them (NumPy's trapezoid). The spacing is a
/// number, the samples' coordinates, a vector, or coordinates in y's shape (ShapeError). No samples, and one, have
/// integral 0. Gradients: to y the weights, to coordinates the halved differences of samples around them.
Tensor trapezoid(const Operand& y, const Operand& spacing = 1.0, std::int64_t axis = -1);
/// The same up to each sample but the first, or with `initial` from the first on, where it is 0 (SciPy). ShapeError of
/// no samples.
Tensor cumulative_trapezoid(const Operand& y, const Operand& spacing = 1.0, std::int64_t axis = -1,
                            bool initial = false);
/// The same by parabolas through three samples each; for an even number of samples the last interval is integrated
/// under the parabola through the last three (Cartwright 2017, SciPy's simpson). Of two samples a straight line, of one
/// 0. ShapeError of none.
Tensor simpson(const Operand& y, const Operand& spacing = 1.0, std::int64_t axis = -1);

/// A function of points [..., n] that gives its value at each of them, in their shape.
using Integrand = Callback<Tensor(const Tensor&)>;
/// The integral of f from a to b, which broadcast, by the n points of Gauss and Legendre: exact for polynomials of
/// degree 2 n - 1. f is called once, with points [a and b's shape, n] in ascending order if a < b, and what it captures
/// is differentiated as what it records; the derivatives by a and b are those of the sum. ValueError unless n is from 1
/// to 100; ShapeError if f gives another shape.
Tensor fixed_quad(const Integrand& f, const Operand& a, const Operand& b, std::int64_t n = 5);

/// Options of quad().
struct QuadOptions {
  /// The estimated error is at most `tolerance` times the largest component of the integral, or `absolute_tolerance`.
  /// -1 stands for the square root of the rounding unit.
  double tolerance = -1, absolute_tolerance = -1;
  std::int64_t max_intervals = 1000;
};
/// The integral of f from a to b by adaptive bisection with the 7 points of Gauss and 15 of Kronrod. a and b have size
/// 1 and may be infinite: then x = a + t / (1 - t), b - t / (1 - t) or t / (1 - t^2). f takes points [n], never a or b
/// themselves, and gives [..., n]; the result is [...]. ValueError where the estimate does not reach a tolerance within
/// max_intervals, or f is not finite. It reads elements: TraceError in a traced function.
///
/// Derivatives of every order in both modes by all that f reads, at the final points, which are constants; those by a
/// and b, where a tape follows them, are f(b) and -f(a) (Leibniz), with derivatives in turn up to order 10: f must be
/// finite there. A kink of f that moves is missed by second derivatives, a jump by first ones: make it a or b.
Tensor quad(const Integrand& f, const Operand& a, const Operand& b, const QuadOptions& options = {});

}  // namespace reel
