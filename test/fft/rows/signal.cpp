// Rows of the ops of <reel/fft/signal.hpp>. The references are sums by the definition.
#include <reel/fft/signal.hpp>
#include <reel/ops/parts.hpp>

#include "../references/signals.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace signals;
using X = Operands;
using A = Arrays;

// ---- Convolution of vectors and of matrices

template <ConvolveMode Mode, ConvolveMethod Method = ConvolveMethod::direct>
Tensor convolve(X x) {
  return reel::convolve(x[0], x[1], Mode, Method);
}
template <ConvolveMode Mode>
Array convolve(A x) {
  return convolved(x[0], x[1], static_cast<int>(Mode));
}
template <ConvolveMode Mode, ConvolveMethod Method = ConvolveMethod::direct>
Tensor correlate(X x) {
  return reel::correlate(x[0], x[1], Mode, Method);
}
template <ConvolveMode Mode>
Array correlate(A x) {
  return convolved(x[0], signals::reversed(x[1]), static_cast<int>(Mode));
}
constexpr auto full_mode = ConvolveMode::full, same = ConvolveMode::same, valid = ConvolveMode::valid;
constexpr auto by_fft = ConvolveMethod::fft;

// ---- Filters

// A leading coefficient far from 0, and poles inside the unit circle.
Tensor stable(const Tensor& drawn, std::size_t operand) {
  if (operand != 1) return drawn;
  return where(equal(arange(drawn.size()), 0), drawn * 0.25 + 2.0, drawn * 0.25);
}

// ---- Cosine and sine transforms

template <int Type, bool Sine, bool Ortho, int Axis, bool Inverse = false>
Array transformed(A x) {
  return along(x[0], Axis, [](const Row& r) { return wave_transform(r, Type, Sine, Ortho, Inverse); });
}
template <int Type, bool Sine, bool Ortho, int Axis>
constexpr auto inverse = transformed<Type, Sine, Ortho, Axis, true>;
template <int Type, bool Ortho = false, int Axis = -1>
Tensor dct(X x) {
  return reel::dct(x[0], Type, Axis, Ortho);
}
template <int Type, bool Ortho = false, int Axis = -1>
Tensor idct(X x) {
  return reel::idct(x[0], Type, Axis, Ortho);
}
template <int Type, bool Ortho = false, int Axis = -1>
Tensor dst(X x) {
  return reel::dst(x[0], Type, Axis, Ortho);
}
template <int Type, bool Ortho = false, int Axis = -1>
Tensor idst(X x) {
  return reel::idst(x[0], Type, Axis, Ortho);
}

Array hadamard_product(A x) { return along(x[0], -1, hadamard_transform<Real>); }

// ---- Short-time spectra: x, window

Row parts_of(const RowOf<Complex<Real>>& z) {
  Row y;
  for (const Complex<Real>& v : z) y.push_back(v.re), y.push_back(v.im);
  return y;
}
Array spectra(A x, std::size_t hop) {
  Array y = along(x[0], -1, [&](const Row& r) { return parts_of(short_time_spectra(r, x[1].values, hop)); });
  const std::int64_t half = x[1].shape[0] / 2 + 1, last = y.shape.rank() - 1;
  y.shape[last] /= 2 * half;
  y.shape.push_back(half);
  y.shape.push_back(2);
  return y;
}
// Of real and imaginary parts [windows, n / 2 + 1].
Array signal_of_parts(A x, std::size_t hop) {
  RowOf<Complex<Real>> z;
  for (std::size_t i = 0; i < x[0].values.size(); ++i) z.push_back({x[0].values[i], x[1].values[i]});
  const Row y = signal_of(z, x[2].values, hop);
  return {{static_cast<std::int64_t>(y.size())}, y};
}
template <std::size_t Operand>
Tensor positive_window(const Tensor& drawn, std::size_t operand) {
  return operand == Operand ? abs(drawn) * 0.5 + 0.5 : drawn;
}

// ---- Phases and trends

