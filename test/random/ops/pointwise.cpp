// The pointwise ops of real numbers, by their definitions. The public headers define their behaviour at kinks.
#include <reel/ops/normal.hpp>
#include <reel/special.hpp>

#include "../../op_cases.hpp"
#include "../functions.hpp"
#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Unary = Tensor (*)(const Operand&);
using Binary = Tensor (*)(const Operand&, const Operand&);
constexpr Real pi = references::pi;
constexpr double inf = 1e9;

// Rejects results that wrap.
void check_range(const Array& x) {
  if (x.dtype != DType::uint8) return;
  for (const Num& e : x.data)
    if (e.re.v[0] < 0 || e.re.v[0] > 255) throw Unfit();
}

void add_unary(std::vector<Op>& t, const char* name, Unary call, std::function<Jet(const Jet&)> f, double low,
               double high, bool integers, DType result = DType::complex128) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [low, high, integers](Maker& m, Statement& s) {
    int x = integers && m.chance(0.15) ? m.number() : m.floating();
    if (x >= 0) x = m.within(x, low, high);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [f, integers, result](const Statement&, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (reel::is_complex(x.dtype) || (x.dtype == DType::boolean && result != DType::boolean)) throw Unfit();
    DType d = integers ? x.dtype : floating_of(x.dtype);
    round_like(d);
    Array y(result == DType::boolean ? result : d, x.shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = f(x[i].re);
    check_range(y);
    out.push_back(std::move(y));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0])); };
  t.push_back(std::move(o));
}

// `low`, `high`: what the second operand must lie between.
struct BinaryTraits {
  double low = -inf, high = inf;
  double first_low = -inf, first_high = inf;
  bool integers = false, boolean = false, second_weak = false;
};
void add_binary(std::vector<Op>& t, const char* name, Binary call, std::function<Jet(const Jet&, const Jet&)> f,
                BinaryTraits traits = {}) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [traits](Maker& m, Statement& s) {
    const bool integers = traits.integers && m.chance(0.15);
    int x = integers ? m.number() : m.floating();
    if (x < 0) return false;
    Arg y = m.beside(x, true, integers);
    x = m.within(x, traits.first_low, traits.first_high);
    if (x < 0) return false;
    if (y.kind == Arg::value) {
      y.index = m.within(y.index, traits.low, traits.high);
      if (y.index < 0) return false;
    } else if (y.number < traits.low || y.number > traits.high) {
      y = Maker::weak(1.5);
    }
    s.args = {Maker::arg(x), y};
    const bool symmetric = traits.low == -inf && traits.first_low == -inf;
    if (symmetric && m.chance(0.5)) std::swap(s.args[0], s.args[1]);
    return true;
  };
  o.eval = [f, traits](const Statement&, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[1];
    DType d = promoted(in);
    if (reel::is_complex(d) || (d == DType::boolean && !traits.boolean)) throw Unfit();
    if (!traits.integers) d = floating_of(d);
    round_like(d);
    Array z(traits.boolean ? DType::boolean : d, broadcast_shapes(x.shape, y.shape));
    for (std::int64_t i = 0; i < z.size(); ++i)
      z[i] = f(x[broadcast_index(x.shape, z.shape, i)].re, y[broadcast_index(y.shape, z.shape, i)].re);
    check_range(z);
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0], a[1])); };
  t.push_back(std::move(o));
}

using Ternary = Tensor (*)(const Operand&, const Operand&, const Operand&);
void add_ternary(std::vector<Op>& t, const char* name, Ternary call,
                 std::function<Jet(const Jet&, const Jet&, const Jet&)> f) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating();
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x), m.beside(x)};
    return true;
  };
  o.eval = [f](const Statement&, const Inputs& in, Arrays& out) {
    DType d = promoted(in);
    if (reel::is_complex(d)) throw Unfit();
    d = floating_of(d);
    round_like(d);
    Array z(d, broadcast_shapes(in[0]->shape, broadcast_shapes(in[1]->shape, in[2]->shape)));
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const auto at = [&](std::size_t k) { return (*in[k])[broadcast_index(in[k]->shape, z.shape, i)].re; };
      z[i] = f(at(0), at(1), at(2));
    }
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(call(a[0], a[1], a[2]));
  };
  t.push_back(std::move(o));
}

