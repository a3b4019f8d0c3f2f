// Logarithms of densities of 10^6 elements, float32, with as many parameters, and a divergence, beside libtorch:
// values, and gradients by all operands for a given cotangent.
#include <reel/stats.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

constexpr std::int64_t n = 1000000, classes = 100;

struct Row {
  const char* name;
  std::vector<std::pair<double, double>> ranges;  // of the operands
  Tensor (*call)(std::span<const Tensor> x);
};
// clang-format off
const Row rows[] = {
    {"norm_logpdf", {{-1, 1}, {-1, 1}, {0.5, 2}}, [](std::span<const Tensor> x) { return norm_logpdf(x[0], x[1], x[2]); }},
    {"gamma_logpdf", {{0.5, 2}, {0.5, 4}, {0.5, 2}}, [](std::span<const Tensor> x) { return gamma_logpdf(x[0], x[1], 0, x[2]); }},
    {"beta_logpdf", {{0.1, 0.9}, {0.5, 4}, {0.5, 4}}, [](std::span<const Tensor> x) { return beta_logpdf(x[0], x[1], x[2]); }},
    {"t_logpdf", {{-1, 1}, {1, 8}, {-1, 1}, {0.5, 2}}, [](std::span<const Tensor> x) { return t_logpdf(x[0], x[1], x[2], x[3]); }},
    {"norm_kl", {{-1, 1}, {0.5, 2}, {-1, 1}, {0.5, 2}}, [](std::span<const Tensor> x) { return norm_kl(x[0], x[1], x[2], x[3]); }},
};
// clang-format on

using Call = std::function<Tensor(std::span<const Tensor>)>;

std::vector<Tensor> operands_of(const Row& row) {
  std::vector<Tensor> x;
  for (const auto& [low, high] : row.ranges) x.push_back(drawn({n}, 1 + x.size(), low, high));
  return x;
}
Body values(const std::vector<Tensor>& x, const Call& call) {
  return body([=] { return call(x); });
}
Body gradients(const std::vector<Tensor>& x, const Call& call) {
  return body([=, g = drawn(call(x).shape(), 9)] {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(call(x), x, {.output_gradients = g});
  });
}
std::vector<Tensor> logits() { return {drawn({n / classes, classes}, 1)}; }
Call categorical() {
  const Tensor labels = cast(drawn({n / classes}, 2, 0, static_cast<double>(classes), DType::float64), DType::int64);
  return [labels](std::span<const Tensor> x) { return negative(sparse_softmax_cross_entropy(x[0], labels)); };
}

}  // namespace

std::vector<Case> distribution_cases() {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const std::string name = std::string(row.name) + " 1e6";
    cases.push_back({.name = name, .make = [&row] { return values(operands_of(row), row.call); }});
    cases.push_back({.name = name + ", gradient", .make = [&row] { return gradients(operands_of(row), row.call); }});
  }
  const std::string name = "categorical log density [10000,100]";
  cases.push_back({.name = name, .make = [] { return values(logits(), categorical()); }});
  cases.push_back({.name = name + ", gradient", .make = [] { return gradients(logits(), categorical()); }});
  return cases;
}

}  // namespace bench
