// Deferred calls: an instruction of a program that runs a function of tensors, such as a loop, whose number of steps
// depends on values. Its derivatives of every order are deferred calls too.
#pragma once
#include <atomic>
#include <optional>

#include "csource/writer.hpp"
#include "gradient/control/composite_entry.hpp"
#include "gradient/control/connections.hpp"
#include "program/program.hpp"

namespace reel::autodiff {

/// The function. Its inputs are `arguments` tensors, then the values of `captured`.
struct Deferred {
  using Numbers = std::span<const std::size_t>;

  explicit Deferred(const char* called) : name(called) {}
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  virtual ~Deferred() = default;
  /// Returns the outputs at the arguments. Reads the captured tensors themselves.
  virtual Tensors run(TensorSpan x) const = 0;
  /// The same unrecorded, written to `outputs`. Sets `token`, unless it is null, to the residuals of the gradient.
  virtual void compute(TensorSpan x, TensorSpan outputs, Tensor* token) const;
  /// Whether runs leave tokens for pull(). Otherwise the gradient runs the function again under a tape.
  virtual bool pulls() const { return false; }
  /// Writes the gradients with respect to the `wanted` inputs, after a run that left `token`. There is a cotangent per
  /// output, an empty one counts as zero.
  virtual void pull(TensorSpan, const Tensor& /*token*/, TensorSpan /*cotangents*/, Numbers /*wanted*/,
                    TensorSpan /*gradients*/) const {}
  /// Writes a run as C, whose inputs and outputs are those of the writer's instruction; `keeps`: leaves a token, the
  /// last output. TraceError if there is no form.
  virtual void write(csource::Writer& w, bool keeps) const;
  /// The same of pull(), for the token that write() has left. A cotangent without a name counts as zero.
  virtual void write_pull(csource::Writer&, std::span<const csource::Array> /*x*/, const csource::Token&,
                          std::span<const csource::Array> /*cotangents*/, Numbers /*wanted*/,
                          std::span<const csource::Array> /*gradients*/) const {}
  /// Whether with_tangents() supports tangents of these inputs. Otherwise tangents and second derivatives run the
  /// function again under accumulators and tapes.
  virtual bool pushes(TensorSpan /*along*/) const { return false; }
  /// Returns the outputs and then their tangents (empty where an output has none) for one tangent per input (empty:
  /// zero). It works in the trace and is recorded there.
  virtual Tensors with_tangents(TensorSpan, TensorSpan /*along*/) const { return {}; }
  /// Derivatives in place of those of run(): tangents and cotangents are as in rules, one per input or output. Nullopt
  /// if they are not supported.
  virtual std::optional<Tensors> jvp(TensorSpan x, TensorSpan tangents) const;
  virtual std::optional<Tensors> vjp(TensorSpan, TensorSpan /*cotangents*/) const { return {}; }

  const char* name;
  std::size_t arguments = 0;
  // The last of them are values of these, which derivatives read and outputs do not depend on.
  std::vector<Source> late = {};
  Tensors captured = {};
  Tensors outputs = {};        // abstract
  Connections connected = {};  // of outputs and inputs()
  bool may_throw = false;      // for some values of the arguments
  bool has_rules = false;      // see Traced::has_rules
  bool derives = false;        // see Traced::derives
  /// The functions that it runs, as traced, if the enclosing trace keeps them.
  struct Part {
    const char* name;
    std::shared_ptr<const program::Program> program;
  };
  std::vector<Part> parts = {};
  mutable std::atomic<int> uses{1};

  std::size_t inputs() const noexcept { return arguments + captured.size(); }
  bool leads(std::size_t output, std::size_t input) const {
    return is_differentiable(outputs[output].dtype()) && connected(output, input);
  }
  void release() const noexcept {
    if (--uses == 0) delete this;
  }
};

/// A deferred call that is shared with the instructions that run it.
template <class T, class... A>
std::shared_ptr<T> make_deferred(A&&... arguments) {
  return {new T(std::forward<A>(arguments)...), [](const Deferred* d) { d->release(); }};
}

/// Applies the deferred call in the function that is being traced, recorded on its tapes. Returns the outputs.
Tensors call_deferred(const Deferred& deferred, TensorSpan arguments);

/// The parts of a deferred call; empty for other instructions.
std::span<const Deferred::Part> parts_of(const program::Instruction& instruction);

/// From each argument of a program to each result.
Connections connections(const program::Program& program);
/// For each result, whether it depends on a derivative of a deferred call.
std::vector<bool> depend_on_derivatives(const program::Program& program);

}  // namespace reel::autodiff
