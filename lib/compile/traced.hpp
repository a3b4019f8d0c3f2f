// A function traced for one signature: its program, the variables that it reads and assigns, and its derivatives, which
// are traced functions, too.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <reel/compile.hpp>

#include "program/executable.hpp"

namespace reel::compiler {

struct Derived;
struct Differentiated;

class Traced : public std::enable_shared_from_this<Traced> {
 public:
  /// Traces f on tensors laid out like `arguments`. `owner` is named in errors. Throws what f throws.
  Traced(const char* owner, detail::FlatFunction f, std::span<const Tensor> arguments);
  /// f(arguments), which are laid out as when it was traced. One entry on the tapes that follow what it is made of.
  detail::List<Tensor> call(std::span<const Tensor> arguments);
  CompileStats stats() const;
  const program::Program& program() const noexcept { return executable_->program(); }

 private:
  // What an entry depends on.
  struct Inputs {
    std::vector<Tensor> arguments, values;  // values: of variables_
    std::vector<Tensor> captured;
  };
  /// Which derivative: the numbers of the results with a cotangent or of the inputs with a tangent, then the ids of the
  /// captured tensors that are followed, negated.
  using Key = std::vector<std::int64_t>;
  struct Derivative {
    std::shared_ptr<Traced> traced;
    std::vector<bool> exists;  // of each gradient or tangent
  };
  using Derivatives = std::map<Key, Derivative>;
  using DerivativeFunction = std::vector<Derived> (*)(const Differentiated& what, std::span<const Tensor> x);

  detail::List<Tensor> run(std::span<const Tensor> inputs);
  detail::List<Tensor> record(const Inputs& inputs, std::span<const Tensor> all);
  std::vector<Tensor> differentiate(Derivatives& known, DerivativeFunction function, const Inputs& inputs,
                                    std::span<const Tensor> given);
  std::vector<Gradient> pull(const Inputs& inputs, std::span<const Gradient> cotangents);
  std::vector<Tensor> push(const Inputs& inputs, std::span<const Tensor> tangents);

  const char* owner_;
  detail::FlatFunction f_;
  std::size_t arguments_ = 0, results_ = 0;
  std::vector<Variable> variables_, assigned_;
  std::vector<Tensor> captured_;  // that a tape may follow
  std::unique_ptr<program::Executable> executable_;
  std::int64_t traced_instructions_ = 0;
  std::mutex mutex_;  // of the derivatives
  Derivatives pulls_, pushes_;
};

}  // namespace reel::compiler
