// Properties of bits, mantissas and exponents, polar forms and gates that the op table does not test: every dtype, the
// ends of the ranges, errors.
#include <cmath>
#include <complex>
#include <limits>
#include <reel/compile.hpp>
#include <reel/ops/parts.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr double inf = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();

Ints list(const Tensor& x) { return cast(x, DType::int64).to_vector<std::int64_t>(); }

// Every count from below 0 to above the bits.
template <class T>
void check_shifts() {
  constexpr int bits = 8 * sizeof(T);
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (const T x : {T{0}, T{1}, T{77}, low, high, static_cast<T>(low + 1), static_cast<T>(-5)})
    for (int n = -2; n <= bits + 2; ++n) {
      const Tensor one = from_data(std::vector<T>{x}), count = from_data(std::vector<T>{static_cast<T>(n)});
      INFO(name(dtype_of<T>) << ": " << static_cast<std::int64_t>(x) << " by " << n);
      const bool inside = n >= 0 && n < bits;
      T left = inside ? x : T{0};
      for (int k = 0; inside && k < n; ++k) left = static_cast<T>(static_cast<std::uint64_t>(left) * 2);
      T right = inside ? x : static_cast<T>(x < T{0} ? -1 : 0);
      for (int k = 0; inside && k < n; ++k)
        right = static_cast<T>(right < T{0} && right % 2 != 0 ? right / 2 - 1 : right / 2);
      CHECK(left_shift(one, count).to_vector<T>()[0] == left);
      CHECK(right_shift(one, count).to_vector<T>()[0] == right);
    }
}

}  // namespace

TEST_CASE("bitwise ops of every integer dtype and of booleans") {
  const Tensor x = tensor<std::int64_t>({0b1100, -1, 7}), y = tensor<std::int64_t>({0b1010, 6, -8});
  for (const DType d : {DType::int32, DType::int64}) {
    const Tensor a = cast(x, d), b = cast(y, d);
    CHECK(bitwise_and(a, b).dtype() == d);
    CHECK(list(bitwise_and(a, b)) == Ints{0b1000, 6, 0});
    CHECK(list(bitwise_or(a, b)) == Ints{0b1110, -1, -1});
    CHECK(list(bitwise_xor(a, b)) == Ints{0b0110, -7, -1});
    CHECK(list(bitwise_not(a)) == Ints{-13, 0, -8});
  }
  const Tensor u = tensor<std::uint8_t>({0, 200, 255});
  CHECK(list(bitwise_not(u)) == Ints{255, 55, 0});
  CHECK(list(bitwise_and(u, 15)) == Ints{0, 8, 15});
  CHECK(bitwise_and(u, 15).dtype() == DType::uint8);
  CHECK(bitwise_or(u, x).dtype() == DType::int64);
  const Tensor p = tensor<bool>({true, true, false, false}), q = tensor<bool>({true, false, true, false});
  CHECK(bitwise_not(p).dtype() == DType::boolean);
  CHECK(array_equal(bitwise_not(p), logical_not(p)));
  CHECK(array_equal(bitwise_and(p, q), logical_and(p, q)));
  CHECK(array_equal(bitwise_or(p, q), logical_or(p, q)));
  CHECK(array_equal(bitwise_xor(p, q), logical_xor(p, q)));
  CHECK_THROWS_WITH(bitwise_and(x, 1.5), Contains("bitwise_and: operands must be integers or booleans, not float64"));
  CHECK_THROWS_AS(bitwise_not(tensor({1.0})), TypeError);
  CHECK(list(left_shift(p, 1)) == Ints{2, 2, 0, 0});  // of integers, as the number is one
  CHECK_THROWS_WITH(left_shift(p, q), Contains("not boolean"));
}

TEST_CASE("shifts by counts in and out of range") {
  check_shifts<std::uint8_t>();
  check_shifts<std::int32_t>();
  check_shifts<std::int64_t>();
  CHECK(list(left_shift(tensor<int>({1, 2}), reshape(tensor<int>({0, 31}), {2, 1}))) ==
        Ints{1, 2, std::numeric_limits<int>::min(), 0});
}

