// Complex forms of pointwise ops on both sides of their branch cuts, where numbers are small or large, and where they
// cancel. What holds for all complex ops is in test/ops/complex.cpp.
#include <cmath>
#include <complex>
#include <limits>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using C = std::complex<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

// Values of Python's cmath, which has an implementation of its own; NumPy has the same cuts.
struct Side {
  const char* name;
  Tensor (*call)(const Tensor& z);
  C z, value;
};
// clang-format off
const Side sides[] = {
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {2.0, 0.0}, {1.5707963267948966, 1.3169578969248166}},
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {2.0, -0.0}, {1.5707963267948966, -1.3169578969248166}},
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {-2.0, 0.0}, {-1.5707963267948966, 1.3169578969248166}},
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {-2.0, -0.0}, {-1.5707963267948966, -1.3169578969248166}},
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {0.5, 0.0}, {0.5235987755982989, 0.0}},
    {"arcsin", [](const Tensor& z) { return reel::arcsin(z); }, {0.5, -0.0}, {0.5235987755982989, -0.0}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {2.0, 0.0}, {0.0, -1.3169578969248166}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {2.0, -0.0}, {0.0, 1.3169578969248166}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {-2.0, 0.0}, {3.141592653589793, -1.3169578969248166}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {-2.0, -0.0}, {3.141592653589793, 1.3169578969248166}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {0.5, 0.0}, {1.0471975511965979, -0.0}},
    {"arccos", [](const Tensor& z) { return reel::arccos(z); }, {0.5, -0.0}, {1.0471975511965979, 0.0}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {2.0, 0.0}, {0.5493061443340549, 1.5707963267948966}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {2.0, -0.0}, {0.5493061443340549, -1.5707963267948966}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {-2.0, 0.0}, {-0.5493061443340549, 1.5707963267948966}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {-2.0, -0.0}, {-0.5493061443340549, -1.5707963267948966}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {0.5, 0.0}, {0.5493061443340549, 0.0}},
    {"arctanh", [](const Tensor& z) { return reel::arctanh(z); }, {0.5, -0.0}, {0.5493061443340549, -0.0}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {0.0, 2.0}, {1.5707963267948966, 0.5493061443340549}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {-0.0, 2.0}, {-1.5707963267948966, 0.5493061443340549}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {0.0, -2.0}, {1.5707963267948966, -0.5493061443340549}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {-0.0, -2.0}, {-1.5707963267948966, -0.5493061443340549}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {0.0, 0.5}, {0.0, 0.5493061443340549}},
    {"arctan", [](const Tensor& z) { return reel::arctan(z); }, {-0.0, 0.5}, {-0.0, 0.5493061443340549}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {0.0, 2.0}, {1.3169578969248166, 1.5707963267948966}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {-0.0, 2.0}, {-1.3169578969248166, 1.5707963267948966}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {0.0, -2.0}, {1.3169578969248166, -1.5707963267948966}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {-0.0, -2.0}, {-1.3169578969248166, -1.5707963267948966}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {0.0, 0.5}, {0.0, 0.5235987755982989}},
    {"arcsinh", [](const Tensor& z) { return reel::arcsinh(z); }, {-0.0, 0.5}, {-0.0, 0.5235987755982989}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {0.5, 0.0}, {0.0, 1.0471975511965979}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {0.5, -0.0}, {0.0, -1.0471975511965979}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {-2.0, 0.0}, {1.3169578969248166, 3.141592653589793}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {-2.0, -0.0}, {1.3169578969248166, -3.141592653589793}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {2.0, 0.0}, {1.3169578969248166, 0.0}},
    {"arccosh", [](const Tensor& z) { return reel::arccosh(z); }, {2.0, -0.0}, {1.3169578969248166, -0.0}},
    {"log2", [](const Tensor& z) { return reel::log2(z); }, {-2.0, 0.0}, {1.0, 4.532360141827194}},
    {"log2", [](const Tensor& z) { return reel::log2(z); }, {-2.0, -0.0}, {1.0, -4.532360141827194}},
    {"log2", [](const Tensor& z) { return reel::log2(z); }, {8.0, 0.0}, {3.0, 0.0}},
    {"log10", [](const Tensor& z) { return reel::log10(z); }, {-2.0, 0.0}, {0.30102999566398114, 1.3643763538418412}},
    {"log10", [](const Tensor& z) { return reel::log10(z); }, {-2.0, -0.0}, {0.30102999566398114, -1.3643763538418412}},
    {"log10", [](const Tensor& z) { return reel::log10(z); }, {100.0, -0.0}, {2.0, -0.0}},
    {"log1p", [](const Tensor& z) { return reel::log1p(z); }, {-3.0, 0.0}, {0.6931471805599453, 3.141592653589793}},
    {"log1p", [](const Tensor& z) { return reel::log1p(z); }, {-3.0, -0.0}, {0.6931471805599453, -3.141592653589793}},
};
// clang-format on

