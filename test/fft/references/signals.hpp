// Fourier's, cosine, sine and Hadamard's transforms, convolutions, short-time spectra, trends, phases and recursive
// filters over N, by the sums of their definitions.
#pragma once
#include <algorithm>

#include "../../kernels/references.hpp"
#include "../../op_cases/naive.hpp"

namespace cases::signals {

using random_programs::Jet;
using references::pi;

/// A sum whose error is that of its largest terms.
template <class N>
class Sum {
 public:
  void add(const N& x, Real factor) { add(x, factor, factor); }
  /// Where terms have errors as those of this factor.
  void add(const N& x, Real factor, [[maybe_unused]] Real size) {
    if constexpr (std::is_same_v<N, Jet>) {
      const random_programs::Exactly exactly;
      sum_ = sum_ + x * N(factor);
      grow(x, size);
    } else {
      sum_ += x * factor;
    }
  }
  void add(const N& x, const N& y) requires std::is_same_v<N, Jet> {
    const random_programs::Exactly exactly;
    const N product = x * y;
    sum_ = sum_ + product;
    grow(product, 1);
  }
  N done([[maybe_unused]] double units = 24) const {
    N y = sum_;
    if constexpr (std::is_same_v<N, Jet>)
      for (int m = 0; m < Jet::count; ++m) y.e[m] += units * Jet::unit * size_[m];
    return y;
  }

 private:
  void grow(const Jet& x, Real factor) {
    for (int m = 0; m < Jet::count; ++m) size_[m] += static_cast<double>(std::fabs(x.v[m] * factor));
  }
  N sum_ = 0;
  double size_[8] = {};
};

/// The matrix entry (k, j) of SciPy's definition.
inline Real wave_entry(std::int64_t type, bool sine, bool ortho, std::int64_t k, std::int64_t j, std::int64_t n) {
  const auto K = static_cast<Real>(k), J = static_cast<Real>(j), N = static_cast<Real>(n);
  const Real root = std::sqrt(Real(2)), once = ortho ? 1 / root : Real(0.5);
  const auto wave = [sine](Real angle) { return sine ? std::sin(angle * pi) : std::cos(angle * pi); };
  Real w = 2, period = 2 * N;
  if (type == 1) {
    period = sine ? 2 * N + 2 : 2 * N - 2;
    w *= sine ? wave((K + 1) * (J + 1) / (N + 1)) : wave(K * J / (N - 1));
    if (!sine && (j == 0 || j == n - 1)) w *= once;
    if (!sine && ortho && (k == 0 || k == n - 1)) w /= root;
  } else if (type == 2) {
    w *= sine ? wave((K + 1) * (2 * J + 1) / (2 * N)) : wave(K * (2 * J + 1) / (2 * N));
    if (ortho && k == (sine ? n - 1 : 0)) w /= root;
  } else if (type == 3) {
    w *= sine ? wave((J + 1) * (2 * K + 1) / (2 * N)) : wave(J * (2 * K + 1) / (2 * N));
    if (j == (sine ? n - 1 : 0)) w *= once;
  } else {
    w *= wave((2 * K + 1) * (2 * J + 1) / (4 * N));
  }
  return ortho ? w / std::sqrt(period) : w;
}
/// The inverse is the transform of the other type, divided by the number of elements of its period.
template <class N>
RowOf<N> wave_transform(const RowOf<N>& x, std::int64_t type, bool sine, bool ortho, bool inverse) {
  const auto n = static_cast<std::int64_t>(x.size());
  if (inverse && type != 4) type = type == 1 ? 1 : 5 - type;
  const Real period = static_cast<Real>(type > 1 ? 2 * n : sine ? 2 * n + 2 : 2 * n - 2);
  RowOf<N> y;
  for (std::int64_t k = 0; k < n; ++k) {
    Sum<N> sum;
    for (std::int64_t j = 0; j < n; ++j)
      sum.add(x[static_cast<std::size_t>(j)],
              wave_entry(type, sine, ortho, k, j, n) / (inverse && !ortho ? period : 1));
    y.push_back(sum.done());
  }
  return y;
}

template <class N>
RowOf<N> hadamard_transform(const RowOf<N>& x) {
  RowOf<N> y;
  for (std::size_t k = 0; k < x.size(); ++k) {
    Sum<N> sum;
    for (std::size_t j = 0; j < x.size(); ++j)
      sum.add(x[j], (__builtin_popcountll(j & k) % 2 == 1 ? -1 : 1) / std::sqrt(static_cast<Real>(x.size())));
    y.push_back(sum.done());
  }
  return y;
}

/// Less the mean, or the line of least squares.
template <class N>
RowOf<N> without_trend(const RowOf<N>& x, bool line) {
  const auto count = static_cast<Real>(x.size());
  const Real squares = count * (count * count - 1) / 12;
  RowOf<N> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Sum<N> sum;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const Real s = static_cast<Real>(i) - (count - 1) / 2, t = static_cast<Real>(j) - (count - 1) / 2;
      // Each on its own: the library rounds what is taken away.
      if (i == j) sum.add(x[j], 1);
      sum.add(x[j], -1 / count);
      if (line && x.size() > 1) sum.add(x[j], -s * t / squares);
    }
    y.push_back(sum.done());
  }
  return y;
}

