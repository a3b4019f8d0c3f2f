// Complex numbers: values against std::complex<long double>; derivatives against closed forms and against the
// equivalent function of two real variables, in both modes and to second order. Decisions C7, C8; rules S81-S84;
// operators 3.1(7).
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/messages.hpp"

using namespace reel;
using support::Layout, support::Tensors;

namespace {

using C = std::complex<double>;
using F = std::complex<float>;
using L = std::complex<long double>;
using X = std::span<const Tensor>;

// A holomorphic row: its value, and its derivative by each operand.
struct Row {
  const char* name;
  int arity;
  Tensor (*call)(X x);
  L (*value)(const L* x);
  L (*slope[2])(const L* x);
};

// clang-format off
const Row rows[] = {
    {"add", 2, [](X x) { return x[0] + x[1]; }, [](const L* x) { return x[0] + x[1]; }, {[](const L*) { return L(1); }, [](const L*) { return L(1); }}},
    {"subtract", 2, [](X x) { return x[0] - x[1]; }, [](const L* x) { return x[0] - x[1]; }, {[](const L*) { return L(1); }, [](const L*) { return L(-1); }}},
    {"multiply", 2, [](X x) { return x[0] * x[1]; }, [](const L* x) { return x[0] * x[1]; }, {[](const L* x) { return x[1]; }, [](const L* x) { return x[0]; }}},
    {"divide", 2, [](X x) { return x[0] / x[1]; }, [](const L* x) { return x[0] / x[1]; }, {[](const L* x) { return 1.0L / x[1]; }, [](const L* x) { return -x[0] / (x[1] * x[1]); }}},
    {"power", 2, [](X x) { return power(x[0], x[1]); }, [](const L* x) { return std::pow(x[0], x[1]); },
      {[](const L* x) { return x[1] * std::pow(x[0], x[1] - 1.0L); }, [](const L* x) { return std::pow(x[0], x[1]) * std::log(x[0]); }}},
    {"negative", 1, [](X x) { return -x[0]; }, [](const L* x) { return -x[0]; }, {[](const L*) { return L(-1); }}},
    {"square", 1, [](X x) { return square(x[0]); }, [](const L* x) { return x[0] * x[0]; }, {[](const L* x) { return 2.0L * x[0]; }}},
    {"cube", 1, [](X x) { return power(x[0], 3); }, [](const L* x) { return x[0] * x[0] * x[0]; }, {[](const L* x) { return 3.0L * x[0] * x[0]; }}},
    {"reciprocal", 1, [](X x) { return reciprocal(x[0]); }, [](const L* x) { return 1.0L / x[0]; }, {[](const L* x) { return -1.0L / (x[0] * x[0]); }}},
    {"sqrt", 1, [](X x) { return sqrt(x[0]); }, [](const L* x) { return std::sqrt(x[0]); }, {[](const L* x) { return 0.5L / std::sqrt(x[0]); }}},
    {"exp", 1, [](X x) { return exp(x[0]); }, [](const L* x) { return std::exp(x[0]); }, {[](const L* x) { return std::exp(x[0]); }}},
    {"log", 1, [](X x) { return log(x[0]); }, [](const L* x) { return std::log(x[0]); }, {[](const L* x) { return 1.0L / x[0]; }}},
    {"sin", 1, [](X x) { return sin(x[0]); }, [](const L* x) { return std::sin(x[0]); }, {[](const L* x) { return std::cos(x[0]); }}},
    {"cos", 1, [](X x) { return cos(x[0]); }, [](const L* x) { return std::cos(x[0]); }, {[](const L* x) { return -std::sin(x[0]); }}},
    {"tan", 1, [](X x) { return tan(x[0]); }, [](const L* x) { return std::tan(x[0]); }, {[](const L* x) { return 1.0L / (std::cos(x[0]) * std::cos(x[0])); }}},
    {"sinh", 1, [](X x) { return sinh(x[0]); }, [](const L* x) { return std::sinh(x[0]); }, {[](const L* x) { return std::cosh(x[0]); }}},
    {"cosh", 1, [](X x) { return cosh(x[0]); }, [](const L* x) { return std::cosh(x[0]); }, {[](const L* x) { return std::sinh(x[0]); }}},
    {"tanh", 1, [](X x) { return tanh(x[0]); }, [](const L* x) { return std::tanh(x[0]); }, {[](const L* x) { return 1.0L - std::tanh(x[0]) * std::tanh(x[0]); }}},
    {"arcsin", 1, [](X x) { return arcsin(x[0]); }, [](const L* x) { return std::asin(x[0]); }, {[](const L* x) { return 1.0L / (std::sqrt(1.0L - x[0]) * std::sqrt(1.0L + x[0])); }}},
    {"arccos", 1, [](X x) { return arccos(x[0]); }, [](const L* x) { return std::acos(x[0]); }, {[](const L* x) { return -1.0L / (std::sqrt(1.0L - x[0]) * std::sqrt(1.0L + x[0])); }}},
    {"arctan", 1, [](X x) { return arctan(x[0]); }, [](const L* x) { return std::atan(x[0]); }, {[](const L* x) { return 1.0L / (1.0L + x[0] * x[0]); }}},
    {"arcsinh", 1, [](X x) { return arcsinh(x[0]); }, [](const L* x) { return std::asinh(x[0]); }, {[](const L* x) { return 1.0L / std::sqrt(1.0L + x[0] * x[0]); }}},
    {"arccosh", 1, [](X x) { return arccosh(x[0]); }, [](const L* x) { return std::acosh(x[0]); }, {[](const L* x) { return 1.0L / (std::sqrt(x[0] - 1.0L) * std::sqrt(x[0] + 1.0L)); }}},
    {"arctanh", 1, [](X x) { return arctanh(x[0]); }, [](const L* x) { return std::atanh(x[0]); }, {[](const L* x) { return 1.0L / (1.0L - x[0] * x[0]); }}},
    {"expm1", 1, [](X x) { return expm1(x[0]); }, [](const L* x) { return std::exp(x[0]) - 1.0L; }, {[](const L* x) { return std::exp(x[0]); }}},
    {"log1p", 1, [](X x) { return log1p(x[0]); }, [](const L* x) { return std::log(1.0L + x[0]); }, {[](const L* x) { return 1.0L / (1.0L + x[0]); }}},
    {"exp2", 1, [](X x) { return exp2(x[0]); }, [](const L* x) { return std::exp(x[0] * std::log(2.0L)); }, {[](const L* x) { return std::exp(x[0] * std::log(2.0L)) * std::log(2.0L); }}},
    {"log2", 1, [](X x) { return log2(x[0]); }, [](const L* x) { return std::log(x[0]) / std::log(2.0L); }, {[](const L* x) { return 1.0L / (x[0] * std::log(2.0L)); }}},
    {"log10", 1, [](X x) { return log10(x[0]); }, [](const L* x) { return std::log(x[0]) / std::log(10.0L); }, {[](const L* x) { return 1.0L / (x[0] * std::log(10.0L)); }}},
};
// clang-format on

// Ops that are not holomorphic, or convert between complex and real numbers. f takes and returns complex tensors.
struct Written {
  const char* name;
  support::Function f;
};
const Written written[] = {
    {"real", [](const Tensors& x) { return Tensors{real(x[0]) * x[0]}; }},
    {"imag", [](const Tensors& x) { return Tensors{imag(x[0]) * x[0]}; }},
    {"conj", [](const Tensors& x) { return Tensors{conj(x[0]) * x[0] * x[0]}; }},
    {"abs", [](const Tensors& x) { return Tensors{abs(x[0]) * x[0]}; }},
    {"angle", [](const Tensors& x) { return Tensors{angle(x[0]) * x[0]}; }},
    {"make_complex", [](const Tensors& x) { return Tensors{make_complex(imag(x[0]) * real(x[0]), abs(x[0]))}; }},
    {"sum", [](const Tensors& x) { return Tensors{square(sum(x[0], 0, true)) * x[0]}; }},
    {"mean", [](const Tensors& x) { return Tensors{square(mean(x[0]))}; }},
    {"cumsum", [](const Tensors& x) { return Tensors{square(cumsum(x[0], 0))}; }},
    {"where", [](const Tensors& x) { return Tensors{where(less(real(x[0]), 0.9), x[0] * x[0], conj(x[0]))}; }},
    {"norm", [](const Tensors& x) { return Tensors{norm(x[0]) * x[0]}; }},
    {"sign", [](const Tensors& x) { return Tensors{sign(x[0]) * x[0]}; }},
    {"prod", [](const Tensors& x) { return Tensors{prod(x[0], 0, true) * x[0]}; }},
    {"cumprod", [](const Tensors& x) { return Tensors{cumprod(x[0], 0)}; }},
    {"cumprod, exclusive and from the end",
     [](const Tensors& x) { return Tensors{square(cumprod(x[0], 0, true, true))}; }},
    {"var", [](const Tensors& x) { return Tensors{var(x[0], {}, 1) * x[0]}; }},
    {"std", [](const Tensors& x) { return Tensors{reel::std(x[0]) * x[0]}; }},
};

// In the right half plane, off the axes: no row has a branch cut or a pole there.
Tensor drawn(support::Random& random, const Shape& shape) {
  return make_complex(random.tensor(shape, 0.3, 1.4), random.tensor(shape, -1.2, 1.2));
}
Tensors drawn(support::Random& random, int arity, const Shape& shape) {
  Tensors x;
  for (int i = 0; i < arity; ++i) x.push_back(drawn(random, shape));
  return x;
}

// The real scalar product, in which a complex number is two real ones.
double inner(const Tensor& a, const Tensor& b) {
  double total = 0;
  const std::vector<C> p = a.to_vector<C>(), q = b.to_vector<C>();
  for (std::size_t i = 0; i < p.size(); ++i) total += std::real(std::conj(p[i]) * q.at(i));
  return total;
}
double inner(const Tensors& a, const Tensors& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += inner(a[i], b.at(i));
  return total;
}

template <class T>
void check_values(const Row& row, double tolerance) {
  support::Random random(row.name);
  Tensors x = drawn(random, row.arity, {301});
  for (Tensor& one : x) one = cast(one, dtype_of<std::complex<T>>);
  const Tensor y = row.call(x);
  REQUIRE(y.dtype() == dtype_of<std::complex<T>>);
  const auto got = y.to_vector<std::complex<T>>();
  for (std::size_t k = 0; k < got.size(); ++k) {
    L operands[2];
    for (std::size_t i = 0; i < x.size(); ++i) operands[i] = L(x[i].to_vector<std::complex<T>>()[k]);
    const L expected = row.value(operands);
    INFO(row.name << " at " << operands[0]);
    CHECK(static_cast<double>(std::abs(L(got[k]) - expected) / std::abs(expected)) <=
          tolerance * std::numeric_limits<T>::epsilon());
  }
}

// Both modes, to second order, and both against central differences of the real function of re and im.
void check_modes(const char* name, const support::Function& f, const Tensors& x, support::Random& random) {
  INFO(name);
  const Tensors y = f(x);
  Tensors v, t, s;
  for (const Tensor& one : y) v.push_back(drawn(random, one.shape()) - 1);
  for (const Tensor& one : x) t.push_back(drawn(random, one.shape()) - 1), s.push_back(drawn(random, one.shape()) - 1);
  const Tensors jt = support::push(f, x, t), vj = support::pull(f, x, v);
  for (std::size_t i = 0; i < x.size(); ++i) {
    REQUIRE(vj[i].dtype() == DType::complex128);
    REQUIRE(vj[i].shape() == x[i].shape());
  }
  CHECK(inner(v, jt) == Approx(inner(vj, t)).epsilon(1e-11).margin(1e-12));
  Tensors recorded;
  {
    GradientTape outer;
    outer.watch(x);
    recorded = support::pull(f, x, v);
  }
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(max(abs(recorded[i] - vj[i])).item() <= 1e-12);
  const support::Function g = support::gradient_of(f, v);
  const Tensors ht = support::push(g, x, t), hs = support::pull(g, x, s);
  CHECK(inner(s, ht) == Approx(inner(hs, t)).epsilon(1e-10).margin(1e-11));
  CHECK(inner(s, ht) == Approx(inner(t, support::push(g, x, s))).epsilon(1e-10).margin(1e-11));
  constexpr double h = 1e-6;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::int64_t k = 0; k < x[i].size(); ++k) {
      std::vector<C> slope = vj[i].to_vector<C>();
      const auto loss = [&](C step) {
        std::vector<C> moved = x[i].to_vector<C>();
        moved[static_cast<std::size_t>(k)] += step;
        Tensors at = x;
        at[i] = from_data(moved, x[i].shape());
        return inner(v, f(at));
      };
      const C expected((loss(h) - loss(-h)) / (2 * h), (loss(C(0, h)) - loss(C(0, -h))) / (2 * h));
      INFO("operand " << i << ", element " << k << ": " << slope[static_cast<std::size_t>(k)] << " and " << expected);
      CHECK(std::abs(slope[static_cast<std::size_t>(k)] - expected) <= 1e-7 * (1 + std::abs(expected)));
    }
}

