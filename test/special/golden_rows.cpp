// Rows of interpolation, integrals, equations, differential equations, rotations and special functions.
#include <limits>
#include <reel/geometry.hpp>
#include <reel/interpolate.hpp>
#include <reel/ode.hpp>
#include <reel/reel.hpp>
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>
#include <reel/special.hpp>

#include "../golden/rows.hpp"

using namespace reel;

namespace golden {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor natural(const Tensor& x, const Tensor& knots, const Tensor& values) {
  return cubic_spline(knots, values, {.ends = SplineEnds::natural})(x);
}
Tensor spline_knots() { return tensor({0, 0.5, 2, 3, 4.5}); }
OdeFunction linear_flow(const Tensor& a) {
  return [a](const Tensor& y, const Tensor&) { return matmul(a, y); };
}
Tensor flow(const Tensors& x, OdeMethod method, double tolerance) {
  return odeint(linear_flow(x[0]), x[1], tensor({0, 0.5, 1.25}),
                {.method = method, .relative_tolerance = tolerance, .absolute_tolerance = tolerance});
}
Integrand exponential(const Tensor& p) {
  return [p](const Tensor& t) { return exp(p * t); };
}
const QuadOptions fine = {.tolerance = 1e-14, .absolute_tolerance = 1e-15};

}  // namespace

const std::vector<Row> function_rows = {
    {"gamma"},
    {"rgamma"},
    {"dawsn"},
    {"exp1"},
    {"expint"},
    {"sinint"},
    {"cosint"},
    {"fresnel_sin"},
    {"fresnel_cos"},
    {"spence"},
    REEL_ROW("zeta", zeta(x[0])),
    {"lambertw"},
    {"ellipk"},
    {"ellipe"},
    {"airy_ai"},
    {"airy_bi"},
    {"j0"},
    {"j1"},
    {"y0"},
    {"y1"},
    {"i0"},
    {"i1"},
    {"k0"},
    {"k1"},
    {"erf"},
    {"erfcx"},
    {"ndtri"},
    {"log_ndtr"},
    {"so3_exp"},
    {"se3_exp"},
    {"quaternion_to_matrix"},
    {"jv"},
    {"yv"},
    {"iv"},
    {"kv"},
    {"betaln"},
    {"gammainc"},
    {"gammaincc"},
    {"gammaincinv"},
    {"gammainccinv"},
    {"ellipkinc"},
    {"quaternion_multiply"},
    {"quaternion_rotate"},
    REEL_ROW("zeta hurwitz", zeta(x[0], x[1])),
    {"betaincinv"},
    REEL_ROW("interp", interp(x[0], x[1], x[2])),
    REEL_ROW("cubic_spline", natural(x[0], x[1], x[2])),
    REEL_ROW("pchip", pchip(x[1], x[2])(x[0])),
    REEL_ROW("akima", stack({akima(spline_knots(), x[1])(x[0]), akima(spline_knots(), x[1])(x[0], 1)})),
    REEL_ROW("cubic_spline not a knot",
             stack({cubic_spline(spline_knots(), x[1])(x[0]), cubic_spline(spline_knots(), x[1])(x[0], 1)})),
    REEL_ROW("cubic_spline by values", cubic_spline(spline_knots(), x[0])(tensor({0.25, 1.5, 4}))),
    REEL_ROW("simpson", simpson(x[0], x[1])),
    REEL_ROW("simpson even", simpson(x[0])),
    REEL_ROW("fixed_quad", fixed_quad(exponential(x[0]), x[1], x[2], 6)),
    REEL_ROW("quad", quad(exponential(x[0]), x[1], x[2], fine)),
    REEL_ROW("quad infinite",
             quad([p = x[0]](const Tensor& t) { return exp(-p * square(t)); }, -infinity, infinity, fine)),
    REEL_ROW("quad half infinite", quad([p = x[0]](const Tensor& t) { return t * exp(-p * t); }, 0, infinity, fine)),
    REEL_ROW("root", root([a = x[0], b = x[1]](const Tensor& t) { return t * t * t + a * t + b; }, tensor({-0.5}))),
    REEL_ROW("root kepler", root([e = x[0], m = x[1]](const Tensor& t) { return t - e * sin(t) - m; }, tensor({0.5}))),
    REEL_ROW("bracketed_root kepler",
             bracketed_root([e = x[0], m = x[1]](const Tensor& t) { return t - e * sin(t) - m; }, tensor({0.0}), 4.0)),
    REEL_ROW("fixed_point", fixed_point([a = x[0]](const Tensor& t) { return cos(a * t); }, tensor({0.75}))),
    REEL_ROW("minimum",
             minimum([a = x[0], b = x[1]](const Tensor& t) { return sum(a * exp(t) + t * t - b * t); }, tensor({0.5}))),
    {"odeint", [](const Tensors& x) -> Tensors { return {flow(x, OdeMethod::dormand_prince, 1e-11)}; }, 1e-10},
    {"odeint stiff", [](const Tensors& x) -> Tensors { return {flow(x, OdeMethod::rosenbrock, 1e-7)}; }, 1e-4},
    REEL_ROW("so3_log", so3_log(so3_exp(x[0]))),
    REEL_ROW("se3_log", se3_log(se3_exp(x[0]))),
    REEL_ROW("so3_log scipy", so3_log(x[0])),
    REEL_ROW("matrix_to_quaternion", matrix_to_quaternion(quaternion_to_matrix(x[0]))),
};

}  // namespace golden
