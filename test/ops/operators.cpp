// Operators and call syntax: x(i, j), &&, ||, !, %, pow, complex numbers as operands, and names that do not
// collide.
#include <cmath>
#include <complex>
#include <limits>
#include <optional>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

// With the using-directive above this does not compile where the headers declare a namespace reel::tape.
static int tape = 0;

namespace {

using Values = std::vector<double>;

template <class X, class Y>
concept Both = requires(X x, Y y) {
  x&& y;
};
template <class X, class Y>
concept Either = requires(X x, Y y) {
  x || y;
};
template <class X>
concept Not = requires(X x) {
  !x;
};
static_assert(!Both<Tensor, Tensor> && !Both<Tensor, Variable> && !Both<Variable, Tensor> && !Both<Variable, Variable>);
static_assert(!Either<Tensor, Tensor> && !Either<const Tensor&, Tensor&&> && !Either<Variable&, Tensor>);
static_assert(!Not<Tensor> && !Not<const Tensor&> && !Not<Variable>);
// Exactly those: what converts to bool, or to a tensor, goes on.
static_assert(Both<bool, Tensor> && Both<Tensor, bool> && Either<bool, Tensor> && Both<Gradient, Gradient>);
static_assert(Not<Gradient> && Not<std::optional<Tensor>> && Not<Tensor*> && Both<std::optional<Tensor>, bool>);

Tensor matrix() { return tensor({{1, 2, 3}, {4, 5, 6}}); }

}  // namespace

TEST_CASE("x(i, j) is a slice") {
  const Tensor x = matrix();
  CHECK(x(0, 1).item() == 2);
  CHECK(x(-1, -1).item() == 6);
  CHECK(x(1).to_vector() == x[1].to_vector());
  CHECK(x(all, 2).to_vector() == Values{3, 6});
  CHECK(x(0, range(0, 2)).to_vector() == Values{1, 2});
  CHECK(x(newaxis, 0, ellipsis).shape() == Shape{1, 3});
  CHECK(x(ellipsis, std::size_t{1}).to_vector() == slice(x, {ellipsis, 1}).to_vector());
  const Variable v(x);
  CHECK(v(1, 2).item() == 6);
  CHECK_THROWS_AS(x(0, 3), IndexError);
  CHECK_THROWS_AS(x(0, 0, 0), IndexError);
  CHECK_THROWS_WITH(x(0, 3), Contains("operators.cpp:"));
  CHECK_THROWS_WITH(x[2], Contains("operators.cpp:"));
  CHECK(grad([](const Tensor& t) { return t(1, 0) * t(0, 2); })(x).to_vector() == Values{0, 0, 4, 3, 0, 0});
}

TEST_CASE("% and pow") {
  const Tensor x = tensor({5.5, -5.5});
  CHECK((x % 2.0).to_vector() == mod(x, 2.0).to_vector());
  CHECK((7.0 % x).to_vector() == mod(7.0, x).to_vector());
  Tensor y = tensor<int>({7, -7});
  y %= 4;
  CHECK(y.to_vector<int>() == std::vector{3, 1});
  CHECK_THROWS_AS(y % 0, ValueError);
  CHECK(pow(x, 2).to_vector() == square(x).to_vector());
  CHECK(pow(Variable(x), 2.0).to_vector() == square(x).to_vector());
  CHECK(grad([](const Tensor& t) { return sum(pow(t, 3)); })(tensor({2})).to_vector() == Values{12});
  CHECK(elementwise([](auto a) { return pow(a, 2) + a % 2.0; }, x).to_vector() ==
        (square(x) + mod(x, 2.0)).to_vector());
}

TEST_CASE("a complex number is a weak scalar") {
  const std::complex<double> i(0, 1);
  const Tensor x = tensor({1, 2});
  const Tensor z = x * i;
  CHECK(z.dtype() == DType::complex128);
  CHECK(imag(z).to_vector() == Values{1, 2});
  CHECK(real(z).to_vector() == Values{0, 0});
  CHECK((i * x).dtype() == DType::complex128);
  CHECK((x + std::complex<float>(1, 2)).dtype() == DType::complex128);
  CHECK((x - complex128(0, 1)).dtype() == DType::complex128);
  CHECK((cast(x, DType::float32) * i).dtype() == DType::complex64);
  CHECK((cast(x, DType::float16) * i).dtype() == DType::complex64);
  CHECK((cast(x, DType::bfloat16) * i).dtype() == DType::complex64);
  CHECK((tensor<int>({1}) * std::complex<float>(0, 1)).dtype() == DType::complex128);
  CHECK((cast(z, DType::complex64) * i).dtype() == DType::complex64);
  CHECK((Variable(x) * i).dtype() == DType::complex128);
  CHECK(where(x > 1.0, x, i).dtype() == DType::complex128);
  CHECK_THROWS_AS(maximum(x, i), TypeError);
  // d/dx of |(x i + 1)|^2 = 2 x.
  const auto f = [i](const Tensor& t) { return sum(square(abs(t * i + 1.0))); };
  const Values g = grad(f)(x).to_vector();
  CHECK(g[0] == Approx(2));
  CHECK(g[1] == Approx(4));
}