bool same(double a, double b, double tolerance) {
  return std::signbit(a) == std::signbit(b) && std::abs(a - b) <= tolerance * std::abs(b);
}
C at(Tensor (*f)(const Tensor& z), C z) { return f(scalar(z)).item<C>(); }
C slope_at(Tensor (*f)(const Tensor& z), C z) {
  const Tensor x = scalar(z);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return std::conj((*tape.gradient(y, x, {.output_gradients = scalar(C(1, 0))})).item<C>());
}
Tensor log1p_of(const Tensor& z) { return log1p(z); }
Tensor expm1_of(const Tensor& z) { return expm1(z); }
Tensor sign_of(const Tensor& z) { return sign(z); }

}  // namespace

TEST_CASE("the sign of a zero chooses the side of a branch cut") {
  for (const Side& side : sides) {
    INFO(side.name << " at " << side.z);
    const C got = at(side.call, side.z);
    INFO("gave " << got << ", not " << side.value);
    CHECK(same(got.real(), side.value.real(), 4e-16));
    CHECK(same(got.imag(), side.value.imag(), 4e-16));
    const auto narrow = side.call(scalar(std::complex<float>(side.z))).item<std::complex<float>>();
    CHECK(std::abs(C(narrow) - side.value) <= 2e-7 * std::abs(side.value));
    CHECK(std::signbit(narrow.imag()) == std::signbit(side.value.imag()));
  }
}

TEST_CASE("derivatives on either side of a branch cut") {
  for (const Side& side : sides) {
    INFO(side.name << " at " << side.z);
    // Derivatives along the cut, on the same side.
    const bool upright = side.z.real() == 0;
    const double h = 1e-5;
    const auto moved = [&](double by) {
      return upright ? C(side.z.real(), side.z.imag() + by) : C(side.z.real() + by, side.z.imag());
    };
    C expected = (at(side.call, moved(h)) - at(side.call, moved(-h))) / (2 * h);
    if (upright) expected /= C(0, 1);
    const C got = slope_at(side.call, side.z);
    INFO("gave " << got << ", not " << expected);
    CHECK(std::abs(got - expected) <= 1e-8 * std::abs(expected));
  }
}

TEST_CASE("complex log1p and expm1 are accurate near 0 and where |1 + z| is 1") {
  using L = std::complex<long double>;
  for (const C z : {C(1e-10, 1e-12), C(-1e-9, 3e-9), C(1e-300, -1e-200), C(-0.5, 1e-8), C(-0.9, 1e-3)}) {
    INFO(z);
    const long double x = z.real(), y = z.imag();
    const L log(0.5L * std::log1p(2 * x + x * x + y * y), std::atan2(y, 1 + x));
    const C got = at(log1p_of, z);
    CHECK(std::abs(got.real() - static_cast<double>(log.real())) <= 4e-16 * std::abs(got.real()));
    CHECK(std::abs(got.imag() - static_cast<double>(log.imag())) <= 4e-16 * std::abs(got.imag()));
    const long double s = std::sin(y / 2);
    const L exp(std::expm1(x) * std::cos(y) - 2 * s * s, std::exp(x) * std::sin(y));
    CHECK(std::abs(L(at(expm1_of, z)) - exp) <= 4e-16L * std::abs(exp));
  }
  // On the circle |1 + z| = 1 all but the last digits of x^2 + y^2 + 2 x cancel. With 25 bits of x and 30 of y the sum
  // is exact in a long double of 64 bits, and not in a double.
  const auto rounded = [](double v) { return std::round(v * 0x1p30) * 0x1p-30; };
  for (const C z : {C(-0.4F, rounded(0.8)), C(-1.6F, rounded(0.8)), C(-0.02F, rounded(0.198997487))}) {
    INFO(z);
    const long double x = z.real(), y = z.imag();
    const double got = at(log1p_of, z).real(), expected = static_cast<double>(0.5L * std::log1p(x * x + y * y + 2 * x));
    CHECK(std::abs(got - expected) <= 4e-16 * std::abs(expected));
  }
  CHECK(at(log1p_of, {1e300, 1e300}).real() == Approx(std::log(1e300) + 0.5 * std::log(2.)).epsilon(1e-15));
  CHECK(at(log1p_of, {-1 + 0x1p-30, 0x1p-30}).real() == Approx(std::log(0x1p-30) + 0.5 * std::log(2.)).epsilon(1e-15));
  CHECK(at(log1p_of, {-1, 0}) == C(-inf, 0));
  CHECK(at(expm1_of, {inf, 0}) == C(inf, 0));
  CHECK(at(expm1_of, {-inf, 1}).real() == Approx(-1));
}

