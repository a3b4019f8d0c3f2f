// Fourier transforms: dtypes, arguments, frequencies, identities of signals, and what gradients of half spectra ignore.
#include <complex>
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/messages.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::largest;
using support::says;

namespace {

Tensor wave(const Shape& shape) { return support::Random("wave" + to_string(shape)).tensor(shape); }

}  // namespace

TEST_CASE("spectra have the precision of the operand") {
  const auto dtypes = [](DType d) {
    const Tensor x = ones({4}, d);
    return std::vector<DType>{fft(x).dtype(), irfft(x).dtype()};
  };
  using All = std::vector<DType>;
  CHECK(dtypes(DType::float64) == All{DType::complex128, DType::float64});
  CHECK(dtypes(DType::float32) == All{DType::complex64, DType::float32});
  CHECK(dtypes(DType::float16) == All{DType::complex64, DType::float32});
  CHECK(dtypes(DType::bfloat16) == All{DType::complex64, DType::float32});
  CHECK(dtypes(DType::complex64) == All{DType::complex64, DType::float32});
  CHECK(dtypes(DType::complex128) == All{DType::complex128, DType::float64});
  CHECK(dtypes(DType::int32) == All{DType::complex128, DType::float64});
  CHECK(dtypes(DType::boolean) == All{DType::complex128, DType::float64});
  CHECK(rfft(ones({4}, DType::float16)).dtype() == DType::complex64);
  CHECK(rfft(ones({4}, DType::uint8)).dtype() == DType::complex128);
  CHECK(fftshift(ones({4}, DType::uint8)).dtype() == DType::uint8);
}

