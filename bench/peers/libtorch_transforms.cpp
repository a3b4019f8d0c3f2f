// libtorch's side of the rows of bench/ours/transforms.cpp that have a gradient: the same names and operands.
#include "libtorch.hpp"

namespace bench {

namespace {

using Shape = std::vector<std::int64_t>;

Tensor complex_numbers(torch::IntArrayRef shape, std::uint64_t seed) {
  return torch::complex(drawn(shape, seed, -1, 1, torch::kFloat64), drawn(shape, seed + 1, -1, 1, torch::kFloat64));
}
Tensor parts(const Tensor& x) { return x.is_complex() ? torch::stack({torch::real(x), torch::imag(x)}) : x; }

struct Row {
  const char* name;
  Shape shape;
  bool of_real;
  Tensor (*call)(const Tensor& x);
};
const Row rows[] = {
    {"fft of 1024", {1024}, false, [](const Tensor& x) { return torch::fft_fft(x); }},
    {"fft of [100,1000]", {100, 1000}, false, [](const Tensor& x) { return torch::fft_fft(x); }},
    {"fft of 65536", {65536}, false, [](const Tensor& x) { return torch::fft_fft(x); }},
    {"fft of 10007", {10007}, false, [](const Tensor& x) { return torch::fft_fft(x); }},
    {"rfft of 1024", {1024}, true, [](const Tensor& x) { return torch::fft_rfft(x); }},
    {"rfft of [100,1000]", {100, 1000}, true, [](const Tensor& x) { return torch::fft_rfft(x); }},
    {"rfft of 65536", {65536}, true, [](const Tensor& x) { return torch::fft_rfft(x); }},
    {"fft2 of [64,64]", {64, 64}, false, [](const Tensor& x) { return torch::fft_fft2(x); }},
    {"fft2 of [512,512]", {512, 512}, false, [](const Tensor& x) { return torch::fft_fft2(x); }},
};
Tensor operand_of(const Row& row) {
  return row.of_real ? drawn(row.shape, 1, -1, 1, torch::kFloat64) : complex_numbers(row.shape, 1);
}
Body value_of(const Row& row) {
  const auto run = [&row, x = operand_of(row)] {
    const torch::NoGradGuard no_tape;
    return row.call(x);
  };
  return {[run] { run(); }, [run] { return sum_of(parts(run())); }};
}
Body gradient_of(const Row& row) {
  const Tensor x = leaf(operand_of(row)), g = complex_numbers(row.call(operand_of(row)).sizes(), 3);
  const auto run = [&row, x, g] { return torch::autograd::grad({row.call(x)}, {x}, {g})[0]; };
  return {[run] { run(); }, [run] { return sum_of(parts(run())); }};
}

}  // namespace

std::vector<Case> libtorch_transforms() {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const std::string name = row.name + std::string(row.of_real ? ", f64" : ", complex128");
    cases.push_back({.name = name, .make = [&row] { return value_of(row); }});
    cases.push_back({.name = name + ", gradient", .make = [&row] { return gradient_of(row); }});
  }
  return cases;
}

}  // namespace bench
