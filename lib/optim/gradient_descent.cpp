// Optimisers by gradient descent: state per variable, found by the variable's id. A step is checked, then its memory is
// allocated, then it is applied, so that an exception leaves everything as it was. Active tapes record nothing of a
// step.
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim.hpp>
#include <set>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "optim/state.hpp"
#include "optim/update.hpp"
#include "tape/tape.hpp"

namespace reel {
namespace {

std::string label(const Variable& variable, std::size_t position) {
  return variable.name().empty() ? fmt::format("variable {}", position) : fmt::format("'{}'", variable.name());
}

void require_rate(const char* op, double rate) {
  if (!(rate >= 0) || std::isinf(rate))
    fail<ValueError>(op, "learning_rate is {}, must be finite and not negative", rate);
}

void require_decay(const char* op, const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail<ValueError>(op, "{} is {}, must lie in [0, 1)", name, value);
}

void require_not_negative(const char* op, const char* name, double value) {
  if (!(value >= 0)) fail<ValueError>(op, "{} is {}, must not be negative", name, value);
}

// ---- Formulas. x is the variable's value, followed by the optimiser's state of it; n has the numbers that compute()
// lists.

struct Descent {
  static constexpr const char* name = "SGD";
  static constexpr std::size_t states = 1, counters = 0, options = 1, numbers = 1;
  static constexpr std::array<const char*, states - 1> remembered{};
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t) {
    require_rate(name, o[0]);
    return o;
  }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] - g * n[0];
    return x;
  }
};
struct Momentum {
  static constexpr const char* name = "SGD";
  static constexpr std::size_t states = 2, counters = 0, options = 2, numbers = 2;
  static constexpr std::array<const char*, states - 1> remembered{"velocity"};
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t) {
    require_rate(name, o[0]);
    require_decay(name, "momentum", o[1]);
    return o;
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + g;
    x[0] = x[0] - x[1] * n[0];
    return x;
  }
};
struct Nesterov : Momentum {
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + g;
    x[0] = x[0] - (g + x[1] * n[1]) * n[0];
    return x;
  }
};
struct Moments {
  static constexpr const char* name = "Adam";
  static constexpr std::size_t states = 3, counters = 1, options = 4, numbers = 7;
  static constexpr std::array<const char*, states - 1> remembered{"mean", "square"};
  static void require(double rate, double beta1, double beta2, double epsilon) {
    require_rate(name, rate);
    require_decay(name, "beta1", beta1);
    require_decay(name, "beta2", beta2);
    require_not_negative(name, "epsilon", epsilon);
  }
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t step) {
    const double rate = o[0], beta1 = o[1], beta2 = o[2], epsilon = o[3], t = static_cast<double>(step);
    require(rate, beta1, beta2, epsilon);
    return {beta1, 1 - beta1, beta2, 1 - beta2, rate / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t)), epsilon};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[0] + g * n[1];
    x[2] = x[2] * n[2] + square(g) * n[3];
    x[0] = x[0] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
    return x;
  }
};