TEST_CASE("errors of transforms name the function") {
  const Tensor x = ones({3, 4}), z = ones({3, 4}, DType::complex128), empty = ones({3, 0});
  CHECK_THROWS_AS(rfft(z), TypeError);
  CHECK_THROWS_AS(ihfft(z), TypeError);
  CHECK_THROWS_AS(rfftn(z), TypeError);
  for (const std::int64_t n : {0, -2}) {
    CHECK_THROWS_AS(fft(x, n), ValueError);
    CHECK_THROWS_AS(rfft(x, n), ValueError);
    CHECK_THROWS_AS(irfft(x, n), ValueError);
  }
  CHECK_THROWS_AS(fft(empty), ValueError);
  CHECK(fft(empty, 2).shape() == Shape{3, 2});
  CHECK_THROWS_AS(irfft(slice(x, {all, range(0, 1)})), ValueError);
  CHECK_THROWS_AS(irfft(empty), ValueError);
  CHECK_THROWS_AS(fft(x, -1, 2), IndexError);
  CHECK_THROWS_AS(fft(scalar(1.0)), IndexError);
  CHECK_THROWS_AS(fftn(x, {2, 2, 2}), ValueError);
  CHECK_THROWS_AS(fftn(x, {2}, {0, 1}), ValueError);
  CHECK_THROWS_AS(fftn(x, {}, {0, -2}), ValueError);
  CHECK_THROWS_AS(rfftn(scalar(1.0)), ValueError);
  CHECK_THROWS_AS(irfftn(scalar(1.0)), ValueError);
  CHECK_THROWS_AS(fft(x, -1, -1, static_cast<FftNorm>(3)), ValueError);
  CHECK_THROWS_AS(fftfreq(0), ValueError);
  CHECK_THROWS_AS(rfftfreq(4, 0), ValueError);
  CHECK_THROWS_WITH(ihfft(x, 0), says("ihfft: the number of elements to transform is 0; it must be at least 1"));
  CHECK_THROWS_WITH(fft(empty), says("fft: axis 1 of x, of shape [3, 0], has too few elements: without n there must be "
                                     "at least 1"));
  const Tensor single = ones({1, 3});
  CHECK_THROWS_WITH(irfft(single, -1, 0), says("irfft: axis 0 of x, of shape [1, 3], has too few elements: without n "
                                               "there must be at least 2"));
  CHECK_THROWS_AS(hfft(single, -1, 0), ValueError);
  CHECK(largest(irfft(single, 4, 0) - 0.25) == 0);
  CHECK(largest(irfft(empty, 4)) == 0);
  CHECK(fftn(scalar(2.0)).item<std::complex<double>>() == 2.0);
  CHECK(fft(ones({0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("fftfreq and rfftfreq agree with NumPy") {
  CHECK(fftfreq(5, 0.5).to_vector() == std::vector<double>{0, 0.4, 0.8, -0.8, -0.4});
  CHECK(fftfreq(4).to_vector() == std::vector<double>{0, 0.25, -0.5, -0.25});
  CHECK(fftfreq(1).to_vector() == std::vector<double>{0});
  CHECK(rfftfreq(5).to_vector() == std::vector<double>{0, 0.2, 0.4});
  CHECK(rfftfreq(4, 2).to_vector() == std::vector<double>{0, 0.125, 0.25});
  CHECK(fftshift(arange(5)).to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 4, 0, 1, 2});
  CHECK(ifftshift(arange(5)).to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 3, 4, 0, 1});
}

TEST_CASE("transforms of known signals, and their inverses") {
  const Tensor impulse = one_hot(3, 8, DType::float64);
  CHECK(largest(abs(fft(impulse)) - 1) < 1e-15);
  CHECK(largest(fft(ones({37})) - 37 * one_hot(0, 37, DType::float64)) < 1e-13);
  for (const std::int64_t n : {1, 2, 7, 8, 100, 127, 1024}) {
    const Tensor x = wave({3, n}), z = make_complex(x, wave({3, n}) * 2);
    INFO(n);
    CHECK(largest(ifft(fft(z)) - z) < 1e-14);
    CHECK(largest(ifft(fft(z, -1, -1, FftNorm::ortho), -1, -1, FftNorm::ortho) - z) < 1e-14);
    CHECK(largest(irfft(rfft(x), n) - x) < 1e-14);
    CHECK(largest(hfft(ihfft(x), n) - x) < 1e-14);
    CHECK(largest(rfft(x) - slice(fft(x), {all, range(0, n / 2 + 1)})) < 1e-13 * static_cast<double>(n));
    CHECK(largest(irfft2(rfft2(x), {3, n}) - x) < 1e-14);
    CHECK(largest(ifftn(fftn(z)) - z) < 1e-14);
  }
}

TEST_CASE("imaginary parts that a real signal cannot have are ignored, with gradient 0") {
  const Tensor re = wave({5}), im = wave({5}) + 1;
  const Tensor without = im * tensor({0.0, 1.0, 1.0, 1.0, 0.0});
  CHECK(array_equal(irfft(make_complex(re, im)), irfft(make_complex(re, without))));
  const Tensor odd = im * tensor({0.0, 1.0, 1.0, 1.0, 1.0});
  CHECK(array_equal(irfft(make_complex(re, im), 9), irfft(make_complex(re, odd), 9)));
  for (const std::int64_t n : {8, 9}) {
    const auto by_imaginary =
        grad([&](const Tensor& part) { return sum(square(irfft(make_complex(re, part), n))); })(im).to_vector();
    INFO(n);
    CHECK(by_imaginary[0] == 0);
    CHECK((by_imaginary[4] == 0) == (n == 8));
    CHECK(by_imaginary[1] != 0);
  }
}

TEST_CASE("the gradient of a spectrum's energy is 2 n x") {
  for (const std::int64_t n : {6, 7, 70}) {  // Parseval's theorem
    const Tensor x = wave({n});
    const auto energy = [](const Tensor& v) { return sum(square(abs(fft(v)))); };
    CHECK(largest(grad(energy)(x) - 2 * static_cast<double>(n) * x) < 1e-11);
    const auto half_energy = [](const Tensor& v) { return sum(square(as_real(rfft(v)))); };
    const auto g = grad(half_energy);
    const Tensor t = wave({n});
    const double h = 1e-6, slope = (half_energy(x + h * t) - half_energy(x - h * t)).item() / (2 * h);
    CHECK(sum(g(x) * t).item() == Approx(slope).epsilon(1e-8));
  }
}
