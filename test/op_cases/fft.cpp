// Rows of the ops of <reel/fft.hpp>: complex operands are made of real ones, complex results are pairs of real numbers.
// The references are sums by the definition.
#include <numbers>
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

struct Complex {
  Array re, im;
};

// Along the axis: scale * the sum over j of exp(sign 2 pi i j k / n) x[j], x cut or padded to n numbers.
Complex transformed(const Complex& x, int axis, std::int64_t n, int sign, Real scale) {
  Complex y;
  for (const bool imaginary : {false, true}) {
    Shape shape = x.re.shape;
    const std::int64_t extent = shape[axis];
    shape[axis] = n;
    (imaginary ? y.im : y.re) = build(shape, [&](Index i) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t k = i[a];
      Real sum = 0;
      for (std::int64_t j = 0; j < n && j < extent; ++j) {
        i[a] = j;
        const Real angle = sign * 2 * std::numbers::pi_v<Real> * static_cast<Real>(j * k % n) / static_cast<Real>(n);
        const Real c = std::cos(angle), s = std::sin(angle);
        sum += imaginary ? at(x.re, i) * s + at(x.im, i) * c : at(x.re, i) * c - at(x.im, i) * s;
      }
      return sum * scale;
    });
  }
  return y;
}
Complex real_of(const Array& x) {
  return {x, build(x.shape, [](const Index&) { return Real(0); })};
}
Array pairs_of(const Complex& z) {
  Shape shape = z.re.shape;
  shape.push_back(2);
  return build(shape, [&](Index i) {
    const bool imaginary = i.back() == 1;
    i.pop_back();
    return at(imaginary ? z.im : z.re, i);
  });
}
Complex first(const Complex& z, int axis, std::int64_t count) {
  Shape shape = z.re.shape;
  shape[axis] = count;
  return {build(shape, [&](const Index& i) { return at(z.re, i); }),
          build(shape, [&](const Index& i) { return at(z.im, i); })};
}
// The signal of n real numbers whose spectrum begins with x, times scale * n.
Array from_half(const Complex& x, int axis, std::int64_t n, Real scale) {
  Shape shape = x.re.shape;
  const std::int64_t given = shape[axis];
  shape[axis] = n;
  const auto a = static_cast<std::size_t>(axis);
  const auto part = [&](bool imaginary) {
    return build(shape, [&](Index i) {
      const bool mirrored = 2 * i[a] > n;
      if (mirrored) i[a] = n - i[a];
      const bool real = i[a] == 0 || 2 * i[a] == n;
      if (i[a] >= given || (imaginary && real)) return Real(0);
      return imaginary ? (mirrored ? -at(x.im, i) : at(x.im, i)) : at(x.re, i);
    });
  };
  return transformed({part(false), part(true)}, axis, n, 1, scale).re;
}
Complex conjugate(Complex z) {
  for (Real& v : z.im.values) v = -v;
  return z;
}
// Rolled by the half, or back.
Array shifted(const Array& x, std::vector<std::size_t> axes, bool back) {
  return build(x.shape, [&](Index i) {
    for (const std::size_t a : axes) {
      const std::int64_t n = x.shape[static_cast<std::int64_t>(a)], half = n / 2;
      i[a] = (i[a] + (back ? half : n - half)) % n;
    }
    return at(x, i);
  });
}
Tensor z(X x) { return make_complex(x[0], x[1]); }
Complex z(A x) { return {x[0], x[1]}; }
int last(A x) { return x[0].shape.rank() - 1; }
std::int64_t extent(A x, int axis) { return x[0].shape[axis]; }
Real root(std::int64_t n) { return 1 / std::sqrt(static_cast<Real>(n)); }
Real part(std::int64_t n) { return 1 / static_cast<Real>(n); }
constexpr auto ortho = FftNorm::ortho, forward = FftNorm::forward;