// The gradient of f at the point z.
template <class Fn>
C gradient_at(C z, const Fn& f) {
  const Tensor x = scalar(z);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return (*tape.gradient(y, x)).template item<C>();
}

bool close(C a, C b, double tolerance = 1e-14) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

}  // namespace

TEST_CASE("complex values are those of std::complex<long double>") {
  for (const Row& row : rows) {
    check_values<double>(row, 12);
    check_values<float>(row, 4);
  }
}

TEST_CASE("complex values do not depend on the layout") {
  for (const Row& row : rows) {
    support::Random random(row.name);
    for (const Shape& shape : {Shape{3, 5}, Shape{300, 2}, Shape{}}) {
      const Tensors x = drawn(random, row.arity, shape);
      for (Layout layout : {Layout::transposed, Layout::flipped}) {
        Tensors views;
        for (const Tensor& one : x) views.push_back(laid_out(one, layout));
        INFO(row.name << " " << name(layout));
        CHECK(array_equal(row.call(views), row.call(x)));
      }
    }
  }
}

TEST_CASE("C8: the gradient of a holomorphic function is g times the conjugate derivative") {
  for (const Row& row : rows) {
    support::Random random(row.name);
    const Tensors x = drawn(random, row.arity, {9});
    const Tensor v = drawn(random, {9}) - 1;
    const Tensors g = support::pull([&](const Tensors& p) { return Tensors{row.call(p)}; }, x, {v});
    for (std::size_t k = 0; k < 9; ++k) {
      L operands[2];
      for (std::size_t i = 0; i < x.size(); ++i) operands[i] = L(x[i].to_vector<C>()[k]);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const L expected = L(v.to_vector<C>()[k]) * std::conj(row.slope[i](operands));
        INFO(row.name << ": operand " << i);
        CHECK(close(g[i].to_vector<C>()[k], C(expected), 1e-13));
      }
    }
  }
}

