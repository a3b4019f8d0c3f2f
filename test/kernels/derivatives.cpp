// Every derivative of the pointwise table, from the smallest subnormal to the largest number of float and double,
// against its definition in long double: by the fused kernels of every instruction set, and by the ops that an outer
// tape records. The allowed error is `ulps` units, plus four times the change caused by one last place of each operand.
// So no intermediate value may overflow, underflow or cancel.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <reel/ops/normal.hpp>
#include <reel/reel.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../op_cases.hpp"
#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/table.hpp"
#include "ops/apply/pointwise.hpp"
#include "references.hpp"

using namespace reel::kernels;
using reel::dtype_of;
using references::Real;

namespace {

constexpr double ulps = 12;

using Function = std::function<Real(Real, Real)>;
using Domain = bool (*)(Real, Real);
using Op = std::function<reel::Tensor(const reel::Tensor&, const reel::Tensor&)>;

// An op of the table with the definitions of its derivatives, where they hold.
struct Case {
  std::string name;
  std::size_t index;
  std::size_t arity;
  Function derivative[2];
  Domain domain;
  Op op;
  bool exact_y;
  Function error[2];  // of derivatives that long double does not give to the last places
};

bool anywhere(Real, Real) { return true; }
bool positive(Real x, Real) { return x > 0; }

template <table::FixedString Name>
Case unary(Function derivative, Op op, Domain domain = anywhere) {
  return {std::string(std::string_view(Name)), index_of<Name>(), 1, {derivative, nullptr}, domain, op, false, {}};
}
template <table::FixedString Name>
Case binary(Function by_x, Function by_y, Op op, Domain domain = anywhere, bool exact_y = false) {
  return {std::string(std::string_view(Name)), index_of<Name>(), 2, {by_x, by_y}, domain, op, exact_y, {}};
}

// The derivative of a row's reference with respect to operand k, with its error bound. Differences of large terms make
// it less accurate far out than a closed form.
random_programs::Jet derivative_of(const cases::Pointwise& row, std::size_t k, Real x, Real y) {
  using random_programs::Jet;
  const random_programs::Exactly restore;
  Jet::count = 2;
  Jet::unit = 0x1p-63;
  Jet operands[] = {x, y};
  operands[k].v[1] = 1;
  return row.value.jet(operands);
}

// clang-format off
std::vector<Case> written_cases() {
  using std::abs, std::exp, std::sqrt, std::cosh, std::log, std::cos, std::sin, std::hypot, std::pow, std::cbrt, std::expm1;
  using references::sigmoid, references::digamma, references::polygamma, references::pi;
  using R = Real;
  using X = const reel::Tensor&;
  constexpr R scale = 1.05070098735548049342L, scale_alpha = 1.75809934084737685994L;
  constexpr R ln2 = 0.693147180559945309417232L, ln10 = 2.30258509299404568401799L;
  const Domain inside = [](R x, R) { return abs(x) < 1; };
  const Domain gamma = [](R x, R) { return x > -30 && x != std::floor(x); };
  return {
    unary<"square">([](R x, R) { return 2 * x; }, [](X x, X) { return square(x); }),
    unary<"abs">([](R x, R) { return x < 0 ? R(-1) : R(1); }, [](X x, X) { return abs(x); }),
    unary<"negative">([](R, R) { return R(-1); }, [](X x, X) { return negative(x); }),
    unary<"sqrt">([](R x, R) { return 1 / (2 * sqrt(x)); }, [](X x, X) { return sqrt(x); }, positive),
    unary<"cbrt">([](R x, R) { return 1 / (3 * cbrt(x) * cbrt(x)); }, [](X x, X) { return cbrt(x); }),
    unary<"exp">([](R x, R) { return exp(x); }, [](X x, X) { return exp(x); }),
    unary<"exp2">([](R x, R) { return ln2 * std::exp2(x); }, [](X x, X) { return exp2(x); }),
    unary<"expm1">([](R x, R) { return exp(x); }, [](X x, X) { return expm1(x); }),
    unary<"log">([](R x, R) { return 1 / x; }, [](X x, X) { return log(x); }, positive),
    unary<"log2">([](R x, R) { return 1 / (x * ln2); }, [](X x, X) { return log2(x); }, positive),
    unary<"log10">([](R x, R) { return 1 / (x * ln10); }, [](X x, X) { return log10(x); }, positive),
    unary<"log1p">([](R x, R) { return 1 / (1 + x); }, [](X x, X) { return log1p(x); }, [](R x, R) { return x > -1; }),
    unary<"erf">([](R x, R) { return 2 / sqrt(pi) * exp(-x * x); }, [](X x, X) { return erf(x); }),
    unary<"erfc">([](R x, R) { return -2 / sqrt(pi) * exp(-x * x); }, [](X x, X) { return erfc(x); }),
    unary<"lgamma">([](R x, R) { return digamma(x); }, [](X x, X) { return lgamma(x); }, gamma),
    unary<"digamma">([](R x, R) { return polygamma(1, x); }, [](X x, X) { return digamma(x); }, gamma),
    unary<"erfcx">([](R x, R) { return references::erfcx_derivative(1, x); }, [](X x, X) { return erfcx(x); }, [](R x, R) { return x > -26; }),
    unary<"ndtr">([](R x, R) { return exp(-x * x / 2) / sqrt(2 * pi); }, [](X x, X) { return ndtr(x); }),
    unary<"log_ndtr">([](R x, R) { return x > 5 ? exp(-x * x / 2) / sqrt(2 * pi) / references::ndtr(x) : sqrt(2 / pi) / references::erfcx(-x / sqrt(R(2))); }, [](X x, X) { return log_ndtr(x); }),
    unary<"erfinv">([](R x, R) { return references::erfinv_derivative(x); }, [](X x, X) { return erfinv(x); }, inside),
    unary<"erfcinv">([](R x, R) { return references::erfcinv_derivative(x); }, [](X x, X) { return erfcinv(x); }, [](R x, R) { return x > 0 && x < 2; }),
    unary<"ndtri">([](R x, R) { return references::ndtri_derivative(x); }, [](X x, X) { return ndtri(x); }, [](R x, R) { return x > 0 && x < 1; }),
    unary<"sin">([](R x, R) { return cos(x); }, [](X x, X) { return sin(x); }),
    unary<"cos">([](R x, R) { return -sin(x); }, [](X x, X) { return cos(x); }),
    unary<"tan">([](R x, R) { return 1 / (cos(x) * cos(x)); }, [](X x, X) { return tan(x); }),
    unary<"arcsin">([](R x, R) { return 1 / sqrt((1 - x) * (1 + x)); }, [](X x, X) { return arcsin(x); }, inside),
    unary<"arccos">([](R x, R) { return -1 / sqrt((1 - x) * (1 + x)); }, [](X x, X) { return arccos(x); }, inside),
    unary<"arctan">([](R x, R) { return 1 / (1 + x * x); }, [](X x, X) { return arctan(x); }),
    unary<"sinh">([](R x, R) { return cosh(x); }, [](X x, X) { return sinh(x); }),
    unary<"cosh">([](R x, R) { return std::sinh(x); }, [](X x, X) { return cosh(x); }),
    unary<"tanh">([](R x, R) { return 1 / (cosh(x) * cosh(x)); }, [](X x, X) { return tanh(x); }, [](R x, R) { return abs(x) < 1; }),
    unary<"arcsinh">([](R x, R) { return 1 / sqrt(1 + x * x); }, [](X x, X) { return arcsinh(x); }),
    unary<"arccosh">([](R x, R) { return 1 / sqrt((x - 1) * (x + 1)); }, [](X x, X) { return arccosh(x); }, [](R x, R) { return x > 1; }),
    unary<"arctanh">([](R x, R) { return 1 / ((1 - x) * (1 + x)); }, [](X x, X) { return arctanh(x); }, inside),
    unary<"relu">([](R x, R) { return x > 0 ? R(1) : R(0); }, [](X x, X) { return relu(x); }),
    unary<"relu6">([](R x, R) { return x > 0 && x < 6 ? R(1) : R(0); }, [](X x, X) { return relu6(x); }),
    unary<"hard_sigmoid">([](R x, R) { return abs(x) < 3 ? 1 / R(6) : R(0); }, [](X x, X) { return hard_sigmoid(x); }),
    unary<"hard_swish">([](R x, R) { return x >= 3 ? R(1) : x <= -3 ? R(0) : (2 * x + 3) / 6; }, [](X x, X) { return hard_swish(x); }),
    unary<"frac">([](R, R) { return R(1); }, [](X x, X) { return frac(x); }),
    unary<"logit">([](R x, R) { return 1 / (x * (1 - x)); }, [](X x, X) { return logit(x); }, [](R x, R) { return x > 0 && x < 1; }),
    unary<"selu">([](R x, R) { return x > 0 ? scale : scale_alpha * exp(x); }, [](X x, X) { return selu(x); }),
    unary<"gelu">([](R x, R) { return std::erfc(-x / sqrt(R(2))) / 2 + x * exp(-x * x / 2) / sqrt(2 * pi); }, [](X x, X) { return gelu(x); }),
    unary<"silu">([](R x, R) { return sigmoid(x) + x * sigmoid(x) * sigmoid(-x); }, [](X x, X) { return silu(x); }),
    unary<"sigmoid">([](R x, R) { return sigmoid(x) * sigmoid(-x); }, [](X x, X) { return sigmoid(x); }, [](R x, R) { return x < 1; }),
    unary<"logistic">([](R x, R) { return sigmoid(x) * sigmoid(-x); }, [](X x, X) { return reel::ops::pointwise(reel::ops::pointwise_primitive(index_of<"logistic">()), x); }),
    unary<"softplus">([](R x, R) { return sigmoid(x); }, [](X x, X) { return softplus(x); }),
    unary<"softsign">([](R x, R) { return 1 / ((1 + abs(x)) * (1 + abs(x))); }, [](X x, X) { return softsign(x); }),
    binary<"add">([](R, R) { return R(1); }, [](R, R) { return R(1); }, [](X x, X y) { return x + y; }),
    binary<"subtract">([](R, R) { return R(1); }, [](R, R) { return R(-1); }, [](X x, X y) { return x - y; }),
    binary<"multiply">([](R, R y) { return y; }, [](R x, R) { return x; }, [](X x, X y) { return x * y; }),
    binary<"divide">([](R, R y) { return 1 / y; }, [](R x, R y) { return -x / y / y; }, [](X x, X y) { return x / y; }),
    binary<"maximum">([](R x, R y) { return x > y ? R(1) : x < y ? R(0) : R(0.5L); }, [](R x, R y) { return x < y ? R(1) : x > y ? R(0) : R(0.5L); }, [](X x, X y) { return maximum(x, y); }),
    binary<"minimum">([](R x, R y) { return x < y ? R(1) : x > y ? R(0) : R(0.5L); }, [](R x, R y) { return x > y ? R(1) : x < y ? R(0) : R(0.5L); }, [](X x, X y) { return minimum(x, y); }),
    binary<"power">([](R x, R y) { return y * pow(x, y - 1); }, [](R x, R y) { return pow(x, y) * log(x); }, [](X x, X y) { return power(x, y); }, positive),
    binary<"hypot">([](R x, R y) { return x / hypot(x, y); }, [](R x, R y) { return y / hypot(x, y); }, [](X x, X y) { return hypot(x, y); }),
    binary<"arctan2">([](R x, R y) { return y / (x * x + y * y); }, [](R x, R y) { return -x / (x * x + y * y); }, [](X x, X y) { return arctan2(x, y); }),
    binary<"kl_div">([](R x, R y) { return references::log_ratio(x, y); }, [](R x, R y) { return (y - x) / y; }, [](X x, X y) { return kl_div(x, y); }, [](R x, R y) { return x > 0 && y > 0; }),
    binary<"logaddexp">([](R x, R y) { return sigmoid(x - y); }, [](R x, R y) { return sigmoid(y - x); }, [](X x, X y) { return logaddexp(x, y); }),
    binary<"copysign">([](R x, R y) { return (x < 0) == (y < 0) ? R(1) : R(-1); }, [](R, R) { return R(0); }, [](X x, X y) { return reel::copysign(x, y); }),
    binary<"hardshrink">([](R x, R y) { return abs(x) > y ? R(1) : R(0); }, [](R, R) { return R(0); }, [](X x, X y) { return hardshrink(x, y); }),
    binary<"leaky_relu">([](R x, R y) { return x > 0 ? R(1) : y; }, [](R x, R) { return x > 0 ? R(0) : x; }, [](X x, X y) { return leaky_relu(x, y); }),
    binary<"elu">([](R x, R y) { return x > 0 ? R(1) : y * exp(x); }, [](R x, R) { return x > 0 ? R(0) : expm1(x); }, [](X x, X y) { return elu(x, y); }, [](R, R y) { return y > 0 && y <= 100; }),
    binary<"sigmoid_cross_entropy">([](R x, R y) { return (1 - y) * sigmoid(x) - y * sigmoid(-x); }, [](R x, R) { return -x; }, [](X x, X y) { return sigmoid_cross_entropy(x, y); }, [](R, R y) { return y >= 0 && y <= 1; }, true),
    binary<"erfcx_derivative">(nullptr, [](R n, R x) { return references::erfcx_derivative(static_cast<int>(n) + 1, x); }, [](X n, X x) { return erfcx_derivative(n, x); }, [](R n, R x) { return n >= 0 && n < 6 && n == std::floor(n) && x > -20 && x < 1e30; }, true),
    binary<"polygamma">(nullptr, [](R n, R x) { return polygamma(n + 1, x); }, [](X n, X x) { return polygamma(n, x); }, [](R n, R x) { return n >= 0 && n < 6 && n == std::floor(n) && x > 0; }, true),
  };
}
// clang-format on

// The index of a definition in the table.
std::size_t index_of_name(std::string_view name) {
  std::size_t at = 0;
  const auto found = [&](std::string_view other) { return other == name || (++at, false); };
  std::apply([&](const auto&... d) { static_cast<void>((found(d.name) || ...)); }, table::definitions);
  return at;
}

// The cases above, and the others whose reference in the op cases can be differentiated.
std::vector<Case> all_cases() {
  std::vector<Case> all = written_cases();
  const std::size_t written = all.size();
  for (const cases::Pointwise& row : cases::all_pointwise()) {
    const auto same = [&](const Case& c) { return c.name == row.name; };
    if (!row.value.jet || std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(written), same)) continue;
    Case c;
    c.name = row.name;
    c.index = index_of_name(row.name);
    if (c.index == table::size || row.arity > 2) continue;  // composed of others; in kinks.cpp
    c.arity = static_cast<std::size_t>(row.arity);
    for (std::size_t k = 0; k < c.arity; ++k) {
      c.derivative[k] = [&row, k](Real x, Real y) { return derivative_of(row, k, x, y).v[1]; };
      c.error[k] = [&row, k](Real x, Real y) { return Real(derivative_of(row, k, x, y).e[1]); };
    }
    c.domain = anywhere;
    c.op = [call = row.call](const reel::Tensor& x, const reel::Tensor& y) { return call(std::vector{x, y}); };
    c.exact_y = false;
    all.push_back(std::move(c));
  }
  return all;
}

