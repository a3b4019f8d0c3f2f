// The implementation of custom_gradient, and the identities with a special gradient.
#include <algorithm>
#include <map>
#include <optional>
#include <reel/custom.hpp>
#include <reel/ops/make.hpp>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/control/composite_entry.hpp"
#include "ops/apply/effect.hpp"
#include "ops/apply/operation.hpp"
#include "ops/engine.hpp"
#include "program/trace.hpp"
#include "tape/capture.hpp"
#include "tape/function_scope.hpp"
#include "tape/variable.hpp"

namespace reel {

namespace detail {

namespace {

struct Form {
  Shape shape;
  DType dtype;
};

// Whether a tape follows y as the value of a variable.
bool is_variable(const Tensor& y) noexcept {
  for (const tape::Tape* t = tape::top(); t; t = t->below)
    if (const std::uint32_t s = t->find(detail::block(y)); s != tape::no_slot && t->slots[s].variable) return true;
  return false;
}

// The results as outputs of an entry. A tensor that f made is recorded as it is, so that a rule that reads it reads the
// followed tensor. A tensor that existed before gets a new identity, and so does the value of a variable.
std::vector<Tensor> outputs_of(std::span<const Tensor> results, std::uint64_t last_before) {
  std::vector<Tensor> outputs;
  for (const Tensor& y : results) {
    bool made = thread_of(y.id()) == thread_of(last_before) && y.id() > last_before && !is_variable(y);
    for (const Tensor& other : outputs) made = made && other.id() != y.id();
    if (ops::Tracer* tracer = ops::Tracer::current(); tracer && !made) [[unlikely]]
      tracer->note(y);
    outputs.push_back(made ? y : alias(y));
  }
  return outputs;
}

std::vector<Form> forms_of(std::span<const Tensor> tensors) {
  std::vector<Form> forms;
  for (const Tensor& x : tensors) forms.push_back({x.shape(), x.dtype()});
  return forms;
}

// What a function has returned, and the variables that it has read.
struct Run {
  CustomResult made;
  std::vector<Variable> variables;  // followed by a tape
  std::vector<Variable> read = {};  // in a trace: all, and their values
  std::vector<Tensor> values = {};
};

// In a trace, the variables that the function has read keep their values in its backward function, unless they were
// assigned: a derivative that is traced later binds them only while it runs the function.
class ReadsInTrace {
 public:
  ReadsInTrace(std::span<const Variable> variables, std::span<const Tensor> values) {
    program::Trace* trace = program::Trace::current();
    if (!trace || variables.empty()) return;
    const std::vector<Variable> assigned = trace->assigned();
    std::vector<Variable> list;
    std::vector<Tensor> theirs;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (std::find(assigned.begin(), assigned.end(), variables[k]) != assigned.end()) continue;
      list.push_back(variables[k]);
      theirs.push_back(values[k]);
    }
    bound_.emplace(*trace, list, theirs);
  }

 private:
  std::optional<program::Trace::Bound> bound_;
};

// The user's backward function; cotangents that are none become zeros.
auto backward_of(const Run& run, std::span<const Tensor> outputs) {
  return [forms = forms_of(outputs), variables = run.variables, read = run.read, values = run.values,
          batched = run.made.batched, alone = run.made.backward,
          with_variables = run.made.backward_with_variables](std::span<const Gradient> g) {
    const ReadsInTrace bound(read, values);
    std::vector<Tensor> dy;
    for (const Gradient& d : g) dy.push_back(d ? d.dense() : Tensor());
    const auto some = std::find_if(dy.begin(), dy.end(), [](const Tensor& d) { return d.defined(); });
    for (std::size_t k = 0; k < forms.size(); ++k) {
      if (dy[k].defined()) continue;
      Shape shape = forms[k].shape;
      if (batched) shape.insert(0, some == dy.end() ? 1 : some->shape()[0]);
      dy[k] = zeros(shape, forms[k].dtype);
    }
    return variables.empty() && alone ? alone(dy) : with_variables(dy, variables);
  };
}

// The user's jvp; tangents that are none become zeros. Empty if there is no jvp.
TangentFunction jvp_of(const char* name, const CustomResult& made, std::span<const Tensor> inputs,
                       std::size_t arguments) {
  if (!made.jvp) return {};
  return [name, forms = forms_of(inputs), arguments, f = made.jvp](std::span<const Tensor> t) {
    std::vector<Tensor> tangents;
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (i >= arguments && t[i].defined())
        fail<NotDifferentiable>(name, "its jvp has no part for the variables that the function reads");
      if (i < arguments) tangents.push_back(t[i].defined() ? t[i] : zeros(forms[i].shape, forms[i].dtype));
    }
    return f(tangents);
  };
}

// Notes which variables a function reads.
class NotedReads final : public ops::EffectHandler {
 public:
  NotedReads() : EffectHandler(ops::reads_variables) {}
  void perform(const ops::Effect& e) override {
    if (!(e.primitive.effects & ops::writes_variables))
      for (const Variable& v : e.variables) read_.emplace(v.id(), v);
    pass_on(e);
  }
  /// In the order of construction.
  std::vector<Variable> all() const {
    std::vector<Variable> list;
    for (const auto& [id, v] : read_) list.push_back(v);
    return list;
  }
  /// Those that a tape follows.
  std::vector<Variable> followed() const {
    const tape::Capture* capture = tape::Capture::innermost();
    std::vector<Variable> list;
    for (const auto& [id, v] : read_)
      if (tape::followed(v.read()) || (is_differentiable(v.dtype()) && capture && capture->would_follow(v)))
        list.push_back(v);
    return list;
  }