TEST_CASE("C8: complex rows in both modes, to second order, as functions of two real variables") {
  for (const Row& row : rows) {
    support::Random random(row.name);
    const support::Function f = [&](const Tensors& x) { return Tensors{row.call(x)}; };
    check_modes(row.name, f, drawn(random, row.arity, {5}), random);
    if (row.arity == 2) check_modes(row.name, f, {drawn(random, {2, 3}), drawn(random, {3})}, random);
  }
}

TEST_CASE("C8: real, imag, conj, abs, angle, make_complex, reductions and where in both modes, to second order") {
  for (const Written& w : written) {
    support::Random random(w.name);
    check_modes(w.name, w.f, {drawn(random, {5})}, random);
  }
}

TEST_CASE("C8: the gradient of a real function is twice its derivative by the conjugate") {
  CHECK(close(gradient_at({3, 4}, [](const Tensor& z) { return square(abs(z)); }), {6, 8}));
  CHECK(close(gradient_at({3, 4}, [](const Tensor& z) { return abs(z); }), {0.6, 0.8}));
  CHECK(close(gradient_at({1, 2}, [](const Tensor& z) { return real(z * z); }), {2, -4}));
  CHECK(close(gradient_at({1, 2}, [](const Tensor& z) { return imag(z * z); }), {4, 2}));
  CHECK(close(gradient_at({1, 2}, [](const Tensor& z) { return imag(z); }), {0, 1}));
  CHECK(close(gradient_at({1, 1}, [](const Tensor& z) { return angle(z); }), {-0.5, 0.5}));
  CHECK(close(gradient_at({1, 2}, [](const Tensor& z) { return real(z * conj(z)); }), {2, 4}));
  const Tensor z = scalar(C(7, 3));
  GradientTape tape;
  tape.watch(z);
  const Tensor y = z * z;
  CHECK((*tape.gradient(y, z, {.output_gradients = scalar(C(1, 0))})).item<C>() == C(14, -6));
}

