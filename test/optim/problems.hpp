// The problems of More, Garbow and Hillstrom, "Testing unconstrained optimization software", ACM Transactions on
// Mathematical Software 7, 1981, with their starts and published minima.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>
#include <reel/reel.hpp>
#include <vector>

namespace minimization {

using namespace reel;

// Residuals of a problem; the function is the sum of their squares.
struct Problem {
  const char* name;
  std::vector<double> start;
  std::vector<double> minima;  // published values, the global one first; then where far starts lead
  Tensor (*residuals)(const Tensor& x);
  double floor = 0;  // of a valley so narrow and curved that a method may stop in it: below this it need not converge
  double cg_floor = 0;      // the same for nonlinear_cg
  bool slow_by_cg = false;  // ten thousand evaluations and more
};

inline Tensor numbers(int count, double first = 1, double step = 1) {  // first, first + step, ...
  return arange(static_cast<double>(count)) * step + first;
}
inline Tensor both(const Tensor& a, const Tensor& b) { return concatenate({reshape(a, {-1}), reshape(b, {-1})}, 0); }
inline Tensor row(std::initializer_list<Tensor> x) { return stack(std::vector<Tensor>(x), 0); }
inline Tensor observed(std::vector<double> y) { return from_data(y); }

inline Tensor helical_valley(const Tensor& x) {
  const Tensor theta = arctan2(x[1], x[0]) / (2 * std::numbers::pi);
  return row({10 * (x[2] - 10 * theta), 10 * (hypot(x[0], x[1]) - 1), x[2]});
}
inline Tensor biggs(const Tensor& x) {
  const Tensor t = numbers(13, 0.1, 0.1);
  const Tensor y = exp(-t) - 5 * exp(-10 * t) + 3 * exp(-4 * t);
  return x[2] * exp(-t * x[0]) - x[3] * exp(-t * x[1]) + x[5] * exp(-t * x[4]) - y;
}
inline Tensor gaussian(const Tensor& x) {
  const Tensor t = numbers(15, 3.5, -0.5);
  const Tensor y = observed(
      {.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989, .3521, .2420, .1295, .0540, .0175, .0044, .0009});
  return x[0] * exp(-x[1] * square(t - x[2]) / 2) - y;
}
inline Tensor powell_badly_scaled(const Tensor& x) {
  return row({1e4 * x[0] * x[1] - 1, exp(-x[0]) + exp(-x[1]) - 1.0001});
}
inline Tensor box(const Tensor& x) {
  const Tensor t = numbers(10, 0.1, 0.1);
  return exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (exp(-t) - exp(-10 * t));
}
inline Tensor variably_dimensioned(const Tensor& x) {
  const Tensor s = sum(numbers(static_cast<int>(x.size())) * (x - 1));
  return both(x - 1, row({s, square(s)}));
}
inline Tensor watson(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const Tensor t = reshape(numbers(29) / 29., {29, 1}), j = numbers(n, 0);
  const Tensor powers = power(t, j);
  const Tensor slopes = concatenate({zeros({29, 1}), numbers(n - 1) * slice(powers, {all, range(0, n - 1)})}, 1);
  const Tensor r = matmul(slopes, x) - square(matmul(powers, x)) - 1;
  return both(r, row({x[0], x[1] - square(x[0]) - 1}));
}
inline Tensor penalty_1(const Tensor& x) { return both(std::sqrt(1e-5) * (x - 1), row({sum(square(x)) - 0.25})); }
inline Tensor penalty_2(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const double a = std::sqrt(1e-5);
  const Tensor e = exp(x / 10.);
  const Tensor i = numbers(n - 1, 2);
  const Tensor y = exp(i / 10.) + exp((i - 1) / 10.);
  const Tensor tail = slice(e, {range(1, n)});
  const Tensor first = a * (tail + slice(e, {range(0, n - 1)}) - y), second = a * (tail - std::exp(-0.1));
  const Tensor last = sum(numbers(n, n, -1) * square(x)) - 1;
  return concatenate({row({x[0] - 0.2}), first, second, row({last})}, 0);
}
inline Tensor brown_badly_scaled(const Tensor& x) { return row({x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2}); }
inline Tensor brown_dennis(const Tensor& x) {
  const Tensor t = numbers(20) / 5.;
  return square(x[0] + t * x[1] - exp(t)) + square(x[2] + x[3] * sin(t) - cos(t));
}
inline Tensor gulf(const Tensor& x) {
  const Tensor t = numbers(99) / 100.;
  const Tensor y = 25 + power(-50 * log(t), 2. / 3);
  return exp(-power(abs(y - x[1]), x[2]) / x[0]) - t;
}
inline Tensor trigonometric(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  return n - sum(cos(x)) + numbers(n) * (1 - cos(x)) - sin(x);
}
inline Tensor rosenbrock(const Tensor& x) {
  const Tensor pairs = reshape(x, {-1, 2});
  const Tensor odd = pairs(all, 0), even = pairs(all, 1);
  return both(10 * (even - square(odd)), 1 - odd);
}
inline Tensor powell_singular(const Tensor& x) {
  const Tensor q = reshape(x, {-1, 4});
  const Tensor a = q(all, 0), b = q(all, 1), c = q(all, 2), d = q(all, 3);
  return both(both(a + 10 * b, std::sqrt(5.) * (c - d)), both(square(b - 2 * c), std::sqrt(10.) * square(a - d)));
}
inline Tensor beale(const Tensor& x) {
  const Tensor powers = power(x[1], numbers(3));
  return observed({1.5, 2.25, 2.625}) - x[0] * (1 - powers);
}
inline Tensor wood(const Tensor& x) {
  return row({10 * (x[1] - square(x[0])), 1 - x[0], std::sqrt(90.) * (x[3] - square(x[2])), 1 - x[2],
              std::sqrt(10.) * (x[1] + x[3] - 2), (x[1] - x[3]) / std::sqrt(10.)});
}
inline Tensor chebyquad(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const Tensor y = 2 * x - 1;
  std::vector<Tensor> t{ones_like(y), y};
  for (int i = 2; i <= n; ++i)
    t.push_back(2 * y * t[static_cast<std::size_t>(i) - 1] - t[static_cast<std::size_t>(i) - 2]);
  std::vector<Tensor> r;
  for (int i = 1; i <= n; ++i) r.push_back(mean(t[static_cast<std::size_t>(i)]) + (i % 2 ? 0. : 1. / (i * i - 1)));
  return stack(r, 0);
}

inline Tensor broyden_tridiagonal(const Tensor& x) {
  const Tensor padded = pad(x, {1}, {1});
  return (3 - 2 * x) * x - slice(padded, {range(0, x.size())}) - 2 * slice(padded, {range_from(2)}) + 1;
}

inline std::vector<double> repeated(std::vector<double> pattern, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), pattern.begin(), pattern.end());
  return all;
}
inline std::vector<double> fractions(int n, double numerator, double denominator) {  // numerator i / denominator
  std::vector<double> x;
  for (int i = 1; i <= n; ++i) x.push_back(numerator * i / denominator);
  return x;
}

