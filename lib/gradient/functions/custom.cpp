// The implementation of custom_gradient, and the identities with a special gradient.
#include <algorithm>
#include <reel/custom.hpp>
#include <reel/ops/make.hpp>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/functions/composite.hpp"
#include "ops/apply/operation.hpp"
#include "ops/engine.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace detail {

namespace {

struct Form {
  Shape shape;
  DType dtype;
};

// The results as outputs of an entry. A tensor that f made is recorded as it is, so that a rule that reads it reads the
// followed tensor. A tensor that existed before gets a new identity.
std::vector<Tensor> outputs_of(std::span<const Tensor> results, std::uint64_t last_before) {
  std::vector<Tensor> outputs;
  for (const Tensor& y : results) {
    bool made = thread_of(y.id()) == thread_of(last_before) && y.id() > last_before;
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

// The user's backward function; cotangents that are none become zeros.
auto backward_of(const CustomResult& made, std::span<const Tensor> outputs, std::vector<Variable> variables) {
  return [forms = forms_of(outputs), variables = std::move(variables), batched = made.batched, alone = made.backward,
          with_variables = made.backward_with_variables](std::span<const Gradient> g) {
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

}  // namespace

std::vector<Tensor> custom(const char* name, std::span<const Tensor> arguments, const Callback<CustomResult()>& run) {
  if (!tape::active()) return run().results;
  CustomResult made;
  std::vector<Variable> variables;
  const std::uint64_t last_before = fresh_id();
  {
    tape::Capture capture;
    made = run();
    for (const Variable& v : capture.variables()) variables.push_back(v);
  }
  if (!variables.empty() && !made.backward_with_variables)
    fail<TypeError>(name,
                    "the function reads the trainable variable '{}'; its backward must also take "
                    "(dy, std::span<const Variable>) and return pair(gradients of the arguments, "
                    "std::vector<Gradient> of the variables)",
                    variables.front().name());
  const std::vector<Tensor> outputs = outputs_of(made.results, last_before);
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  for (const Variable& v : variables) inputs.push_back(v.read());
  auto backward = backward_of(made, outputs, std::move(variables));
  TangentFunction jvp = jvp_of(name, made, inputs, arguments.size());
  autodiff::record_function(name, inputs, outputs, std::move(backward), std::move(jvp), {.batched = made.batched});
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
