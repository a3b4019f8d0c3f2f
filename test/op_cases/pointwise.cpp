// Rows of the pointwise ops. A reference is plain long double arithmetic, of jets too where it says `auto`; digamma and
// polygamma, which the standard library lacks, by recurrence and asymptotic series.
#include <cmath>
#include <reel/ops/normal.hpp>

#include "../kernels/references.hpp"
#include "../op_cases.hpp"
#include "../random/functions.hpp"

namespace cases {

namespace {

using namespace reel;
using std::abs, std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atanh, std::cbrt, std::cos, std::cosh,
    std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::lgamma, std::log, std::log10, std::log1p, std::log2,
    std::sin, std::sinh, std::sqrt, std::tan, std::tanh;  // of long double; those of jets are found by their arguments
using X = Operands;
using R = const Real*;

constexpr Real pi = 3.14159265358979323846264338327950288L;
// B_2k of the asymptotic series.
constexpr Real bernoulli[] = {1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,     5.0L / 66,
                              -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798, -174611.0L / 330};

Real digamma_of(Real x) {
  if (x <= 0) return digamma_of(1 - x) - pi / std::tan(pi * x);
  Real sum = 0;
  for (; x < 30; x += 1) sum -= 1 / x;
  sum += std::log(x) - 1 / (2 * x);
  Real power = 1;
  for (int k = 1; k <= 10; ++k) sum -= bernoulli[k - 1] / (2 * k * (power *= x * x));
  return sum;
}

// (-1)^(n+1) n! zeta(n + 1, x), x > 0.
Real polygamma_of(int n, Real x) {
  if (n == 0) return digamma_of(x);
  const Real factorial = std::tgamma(static_cast<Real>(n) + 1);
  Real sum = 0;
  for (; x < 40; x += 1) sum += factorial / std::pow(x, static_cast<Real>(n + 1));
  sum += factorial / n / std::pow(x, static_cast<Real>(n)) + factorial / (2 * std::pow(x, static_cast<Real>(n + 1)));
  for (int k = 1; k <= 10; ++k)
    sum += bernoulli[k - 1] * std::exp(std::lgamma(static_cast<Real>(2 * k + n)) - std::lgamma(2 * k + 1.0L) -
                                       static_cast<Real>(2 * k + n) * std::log(x));
  return n % 2 ? sum : -sum;
}

Real softplus_of(Real x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
Real erfcx_of(Real x) { return references::erfcx(x); }
Real ndtr_of(Real x) { return references::ndtr(x); }
Real log_ndtr_of(Real x) { return references::log_ndtr(x); }
Real erfinv_of(Real x) { return references::erfinv(x); }
Real erfcinv_of(Real x) { return references::erfcinv(x); }
Real ndtri_of(Real x) { return references::ndtri(x); }
Real sigmoid_of(Real x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
Real sign_of(Real x) { return static_cast<Real>(x > 0) - static_cast<Real>(x < 0); }
Real mod_of(Real x, Real y) { return x - y * std::floor(x / y); }

Real sinc_of(Real x) {
  const Real n = std::round(x), s = std::sin(pi * (x - n));
  return x == 0 ? 1 : (std::fmod(n, 2.0L) == 0 ? s : -s) / (pi * x);
}

bool apart(double a, double b) { return std::abs(a - b) > 0.02; }
bool off_zero(const double* x) { return apart(x[0], 0); }
bool off_tie(const double* x) { return apart(x[0], x[1]); }
bool off_integer(const double* x) { return apart(2 * x[0], std::round(2 * x[0])); }
bool off_multiple(const double* x) { return apart(x[0] / x[1], std::round(x[0] / x[1])); }
bool off_zeros(const double* x) { return apart(x[0], 0) && apart(x[1], 0); }
bool off_magnitude(const double* x) { return apart(std::abs(x[0]), x[1]); }
// Off low / by and high / by.
template <int low, int high, int by = 1>
bool off_hinges(const double* x) {
  return apart(x[0], double(low) / by) && apart(x[0], double(high) / by);
}
bool inside_or_out(const double* x) { return apart(x[0], x[1]) && apart(x[0], x[2]) && apart(x[1], x[2]); }

// clang-format off
constexpr Pointwise rows[] = {
    // name, call, arity, domain, value, wide, smooth, flags, absolute
    {"add", [](X x) { return add(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return x[0] + x[1]; }, {}, nullptr, integers | booleans},
    {"subtract", [](X x) { return subtract(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return x[0] - x[1]; }, {}, nullptr, integers},
    {"multiply", [](X x) { return multiply(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return x[0] * x[1]; }, {}, nullptr, integers | booleans},
    {"divide", [](X x) { return divide(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 3}}, [](R x) { return x[0] / x[1]; }},
    {"power", [](X x) { return power(x[0], x[1]); }, 2, {{0.3, 3}, {-3, 3}}, [](R x) { return std::pow(x[0], x[1]); }, {{0.01, 20}, {-15, 15}}, nullptr, integers},
    {"floor_divide", [](X x) { return floor_divide(x[0], x[1]); }, 2, {{-9, 9}, {1, 3}}, [](R x) { return std::floor(x[0] / x[1]); }, {}, off_multiple, integers},
    {"mod", [](X x) { return mod(x[0], x[1]); }, 2, {{-9, 9}, {1, 3}}, [](R x) { return mod_of(x[0], x[1]); }, {}, off_multiple, integers},
    {"negative", [](X x) { return negative(x[0]); }, 1, {{-3, 3}}, [](auto x) { return -x[0]; }, {}, nullptr, integers},
    {"square", [](X x) { return square(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] * x[0]; }, {}, nullptr, integers},
    {"abs", [](X x) { return abs(x[0]); }, 1, {{-3, 3}}, [](auto x) { return abs(x[0]); }, {}, off_zero, integers},
    {"sign", [](X x) { return sign(x[0]); }, 1, {{-3, 3}}, [](R x) { return sign_of(x[0]); }, {}, off_zero, integers},
    {"reciprocal", [](X x) { return reciprocal(x[0]); }, 1, {{0.4, 3}}, [](auto x) { return 1 / x[0]; }, {{-50, 50}}},
    {"squared_difference", [](X x) { return squared_difference(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}},
      [](auto x) { return (x[0] - x[1]) * (x[0] - x[1]); }, {}, nullptr, integers},

    {"sqrt", [](X x) { return sqrt(x[0]); }, 1, {{0.2, 4}}, [](auto x) { return sqrt(x[0]); }, {{0, 1000}}},
    {"rsqrt", [](X x) { return rsqrt(x[0]); }, 1, {{0.2, 4}}, [](auto x) { return 1 / sqrt(x[0]); }, {{0.001, 1000}}},
    {"cbrt", [](X x) { return cbrt(x[0]); }, 1, {{0.2, 4}}, [](auto x) { return cbrt(x[0]); }, {{-1000, 1000}}},
    {"exp", [](X x) { return exp(x[0]); }, 1, {{-3, 3}}, [](auto x) { return exp(x[0]); }, {{-80, 80}}},
    {"exp2", [](X x) { return exp2(x[0]); }, 1, {{-3, 3}}, [](auto x) { return exp2(x[0]); }, {{-100, 100}}},
    {"expm1", [](X x) { return expm1(x[0]); }, 1, {{-3, 3}}, [](auto x) { return expm1(x[0]); }, {{-20, 40}}},
    {"log", [](X x) { return log(x[0]); }, 1, {{0.3, 5}}, [](auto x) { return log(x[0]); }, {{1e-6, 1000}}},
    {"log2", [](X x) { return log2(x[0]); }, 1, {{0.3, 5}}, [](auto x) { return log2(x[0]); }, {{1e-6, 1000}}},
    {"log10", [](X x) { return log10(x[0]); }, 1, {{0.3, 5}}, [](auto x) { return log10(x[0]); }, {{1e-6, 1000}}},
    {"log1p", [](X x) { return log1p(x[0]); }, 1, {{-0.6, 3}}, [](auto x) { return log1p(x[0]); }, {{-0.99, 50}}},
    {"logaddexp", [](X x) { return logaddexp(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}},
      [](R x) { return std::max(x[0], x[1]) + std::log1p(std::exp(-std::abs(x[0] - x[1]))); }, {{1, 90}, {1, 90}}},

    {"sin", [](X x) { return sin(x[0]); }, 1, {{-3, 3}}, [](auto x) { return sin(x[0]); }, {{-30, 30}}},
    {"cos", [](X x) { return cos(x[0]); }, 1, {{-3, 3}}, [](auto x) { return cos(x[0]); }, {{-30, 30}}},
    {"tan", [](X x) { return tan(x[0]); }, 1, {{-1.2, 1.2}}, [](auto x) { return tan(x[0]); }, {{-30, 30}}},
    {"arcsin", [](X x) { return arcsin(x[0]); }, 1, {{-0.8, 0.8}}, [](auto x) { return asin(x[0]); }, {{-1, 1}}},
    {"arccos", [](X x) { return arccos(x[0]); }, 1, {{-0.8, 0.8}}, [](auto x) { return acos(x[0]); }, {{-1, 1}}},
    {"arctan", [](X x) { return arctan(x[0]); }, 1, {{-3, 3}}, [](auto x) { return atan(x[0]); }, {{-100, 100}}},
    {"arctan2", [](X x) { return arctan2(x[0], x[1]); }, 2, {{-3, 3}, {0.3, 3}}, [](R x) { return std::atan2(x[0], x[1]); }, {{-9, 9}, {-9, 9}}},
    {"sinh", [](X x) { return sinh(x[0]); }, 1, {{-3, 3}}, [](auto x) { return sinh(x[0]); }, {{-40, 40}}},
    {"cosh", [](X x) { return cosh(x[0]); }, 1, {{-3, 3}}, [](auto x) { return cosh(x[0]); }, {{-40, 40}}},
    {"tanh", [](X x) { return tanh(x[0]); }, 1, {{-2, 2}}, [](auto x) { return tanh(x[0]); }, {{-12, 12}}},
    {"arcsinh", [](X x) { return arcsinh(x[0]); }, 1, {{-3, 3}}, [](auto x) { return asinh(x[0]); }, {{-100, 100}}},
    {"arccosh", [](X x) { return arccosh(x[0]); }, 1, {{1.5, 5}}, [](auto x) { return acosh(x[0]); }, {{1, 100}}},
    {"arctanh", [](X x) { return arctanh(x[0]); }, 1, {{-0.8, 0.8}}, [](auto x) { return atanh(x[0]); }, {{-0.999, 0.999}}},
    {"hypot", [](X x) { return hypot(x[0], x[1]); }, 2, {{-3, 3}, {0.2, 3}}, [](R x) { return std::hypot(x[0], x[1]); }, {{-1000, 1000}, {-10, 10}}},

    {"erf", [](X x) { return erf(x[0]); }, 1, {{-2, 2}}, [](auto x) { return erf(x[0]); }, {{-6, 6}}},
    {"erfc", [](X x) { return erfc(x[0]); }, 1, {{-2, 2}}, [](auto x) { return erfc(x[0]); }, {{-6, 9}}},
    {"lgamma", [](X x) { return lgamma(x[0]); }, 1, {{0.3, 6}}, [](auto x) { return lgamma(x[0]); }, {{-8, 40}}, nullptr, none, 1e-15},
    {"digamma", [](X x) { return digamma(x[0]); }, 1, {{0.5, 6}}, [](auto x) { return digamma_of(x[0]); }, {{0.02, 40}}, nullptr, none, 1e-15},
    {"polygamma", [](X x) { return polygamma(1, x[0]); }, 1, {{0.5, 6}}, [](R x) { return polygamma_of(1, x[0]); }, {{0.1, 40}}},
    {"polygamma", [](X x) { return polygamma(3, x[0]); }, 1, {{0.5, 6}}, [](R x) { return polygamma_of(3, x[0]); }, {{0.1, 40}}},

    {"erfcx", [](X x) { return erfcx(x[0]); }, 1, {{-2, 3}}, [](auto x) { return erfcx_of(x[0]); }, {{-20, 100}}},
    {"erfcx_derivative", [](X x) { return erfcx_derivative(1, x[0]); }, 1, {{-1, 3}}, [](R x) { return references::erfcx_derivative(1, x[0]); }, {{1, 100}}},
    {"erfcx_derivative", [](X x) { return erfcx_derivative(3, x[0]); }, 1, {{-1, 3}}, [](R x) { return references::erfcx_derivative(3, x[0]); }, {{-4, 100}}},
    {"ndtr", [](X x) { return ndtr(x[0]); }, 1, {{-3, 3}}, [](auto x) { return ndtr_of(x[0]); }, {{-12, 8}}},
    {"log_ndtr", [](X x) { return log_ndtr(x[0]); }, 1, {{-4, 3}}, [](auto x) { return log_ndtr_of(x[0]); }, {{-1000, 9}}},
    {"erfinv", [](X x) { return erfinv(x[0]); }, 1, {{-0.9, 0.9}}, [](auto x) { return erfinv_of(x[0]); }, {{-0.999, 0.999}}},
    {"erfcinv", [](X x) { return erfcinv(x[0]); }, 1, {{0.1, 1.9}}, [](auto x) { return erfcinv_of(x[0]); }, {{1e-9, 1.999}}},
    {"ndtri", [](X x) { return ndtri(x[0]); }, 1, {{0.05, 0.95}}, [](auto x) { return ndtri_of(x[0]); }, {{1e-9, 0.999}}},

    {"sigmoid", [](X x) { return sigmoid(x[0]); }, 1, {{-4, 4}}, [](auto x) { return sigmoid_of(x[0]); }, {{-60, 60}}},
    {"softplus", [](X x) { return softplus(x[0]); }, 1, {{-4, 4}}, [](auto x) { return softplus_of(x[0]); }, {{-60, 60}}},
    {"relu", [](X x) { return relu(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] > 0 ? x[0] : 0 * x[0]; }, {}, off_zero, integers},
    {"leaky_relu", [](X x) { return leaky_relu(x[0], x[1]); }, 2, {{-3, 3}, {0.1, 0.5}}, [](R x) { return x[0] > 0 ? x[0] : x[1] * x[0]; }, {}, off_zero},
    {"elu", [](X x) { return elu(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 2}}, [](R x) { return x[0] > 0 ? x[0] : x[1] * std::expm1(x[0]); }, {}, off_zero},
    {"selu", [](X x) { return selu(x[0]); }, 1, {{-3, 3}},
      [](auto x) { return 1.0507009873554804934193349852946L * (x[0] > 0 ? x[0] : 1.6732632423543772848170429916717L * expm1(x[0])); }, {}, off_zero},
    {"gelu", [](X x) { return gelu(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] * ndtr_of(x[0]); }, {{-5, 5}}},
    {"silu", [](X x) { return silu(x[0]); }, 1, {{-4, 4}}, [](auto x) { return x[0] * sigmoid_of(x[0]); }, {{-60, 60}}},
    {"softsign", [](X x) { return softsign(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] / (1 + abs(x[0])); }, {{-100, 100}}, off_zero},
    {"sigmoid_cross_entropy", [](X x) { return sigmoid_cross_entropy(x[0], x[1]); }, 2, {{-4, 4}, {0, 1}},
      [](R x) { return x[0] * (x[0] > 0 ? 1 - x[1] : -x[1]) + std::log1p(std::exp(-std::abs(x[0]))); }, {{-60, 60}, {0, 1}}},

    {"maximum", [](X x) { return maximum(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return std::max(x[0], x[1]); }, {}, off_tie, integers | booleans},
    {"minimum", [](X x) { return minimum(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return std::min(x[0], x[1]); }, {}, off_tie, integers | booleans},
    {"clip", [](X x) { return clip(x[0], x[1], x[2]); }, 3, {{-3, 3}, {-2, -0.5}, {0.5, 2}}, [](R x) { return std::min(std::max(x[0], x[1]), x[2]); }, {}, inside_or_out, integers},
    {"fma", [](X x) { return reel::fma(x[0], x[1], x[2]); }, 3, {{-3, 3}, {-3, 3}, {-3, 3}}, [](auto x) { return x[0] * x[1] + x[2]; }},
    {"floor", [](X x) { return floor(x[0]); }, 1, {{-3, 3}}, [](R x) { return std::floor(x[0]); }, {}, off_integer, integers},
    {"ceil", [](X x) { return ceil(x[0]); }, 1, {{-3, 3}}, [](R x) { return std::ceil(x[0]); }, {}, off_integer, integers},
    {"round", [](X x) { return round(x[0]); }, 1, {{-3, 3}}, [](R x) { return std::nearbyint(x[0]); }, {}, off_integer, integers},
    {"trunc", [](X x) { return trunc(x[0]); }, 1, {{-3, 3}}, [](R x) { return std::trunc(x[0]); }, {}, off_integer, integers},

    {"lerp", [](X x) { return reel::lerp(x[0], x[1], x[2]); }, 3, {{-3, 3}, {-3, 3}, {-0.5, 1.5}}, [](auto x) { return x[0] + x[2] * (x[1] - x[0]); }, {{1, 3}, {4, 6}, {0, 1}}},
    {"fmod", [](X x) { return reel::fmod(x[0], x[1]); }, 2, {{-9, 9}, {1, 3}}, [](R x) { return std::fmod(x[0], x[1]); }, {}, off_multiple},
    {"frac", [](X x) { return frac(x[0]); }, 1, {{-3, 3}}, [](R x) { return x[0] - std::trunc(x[0]); }, {}, off_integer},
    {"fmax", [](X x) { return reel::fmax(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return std::fmax(x[0], x[1]); }, {}, off_tie},
    {"fmin", [](X x) { return reel::fmin(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return std::fmin(x[0], x[1]); }, {}, off_tie},
    {"copysign", [](X x) { return reel::copysign(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return x[1] < 0 ? -std::abs(x[0]) : std::abs(x[0]); }, {}, off_zeros},
    {"logaddexp2", [](X x) { return logaddexp2(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return std::log2(std::exp2(x[0]) + std::exp2(x[1])); }, {{-80, 80}, {-80, 80}}},
    {"exp10", [](X x) { return reel::exp10(x[0]); }, 1, {{-2, 2}}, [](auto x) { return exp(std::log(10.0L) * x[0]); }, {{-30, 30}}},
    {"logit", [](X x) { return logit(x[0]); }, 1, {{0.05, 0.95}}, [](auto x) { return log(x[0] / (1 - x[0])); }, {{1e-6, 0.999}}},
    {"logit", [](X x) { return logit(x[0], 0.1); }, 1, {{0.05, 0.95}}, [](R x) { const auto p = std::min(std::max(x[0], 0.1L), 0.9L); return std::log(p / (1 - p)); }, {{0, 1}}, off_hinges<1, 9, 10>},
    {"log1mexp", [](X x) { return log1mexp(x[0]); }, 1, {{0.2, 3}}, [](auto x) { return x[0] < 1 ? log(-expm1(-x[0])) : log1p(-exp(-x[0])); }, {{1e-6, 60}}},
    {"sinc", [](X x) { return sinc(x[0]); }, 1, {{-3, 3}}, [](R x) { return sinc_of(x[0]); }, {{-30, 30}}},
    {"deg2rad", [](X x) { return deg2rad(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] * (pi / 180); }, {{-720, 720}}},
    {"rad2deg", [](X x) { return rad2deg(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] * (180 / pi); }, {{-20, 20}}},
    {"xlogy", [](X x) { return xlogy(x[0], x[1]); }, 2, {{-3, 3}, {0.3, 5}}, [](auto x) { return x[0] * log(x[1]); }},
    {"xlog1py", [](X x) { return xlog1py(x[0], x[1]); }, 2, {{-3, 3}, {-0.6, 5}}, [](R x) { return x[0] * std::log1p(x[1]); }},
    {"xdivy", [](X x) { return xdivy(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 3}}, [](auto x) { return x[0] / x[1]; }},
    {"divide_no_nan", [](X x) { return divide_no_nan(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 3}}, [](auto x) { return x[0] / x[1]; }},
    {"multiply_no_nan", [](X x) { return multiply_no_nan(x[0], x[1]); }, 2, {{-3, 3}, {-3, 3}}, [](auto x) { return x[0] * x[1]; }},
    {"entr", [](X x) { return entr(x[0]); }, 1, {{0.6, 4}}, [](auto x) { return 0 - x[0] * log(x[0]); }, {{0.001, 50}}},
    // Not the logarithm of the quotient, which two negative operands have, too.
    {"rel_entr", [](X x) { return rel_entr(x[0], x[1]); }, 2, {{0.6, 4}, {0.6, 4}}, [](auto x) { return x[0] * (log(x[0]) - log(x[1])); }},
    {"kl_div", [](X x) { return kl_div(x[0], x[1]); }, 2, {{4, 9}, {0.6, 1.4}}, [](auto x) { return x[0] * (log(x[0]) - log(x[1])) - x[0] + x[1]; }},
    {"gelu_tanh", [](X x) { return gelu_tanh(x[0]); }, 1, {{-3, 3}},
      [](auto x) { return x[0] / (1 + exp(-2 * 0.79788456080286535587989211986876373L * (x[0] + 0.044715L * x[0] * x[0] * x[0]))); }, {{-1, 5}}},
    {"relu6", [](X x) { return relu6(x[0]); }, 1, {{-3, 9}}, [](auto x) { return x[0] > 6 ? 0 * x[0] + 6 : x[0] > 0 ? x[0] : 0 * x[0]; }, {}, off_hinges<0, 6>},
    {"hard_tanh", [](X x) { return hard_tanh(x[0], x[1], x[2]); }, 3, {{-3, 3}, {-2, -0.5}, {0.5, 2}}, [](R x) { return std::min(std::max(x[0], x[1]), x[2]); }, {}, inside_or_out},
    {"hard_sigmoid", [](X x) { return hard_sigmoid(x[0]); }, 1, {{-5, 5}}, [](auto x) { return x[0] > 3 ? 0 * x[0] + 1 : x[0] < -3 ? 0 * x[0] : x[0] / 6 + 0.5L; }, {}, off_hinges<-3, 3>},
    {"hard_swish", [](X x) { return hard_swish(x[0]); }, 1, {{-5, 5}}, [](auto x) { return x[0] > 3 ? x[0] : x[0] < -3 ? 0 * x[0] : x[0] * (x[0] + 3) / 6; }, {}, off_hinges<-3, 3>},
    {"mish", [](X x) { return mish(x[0]); }, 1, {{-3, 3}}, [](auto x) { return x[0] * tanh(log1p(exp(x[0]))); }, {{-40, 40}}},
    {"celu", [](X x) { return celu(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 2}}, [](R x) { return x[0] > 0 ? x[0] : x[1] * std::expm1(x[0] / x[1]); }, {}, off_zero},
    {"log_sigmoid", [](X x) { return log_sigmoid(x[0]); }, 1, {{-4, 4}}, [](auto x) { return x[0] < 0 ? x[0] - log1p(exp(x[0])) : -log1p(exp(-x[0])); }, {{-60, 60}}},
    {"threshold", [](X x) { return threshold(x[0], 0.5, x[1]); }, 2, {{-3, 3}, {-2, 2}}, [](R x) { return x[0] > 0.5L ? x[0] : x[1]; }, {}, off_hinges<1, 1, 2>},
    {"softshrink", [](X x) { return softshrink(x[0], x[1]); }, 2, {{-3, 3}, {0.5, 2}}, [](R x) { return x[0] > x[1] ? x[0] - x[1] : x[0] < -x[1] ? x[0] + x[1] : 0; }, {}, off_magnitude},
    {"hardshrink", [](X x) { return hardshrink(x[0], 0.5); }, 1, {{-3, 3}}, [](R x) { return std::abs(x[0]) > 0.5L ? x[0] : 0; }, {}, off_hinges<-1, 1, 2>},
    {"nan_to_num", [](X x) { return nan_to_num(x[0]); }, 1, {{-3, 3}}, [](R x) { return x[0]; }, {}, nullptr, not_of_lanes},

    {"real", [](X x) { return real(exp(make_complex(x[0], x[1]))); }, 2, {{-2, 2}, {-1.2, 1.2}}, [](R x) { return std::exp(x[0]) * std::cos(x[1]); }, {}, nullptr, by_complex},
    {"imag", [](X x) { return imag(exp(make_complex(x[0], x[1]))); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return std::exp(x[0]) * std::sin(x[1]); }, {}, nullptr, by_complex},
    {"conj", [](X x) { return imag(square(conj(make_complex(x[0], x[1])))); }, 2, {{-3, 3}, {-3, 3}}, [](R x) { return -2 * x[0] * x[1]; }, {}, nullptr, by_complex},
    {"angle", [](X x) { return angle(make_complex(x[0], x[1])); }, 2, {{0.3, 3}, {-3, 3}}, [](R x) { return std::atan2(x[1], x[0]); }, {}, nullptr, by_complex},
    {"make_complex", [](X x) { return abs(make_complex(x[0], x[1])); }, 2, {{0.3, 3}, {-3, 3}}, [](R x) { return std::hypot(x[0], x[1]); }, {}, nullptr, by_complex},

    {"equal", [](X x) { return equal(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] == x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"not_equal", [](X x) { return not_equal(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] != x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"less", [](X x) { return less(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] < x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"less_equal", [](X x) { return less_equal(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] <= x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"greater", [](X x) { return greater(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] > x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"greater_equal", [](X x) { return greater_equal(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] >= x[1]); }, {}, nullptr, integers | booleans | boolean_result},
    {"logical_and", [](X x) { return logical_and(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] != 0 && x[1] != 0); }, {}, nullptr, integers | booleans | boolean_result},
    {"logical_or", [](X x) { return logical_or(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real(x[0] != 0 || x[1] != 0); }, {}, nullptr, integers | booleans | boolean_result},
    {"logical_xor", [](X x) { return logical_xor(x[0], x[1]); }, 2, {{-2, 2}, {-2, 2}}, [](R x) { return Real((x[0] != 0) != (x[1] != 0)); }, {}, nullptr, integers | booleans | boolean_result},
    {"logical_not", [](X x) { return logical_not(x[0]); }, 1, {{-2, 2}}, [](R x) { return Real(x[0] == 0); }, {}, nullptr, integers | booleans | boolean_result},
    {"isnan", [](X x) { return isnan(x[0]); }, 1, {{-2, 2}}, [](R x) { return Real(std::isnan(x[0])); }, {}, nullptr, integers | booleans | boolean_result},
    {"isinf", [](X x) { return isinf(x[0]); }, 1, {{-2, 2}}, [](R x) { return Real(std::isinf(x[0])); }, {}, nullptr, integers | booleans | boolean_result},
    {"isfinite", [](X x) { return isfinite(x[0]); }, 1, {{-2, 2}}, [](R x) { return Real(std::isfinite(x[0])); }, {}, nullptr, integers | booleans | boolean_result},

    {"where", [](X x) { return where(greater(x[0], 0), x[1], x[2]); }, 3, {{-2, 2}, {-2, 2}, {-2, 2}}, [](R x) { return x[0] > 0 ? x[1] : x[2]; }, {}, off_zero, integers},
};
// clang-format on

}  // namespace

std::span<const Pointwise> all_pointwise() { return rows; }
std::span<const Pointwise> pointwise() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