bool truth(const Jet& x) { return !same(x, 0); }
Jet of(bool b) { return b ? 1 : 0; }
// Integers decide: the derivative is zero.
Jet integer_of(const Jet& x, Real (*f)(Real)) {
  const Real near = std::round(x.v[0]), half = std::floor(x.v[0]) + 0.5L;
  less(x, near);  // throws if not certain
  less(x, half);
  return f(x.v[0]);
}
Real round_half_even(Real x) {
  const Real f = std::floor(x), d = x - f;
  if (d != 0.5L) return d < 0.5L ? f : f + 1;
  return std::fmod(f, 2.0L) == 0 ? f : f + 1;
}

Real gamma_sign(Real x) {
  const Real below = std::floor(x);
  return x > 0 ? 1 : below == x ? 0 : std::fmod(below, 2.0L) == 0 ? 1 : -1;
}

Jet floor_quotient(const Jet& x, const Jet& y) {
  if (y.v[0] == 0) throw Unfit();
  return integer_of(x / y, [](Real q) { return std::floor(q); });
}

// x^y. If the exponent is a constant, log(x) is not used.
Jet power_of(const Jet& x, const Jet& y) {
  Jet r;
  if (x.v[0] < 0) throw Unfit();  // the derivative by y is NaN there, also against a tangent of 0
  if (x.v[0] == 0 && !(x.exact() && y.exact())) throw Ambiguous();
  bool constant = y.exact();
  for (int m = 1; m < Jet::count; ++m) constant = constant && y.v[m] == 0;
  if (constant) {
    Series f;
    Real c = 1, p = y.v[0];
    for (int k = 0; k < Series::terms; ++k) {
      const Real exponent = y.v[0] - static_cast<Real>(k);
      f.c[static_cast<std::size_t>(k)] = c == 0 ? 0 : c * std::pow(x.v[0], exponent);
      c *= p / static_cast<Real>(k + 1);
      p -= 1;
    }
    for (const Real& a : f.c)
      if (!std::isfinite(a)) throw Unfit();
    return chain(x, f, 16);
  }
  if (x.v[0] <= 0) throw Unfit();
  r = exp(y * log(x));
  return rounded(r, 8);
}

Jet maximum_of(const Jet& x, const Jet& y) {
  if (same(x, y)) return Jet(0.5L) * (x + y);
  return less(x, y) ? y : x;
}
Jet minimum_of(const Jet& x, const Jet& y) {
  if (same(x, y)) return Jet(0.5L) * (x + y);
  return less(x, y) ? x : y;
}

}  // namespace

constexpr auto truncated = [](const Jet& x) { return integer_of(x, [](Real v) { return std::trunc(v); }); };

static void add_kinked(std::vector<Op>& t) {
  const double i = inf;
  add_unary(
      t, "sign", reel::sign, [](const Jet& x) { return same(x, 0)   ? Jet(0)
                                                       : less(x, 0) ? Jet(-1)
                                                                    : Jet(1); }, -i, i,
      true);
  add_unary(
      t, "floor", reel::floor, [](const Jet& x) { return integer_of(x, [](Real v) { return std::floor(v); }); }, -i, i,
      true);
  add_unary(
      t, "ceil", reel::ceil, [](const Jet& x) { return integer_of(x, [](Real v) { return std::ceil(v); }); }, -i, i,
      true);
  add_unary(t, "trunc", reel::trunc, truncated, -i, i, true);
  add_unary(
      t, "frac", reel::frac, [](const Jet& x) { return x - truncated(x); }, -i, i, false);
  add_unary(
      t, "gammasgn", reel::gammasgn, [](const Jet& x) { return integer_of(x, gamma_sign); }, -6, 6, false);
  add_unary(
      t, "round", reel::round, [](const Jet& x) { return integer_of(x, round_half_even); }, -i, i, true);
  const DType b = DType::boolean;
  add_unary(
      t, "logical_not", reel::logical_not, [](const Jet& x) { return of(!truth(x)); }, -i, i, true, b);
  add_unary(
      t, "isnan", reel::isnan, [](const Jet&) { return Jet(0); }, -i, i, true, b);
  add_unary(
      t, "isinf", reel::isinf, [](const Jet&) { return Jet(0); }, -i, i, true, b);
  add_unary(
      t, "isfinite", reel::isfinite, [](const Jet&) { return Jet(1); }, -i, i, true, b);
}

