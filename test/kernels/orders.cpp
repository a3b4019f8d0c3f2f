// Derivatives of the derivatives in the pointwise table, by nested dual numbers whose functions are the
// definitions of the table. Up to order 3 they agree with finite differences and contain no NaN where the function
// is smooth.
#include <array>
#include <cmath>
#include <string_view>

#include "catch.hpp"
#include "kernels/simd/vec_definitions.hpp"

using namespace reel::kernels;

namespace {

using Number = Vec<double>;

// v + t * epsilon with epsilon^2 = 0, over numbers or duals. A constant has no tangent, and no derivative is asked for
// one.
template <class B>
struct Dual {
  B v, t;
  bool constant;
  Dual(B value, B tangent, bool is_constant = false) : v(value), t(tangent), constant(is_constant) {}
  template <VecConstant C>
  Dual(C c) : v(c), t(0), constant(true) {}

  friend Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.t + b.t, a.constant && b.constant}; }
  friend Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.t - b.t, a.constant && b.constant}; }
  friend Dual operator*(Dual a, Dual b) {
    if (a.constant) return {a.v * b.v, a.v * b.t, b.constant};
    if (b.constant) return {a.v * b.v, a.t * b.v};
    return {a.v * b.v, a.t * b.v + a.v * b.t};
  }
  friend Dual operator/(Dual a, Dual b) {
    if (b.constant) return {a.v / b.v, a.t / b.v, a.constant};
    return {a.v / b.v, a.t / b.v - b.t * (a.v / b.v) / b.v};
  }
  friend Dual operator-(Dual a) { return {-a.v, -a.t, a.constant}; }
  friend auto operator<(Dual a, Dual b) { return a.v < b.v; }
  friend auto operator<=(Dual a, Dual b) { return a.v <= b.v; }
  friend auto operator>(Dual a, Dual b) { return a.v > b.v; }
  friend auto operator>=(Dual a, Dual b) { return a.v >= b.v; }
  friend auto equal(Dual a, Dual b) { return equal(a.v, b.v); }
  friend auto isnan(Dual a) { return isnan(a.v); }
  friend auto isinf(Dual a) { return isinf(a.v); }
  friend auto isfinite(Dual a) { return isfinite(a.v); }
};
template <class B, class X, class Y>
Dual<B> choose(Mask<double> c, X x, Y y) {
  return c.v ? Dual<B>(x) : Dual<B>(y);
}
template <class B>
Dual<B> where(Mask<double> c, Dual<B> x, std::type_identity_t<Dual<B>> y) {
  return choose<B>(c, x, y);
}
template <class B, VecConstant C>
Dual<B> where(Mask<double> c, C x, Dual<B> y) {
  return choose<B>(c, x, y);
}

template <class B>
B tangent(const auto&, const B&, const std::array<B, 3>&, const B&) {
  return B(0);
}
template <table::Reads R, class F, class B>
requires(table::Derivative<R, F>::is_identity) B
    tangent(const table::Derivative<R, F>&, const B& t, const std::array<B, 3>&, const B&) {
  return t;
}
template <table::Reads R, class F, class B>
requires(table::Derivative<R, F>::has_function) B
    tangent(const table::Derivative<R, F>& derivative, const B& t, const std::array<B, 3>& in, const B& z) {
  return table::apply(derivative, t, in[0], in[1], in[2], z);
}

// Three operands, the last ones being 0.
template <class D, class... Operand>
std::array<D, 3> pad(const Operand&... operand) {
  if constexpr (sizeof...(operand) == 3)
    return {operand...};
  else
    return pad<D>(operand..., D(0));
}

// An op on duals: its value, and the sum of its derivatives along the operands' tangents.
template <class Definition, class B, class... Operand>
Dual<B> on_duals(const Definition& r, const Dual<B>& x, const Operand&... rest) {
  const std::array<Dual<B>, 3> in = pad<Dual<B>>(x, rest...);
  const std::array<B, 3> v{in[0].v, in[1].v, in[2].v};
  const B z = [&] {
    if constexpr (std::is_same_v<B, Number>)
      return r.value(x.v, rest.v...);
    else
      return on_duals(r, x.v, rest.v...);
  }();
  B t(0);
  std::size_t k = 0;
  bool constant = true;
  const auto add = [&](const auto& derivative, const Dual<B>& operand) {
    if (operand.constant) return;
    constant = false;
    t = t + tangent(derivative, operand.t, v, z);
  };
  std::apply([&](const auto&... derivative) { (add(derivative, in[k++]), ...); }, r.derivatives);
  return {z, t, constant};
}