inline const std::vector<Problem> problems{
    {"helical valley", {-1, 0, 0}, {0}, helical_valley},
    {"Biggs EXP6", {1, 2, 1, 1, 1, 1}, {0, 5.65565e-3}, biggs},
    {"Gaussian", {.4, 1, 0}, {1.12793e-8}, gaussian},
    {"Powell badly scaled", {0, 1}, {0}, powell_badly_scaled, 2e-8, 2e-8},
    {"Box", {0, 10, 20}, {0, 7.55887e-2}, box},
    {"variably dimensioned", {.9, .8, .7, .6, .5, .4, .3, .2, .1, 0}, {0}, variably_dimensioned},
    {"Watson 6", repeated({0}, 6), {2.28767e-3}, watson},
    {"Watson 9", repeated({0}, 9), {1.39976e-6}, watson, 0, 0, true},
    {"penalty I 4", {1, 2, 3, 4}, {2.24997e-5}, penalty_1},
    {"penalty I 10", fractions(10, 1, 1), {7.08765e-5}, penalty_1},
    {"penalty II 4", repeated({.5}, 4), {9.37629e-6}, penalty_2},
    {"penalty II 10", repeated({.5}, 10), {2.93660e-4}, penalty_2, 0, 0, true},
    {"Brown badly scaled", {1, 1}, {0}, brown_badly_scaled, 0, 1e-11},
    {"Brown and Dennis", {25, 5, -5, -1}, {85822.2}, brown_dennis},
    {"Gulf", {5, 2.5, .15}, {0, 32.835}, gulf, 0, 0, true},
    {"trigonometric 10", repeated({.1}, 10), {0, 2.79506e-5, 4.21863e-5}, trigonometric},
    {"extended Rosenbrock 20", repeated({-1.2, 1}, 10), {0}, rosenbrock},
    {"extended Powell singular 20", repeated({3, -1, 0, 1}, 5), {0}, powell_singular},
    {"Beale", {1, 1}, {0}, beale},
    {"Wood", {-3, -1, -3, -1}, {0}, wood},
    {"Chebyquad 8", fractions(8, 1, 9), {3.51687e-3, 3.55039}, chebyquad},
    {"Chebyquad 9", fractions(9, 1, 10), {0, 3.99123}, chebyquad},
};

// Published values have six digits.
inline bool is_minimum(double value, const std::vector<double>& published) {
  return std::any_of(published.begin(), published.end(), [&](double minimum) {
    return std::abs(value - minimum) <= 5e-6 * minimum + (minimum == 0 ? 1e-12 : 0);
  });
}

}  // namespace minimization