static void add_two_operands(std::vector<Op>& t) {
  const BinaryTraits any{.integers = true}, test{.integers = true, .boolean = true};
  add_binary(
      t, "add", reel::add, [](const Jet& x, const Jet& y) { return x + y; }, any);
  add_binary(
      t, "subtract", reel::subtract, [](const Jet& x, const Jet& y) { return x - y; }, any);
  add_binary(
      t, "multiply", reel::multiply, [](const Jet& x, const Jet& y) { return x * y; }, any);
  add_binary(t, "divide", reel::divide, [](const Jet& x, const Jet& y) { return x / y; }, {.low = 0.2});
  add_binary(t, "floor_divide", reel::floor_divide, floor_quotient, {.low = 0.2, .integers = true});
  add_binary(t, "mod", reel::mod, [](const Jet& x, const Jet& y) { return x - y * floor_quotient(x, y); },
             {.low = 0.2, .integers = true});
  add_binary(t, "power", reel::power, power_of, {.low = -3, .high = 3, .first_low = 0.2, .first_high = 5});
  add_binary(t, "logaddexp", reel::logaddexp, [](const Jet& x, const Jet& y) { return log(exp(x) + exp(y)); },
             {.low = -20, .high = 20, .first_low = -20, .first_high = 20});
  add_binary(t, "arctan2", reel::arctan2, [](const Jet& y, const Jet& x) {
    if (x.v[0] == 0 && y.v[0] == 0) throw Unfit();
    if (y.v[0] == 0 && x.v[0] < 0) throw Ambiguous();  // by the sign of zero, which sums do not keep alike
    return rounded(arctan2(y, x), 4);
  });
  add_binary(t, "hypot", reel::hypot, [](const Jet& x, const Jet& y) {
    if (same(x, 0) && same(y, 0)) return Jet(0);  // with zero derivatives to every order
    return sqrt(x * x + y * y);
  });
  add_binary(t, "sigmoid_cross_entropy", reel::sigmoid_cross_entropy,
             [](const Jet& x, const Jet& y) {
               const Jet soft = softplus_of(x);
               return soft - x * y;
             },
             {.first_low = -8, .first_high = 8});
  add_binary(t, "maximum", reel::maximum, maximum_of, any);
  add_binary(t, "minimum", reel::minimum, minimum_of, any);
  add_binary(t, "copysign", reel::copysign, [](const Jet& x, const Jet& y) {
    if (y.v[0] == 0) throw Unfit();  // the sign of a zero is not followed here
    return less(y, 0) ? -absolute(x) : absolute(x);
  });
  add_binary(t, "leaky_relu", reel::leaky_relu,
             [](const Jet& x, const Jet& slope) { return less(0, x) ? x : slope * x; });
  add_binary(t, "elu", reel::elu,
             [](const Jet& x, const Jet& alpha) {
               if (alpha.v[0] < 0) throw Unfit();
               if (less(0, x)) return x;
               return alpha * expm1(x);
             },
             {.low = 0.1, .first_low = -8});
  add_binary(
      t, "equal", reel::equal, [](const Jet& x, const Jet& y) { return of(same(x, y)); }, test);
  add_binary(
      t, "not_equal", reel::not_equal, [](const Jet& x, const Jet& y) { return of(!same(x, y)); }, test);
  add_binary(
      t, "less", reel::less, [](const Jet& x, const Jet& y) { return of(less(x, y)); }, test);
  add_binary(
      t, "less_equal", reel::less_equal, [](const Jet& x, const Jet& y) { return of(!less(y, x)); }, test);
  add_binary(
      t, "greater", reel::greater, [](const Jet& x, const Jet& y) { return of(less(y, x)); }, test);
  add_binary(
      t, "greater_equal", reel::greater_equal, [](const Jet& x, const Jet& y) { return of(!less(x, y)); }, test);
  add_binary(
      t, "logical_and", reel::logical_and, [](const Jet& x, const Jet& y) { return of(truth(x) && truth(y)); }, test);
  add_binary(
      t, "logical_or", reel::logical_or, [](const Jet& x, const Jet& y) { return of(truth(x) || truth(y)); }, test);
  add_binary(
      t, "logical_xor", reel::logical_xor, [](const Jet& x, const Jet& y) { return of(truth(x) != truth(y)); }, test);
}