// clang-format off
constexpr Shaped rows[] = {
    {"fft", "5,5;1,1;2x6,2x6;16,16", [](X x) { return as_real(fft(z(x))); }, [](A x) { return pairs_of(transformed(z(x), last(x), extent(x, last(x)), -1, 1)); }},
    {"fft", "17,17;2x34,2x34", [](X x) { return as_real(fft(z(x))); }, [](A x) { return pairs_of(transformed(z(x), last(x), extent(x, last(x)), -1, 1)); }, {-2, 2}, nullptr, none, 4},
    {"fft", "72", [](X x) { return as_real(fft(x[0])); }, [](A x) { return pairs_of(transformed(real_of(x[0]), 0, 72, -1, 1)); }, {-2, 2}, nullptr, none, 2},
    {"fft", "3x2;4x3", [](X x) { return as_real(fft(x[0], 5, 0, ortho)); }, [](A x) { return pairs_of(transformed(real_of(x[0]), 0, 5, -1, root(5))); }},
    {"fft", "2x7,2x7", [](X x) { return as_real(fft(z(x), 4, 1, forward)); }, [](A x) { return pairs_of(transformed(z(x), 1, 4, -1, part(4))); }},
    {"ifft", "5,5;2x6,2x6;1x11,1x11", [](X x) { return as_real(ifft(z(x))); }, [](A x) { return pairs_of(transformed(z(x), last(x), extent(x, last(x)), 1, part(extent(x, last(x))))); }},
    {"ifft", "19,19", [](X x) { return as_real(ifft(z(x), -1, 0, forward)); }, [](A x) { return pairs_of(transformed(z(x), 0, 19, 1, 1)); }, {-2, 2}, nullptr, none, 4},
    {"rfft", "8;7;1;2;2x6;3x5", [](X x) { return as_real(rfft(x[0])); }, [](A x) { const auto n = extent(x, last(x)); return pairs_of(first(transformed(real_of(x[0]), last(x), n, -1, 1), last(x), n / 2 + 1)); }},
    {"rfft", "4x3", [](X x) { return as_real(rfft(x[0], 6, 0, ortho)); }, [](A x) { return pairs_of(first(transformed(real_of(x[0]), 0, 6, -1, root(6)), 0, 4)); }},
    {"rfft", "2x9", [](X x) { return as_real(rfft(x[0], 5)); }, [](A x) { return pairs_of(first(transformed(real_of(x[0]), 1, 5, -1, 1), 1, 3)); }},
    {"irfft", "5,5;2x4,2x4;2,2", [](X x) { return irfft(z(x)); }, [](A x) { const auto n = 2 * (extent(x, last(x)) - 1); return from_half(z(x), last(x), n, part(n)); }},
    {"irfft", "3x4,3x4", [](X x) { return irfft(z(x), 7); }, [](A x) { return from_half(z(x), 1, 7, part(7)); }},
    {"irfft", "3x2,3x2;6x1,6x1", [](X x) { return irfft(z(x), 8, 0, forward); }, [](A x) { return from_half(z(x), 0, 8, 1); }},
    {"irfft", "3,3", [](X x) { return irfft(z(x), 1); }, [](A x) { return from_half(z(x), 0, 1, 1); }},
    {"hfft", "4,4;2x3,2x3", [](X x) { return hfft(z(x)); }, [](A x) { return from_half(conjugate(z(x)), last(x), 2 * (extent(x, last(x)) - 1), 1); }},
    {"hfft", "3x2,3x2", [](X x) { return hfft(z(x), 5, 0, forward); }, [](A x) { return from_half(conjugate(z(x)), 0, 5, part(5)); }},
    {"ihfft", "6;2x5", [](X x) { return as_real(ihfft(x[0])); }, [](A x) { const auto n = extent(x, last(x)); return pairs_of(conjugate(first(transformed(real_of(x[0]), last(x), n, -1, part(n)), last(x), n / 2 + 1))); }},
    {"fftn", "2x3,2x3;2x1x3,2x1x3", [](X x) { return as_real(fftn(z(x))); }, [](A x) { Complex y = z(x); for (int d = 0; d <= last(x); ++d) y = transformed(y, d, extent(x, d), -1, 1); return pairs_of(y); }},
    {"fftn", "2x3x2,2x3x2", [](X x) { return as_real(fftn(z(x), {3, 2}, {2, 0}, ortho)); }, [](A x) { return pairs_of(transformed(transformed(z(x), 0, 2, -1, root(2)), 2, 3, -1, root(3))); }},
    {"ifftn", "2x3,2x3", [](X x) { return as_real(ifftn(z(x), {4})); }, [](A x) { return pairs_of(transformed(z(x), 1, 4, 1, part(4))); }},
    {"rfftn", "3x4;2x5", [](X x) { return as_real(rfftn(x[0])); }, [](A x) { const auto n = extent(x, 1); return pairs_of(transformed(first(transformed(real_of(x[0]), 1, n, -1, 1), 1, n / 2 + 1), 0, extent(x, 0), -1, 1)); }},
    {"irfftn", "2x3,2x3", [](X x) { return irfftn(z(x)); }, [](A x) { return from_half(transformed(z(x), 0, 2, 1, part(2)), 1, 4, part(4)); }},
    {"fft2", "1x2x3,1x2x3", [](X x) { return as_real(fft2(z(x))); }, [](A x) { return pairs_of(transformed(transformed(z(x), 1, 2, -1, 1), 2, 3, -1, 1)); }},
    {"ifft2", "2x3,2x3", [](X x) { return as_real(ifft2(z(x))); }, [](A x) { return pairs_of(transformed(transformed(z(x), 0, 2, 1, part(2)), 1, 3, 1, part(3))); }},
    {"rfft2", "2x1x4", [](X x) { return as_real(rfft2(x[0], {3, 4})); }, [](A x) { return pairs_of(transformed(first(transformed(real_of(x[0]), 2, 4, -1, 1), 2, 3), 1, 3, -1, 1)); }},
    {"irfft2", "2x3,2x3", [](X x) { return irfft2(z(x), {2, 5}); }, [](A x) { return from_half(transformed(z(x), 0, 2, 1, part(2)), 1, 5, part(5)); }},
    {"fftshift", "5;6;2x3", [](X x) { return fftshift(x[0]); }, [](A x) { return shifted(x[0], last(x) == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1}, false); }, {-2, 2}, nullptr, integers},
    {"fftshift", "3x5", [](X x) { return fftshift(x[0], 1); }, [](A x) { return shifted(x[0], {1}, false); }, {-2, 2}, nullptr, integers},
    {"ifftshift", "5;6", [](X x) { return ifftshift(x[0]); }, [](A x) { return shifted(x[0], {0}, true); }, {-2, 2}, nullptr, integers},
};
// clang-format on

}  // namespace

std::span<const Shaped> fft_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