// Ops without a definition here, which kinks.cpp tests: those that are constant between jumps, and those of three
// operands.
const std::set<std::string> elsewhere{"sign",  "clip",         "floor", "ceil", "round",
                                      "trunc", "floor_divide", "mod",   "fma",  "lerp"};

// Magnitudes over the whole range, with both signs, and a dense sample of the middle.
template <class T>
std::vector<T> line(std::size_t logarithmic) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::vector<T> points{Limits::denorm_min(), Limits::min(), Limits::max(), T(1)};
  const int low = Limits::min_exponent - Limits::digits, high = Limits::max_exponent - 1;
  for (std::size_t i = 0; i < logarithmic; ++i)
    points.push_back(std::ldexp(static_cast<T>(mantissa(random)),
                                low + static_cast<int>((static_cast<std::size_t>(high - low) * i) / logarithmic)));
  const double middle[] = {0.3, 1.7, 3.1, 7.3, 11,  14.2, 18,  23,  30.5, 37, 38.3,
                           45,  60,  88,  104, 177, 300,  355, 500, 709,  745};
  for (const double m : middle) points.push_back(static_cast<T>(m * mantissa(random) / 1.5));
  for (const T p : std::vector<T>(points)) points.push_back(-p);
  return points;
}

template <class T>
struct Points {
  std::vector<T> x, y;
};
template <class T>
Points<T> points(const Case& c) {
  Points<T> p;
  const auto add = [&](T x, T y) {
    if (c.name == "power" && x < std::numeric_limits<T>::min()) return;  // x^(y - 1) overflows
    if (std::isfinite(x) && std::isfinite(y) && c.domain(x, y) && !std::isnan(c.derivative[c.arity - 1](x, y)))
      p.x.push_back(x), p.y.push_back(y);
  };
  if (c.arity == 1) {
    for (const T x : line<T>(120)) add(x, 0);
    for (int i = 1; i < 40; ++i)
      add(1 - std::ldexp(T(1), -i), 0), add(std::ldexp(T(1), -i) - 1, 0), add(1 + std::ldexp(T(1), -i), 0),
          add(std::ldexp(T(1), -i), 0);
    return p;
  }
  const std::vector<T> other = line<T>(12);
  std::vector<T> seconds{T(0), T(1)};
  for (std::size_t i = 0; i < other.size(); i += 3) seconds.push_back(other[i]);
  const bool of_order = c.name == "polygamma" || c.name == "erfcx_derivative";
  for (const T x : of_order ? std::vector<T>{0, 1, 2, 3, 4, 5} : line<T>(20))
    for (const T y : of_order ? line<T>(60) : seconds) add(x, y);
  return p;
}