TEST_CASE("frexp and ldexp are exact at the ends of the range") {
  constexpr double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  const Tensor x = tensor({0.0, -0.0, 1.0, -0.75, 3.0, least, -most, inf, -inf, no_number});
  const Frexp f = reel::frexp(x);
  CHECK(f.exponent.dtype() == DType::int32);
  CHECK(list(f.exponent) == Ints{0, 0, 1, 0, 2, -1073, 1024, 0, 0, 0});
  CHECK(support::same_bits(f.mantissa,
                           tensor({0.0, -0.0, 0.5, -0.75, 0.75, 0.5, -most / 0x1p1023 / 2, inf, -inf, no_number})));
  CHECK(support::same_bits(reel::ldexp(f.mantissa, f.exponent), x));
  CHECK(list(reel::frexp(tensor<float>({1e-45F, 3.4e38F})).exponent) == Ints{-148, 128});
  CHECK(reel::ldexp(tensor({1.0, 3.0, -5.0}), tensor<std::int64_t>({-1074, -1075, 100000})).to_vector() ==
        std::vector<double>{least, 2 * least, -inf});
  CHECK(reel::ldexp(1.0, std::numeric_limits<std::int64_t>::min()).item() == 0);
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    CHECK(reel::frexp(cast(x, d)).mantissa.dtype() == d);
    CHECK(reel::ldexp(ones({2}, d), tensor<std::uint8_t>({3, 0})).dtype() == d);
    CHECK(cast(reel::ldexp(ones({2}, d), tensor<std::uint8_t>({3, 0})), DType::float64).to_vector() ==
          std::vector<double>{8, 1});
  }
  CHECK(reel::frexp(tensor<int>({6})).mantissa.dtype() == DType::float64);
  CHECK_THROWS_WITH(reel::ldexp(1.0, tensor({2.0})), Contains("ldexp: n must be integers, not float64"));
  CHECK_THROWS_AS(reel::frexp(ones({1}, DType::complex64)), TypeError);
}

