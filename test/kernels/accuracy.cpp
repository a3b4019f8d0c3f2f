// The functions of the pointwise table against long double references, on every instruction set of this machine. Errors
// are at most 4 units in the last place in float and 3 in double; 4 for inverses of the normal distribution,
// derivatives of erfcx, and kl_div; 1e-15 absolute near the zeros of lgamma and digamma. Then values at zeros,
// infinities, NaN and the ends of the range, as in C and NumPy.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/table.hpp"
#include "references.hpp"

using namespace reel::kernels;
using reel::dtype_of;

namespace {

using references::Real, references::digamma, references::pi, references::polygamma, references::softplus;
constexpr Real infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();

// ---- Samples
// ---------------------------------------------------------------------------------------------------------------------

// Samples that are uniform in the range, uniform in the logarithm (for ends of one sign), or arbitrary bits of finite
// numbers.
struct Range {
  enum Kind { uniform, logarithmic, bits, integer } kind;
  double low = 0, high = 0;
};
Range uniform(double low, double high) { return {Range::uniform, low, high}; }
Range logarithmic(double low, double high) { return {Range::logarithmic, low, high}; }
Range integer(double low, double high) { return {Range::integer, low, high}; }
const Range anything{Range::bits};

template <class T>
T draw(const Range& range, std::mt19937_64& random) {
  const double u = std::uniform_real_distribution<double>(0, 1)(random);
  switch (range.kind) {
    case Range::uniform:
      return static_cast<T>(range.low + (range.high - range.low) * u);
    case Range::integer:
      return static_cast<T>(std::nearbyint(range.low + (range.high - range.low) * u));
    case Range::logarithmic: {
      const double a = std::log(std::abs(range.low)), b = std::log(std::abs(range.high));
      return static_cast<T>(std::copysign(std::exp(a + (b - a) * u), range.low));
    }
    case Range::bits:
      break;
  }
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (;;) {
    const auto b = static_cast<Bits>(random());
    T x;
    std::memcpy(&x, &b, sizeof x);
    if (std::isfinite(x)) return x;
  }
}

// |result - reference| in units of the last place of the reference; beyond the range, of the largest number.
template <class T>
double ulps(T result, Real reference) {
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(reference);
  if (std::isnan(rounded) || std::isnan(result)) return std::isnan(rounded) == std::isnan(result) ? 0 : 1e300;
  if (result == rounded && (std::isinf(rounded) || rounded == 0)) return 0;
  const Real top = std::ldexp(Real(1), Limits::max_exponent);  // where infinity begins
  const auto finite = [&](Real v) { return std::min(std::max(v, -top), top); };
  const int exponent = reference == 0 ? Limits::min_exponent : std::ilogb(std::abs(finite(reference)));
  const Real unit = std::ldexp(
      Real(1), std::min(std::max(exponent, Limits::min_exponent - 1), Limits::max_exponent - 1) - Limits::digits + 1);
  return static_cast<double>(std::abs(finite(result) - finite(reference)) / unit);
}

template <class T>
std::vector<T> evaluate(const Set& set, std::size_t op, const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> out(x.size());
  const Strided in[] = {{x.data(), 1}, {y.data(), 1}, {y.data(), 1}};
  set.get<PointwiseKernels>().of(op, dtype_of<T>).value(in, out.data(), static_cast<std::ptrdiff_t>(x.size()));
  return out;
}

// ---- The functions and their domains
// ---------------------------------------------------------------------------------------------

using Unary = Real (*)(Real);
using Binary = Real (*)(Real, Real);

struct Case {
  std::string name;
  std::size_t op;
  Unary unary;
  std::vector<Range> x;
  Binary binary = nullptr;
  std::vector<Range> y = {};  // paired with those of x
  double absolute = 0;        // an absolute error that is allowed
  double ulps = 0;            // the error in units in the last place that is allowed, if not the usual one
};

template <table::FixedString Name>
Case unary(Unary f, std::vector<Range> x, double absolute = 0) {
  return {std::string(std::string_view(Name)), index_of<Name>(), f, std::move(x), nullptr, {}, absolute};
}
template <table::FixedString Name>
Case binary(Binary f, std::vector<Range> x, std::vector<Range> y, double ulps = 0) {
  return {std::string(std::string_view(Name)), index_of<Name>(), nullptr, std::move(x), f, std::move(y), 0, ulps};
}

// clang-format off
std::vector<Case> cases() {
  const std::vector<Range> exponents{anything, uniform(-1, 1), uniform(-20, 20), uniform(-106, 90), uniform(-750, 712)};
  const std::vector<Range> powers_of_two{anything, uniform(-1, 1), uniform(-20, 20), uniform(-152, 130), uniform(-1080, 1026)};
  const std::vector<Range> positive{anything, uniform(0.5, 2), uniform(0.99, 1.01), logarithmic(1e-3, 1e3), logarithmic(1e-320, 1e-300), logarithmic(1e-44, 1e-36)};
  const std::vector<Range> angles{anything, uniform(-4, 4), uniform(-100, 100), uniform(-1e5, 1e5), logarithmic(1e5, 1e22), uniform(1.5707, 1.5709), logarithmic(-1e-30, -1)};
  const std::vector<Range> sines{uniform(-1, 1), uniform(0.4, 0.6), uniform(0.99, 1), uniform(-1, -0.99), logarithmic(1e-30, 1), uniform(-2, 2)};
  const std::vector<Range> lines{anything, uniform(-3, 3), uniform(0.9, 1.1), logarithmic(-1e-30, -1), logarithmic(1, 1e30)};
  const std::vector<Range> bells{anything, uniform(-3, 3), uniform(-0.1, 0.1), uniform(-12, 12)};
  const std::vector<Range> gammas{logarithmic(1e-300, 1e-2), uniform(0, 1), uniform(1, 3), uniform(3, 40), logarithmic(40, 1e30), uniform(-1, 0), uniform(-10, -1), uniform(-60, -10)};
  const std::vector<Range> any_x{anything, uniform(-10, 10), logarithmic(1e-3, 1e3), logarithmic(-1e3, -1e-3), logarithmic(1e-10, 1e10), uniform(0.9, 1.1)};
  const std::vector<Range> any_y{anything, uniform(-10, 10), logarithmic(1e-3, 1e3), logarithmic(1e-3, 1e3), uniform(-30, 30), uniform(-1000, 1000)};
  return {
    unary<"exp">([](Real x) { return std::exp(x); }, exponents),
    unary<"exp2">([](Real x) { return std::exp2(x); }, powers_of_two),
    unary<"expm1">([](Real x) { return std::expm1(x); }, exponents),
    unary<"sinh">([](Real x) { return std::sinh(x); }, exponents),
    unary<"cosh">([](Real x) { return std::cosh(x); }, exponents),
    unary<"tanh">([](Real x) { return std::tanh(x); }, exponents),
    unary<"sigmoid">([](Real x) { return 1 / (1 + std::exp(-x)); }, exponents),
    unary<"silu">([](Real x) { return x / (1 + std::exp(-x)); }, {uniform(-1, 1), uniform(-20, 20), uniform(-106, 90)}),
    unary<"softplus">(softplus, exponents),
    unary<"selu">([](Real x) { return x > 0 ? 1.05070098735548049342L * x : 1.75809934084737685994L * std::expm1(x); }, exponents),
    unary<"softsign">([](Real x) { return x / (1 + std::abs(x)); }, lines),
    unary<"log">([](Real x) { return std::log(x); }, positive),
    unary<"log2">([](Real x) { return std::log2(x); }, positive),
    unary<"log10">([](Real x) { return std::log10(x); }, positive),
    unary<"log1p">([](Real x) { return std::log1p(x); }, {anything, uniform(-1, 1), uniform(-0.01, 0.01), logarithmic(1, 1e30)}),
    unary<"sin">([](Real x) { return std::sin(x); }, angles),
    unary<"cos">([](Real x) { return std::cos(x); }, angles),
    unary<"tan">([](Real x) { return std::tan(x); }, angles),
    unary<"arcsin">([](Real x) { return std::asin(x); }, sines),
    unary<"arccos">([](Real x) { return std::acos(x); }, sines),
    unary<"arctanh">([](Real x) { return std::atanh(x); }, sines),
    unary<"arctan">([](Real x) { return std::atan(x); }, lines),
    unary<"arcsinh">([](Real x) { return std::asinh(x); }, lines),
    unary<"arccosh">([](Real x) { return std::acosh(x); }, {anything, uniform(1, 1.01), uniform(1, 10), logarithmic(1, 1e30)}),
    unary<"sqrt">([](Real x) { return std::sqrt(x); }, {anything, uniform(0, 10)}),
    unary<"rsqrt">([](Real x) { return 1 / std::sqrt(x); }, {anything, uniform(0, 10)}),
    unary<"cbrt">([](Real x) { return std::cbrt(x); }, {anything, uniform(-10, 10), logarithmic(1e-320, 1e-300)}),
    unary<"reciprocal">([](Real x) { return 1 / x; }, {anything, uniform(-10, 10)}),
    unary<"floor">([](Real x) { return std::floor(x); }, {anything, uniform(-3, 3), uniform(-1e17, 1e17)}),
    unary<"ceil">([](Real x) { return std::ceil(x); }, {anything, uniform(-3, 3), uniform(-1e17, 1e17)}),
    unary<"trunc">([](Real x) { return std::trunc(x); }, {anything, uniform(-3, 3), uniform(-1e17, 1e17)}),
    unary<"round">([](Real x) { return std::nearbyint(x); }, {anything, uniform(-3, 3), uniform(-1e17, 1e17)}),
    unary<"erf">([](Real x) { return std::erf(x); }, bells),
    unary<"erfc">([](Real x) { return std::erfc(x); }, {anything, uniform(-3, 3), uniform(-0.1, 0.1), uniform(0, 27.3)}),
    unary<"gelu">([](Real x) { return x * std::erfc(-x / std::sqrt(Real(2))) / 2; }, {uniform(-3, 3), uniform(-0.1, 0.1), uniform(-12, 12), logarithmic(12, 1e30)}),
    unary<"lgamma">([](Real x) { return std::lgamma(x); }, gammas, 1e-15),
    unary<"digamma">(digamma, gammas, 1e-15),
    unary<"erfcx">(references::erfcx, {uniform(-26, 27), uniform(-1, 1), logarithmic(1e-30, 1), logarithmic(1, 1e300)}),
    unary<"ndtr">(references::ndtr, {anything, uniform(-3, 3), uniform(-38, 9)}),
    unary<"log_ndtr">(references::log_ndtr, {uniform(-3, 3), uniform(-40, 13), logarithmic(-1e18, -1)}),
    unary<"erfinv">(references::erfinv, {anything, uniform(-1, 1), uniform(-0.51, -0.49), logarithmic(1e-300, 1), uniform(0.999, 1)}),
    unary<"erfcinv">(references::erfcinv, {uniform(0, 2), uniform(0.49, 0.51), logarithmic(1e-323, 1), uniform(1.999, 2)}),
    unary<"ndtri">(references::ndtri, {uniform(0, 1), uniform(0.24, 0.26), logarithmic(1e-323, 1), uniform(0.999, 1), uniform(0.4999, 0.5001)}),
    binary<"erfcx_derivative">([](Real n, Real x) { return n == 0 ? references::erfcx(x) : references::erfcx_derivative(static_cast<int>(n), x); }, {uniform(0, 1), uniform(0, 1)}, {uniform(-4, 8), logarithmic(1e-3, 1e6)}),
    binary<"power">([](Real x, Real y) { return std::pow(x, y); }, any_x, any_y),
    binary<"power">([](Real x, Real y) { return std::pow(x, y); }, {uniform(0.9, 1.1), logarithmic(0.1, 10), logarithmic(-30, -0.1)}, {integer(-4, 4), integer(-4, 4), integer(-4, 4)}, 0.51),
    binary<"arctan2">([](Real x, Real y) { return std::atan2(x, y); }, any_x, any_y),
    binary<"hypot">([](Real x, Real y) { return std::hypot(x, y); }, any_x, any_y),
    binary<"kl_div">(references::kl_div, {uniform(0.1, 10), uniform(0.9, 1.1), uniform(0.5, 2), uniform(2, 6), uniform(1, 2), logarithmic(1e-30, 1e30), logarithmic(1e-320, 1e-300), logarithmic(1e-44, 1e-36), logarithmic(1e-300, 1e300)}, {uniform(0.1, 10), uniform(0.9, 1.1), uniform(1, 1.001), uniform(1, 2), uniform(2, 6), logarithmic(1e-30, 1e30), logarithmic(1e-320, 1e-300), logarithmic(1e-44, 1e-36), logarithmic(1e-300, 1e300)}),
    // Only where the sum of the exponentials is not near 1. Near 1 the result has no more digits than its operands.
    binary<"logaddexp">([](Real x, Real y) { return std::max(x, y) + softplus(-std::abs(x - y)); }, {uniform(0, 10), uniform(-100, -5), uniform(1, 700)}, {uniform(0, 10), uniform(-100, -5), uniform(-700, 700)}),
    binary<"polygamma">(polygamma, {uniform(0.5, 1), uniform(0.5, 1)}, {uniform(0.01, 50), uniform(-10, 0)}),
    binary<"elu">([](Real x, Real y) { return x > 0 ? x : y * std::expm1(x); }, {uniform(-10, 10)}, {uniform(0.1, 3)}),
  };
}
// clang-format on

template <class T>
void check(const Case& c) {
  const bool of_four = c.name == "erfcx_derivative" || c.name == "erfinv" || c.name == "erfcinv" || c.name == "ndtri" ||
                       c.name == "kl_div";
  const double allowed = c.ulps > 0 ? c.ulps : sizeof(T) == 4 || of_four ? 4 : 3;
  constexpr double absolute_unit = sizeof(T) == 4 ? 6e-8 / 1e-15 : 1;  // half a unit of 1 in float
  constexpr std::size_t samples = 10000;
  std::mt19937_64 random(20);
  std::vector<T> x, y;
  std::vector<Real> reference;
  for (std::size_t r = 0; r < c.x.size(); ++r)
    for (std::size_t i = 0; i < samples; ++i) {
      x.push_back(draw<T>(c.x[r], random));
      y.push_back(c.binary != nullptr ? draw<T>(c.y[r], random) : T(0));
      if (c.name == "polygamma" || c.name == "erfcx_derivative") x.back() = static_cast<T>(i % 7);
      reference.push_back(c.binary != nullptr ? c.binary(x.back(), y.back()) : c.unary(x.back()));
    }
  for (const Set* set : supported_sets()) {
    const std::vector<T> result = evaluate(*set, c.op, x, y);
    std::size_t worst = 0;
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto difference = static_cast<double>(std::abs(Real(result[i]) - reference[i]));
      if (difference <= c.absolute * absolute_unit ||
          (c.name == "polygamma" && x[i] == 0 && difference <= 1e-15 * absolute_unit))
        continue;
      const double e = ulps(result[i], reference[i]);
      if (e > most) most = e, worst = i;
    }
    std::ostringstream what;
    what.precision(std::numeric_limits<T>::max_digits10);
    what << c.name << ", " << set->isa << ", " << sizeof(T) * 8 << " bits: " << most << " ulp at x = " << x[worst]
         << ", y = " << y[worst] << ": " << result[worst] << ", not " << reference[worst];
    INFO(what.str());
    CHECK(most <= allowed);
  }
}

