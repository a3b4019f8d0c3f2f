// SGD and Adam: state per variable, by its id. All of a step is checked before any of it is applied; tapes that are
// active record nothing of it.
#include <cmath>
#include <reel/ops/pointwise.hpp>
#include <reel/optim.hpp>

#include "core/fail.hpp"
#include "tape/record.hpp"

namespace reel {
namespace {

std::string label(const Variable& variable, std::size_t position) {
  return variable.name().empty() ? fmt::format("variable {}", position) : fmt::format("'{}'", variable.name());
}

// The gradients as tensors, an empty handle where none. Throws for what does not fit.
std::vector<Tensor> checked_gradients(const char* op, std::span<const Gradient> gradients,
                                      std::span<const Variable> variables) {
  if (gradients.size() != variables.size())
    fail<ValueError>(op, "{} gradients for {} variables", gradients.size(), variables.size());
  std::vector<Tensor> dense(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    dense[i] = gradients[i].dense();
    if (dense[i].shape() != variables[i].shape())
      fail<ShapeError>(op, "the gradient of {} has shape {}, the variable {}", label(variables[i], i), dense[i].shape(),
                       variables[i].shape());
    if (dense[i].dtype() != variables[i].dtype())
      fail<TypeError>(op, "the gradient of {} is {}, the variable {}", label(variables[i], i), dense[i].dtype(),
                      variables[i].dtype());
  }
  return dense;
}

void require_rate(const char* op, double rate) {
  if (!(rate >= 0) || std::isinf(rate))
    fail<ValueError>(op, "learning_rate is {}, must be finite and not negative", rate);
}

void require_decay(const char* op, const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail<ValueError>(op, "{} is {}, must lie in [0, 1)", name, value);
}

void require(const SGDOptions& o) {
  require_rate("SGD", o.learning_rate);
  require_decay("SGD", "momentum", o.momentum);
}

void require(const AdamOptions& o) {
  require_rate("Adam", o.learning_rate);
  require_decay("Adam", "beta1", o.beta1);
  require_decay("Adam", "beta2", o.beta2);
  if (!(o.epsilon >= 0)) fail<ValueError>("Adam", "epsilon is {}, must not be negative", o.epsilon);
}

}  // namespace

SGD::SGD(const SGDOptions& o) : options(o) { require(options); }

void SGD::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const std::vector<Tensor> dense = checked_gradients("SGD", gradients, variables);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const Tensor& g = dense[i];
    if (!g.defined()) continue;
    Tensor direction = g;
    if (options.momentum > 0) {
      Tensor& kept = velocity_[variables[i].id()];
      Tensor velocity = kept.defined() ? kept * options.momentum + g : g;
      direction = options.nesterov ? g + velocity * options.momentum : velocity;
      kept = std::move(velocity);
    }
    variables[i].assign_sub(std::move(direction) * options.learning_rate);
  }
}

Adam::Adam(const AdamOptions& o) : options(o) { require(options); }

void Adam::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const std::vector<Tensor> dense = checked_gradients("Adam", gradients, variables);
  const double beta1 = options.beta1;
  const double beta2 = options.beta2;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const Tensor& g = dense[i];
    if (!g.defined()) continue;
    State& state = states_[variables[i].id()];
    const bool first = state.steps == 0;
    Tensor mean = first ? g * (1 - beta1) : state.mean * beta1 + g * (1 - beta1);
    Tensor mean_square = first ? square(g) * (1 - beta2) : state.square * beta2 + square(g) * (1 - beta2);
    const double steps = static_cast<double>(state.steps + 1);
    const double rate = options.learning_rate / (1 - std::pow(beta1, steps));
    const double correction = 1 / (1 - std::pow(beta2, steps));
    variables[i].assign_sub(mean * rate / (sqrt(mean_square * correction) + options.epsilon));
    state = {std::move(mean), std::move(mean_square), state.steps + 1};
  }
}

}  // namespace reel
