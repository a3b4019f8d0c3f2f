// Signals against stored results of SciPy and NumPy; arguments, dtypes, and what follows from the definitions.
#include <complex>
#include <functional>
#include <limits>
#include <reel/compile.hpp>
#include <reel/fft.hpp>
#include <reel/fft/signal.hpp>
#include <reel/forward.hpp>
#include <reel/ops/parts.hpp>

#include "catch.hpp"
#include "signal_values.hpp"
#include "support/derivatives.hpp"
#include "support/messages.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::largest;
using support::says;

namespace {

const Tensor signal4 = tensor({1.0, -2.0, 0.5, 3.0});
const Tensor sections = tensor({{1, 0.5, -0.25, 1, 0.3, 0.1}, {0.5, 0, 1, 1, -0.2, 0}});
const Tensor complex3 = make_complex(tensor({1.0, 2.0, -1.0}), tensor({1.0, 0.0, -2.0}));

using Calls = std::map<std::string, std::function<Tensor()>>;

void add_transforms(Calls& calls) {
  const std::map<std::string, Tensor (*)(const Operand&, int, std::int64_t, bool)> transforms = {
      {"dct", dct}, {"idct", idct}, {"dst", dst}, {"idst", idst}};
  for (const auto& transform : transforms)
    for (int type = 1; type <= 4; ++type)
      for (const bool ortho : {false, true}) {
        const auto call = transform.second;
        if (ortho && (type == 2 || type == 3) && transform.first.find("dst") != std::string::npos) continue;
        calls[transform.first + " " + std::to_string(type) + (ortho ? " ortho" : "")] = [call, type, ortho] {
          return call(signal4, type, -1, ortho);
        };
      }
  calls["fft"] = [] { return as_real(fft(complex3, 5, -1, FftNorm::ortho)); };
  calls["hfft"] = [] { return hfft(complex3); };
  calls["ihfft"] = [] { return as_real(ihfft(signal4)); };
  calls["irfft2"] = [] { return irfft2(expand_dims(complex3, 1) * complex3, {2, 5}); };
  calls["fftfreq"] = [] { return fftfreq(7, 0.3); };
}

void add_filters(Calls& calls) {
  const std::map<std::string, ConvolveMode> modes = {
      {"full", ConvolveMode::full}, {"same", ConvolveMode::same}, {"valid", ConvolveMode::valid}};
  const Tensor taps = tensor({0.0, 1.0, 0.5}), two = tensor({1.0, 2.0});
  for (const auto& named : modes) {
    const ConvolveMode mode = named.second;
    calls["convolve " + named.first] = [=] { return convolve(signal4, taps, mode); };
    calls["convolve shorter " + named.first] = [=] { return convolve(two, signal4, mode); };
    calls["correlate " + named.first] = [=] { return correlate(signal4, taps, mode, ConvolveMethod::fft); };
    calls["correlate shorter " + named.first] = [=] { return correlate(two, signal4, mode); };
  }
  calls["correlate complex"] = [] {
    return as_real(correlate(complex3, make_complex(tensor({0.0, 2.0}), tensor({1.0, -1.0}))));
  };
  calls["lfilter"] = [] { return lfilter(tensor({1.0, 0.5, -0.25}), tensor({2.0, 0.3, 0.1}), signal4); };
  calls["sosfilt"] = [] { return sosfilt(sections, signal4); };
  calls["unwrap"] = [] { return unwrap(tensor({0.0, 3.0, -3.0, 7.0, 0.5})); };
  calls["unwrap at half a period"] = [] { return unwrap(tensor({0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 0.0}), -1, 2); };
  calls["detrend"] = [] { return detrend(signal4); };
  calls["detrend constant"] = [] { return detrend(signal4, -1, false); };
}

void add_spectra(Calls& calls) {
  const Tensor u = tensor({1, -2, 0.5, 3, 0.25, -1, 2, 1.5, -0.75, 0.5, 1}), v = tensor({0.5, 1, -1, 2, 0, 0.25, -3}),
               w = tensor({0.5, 1, 2, 1.5, 0.75});
  for (const PowerScale scale : {PowerScale::density, PowerScale::spectrum})
    for (const Trend trend : {Trend::keep, Trend::mean, Trend::line}) {
      const std::string name =
          std::string(scale == PowerScale::density ? " density " : " spectrum ") + (trend == Trend::keep   ? "False"
                                                                                    : trend == Trend::mean ? "constant"
                                                                                                           : "linear");
      const SpectrumOptions options{.rate = 2.5, .trend = trend, .scale = scale};
      calls["welch" + name] = [=] { return welch(u, w, options); };
      calls["csd" + name] = [=] { return as_real(csd(u, v, w, options)); };
    }
  calls["welch even"] = [=] { return welch(u, slice(w, {range(0, 4)}), {.hop = 1}); };
  calls["welch padded"] = [=] { return welch(u, w, {.hop = 4, .n = 8}); };
  calls["csd padded"] = [=] { return as_real(csd(v, u, w, {.hop = 5, .n = 7})); };
}

void add_windows(Calls& calls) {
  const std::map<std::string, Tensor (*)(std::int64_t, bool)> windows = {
      {"hann", hann}, {"hamming", hamming}, {"blackman", blackman}, {"bartlett", bartlett}};
  for (const auto& window : windows) {
    const auto call = window.second;
    calls[window.first] = [call] { return call(6, false); };
    calls[window.first + " periodic"] = [call] { return call(5, true); };
  }
  calls["kaiser"] = [] { return kaiser(5, 8.6); };
  calls["kaiser periodic"] = [] { return kaiser(4, 2.5, true); };
}

Tensor wave(const Shape& shape) { return support::Random("signal" + to_string(shape)).tensor(shape); }

}  // namespace