// The condition number: the relative change of the derivative for a relative change of each operand.
Real condition(const Case& c, std::size_t by, Real x, Real y) {
  constexpr Real h = 1e-8L;
  const Function& f = c.derivative[by];
  const Real at = std::abs(f(x, y));
  const auto change = [&](Real x1, Real y1, Real x2, Real y2) {
    const Real d = std::abs(f(x2, y2) - f(x1, y1)) / (2 * h) / at;
    return std::isfinite(d) ? d : Real(0);
  };
  return change(x - x * h, y, x + x * h, y) +
         (c.arity == 2 && !c.exact_y ? change(x, y - y * h, x, y + y * h) : Real(0));
}

struct Allowed {
  Real expected, error;
};
// If the value z is subnormal, its rounding error enters derivatives that read it.
template <class T>
Allowed allowed(const Case& c, std::size_t by, T x, T y, T z) {
  using Limits = std::numeric_limits<T>;
  const Real expected = c.derivative[by](x, y), magnitude = std::abs(expected);
  Real relative = Limits::epsilon() * (ulps + 4 * condition(c, by, x, y));
  if (z != 0 && std::abs(z) < Limits::min()) relative += Limits::denorm_min() / Real(std::abs(z));
  Real error = relative * magnitude + 1024 * Real(Limits::denorm_min());
  if (const Real e = c.error[by] ? c.error[by](x, y) : 0; std::isfinite(e)) error += e;
  // arctan2's derivative divides by the hypotenuse twice; the first quotient may be subnormal.
  if (c.name == "arctan2") error += Limits::denorm_min() / std::hypot(Real(x), Real(y));
  return {expected, error};
}

