// Arithmetic of jets and series, by the definitions of the product of polynomials and of Taylor's recurrences.
#ifdef __clang__  // it counts changes of sign among the conversions that -Wconversion warns of, g++ does not
#pragma clang diagnostic ignored "-Wsign-conversion"
#endif
#include "number.hpp"

#include <algorithm>

namespace random_programs {

namespace {
constexpr Real pi = 3.14159265358979323846264338327950288L;

bool exact_result(const Jet& a, const Jet& b, Real x) { return a.exact() && b.exact() && representable(x); }
double magnitude(Real x) { return static_cast<double>(std::fabs(x)); }
void round_sum(Jet& x) {
  for (int m = 0; m < Jet::count; ++m) x.e[m] += Jet::unit * magnitude(x.v[m]);
}
}  // namespace

bool representable(Real x) {
  if (Jet::precision >= 64) return true;
  if (Jet::precision == 53) return static_cast<Real>(static_cast<double>(x)) == x;
  if (Jet::precision == 24) return static_cast<Real>(static_cast<float>(x)) == x;
  int exponent = 0;
  const Real scaled = std::ldexp(std::frexp(x, &exponent), Jet::precision);
  return std::trunc(scaled) == scaled;
}

Real nearest(Real x) {
  if (representable(x)) return x;
  int exponent = 0;
  const Real mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, Jet::precision)), exponent - Jet::precision);
}

Jet rounded(Jet x, double units, bool exact_if_representable) {
  const bool exact = exact_if_representable && x.exact() && representable(x.v[0]);
  for (int m = 0; m < Jet::count; ++m) x.e[m] += units * Jet::unit * magnitude(x.v[m]);
  if (exact) x.e[0] = 0;
  return x;
}

Jet operator+(const Jet& a, const Jet& b) {
  Jet r;
  for (int m = 0; m < Jet::count; ++m) r.v[m] = a.v[m] + b.v[m], r.e[m] = a.e[m] + b.e[m];
  round_sum(r);
  if (exact_result(a, b, r.v[0])) r.e[0] = 0;
  return r;
}
Jet operator-(const Jet& a, const Jet& b) { return a + -b; }
Jet operator-(const Jet& a) {
  Jet r;
  for (int m = 0; m < Jet::count; ++m) r.v[m] = -a.v[m], r.e[m] = a.e[m];
  return r;
}
Jet operator*(const Jet& a, const Jet& b) {
  Jet r;
  for (int m = 0; m < Jet::count; ++m) {
    Real sum = 0;
    double error = 0;
    for (int s = m;; s = (s - 1) & m) {
      const int t = m ^ s;
      sum += a.v[s] * b.v[t];
      const double x = magnitude(a.v[s]), y = magnitude(b.v[t]);
      error += (x + a.e[s]) * b.e[t] + y * a.e[s] + Jet::unit * x * y * (m == 0 ? 1 : 2);
      if (s == 0) break;
    }
    r.v[m] = sum, r.e[m] = error;
  }
  if (exact_result(a, b, r.v[0])) r.e[0] = 0;
  return r;
}
Jet operator/(const Jet& a, const Jet& b) {
  Jet q = a * chain(b, Series(1) / Series::variable(b.v[0]), 2);
  q.v[0] = a.v[0] / b.v[0];
  if (exact_result(a, b, q.v[0])) q.e[0] = 0;
  return q;
}
bool less(const Jet& a, const Jet& b) {
  const Real d = a.v[0] - b.v[0];
  const double e = a.e[0] + b.e[0];
  if (e > 0 && magnitude(d) <= 16 * e) throw Ambiguous();
  return d < 0;
}
bool same(const Jet& a, const Jet& b) {
  less(a, b);
  return a.v[0] == b.v[0];
}