TEST_CASE("functions of a complex number") {
  const C z(3, 4);
  CHECK(reel::abs(z).item() == 5);
  CHECK(reel::sign(z).item<C>() == C(0.6, 0.8));
  CHECK(reel::arcsin(z).item<C>() == arcsin(scalar(z)).item<C>());
}

TEST_CASE("abs and angle have gradient 0 at 0, in both modes") {
  CHECK(gradient_at({0, 0}, [](const Tensor& z) { return abs(z); }) == C(0, 0));
  CHECK(gradient_at({0, 0}, [](const Tensor& z) { return angle(z); }) == C(0, 0));
  const Tensors zero{scalar(C(0, 0))}, t{scalar(C(1, 2))};
  for (const support::Function& f : {support::Function([](const Tensors& x) { return Tensors{abs(x[0])}; }),
                                     support::Function([](const Tensors& x) { return Tensors{angle(x[0])}; })})
    CHECK(support::push(f, zero, t)[0].item() == 0);
  // No intermediate overflow or underflow.
  CHECK(gradient_at({3e300, 4e300}, [](const Tensor& z) { return abs(z); }) == C(0.6, 0.8));
  CHECK(close(gradient_at({3e-310, 4e-310}, [](const Tensor& z) { return abs(z); }), C(0.6, 0.8), 1e-10));
}

