// SGD and Adam: state per variable, by its id. All of a step is checked before any of it is applied; tapes that are
// active record nothing of it.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/optim.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "optim/update.hpp"
#include "tape/tape.hpp"

namespace reel {
namespace {

std::string label(const Variable& variable, std::size_t position) {
  return variable.name().empty() ? fmt::format("variable {}", position) : fmt::format("'{}'", variable.name());
}

// x is the variable's value, then what is remembered; n as the steps below list it.
constexpr auto descent = [](auto x, auto g, auto n) {
  x[0] = x[0] - g * n[0];
  return x;
};
constexpr auto momentum = [](auto x, auto g, auto n) {
  x[1] = x[1] * n[1] + g;
  x[0] = x[0] - x[1] * n[0];
  return x;
};
constexpr auto nesterov = [](auto x, auto g, auto n) {
  x[1] = x[1] * n[1] + g;
  x[0] = x[0] - (g + x[1] * n[1]) * n[0];
  return x;
};
constexpr auto moments = [](auto x, auto g, auto n) {
  x[1] = x[1] * n[0] + g * n[1];
  x[2] = x[2] * n[2] + square(g) * n[3];
  x[0] = x[0] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
  return x;
};

// What a step reads and writes of a variable and of its state: everything, or the rows that slices name. A gradient
// that is a tensor stays where it is while the step lasts.
class Part {
 public:
  Part() = default;
  explicit Part(const Tensor& gradient) : whole_(&gradient) {}
  explicit Part(ops::Rows rows) : rows_(std::move(rows)) {}
  explicit operator bool() const { return whole_ || rows_.values.defined(); }
  /// Changes the variable, and what is remembered of it (zeros if that is empty): all of it, or the rows.
  template <class Formula, std::size_t Memory, std::size_t Numbers>
  void apply(const Formula& formula, const char* op, const Variable& variable,
             const std::array<Tensor*, Memory>& memory, const std::array<double, Numbers>& numbers) const {
    constexpr std::size_t States = Memory + 1;
    // Compiled at first use and never destroyed: static objects may train in their destructors.
    static const auto& update = *new Update<States, Numbers, Formula>(formula);
    for (Tensor* state : memory)
      if (!state->defined()) *state = zeros(variable.shape(), variable.dtype());
    VariableAccess::modify(variable, op, [&](Tensor& value) {
      std::array<Tensor*, States> states{&value};
      std::copy(memory.begin(), memory.end(), states.begin() + 1);
      if (whole_) return update(states, *whole_, numbers);
      std::array<Tensor, States> parts;
      std::array<Tensor*, States> in;
      for (std::size_t i = 0; i < States; ++i) {
        parts[i] = gather(*states[i], rows_.indices);
        in[i] = &parts[i];
      }
      update(in, rows_.values, numbers);
      for (std::size_t i = 0; i < States; ++i) ops::put_rows(*states[i], rows_.indices, parts[i]);
    });
  }

 private:
  const Tensor* whole_ = nullptr;
  ops::Rows rows_;
};

// An empty part where there is no gradient. Throws for what does not fit.
detail::List<Part> checked_parts(const char* op, std::span<const Gradient> gradients,
                                 std::span<const Variable> variables) {
  if (gradients.size() != variables.size())
    fail<ValueError>(op, "{} gradients for {} variables", gradients.size(), variables.size());
  detail::List<Part> parts(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Gradient& g = gradients[i];
    const Variable& v = variables[i];
    if (!g) continue;
    const auto check = [&](const Shape& shape, DType dtype) {
      if (shape != v.shape())
        fail<ShapeError>(op, "the gradient of {} has shape {}, the variable {}", label(v, i), shape, v.shape());
      if (dtype != v.dtype())
        fail<TypeError>(op, "the gradient of {} is {}, the variable {}", label(v, i), dtype, v.dtype());
    };
    if (g.is_slices()) {
      const IndexedSlices slices = g.slices();
      check(slices.dense_shape, slices.dtype());
      parts[i] = Part(ops::distinct_rows(op, slices));
    } else {
      const Tensor& whole = GradientAccess::value(g);
      check(whole.shape(), whole.dtype());
      parts[i] = Part(whole);
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
  const detail::List<Part> parts = checked_parts("SGD", gradients, variables);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const Variable& v = variables[i];
    if (!part) continue;
    const double rate = options.learning_rate, decay = options.momentum;
    if (decay > 0 && options.nesterov)
      part.apply(nesterov, "SGD", v, std::array{&velocity_[v.id()]}, std::array{rate, decay});
    else if (decay > 0)
      part.apply(momentum, "SGD", v, std::array{&velocity_[v.id()]}, std::array{rate, decay});
    else
      part.apply(descent, "SGD", v, std::array<Tensor*, 0>(), std::array{rate});
  }
}

Adam::Adam(const AdamOptions& o) : options(o) { require(options); }

void Adam::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = checked_parts("Adam", gradients, variables);
  const double beta1 = options.beta1;
  const double beta2 = options.beta2;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (!part) continue;
    State& state = states_[variables[i].id()];
    const auto steps = static_cast<double>(++state.steps);
    part.apply(moments, "Adam", variables[i], std::array{&state.mean, &state.square},
               std::array{beta1, 1 - beta1, beta2, 1 - beta2, options.learning_rate / (1 - std::pow(beta1, steps)),
                          1 / (1 - std::pow(beta2, steps)), options.epsilon});
  }
}

}  // namespace reel