struct DecayedMoments : Moments {
  static constexpr const char* name = "AdamW";
  static constexpr std::size_t options = 5, numbers = 8;
  static void require(double rate, double beta1, double beta2, double epsilon, double decay) {
    require_rate(name, rate);
    require_decay(name, "beta1", beta1);
    require_decay(name, "beta2", beta2);
    require_not_negative(name, "epsilon", epsilon);
    require_not_negative(name, "weight_decay", decay);
  }
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t step) {
    require(o[0], o[1], o[2], o[3], o[4]);
    const auto n = Moments::compute({o[0], o[1], o[2], o[3]}, step);
    return {n[0], n[1], n[2], n[3], n[4], n[5], n[6], 1 - o[0] * o[4]};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[0] + g * n[1];
    x[2] = x[2] * n[2] + square(g) * n[3];
    x[0] = x[0] * n[7] - x[1] * n[4] / (sqrt(x[2] * n[5]) + n[6]);
    return x;
  }
};
struct MeanSquare {
  static constexpr const char* name = "RMSProp";
  static constexpr std::size_t states = 2, counters = 0, options = 3, numbers = 4;
  static constexpr std::array<const char*, states - 1> remembered{"square"};
  static void require(double rate, double rho, double epsilon) {
    require_rate(name, rate);
    require_decay(name, "rho", rho);
    require_not_negative(name, "epsilon", epsilon);
  }
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t) {
    require(o[0], o[1], o[2]);
    return {o[0], o[1], 1 - o[1], o[2]};
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] * n[1] + square(g) * n[2];
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[3]);
    return x;
  }
};
struct SumOfSquares {
  static constexpr const char* name = "Adagrad";
  static constexpr std::size_t states = 2, counters = 0, options = 2, numbers = 2;
  static constexpr std::array<const char*, states - 1> remembered{"sum"};
  static void require(double rate, double epsilon) {
    require_rate(name, rate);
    require_not_negative(name, "epsilon", epsilon);
  }
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t) {
    require(o[0], o[1]);
    return o;
  }
  static auto apply(auto x, auto g, auto n) {
    x[1] = x[1] + square(g);
    x[0] = x[0] - g * n[0] / (sqrt(x[1]) + n[1]);
    return x;
  }
};
struct SignOfMean {
  static constexpr const char* name = "Lion";
  static constexpr std::size_t states = 2, counters = 0, options = 4, numbers = 6;
  static constexpr std::array<const char*, states - 1> remembered{"mean"};
  static void require(double rate, double beta1, double beta2, double decay) {
    require_rate(name, rate);
    require_decay(name, "beta1", beta1);
    require_decay(name, "beta2", beta2);
    require_not_negative(name, "weight_decay", decay);
  }
  static std::array<double, numbers> compute(const std::array<double, options>& o, std::int64_t) {
    require(o[0], o[1], o[2], o[3]);
    return {o[0], o[1], 1 - o[1], o[2], 1 - o[2], 1 - o[0] * o[3]};
  }
  static auto apply(auto x, auto g, auto n) {
    x[0] = x[0] * n[5] - sign(x[1] * n[1] + g * n[2]) * n[0];
    x[1] = x[1] * n[3] + g * n[4];
    return x;
  }
};

// What a step reads and writes of a variable and of its state: all of it, or the rows that IndexedSlices name. A dense
// gradient is referenced for as long as the step lasts.
class Part {
 public:
  Part() = default;
  explicit Part(const Tensor& gradient) : whole_(&gradient) {}
  explicit Part(ops::Rows rows) : rows_(std::move(rows)), by_rows_(true) {}
  explicit operator bool() const { return whole_ || by_rows_; }
  bool by_rows() const { return by_rows_; }
  const Tensor& indices() const { return rows_.indices; }
  const Tensor& gradient() const { return by_rows_ ? rows_.values : *whole_; }

 private:
  const Tensor* whole_ = nullptr;
  ops::Rows rows_;
  bool by_rows_ = false;
};

// Makes a state writable: in place if this handle is the only one, otherwise by a copy in `spare`.
void make_writable(Tensor& state, Tensor& spare) {
  if (!detail::reusable(detail::block(state)) && spare.defined()) {
    loops::copy(state, spare);
    std::swap(state, spare);
  } else {
    ops::make_writable(state);  // allocates only where another thread has taken a handle to the value since
  }
}

// The optimiser's state of one variable; `count` is null if it keeps none.
template <std::size_t Count>
struct Memory {
  std::array<detail::StateTensor*, Count> tensors;
  detail::StateNumber<std::int64_t>* steps = nullptr;
};

// An option, and the name of the Variable that stands for it.
struct Option {
  Hyperparameter* number;
  const char* name;
};

// One step of all variables.
template <class Formula>
class Step {
  using Program = Update<Formula>;
  static constexpr std::size_t states = Program::states, written = Program::written;
  // The value of a variable, then its states.
  using StatePointers = std::array<Tensor*, written>;

  // The memory for the step of one variable, allocated before any variable changes: replacements for states that are
  // empty or shared, then the rows that IndexedSlices name. For dtypes that are converted, the new states or rows.
  struct Ready {
    std::size_t part = 0;
    std::array<Tensor, written + states> spare;
  };

 public:
  using StateMemory = Memory<states - 1>;
  using Options = std::array<Option, Program::options>;

  Step(std::span<const Part> parts, std::span<const Variable> variables, const Options& options)
      : parts_(parts), variables_(variables), options_(options), memories_(parts.size()) {
    static_cast<void>(Program::code());
  }