TEST_CASE("C7, S81: a complex target needs an output gradient, which must be complex (S84)") {
  const Tensor z = scalar(C(3, 4));
  GradientTape tape({.persistent = true});
  tape.watch(z);
  const Tensor y = exp(z) * z, size = abs(y);
  tape.stop();
  CHECK_THROWS_AS(tape.gradient(y, z), TypeError);
  CHECK_THROWS_AS(tape.gradient(y, z, {.output_gradients = scalar(1.0)}), TypeError);
  CHECK_THROWS_AS(tape.gradient(size, z, {.output_gradients = scalar(C(1, 0))}), TypeError);  // S83
  CHECK(tape.gradient(y, z, {.output_gradients = scalar(C(0, 1))}));
  CHECK((*tape.gradient(size, z)).dtype() == DType::complex128);  // S82
}

TEST_CASE("a real operand of a complex op gets the real part of its gradient") {
  const Tensor x = tensor({1.5, -2}), z = from_data(std::vector<C>{{1, 2}, {3, -1}}), n = arange(2);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(z);
  const Tensor y = x * z;
  CHECK(y.dtype() == DType::complex128);
  CHECK((n * z).dtype() == DType::complex128);
  CHECK((z * 2).to_vector<C>() == std::vector<C>{{2, 4}, {6, -2}});
  CHECK((tensor<float>({1, 2}) * cast(z, DType::complex64)).dtype() == DType::complex64);
  CHECK((x * cast(z, DType::complex64)).dtype() == DType::complex128);
  const Tensor v = from_data(std::vector<C>{{1, 1}, {2, -3}});
  const auto [dx, dz] = tape.gradient(y, std::tuple(x, z), {.output_gradients = v});
  CHECK((*dx).dtype() == DType::float64);
  CHECK((*dx).to_vector() == std::vector<double>{3, 9});  // Re(v conj(z))
  CHECK((*dz).to_vector<C>() == std::vector<C>{{1.5, 1.5}, {-4, 6}});
}