template <bool Imaginary>
Row density(const Row& x, const Row& y, const Row& w, std::size_t hop, std::int64_t n) {
  Row part;
  for (const Complex<Real>& z : cross_density(x, y, w, hop, n)) part.push_back(Imaginary ? z.im : z.re);
  return part;
}
// A window that is not zero anywhere.
template <std::size_t Operand>
Tensor shaped_window(const Tensor& drawn, std::size_t operand) {
  return operand == Operand ? 0.3 * drawn + 1 : drawn;
}
// Rows of six, the fourth number far from 0.
Tensor stable_sections(const Tensor& drawn, std::size_t operand) {
  return operand == 0 ? 0.4 * drawn + tensor({0, 0, 0, 3, 0, 0}) : drawn;
}
// clang-format off
constexpr Shaped rows[] = {
    {"convolve", "5,3;2,4;1,1;2x4,2x3", convolve<full_mode>, convolve<full_mode>},
    {"convolve", "5,3;3,4;2x4,3x2", convolve<same>, convolve<same>},
    {"convolve", "5,3;2,4;3x4,2x4;2x2,3x2", convolve<valid>, convolve<valid>},
    {"convolve", "5,4;2x4,2x3", convolve<full_mode, by_fft>, convolve<full_mode>, {-2, 2}, nullptr, none, 8},
    {"convolve", "6,3", convolve<valid, by_fft>, convolve<valid>, {-2, 2}, nullptr, none, 8},
    {"convolve", "2x5,1x2", [](X x) { return reel::convolve(x[0], x[1], same, ConvolveMethod::direct, 1); },
      [](A x) { return build({2, 5}, [&](const Index& i) { return at(x[0], i) * at(x[1], {0, 0}) + (i[1] > 0 ? at(x[0], {i[0], i[1] - 1}) * at(x[1], {0, 1}) : 0); }); }},
    {"convolve", "3,3,2,2", [](X x) { return as_real(reel::convolve(make_complex(x[0], x[1]), make_complex(x[2], x[3]))); },
      [](A x) { const auto part = [&](std::size_t a, std::size_t b) { return convolved(x[a], x[b], 0); }; const Array rr = part(0, 2), ii = part(1, 3), ri = part(0, 3), ir = part(1, 2); return build({4, 2}, [&](const Index& i) { return i[1] == 0 ? at(rr, {i[0]}) - at(ii, {i[0]}) : at(ri, {i[0]}) + at(ir, {i[0]}); }); }},
    {"correlate", "5,3;2,4;2x4,2x3", correlate<full_mode>, correlate<full_mode>},
    {"correlate", "4,3;2x4,3x2", correlate<same>, correlate<same>},
    {"correlate", "5,3;2,4", correlate<valid>, correlate<valid>},
    {"correlate", "5,3", correlate<full_mode, by_fft>, correlate<full_mode>, {-2, 2}, nullptr, none, 8},
    {"lfilter", "2,3,5;3,1,2x4;1,4,6", [](X x) { return lfilter(x[0], x[1], x[2]); }, [](A x) { return along(x[2], -1, [&](const Row& r) { return filtered(x[0].values, x[1].values, r); }); }, {-2, 2}, stable, none, 4},
    {"lfilter", "2,2,4x2", [](X x) { return lfilter(x[0], x[1], x[2], 0); }, [](A x) { return along(x[2], 0, [&](const Row& r) { return filtered(x[0].values, x[1].values, r); }); }, {-2, 2}, stable, none, 4},
    {"sosfilt", "1x6,5;3x6,2x6;2x6,1", [](X x) { return sosfilt(x[0], x[1]); }, [](A x) { return along(x[1], -1, [&](const Row& r) { return cascaded(x[0].values, r); }); }, {-2, 2}, stable_sections, none, 10},
    {"sosfilt", "2x6,4x2", [](X x) { return sosfilt(x[0], x[1], 0); }, [](A x) { return along(x[1], 0, [&](const Row& r) { return cascaded(x[0].values, r); }); }, {-2, 2}, stable_sections, none, 10},
    {"dct", "5;2;2x4", dct<1>, transformed<1, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "5;1;2x4", dct<2>, transformed<2, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "5x2;4x1", dct<3, false, 0>, transformed<3, false, false, 0>, {-2, 2}, nullptr, none, 4},
    {"dct", "5;4", dct<4>, transformed<4, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "5", dct<1, true>, transformed<1, false, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "5;4", dct<2, true>, transformed<2, false, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "4", dct<3, true>, transformed<3, false, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dct", "3", dct<4, true>, transformed<4, false, true, -1>, {-2, 2}, nullptr, none, 4},
    {"idct", "5", idct<1>, inverse<1, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"idct", "2x4", idct<2>, inverse<2, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"idct", "5", idct<3>, inverse<3, false, false, -1>, {-2, 2}, nullptr, none, 4},
    {"idct", "4", idct<2, true>, inverse<2, false, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "5;1;2x4", dst<1>, transformed<1, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "5;1;4", dst<2>, transformed<2, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "5x2;4x1", dst<3, false, 0>, transformed<3, true, false, 0>, {-2, 2}, nullptr, none, 4},
    {"dst", "5;4", dst<4>, transformed<4, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "5", dst<1, true>, transformed<1, true, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "4", dst<2, true>, transformed<2, true, true, -1>, {-2, 2}, nullptr, none, 4},
    {"dst", "4", dst<3, true>, transformed<3, true, true, -1>, {-2, 2}, nullptr, none, 4},
    {"idst", "5", idst<1>, inverse<1, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"idst", "2x4", idst<2>, inverse<2, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"idst", "4", idst<4>, inverse<4, true, false, -1>, {-2, 2}, nullptr, none, 4},
    {"hadamard", "8;1;2x4", [](X x) { return hadamard(x[0]); }, hadamard_product, {-2, 2}, nullptr, none, 2},
    {"stft", "9,4;2x6,3", [](X x) { return as_real(stft(x[0], x[1], 2)); }, [](A x) { return spectra(x, 2); }, {-2, 2}, nullptr, none, 4},
    {"istft", "3x3,3x3,4;2x3,2x3,5", [](X x) { return istft(make_complex(x[0], x[1]), x[2], 2); }, [](A x) { return signal_of_parts(x, 2); }, {-2, 2}, positive_window<2>, none, 4},
    {"welch", "9,4;2x6,3", [](X x) { return welch(x[0], x[1]); }, [](A x) { const Row& w = x[1].values; const auto n = static_cast<std::int64_t>(w.size()); return along(x[0], -1, [&](const Row& r) { return density<false>(r, r, w, 2, n); }); }, {-2, 2}, shaped_window<1>, none, 10},
    {"csd", "9,9,4", [](X x) { return real(csd(x[0], x[1], x[2], {.hop = 3, .n = 5})); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return density<false>(r, x[1].values, x[2].values, 3, 5); }); }, {-2, 2}, shaped_window<2>, by_complex, 10},
    {"csd", "9,9,4", [](X x) { return imag(csd(x[0], x[1], x[2], {.hop = 3, .n = 5})); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return density<true>(r, x[1].values, x[2].values, 3, 5); }); }, {-2, 2}, shaped_window<2>, by_complex, 10},
    {"unwrap", "9;2x5", [](X x) { return unwrap(x[0], -1, 2); }, [](A x) { return along(x[0], -1, unwrapped<Real>); }},
    {"detrend", "7;2x5;1;2", [](X x) { return detrend(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return without_trend(r, true); }); }, {-2, 2}, nullptr, none, 4},
    {"detrend", "4x2", [](X x) { return detrend(x[0], 0, false); }, [](A x) { return along(x[0], 0, [](const Row& r) { return without_trend(r, false); }); }, {-2, 2}, nullptr, none, 2},
};
// clang-format on

}  // namespace

std::span<const Shaped> signal_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