/// Of coefficients b and a, a[0] not 0.
template <class N>
RowOf<N> filtered(const RowOf<N>& b, const RowOf<N>& a, const RowOf<N>& x) {
  RowOf<N> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    N sum = 0;
    for (std::size_t k = 0; k < b.size() && k <= i; ++k) sum = sum + b[k] / a[0] * x[i - k];
    for (std::size_t k = 1; k < a.size() && k <= i; ++k) sum = sum - a[k] / a[0] * y[i - k];
    y.push_back(sum);
  }
  return y;
}
/// By sections of six coefficients one after another.
template <class N>
RowOf<N> cascaded(const RowOf<N>& sections, RowOf<N> x) {
  for (auto at = sections.begin(); at != sections.end(); at += 6)
    x = filtered(RowOf<N>(at, at + 3), RowOf<N>(at + 3, at + 6), x);
  return x;
}

// ---- Fourier transforms

template <class N>
struct Complex {
  N re = 0, im = 0;
};
template <class N>
RowOf<Complex<N>> conjugate(RowOf<Complex<N>> x) {
  for (Complex<N>& z : x) z.im = -z.im;
  return x;
}
/// The sums over j of scale exp(sign 2 pi i j k / n) x[j], x cut or padded to n numbers.
template <class N>
RowOf<Complex<N>> fourier_sums(const RowOf<Complex<N>>& x, std::int64_t n, int sign, Real scale) {
  RowOf<Complex<N>> y;
  for (std::int64_t k = 0; k < n; ++k) {
    Sum<N> re, im;
    for (std::int64_t j = 0; j < std::min(n, static_cast<std::int64_t>(x.size())); ++j) {
      const Complex<N>& z = x[static_cast<std::size_t>(j)];
      const Real angle = 2 * pi * static_cast<Real>(j * k % n) / static_cast<Real>(n);
      const Real c = scale * std::cos(angle), s = scale * sign * std::sin(angle);
      re.add(z.re, c, scale), re.add(z.im, -s, scale);
      im.add(z.re, s, scale), im.add(z.im, c, scale);
    }
    y.push_back({re.done(16), im.done(16)});
  }
  return y;
}
/// The n numbers, one the conjugate of another, of which x is the first half.
template <class N>
RowOf<Complex<N>> mirrored(const RowOf<Complex<N>>& x, std::int64_t n) {
  RowOf<Complex<N>> y(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const bool far = 2 * k > n;
    const auto from = static_cast<std::size_t>(far ? n - k : k);
    if (from >= x.size()) continue;
    Complex<N>& z = y[static_cast<std::size_t>(k)] = x[from];
    if (far) z.im = -z.im;
    if (k == 0 || 2 * k == n) z.im = N(0);
  }
  return y;
}

