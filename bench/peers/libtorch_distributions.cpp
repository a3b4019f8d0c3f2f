// libtorch's side of bench/ours/distributions.cpp: the formulas of torch.distributions, with the same names and
// operands.
#include <span>

#include "libtorch.hpp"

namespace bench {

namespace {

constexpr std::int64_t n = 1000000, classes = 100;
const double log_root_2pi = 0.91893853320467274178, log_pi = 1.14472988584940017414;

struct Row {
  const char* name;
  std::vector<std::pair<double, double>> ranges;  // of the operands
  Tensor (*call)(std::span<const Tensor> x);
};
const Row rows[] = {
    {"norm_logpdf",
     {{-1, 1}, {-1, 1}, {0.5, 2}},
     [](std::span<const Tensor> x) { return -(x[0] - x[1]).pow(2) / (2 * x[2].pow(2)) - x[2].log() - log_root_2pi; }},
    {"gamma_logpdf",
     {{0.5, 2}, {0.5, 4}, {0.5, 2}},
     [](std::span<const Tensor> x) {
       const Tensor rate = 1 / x[2];
       return torch::xlogy(x[1], rate) + torch::xlogy(x[1] - 1, x[0]) - rate * x[0] - torch::lgamma(x[1]);
     }},
    {"beta_logpdf",
     {{0.1, 0.9}, {0.5, 4}, {0.5, 4}},
     [](std::span<const Tensor> x) {
       const Tensor alpha = torch::stack({x[1], x[2]}, -1), y = torch::stack({x[0], 1 - x[0]}, -1);
       return torch::xlogy(alpha - 1, y).sum(-1) + torch::lgamma(alpha.sum(-1)) - torch::lgamma(alpha).sum(-1);
     }},
    {"t_logpdf",
     {{-1, 1}, {1, 8}, {-1, 1}, {0.5, 2}},
     [](std::span<const Tensor> x) {
       const Tensor &df = x[1], y = (x[0] - x[2]) / x[3];
       const Tensor z =
           x[3].log() + 0.5 * df.log() + 0.5 * log_pi + torch::lgamma(0.5 * df) - torch::lgamma(0.5 * (df + 1));
       return -0.5 * (df + 1) * torch::log1p(y.pow(2) / df) - z;
     }},
    {"norm_kl",
     {{-1, 1}, {0.5, 2}, {-1, 1}, {0.5, 2}},
     [](std::span<const Tensor> x) {
       const Tensor ratio = (x[1] / x[3]).pow(2), d = ((x[0] - x[2]) / x[3]).pow(2);
       return 0.5 * (ratio + d - 1 - ratio.log());
     }},
};

using Call = std::function<Tensor(std::span<const Tensor>)>;

std::vector<Tensor> operands_of(const Row& row) {
  std::vector<Tensor> x;
  for (const auto& [low, high] : row.ranges) x.push_back(drawn({n}, 1 + x.size(), low, high));
  return x;
}
Body values(const std::vector<Tensor>& x, const Call& call) {
  return body([=] {
    const torch::NoGradGuard no_tape;
    return call(x);
  });
}
Body gradients(const std::vector<Tensor>& x, const Call& call) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : x) leaves.push_back(leaf(t));
  return body([=, g = drawn(call(x).sizes(), 9)] { return torch::autograd::grad({call(leaves)}, leaves, {g}); });
}
std::vector<Tensor> logits() { return {drawn({n / classes, classes}, 1)}; }
Call categorical() {
  const Tensor labels = drawn({n / classes}, 2, 0, static_cast<double>(classes), torch::kFloat64).to(torch::kInt64);
  return [labels](std::span<const Tensor> x) {
    return (x[0] - x[0].logsumexp(-1, true)).gather(-1, labels.unsqueeze(-1)).squeeze(-1);
  };
}

}  // namespace

std::vector<Case> libtorch_distributions() {
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
