// Steps of training and gradients of networks.
#include <reel/compile.hpp>
#include <reel/optim.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

// Layers of the given widths with relu between them, softmax cross entropy, plain gradient descent.
class Mlp {
 public:
  Mlp(const std::vector<std::int64_t>& widths, std::int64_t batch) : x_(drawn({batch, widths[0]}, 1)) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const double bound = 1 / std::sqrt(static_cast<double>(widths[i]));
      parameters_.emplace_back(drawn({widths[i], widths[i + 1]}, 10 + i, -bound, bound));
      parameters_.emplace_back(drawn({widths[i + 1]}, 20 + i, -bound, bound));
    }
    const std::int64_t classes = widths.back();
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < batch; ++i) labels.push_back(i % classes);
    labels_ = from_data(labels);
  }

  void step() {
    GradientTape tape;
    Tensor h = x_;
    for (std::size_t i = 0; i < parameters_.size(); i += 2) {
      h = matmul(h, parameters_[i]) + parameters_[i + 1];
      if (i + 2 < parameters_.size()) h = relu(h);
    }
    sgd_.step(tape.gradient(mean(sparse_softmax_cross_entropy(h, labels_)), parameters_), parameters_);
  }

  double check() const {
    Checksum sum;
    for (const Variable& p : parameters_) add_to(sum, p);
    return sum.value();
  }

 private:
  SGD sgd_{{.learning_rate = 0.01}};
  Tensor x_, labels_;
  std::vector<Variable> parameters_;
};

Case mlp(const std::string& name, const std::vector<std::int64_t>& widths, std::int64_t batch, bool compiled = false) {
  double products = 0;  // of a step: the first layer needs no gradient of its input
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    products += static_cast<double>((i ? 3 : 2) * widths[i] * widths[i + 1]);
  return {.name = name,
          .make =
              [=] {
                const auto network = std::make_shared<Mlp>(widths, batch);
                std::function<void()> step = [network] { network->step(); };
                if (compiled) step = compile(step);
                return Body{step,
                            [network, step] {
                              step();
                              return network->check();
                            },
                            [step] {
                              for (int i = 0; i < 3; ++i) step();
                              const std::int64_t before = memory_stats().pool_misses;
                              for (int i = 0; i < 8; ++i) step();
                              const auto misses = static_cast<double>(memory_stats().pool_misses - before);
                              return Extra{{"allocations_per_step", misses / 8}};
                            }};
              },
          .flops = 2 * products * static_cast<double>(batch)};
}

// The last state of an LSTM cell, unrolled over the steps; gates in the order input, forget, cell, output.
Tensor lstm(const std::vector<Tensor>& x, const Tensor& w, const Tensor& u, const Tensor& b, Tensor h, Tensor c) {
  for (const Tensor& input : x) {
    const std::vector<Tensor> gates = split(matmul(input, w) + matmul(h, u) + b, 4, 1);
    c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    h = sigmoid(gates[3]) * tanh(c);
  }
  return sum(h);
}

Body lstm_gradient(bool compiled) {
  constexpr std::int64_t steps = 50, batch = 16, inputs = 32, states = 64;
  std::vector<Tensor> x;
  for (std::int64_t t = 0; t < steps; ++t) x.push_back(drawn({batch, inputs}, 100 + static_cast<std::uint64_t>(t)));
  const std::vector<Tensor> p = {drawn({inputs, 4 * states}, 1, -0.15, 0.15),
                                 drawn({states, 4 * states}, 2, -0.15, 0.15), drawn({4 * states}, 3, -0.15, 0.15)};
  const Tensor zero = zeros({batch, states}, DType::float32);
  const auto slopes = [=](const std::vector<Tensor>& at) {
    GradientTape tape;
    tape.watch(at);
    std::vector<Tensor> list;
    for (const Gradient& g : tape.gradient(lstm(x, at[0], at[1], at[2], zero, zero), at)) list.push_back(*g);
    return list;
  };
  if (compiled) return body([p, f = compile(slopes)] { return f(p); });
  return body([=] { return slopes(p); });
}

}  // namespace

std::vector<Case> network_cases() {
  return {mlp("MLP 13-32-32-3, batch 16, SGD step", {13, 32, 32, 3}, 16),
          mlp("MLP 784-256-128-10, batch 64, SGD step", {784, 256, 128, 10}, 64),
          mlp("MLP 784-1024-1024-10, batch 256, SGD step", {784, 1024, 1024, 10}, 256),
          mlp("MLP 13-32-32-3, batch 16, SGD step, compiled", {13, 32, 32, 3}, 16, true),
          {.name = "LSTM unrolled T50 B16 I32 H64, gradient", .make = [] { return lstm_gradient(false); }},
          {.name = "LSTM unrolled T50 B16 I32 H64, gradient, compiled", .make = [] { return lstm_gradient(true); }}};
}

}  // namespace bench