/// What is computed of the last axis: all numbers, the first half of the spectrum of real numbers, or the real numbers
/// of half a spectrum.
enum class Spectrum { all, half, whole };
struct Transform {
  Spectrum spectrum = Spectrum::all;
  bool inverse = false;  // of the sign and the norm
  bool mirror = false;   // the sign is the other one: hfft and ihfft
};
inline constexpr Transform fft_of{}, ifft_of{Spectrum::all, true}, rfft_of{Spectrum::half},
    irfft_of{Spectrum::whole, true}, hfft_of{Spectrum::whole, false, true}, ihfft_of{Spectrum::half, true, true};
/// FftNorm's.
inline Real scale_of(int norm, bool inverse, std::int64_t n) {
  if (norm == 1) return 1 / std::sqrt(static_cast<Real>(n));
  return (norm == 0) == inverse ? 1 / static_cast<Real>(n) : 1;
}
template <class N>
RowOf<Complex<N>> transformed_row(const Transform& t, const RowOf<Complex<N>>& x, std::int64_t n, Real scale,
                                  bool last) {
  if (!last || t.spectrum == Spectrum::all) return fourier_sums(x, n, t.inverse ? 1 : -1, scale);
  if (t.spectrum == Spectrum::whole) {
    RowOf<Complex<N>> y = fourier_sums(mirrored(t.mirror ? conjugate(x) : x, n), n, 1, scale);
    for (Complex<N>& z : y) z.im = N(0);
    return y;
  }
  RowOf<Complex<N>> y = fourier_sums(x, n, -1, scale);
  y.resize(static_cast<std::size_t>(n / 2 + 1));
  return t.mirror ? conjugate(y) : y;
}
/// Along the axes; no lengths: all. The halved axis is the first to be halved and the last to be made whole.
template <class N>
ArrayOf<Complex<N>> transformed(const Transform& t, ArrayOf<Complex<N>> x, const std::vector<std::int64_t>& axes,
                                const std::vector<std::int64_t>& lengths = {}, int norm = 0) {
  const Extents shape = x.shape;
  for (std::size_t step = 0; step < axes.size(); ++step) {
    const std::size_t k = t.spectrum == Spectrum::whole ? step : axes.size() - 1 - step;
    const bool last = k + 1 == axes.size();
    const std::int64_t own = shape[axes[k]];
    const std::int64_t n = !lengths.empty() ? lengths[k] : last && t.spectrum == Spectrum::whole ? 2 * (own - 1) : own;
    x = along(x, axes[k], [&](const RowOf<Complex<N>>& row) {
      return transformed_row(t, row, n, scale_of(norm, t.inverse, n), last);
    });
  }
  return x;
}
/// Rolled by the half, or back.
template <class N>
ArrayOf<N> half_rolled(ArrayOf<N> x, const std::vector<std::int64_t>& axes, bool back) {
  for (const std::int64_t axis : axes)
    x = along(x, axis, [&](RowOf<N> row) {
      const std::size_t half = row.size() / 2;
      std::rotate(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(back ? half : row.size() - half), row.end());
      return row;
    });
  return x;
}

// ---- Convolution. The mode is ConvolveMode's: full, same, valid.

template <class N>
ArrayOf<N> reversed(const ArrayOf<N>& x) {
  return {x.shape, {x.values.rbegin(), x.values.rend()}};
}
template <class N>
ArrayOf<N> convolved(const ArrayOf<N>& x, const ArrayOf<N>& h, int mode) {
  Extents shape, first;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const std::int64_t n = x.shape[d], m = h.shape[d], shorter = std::min(n, m);
    shape.push_back(mode == 0 ? n + m - 1 : mode == 1 ? n : std::max(n, m) - shorter + 1);
    first.push_back(mode == 0 ? 0 : mode == 1 ? (m - 1) / 2 : shorter - 1);
  }
  return build<N>(shape, [&](const Index& i) {
    Sum<N> sum;
    for_each_index(h.shape, [&](const Index& j) {
      Index k = i;
      bool inside = true;
      for (std::size_t d = 0; d < i.size(); ++d) {
        k[d] += first.at(d) - j[d];
        inside = inside && k[d] >= 0 && k[d] < x.shape.at(d);
      }
      if (inside) sum.add(at(x, k), at(h, j));
    });
    return sum.done();
  });
}

