// Programs: what a function computes, as a list of instructions on numbered values. A trace writes one (trace.hpp),
// passes rewrite it (passes/passes.hpp), an Executable runs it (run/executable.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "loops/program/program.hpp"
#include "ops/apply/operation.hpp"

namespace reel::program {

/// Whether the value is passed on as a handle: it has no place in an arena.
inline bool is_token(const Tensor& x) noexcept { return detail::block(x)->flags & detail::token_flag; }

/// Numbers values, operands and instructions.
using Index = std::uint32_t;
inline constexpr Index nothing = ~Index{0};

/// A tensor of the program, with memory of its own or its caller's.
struct Value {
  enum class Origin : std::uint8_t { argument, constant, result };
  Origin origin;
  Tensor tensor;             // abstract: its dtype, shape and strides; of a constant the constant itself
  Index operands = nothing;  // the newest of its operands
};

/// What an instruction reads: a value, or a view of one.
struct Operand {
  Index value;
  Tensor tensor;            // abstract, or the constant: dtype, shape and strides
  std::int64_t offset = 0;  // of its first element behind the value's, in bytes
  bool whole = true;        // all of the value, as it lies
  Index next = nothing;     // of the same value, an older one
};

/// What a primitive takes besides tensors; keeps alive what the words own.
class OwnedAttributes {
 public:
  OwnedAttributes() = default;
  OwnedAttributes(const tape::Rule& rule, ops::Attributes attributes)
      : rule_(&rule), words_(attributes.begin(), attributes.end()) {
    if (rule.retain && !words_.empty()) rule.retain(words_);
  }
  OwnedAttributes(const OwnedAttributes& other) : rule_(other.rule_), words_(other.words_) {
    if (rule_ && rule_->retain && !words_.empty()) rule_->retain(words_);
  }
  OwnedAttributes(OwnedAttributes&&) noexcept = default;  // what is moved from has no words
  OwnedAttributes& operator=(OwnedAttributes other) noexcept {
    std::swap(rule_, other.rule_);
    words_.swap(other.words_);
    return *this;
  }
  ~OwnedAttributes() {
    if (rule_ && rule_->release && !words_.empty()) rule_->release(words_);
  }
  ops::Attributes words() const noexcept { return words_; }

 private:
  const tape::Rule* rule_ = nullptr;
  std::vector<std::int64_t> words_;
};

/// One operation, or several pointwise ones in one pass over memory.
struct Instruction {
  ops::Operation operation;
  OwnedAttributes attributes;
  std::vector<Index> inputs;   // operands; `nothing` for an empty handle
  std::vector<Index> outputs;  // values; `nothing` for a view of an input, and for a residual that nobody wants
  bool residuals_wanted = false;
  std::shared_ptr<const loops::Code> fused;  // null unless it stands for several: then elements of this shape,
  Shape shape = {};                          // and where each output goes
  std::vector<loops::Write> writes = {};

  bool pointwise() const noexcept { return !fused && operation.pointwise(); }
  /// Whether a run may fail for values of its inputs: it means something even where nobody reads its outputs.
  bool may_throw() const noexcept {
    return operation.check || (operation.primitive && operation.primitive->effects & ops::may_throw);
  }
};

/// A tensor over the memory of `base`, `offset` bytes in, with the dtype, shape and strides of `like`.
Tensor laid_out(const Tensor& base, std::int64_t offset, const Tensor& like);

struct Program {
  std::vector<Value> values;
  std::vector<Operand> operands;  // each once
  std::vector<Instruction> instructions;
  std::vector<Index> arguments;  // values
  std::vector<Index> results;    // operands

  Index add_value(Value::Origin origin, Tensor tensor);
  /// The operand for this view of a value, a new one if there is none yet.
  Index operand(Index value, const Tensor& view);
  /// The same for a value as a whole.
  Index whole(Index value) { return operand(value, values[value].tensor); }
  /// How many operands of instructions and results refer to each value.
  std::vector<Index> count_uses() const;
};

}  // namespace reel::program