TEST_CASE("frexp: the mantissa has the gradient of a scaling, the exponent has none") {
  const Tensor x = tensor({3.0, -0.1, 0.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Frexp f = reel::frexp(x);
  const Tensor y = reel::ldexp(x, 3);
  CHECK((*tape.gradient(sum(f.mantissa), x)).to_vector() == std::vector<double>{0.25, 8, 1});
  CHECK((*tape.gradient(sum(y), x)).to_vector() == std::vector<double>{8, 8, 8});
  CHECK(!tape.gradient(f.exponent, x));
  const Tensor rows = reel::ldexp(x, tensor<int>({{0, 1, 2}, {3, 4, 5}}));
  CHECK(array_equal(*tape.gradient(sum(rows), x), tensor({9.0, 18.0, 36.0})));
}

TEST_CASE("polar: dtypes, and gradient 0 of the angle at radius 0") {
  using C = std::complex<double>;
  CHECK(polar(ones({2}, DType::float32), 0).dtype() == DType::complex64);
  CHECK(polar(ones({2}, DType::bfloat16), 0).dtype() == DType::complex64);
  CHECK(polar(tensor<int>({2}), 0.0).dtype() == DType::complex128);
  const C z = polar(2.0, 0.7).item<C>();
  CHECK(std::abs(z - std::polar(2.0, 0.7)) <= 1e-15);
  const Tensor r = scalar(0.0), a = scalar(0.7);
  GradientTape tape;
  tape.watch(r);
  tape.watch(a);
  const Tensor w = polar(r, a);
  const auto [dr, da] = tape.gradient(real(w) + imag(w), std::tuple(r, a));
  CHECK((*dr).item() == Approx(std::cos(0.7) + std::sin(0.7)));
  CHECK((*da).item() == 0);
  CHECK_THROWS_WITH(polar(w, 1.0), Contains("polar: an operand is complex128; both must be real"));
  CHECK_THROWS_WITH(polar(ones({2}), ones({3})), Contains("polar: shapes [2] and [3]"));
}

TEST_CASE("as_real and as_complex: every dtype and any strides") {
  using C = std::complex<double>;
  const Tensor z = from_data(std::vector<C>{{1, -2}, {3, 0.5}, {-0.0, 7}, {4, -0.0}, {5, 6}, {8, 9}}, {2, 3});
  const std::vector<double> numbers = as_real(z).to_vector();
  CHECK(as_real(z).shape() == Shape{2, 3, 2});
  CHECK(numbers == std::vector<double>{1, -2, 3, 0.5, 0, 7, 4, 0, 5, 6, 8, 9});
  CHECK((std::signbit(numbers[4]) && std::signbit(numbers[7])));
  for (const Tensor& view : {z, transpose(z), flip(z), z(all, range(0, 3, 2)), broadcast_to(z[0], {2, 3}), z[1],
                             z(0, 1), slice(z, {range(0, 0)})}) {
    const Tensor pairs = as_real(view);
    CHECK(support::same_bits(pairs, stack({real(view), imag(view)}, -1)));
    CHECK(support::same_bits(as_complex(pairs), contiguous(view)));
    CHECK(as_real(cast(view, DType::complex64)).dtype() == DType::float32);
  }
  const Tensor x = reshape(arange(12.0), {2, 3, 2});
  CHECK(support::same_bits(as_complex(flip(x)), make_complex(flip(x)(ellipsis, 0), flip(x)(ellipsis, 1))));
  CHECK(support::same_bits(as_complex(x(ellipsis, newaxis, 0) * ones({2})),
                           make_complex(x(ellipsis, 0), x(ellipsis, 0))));
  for (const DType d : {DType::float32, DType::float16, DType::bfloat16})
    CHECK(as_complex(ones({2}, d)).dtype() == DType::complex64);
  CHECK(as_complex(tensor<int>({3, -4})).item<C>() == C(3, -4));
}

TEST_CASE("as_real and as_complex are transposes of each other, also in programs") {
  const Tensor x = tensor({{1., 2.}, {-3., 0.5}}), v = tensor({{0.5, -1.}, {2., 0.25}});
  const auto f = [](const Tensor& a) { return sum(square(as_real(power(as_complex(a), 2.0)))); };  // |z|^4
  const Tensor size = sum(square(x), {1}, true);
  CHECK(max(abs(grad(f)(x) - 4.0 * size * x)).item() < 1e-13);
  CHECK(max(abs(hvp(f)(x, v) - 4.0 * (size * v + 2.0 * x * sum(x * v, {1}, true)))).item() < 1e-12);
  CHECK(max(abs(jacobian([](const Tensor& a) { return as_real(as_complex(a)); })(x) - reshape(eye(4), {2, 2, 2, 2})))
            .item() == 0);
  const auto compiled =
      compile([&](const Tensor& a, const Tensor& b) { return std::tuple(f(a), grad(f)(a), hvp(f)(a, b)); });
  for (const Tensor& at : {x, transpose(x)}) {
    const auto [value, slope, product] = compiled(at, v);
    CHECK(support::same_bits(value, f(at)));
    CHECK(max(abs(slope - grad(f)(at))).item() < 1e-13);
    CHECK(max(abs(product - hvp(f)(at, v))).item() < 1e-12);
  }
  const auto [y, dy] = jvp([](const Tensor& a) { return as_complex(a); }, x, v);
  CHECK(support::same_bits(as_real(dy), v));
  CHECK(support::same_bits(as_real(y), x));
}

TEST_CASE("as_real and as_complex refuse other operands") {
  CHECK_THROWS_WITH(as_real(ones({2})), Contains("as_real: x is float64; it must be complex"));
  CHECK_THROWS_WITH(as_real(2.0), Contains("as_real: x is float64"));
  CHECK_THROWS_WITH(as_complex(ones({2}, DType::complex64)), Contains("as_complex: is not defined for complex64"));
  CHECK_THROWS_WITH(as_complex(ones({2, 3})),
                    Contains("as_complex: x has shape [2, 3]; its last axis must have extent 2"));
  CHECK_THROWS_AS(as_complex(scalar(1.0)), ShapeError);
  CHECK_THROWS_AS(as_complex(ones({0})), ShapeError);
  CHECK_THROWS_AS(as_real(reshape(ones({}, DType::complex128), Shape(std::vector<std::int64_t>(32, 1)))), ShapeError);
  CHECK_THROWS_AS(as_real(Tensor()), ValueError);
}

TEST_CASE("glu needs an even extent") {
  CHECK(glu(tensor({2.0, 0.0})).to_vector() == std::vector<double>{1});
  CHECK_THROWS_WITH(glu(ones({2, 3})), Contains("glu: axis 1 has an extent of 3; it must be even"));
  CHECK_THROWS_AS(glu(scalar(1.0)), IndexError);
  CHECK_THROWS_WITH(glu(ones({2}, DType::complex64)), Contains("glu: is not defined for complex64"));
}
