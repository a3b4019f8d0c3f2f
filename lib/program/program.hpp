// Programs: what a function computes, as a list of instructions on numbered values. A Trace writes a program
// (trace.hpp), passes rewrite it (passes/passes.hpp), an Executable runs it (run/executable.hpp).
#pragma once
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "loops/program/program.hpp"
#include "loops/program/scalar.hpp"
#include "ops/apply/operation.hpp"

namespace reel::program {

/// Whether the value is a token: passed on as a handle, without a place in the arena.
inline bool is_token(const Tensor& x) noexcept { return detail::block(x)->flags & detail::token_flag; }

/// The number of a value, operand or instruction.
using Index = std::uint32_t;
inline constexpr Index nothing = ~Index{0};

/// A tensor of the program, in the arena, in a result or in an argument.
struct Value {
  enum class Origin : std::uint8_t { argument, constant, result };
  Origin origin;
  Tensor tensor;             // abstract, with dtype, shape and strides; a constant holds its own tensor
  Index operands = nothing;  // the newest of its operands
  Index whole = nothing;     // the one that is whole
};

/// What an instruction reads: a value or a view of one.
struct Operand {
  Index value;
  Tensor tensor;            // abstract, or the constant
  std::int64_t offset = 0;  // of its first element relative to the value's, in bytes
  bool whole = true;        // the whole value with its own strides
  Index next = nothing;     // an older operand of the same value
};

/// The attributes of a primitive; keeps alive what the words own.
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
  OwnedAttributes(OwnedAttributes&&) noexcept = default;  // a moved-from object has no words
  OwnedAttributes& operator=(OwnedAttributes other) noexcept {
    std::swap(rule_, other.rule_);
    words_.swap(other.words_);
    return *this;
  }
  ~OwnedAttributes() {
    if (rule_ && rule_->release && !words_.empty()) rule_->release(words_);
  }
  ops::Attributes words() const noexcept { return words_; }
  /// Adds words behind them. The words must own nothing.
  void append(ops::Attributes more) {
    assert(!rule_ || !rule_->release);
    words_.insert(words_.end(), more.begin(), more.end());
  }

 private:
  const tape::Rule* rule_ = nullptr;
  std::vector<std::int64_t> words_;
};

/// One operation, or several fused pointwise ones.
struct Instruction {
  ops::Operation operation;
  OwnedAttributes attributes;
  std::vector<Index> inputs;   // operands; `nothing` for an empty handle
  std::vector<Index> outputs;  // values; `nothing` for a view of an input, and for an unwanted residual
  bool residuals_wanted = false;
  tape::Site line = {};                      // of the user's call, for errors of a run
  std::shared_ptr<const loops::Code> fused;  // set for a fused instruction: its program, the shape of its elements,
  std::shared_ptr<const Shape> shape = {};   // and what becomes of each output
  std::vector<loops::Write> writes = {};
  /// Of a fused instruction that also computes a matrix product, which its program then reads. The product's first
  /// factor takes the place of this input, its second factor is the last input. The product is in the memory of this
  /// output until the program overwrites it.
  struct Product {
    Index input, output;
  };
  std::optional<Product> product = {};

  std::shared_ptr<const loops::ScalarProgram> scalars = {};  // set for a program on elements of the inputs

  bool pointwise() const noexcept { return !fused && !scalars && operation.pointwise(); }
  /// Whether a run may throw for some values of the inputs: such an instruction is kept even if nobody reads its
  /// outputs.
  bool may_throw() const noexcept {
    return operation.check || (operation.primitive && operation.primitive->effects & ops::may_throw);
  }
};

/// A tensor over the memory of `base`, `offset` bytes in, with the dtype, shape and strides of `like`.
Tensor laid_out(const Tensor& base, std::int64_t offset, const Tensor& like);

struct Program {
  std::vector<Value> values;
  std::vector<Operand> operands;  // without duplicates
  std::vector<Instruction> instructions;
  std::vector<Index> arguments;                              // values
  std::vector<Index> results;                                // operands
  std::unordered_multimap<std::uint64_t, Index> views = {};  // operands that are not whole, by value and offset

  Index add_value(Value::Origin origin, Tensor tensor);
  /// Makes the value a constant: x, and what operands view of it.
  void make_constant(Index value, const Tensor& x);
  /// The operand for this view of a value; added if there is none yet.
  Index operand(Index value, const Tensor& view);
  /// The operand for the whole value.
  Index whole(Index value) { return operand(value, values[value].tensor); }
  /// For each value the number of operands of instructions and results that refer to it.
  std::vector<Index> count_uses() const;
};

}  // namespace reel::program
