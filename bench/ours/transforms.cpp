// Fourier transforms of complex128, beside FFTW; and of complex128 and float64 beside libtorch, with the gradient for a
// given cotangent.
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

Tensor complex_numbers(const Shape& shape, std::uint64_t seed) {
  return make_complex(drawn(shape, seed, -1, 1, DType::float64), drawn(shape, seed + 1, -1, 1, DType::float64));
}
Tensor parts(const Tensor& x) { return is_complex(x.dtype()) ? stack({real(x), imag(x)}) : x; }

struct Row {
  const char* name;
  Shape shape;
  bool of_real;
  Tensor (*call)(const Tensor& x);
};
const Row rows[] = {
    {"fft of 1024", {1024}, false, [](const Tensor& x) { return fft(x); }},
    {"fft of [100,1000]", {100, 1000}, false, [](const Tensor& x) { return fft(x); }},
    {"fft of 65536", {65536}, false, [](const Tensor& x) { return fft(x); }},
    {"fft of 10007", {10007}, false, [](const Tensor& x) { return fft(x); }},
    {"rfft of 1024", {1024}, true, [](const Tensor& x) { return rfft(x); }},
    {"rfft of [100,1000]", {100, 1000}, true, [](const Tensor& x) { return rfft(x); }},
    {"rfft of 65536", {65536}, true, [](const Tensor& x) { return rfft(x); }},
    {"fft2 of [64,64]", {64, 64}, false, [](const Tensor& x) { return fft2(x); }},
    {"fft2 of [512,512]", {512, 512}, false, [](const Tensor& x) { return fft2(x); }},
};
Tensor operand_of(const Row& row) {
  return row.of_real ? drawn(row.shape, 1, -1, 1, DType::float64) : complex_numbers(row.shape, 1);
}
Body value_of(const Row& row) {
  return {[&row, x = operand_of(row)] { row.call(x); },
          body([&row, x = operand_of(row)] { return parts(row.call(x)); }).check};
}
Body gradient_of(const Row& row) {
  const Tensor x = operand_of(row), g = complex_numbers(row.call(x).shape(), 3);
  const auto run = [&row, x, g] {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(row.call(x), x, {.output_gradients = g});
  };
  return {[run] { run(); }, body([run] { return parts(run().dense()); }).check};
}

}  // namespace

std::vector<Case> transform_cases() {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const std::string name = row.name + std::string(row.of_real ? ", f64" : ", complex128");
    const bool beside_fftw = !row.of_real && row.shape.rank() == 1;  // below
    if (!beside_fftw) cases.push_back({.name = name, .make = [&row] { return value_of(row); }, .tolerance = 1e-6});
    cases.push_back({.name = name + ", gradient", .make = [&row] { return gradient_of(row); }, .tolerance = 1e-6});
  }
  for (const std::int64_t n : transform_lengths)
    cases.push_back({.name = transform_name(n), .make = transform_of(n), .tolerance = 1e-6});
  return cases;
}

}  // namespace bench
