// SGD and Adam: state per variable, by its id. A step is checked, then the memory that it needs is allocated, then it
// is applied: what throws has changed nothing. Tapes that are active record nothing of it.
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
#include "optim/state.hpp"
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

// The memory that the step of one variable needs, taken before any variable changes.
template <std::size_t States>
struct Ready {
  std::size_t part = 0;
  std::array<Tensor, States> states;  // of a state that is new, or that others hold, or that ops compute
  std::array<Tensor, States> rows;    // of the rows that slices name
};

// Makes a state writable: in its own memory if nothing else holds that, else as a copy in `spare`.
void settle(Tensor& state, Tensor& spare) {
  if (!state.defined()) {
    state = std::move(spare);
  } else if (!detail::reusable(detail::block(state)) && spare.defined()) {
    loops::copy(state, spare);
    state = std::move(spare);
  } else {
    ops::make_writable(state);  // asks for memory only where another thread took hold of the value meanwhile
  }
}

// One step of all variables. Access: what is remembered of a variable (`memory`, zeros where empty), the formula's
// numbers(), prepare(), which may throw, and done().
template <class Formula, class Access>
class Step {
  static constexpr std::size_t States = std::tuple_size_v<decltype(Access::memory)> + 1;
  static constexpr std::size_t Numbers = std::tuple_size_v<decltype(std::declval<const Access&>().numbers())>;
  using Program = Update<States, Numbers, Formula>;

 public:
  Step(const Formula& formula, const char* op, std::span<const Part> parts, std::span<const Variable> variables)
      : op_(op), parts_(parts), variables_(variables), update_(program(formula)), accesses_(parts.size()) {}

  // All memory is allocated before anything changes. Exception: a variable that is listed twice and whose dtype has no
  // fused program. Its second step reads the result of its first, which is committed before.
  template <class AccessOf>
  void run(AccessOf access_of) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i]) continue;
      if (!Program::fuses(variables_[i].dtype()) && !computed_.insert(variables_[i].id()).second) {
        commit(std::exchange(first, i), i);
        computed_ = {variables_[i].id()};
      }
      accesses_[i] = access_of(variables_[i]);
      prepare(i);
    }
    commit(first, parts_.size());
  }

 private:
  // Compiled at first use and never destroyed: static objects may train in their destructors.
  static const Program& program(const Formula& formula) {
    static const auto& update = *new Program(formula);
    return update;
  }

  // Calls change with the value of the variable and what is remembered of it.
  template <class Change>
  void modify(std::size_t i, const Change& change) const {
    VariableAccess::modify(variables_[i], [&](Tensor& value) {
      std::array<Tensor*, States> states{&value};
      modify_memory<0>(i, states, change);
    });
  }
  template <std::size_t J, class Change>
  void modify_memory(std::size_t i, std::array<Tensor*, States>& states, const Change& change) const {
    if constexpr (J + 1 == States)
      change(states);
    else
      OptimizerAccess::modify(*accesses_[i].memory[J], [&](Tensor& value) {
        states[J + 1] = &value;
        modify_memory<J + 1>(i, states, change);
      });
  }

  void prepare(std::size_t i) {
    accesses_[i].prepare();
    modify(i, [&](const std::array<Tensor*, States>& states) {
      if (!in_place(i, states)) ready_.push_back(allocate(i, states));
    });
  }

  // Whether the step of the variable asks for no memory.
  bool in_place(std::size_t i, const std::array<Tensor*, States>& states) const {
    if (parts_[i].by_rows() || !Program::fuses(variables_[i].dtype())) return false;
    return std::all_of(states.begin(), states.end(),
                       [](const Tensor* state) { return state->defined() && detail::reusable(detail::block(*state)); });
  }

  Ready<States> allocate(std::size_t i, const std::array<Tensor*, States>& states) {
    const Part& part = parts_[i];
    const Variable& v = variables_[i];
    Ready<States> ready{i, {}, {}};
    if (!Program::fuses(v.dtype()))
      compute(i, states, ready);
    else if (part.by_rows())
      for (Tensor& rows : ready.rows) rows = detail::empty(v.dtype(), part.gradient().shape());
    for (std::size_t j = 0; j < States; ++j) {
      if (ready.states[j].defined()) continue;
      if (!states[j]->defined())
        ready.states[j] = zeros(v.shape(), v.dtype());
      else if (!detail::reusable(detail::block(*states[j])))
        ready.states[j] = detail::empty(v.dtype(), v.shape());
    }
    return ready;
  }

  // By ops, where there is no program: the new states, or their rows.
  void compute(std::size_t i, const std::array<Tensor*, States>& states, Ready<States>& ready) {
    const Part& part = parts_[i];
    const Tensor& value = *states[0];
    std::array<Tensor, States> old;
    for (std::size_t j = 0; j < States; ++j) {
      old[j] = states[j]->defined() ? *states[j] : zeros(value.shape(), value.dtype());
      if (!part.by_rows()) continue;
      Tensor whole = std::exchange(old[j], gather(old[j], part.indices()));
      if (!states[j]->defined()) ready.states[j] = std::move(whole);
    }
    std::array<Tensor, States> fresh = update_.computed(old, part.gradient(), accesses_[i].numbers());
    if (!part.by_rows()) {
      ready.states = std::move(fresh);
      return;
    }
    for (std::size_t j = 0; j < States; ++j) ready.rows[j] = contiguous(fresh[j]);
  }

  void commit(std::size_t first, std::size_t last) {
    Ready<States> none;
    std::size_t next = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!parts_[i]) continue;
      Ready<States>& ready = next < ready_.size() && ready_[next].part == i ? ready_[next++] : none;
      modify(i, [&](const std::array<Tensor*, States>& states) { apply(i, states, ready); });
      accesses_[i].done();
    }
    ready_.clear();
  }

  void apply(std::size_t i, const std::array<Tensor*, States>& states, Ready<States>& ready) {
    const Part& part = parts_[i];
    const bool fused = Program::fuses(variables_[i].dtype());
    if (!fused && !part.by_rows()) {
      for (std::size_t j = 0; j < States; ++j) *states[j] = std::move(ready.states[j]);
      return;
    }
    for (std::size_t j = 0; j < States; ++j) settle(*states[j], ready.states[j]);
    if (!part.by_rows()) return update_.run(states, part.gradient(), accesses_[i].numbers());
    if (fused) {
      std::array<Tensor*, States> rows;
      for (std::size_t j = 0; j < States; ++j) {
        loops::take_rows(*states[j], part.indices(), ready.rows[j]);
        rows[j] = &ready.rows[j];
      }
      update_.run(rows, part.gradient(), accesses_[i].numbers());
    }
    for (std::size_t j = 0; j < States; ++j) ops::put_rows(*states[j], part.indices(), ready.rows[j]);
  }

  const char* op_;
  std::span<const Part> parts_;
  std::span<const Variable> variables_;
  const Program& update_;
  detail::List<Access> accesses_;
  detail::List<Ready<States>> ready_;
  std::set<std::uint64_t> computed_;  // variables of dtypes that ops compute
};

