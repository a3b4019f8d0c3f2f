// Pointwise ops that functions of lanes define: each is traced once, runs in one pass over memory and is one entry on a
// tape.
#pragma once
#include <reel/elementwise.hpp>
#include <span>
#include <string_view>
#include <vector>

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

/// For each definition an op with its name, and its traces. Never destroyed: a static object may compute in its
/// destructor, and tapes refer to the ops.
class ComposedOps {
 public:
  explicit ComposedOps(std::span<const Composed> definitions);
  ComposedOps(const ComposedOps&) = delete;
  ComposedOps& operator=(const ComposedOps&) = delete;
  /// Definition f of these operands, which broadcast: float32 and float64; float16 and bfloat16 compute in float32,
  /// integers and booleans in float64, dtypes less precise than `least` in that. TypeError for complex numbers.
  Tensor call(std::size_t f, std::span<const Operand* const> operands) const;

 private:
  std::span<const Composed> definitions_;
  std::vector<Primitive> primitives_;
  std::vector<detail::LaneTraces> traces_;
};

}  // namespace reel::ops