template <class T>
bool good(T got, const Allowed& a) {
  constexpr Real top = std::numeric_limits<T>::max();
  if (std::abs(a.expected) + a.error > top && std::abs(Real(got)) + a.error >= top * (1 - 1e-3L))
    return std::signbit(got) == std::signbit(a.expected);  // infinity or nearly
  return std::abs(Real(got) - a.expected) <= a.error;
}

template <class T>
void report(const std::string& how, const Case& c, std::size_t by, const Points<T>& p, const std::vector<T>& z,
            const std::vector<T>& got) {
  std::ostringstream what;
  what.precision(17);
  std::size_t wrong = 0, checked = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Skip points at which the value or arctan2's hypotenuse overflows.
    if (!std::isfinite(z[i]) || (c.name == "arctan2" && !std::isfinite(std::hypot(p.x[i], p.y[i])))) continue;
    const Allowed a = allowed(c, by, p.x[i], p.y[i], z[i]);
    ++checked;
    if (good(got[i], a)) continue;
    if (++wrong <= 5)
      what << "\n  x = " << p.x[i] << ", y = " << p.y[i] << ", z = " << z[i] << ": " << got[i] << ", not " << a.expected
           << " +- " << a.error;
  }
  INFO(c.name << " by operand " << by << ", " << how << ", " << 8 * sizeof(T) << " bits: " << wrong << " of " << checked
              << what.str());
  CHECK(wrong == 0);
  CHECK(checked >= (c.arity == 1 ? 60u : 100u));
}