TEST_CASE("a complex number is refused where a real dtype is asked for") {
  const std::complex<double> z(1, 2);
  CHECK_THROWS_AS(full({2}, z, DType::float32), TypeError);
  CHECK_THROWS_AS(cast(z, DType::int32), TypeError);
  CHECK(full({1}, z).item<std::complex<double>>() == z);
  CHECK(full({1}, z, DType::complex64).item<std::complex<float>>() == std::complex<float>(1, 2));
}

TEST_CASE("op names stay unambiguous after including elementwise.hpp") {
  CHECK(grad(reel::sin)(0.0).item() == 1);
  CHECK(grad(reel::exp)(0.0).item() == 1);
  CHECK(grad(reel::square)(3.0).item() == 6);
  CHECK(value_and_grad(reel::relu)(2.0).second.item() == 1);
  Tensor (*const f)(const Operand&) = reel::tanh;
  CHECK(f(0.0).item() == 0);
  CHECK(elementwise([](auto x) { return sin(x) * where(x > 0.0, 1.0, -1.0); }, tensor({0})).item() == 0);
  CHECK(tape == 0);
}

TEST_CASE("an item of a slice between brackets, an index beside it") {
  const Tensor x = tensor({1., 2., 3., 4.});
  CHECK(array_equal(x[range(0, 3)], x(range(0, 3))));
  CHECK(array_equal(x[range_from(-2)], tensor({3., 4.})));
  CHECK(x[newaxis].shape() == Shape({1, 4}));
  CHECK((x[1].item() == 2 && x[1U].item() == 2 && x[std::int64_t(-1)].item() == 4));
}

TEST_CASE("tensor() takes ranges of numbers") {
  CHECK(array_equal(tensor(std::vector<double>{1, 2}), tensor({1., 2.})));
  CHECK(tensor(std::vector<float>{1, 2}).dtype() == DType::float32);
  CHECK(tensor<float>(std::vector<float>{1, 2}).dtype() == DType::float32);
  CHECK(tensor(std::vector<double>()).shape() == Shape({0}));
  CHECK(tensor(3.0).rank() == 0);
}

TEST_CASE("allclose compares as NumPy does") {
  const double nan = std::nan(""), inf = HUGE_VAL;
  CHECK(allclose(tensor({1., 1e10}), tensor({1.000009, 1.00001e10})));
  CHECK_FALSE(allclose(tensor({1., 1e10}), tensor({1.00002, 1e10})));
  // The tolerance is relative to y.
  CHECK(allclose(0.89, 1., {.rtol = 0.11, .atol = 0}));
  CHECK_FALSE(allclose(1., 0.89, {.rtol = 0.11, .atol = 0}));
  CHECK((allclose(0., 1e-8) && !allclose(0., 1.01e-8)));
  CHECK(allclose(tensor({inf, -inf}), tensor({inf, -inf})));
  CHECK_FALSE(allclose(inf, -inf));
  CHECK_FALSE(allclose(tensor({1., 2.}), inf));
  CHECK_FALSE(allclose(nan, nan));
  CHECK(allclose(tensor({nan, 1.}), tensor({nan, 1.}), {.equal_nan = true}));
  CHECK_FALSE(allclose(tensor({nan}), tensor({1.}), {.equal_nan = true}));
  CHECK((allclose(ones({2, 3}), 1) && allclose(zeros({0}), 1.)));
  CHECK(allclose(tensor<std::int64_t>({std::numeric_limits<std::int64_t>::min()}), -0x1p63));
  CHECK(allclose(std::complex<double>(1, 1e-9), 1.));
  CHECK_FALSE(allclose(std::complex<double>(1, 1), 1.));
  CHECK_THROWS_AS(allclose(ones({2}), ones({3})), ShapeError);
  CHECK_THROWS_WITH(allclose(1., 1., {.rtol = -1}), Contains("allclose: rtol is -1"));
  CHECK_THROWS_AS(allclose(1., 1., {.atol = nan}), ValueError);
}