TEST_CASE("signals agree with SciPy and NumPy") {
  Calls calls;
  add_transforms(calls);
  add_filters(calls);
  add_windows(calls);
  add_spectra(calls);
  CHECK(calls.size() == signal_values.size());
  for (const auto& one : calls) {
    INFO(one.first);
    REQUIRE(signal_values.contains(one.first));
    const std::vector<double>& expected = signal_values.at(one.first);
    const std::vector<double> got = contiguous(one.second()).to_vector();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-13).margin(1e-13));
  }
}

TEST_CASE("both methods of convolution agree, along chosen axes and for complex numbers") {
  const Tensor x = make_complex(wave({3, 20}), wave({20})), h = make_complex(wave({1, 7}), wave({7}));
  for (const ConvolveMode mode : {ConvolveMode::full, ConvolveMode::same, ConvolveMode::valid}) {
    const Tensor direct = convolve(x, h, mode, ConvolveMethod::direct, 1);
    CHECK(largest(direct - convolve(x, h, mode, ConvolveMethod::fft, 1)) < 1e-13);
    CHECK(largest(direct[1] - convolve(x[1], h[0], mode)) < 1e-13);
    const Tensor real_direct = correlate(real(x), real(h), mode);
    CHECK(largest(real_direct - correlate(real(x), real(h), mode, ConvolveMethod::fft)) < 1e-13);
  }
  CHECK(array_equal(convolve(x, x, ConvolveMode::full, ConvolveMethod::direct, Shape{}), x * x));
  CHECK_THROWS_AS(convolve(wave({3}), wave({3, 3})), ShapeError);
  CHECK_THROWS_AS(convolve(wave({0}), wave({3})), ShapeError);
  CHECK_THROWS_WITH(
      convolve(wave({2, 3}), wave({3, 2}), ConvolveMode::valid),
      says("convolve: x has shape [2, 3], h [3, 2]; of mode valid one must be at least as long on every axis"));
  CHECK_THROWS_AS(convolve(wave({2}), wave({2}), static_cast<ConvolveMode>(7)), ValueError);
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(array_equal(isnan(convolve(tensor({1.0, 2.0}), tensor({infinite, 1.0}))), tensor({false, false, true})));
}

