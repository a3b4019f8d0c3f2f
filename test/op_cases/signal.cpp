// Rows of the ops of <reel/fft/signal.hpp>. The references are sums by the definition.
#include <numbers>
#include <reel/fft/signal.hpp>
#include <reel/ops/parts.hpp>

#include "naive.hpp"
#include "signal_references.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;
using references::cascaded, references::filtered, references::hadamard_transform, references::wave_transform,
    references::without_trend;
constexpr Real pi = std::numbers::pi_v<Real>;

// ---- Convolution of vectors and of matrices

std::int64_t from_of(ConvolveMode mode, std::int64_t n, std::int64_t m) {
  return mode == ConvolveMode::full ? 0 : mode == ConvolveMode::same ? (m - 1) / 2 : std::min(n, m) - 1;
}
std::int64_t count_of(ConvolveMode mode, std::int64_t n, std::int64_t m) {
  return mode == ConvolveMode::full ? n + m - 1 : mode == ConvolveMode::same ? n : std::max(n, m) - std::min(n, m) + 1;
}
Array reversed(const Array& x) {
  return build(x.shape, [&](Index i) {
    for (std::size_t d = 0; d < i.size(); ++d) i[d] = x.shape[static_cast<std::int64_t>(d)] - 1 - i[d];
    return at(x, i);
  });
}
Array convolved(const Array& x, const Array& h, ConvolveMode mode) {
  Shape shape;
  for (int d = 0; d < x.shape.rank(); ++d) shape.push_back(count_of(mode, x.shape[d], h.shape[d]));
  return build(shape, [&](const Index& i) {
    Real sum = 0;
    for_each_index(h.shape, [&](const Index& j) {
      Index k = i;
      bool inside = true;
      for (std::size_t d = 0; d < i.size(); ++d) {
        const auto axis = static_cast<std::int64_t>(d);
        k[d] = i[d] + from_of(mode, x.shape[axis], h.shape[axis]) - j[d];
        inside = inside && k[d] >= 0 && k[d] < x.shape[axis];
      }
      if (inside) sum += at(x, k) * at(h, j);
    });
    return sum;
  });
}
template <ConvolveMode Mode, ConvolveMethod Method = ConvolveMethod::direct>
Tensor convolve(X x) {
  return reel::convolve(x[0], x[1], Mode, Method);
}
template <ConvolveMode Mode>
Array convolve(A x) {
  return convolved(x[0], x[1], Mode);
}
template <ConvolveMode Mode, ConvolveMethod Method = ConvolveMethod::direct>
Tensor correlate(X x) {
  return reel::correlate(x[0], x[1], Mode, Method);
}
template <ConvolveMode Mode>
Array correlate(A x) {
  return convolved(x[0], reversed(x[1]), Mode);
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

Array spectra(A x, std::int64_t hop) {
  const std::int64_t n = x[1].shape[0], last = x[0].shape.rank() - 1, windows = (x[0].shape[last] - n) / hop + 1;
  Shape shape = x[0].shape;
  shape[last] = windows;
  shape.push_back(n / 2 + 1);
  shape.push_back(2);
  return build(shape, [&](Index i) {
    const bool imaginary = i.back() == 1;
    i.pop_back();
    const std::int64_t k = i.back();
    i.pop_back();
    const std::int64_t start = i.back() * hop;
    Real sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      i.back() = start + j;
      const Real angle = 2 * pi * static_cast<Real>(j * k) / static_cast<Real>(n);
      sum += at(x[0], i) * at(x[1], {j}) * (imaginary ? -std::sin(angle) : std::cos(angle));
    }
    return sum;
  });
}
// The signal of real and imaginary parts [windows, n / 2 + 1].
Array signal_of(A x, std::int64_t hop) {
  const std::int64_t windows = x[0].shape[0], n = x[2].shape[0], total = (windows - 1) * hop + n;
  Row sums(static_cast<std::size_t>(total)), squares(sums.size());
  for (std::int64_t w = 0; w < windows; ++w)
    for (std::int64_t j = 0; j < n; ++j) {
      Real sum = 0;
      for (std::int64_t k = 0; k < n / 2 + 1; ++k) {
        const Real angle = 2 * pi * static_cast<Real>(j * k) / static_cast<Real>(n);
        const bool alone = k == 0 || 2 * k == n;
        sum +=
            (alone ? 1 : 2) * (at(x[0], {w, k}) * std::cos(angle) - (alone ? 0 : at(x[1], {w, k}) * std::sin(angle)));
      }
      const auto to = static_cast<std::size_t>(w * hop + j);
      sums[to] += sum / static_cast<Real>(n) * at(x[2], {j});
      squares[to] += at(x[2], {j}) * at(x[2], {j});
    }
  return build({total}, [&](const Index& i) {
    return sums[static_cast<std::size_t>(i[0])] / squares[static_cast<std::size_t>(i[0])];
  });
}
template <std::size_t Operand>
Tensor positive_window(const Tensor& drawn, std::size_t operand) {
  return operand == Operand ? abs(drawn) * 0.5 + 0.5 : drawn;
}