// clang-format off
#define UNARY(NAME) template <class B> Dual<B> NAME(Dual<B> x) { return on_duals(definition<#NAME>, x); }
#define BINARY(NAME) \
  template <class B> Dual<B> NAME(Dual<B> x, std::type_identity_t<Dual<B>> y) { return on_duals(definition<#NAME>, x, y); }
UNARY(reciprocal) UNARY(abs) UNARY(sign) UNARY(floor) UNARY(ceil) UNARY(round) UNARY(trunc) UNARY(sqrt)
UNARY(rsqrt) UNARY(cbrt) UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p)
UNARY(erf) UNARY(erfc) UNARY(erfcx) UNARY(ndtr) UNARY(lgamma) UNARY(digamma) UNARY(sin) UNARY(cos) UNARY(tan) UNARY(arcsin)
UNARY(arccos) UNARY(arctan) UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(arcsinh) UNARY(arccosh) UNARY(arctanh)
UNARY(selu) UNARY(gelu) UNARY(silu) UNARY(sigmoid) UNARY(softplus) UNARY(softsign) UNARY(logistic)
BINARY(maximum) BINARY(minimum) BINARY(floor_divide) BINARY(mod) BINARY(power) BINARY(hypot) BINARY(logaddexp)
BINARY(arctan2) BINARY(elu) BINARY(sigmoid_cross_entropy)
#undef UNARY
#undef BINARY
template <int N>
struct Nest;
// clang-format on

// Functions that derivatives of the table call and that are not definitions themselves.
template <class B>
Dual<B> sigmoid_tail(Dual<B> x) {
  return sigmoid(where(x > 0, -x, x));
}
template <class B>
Dual<B> arctan_derivative(Dual<B> x) {
  return 1 / (1 + x * x);
}

template <class B>
Dual<B> logistic_derivative(Dual<B>, Dual<B> z) {
  return z * (1 - z);
}
template <class B>
Dual<B> limited(Dual<B> x, double bound) {
  return where(x > bound, bound, where(x < -bound, -bound, x));
}
template <class B>
Dual<B> bounded(Dual<B> x) {
  return limited(x, 100);
}
template <class B>
Dual<B> silu_derivative(Dual<B> x) {
  const Dual<B> u = limited(x, 800), s = logistic(u);
  return s * (1 + u * (1 - s));
}
template <class B>
Dual<B> over_hypot(Dual<B> x, Dual<B> z) {
  return where(equal(z, 0), 0, x) / where(equal(z, 0), 1, z);
}
template <class B>
Dual<B> over_square(Dual<B> x, Dual<B> z) {
  return x / z / z;
}
template <class B>
Dual<B> one_minus_square(Dual<B> x) {
  return 1 - x * x;
}
template <class B>
Dual<B> log_ndtr_derivative(Dual<B> x) {
  const Dual<B> near = where(x < -50, -50, x), far = where(x < -50, x, -50), r = 1 / far, w = r * r;
  return where(x < -50, -far - r * (1 - w * (2 - w * (10 - w * (74 - 706 * w)))),
               0.39894228040143267794 * exp(-0.5 * (near * near)) / ndtr(near));
}

template <class B>
Dual<B> tail_slope(Dual<B>, double factor, Dual<B> w, Dual<B>, Dual<B> rest) {
  return factor * erfcx(w) / rest;
}

template <class B>
Dual<B> log_ratio(Dual<B> x, Dual<B> y) {
  return log(x / y);
}

template <class B>
Dual<B> polygamma(Dual<B> order, Dual<B> x) {
  return on_duals(definition<"polygamma">, order, x);
}
template <VecConstant C, class B>
Dual<B> polygamma(C order, Dual<B> x) {
  return on_duals(definition<"polygamma">, Dual<B>(order), x);
}
template <class B>
Dual<B> erfcx_derivative(Dual<B> order, Dual<B> x) {
  return on_duals(definition<"erfcx_derivative">, order, x);
}
template <VecConstant C, class B>
Dual<B> erfcx_derivative(C order, Dual<B> x) {
  return on_duals(definition<"erfcx_derivative">, Dual<B>(order), x);
}

// The derivative of order N of an op by its operand k, from N nested duals.
template <int N>
struct Nest {
  using type = Dual<typename Nest<N - 1>::type>;
  static type variable(double at) { return {Nest<N - 1>::variable(at), typename Nest<N - 1>::type(1)}; }
  static double derivative(const type& a) { return Nest<N - 1>::derivative(a.t); }
};
template <>
struct Nest<0> {
  using type = Number;
  static type variable(double at) { return at; }
  static double derivative(const type& a) { return a.v; }
};

template <int N, class Definition>
double derivative(const Definition& r, std::size_t by, const std::array<double, 3>& at) {
  using D = typename Nest<N>::type;
  std::array<D, 3> in{D(at[0]), D(at[1]), D(at[2])};
  in[by] = Nest<N>::variable(at[by]);
  const auto value = [&](const auto&... x) {
    if constexpr (N == 0)
      return r.value(x...);
    else
      return on_duals(r, x...);
  };
  if constexpr (Definition::arity == 1)
    return Nest<N>::derivative(value(in[0]));
  else if constexpr (Definition::arity == 2)
    return Nest<N>::derivative(value(in[0], in[1]));
  else
    return Nest<N>::derivative(value(in[0], in[1], in[2]));
}
template <int N, class Definition>
void check_order(const Definition& r, std::size_t by, const std::array<double, 3>& at) {
  const double h = 2e-5;
  auto above = at, below = at;
  above[by] += h;
  below[by] -= h;
  const double expected = (derivative<N - 1>(r, by, above) - derivative<N - 1>(r, by, below)) / (2 * h);
  const double got = derivative<N>(r, by, at);
  if (std::isnan(derivative<0>(r, by, at))) return;  // outside the domain
  INFO(Definition::name << "(" << at[0] << ", " << at[1] << ", " << at[2] << "), order " << N << " by operand " << by
                        << ": " << got << ", finite differences " << expected);
  CHECK(std::abs(got - expected) <= 1e-4 * (1 + std::abs(expected)));
}

}  // namespace