template <class Access, class Formula, class AccessOf>
void step_all(const Formula& formula, const char* op, std::span<const Part> parts, std::span<const Variable> variables,
              AccessOf access_of) {
  Step<Formula, Access>(formula, op, parts, variables).run(access_of);
}

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
  if (!(o.epsilon >= 0)) fail<ValueError>("Adam", "epsilon is {}, must not be negative", double(o.epsilon));
}

}  // namespace

SGD::SGD(const SGDOptions& o) : options(o) { require(options); }

void SGD::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = checked_parts("SGD", gradients, variables);
  const double rate = options.learning_rate, decay = options.momentum;
  struct Plain {
    std::array<detail::StateTensor*, 0> memory;
    double rate = 0;
    void prepare() const {}
    std::array<double, 1> numbers() const { return {rate}; }
    void done() const {}
  };
  struct Moving {
    std::array<detail::StateTensor*, 1> memory;
    double rate = 0, decay = 0;
    void prepare() const {}
    std::array<double, 2> numbers() const { return {rate, decay}; }
    void done() const {}
  };
  const auto moving = [&](const Variable& v) { return Moving{{&velocity_[v.id()]}, rate, decay}; };
  if (decay > 0 && options.nesterov)
    step_all<Moving>(nesterov, "SGD", parts, variables, moving);
  else if (decay > 0)
    step_all<Moving>(momentum, "SGD", parts, variables, moving);
  else
    step_all<Plain>(descent, "SGD", parts, variables, [&](const Variable&) { return Plain{{}, rate}; });
}

void SGD::forget(const Variable& variable) { velocity_.erase(variable.id()); }

Adam::Adam(const AdamOptions& o) : options(o) { require(options); }

void Adam::step(std::span<const Gradient> gradients, std::span<const Variable> variables) {
  require(options);
  const tape::Suspend suspended;
  const detail::List<Part> parts = checked_parts("Adam", gradients, variables);
  struct Access {
    std::array<detail::StateTensor*, 2> memory;
    detail::StateNumber<std::int64_t>* steps = nullptr;
    const AdamOptions* options = nullptr;
    void prepare() const { OptimizerAccess::make_writable(*steps); }
    std::array<double, 7> numbers() const {
      const double beta1 = options->beta1, beta2 = options->beta2;
      const auto step = static_cast<double>(*steps + 1);
      return {beta1,
              1 - beta1,
              beta2,
              1 - beta2,
              options->learning_rate / (1 - std::pow(beta1, step)),
              1 / (1 - std::pow(beta2, step)),
              options->epsilon};
    }
    void done() const { *steps += 1; }
  };
  step_all<Access>(moments, "Adam", parts, variables, [&](const Variable& v) {
    State& state = states_[v.id()];
    return Access{{&state.mean, &state.square}, &state.steps, &options};
  });
}

void Adam::forget(const Variable& variable) { states_.erase(variable.id()); }

}  // namespace reel