// ---- Phases and trends

Array unwrapped(A x) {
  return along(x[0], -1, [](Row r) {
    for (std::size_t i = 1; i < r.size(); ++i)
      while (std::abs(r[i] - r[i - 1]) > 1) r[i] += r[i] < r[i - 1] ? 2 : -2;
    return r;
  });
}
// The cross spectral density of rows x and y, doubled on one side: its real, or else its imaginary parts.
Row cross_density(const Row& x, const Row& y, const Row& w, std::int64_t hop, std::int64_t n, bool imaginary) {
  const auto length = static_cast<std::int64_t>(w.size()),
             segments = (static_cast<std::int64_t>(x.size()) - length) / hop + 1;
  Row out;
  Real squares = 0;
  for (const Real v : w) squares += v * v;
  for (std::int64_t k = 0; k < n / 2 + 1; ++k) {
    Real sum = 0;
    for (std::int64_t i = 0; i < segments; ++i) {
      Real parts[2][2] = {};
      for (const std::size_t one : {std::size_t{0}, std::size_t{1}}) {
        const auto from = (one == 0 ? x : y).begin() + static_cast<std::ptrdiff_t>(i * hop);
        const Row segment = without_trend(Row(from, from + static_cast<std::ptrdiff_t>(length)), false);
        for (std::size_t j = 0; j < w.size(); ++j) {
          const Real angle = 2 * pi * static_cast<Real>(static_cast<std::int64_t>(j) * k) / static_cast<Real>(n);
          parts[one][0] += segment[j] * w[j] * std::cos(angle);
          parts[one][1] -= segment[j] * w[j] * std::sin(angle);
        }
      }
      sum += imaginary ? parts[0][0] * parts[1][1] - parts[0][1] * parts[1][0]
                       : parts[0][0] * parts[1][0] + parts[0][1] * parts[1][1];
    }
    out.push_back((k == 0 || 2 * k == n ? 1 : 2) * sum / squares / static_cast<Real>(segments));
  }
  return out;
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
      [](A x) { const auto part = [&](std::size_t a, std::size_t b) { return convolved(x[a], x[b], full_mode); }; const Array rr = part(0, 2), ii = part(1, 3), ri = part(0, 3), ir = part(1, 2); return build({4, 2}, [&](const Index& i) { return i[1] == 0 ? at(rr, {i[0]}) - at(ii, {i[0]}) : at(ri, {i[0]}) + at(ir, {i[0]}); }); }},
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
    {"istft", "3x3,3x3,4;2x3,2x3,5", [](X x) { return istft(make_complex(x[0], x[1]), x[2], 2); }, [](A x) { return signal_of(x, 2); }, {-2, 2}, positive_window<2>, none, 4},
    {"welch", "9,4;2x6,3", [](X x) { return welch(x[0], x[1]); }, [](A x) { const Row& w = x[1].values; const auto n = static_cast<std::int64_t>(w.size()); return along(x[0], -1, [&](const Row& r) { return cross_density(r, r, w, 2, n, false); }); }, {-2, 2}, shaped_window<1>, none, 10},
    {"csd", "9,9,4", [](X x) { return real(csd(x[0], x[1], x[2], {.hop = 3, .n = 5})); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return cross_density(r, x[1].values, x[2].values, 3, 5, false); }); }, {-2, 2}, shaped_window<2>, by_complex, 10},
    {"csd", "9,9,4", [](X x) { return imag(csd(x[0], x[1], x[2], {.hop = 3, .n = 5})); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return cross_density(r, x[1].values, x[2].values, 3, 5, true); }); }, {-2, 2}, shaped_window<2>, by_complex, 10},
    {"unwrap", "9;2x5", [](X x) { return unwrap(x[0], -1, 2); }, unwrapped},
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