// ---- Special values
// --------------------------------------------------------------------------------------------------------------

struct Special {
  std::string name;
  std::size_t op;
  Real x, y, expected;
};
template <table::FixedString Name>
Special special(Real x, Real expected) {
  return {std::string(std::string_view(Name)), index_of<Name>(), x, 0, expected};
}
template <table::FixedString Name>
Special special(Real x, Real y, Real expected) {
  return {std::string(std::string_view(Name)), index_of<Name>(), x, y, expected};
}

std::vector<Special> specials() {
  const Real inf = infinity;
  return {
      special<"exp">(-inf, 0),
      special<"exp">(inf, inf),
      special<"exp">(-0.0L, 1),
      special<"exp2">(-inf, 0),
      special<"exp2">(inf, inf),
      special<"exp2">(10, 1024),
      special<"exp2">(-3, 0.125L),
      special<"expm1">(-0.0L, -0.0L),
      special<"expm1">(-inf, -1),
      special<"expm1">(inf, inf),
      special<"log">(0, -inf),
      special<"log">(-0.0L, -inf),
      special<"log">(-1, nan),
      special<"log">(inf, inf),
      special<"log">(1, 0),
      special<"log2">(0, -inf),
      special<"log2">(-1, nan),
      special<"log2">(8, 3),
      special<"log2">(inf, inf),
      special<"log10">(0, -inf),
      special<"log10">(1000, 3),
      special<"log10">(1e15L, 15),
      special<"log10">(inf, inf),
      special<"log1p">(-1, -inf),
      special<"log1p">(-2, nan),
      special<"log1p">(-0.0L, -0.0L),
      special<"log1p">(inf, inf),
      special<"sin">(-0.0L, -0.0L),
      special<"sin">(inf, nan),
      special<"cos">(inf, nan),
      special<"cos">(0, 1),
      special<"tan">(-0.0L, -0.0L),
      special<"tan">(-inf, nan),
      special<"arcsin">(-0.0L, -0.0L),
      special<"arcsin">(2, nan),
      special<"arccos">(1, 0),
      special<"arccos">(-2, nan),
      special<"arctan">(inf, pi / 2),
      special<"arctan">(-0.0L, -0.0L),
      special<"arctan2">(0, -1, pi),
      special<"arctan2">(-0.0L, -1, -pi),
      special<"arctan2">(-0.0L, 1, -0.0L),
      special<"arctan2">(0, 0, 0),
      special<"arctan2">(-0.0L, -0.0L, -pi),
      special<"arctan2">(inf, -inf, 3 * pi / 4),
      special<"arctan2">(-inf, 1, -pi / 2),
      special<"arctan2">(1, inf, 0),
      special<"arctan2">(-1, -inf, -pi),
      special<"arctan2">(nan, 1, nan),
      special<"arctan2">(1, nan, nan),
      special<"arctan2">(2, 2, pi / 4),
      special<"arctan2">(-2, -2, -3 * pi / 4),
      special<"arctan2">(0, 3, 0),
      special<"arctan2">(-0.0L, 3, -0.0L),
      special<"arctan2">(-3, -0.0L, -pi / 2),
      special<"sinh">(-0.0L, -0.0L),
      special<"sinh">(-inf, -inf),
      special<"cosh">(-inf, inf),
      special<"cosh">(0, 1),
      special<"tanh">(-0.0L, -0.0L),
      special<"tanh">(inf, 1),
      special<"tanh">(-inf, -1),
      special<"arcsinh">(-0.0L, -0.0L),
      special<"arcsinh">(-inf, -inf),
      special<"arccosh">(1, 0),
      special<"arccosh">(0.5L, nan),
      special<"arccosh">(-2, nan),
      special<"arccosh">(inf, inf),
      special<"arctanh">(1, inf),
      special<"arctanh">(-1, -inf),
      special<"arctanh">(2, nan),
      special<"arctanh">(-0.0L, -0.0L),
      special<"sqrt">(-0.0L, -0.0L),
      special<"sqrt">(-1, nan),
      special<"rsqrt">(0, inf),
      special<"rsqrt">(inf, 0),
      special<"cbrt">(-8, -2),
      special<"cbrt">(-0.0L, -0.0L),
      special<"cbrt">(inf, inf),
      special<"reciprocal">(-0.0L, -inf),
      special<"reciprocal">(inf, 0),
      special<"sign">(0, 0),
      special<"sign">(-inf, -1),
      special<"sign">(nan, nan),
      special<"power">(0, 0, 1),
      special<"power">(nan, 0, 1),
      special<"power">(1, nan, 1),
      special<"power">(-2, 3, -8),
      special<"power">(-std::numeric_limits<double>::max(), 1, -std::numeric_limits<double>::max()),
      special<"power">(std::numeric_limits<float>::max(), 1, std::numeric_limits<float>::max()),
      special<"power">(-2, 0.5L, nan),
      special<"power">(0, -1, inf),
      special<"power">(-0.0L, -1, -inf),
      special<"power">(-0.0L, 3, -0.0L),
      special<"power">(-0.0L, 2, 0),
      special<"power">(inf, -1, 0),
      special<"power">(-inf, 3, -inf),
      special<"power">(0.5L, inf, 0),
      special<"power">(0.5L, -inf, inf),
      special<"power">(-1, inf, 1),
      special<"power">(-1, nan, nan),
      special<"power">(3, 13, 1594323),
      special<"power">(-7, 5, -16807),
      special<"power">(-3, 4, 81),
      special<"power">(0.25L, -7.5L, 32768),
      special<"hypot">(inf, nan, inf),
      special<"hypot">(3, 4, 5),
      special<"hypot">(nan, 1, nan),
      special<"hypot">(0, 0, 0),
      special<"maximum">(nan, 1, nan),
      special<"maximum">(1, nan, nan),
      special<"minimum">(1, nan, nan),
      special<"minimum">(-inf, 1, -inf),
      special<"floor">(-0.5L, -1),
      special<"floor">(-0.0L, -0.0L),
      special<"floor">(inf, inf),
      special<"ceil">(-0.5L, -0.0L),
      special<"ceil">(-inf, -inf),
      special<"trunc">(-0.5L, -0.0L),
      special<"round">(0.5L, 0),
      special<"round">(1.5L, 2),
      special<"round">(2.5L, 2),
      special<"round">(-0.5L, -0.0L),
      special<"round">(nan, nan),
      special<"mod">(-5, 3, 1),
      special<"mod">(5, -3, -1),
      special<"mod">(-6, 3, 0),
      special<"mod">(6, -3, -0.0L),
      special<"mod">(1, 0, nan),
      special<"mod">(inf, 2, nan),
      special<"mod">(5, inf, 5),
      special<"mod">(-5, inf, inf),
      special<"mod">(-0.0L, 2, 0),
      special<"mod">(1e18L, 7, std::fmod(Real(1000000000000000000), Real(7))),
      special<"floor_divide">(-5, 3, -2),
      special<"floor_divide">(5, -3, -2),
      special<"floor_divide">(6, 3, 2),
      special<"floor_divide">(1, 0, inf),
      special<"floor_divide">(-1, 0, -inf),
      special<"floor_divide">(0, 0, nan),
      special<"floor_divide">(5, inf, 0),
      special<"floor_divide">(-5, inf, -1),
      special<"floor_divide">(inf, 5, nan),
      special<"floor_divide">(-0.0L, 5, -0.0L),
      special<"kl_div">(0, 0, 0),
      special<"kl_div">(0, 2, 2),
      special<"kl_div">(2, 2, 0),
      special<"kl_div">(std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::denorm_min(), 0),
      special<"kl_div">(std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::denorm_min(), 0),
      special<"kl_div">(inf, 1, inf),
      special<"kl_div">(1, inf, inf),
      special<"kl_div">(0, inf, inf),
      special<"kl_div">(inf, 0, inf),
      special<"kl_div">(inf, inf, nan),
      special<"kl_div">(2, 0, inf),
      special<"kl_div">(-1, 1, inf),
      special<"kl_div">(1, -1, inf),
      special<"kl_div">(nan, 1, nan),
      special<"kl_div">(1, nan, nan),
      special<"logaddexp">(-inf, -inf, -inf),
      special<"logaddexp">(inf, inf, inf),
      special<"logaddexp">(-inf, 3, 3),
      special<"logaddexp">(inf, -inf, inf),
      special<"logaddexp">(nan, -inf, nan),
      special<"erf">(inf, 1),
      special<"erf">(-inf, -1),
      special<"erf">(-0.0L, -0.0L),
      special<"erfc">(inf, 0),
      special<"erfc">(-inf, 2),
      special<"erfc">(0, 1),
      special<"lgamma">(1, 0),
      special<"lgamma">(2, 0),
      special<"lgamma">(0, inf),
      special<"lgamma">(-3, inf),
      special<"lgamma">(inf, inf),
      special<"lgamma">(-inf, inf),
      special<"digamma">(0, -inf),
      special<"digamma">(-0.0L, -inf),
      special<"digamma">(-2, nan),
      special<"digamma">(inf, inf),
      special<"digamma">(-inf, nan),
      special<"digamma">(1, -0.57721566490153286061L),
      special<"polygamma">(1, 1, pi * pi / 6),
      special<"polygamma">(1, 0, inf),
      special<"polygamma">(1, -1, inf),
      special<"polygamma">(2, 0, -inf),
      special<"polygamma">(2, 0x1p400L, -0x1p-800L),
      special<"polygamma">(1, inf, 0),
      special<"polygamma">(0, 1, -0.57721566490153286061L),
      special<"polygamma">(-1, 1, nan),
      special<"polygamma">(1.5L, 1, nan),
      special<"erfcx">(-inf, inf),
      special<"erfcx">(inf, 0),
      special<"erfcx">(-0.0L, 1),
      special<"erfcx_derivative">(1, inf, 0),
      special<"erfcx_derivative">(1, 0, -1.12837916709551257390L),
      special<"erfcx_derivative">(2, 0, 2),
      special<"erfcx_derivative">(-1, 1, nan),
      special<"erfcx_derivative">(1.5L, 1, nan),
      special<"erfcx_derivative">(251, 1, nan),
      special<"ndtr">(-inf, 0),
      special<"ndtr">(inf, 1),
      special<"log_ndtr">(-inf, -inf),
      special<"log_ndtr">(inf, -0.0L),
      special<"erfinv">(1, inf),
      special<"erfinv">(-1, -inf),
      special<"erfinv">(-0.0L, -0.0L),
      special<"erfinv">(1.5L, nan),
      special<"erfcinv">(0, inf),
      special<"erfcinv">(2, -inf),
      special<"erfcinv">(1, 0),
      special<"erfcinv">(-1, nan),
      special<"erfcinv">(3, nan),
      special<"ndtri">(0, -inf),
      special<"ndtri">(1, inf),
      special<"ndtri">(0.5L, 0),
      special<"ndtri">(-1, nan),
      special<"sigmoid">(-inf, 0),
      special<"sigmoid">(inf, 1),
      special<"sigmoid">(-1000, 0),
      special<"softplus">(-inf, 0),
      special<"softplus">(inf, inf),
      special<"silu">(-inf, -0.0L),
      special<"silu">(inf, inf),
      special<"gelu">(-inf, -0.0L),
      special<"gelu">(inf, inf),
      special<"gelu">(-0.0L, -0.0L),
      special<"selu">(-inf, -1.75809934084737685994L),
      special<"elu">(-inf, 1, -1),
      special<"softsign">(-inf, -1),
      special<"softsign">(inf, 1),
  };
}

