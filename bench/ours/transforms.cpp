// Fourier transforms of complex128, beside FFTW.
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

std::function<Body()> transform_of(std::int64_t n) {
  return [n] {
    const Tensor x = make_complex(drawn({n}, 1, -1, 1, DType::float64), drawn({n}, 2, -1, 1, DType::float64));
    return Body{[x] { fft(x); },
                [x] {
                  Checksum sum;
                  add_to(sum, stack({real(fft(x)), imag(fft(x))}));
                  return sum.value();
                }};
  };
}

}  // namespace

std::vector<Case> transform_cases() {
  std::vector<Case> cases;
  for (const std::int64_t n : transform_lengths)
    cases.push_back({.name = transform_name(n), .make = transform_of(n), .tolerance = 1e-6});
  return cases;
}

}  // namespace bench