  // As effects, which a handler performs; every state is a Variable then.
  template <class MemoryOf>
  void perform(MemoryOf memory_of) {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i]) perform(i, memory_of(variables_[i]));
  }

  // All memory is allocated before anything changes. Exception: a variable that is listed twice and whose dtype is
  // converted. Its second step reads the result of the first, which is committed before.
  template <class MemoryOf>
  void run(MemoryOf memory_of) {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      numbers_[i] = OptimizerAccess::value(*options_[i].number);
      inputs_[written + i] = &numbers_[i];
    }
    if constexpr (Formula::counters != 0) steps_ = detail::empty(DType::int64, {});
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i]) continue;
      if (!Program::fuses(variables_[i].dtype()) && !computed_.insert(variables_[i].id()).second) {
        commit(std::exchange(first, i), i);
        computed_ = {variables_[i].id()};
      }
      memories_[i] = memory_of(variables_[i]);
      prepare(i);
    }
    commit(first, parts_.size());
  }

 private:
  // The inputs of the primitive, with room in front for the states; or its last inputs, which are the gradient.
  std::span<const Tensor*> inputs_of(const Part& part) {
    std::size_t size = written + Program::options;
    if (part.by_rows()) inputs_[size++] = &part.indices();
    inputs_[size++] = &part.gradient();
    return {inputs_.data(), size};
  }
  std::span<const Tensor*> gradient_of(const Part& part) { return inputs_of(part).subspan(written + Program::options); }

  // Cold, so that it is compiled for size: the handler of an effect traces a program.
  [[gnu::cold]] void perform(std::size_t i, const StateMemory& memory) {
    detail::List<Variable> all;
    all.reserve(written + Program::options);
    all.push_back(variables_[i]);
    const Variable& rate = OptimizerAccess::made(*options_[0].number, options_[0].name);
    for (std::size_t j = 0; j + 1 < states; ++j) {
      all.push_back(OptimizerAccess::made(*memory.tensors[j], variables_[i], Formula::remembered[j]));
      VariableAccess::belongs_to(all.back(), rate);
    }
    if constexpr (Formula::counters != 0) all.push_back(OptimizerAccess::made(*memory.steps, "steps"));
    for (const Option& option : options_) all.push_back(OptimizerAccess::made(*option.number, option.name));
    const Part& part = parts_[i];
    ops::perform({.primitive = part.by_rows() ? Program::rows() : Program::dense(),
                  .inputs = gradient_of(part),
                  .variables = all});
  }

  // Calls change(pointers) for the variable's value and for each of its states.
  template <class Change>
  void modify(std::size_t i, const Change& change) {
    StatePointers state;
    VariableAccess::modify(variables_[i], [&](Tensor& value) {
      state[0] = &value;
      modify_from<1>(i, state, change);
    });
  }
  // The same, with the states from J on still to be added.
  template <std::size_t J, class Change>
  void modify_from(std::size_t i, StatePointers& state, const Change& change) {
    if constexpr (J == written) {
      change(state);
    } else {
      auto next = [&](Tensor& place) {
        state[J] = &place;
        modify_from<J + 1>(i, state, change);
      };
      if constexpr (J < states)
        OptimizerAccess::modify(*memories_[i].tensors[J - 1], next);
      else
        OptimizerAccess::modify(*memories_[i].steps, steps_, next);
    }
  }

  void prepare(std::size_t i) {
    modify(i, [&](const StatePointers& state) {
      if (!in_place(i, state)) ready_.push_back(allocate(i, state));
    });
  }

  // Whether the step of the variable allocates nothing.
  bool in_place(std::size_t i, const StatePointers& state) const {
    if (parts_[i].by_rows() || !Program::fuses(variables_[i].dtype())) return false;
    return std::all_of(state.begin(), state.end(),
                       [](const Tensor* x) { return x->defined() && detail::reusable(detail::block(*x)); });
  }

  // Cold, so that it is compiled for size: of dense gradients only the first step allocates.
  [[gnu::cold, gnu::noinline]] Ready allocate(std::size_t i, const StatePointers& state) {
    const Part& part = parts_[i];
    const Variable& v = variables_[i];
    Ready ready{i, {}};
    if (!Program::fuses(v.dtype()))
      compute(i, state, ready.spare);
    else if (part.by_rows())
      for (std::size_t j = written; j < ready.spare.size(); ++j)
        ready.spare[j] = detail::empty(v.dtype(), part.gradient().shape());
    for (std::size_t j = 0; j < written; ++j) {
      if (ready.spare[j].defined()) continue;
      if (!state[j]->defined())
        ready.spare[j] = zeros(v.shape(), kept_dtype(v.dtype()));
      else if (!detail::reusable(detail::block(*state[j])))
        ready.spare[j] = detail::empty(state[j]->dtype(), state[j]->shape());
    }
    return ready;
  }

  // For dtypes that are converted: the new states, or their rows, in new memory.
  [[gnu::cold]] void compute(std::size_t i, const StatePointers& state, std::array<Tensor, written + states>& spare) {
    const Part& part = parts_[i];
    const Tensor& value = *state[0];
    std::array<Tensor, states> old;
    const Tensor* in[written + Program::options + 1];
    for (std::size_t j = 0; j < states; ++j) {
      old[j] = state[j]->defined() ? *state[j] : zeros(value.shape(), kept_dtype(value.dtype()));
      in[j] = &old[j];
      if (!part.by_rows()) continue;
      Tensor whole = std::exchange(old[j], gather(old[j], part.indices()));
      if (!state[j]->defined()) spare[j] = std::move(whole);
    }
    if constexpr (written > states) in[states] = state[states];
    for (std::size_t k = 0; k < Program::options; ++k) in[written + k] = &numbers_[k];
    in[written + Program::options] = &part.gradient();
    std::array<Tensor, written> fresh;
    ops::evaluate(Program::dense(), in, {}, fresh, false);
    for (std::size_t j = 0; j < written; ++j)
      spare[part.by_rows() && j < states ? written + j : j] = std::move(fresh[j]);
  }

  void commit(std::size_t first, std::size_t last) {
    Ready unused;
    std::size_t next = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!parts_[i]) continue;
      Ready& ready = next < ready_.size() && ready_[next].part == i ? ready_[next++] : unused;
      modify(i, [&](const StatePointers& state) { commit(i, state, ready.spare); });
    }
    ready_.clear();
  }

  void commit(std::size_t i, const StatePointers& state, std::array<Tensor, written + states>& spare) {
    const Part& part = parts_[i];
    if (in_place(i, state) && !ops::call_listener())
      return ops::evaluate_in_own_memory(Program::dense(), state, inputs_of(part));
    const bool fused = Program::fuses(variables_[i].dtype());
    if (!fused && !part.by_rows()) {
      for (std::size_t j = 0; j < written; ++j) std::swap(*state[j], spare[j]);
      return;
    }
    for (std::size_t j = 0; j < states; ++j)
      if (!state[j]->defined()) *state[j] = std::move(spare[j]);
    if (fused)
      return ops::evaluate_in_place(part.by_rows() ? Program::rows() : Program::dense(), state,
                                    inputs_of(part).subspan(written), {}, {.spare = spare});
    for (std::size_t j = 0; j < states; ++j) {
      make_writable(*state[j], spare[j]);
      loops::put_rows(spare[written + j], part.indices(), *state[j]);
    }
    if constexpr (written > states) std::swap(*state[states], spare[states]);
  }

  std::span<const Part> parts_;
  std::span<const Variable> variables_;
  const Options& options_;
  std::array<Tensor, Program::options> numbers_;  // of the options
  Tensor steps_;                                  // as a tensor: a step counter that is not a Variable's value
  std::array<const Tensor*, written + Program::options + 2> inputs_;
  detail::List<StateMemory> memories_;
  detail::List<Ready> ready_;
  std::set<std::uint64_t> computed_;  // ids of the variables that compute() has stepped
};