TEST_CASE("lfilter: derivatives with respect to coefficients agree with differences; rows are independent") {
  const Tensor b = tensor({0.5, -0.25, 1.0}), a = tensor({2.0, -0.5, 0.25}), x = wave({4, 30});
  const auto energy = [&](const Tensor& p, const Tensor& q, const Tensor& u) { return sum(square(lfilter(p, q, u))); };
  const auto slopes = grad<0, 1, 2>(energy)(b, a, x);
  const double h = 1e-6;
  for (std::int64_t k = 0; k < 3; ++k) {
    const Tensor t = one_hot(k, 3, DType::float64) * h;
    CHECK(std::get<0>(slopes)[k].item() ==
          Approx((energy(b + t, a, x) - energy(b - t, a, x)).item() / (2 * h)).epsilon(1e-7));
    CHECK(std::get<1>(slopes)[k].item() ==
          Approx((energy(b, a + t, x) - energy(b, a - t, x)).item() / (2 * h)).epsilon(1e-7));
  }
  CHECK(array_equal(lfilter(b, a, x)[2], lfilter(b, a, x[2])));
  CHECK(array_equal(transpose(lfilter(b, a, transpose(x), 0)), lfilter(b, a, x)));
  CHECK(lfilter(b, a, zeros({2, 0})).shape() == Shape{2, 0});
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(array_equal(isnan(lfilter(tensor({1.0, 0.0, infinite}), ones({1}), tensor({1.0, 2.0, 3.0}))),
                    tensor({true, true, false})));
  CHECK_THROWS_AS(lfilter(wave({2, 2}), a, x), ShapeError);
  CHECK_THROWS_AS(lfilter(b, zeros({0}), x), ShapeError);
  CHECK_THROWS_AS(lfilter(b, a, complex3), TypeError);
  CHECK(lfilter(cast(b, DType::float16), cast(a, DType::float16), ones({3}, DType::float16)).dtype() == DType::float16);
}

TEST_CASE("power spectra: Parseval, batches, derivatives, errors") {
  const Tensor x = wave({2, 3, 24}), y = wave({3, 24}), window = hann(8, true) + 0.1;
  // The integral of the density of one rectangular segment is its mean power.
  const Tensor power = welch(x, ones({24}), {.rate = 5, .trend = Trend::keep});
  CHECK(largest(sum(power, -1) * (5.0 / 24) - mean(square(x), -1)) < 1e-14);
  CHECK(largest(welch(x, window) - real(csd(x, x, window))) < 1e-14);
  CHECK(largest(imag(csd(x, x, window))) < 1e-15);
  CHECK(largest(abs(csd(x, y, window)[1] - csd(x[1], y, window))) < 1e-14);
  CHECK(array_equal(welch(x, window)[1][2], welch(x[1][2], window)));
  support::Random random("spectra");
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& w) {
    return sum(square(abs(csd(a, b, w, {.hop = 3, .trend = Trend::line}))));
  };
  const auto slopes = grad<0, 1, 2>(f)(x, y, window);
  const Tensor t[] = {random.tensor(x.shape()), random.tensor(y.shape()), random.tensor(window.shape())};
  const double h = 1e-6, slope = sum(std::get<0>(slopes) * t[0]).item() + sum(std::get<1>(slopes) * t[1]).item() +
                                 sum(std::get<2>(slopes) * t[2]).item();
  const double above = f(x + h * t[0], y + h * t[1], window + h * t[2]).item(),
               below = f(x - h * t[0], y - h * t[1], window - h * t[2]).item();
  CHECK(slope == Approx((above - below) / (2 * h)).epsilon(1e-7));
  CHECK(welch(cast(y, DType::float16), hann(8)).dtype() == DType::float16);
  CHECK(csd(cast(y, DType::float32), y, hann(8)).dtype() == DType::complex128);
  CHECK(csd(cast(y, DType::float32), ones({24}, DType::float32), hann(8)).dtype() == DType::complex64);
  CHECK(welch(zeros({0, 9}), hann(8)).shape() == Shape{0, 5});
  CHECK_THROWS_WITH(welch(y, window, {.hop = 9}),
                    says("welch: hop is 9; it must be from 1 to 8, the length of the window"));
  CHECK_THROWS_WITH(csd(y, y, window, {.n = 7}), says("csd: n is 7; it must be at least 8, the length of the window"));
  for (const double rate : {0.0, -1.0, std::nan("")}) CHECK_THROWS_AS(welch(y, window, {.rate = rate}), ValueError);
  CHECK_THROWS_AS(welch(y, window, {.trend = static_cast<Trend>(3)}), ValueError);
  CHECK_THROWS_AS(welch(y, hann(25)), ShapeError);
  CHECK_THROWS_AS(welch(1.0, hann(1)), ShapeError);
  CHECK_THROWS_AS(csd(1.0, y, hann(2)), ShapeError);
  CHECK_THROWS_AS(csd(complex3, y, hann(2)), TypeError);
  CHECK_THROWS_WITH(csd(ones({2, 24}), y, window), Catch::StartsWith("csd: shapes [2] and [3] do not broadcast"));
}