template <class T>
void check_kernels(const Case& c) {
  const Points<T> p = points<T>(c);
  const auto n = static_cast<std::ptrdiff_t>(p.x.size());
  for (const Set* set : supported_sets()) {
    const Pointwise& loops = set->get<PointwiseKernels>().of(c.index, dtype_of<T>);
    std::vector<T> z(p.x.size()), got(p.x.size());
    const T g = 1;
    const Strided operands[] = {{p.x.data(), 1}, {p.y.data(), 1}};
    loops.value(operands, z.data(), n);
    const Strided in[] = {{&g, 0}, {p.x.data(), 1}, {p.y.data(), 1}, {nullptr, 0}, {z.data(), 1}};
    for (std::size_t by = 0; by < c.arity; ++by) {
      if (loops.derivative[by] == nullptr) continue;
      loops.derivative[by](in, got.data(), n);
      report(set->isa, c, by, p, z, got);
    }
  }
}

// The inner tape's gradient, which the outer one records.
template <class T>
void check_recorded(const Case& c) {
  const Points<T> p = points<T>(c);
  const reel::Tensor x = reel::from_data(p.x), y = reel::from_data(p.y);
  reel::GradientTape outer(reel::TapeOptions{.persistent = true}), inner(reel::TapeOptions{.persistent = true});
  for (const reel::Tensor* t : {&x, &y}) outer.watch(*t), inner.watch(*t);
  const reel::Tensor z = c.op(x, y);
  for (std::size_t by = 0; by < c.arity; ++by) {
    const reel::Gradient g = inner.gradient(z, by == 0 ? x : y);
    if (!g || c.derivative[by] == nullptr) continue;
    report("recorded", c, by, p, z.template to_vector<T>(), (*g).template to_vector<T>());
  }
}

}  // namespace