template <class Formula, class MemoryOf>
void step_all(std::span<const Part> parts, std::span<const Variable> variables,
              const typename Step<Formula>::Options& options, MemoryOf memory_of) {
  Step<Formula> step(parts, variables, options);
  if (ops::handled(ops::writes_variables))
    step.perform(memory_of);
  else
    step.run(memory_of);
}

// Empty where there is no gradient. Throws for a gradient that does not fit the variable.
detail::List<Part> checked_parts(const char* op, std::span<const Gradient> gradients,
                                 std::span<const Variable> variables) {
  if (gradients.size() != variables.size())
    fail<ValueError>(op, "{} gradients for {} variables", gradients.size(), variables.size());
  const bool handled = ops::handled(ops::writes_variables);  // then only the primitive reads elements
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
      ops::Rows rows = ops::checked_rows(op, slices);
      parts[i] = Part(handled ? std::move(rows) : ops::distinct_rows(std::move(rows)));
    } else {
      const Tensor& whole = GradientAccess::value(g);
      check(whole.shape(), whole.dtype());
      detail::require_known(op, whole);
      parts[i] = Part(whole);
    }
  }
  return parts;
}

void require(const SGDOptions& o) {
  require_rate("SGD", o.learning_rate);
  require_decay("SGD", "momentum", o.momentum);
}
void require(const AdamOptions& o) { Moments::require(o.learning_rate, o.beta1, o.beta2, o.epsilon); }
void require(const AdamWOptions& o) {
  DecayedMoments::require(o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay);
}
void require(const RMSPropOptions& o) { MeanSquare::require(o.learning_rate, o.rho, o.epsilon); }
void require(const AdagradOptions& o) { SumOfSquares::require(o.learning_rate, o.epsilon); }
void require(const LionOptions& o) { SignOfMean::require(o.learning_rate, o.beta1, o.beta2, o.weight_decay); }