TEST_CASE("casts between real and complex numbers are recorded") {
  const Tensor x = tensor({1.5, -2}), z = from_data(std::vector<C>{{1, 2}, {3, -1}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(z);
  const Tensor up = cast(x, DType::complex128), down = cast(z, DType::float64), narrow = cast(z, DType::complex64);
  CHECK(down.to_vector() == std::vector<double>{1, 3});
  const Tensor v = from_data(std::vector<C>{{1, 1}, {2, -3}});
  CHECK((*tape.gradient(up, x, {.output_gradients = v})).to_vector() == std::vector<double>{1, 2});
  CHECK((*tape.gradient(sum(down * down), z)).to_vector<C>() == std::vector<C>{{2, 0}, {6, 0}});
  const Tensor g = *tape.gradient(narrow, z, {.output_gradients = cast(v, DType::complex64)});
  CHECK(g.dtype() == DType::complex128);
  CHECK(g.to_vector<C>() == v.to_vector<C>());
}

TEST_CASE("complex gradients: accumulation, stop_gradient, a step of descent") {
  const Tensor z = from_data(std::vector<C>{{1, 2}, {3, -1}});
  for (const AggregationMethod method :
       {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    GradientTape tape;
    tape.watch(z);
    const Tensor y = identity(z) * z + stop_gradient(z) * z + z;
    const Tensor g = *tape.gradient(sum(real(y)), z, {.aggregation_method = method});
    CHECK(g.to_vector<C>() == std::vector<C>{{4, -6}, {10, 3}});  // conj(3 z + 1)
  }
  CHECK(ones({1}, DType::complex64).to_vector<F>() == std::vector<F>{{1, 0}});
  CHECK(zeros_like(z).to_vector<C>() == std::vector<C>(2));
  Variable w(scalar(C(1, 1)), "w");
  GradientTape tape;
  const Tensor loss = square(abs(w - 2 * scalar(C(0, 1))));
  w.assign_sub(0.5 * *tape.gradient(loss, w));
  CHECK(w.read().item<C>() == C(0, 2));
}

TEST_CASE("sums, means, running sums and predicates of complex numbers") {
  support::Random random("sums");
  const Tensor z = drawn(random, {40, 900});
  for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}}) {
    CHECK(max(abs(real(sum(z, axes)) - sum(real(z), axes))).item() <= 1e-11);
    CHECK(max(abs(imag(sum(z, axes)) - sum(imag(z), axes))).item() <= 1e-11);
    CHECK(max(abs(imag(mean(z, axes)) - mean(imag(z), axes))).item() <= 1e-14);
  }
  for (const Tensor& x : {z, transpose(z)}) {
    CHECK(max(abs(real(cumsum(x, 0, true)) - cumsum(real(x), 0, true))).item() <= 1e-11);
    CHECK(max(abs(imag(cumsum(x, 1, false, true)) - cumsum(imag(x), 1, false, true))).item() <= 1e-11);
  }
  CHECK(sum(zeros({0}, DType::complex64)).item<F>() == F(0));
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Tensor odd = from_data(std::vector<C>{{1, NAN}, {inf, NAN}, {0, -inf}, {1, 2}});
  CHECK(isnan(odd).to_vector<bool>() == std::vector<bool>{true, true, false, false});
  CHECK(isinf(odd).to_vector<bool>() == std::vector<bool>{false, true, true, false});
  CHECK(isfinite(odd).to_vector<bool>() == std::vector<bool>{false, false, false, true});
  CHECK(not_equal(odd, odd).to_vector<bool>() == std::vector<bool>{true, true, false, false});
}