TEST_CASE("every derivative of the table has a reference here or in the op cases, or is listed as an exception") {
  std::set<std::string> names = elsewhere;
  for (const Case& c : all_cases()) CHECK(names.insert(c.name).second);
  const auto check = [&](std::string_view name) {
    INFO(name);
    CHECK(names.count(std::string(name)) == 1);
  };
  std::apply([&](const auto&... d) { (check(d.name), ...); }, table::definitions);
  CHECK(names.size() == table::size);
}

TEST_CASE("derivatives by fused kernels, over the whole range", "[once]") {
  for (const Case& c : all_cases()) {
    check_kernels<float>(c);
    check_kernels<double>(c);
  }
}

TEST_CASE("derivatives by recorded ops, over the whole range") {
  for (const Case& c : all_cases()) {
    check_recorded<float>(c);
    check_recorded<double>(c);
  }
}

// exp(z * z) would have a relative error of z^2 rounding units there.
TEST_CASE("the derivative of erfcinv is accurate in both tails") {
  std::vector<double> points;
  for (int k = 2; k <= 52; ++k)
    for (const double x : {1.0, 1.37, 1.71}) points.push_back(std::ldexp(x, -k)), points.push_back(2 - points.back());
  const reel::Tensor x = reel::from_data(points);
  reel::GradientTape tape;
  tape.watch(x);
  const std::vector<double> slopes = tape.gradient(erfcinv(x), x).dense().to_vector();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Real expected = references::erfcinv_derivative(points[i]);
    INFO("at " << points[i] << ": " << slopes[i] << ", not " << expected);
    CHECK(std::abs(slopes[i] / expected - 1) <= ulps * std::numeric_limits<double>::epsilon());
  }
}
