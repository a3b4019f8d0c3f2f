// Solutions found by iteration: of linear systems, equations, integrals, linear differential equations.
#include "../../../solve/references/solutions.hpp"

#include <algorithm>
#include <reel/linalg.hpp>
#include <reel/ode.hpp>
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>

#include "../../matrices.hpp"

namespace random_programs {

namespace {

using namespace cases::equations;
using reel::Tensor;

double unit_of(DType d) { return d == DType::float32 ? 0x1p-24 : 0x1p-53; }
/// Further errors of so many rounding units of the largest coefficient of all, beside those of each: a derivative of a
/// solution has the error of the solution, times what the operator changes by.
Matrix settled_together(const Matrix& given, double own, double together) {
  Matrix x = settled(given, own);
  double largest = 0;
  for (const Jet& y : x.values)
    for (int k = 0; k < Jet::count; ++k) largest = std::max(largest, static_cast<double>(std::fabs(y.v[k])));
  for (Jet& y : x.values) y = with_errors(y, together * largest);
  return x;
}
template <class F>
auto exact(const F& f) {
  const Exactly exactly;
  return f();
}

// ---- Krylov methods

reel::LinearOperator times(const Tensor& a) {
  return [a](const Tensor& v) { return reel::matmul(a, v); };
}
// l l^T + 1
reel::LinearOperator definite(const Tensor& l) {
  return [l](const Tensor& v) { return reel::matmul(l, reel::matmul(l, v, {.transpose_a = true})) + v; };
}
reel::IterativeOptions accurate(const Tensor& b) { return {.tolerance = 64 * unit_of(b.dtype())}; }

struct Krylov {
  const char* name;
  bool symmetric;
  Tensor (*call)(const Tensor& a, const Tensor& b);
  double shift = 0;  // what is added to the diagonal
};
// bicgstab breaks down for some systems, which is an error of a derivative: not for those near a multiple of 1.
constexpr double far = 64;
const Krylov krylov[] = {
    {"bicgstab", false,
     [](const Tensor& a, const Tensor& b) {
       const auto shifted = [a](const Tensor& v) { return reel::matmul(a, v) + far * v; };
       return reel::bicgstab(shifted, b, accurate(b)).x;
     },
     far},
    {"cg", true, [](const Tensor& l, const Tensor& b) { return reel::cg(definite(l), b, accurate(b)).x; }},
    {"gmres", false, [](const Tensor& a, const Tensor& b) { return reel::gmres(times(a), b, accurate(b)).x; }},
    {"linear_solve", false,
     [](const Tensor& a, const Tensor& b) { return reel::linear_solve(times(a), b, accurate(b)); }},
};

bool make_krylov(const Krylov& f, Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 3);
  const int a = f.symmetric ? real_value(m, {n, n}) : dominant_matrix(m, n);
  if (a < 0) return false;
  s.args = {Maker::arg(a), Maker::arg(value_like(m, {n}, m.at(a).dtype))};
  return s.args[1].index >= 0;
}
Matrix krylov_solution(const Krylov& f, MatrixRef a, MatrixRef b) {
  require_small(a, 6);
  if (!f.symmetric) require_dominant(a);
  const Matrix x = exact([&] {
    const Matrix one = unit<Jet>(a.rows);
    return solved(sum_of(f.symmetric ? sum_of(a * transposed(a), 1, one) : a, f.shift, one), b);
  });
  return settled_together(x, 1000, 1000);
}
void add_krylov(std::vector<Op>& t) {
  for (const Krylov& f : krylov) {
    Op o = row_op<Jet>(
        f.name, [&f](Maker& m, Statement& s) { return make_krylov(f, m, s); }, real_dtype,
        [&f](JetArrays x, const Statement&) {
          return each_side(x[0], x[1], [&](MatrixRef a, MatrixRef b) { return krylov_solution(f, a, b); });
        },
        {});
    o.call = [&f](const Statement&, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(f.call(a.tensor(0), a.tensor(1)));
    };
    o.text = {};
    t.push_back(std::move(o));
  }
}

// ---- Equations f(x, p) = 0 for each element of p

template <class Equation>
void add_equation(std::vector<Op>& t, const char* name, double bound, Call call) {
  const auto make = [bound](Maker& m, Statement& s) {
    const int p = m.within(m.floating(0, 2), -bound, bound);
    s.args = {Maker::arg(p)};
    return p >= 0 && m.at(p).size() > 0 && m.at(p).size() < 7;
  };
  const auto reference = [bound](JetArrays x, const Statement&) {
    Matrix y(x[0].values.size(), 1, x[0].values);
    require_small(y, bound);
    for (Jet& v : y.values) v = exact([&] { return solution_of<Equation>(v); });
    return ArrayOf<Jet>{x[0].shape, settled_together(y, 1000, 1000).values};
  };
  t.push_back(row_op<Jet>(name, make, real_dtype, reference, call));
}
reel::EquationFunction cubic(const Tensor& p) {
  return [p](const Tensor& x) { return x * x * x + x - p; };
}
Tensor bracketed(const Tensor& p) {
  const Tensor end = reel::full(p.shape(), 2.5, p.dtype());
  return reel::bracketed_root(cubic(p), -end, end);
}
Tensor iterated(const Tensor& p) {
  return reel::fixed_point([p](const Tensor& x) { return p + 0.25 * reel::sin(x); }, reel::zeros_like(p));
}
Tensor lowest(const Tensor& p) {
  return reel::minimum([p](const Tensor& x) { return reel::sum(reel::exp(x) + reel::square(x) - p * x); },
                       reel::zeros_like(p));
}
void add_equations(std::vector<Op>& t) {
  add_equation<Kepler>(t, "fixed_point", 4, REEL_CALL(iterated(x.tensor(0))));
  add_equation<Cubic>(t, "root", 4, REEL_CALL(reel::root(cubic(x.tensor(0)), reel::zeros_like(x[0]))));
  add_equation<Cubic>(t, "bracketed_root", 4, REEL_CALL(bracketed(x.tensor(0))));
  add_equation<Exponential>(t, "minimum of a function", 2, REEL_CALL(lowest(x.tensor(0))));
}

// ---- Integrals of exp(p t) from a to b

reel::Integrand exponential_of(const Tensor& p) {
  return [p](const Tensor& x) { return reel::exp(p * x); };
}
void add_integrals(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    for (int k = 0; k < 3; ++k) {
      const int x = m.within(value_like(m, {}, DType::float64), -2, 2);
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    return true;
  };
  const auto reference = [](JetArrays x, const Statement&) {
    for (const ArrayOf<Jet>& one : x) require_small(Matrix(1, 1, one.values), 2);
    const RowOf<Jet> sum{exact([&] { return exponential_integral(x[0].values[0], x[1].values[0], x[2].values[0]); })};
    // The parts by a and by b may cancel.
    return ArrayOf<Jet>{{}, {with_errors(settled_together(Matrix(1, 1, sum), 1000, 2000).values[0], 1000)}};
  };
  t.push_back(row_op<Jet>("fixed_quad", make, real_dtype, reference,
                          REEL_CALL(reel::fixed_quad(exponential_of(x.tensor(0)), x[1], x[2], 20))));
  t.push_back(row_op<Jet>("quad", make, real_dtype, reference,
                          REEL_CALL(reel::quad(exponential_of(x.tensor(0)), x[1], x[2], {.tolerance = 1e-14}))));
}

// ---- y' = a y from y(0) to t = 1/2

reel::OdeFunction linear(const Tensor& a) {
  return [a](const Tensor& y, const Tensor&) { return reel::matmul(a, y); };
}
constexpr reel::OdeOptions small_steps = {.relative_tolerance = 1e-10, .absolute_tolerance = 1e-12};
void add_flow(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = value_like(m, {n, n}, DType::float64), y = a < 0 ? -1 : value_like(m, {n}, DType::float64);
    s.args = {Maker::arg(a), Maker::arg(y)};
    return y >= 0;
  };
  const auto reference = [](JetArrays x, const Statement&) {
    return each({x[0], x[1]}, {2, 1}, [](MatrixRef a, MatrixRef y) {
      const double units = 1e-7 / unit_of(DType::float64);  // far above the tolerance of the steps
      require_small(a, 4);
      return settled_together(exact([&] { return exponential(scaled(a, 0.5L)) * y; }), units, units).values;
    });
  };
  t.push_back(row_op<Jet>("odeint", make, real_dtype, reference,
                          REEL_CALL(reel::odeint(linear(x.tensor(0)), x[1], reel::tensor({0, 0.5}), small_steps)[1]),
                          {0.3}));
}

}  // namespace

void add_solutions(std::vector<Op>& t) {
  add_krylov(t);
  add_equations(t);
  add_integrals(t);
  add_flow(t);
}

}  // namespace random_programs