static void add_composed(std::vector<Op>& t) {
  const double i = inf;
  add_unary(
      t, "sinc", reel::sinc, [](const Jet& x) { return sin(Jet(pi) * x) / (Jet(pi) * x); }, 0.3, 20, false);
  add_unary(
      t, "nan_to_num", [](const Operand& x) { return reel::nan_to_num(x); }, [](const Jet& x) { return x; }, -i, i,
      false);
  add_binary(t, "fmod", reel::fmod, [](const Jet& x, const Jet& y) { return x - y * truncated(x / y); }, {.low = 0.2});
  add_binary(t, "fmax", reel::fmax, maximum_of);
  add_binary(t, "fmin", reel::fmin, minimum_of);
  add_binary(t, "logaddexp2", reel::logaddexp2,
             [](const Jet& x, const Jet& y) {
               const Jet ln2 = std::log(2.0L);
               return log(exp(ln2 * x) + exp(ln2 * y)) / ln2;
             },
             {.low = -20, .high = 20, .first_low = -20, .first_high = 20});
  add_binary(t, "xlog1py", reel::xlog1py, [](const Jet& x, const Jet& y) { return x * log(1 + y); }, {.low = -0.6});
  add_binary(
      t, "celu", [](const Operand& x, const Operand& alpha) { return reel::celu(x, alpha); },
      [](const Jet& x, const Jet& alpha) { return less(0, x) ? x : alpha * (exp(x / alpha) - 1); },
      {.low = 0.1, .first_low = -4});
  add_binary(
      t, "softshrink", [](const Operand& x, const Operand& l) { return reel::softshrink(x, l); },
      [](const Jet& x, const Jet& l) { return less(l, x)    ? x - l
                                              : less(x, -l) ? x + l
                                                            : Jet(0); }, {.low = 0.1});
  add_binary(
      t, "hardshrink", [](const Operand& x, const Operand& l) { return reel::hardshrink(x, l); },
      [](const Jet& x, const Jet& l) { return less(l, absolute(x)) ? x : Jet(0); }, {.low = 0.1});
  add_binary(
      t, "threshold", [](const Operand& x, const Operand& value) { return reel::threshold(x, 0.5, value); },
      [](const Jet& x, const Jet& value) { return less(0.5L, x) ? x : value; });
  add_ternary(
      t, "hard_tanh", [](const Operand& x, const Operand& l, const Operand& h) { return reel::hard_tanh(x, l, h); },
      [](const Jet& x, const Jet& low, const Jet& high) {
        if (!less(low, high)) throw Unfit();
        return !less(low, x) ? low : less(x, high) ? x : high;
      });
}

// polygamma(n, x), clip(x, low, high), where(c, x, y).
// An op of an order, which is a whole number up to 3, and of x. f gives its series at x.
static void add_of_order(std::vector<Op>& t, const char* name, Binary call, Series (*f)(int, const Series&)) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    int x = m.floating();
    if (x >= 0) x = m.within(x, 0.4, 1e9);
    if (x < 0) return false;
    Arg n{.kind = Arg::weak_integer, .number = static_cast<double>(m.below(3))};
    if (m.chance(0.6))
      n = Maker::arg(m.input_of(m.chance(0.5) ? m.at(x).dtype : DType::int64, {}, {static_cast<double>(m.below(3))},
                                m.chance(0.4) ? Role::source : Role::constant));
    s.args = {n, Maker::arg(x)};
    return true;
  };
  o.eval = [f](const Statement&, const Inputs& in, Arrays& out) {
    const Array &n = *in[0], &x = *in[1];
    Array z(floating_of(promoted(in)), broadcast_shapes(n.shape, x.shape));
    round_like(z.dtype);
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const Jet& at = x[broadcast_index(x.shape, z.shape, i)].re;
      const Jet& order = n[broadcast_index(n.shape, z.shape, i)].re;
      if (!order.exact() || order.v[0] != std::round(order.v[0]) || order.v[0] < 0 || order.v[0] > 3) throw Unfit();
      z[i] = chain(at, f(static_cast<int>(order.v[0]), Series::variable(at.v[0])), 64);
    }
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0], a[1])); };
  t.push_back(o);
}

static void add_normal(std::vector<Op>& t) {
  add_of_order(t, "polygamma", reel::polygamma, [](int n, const Series& x) { return polygamma(n, x); });
  add_of_order(t, "erfcx_derivative", reel::erfcx_derivative, erfcx_series);
}

