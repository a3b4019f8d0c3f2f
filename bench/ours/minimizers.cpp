// reel's minimisers and their test problems, as C functions of a shared module. bench/driver/minimizers.py
// calls them, and passes the same values and derivatives to SciPy's minimisers. Problems are numbered: those of
// More, Garbow and Hillstrom from their starts, some of them with 10^6 unknowns, and NIST's with certified
// parameters.
#include <cstring>
#include <functional>
#include <reel/forward.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/sparse.hpp>
#include <string>

#include "../../samples/nist_fit/problem.hpp"
#include "optim/problems.hpp"

using namespace reel;

namespace {

struct Problem {
  std::string name;
  Tensor start;
  std::function<Tensor(const Tensor&)> residuals;
  std::vector<double> minima;     // published; of NIST's problems none
  std::vector<double> certified;  // parameters, of NIST's problems alone
};

constexpr double box[] = {-2, 0.8};  // bounds for projected_lbfgs, BOX of bench/driver/minimizers.py

Tensor repeated(const std::vector<double>& pattern, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(pattern.size());
  return reshape(broadcast_to(from_data(pattern), {count / n, n}), {-1});
}

std::vector<Problem> all_problems() {
  std::vector<Problem> all;
  for (const minimization::Problem& p : minimization::problems)
    all.push_back({p.name, from_data(p.start), p.residuals, p.minima, {}});
  constexpr std::int64_t million = 1000000;
  all.push_back({"extended Rosenbrock, 10^6", repeated({-1.2, 1}, million), minimization::rosenbrock, {0}, {}});
  all.push_back(
      {"extended Powell singular, 10^6", repeated({3, -1, 0, 1}, million), minimization::powell_singular, {0}, {}});
  all.push_back({"Broyden tridiagonal, 10^6", full({million}, -1.), minimization::broyden_tridiagonal, {0}, {}});
  for (const nist::Problem& p : nist::built_in_problems())
    for (const std::vector<double>& start : p.start) {
      const nist::Model& model = nist::model_of(p.name);
      std::vector<Tensor> x;
      for (const std::vector<double>& predictor : p.x) x.push_back(from_data(predictor));
      const Tensor y = model.response ? model.response(from_data(p.y)) : from_data(p.y);
      const auto residuals = [&model, x, y](const Tensor& b) { return y - model.value(b, x); };
      all.push_back(
          {p.name + (start == p.start[0] ? ", start 1" : ", start 2"), from_data(start), residuals, {}, p.certified});
    }
  return all;
}

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all = all_problems();
  return all;
}
const Problem& problem(int k) { return problems()[static_cast<std::size_t>(k)]; }
auto function_of(const Problem& p) {
  return [&p](const Tensor& x) { return sum(square(p.residuals(x))); };
}
Tensor at(const Problem& p, const double* x) { return from_data(std::vector<double>(x, x + p.start.size())); }
void give(const Tensor& x, double* to) {
  const std::vector<double> values = x.to_vector<double>();
  std::memcpy(to, values.data(), values.size() * sizeof(double));
}

}  // namespace

extern "C" {

struct Found {
  double value;
  std::int64_t iterations, evaluations, products, converged;
};

int problem_count() { return static_cast<int>(problems().size()); }
const char* problem_name(int k) { return problem(k).name.c_str(); }
std::int64_t unknowns(int k) { return problem(k).start.size(); }
std::int64_t residual_count(int k) { return problem(k).residuals(problem(k).start).size(); }
void start_of(int k, double* x) { give(problem(k).start, x); }
/// The published minima, or the certified parameters; how many. Numbers are written where there is a place for them.
int minima_of(int k, double* minima) {
  const std::vector<double>& list = problem(k).minima;
  if (minima) std::copy(list.begin(), list.end(), minima);
  return static_cast<int>(list.size());
}
int certified_of(int k, double* parameters) {
  const std::vector<double>& list = problem(k).certified;
  if (parameters) std::copy(list.begin(), list.end(), parameters);
  return static_cast<int>(list.size());
}

/// The sum of squares at x, and its gradient.
double value_and_gradient(int k, const double* x, double* gradient) {
  const Problem& p = problem(k);
  const auto [value, slope] = value_and_grad(function_of(p))(at(p, x));
  give(slope, gradient);
  return value.item();
}
/// The Hessian of the sum of squares at x times v.
void hessian_product(int k, const double* x, const double* v, double* product) {
  const Problem& p = problem(k);
  give(hvp(function_of(p))(at(p, x), at(p, v)), product);
}
void residuals_at(int k, const double* x, double* r) { give(problem(k).residuals(at(problem(k), x)), r); }
void jacobian_at(int k, const double* x, double* j) {
  const Problem& p = problem(k);
  give(jacobian(p.residuals)(at(p, x)), j);
}

/// Minimises problem k by one of reel's methods; x is where it ends. Of least squares `products` counts Jacobians.
Found minimize(int k, const char* name, double* x) {
  const Problem& p = problem(k);
  const std::string method = name;
  const auto f = function_of(p);
  const auto told = [x](const MinimizeResult<Tensor>& r) {
    give(r.parameters, x);
    return Found{r.value, r.iterations, r.evaluations, r.products, r.converged()};
  };
  if (method == "lbfgs") return told(lbfgs(f, p.start));
  if (method == "nonlinear_cg") return told(nonlinear_cg(f, p.start));
  if (method == "newton_cg") return told(newton_cg(f, p.start));
  if (method == "projected_lbfgs")
    return told(projected_lbfgs(f, p.start, full(p.start.shape(), box[0]), full(p.start.shape(), box[1])));
  if (method == "gauss_newton") return told(gauss_newton(p.residuals, p.start));
  const auto fitted = [x](const auto& r) {
    give(r.parameters, x);
    return Found{r.sum_of_squares, r.iterations, r.evaluations, r.jacobians, r.converged()};
  };
  if (method == "levenberg_marquardt") return fitted(levenberg_marquardt(p.residuals, p.start));
  return fitted(levenberg_marquardt(p.residuals, sparse_jacobian(p.residuals, p.start), p.start));
}

}  // extern "C"