TEST_CASE("sosfilt: sections in series are one filter with the products of their polynomials") {
  const Tensor x = wave({3, 20}),
               s = tensor({{1, 0.5, -0.25, 2, 0.3, 0.1}, {0.5, 0, 1, 1, -0.2, 0.4}, {1, 1, 0.3, 4, 1, 1}});
  const auto product = [&](std::int64_t from) {
    const auto row = [&](std::int64_t k) { return slice(s, {k, range(from, from + 3)}); };
    return convolve(convolve(row(0), row(1)), row(2));
  };
  CHECK(largest(sosfilt(s, x) - lfilter(product(0), product(3), x)) < 1e-13);
  CHECK(array_equal(transpose(sosfilt(s, transpose(x), 0)), sosfilt(s, x)));
  CHECK(sosfilt(s, zeros({2, 0})).shape() == Shape{2, 0});
  CHECK(sosfilt(cast(s, DType::bfloat16), ones({4}, DType::bfloat16)).dtype() == DType::bfloat16);
  CHECK_THROWS_WITH(sosfilt(zeros({0, 6}), x),
                    says("sosfilt: sections have shape [0, 6]; they must be [count, 6] with a count of at least 1"));
  CHECK_THROWS_AS(sosfilt(ones({2, 5}), x), ShapeError);
  CHECK_THROWS_AS(sosfilt(ones({6}), x), ShapeError);
  CHECK_THROWS_AS(sosfilt(s, complex3), TypeError);
}

TEST_CASE("istft inverts stft") {
  const Tensor x = wave({2, 50}), window = hann(8, true) + 0.1;
  for (const std::int64_t hop : {1, 3, 6}) {
    const Tensor back = istft(stft(x, window, hop), window, hop);
    CHECK(largest(back - slice(x, {all, range(0, back.shape()[1])})) < 1e-13);
  }
  // A Hann window begins with 0, so only the first sample is lost.
  const Tensor back = istft(stft(x, hann(8, true), 4), hann(8, true), 4);
  CHECK(back[0][0].item() == 0);
  CHECK(largest(slice(back - slice(x, {all, range(0, 48)}), {all, range(1, 48)})) < 1e-12);
  CHECK_THROWS_AS(istft(stft(x, hann(8, true), 8), hann(8, true), 8), ValueError);
  CHECK_THROWS_AS(stft(x, hann(8), 9), ValueError);
  CHECK_THROWS_AS(stft(x, hann(51), 9), ShapeError);
  CHECK_THROWS_AS(istft(x, hann(8), 4), TypeError);
  CHECK_THROWS_AS(istft(stft(x, hann(8), 4), hann(12), 4), ShapeError);
  CHECK(stft(cast(x, DType::float32), hann(8), 4).dtype() == DType::complex64);
}