Series operator+(const Series& a, const Series& b) {
  Series r;
  for (int k = 0; k < Series::terms; ++k) r.c[k] = a.c[k] + b.c[k];
  return r;
}
Series operator-(const Series& a, const Series& b) {
  Series r;
  for (int k = 0; k < Series::terms; ++k) r.c[k] = a.c[k] - b.c[k];
  return r;
}
Series operator*(const Series& a, const Series& b) {
  Series r;
  for (int k = 0; k < Series::terms; ++k)
    for (int j = 0; j <= k; ++j) r.c[k] += a.c[j] * b.c[k - j];
  return r;
}
Series operator/(const Series& a, const Series& b) {
  Series r;
  for (int k = 0; k < Series::terms; ++k) {
    Real x = a.c[k];
    for (int j = 0; j < k; ++j) x -= r.c[j] * b.c[k - j];
    r.c[k] = x / b.c[0];
  }
  return r;
}
Series integral(Real value, const Series& slope, const Series& x) {
  Series d;  // x'
  for (int k = 0; k + 1 < Series::terms; ++k) d.c[k] = static_cast<Real>(k + 1) * x.c[k + 1];
  const Series g = slope * d;
  Series r(value);
  for (int k = 1; k < Series::terms; ++k) r.c[k] = g.c[k - 1] / static_cast<Real>(k);
  return r;
}
Series exp(const Series& x) {
  Series r(std::exp(x.c[0]));
  for (int k = 1; k < Series::terms; ++k) {
    for (int j = 1; j <= k; ++j) r.c[k] += static_cast<Real>(j) * x.c[j] * r.c[k - j];
    r.c[k] /= static_cast<Real>(k);
  }
  return r;
}
Series log(const Series& x) { return integral(std::log(x.c[0]), Series(1) / x, x); }
static void sine_and_cosine(const Series& x, Series& s, Series& c) {
  s = Series(std::sin(x.c[0])), c = Series(std::cos(x.c[0]));
  for (int k = 1; k < Series::terms; ++k) {
    for (int j = 1; j <= k; ++j) {
      s.c[k] += static_cast<Real>(j) * x.c[j] * c.c[k - j];
      c.c[k] -= static_cast<Real>(j) * x.c[j] * s.c[k - j];
    }
    s.c[k] /= static_cast<Real>(k), c.c[k] /= static_cast<Real>(k);
  }
}
// Near their zero, sums with 1 would leave the values no digits.
Series expm1(const Series& x) {
  Series y = exp(x);
  y.c[0] = std::expm1(x.c[0]);
  return y;
}
Series log1p(const Series& x) {
  Series y = log(Series(1) + x);
  y.c[0] = std::log1p(x.c[0]);
  return y;
}
Series sin(const Series& x) {
  Series s, c;
  sine_and_cosine(x, s, c);
  return s;
}
Series cos(const Series& x) {
  Series s, c;
  sine_and_cosine(x, s, c);
  return c;
}
Series pow(const Series& x, Real p) {
  Series r(p == 0.5L ? std::sqrt(x.c[0]) : std::pow(x.c[0], p));
  for (int k = 1; k < Series::terms; ++k) {
    for (int j = 1; j <= k; ++j) r.c[k] += (p * static_cast<Real>(j) - static_cast<Real>(k - j)) * x.c[j] * r.c[k - j];
    r.c[k] /= static_cast<Real>(k) * x.c[0];
  }
  return r;
}

// psi_n(x) = psi_n(x + 1) - (-1)^n n! / x^(n + 1) up to x > 30, there Bernoulli's asymptotic series.
Real polygamma(int n, Real x) {
  // Far out the recurrence would not end; near poles the result is undecided.
  if (!(x > -20) || (x < 0.05L && std::fabs(x - std::round(x)) < 0.05L)) throw Ambiguous();
  static const Real bernoulli[] = {1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,     5.0L / 66,
                                   -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798, -174611.0L / 330};
  Real factorial = 1;
  for (int k = 2; k <= n; ++k) factorial *= static_cast<Real>(k);
  const Real sign = n % 2 ? 1 : -1;  // of (-1)^(n + 1)
  Real sum = 0;
  for (; x < 30; ++x) sum += sign * factorial / std::pow(x, static_cast<Real>(n + 1));
  if (n == 0) {
    sum += std::log(x) - 0.5L / x;
    for (int k = 1; k <= 10; ++k) sum -= bernoulli[k - 1] / (2 * k * std::pow(x, static_cast<Real>(2 * k)));
    return sum;
  }
  Real tail = factorial / static_cast<Real>(n) / std::pow(x, static_cast<Real>(n)) +
              factorial / (2 * std::pow(x, static_cast<Real>(n + 1)));
  for (int k = 1; k <= 10; ++k) {  // B_2k (2k + n - 1)! / (2k)!
    Real ratio = 1;
    for (int j = 2 * k + 1; j <= 2 * k + n - 1; ++j) ratio *= static_cast<Real>(j);
    tail += bernoulli[k - 1] * ratio / std::pow(x, static_cast<Real>(2 * k + n));
  }
  return sum + sign * tail;
}
Series polygamma(int n, const Series& x) {  // at a variable
  Series r;
  Real factorial = 1;
  for (int k = 0; k < Series::terms; ++k) {
    r.c[k] = polygamma(n + k, x.c[0]) / factorial;
    factorial *= static_cast<Real>(k + 1);
  }
  return r;
}
Series lgamma(const Series& x) { return integral(std::lgamma(x.c[0]), polygamma(0, x), x); }