// ---- Short-time spectra of a row, of which a window w takes one segment every `hop` numbers

template <class N>
RowOf<N> segment(const RowOf<N>& x, std::size_t from, std::size_t count) {
  const auto begin = x.begin() + static_cast<std::ptrdiff_t>(from);
  return RowOf<N>(begin, begin + static_cast<std::ptrdiff_t>(count));
}
template <class N>
RowOf<Complex<N>> windowed_spectrum(const RowOf<N>& x, const RowOf<N>& w, std::int64_t n) {
  RowOf<Complex<N>> z;
  for (std::size_t j = 0; j < w.size(); ++j) z.push_back({x[j] * w[j], N(0)});
  return transformed_row(rfft_of, z, n, 1, true);
}
/// [segments, n / 2 + 1] for a window of n numbers.
template <class N>
RowOf<Complex<N>> short_time_spectra(const RowOf<N>& x, const RowOf<N>& w, std::size_t hop) {
  RowOf<Complex<N>> all;
  for (std::size_t from = 0; from + w.size() <= x.size(); from += hop) {
    const auto one = windowed_spectrum(segment(x, from, w.size()), w, static_cast<std::int64_t>(w.size()));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
/// The signal of such spectra: sums of the segments times the window, by those of its squares.
template <class N>
RowOf<N> signal_of(const RowOf<Complex<N>>& spectra, const RowOf<N>& w, std::size_t hop) {
  const std::size_t n = w.size(), half = n / 2 + 1, segments = spectra.size() / half;
  RowOf<N> y((segments - 1) * hop + n), squares(y.size());
  for (std::size_t i = 0; i < segments; ++i) {
    const auto one = transformed_row(irfft_of, segment(spectra, i * half, half), static_cast<std::int64_t>(n),
                                     1 / static_cast<Real>(n), true);
    for (std::size_t j = 0; j < n; ++j) {
      y[i * hop + j] = y[i * hop + j] + one[j].re * w[j];
      squares[i * hop + j] = squares[i * hop + j] + w[j] * w[j];
    }
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = y[i] / squares[i];
  return y;
}
/// The mean of conj(spectrum of x) spectrum of y of segments less their means, padded to n, doubled on one side.
template <class N>
RowOf<Complex<N>> cross_density(const RowOf<N>& x, const RowOf<N>& y, const RowOf<N>& w, std::size_t hop,
                                std::int64_t n) {
  RowOf<Complex<N>> density;
  N squares = 0;
  for (const N& v : w) squares = squares + v * v;
  for (std::int64_t k = 0; k < n / 2 + 1; ++k) {
    Sum<N> re, im;
    std::size_t segments = 0;
    for (std::size_t from = 0; from + w.size() <= x.size(); from += hop, ++segments) {
      const auto spectrum = [&](const RowOf<N>& row) {
        return windowed_spectrum(without_trend(segment(row, from, w.size()), false), w, n)[static_cast<std::size_t>(k)];
      };
      const Complex<N> a = spectrum(x), b = spectrum(y);
      re.add(a.re, b.re), re.add(a.im, b.im);
      im.add(a.re, b.im), im.add(a.im, -b.re);
    }
    const N factor = N((k == 0 || 2 * k == n ? 1 : 2) / static_cast<Real>(segments)) / squares;
    density.push_back({re.done() * factor, im.done() * factor});
  }
  return density;
}

/// Steps of more than half the period 2 become shorter by multiples of it.
template <class N>
RowOf<N> unwrapped(const RowOf<N>& x) {
  RowOf<N> y = x;
  Real added = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const Real turns = (value_of(x[i]) - value_of(x[i - 1])) / 2;
    require<N>(std::fabs(std::fabs(turns - std::floor(turns)) - 0.5L) >= 0.05L);
    added -= 2 * std::nearbyint(turns);
    Sum<N> sum;
    sum.add(x[i], 1);
    sum.add(N(added), 1);
    y[i] = sum.done();
  }
  return y;
}

}  // namespace cases::signals
