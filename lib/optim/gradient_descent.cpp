// SGD and Adam: state per variable, by its id. All of a step is checked before any of it is applied; tapes that are
// active record nothing of it.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/optim.hpp>

#include "core/fail.hpp"
#include "ops/index/rows.hpp"
#include "tape/record.hpp"

namespace reel {
namespace {

std::string label(const Variable& variable, std::size_t position) {
  return variable.name().empty() ? fmt::format("variable {}", position) : fmt::format("'{}'", variable.name());
}

// What a step reads and writes of a variable and of its state: everything, or the rows that slices name.
class Part {
 public:
  Part() = default;
  Part(const Variable& variable, Tensor gradient, Tensor rows)
      : shape_(variable.shape()), gradient_(std::move(gradient)), rows_(std::move(rows)) {}
  explicit operator bool() const { return gradient_.defined(); }
  /// The gradient, [m, rest] for m rows.
  const Tensor& gradient() const { return gradient_; }
  /// state = decay state + term, of which the new part is returned; an empty state is zero.
  Tensor decay(Tensor& state, double decay, const Tensor& term) const {
    if (!rows_.defined()) return state = state.defined() ? state * decay + term : term;
    if (!state.defined()) state = zeros(shape_, term.dtype());
    const Tensor part = gather(state, rows_) * decay + term;
    ops::put_rows(state, rows_, part);
    return part;
  }
  void subtract_from(const Variable& variable, Tensor step) const {
    if (rows_.defined())
      variable.assign_sub(Gradient(IndexedSlices{std::move(step), rows_, shape_}));
    else
      variable.assign_sub(step);
  }

 private:
  Shape shape_;
  Tensor gradient_, rows_;
};

// An empty part where there is no gradient. Throws for what does not fit.
std::vector<Part> checked_parts(const char* op, std::span<const Gradient> gradients,
                                std::span<const Variable> variables) {
  if (gradients.size() != variables.size())
    fail<ValueError>(op, "{} gradients for {} variables", gradients.size(), variables.size());
  std::vector<Part> parts(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Gradient& g = gradients[i];
    const Variable& v = variables[i];
    if (!g) continue;
    const IndexedSlices slices = g.is_slices() ? g.slices() : IndexedSlices{g.dense(), {}, g.dense().shape()};
    if (slices.dense_shape != v.shape())
      fail<ShapeError>(op, "the gradient of {} has shape {}, the variable {}", label(v, i), slices.dense_shape,
                       v.shape());
    if (slices.dtype() != v.dtype())
      fail<TypeError>(op, "the gradient of {} is {}, the variable {}", label(v, i), slices.dtype(), v.dtype());
    if (g.is_slices()) {
      ops::Rows rows = ops::distinct_rows(op, slices);
      parts[i] = {v, std::move(rows.values), std::move(rows.indices)};
    } else {
      parts[i] = {v, slices.values, {}};
    }
  }
  return parts;
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
  const std::vector<Part> parts = checked_parts("SGD", gradients, variables);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (!part) continue;
    Tensor direction = part.gradient();
    if (options.momentum > 0) {
      const Tensor velocity = part.decay(velocity_[variables[i].id()], options.momentum, part.gradient());
      direction = options.nesterov ? part.gradient() + velocity * options.momentum : velocity;
    }
    part.subtract_from(variables[i], std::move(direction) * options.learning_rate);
  }
}

Adam::Adam(const AdamOptions& o) : options(o) { require(options); }

void Adam::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const std::vector<Part> parts = checked_parts("Adam", gradients, variables);
  const double beta1 = options.beta1;
  const double beta2 = options.beta2;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (!part) continue;
    State& state = states_[variables[i].id()];
    const Tensor mean = part.decay(state.mean, beta1, part.gradient() * (1 - beta1));
    const Tensor mean_square = part.decay(state.square, beta2, square(part.gradient()) * (1 - beta2));
    const auto steps = static_cast<double>(++state.steps);
    const double rate = options.learning_rate / (1 - std::pow(beta1, steps));
    const double correction = 1 / (1 - std::pow(beta2, steps));
    part.subtract_from(variables[i], mean * rate / (sqrt(mean_square * correction) + options.epsilon));
  }
}

}  // namespace reel