TEST_CASE("complex quotients without intermediate overflow; powers with zeros; principal branches") {
  const auto z = [](double re, double im) { return scalar(C(re, im)); };
  CHECK((z(1e300, 1e300) / z(1e300, 1e300)).item<C>() == C(1, 0));
  CHECK((z(4e-300, 2e-300) / z(2e-300, 0)).item<C>() == C(2, 1));
  CHECK(std::isinf((z(1, 0) / z(0, 0)).item<C>().real()));
  CHECK(power(z(0, 0), z(0, 0)).item<C>() == C(1, 0));
  CHECK(power(z(0, 0), z(2, 1)).item<C>() == C(0, 0));
  CHECK(std::isnan(power(z(0, 0), z(-1, 0)).item<C>().real()));
  CHECK(power(z(0, 1), 2).item<C>() == C(-1, 0));
  CHECK(power(z(1, 1), -2).item<C>() == C(0, -0.5));
  CHECK(sqrt(z(-4, 0.0)).item<C>() == C(0, 2));
  CHECK(sqrt(z(-4, -0.0)).item<C>() == C(0, -2));
  CHECK(close(log(z(-1, 0.0)).item<C>(), C(0, std::numbers::pi)));
  // The derivative of 0**y by y is 0 where that is finite.
  const Tensors g =
      support::pull([](const Tensors& x) { return Tensors{power(x[0], x[1])}; }, {z(0, 0), z(2, 1)}, {z(1, 0)});
  CHECK(g[1].item<C>() == C(0, 0));
  CHECK(abs(z(3e200, 4e200)).item() == Approx(5e200));
}

TEST_CASE("C8: a forward accumulator carries complex tangents, without a conjugate") {
  const Tensor z = from_data(std::vector<C>{{1, 2}, {3, -1}}), t = from_data(std::vector<C>{{0, 1}, {2, 1}});
  ForwardAccumulator accumulator(z, t);
  const Tensor y = z * z;
  CHECK((*accumulator.jvp(y)).to_vector<C>() == (2 * z * t).to_vector<C>());
  CHECK((*accumulator.jvp(abs(y))).dtype() == DType::float64);
}

TEST_CASE("complex gradients through gather, slice, concatenate, transpose and diagonals") {
  support::Random random("moves");
  const support::Function f = [](const Tensors& x) {
    const Tensor some = gather(x[0], tensor<int>({2, 0, 2})), columns = slice(transpose(x[0]), {range(0, 3)});
    return Tensors{square(concatenate({some, columns})) * sum(diagonal(x[0]))};
  };
  check_modes("moves", f, {drawn(random, {3, 3})}, random);
}

TEST_CASE("real, imag, conj and angle of real numbers") {
  const Tensor x = tensor({2., -3., 0.}), n = arange(3);
  CHECK(array_equal(real(x), x));
  CHECK(array_equal(conj(x), x));
  CHECK(array_equal(imag(x), zeros({3})));
  CHECK(angle(x).to_vector() == std::vector<double>{0, std::numbers::pi, 0});
  CHECK(angle(n).dtype() == DType::float64);
  CHECK(real(n).dtype() == DType::int64);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK(array_equal(*tape.gradient(real(x), x), ones({3})));
  CHECK(array_equal(*tape.gradient(imag(x), x), zeros({3})));
  CHECK(array_equal(*tape.gradient(angle(x), x), zeros({3})));
  CHECK(make_complex(1, tensor<float>({2})).dtype() == DType::complex64);
  CHECK(make_complex(cast(x, DType::bfloat16), 1).dtype() == DType::complex64);
  CHECK(make_complex(n, n).dtype() == DType::complex128);
}