// Finds the memory of a variable's states in what an optimiser keeps.
auto memory_in(detail::StateTensors& states) {
  return [&states](const Variable& v) { return Memory<1>{{&states[VariableAccess::state_key(v)]}}; };
}
auto memory_in(detail::Moments& states) {
  return [&states](const Variable& v) {
    detail::Moment& moment = states[VariableAccess::state_key(v)];
    return Memory<2>{{&moment.mean, &moment.square}, &moment.steps};
  };
}

// The step of an optimiser that has one formula and only numbers as options.
template <class Formula, class Options, class States>
void step_by(Options& options, States& states, std::span<const Gradient> gradients,
             std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) require(options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = checked_parts(Formula::name, gradients, variables);
  typename Step<Formula>::Options listed;
  std::size_t count = 0;
  OptimizerAccess::for_each_option(options, [&](const char* name, Hyperparameter& number) {
    listed[count++] = {&number, name};
  });
  step_all<Formula>(parts, variables, listed, memory_in(states));
}

}  // namespace

SGD::SGD(const SGDOptions& o) : options(o) { require(options); }

void SGD::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) require(options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = checked_parts("SGD", gradients, variables);
  const Option rate{&options.learning_rate, "learning_rate"}, decay{&options.momentum, "momentum"};
  // The choice of the formula is not an effect: a traced program has it fixed.
  if (!(OptimizerAccess::peek(options.momentum) > 0))
    step_all<Descent>(parts, variables, {rate}, [](const Variable&) { return Memory<0>{}; });
  else if (options.nesterov)
    step_all<Nesterov>(parts, variables, {rate, decay}, memory_in(states_));
  else
    step_all<Momentum>(parts, variables, {rate, decay}, memory_in(states_));
}

Adam::Adam(const AdamOptions& o) : options(o) { require(options); }
AdamW::AdamW(const AdamWOptions& o) : options(o) { require(options); }
RMSProp::RMSProp(const RMSPropOptions& o) : options(o) { require(options); }
Adagrad::Adagrad(const AdagradOptions& o) : options(o) { require(options); }
Lion::Lion(const LionOptions& o) : options(o) { require(options); }

void Adam::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  step_by<Moments>(options, states_, gradients, variables);
}
void AdamW::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  step_by<DecayedMoments>(options, states_, gradients, variables);
}
void RMSProp::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  step_by<MeanSquare>(options, states_, gradients, variables);
}
void Adagrad::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  step_by<SumOfSquares>(options, states_, gradients, variables);
}
void Lion::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  step_by<SignOfMean>(options, states_, gradients, variables);
}

void SGD::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
void Adam::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
void AdamW::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
void RMSProp::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
void Adagrad::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }
void Lion::forget(const Variable& variable) { states_.erase(VariableAccess::state_key(variable)); }

}  // namespace reel