template <class T>
void check(const Special& s) {
  for (const Set* set : supported_sets()) {
    const std::vector<T> x{static_cast<T>(s.x)}, y{static_cast<T>(s.y)};
    if (static_cast<Real>(x[0]) != s.x && !std::isnan(s.x)) continue;  // 1e18 is not exact in float
    const T result = evaluate(*set, s.op, x, y)[0], expected = static_cast<T>(s.expected);
    INFO(s.name << "(" << x[0] << ", " << y[0] << ") on " << set->isa << ", " << sizeof(T) * 8 << " bits: " << result
                << ", not " << expected);
    const bool exact = std::isinf(expected) || expected == std::nearbyint(expected);
    CHECK(
        ((std::isnan(expected) && std::isnan(result)) || (exact ? result == expected : ulps(result, s.expected) <= 3)));
    if (expected == 0) CHECK(std::signbit(result) == std::signbit(expected));
  }
}

// NaN in gives NaN out, whatever else the function does.
template <class T>
void check_nan(const Case& c) {
  for (const Set* set : supported_sets()) {
    INFO(c.name << " on " << set->isa);
    CHECK(std::isnan(evaluate<T>(*set, c.op, {std::numeric_limits<T>::quiet_NaN()}, {T(1)})[0]));
  }
}

}  // namespace