 private:
  std::map<std::uint64_t, Variable> read_;  // by id
};

Run run_recorded(const Callback<CustomResult()>& run) {
  Run done;
  const NotedReads reads;
  done.made = run();
  done.variables = reads.followed();
  if (ops::Tracer::current()) {
    done.read = reads.all();
    for (const Variable& v : done.read) done.values.push_back(v.read());
  }
  return done;
}

// What it captures besides its arguments has no gradient here, but may have one where a function around it is run
// again.
Run run_unrecorded(const Callback<CustomResult()>& run) {
  Run done;
  std::vector<Tensor> captured;
  {
    tape::Capture capture;
    done.made = run();
    for (const Variable& v : capture.variables()) done.variables.push_back(v);
    captured.assign(capture.tensors().begin(), capture.tensors().end());
  }
  if (tape::Capture* around = tape::Capture::innermost()) around->note(captured);
  return done;
}

}  // namespace

std::vector<Tensor> custom(const char* name, std::span<const Tensor> arguments, const Callback<CustomResult()>& run) {
  if (program::Trace* trace = program::Trace::current()) trace->note_rule();
  if (!autodiff::any_tape()) return run().results;
  const std::uint64_t last_before = fresh_id();
  std::optional<tape::FunctionScope> function;
  if (tape::may_differentiate_twice()) function.emplace();
  const Run done = function ? run_recorded(run) : run_unrecorded(run);
  if (!done.variables.empty() && !done.made.backward_with_variables)
    fail<TypeError>(name,
                    "the function reads the trainable variable '{}'; its backward must also take "
                    "(dy, std::span<const Variable>) and return pair(gradients of the arguments, "
                    "std::vector<Gradient> of the variables)",
                    done.variables.front().name());
  VariableAccess::note_order(done.variables);
  const std::vector<Tensor> outputs = outputs_of(done.made.results, last_before);
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  for (const Variable& v : done.variables) inputs.push_back(v.read());
  TangentFunction jvp = jvp_of(name, done.made, inputs, arguments.size());
  autodiff::record_function(name, inputs, outputs, backward_of(done, outputs), std::move(jvp),
                            {.batched = done.made.batched}, {},
                            {.function = function ? &*function : nullptr, .transposes = true});
  return outputs;
}

const Tensor& defined_result(const char* who, const Tensor& y) {
  if (!y.defined()) fail<ValueError>(who, "a function returned an empty tensor; did you forget to return a value?");
  return y;
}

void check_pass_through(std::span<const Tensor> x, std::span<const Tensor> y) {
  constexpr const char* op = "grad_pass_through";
  if (x.size() != y.size())
    fail<ValueError>(op, "the function turns {} tensors into {}; their numbers must be equal", x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].shape() != y[i].shape())
      fail<ShapeError>(op, "the function turns shape {} into {}; they must be equal", x[i].shape(), y[i].shape());
    if (x[i].dtype() != y[i].dtype())
      fail<TypeError>(op, "the function turns {} into {}; cast its result", x[i].dtype(), y[i].dtype());
  }
}

void check_leaves(std::size_t argument, std::size_t found, std::size_t expected) {
  if (found != expected)
    fail<ValueError>("custom_gradient", "backward gave {} gradients for argument {}, which has {}", found, argument,
                     expected);
}

void fail_arguments(std::size_t found, std::size_t expected) {
  fail<ValueError>("custom_gradient", "backward gave gradients for {} arguments, the function has {}", found, expected);
}

}  // namespace detail

Tensor prevent_gradient(const Operand& x, std::string message) {
  const tape::OpScope scope(x);
  const Tensor y = ops::to_tensor("prevent_gradient", x);
  Tensor z = detail::alias(y);
  const auto refuse = [message = std::move(message)] {
    fail<LookupError>("prevent_gradient", "the gradient is explicitly disabled here{}{}", message.empty() ? "" : ": ",
                      message);
  };
  const Tensor in[] = {y}, out[] = {z};
  autodiff::record_function(
      "prevent_gradient", in, out,
      [refuse](std::span<const Gradient>) {
        refuse();
        return std::vector<Gradient>();
      },
      [refuse](std::span<const Tensor>) {
        refuse();
        return std::vector<Tensor>();
      });
  return z;
}

}  // namespace reel