static void add_special(std::vector<Op>& t) {
  Op o;
  o.body = true;

  o.name = "clip";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number() : m.floating();
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x), m.beside(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    if (reel::is_complex(d) || d <= DType::uint8) throw Unfit();
    round_like(d);
    Array z(d, broadcast_shapes(in[0]->shape, broadcast_shapes(in[1]->shape, in[2]->shape)));
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const auto at = [&](std::size_t k) { return (*in[k])[broadcast_index(in[k]->shape, z.shape, i)].re; };
      const Jet x = at(0), low = at(1), high = at(2);
      if (!less(low, high)) throw Unfit();  // an empty or single-valued range: not defined by the header
      z[i] = less(x, low) ? low : less(high, x) ? high : x;
    }
    out.push_back(std::move(z));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::clip(a[0], a[1], a[2]));
  };
  t.push_back(o);

  o.name = "where";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number() : m.floating(0, 4, true);
    if (x < 0) return false;
    const Extents shape = m.at(x).shape;
    Arg y = m.beside(x);
    int c = m.pick([&](const Array& a) {
      if (a.dtype != DType::boolean) return false;
      try {
        broadcast_shapes(a.shape, shape);
        return true;
      } catch (const Unfit&) {
        return false;
      }
    });
    if (c < 0) c = m.integers(shape, 0, 1);
    s.args = {Maker::arg(c), Maker::arg(x), y};
    if (m.chance(0.5)) std::swap(s.args[1], s.args[2]);
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted({in[1], in[2]});
    round_like(d);
    Array z(d, broadcast_shapes(in[0]->shape, broadcast_shapes(in[1]->shape, in[2]->shape)));
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const auto at = [&](std::size_t k) { return (*in[k])[broadcast_index(in[k]->shape, z.shape, i)]; };
      z[i] = truth(at(0).re) ? at(1) : at(2);
    }
    out.push_back(std::move(z));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::where(a[0], a[1], a[2]));
  };
  t.push_back(o);
}

// Of the rows of op cases whose reference is one of jets too.
static void add_rows(std::vector<Op>& t) {
  // clang-format off
#define REEL_CALL_1(NAME) if (row.name == std::string_view(#NAME)) add_unary(t, row.name, [](const Operand& x) { return reel::NAME(x); }, unary, row.domain[0].low, row.domain[0].high, integers);
#define REEL_CALL_2(NAME) if (row.name == std::string_view(#NAME)) add_binary(t, row.name, reel::NAME, binary, traits);
#define REEL_CALL_3(NAME) if (row.name == std::string_view(#NAME)) add_ternary(t, row.name, [](const Operand& x, const Operand& y, const Operand& w) { return reel::NAME(x, y, w); }, ternary);
#define REEL_CALL(NAME, ARITY) REEL_CALL_##ARITY(NAME)
  add_unary(t, "logit", [](const Operand& x) { return reel::logit(x, 0.1); }, [](const Jet& x) { const Jet p = less(x, 0.1) ? Jet(0.1) : less(0.9, x) ? Jet(0.9) : x; return log(p / (1 - p)); }, -1, 2, false);
  // clang-format on
  for (const cases::Pointwise& row : cases::all_pointwise()) {
    const auto value = row.value.jet;
    if (!value) continue;
    const auto unary = [value](const Jet& x) { return value(&x); };
    const auto binary = [value](const Jet& x, const Jet& y) {
      const Jet both[] = {x, y};
      return value(both);
    };
    const auto ternary = [value](const Jet& x, const Jet& y, const Jet& w) {
      const Jet all[] = {x, y, w};
      return value(all);
    };
    const bool integers = row.flags & cases::integers;
    const BinaryTraits traits{row.domain[1].low, row.domain[1].high, row.domain[0].low, row.domain[0].high, integers};
    REEL_POINTWISE_FUNCTIONS(REEL_CALL)
    REEL_NORMAL_FUNCTIONS(REEL_CALL)
    REEL_COMPOSED_FUNCTIONS(REEL_CALL)
  }
}

void add_pointwise(std::vector<Op>& t) {
  add_rows(t);
  add_kinked(t);
  add_two_operands(t);
  add_composed(t);
  add_normal(t);
  add_special(t);
}

}  // namespace random_programs
