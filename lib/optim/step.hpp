// A step of an optimiser by gradient descent, given its formula: see Update. State is kept per variable, found by the
// variable's id. A step is checked, then its memory is allocated, then it is applied, so that an exception leaves
// everything as it was. Active tapes record nothing of a step.
#pragma once
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>
#include <set>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "loops/index/table_rows.hpp"
#include "ops/apply/apply.hpp"
#include "optim/optimizer_state.hpp"
#include "optim/update.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"

namespace reel::optim {

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
void make_writable(Tensor& state, Tensor& spare);
// Empty where there is no gradient. Throws for a gradient that does not fit the variable.
detail::List<Part> check_parts(const char* op, std::span<const Gradient> gradients,
                               std::span<const Variable> variables);

// The optimiser's state of one variable; `count` is null if it keeps none.
template <std::size_t Count>
struct VariableState {
  std::array<detail::StateTensor*, Count> tensors;
  detail::StateNumber<std::int64_t>* steps = nullptr;
};

// An option, and the name of the Variable that stands for it.
struct NamedOption {
  Hyperparameter* number;
  const char* name;
};

// One step of all variables.
template <class Formula>
class OptimizerStep {
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
  using StateMemory = VariableState<states - 1>;
  using Options = std::array<NamedOption, Program::options>;

  OptimizerStep(std::span<const Part> parts, std::span<const Variable> variables, const Options& options)
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
    if constexpr (Program::counts_steps) steps_ = detail::empty(DType::int64, {});
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
      all.push_back(OptimizerAccess::made(*memory.tensors[j], variables_[i], Formula::state[j]));
      VariableAccess::belongs_to(all.back(), rate);
    }
    if constexpr (Program::counts_steps) all.push_back(OptimizerAccess::made(*memory.steps, "steps"));
    for (const NamedOption& option : options_) all.push_back(OptimizerAccess::made(*option.number, option.name));
    const Part& part = parts_[i];
    if (program::Trace::composing()) {
      static constexpr ComposedUpdate update = Program::composed();
      std::array<const char*, Program::options> names;
      std::transform(options_.begin(), options_.end(), names.begin(), [](const NamedOption& o) { return o.name; });
      return run_composed(update, all, names, part.gradient(), part.by_rows() ? &part.indices() : nullptr);
    }
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
              const typename OptimizerStep<Formula>::Options& options, MemoryOf memory_of) {
  OptimizerStep<Formula> step(parts, variables, options);
  if (ops::handled(ops::writes_variables))
    step.perform(memory_of);
  else
    step.run(memory_of);
}

// Finds the memory of a variable's states in what an optimiser keeps.
inline auto memory_in(detail::StateTensors& states) {
  return [&states](const Variable& v) { return VariableState<1>{{&states[VariableAccess::state_key(v)]}}; };
}
inline auto memory_in(detail::Moments& states) {
  return [&states](const Variable& v) {
    detail::Moment& moment = states[VariableAccess::state_key(v)];
    return VariableState<2>{{&moment.mean, &moment.square}, &moment.steps};
  };
}

// The step of an optimiser that has one formula and only numbers as options.
template <class Formula, class States>
void step_by(typename Formula::Options& options, States& states, std::span<const Gradient> gradients,
             std::span<const Variable> variables) {
  if (!ops::handled(ops::writes_variables)) require(Formula::name, options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = check_parts(Formula::name, gradients, variables);
  typename OptimizerStep<Formula>::Options listed;
  std::size_t count = 0;
  OptimizerAccess::for_each_option(options, [&](const char* name, Hyperparameter& number, OptionDomain) {
    listed[count++] = {&number, name};
  });
  step_all<Formula>(parts, variables, listed, memory_in(states));
}

}  // namespace reel::optim