TEST_CASE("functions are within 4 ulp in float and 3 in double of a long double reference", "[once][values]") {
  for (const Case& c : cases()) {
    check<float>(c);
    check<double>(c);
  }
}

TEST_CASE("functions have the values of C and NumPy at zeros, infinities and NaN") {
  for (const Special& s : specials()) {
    check<float>(s);
    check<double>(s);
  }
  for (const Case& c : cases()) {
    check_nan<float>(c);
    check_nan<double>(c);
  }
}

namespace {

template <class T>
void check_exact() {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(5);
  std::vector<T> x{T(1), Limits::infinity(), T(-0.0), T(0), T(-0.3), T(0.3), T(-0.5), T(2.5), Limits::max()};
  std::vector<T> y{T(1e-39), T(2), T(3), Limits::infinity(), T(7), Limits::denorm_min(), T(-1), T(0.1), Limits::min()};
  while (x.size() < 4000) x.push_back(draw<T>(x.size() % 2 == 0 ? anything : uniform(-5, 5), random));
  while (y.size() < x.size()) y.push_back(draw<T>(y.size() % 3 == 0 ? anything : uniform(-5, 5), random));
  const auto same = [&](std::string_view name, std::size_t op, auto expected) {
    for (const Set* set : supported_sets()) {
      const std::vector<T> got = evaluate(*set, op, x, y);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const T e = expected(x[i], y[i]);
        if (std::isnan(e) ? std::isnan(got[i]) : got[i] == e && std::signbit(got[i]) == std::signbit(e)) continue;
        INFO(name << ", " << set->isa << ", " << 8 * sizeof(T) << " bits, of " << x[i] << " and " << y[i] << ": "
                  << got[i]);
        CHECK(got[i] == e);
        CHECK(std::signbit(got[i]) == std::signbit(e));
        break;
      }
    }
  };
  same("divide", index_of<"divide">(), [](T a, T b) { return a / b; });
  same("fma", index_of<"fma">(), [](T a, T b) { return std::fma(a, b, b); });
  same("reciprocal", index_of<"reciprocal">(), [](T a, T) { return 1 / a; });
  same("sqrt", index_of<"sqrt">(), [](T a, T) { return std::sqrt(a); });
  same("floor", index_of<"floor">(), [](T a, T) { return std::floor(a); });
  same("ceil", index_of<"ceil">(), [](T a, T) { return std::ceil(a); });
  same("trunc", index_of<"trunc">(), [](T a, T) { return std::trunc(a); });
  same("round", index_of<"round">(), [](T a, T) { return std::nearbyint(a); });
}

}  // namespace

TEST_CASE("quotients, roots and integral parts have the bits of IEEE 754 on every instruction set") {
  check_exact<float>();
  check_exact<double>();
}
