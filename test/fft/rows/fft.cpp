// Rows of the ops of <reel/fft.hpp>: complex operands are made of real ones, complex results are pairs of real numbers.
// The references are sums by the definition.
#include <numeric>
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "../references/signals.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace signals;
using X = Operands;
using A = Arrays;

ArrayOf<Complex<Real>> complex_of(const Array& re, const Row& im) {
  ArrayOf<Complex<Real>> y{re.shape, {}};
  for (std::size_t k = 0; k < re.values.size(); ++k) y.values.push_back({re.values[k], im[k]});
  return y;
}
ArrayOf<Complex<Real>> real_of(const Array& x) { return complex_of(x, Row(x.values.size())); }
ArrayOf<Complex<Real>> z(A x) { return complex_of(x[0], x[1].values); }
Tensor z(X x) { return make_complex(x[0], x[1]); }
Array re_of(const ArrayOf<Complex<Real>>& z) {
  Array y{z.shape, {}};
  for (const Complex<Real>& v : z.values) y.values.push_back(v.re);
  return y;
}
Array pairs_of(const ArrayOf<Complex<Real>>& z) {
  Array y{z.shape, {}};
  y.shape.push_back(2);
  for (const Complex<Real>& v : z.values) y.values.push_back(v.re), y.values.push_back(v.im);
  return y;
}
std::vector<std::int64_t> axes_of(A x) {
  std::vector<std::int64_t> axes(x[0].shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}
constexpr auto ortho = FftNorm::ortho, forward = FftNorm::forward;
constexpr int ortho_norm = 1, forward_norm = 2;

// clang-format off
constexpr Shaped rows[] = {
    {"fft", "5,5;1,1;2x6,2x6;16,16", [](X x) { return as_real(fft(z(x))); }, [](A x) { return pairs_of(transformed(fft_of, z(x), {-1})); }},
    {"fft", "17,17;2x34,2x34", [](X x) { return as_real(fft(z(x))); }, [](A x) { return pairs_of(transformed(fft_of, z(x), {-1})); }, {-2, 2}, nullptr, none, 4},
    {"fft", "72", [](X x) { return as_real(fft(x[0])); }, [](A x) { return pairs_of(transformed(fft_of, real_of(x[0]), {-1})); }, {-2, 2}, nullptr, none, 2},
    {"fft", "3x2;4x3", [](X x) { return as_real(fft(x[0], 5, 0, ortho)); }, [](A x) { return pairs_of(transformed(fft_of, real_of(x[0]), {0}, {5}, ortho_norm)); }},
    {"fft", "2x7,2x7", [](X x) { return as_real(fft(z(x), 4, 1, forward)); }, [](A x) { return pairs_of(transformed(fft_of, z(x), {1}, {4}, forward_norm)); }},
    {"ifft", "5,5;2x6,2x6;1x11,1x11", [](X x) { return as_real(ifft(z(x))); }, [](A x) { return pairs_of(transformed(ifft_of, z(x), {-1})); }},
    {"ifft", "19,19", [](X x) { return as_real(ifft(z(x), -1, 0, forward)); }, [](A x) { return pairs_of(transformed(ifft_of, z(x), {0}, {}, forward_norm)); }, {-2, 2}, nullptr, none, 4},
    {"rfft", "8;7;1;2;2x6;3x5", [](X x) { return as_real(rfft(x[0])); }, [](A x) { return pairs_of(transformed(rfft_of, real_of(x[0]), {-1})); }},
    {"rfft", "4x3", [](X x) { return as_real(rfft(x[0], 6, 0, ortho)); }, [](A x) { return pairs_of(transformed(rfft_of, real_of(x[0]), {0}, {6}, ortho_norm)); }},
    {"rfft", "2x9", [](X x) { return as_real(rfft(x[0], 5)); }, [](A x) { return pairs_of(transformed(rfft_of, real_of(x[0]), {1}, {5})); }},
    {"irfft", "5,5;2x4,2x4;2,2", [](X x) { return irfft(z(x)); }, [](A x) { return re_of(transformed(irfft_of, z(x), {-1})); }},
    {"irfft", "3x4,3x4", [](X x) { return irfft(z(x), 7); }, [](A x) { return re_of(transformed(irfft_of, z(x), {1}, {7})); }},
    {"irfft", "3x2,3x2;6x1,6x1", [](X x) { return irfft(z(x), 8, 0, forward); }, [](A x) { return re_of(transformed(irfft_of, z(x), {0}, {8}, forward_norm)); }},
    {"irfft", "3,3", [](X x) { return irfft(z(x), 1); }, [](A x) { return re_of(transformed(irfft_of, z(x), {0}, {1})); }},
    {"hfft", "4,4;2x3,2x3", [](X x) { return hfft(z(x)); }, [](A x) { return re_of(transformed(hfft_of, z(x), {-1})); }},
    {"hfft", "3x2,3x2", [](X x) { return hfft(z(x), 5, 0, forward); }, [](A x) { return re_of(transformed(hfft_of, z(x), {0}, {5}, forward_norm)); }},
    {"ihfft", "6;2x5", [](X x) { return as_real(ihfft(x[0])); }, [](A x) { return pairs_of(transformed(ihfft_of, real_of(x[0]), {-1})); }},
    {"fftn", "2x3,2x3;2x1x3,2x1x3", [](X x) { return as_real(fftn(z(x))); }, [](A x) { return pairs_of(transformed(fft_of, z(x), axes_of(x))); }},
    {"fftn", "2x3x2,2x3x2", [](X x) { return as_real(fftn(z(x), {3, 2}, {2, 0}, ortho)); }, [](A x) { return pairs_of(transformed(fft_of, z(x), {2, 0}, {3, 2}, ortho_norm)); }},
    {"ifftn", "2x3,2x3", [](X x) { return as_real(ifftn(z(x), {4})); }, [](A x) { return pairs_of(transformed(ifft_of, z(x), {1}, {4})); }},
    {"rfftn", "3x4;2x5", [](X x) { return as_real(rfftn(x[0])); }, [](A x) { return pairs_of(transformed(rfft_of, real_of(x[0]), {0, 1})); }},
    {"irfftn", "2x3,2x3", [](X x) { return irfftn(z(x)); }, [](A x) { return re_of(transformed(irfft_of, z(x), {0, 1})); }},
    {"fft2", "1x2x3,1x2x3", [](X x) { return as_real(fft2(z(x))); }, [](A x) { return pairs_of(transformed(fft_of, z(x), {1, 2})); }},
    {"ifft2", "2x3,2x3", [](X x) { return as_real(ifft2(z(x))); }, [](A x) { return pairs_of(transformed(ifft_of, z(x), {0, 1})); }},
    {"rfft2", "2x1x4", [](X x) { return as_real(rfft2(x[0], {3, 4})); }, [](A x) { return pairs_of(transformed(rfft_of, real_of(x[0]), {1, 2}, {3, 4})); }},
    {"irfft2", "2x3,2x3", [](X x) { return irfft2(z(x), {2, 5}); }, [](A x) { return re_of(transformed(irfft_of, z(x), {0, 1}, {2, 5})); }},
    {"fftshift", "5;6;2x3", [](X x) { return fftshift(x[0]); }, [](A x) { return half_rolled(x[0], axes_of(x), false); }, {-2, 2}, nullptr, integers},
    {"fftshift", "3x5", [](X x) { return fftshift(x[0], 1); }, [](A x) { return half_rolled(x[0], {1}, false); }, {-2, 2}, nullptr, integers},
    {"ifftshift", "5;6", [](X x) { return ifftshift(x[0]); }, [](A x) { return half_rolled(x[0], {0}, true); }, {-2, 2}, nullptr, integers},
};
// clang-format on

}  // namespace

std::span<const Shaped> fft_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