TEST_CASE("derivatives in the table are differentiable to order 3") {
  const auto check_definition = [&]<class Definition>(const Definition& r) {
    for (std::size_t by = 0; by < Definition::arity; ++by) {
      const bool of_order = Definition::name == "polygamma" || Definition::name == "erfcx_derivative";
      if (of_order && by == 0) continue;
      for (const std::array<double, 3>& at :
           {std::array<double, 3>{0.7, 1.3, 2.1}, {-0.6, 0.45, 0.9}, {1.9, 3.3, 4.2}, {0.3, -1.7, 0.2}}) {
        auto x = at;
        if (of_order) x[0] = std::floor(std::abs(x[0]));
        if (Definition::name == "kl_div") x[0] = std::abs(x[0]), x[1] = std::abs(x[1]);
        check_order<1>(r, by, x);
        check_order<2>(r, by, x);
        check_order<3>(r, by, x);
      }
    }
  };
  std::apply([&](const auto&... r) { (check_definition(r), ...); }, table::definitions);
}

TEST_CASE("higher derivatives at smooth points where a factor vanishes or is infinite") {
  const auto& pow = definition<"power">;
  CHECK(derivative<1>(pow, 0, {0, 3, 0}) == 0);
  CHECK(derivative<2>(pow, 0, {0, 3, 0}) == 0);
  CHECK(derivative<3>(pow, 0, {0, 3, 0}) == 6);
  CHECK(derivative<4>(pow, 0, {0, 3, 0}) == 0);
  CHECK(derivative<2>(pow, 0, {0, 2, 0}) == 2);
  CHECK(derivative<3>(pow, 0, {0, 2, 0}) == 0);
  CHECK(derivative<2>(pow, 0, {0, 1, 0}) == 0);
  CHECK(derivative<2>(pow, 0, {0, 0, 0}) == 0);
  CHECK(derivative<2>(pow, 1, {0, 2, 0}) == 0);
  CHECK(derivative<3>(pow, 0, {-2, 3, 0}) == 6);
  CHECK(derivative<1>(definition<"log_ndtr">, 0, {-100, 0, 0}) == Approx(100.00999800099926).epsilon(1e-15));
  CHECK(derivative<2>(definition<"log_ndtr">, 0, {-1e4, 0, 0}) == Approx(-0.9999999900000006).epsilon(1e-14));
  CHECK(derivative<2>(definition<"log_ndtr">, 0, {40, 0, 0}) == 0);
  CHECK(derivative<3>(definition<"erfinv">, 0, {0, 0, 0}) == Approx(1.392081999207927));
  CHECK(derivative<3>(definition<"ndtri">, 0, {0.5, 0, 0}) == Approx(15.749609945722419));
  CHECK(derivative<1>(definition<"erfcx">, 0, {1e4, 0, 0}) == Approx(-5.6418957508491274e-9).epsilon(1e-14));
  CHECK(derivative<2>(definition<"abs">, 0, {0, 0, 0}) == 0);
  CHECK(derivative<2>(definition<"relu">, 0, {0, 0, 0}) == 0);
  CHECK(derivative<2>(definition<"softplus">, 0, {1000, 0, 0}) == 0);
  CHECK(derivative<3>(definition<"softplus">, 0, {-1000, 0, 0}) == 0);
  CHECK(derivative<3>(definition<"sigmoid">, 0, {1000, 0, 0}) == 0);
  CHECK(derivative<2>(definition<"silu">, 0, {-1000, 0, 0}) == 0);
  CHECK(derivative<3>(definition<"gelu">, 0, {-100, 0, 0}) == 0);
  CHECK(derivative<2>(definition<"logaddexp">, 0, {1, 1, 0}) == Approx(0.25));
  CHECK(derivative<2>(definition<"elu">, 0, {800, 1, 0}) == 0);
  CHECK(derivative<2>(definition<"elu">, 1, {800, 1, 0}) == 0);
  CHECK(derivative<2>(definition<"hypot">, 0, {0, 2, 0}) == 0.5);
  CHECK(derivative<3>(definition<"arctan2">, 0, {0, 2, 0}) == Approx(-0.25));
}