TEST_CASE("errors of ops without a complex form name an alternative") {
  const Tensor z = from_data(std::vector<C>{{1, 2}, {3, -1}});
  CHECK_THROWS_WITH(maximum(z, 1),
                    support::says("maximum: is not defined for complex128; take real(x), imag(x) or abs(x) first"));
  CHECK_THROWS_WITH(less(z, 1), support::says("less: complex128 has no order; compare real(x), or abs(x)"));
  using Call = Tensor (*)(const Tensor& z);
  for (const Call call :
       {Call([](const Tensor& x) { return floor(x); }), Call([](const Tensor& x) { return max(x); }),
        Call([](const Tensor& x) { return softmax(x); }), Call([](const Tensor& x) { return logsumexp(x); }),
        Call([](const Tensor& x) { return argmax(x, 0); }), Call([](const Tensor& x) { return relu(x); }),
        Call([](const Tensor& x) { return erf(x); }), Call([](const Tensor& x) { return make_complex(x, 1); })})
    CHECK_THROWS_AS(call(z), TypeError);
}

TEST_CASE("angle of a real number has the dtype of its operand") {
  for (const DType d : {DType::float16, DType::float32, DType::float64}) {
    const Tensor x = cast(tensor({-1.0, 1.0}), d);
    CHECK(angle(x).dtype() == d);
    CHECK(jvp([](const Tensor& t) { return angle(t); }, x, ones_like(x)).second.dtype() == d);
  }
}

TEST_CASE("make_complex: the tangent of one part alone has the shape of the result") {
  const Tensor small = scalar(0.5), large = tensor({1, 2, 3});
  for (const bool first : {true, false}) {
    const auto f = [&](const Tensor& x) { return first ? make_complex(x, large) : make_complex(large, x); };
    const auto [z, t] = jvp(f, small, scalar(2.0));
    CHECK(t.shape() == z.shape());
    for (const C each : t.to_vector<C>()) CHECK(each == (first ? C(2, 0) : C(0, 2)));
  }
}

TEST_CASE("norm, var and std of complex numbers: second derivatives where an element or a part is 0") {
  const auto number = [](const Tensor& parts) {
    return make_complex(slice(parts, {range(0, 2)}), slice(parts, {range_from(2)}));
  };
  const auto of_norm = [&](const Tensor& v) { return norm(number(v)); };
  const auto root = [](const Tensor& v) { return sqrt(sum(v * v)); };
  const auto of_std = [&](const Tensor& v) { return reel::std(number(v)); };
  const auto deviation = [](const Tensor& v) {
    const Tensor re = slice(v, {range(0, 2)}), im = slice(v, {range_from(2)});
    return sqrt(mean(square(re - mean(re)) + square(im - mean(im))));
  };
  for (const Tensor& x : {tensor({3, 0, 0, 4}), tensor({3, 0, 4, 0}), tensor({1, 2, 5, 5})}) {
    CHECK(max(abs(hessian(of_norm)(x) - hessian(root)(x))).item() <= 1e-15);
    CHECK(max(abs(hessian(of_std)(x) - hessian(deviation)(x))).item() <= 1e-15);
  }
  CHECK(reel::std(make_complex(ones({2}), ones({2}))).item() == 0);
  CHECK(norm(make_complex(ones({2, 3}), ones({2, 3})), 2, 1, true).shape() == Shape{2, 1});
  CHECK(norm(zeros({2, 0}, DType::complex64), 2, 1).to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("angle: derivatives of every order are zero at the origin") {
  const auto f = [](const Tensor& x) { return angle(make_complex(x[0], x[1])); };
  const AnomalyGuard nothing_on_the_way_is_infinite;
  CHECK(grad(f)(zeros({2})).to_vector() == std::vector<double>{0, 0});
  CHECK(hessian(f)(zeros({2})).to_vector() == std::vector<double>{0, 0, 0, 0});
}