TEST_CASE("the sign of a complex number is z / |z|, and 0 at 0") {
  CHECK(at(sign_of, {3, -4}) == C(0.6, -0.8));
  CHECK(std::abs(at(sign_of, {3e300, 4e300}) - C(0.6, 0.8)) <= 1e-15);
  CHECK(std::abs(at(sign_of, {3e-300, 4e-300}) - C(0.6, 0.8)) <= 1e-15);
  CHECK(at(sign_of, {0, 0}) == C(0, 0));
  CHECK(slope_at(sign_of, {0, 0}) == C(0, 0));
  CHECK(sign(zeros({2}, DType::complex64)).dtype() == DType::complex64);
}

TEST_CASE("prod, var and std of complex numbers") {
  const Tensor z = from_data(std::vector<C>{{1, 2}, {0, 0}, {3, -1}, {0.5, 1}, {2, 0}, {-1, 1}}, {2, 3});
  const auto list = [](const Tensor& x) { return x.to_vector<C>(); };
  CHECK(list(prod(z, 1)) == std::vector<C>{{0, 0}, C(0.5, 1) * C(2, 0) * C(-1, 1)});
  CHECK(prod(z, 0, true).shape() == Shape{1, 3});
  CHECK(list(cumprod(slice(z, {1}), 0)) == std::vector<C>{{0.5, 1}, {1, 2}, {-3, -1}});
  CHECK(list(cumprod(slice(z, {1}), 0, true, true)) == std::vector<C>{{-2, 2}, {-1, 1}, {1, 0}});
  CHECK(prod(zeros({0}, DType::complex64)).item<std::complex<float>>() == std::complex<float>(1));
  CHECK(prod(zeros({2, 0}, DType::complex128), 1).shape() == Shape{2});
  // With a zero among the factors the gradient is the product of the others.
  GradientTape tape;
  tape.watch(z);
  const Tensor p = prod(slice(z, {0}));
  const Tensor g = *tape.gradient(real(p), z);
  CHECK(list(slice(g, {0})) == std::vector<C>{{0, 0}, std::conj(C(1, 2) * C(3, -1)), {0, 0}});
  double expected = 0;
  const C centre = mean(z).item<C>();
  for (const C v : list(z)) expected += std::norm(v - centre);
  CHECK(var(z).dtype() == DType::float64);
  CHECK(var(z).item() == Approx(expected / 6).epsilon(1e-14));
  CHECK(var(z, {}, 1).item() == Approx(expected / 5).epsilon(1e-14));
  CHECK(reel::std(z).item() == Approx(std::sqrt(expected / 6)).epsilon(1e-14));
  CHECK(reel::std(cast(z, DType::complex64)).dtype() == DType::float32);
}

TEST_CASE("ops without a complex form refuse complex operands") {
  const Tensor z = ones({2}, DType::complex128);
  CHECK_THROWS_WITH(cbrt(z), Contains("cbrt: is not defined for complex128"));
  CHECK_THROWS_AS(floor(z), TypeError);
}