Jet chain(const Jet& x, const Series& f, double units) {
  // The error of the k-th derivative: the next derivative times the error of x, and a few rounding errors of its own.
  Jet derivative[Series::terms];
  Real factorial = 1;
  for (int k = 0; k < Series::terms; ++k) {
    derivative[k] = Jet(f.c[k] * factorial);
    factorial *= static_cast<Real>(k + 1);
  }
  const double u = units * Jet::unit;
  for (int k = 0; k + 1 < Series::terms; ++k) {
    const double size = magnitude(derivative[k].v[0]);
    derivative[k].e[0] = magnitude(derivative[k + 1].v[0]) * x.e[0] + u * (k == 0 ? size : size + 0.25);
  }
  const Exactly guard;
  Jet step = x;
  step.v[0] = 0, step.e[0] = 0;
  Jet power = step, result = derivative[0];
  factorial = 1;
  for (int k = 1; (1 << k) <= Jet::count; ++k) {
    factorial *= static_cast<Real>(k);
    result += derivative[k] * power * Jet(1 / factorial);
    power = power * step;
  }
  return result;
}
Jet smooth(const Jet& x, Series (*f)(const Series&), double units) {
  return chain(x, f(Series::variable(x.v[0])), units);
}

Jet exp(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return exp(s); }, 4);
}
Jet log(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return log(s); }, 4);
}
Jet sin(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return sin(s); }, 4);
}
Jet cos(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return cos(s); }, 4);
}
Jet sinh(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return Series(0.5L) * (exp(s) - exp(Series(0) - s)); }, 4);
}
Jet cosh(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return Series(0.5L) * (exp(s) + exp(Series(0) - s)); }, 4);
}
Jet sqrt(const Jet& x) {
  return smooth(
      x, [](const Series& s) { return sqrt(s); }, 4);
}
// atan of the smaller ratio; the value alone is corrected by the quadrant, which moves no derivative.
Jet arctan2(const Jet& y, const Jet& x) {
  const auto atan = [](const Series& s) { return integral(std::atan(s.c[0]), Series(1) / (Series(1) + s * s), s); };
  const bool steep = std::fabs(y.v[0]) > std::fabs(x.v[0]);
  Jet r = steep ? -smooth(x / y, atan, 4) : smooth(y / x, atan, 4);
  r.v[0] = std::atan2(y.v[0], x.v[0]);
  if (std::fabs(r.v[0]) > 0.999L * pi && !(y.exact() && x.exact())) throw Ambiguous();
  return r;
}
Jet absolute(const Jet& x) {
  if (same(x, 0)) return 0;
  return less(x, 0) ? -x : x;
}

Num operator+(const Num& a, const Num& b) { return complex_numbers ? Num(a.re + b.re, a.im + b.im) : Num(a.re + b.re); }
Num operator-(const Num& a, const Num& b) { return complex_numbers ? Num(a.re - b.re, a.im - b.im) : Num(a.re - b.re); }
Num operator*(const Num& a, const Num& b) {
  if (!complex_numbers) return a.re * b.re;
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Num operator/(const Num& a, const Num& b) {
  if (!complex_numbers) return a.re / b.re;
  const Jet d = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}
Num exp(const Num& z) {
  const Jet r = exp(z.re);
  return {r * cos(z.im), r * sin(z.im)};
}
Num log(const Num& z) { return {Jet(0.5L) * log(z.re * z.re + z.im * z.im), arctan2(z.im, z.re)}; }

}  // namespace random_programs