TEST_CASE("istft checks windows for lost samples, op by op and compiled") {
  const Tensor x = wave({2, 50}), good = hann(8, true) + 0.1, bad = cast(hann(8, true), DType::float32);
  const Tensor spectra = stft(x, good, 4), without = stft(x, bad, 8);
  const auto traced = compile([](const Tensor& z, const Tensor& window) { return istft(z, window, 4); });
  CHECK(array_equal(traced(spectra, good), istft(spectra, good, 4)));
  // With every other window the first of 8 samples is covered by no window.
  const auto error = Catch::StartsWith("istft: the squares of windows 8 apart sum to 0 at 0: they do not");
  CHECK_THROWS_WITH(istft(without, bad, 8),
                    says("istft: the squares of windows 8 apart sum to 0 at 0: they do not determine a signal"));
  const auto argument = compile([](const Tensor& z, const Tensor& window) { return istft(z, window, 8); });
  CHECK_THROWS_WITH(argument(without, bad), error);
  const auto computed = compile([&](const Tensor& z) { return istft(z, hann(8, true), 8); });
  CHECK_THROWS_WITH(computed(without), error);
  const auto captured = compile([&](const Tensor& z) { return istft(z, bad, 8); });
  CHECK_THROWS_WITH(captured(without), error);
  CHECK_THROWS_AS(istft(stft(x, tensor({0, 1}), 2), tensor({0, 1}), 2), ValueError);
  const auto captured_good = compile([&](const Tensor& z) { return istft(z, cast(good, DType::float32), 4); });
  CHECK(largest(captured_good(spectra) - istft(spectra, cast(good, DType::float32), 4)) == 0);
}

TEST_CASE("inverse cosine, sine and Hadamard transforms") {
  const Tensor x = wave({3, 16});
  for (int type = 1; type <= 4; ++type)
    for (const bool ortho : {false, true}) {
      CHECK(largest(idct(dct(x, type, 0, ortho), type, 0, ortho) - x) < 1e-14);
      CHECK(largest(idst(dst(x, type, 1, ortho), type, 1, ortho) - x) < 1e-14);
      if (!ortho) continue;
      CHECK(sum(square(dct(x, type, 1, true)) - square(x)).item() == Approx(0).margin(1e-12));
      CHECK(sum(square(dst(x, type, 1, true)) - square(x)).item() == Approx(0).margin(1e-12));
    }
  CHECK(largest(hadamard(hadamard(x)) - x) < 1e-14);
  CHECK_THROWS_AS(dct(x, 5), ValueError);
  CHECK_THROWS_AS(dct(ones({1}), 1), ValueError);
  CHECK_THROWS_AS(dst(ones({0})), ValueError);
  CHECK_THROWS_AS(dct(complex3), TypeError);
  CHECK_THROWS_AS(hadamard(ones({6})), ShapeError);
  CHECK(dct(ones({4}, DType::bfloat16)).dtype() == DType::bfloat16);
  CHECK(dct(ones({4}, DType::int64)).dtype() == DType::float64);
}

TEST_CASE("unwrap passes the gradient on; detrend leaves no trend") {
  const Tensor x = tensor({0.0, 3.0, -3.0, 7.0, 0.5}), w = wave({5});
  CHECK(array_equal(grad([&](const Tensor& v) { return sum(unwrap(v) * w); })(x), w));
  CHECK(largest(sum(detrend(wave({4, 9})), 1)) < 1e-13);
  CHECK(largest(detrend(arange(7) * 2.5 - 1)) < 1e-13);
  CHECK(unwrap(scalar(1.0) * ones({1})).item() == 1);
  // Differences of an odd number of half periods keep their sign.
  CHECK(array_equal(unwrap(tensor({0., 2, -4, 14, 8, 10}), -1, 4), tensor({0., 2, 0, 2, 0, 2})));
  CHECK(array_equal(unwrap(tensor({0., 4, -8, 1}), -1, 4), tensor({0., 0, 0, 1})));
  CHECK_THROWS_AS(unwrap(x, -1, 0), ValueError);
  CHECK_THROWS_AS(detrend(ones({3, 0})), ValueError);
}

TEST_CASE("window functions of length 0 and 1") {
  CHECK(hann(0).size() == 0);
  CHECK(blackman(1).item() == 1);
  CHECK(kaiser(1, 3, true).item() == 1);
  CHECK(array_equal(isnan(kaiser(5, 713)), tensor({false, false, false, false, false})));
  CHECK(array_equal(isnan(kaiser(5, 714)), tensor({false, false, true, false, false})));
  CHECK_THROWS_AS(bartlett(-1), ValueError);
}
