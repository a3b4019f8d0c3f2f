// Pointwise ops that functions of lanes define: each is traced once, runs in one pass over memory and is one entry on a
// tape.
#pragma once
#include <atomic>
#include <initializer_list>
#include <reel/elementwise.hpp>
#include <span>
#include <string_view>

#include "ops/apply/primitive.hpp"

namespace reel::ops {

struct Composed {
  std::string_view name;
  Lane (*value)(const Lane* x);
  /// The least precise dtype to compute in: float64 for formulas that cancel.
  DType least = DType::float32;
};

/// At most this many operands.
inline constexpr std::size_t most_of_composed = 5;

/// For each definition an op with its name, and its traces, made at the first call and never destroyed: a static object
/// may compute in its destructor, and tapes refer to the ops.
class ComposedOps {
 public:
  constexpr explicit ComposedOps(std::span<const Composed> definitions) : definitions_(definitions) {}
  ComposedOps(const ComposedOps&) = delete;
  ComposedOps& operator=(const ComposedOps&) = delete;
  /// Definition f of these operands, which broadcast: float32 and float64; float16 and bfloat16 compute in float32,
  /// integers and booleans in float64, dtypes less precise than `least` in that. TypeError for complex numbers.
  Tensor call(std::size_t f, std::span<const Operand* const> operands) const;
  /// The same as an op of its own, whose line is that of the first operand.
  Tensor call(std::size_t f, std::initializer_list<const Operand*> operands) const;

 private:
  struct Made;
  const Made& made() const;
  std::span<const Composed> definitions_;
  mutable std::atomic<const Made*> made_ = nullptr;
};

}  // namespace reel::ops
