// Solutions found by iteration: of linear systems by elimination, of equations by Newton's steps on jets, integrals by
// series, linear differential equations by the exponential of their matrix.
#include <algorithm>
#include <reel/linalg.hpp>
#include <reel/ode.hpp>
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>

#include "../../ranged.hpp"
#include "../jet_matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;

double unit_of(DType d) { return d == DType::float32 ? 0x1p-24 : 0x1p-53; }
/// Errors of so many rounding units of the largest coefficient, beside those of settle: a derivative of a solution has
/// the error of the solution, times what the operator changes by.
void settle_together(Matrix& x, double units) {
  double largest = 0;
  for (const auto& row : x)
    for (const Jet& y : row)
      for (int k = 0; k < Jet::count; ++k) largest = std::max(largest, static_cast<double>(std::fabs(y.v[k])));
  for (auto& row : x)
    for (Jet& y : row)
      for (int k = 0; k < Jet::count; ++k) y.e[k] += units * Jet::unit * largest;
}
Matrix transposed(const Matrix& a) {
  Matrix y = jet_matrix(a[0].size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) y[j][i] = a[i][j];
  return y;
}
void require_small(const Array& x, Real bound) {
  for (const Num& n : x.data)
    if (!(std::fabs(n.re.v[0]) <= bound)) throw Unfit();
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
void eval_krylov(const Krylov& f, const Inputs& in, Arrays& out) {
  Array y(real_dtype(in), in[1]->shape);
  require_small(*in[0], 6);
  Matrix a = matrix(*in[0]), b = jet_matrix(a.size(), 1), x = b;
  for (std::size_t i = 0; i < b.size(); ++i) b[i][0] = (*in[1])[static_cast<std::int64_t>(i)].re;
  if (!f.symmetric) require_dominant(a, 0.5L);
  {
    const Exactly exactly;
    if (f.symmetric) a = sum_of(a * transposed(a), 1, unit_matrix(a.size()));
    a = sum_of(a, f.shift, unit_matrix(a.size()));
    x = solved(a, b);
  }
  settle(x, 1000);
  settle_together(x, 1000);
  store(x, y);
  out.push_back(std::move(y));
}
void add_krylov(std::vector<Op>& t) {
  for (const Krylov& f : krylov) {
    Op o;
    o.name = f.name;
    o.make = [&f](Maker& m, Statement& s) { return make_krylov(f, m, s); };
    o.eval = [&f](const Statement&, const Inputs& in, Arrays& out) { eval_krylov(f, in, out); };
    o.call = [&f](const Statement&, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(f.call(a.tensor(0), a.tensor(1)));
    };
    t.push_back(std::move(o));
  }
}

// ---- Equations f(x, p) = 0 for each element of p

struct Equation {
  const char* name;
  Real bound;  // of p
  Jet (*residual)(const Jet& x, const Jet& p);
  Jet (*slope)(const Jet& x);
  Tensor (*call)(const Tensor& p);
};
Jet cube_and_line(const Jet& x, const Jet& p) { return x * x * x + x - p; }
Jet slope_of_cube(const Jet& x) { return Jet(3) * x * x + Jet(1); }
reel::EquationFunction cubic(const Tensor& p) {
  return [p](const Tensor& x) { return x * x * x + x - p; };
}
const Equation equations[] = {
    {"fixed_point", 4, [](const Jet& x, const Jet& p) { return x - p - Jet(0.25L) * sin(x); },
     [](const Jet& x) { return Jet(1) - Jet(0.25L) * cos(x); },
     [](const Tensor& p) {
       return reel::fixed_point([p](const Tensor& x) { return p + 0.25 * reel::sin(x); }, reel::zeros_like(p));
     }},
    {"root", 4, cube_and_line, slope_of_cube,
     [](const Tensor& p) { return reel::root(cubic(p), reel::zeros_like(p)); }},
    {"bracketed_root", 4, cube_and_line, slope_of_cube,
     [](const Tensor& p) {
       const Tensor end = reel::full(p.shape(), 2.5, p.dtype());
       return reel::bracketed_root(cubic(p), -end, end);
     }},
    {"minimum of a function", 2, [](const Jet& x, const Jet& p) { return exp(x) + Jet(2) * x - p; },
     [](const Jet& x) { return exp(x) + Jet(2); },
     [](const Tensor& p) {
       return reel::minimum([p](const Tensor& x) { return reel::sum(reel::exp(x) + reel::square(x) - p * x); },
                            reel::zeros_like(p));
     }},
};
// Newton's steps on the value, then on jets: each doubles the number of right coefficients.
Jet solution(const Equation& f, const Jet& p) {
  const Exactly exactly;
  Jet x(0);
  const auto step = [&](const Jet& from, const Jet& at) { return from - f.residual(from, at) / f.slope(from); };
  for (int k = 0; k < 60; ++k) x = step(x, p.value()).value();
  for (int k = 0; k < 3; ++k) x = step(x, p);
  return x;
}
void eval_equation(const Equation& f, const Inputs& in, Arrays& out) {
  Array y(real_dtype(in), in[0]->shape);
  require_small(*in[0], f.bound);
  Matrix x = jet_matrix(1, static_cast<std::size_t>(y.size()));
  for (std::int64_t i = 0; i < y.size(); ++i) x[0][static_cast<std::size_t>(i)] = solution(f, (*in[0])[i].re);
  settle(x, 1000);
  settle_together(x, 1000);
  store(x, y);
  out.push_back(std::move(y));
}
void add_equations(std::vector<Op>& t) {
  for (const Equation& f : equations) {
    Op o;
    o.name = f.name;
    o.make = [&f](Maker& m, Statement& s) {
      const int p = m.within(m.floating(0, 2), -static_cast<double>(f.bound), static_cast<double>(f.bound));
      s.args = {Maker::arg(p)};
      return p >= 0 && m.at(p).size() > 0 && m.at(p).size() < 7;
    };
    o.eval = [&f](const Statement&, const Inputs& in, Arrays& out) { eval_equation(f, in, out); };
    o.call = [&f](const Statement&, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(f.call(a.tensor(0)));
    };
    t.push_back(std::move(o));
  }
}

// ---- Integrals of exp(p t) from a to b

void eval_integral(const Inputs& in, Arrays& out) {
  Array y(real_dtype(in), {});
  for (const Array* x : in) require_small(*x, 2);
  const Jet &p = (*in[0])[0].re, &a = (*in[1])[0].re, &b = (*in[2])[0].re;
  Matrix sum = jet_matrix(1, 1);
  {
    const Exactly exactly;
    Jet low = a, high = b;
    for (int k = 0; k < 45; ++k) {
      sum[0][0] += high - low;
      low = low * a * p / Jet(k + 2);
      high = high * b * p / Jet(k + 2);
    }
  }
  settle(sum, 1000);
  settle_together(sum, 2000);
  for (int k = 0; k < Jet::count; ++k) sum[0][0].e[k] += 1000 * Jet::unit;  // the parts by a and by b may cancel
  store(sum, y);
  out.push_back(std::move(y));
}
void add_integrals(std::vector<Op>& t) {
  for (const bool adaptive : {false, true}) {
    Op o;
    o.name = adaptive ? "quad" : "fixed_quad";
    o.make = [](Maker& m, Statement& s) {
      for (int k = 0; k < 3; ++k) {
        const int x = m.within(value_like(m, {}, DType::float64), -2, 2);
        if (x < 0) return false;
        s.args.push_back(Maker::arg(x));
      }
      return true;
    };
    o.eval = [](const Statement&, const Inputs& in, Arrays& out) { eval_integral(in, out); };
    o.call = [adaptive](const Statement&, const Operands& a, std::vector<Tensor>& out) {
      const auto f = [p = a.tensor(0)](const Tensor& x) { return reel::exp(p * x); };
      out.push_back(adaptive ? reel::quad(f, a[1], a[2], {.tolerance = 1e-14}) : reel::fixed_quad(f, a[1], a[2], 20));
    };
    t.push_back(std::move(o));
  }
}

// ---- y' = a y from y(0) to t = 1/2

void eval_flow(const Inputs& in, Arrays& out) {
  Array y(real_dtype(in), in[1]->shape);
  require_small(*in[0], 4);
  const Matrix a = matrix(*in[0]);
  Matrix sum = jet_matrix(a.size(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) sum[i][0] = (*in[1])[static_cast<std::int64_t>(i)].re;
  {
    const Exactly exactly;
    Matrix term = sum;
    for (int k = 1; k < 60; ++k) {
      term = a * term;
      for (auto& row : term) row[0] = row[0] / Jet(2 * k);
      sum = sum_of(sum, 1, term);
    }
  }
  settle(sum, 1e-7 / unit_of(DType::float64));  // far above the tolerance of the steps
  settle_together(sum, 1e-7 / unit_of(DType::float64));
  store(sum, y);
  out.push_back(std::move(y));
}
void add_flow(std::vector<Op>& t) {
  Op o;
  o.name = "odeint";
  o.weight = 0.3;
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = value_like(m, {n, n}, DType::float64), y = a < 0 ? -1 : value_like(m, {n}, DType::float64);
    s.args = {Maker::arg(a), Maker::arg(y)};
    return y >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) { eval_flow(in, out); };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    const auto f = [m = a.tensor(0)](const Tensor& y, const Tensor&) { return reel::matmul(m, y); };
    const Tensor y =
        reel::odeint(f, a[1], reel::tensor({0, 0.5}), {.relative_tolerance = 1e-10, .absolute_tolerance = 1e-12});
    out.push_back(y[1]);
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_solutions(std::vector<Op>& t) {
  add_krylov(t);
  add_equations(t);
  add_integrals(t);
  add_flow(t);
}

}  // namespace random_programs
