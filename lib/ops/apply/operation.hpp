// The operations of program instructions, and the interface of tracers. While a function is traced, its ops compute
// nothing: their outputs are abstract, and a Tracer notes the call. Only ops without tensor inputs, such as zeros, are
// computed; their results are constants of the program.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// A primitive, the value of a definition of the pointwise table, or its derivative with respect to an operand, fused
/// with the product by a cotangent.
struct Operation {
  static constexpr std::int8_t value = -1;
  const char* name;
  const Primitive* primitive = nullptr;    // null: a definition of the table
  std::uint16_t definition = 0;            // its index
  std::int8_t operand = value;             // of the derivative
  bool summed = false;                     // the derivative is summed down from its cotangent's shape to the output's
  void (*check)(Inputs inputs) = nullptr;  // throws for elements that the definition refuses

  bool pointwise() const noexcept { return !primitive; }
  friend bool operator==(const Operation& a, const Operation& b) noexcept {
    return a.primitive == b.primitive && a.definition == b.definition && a.operand == b.operand &&
           a.summed == b.summed && a.check == b.check;
  }
};

/// Evaluates a definition or a derivative into `out`, to whose shape the inputs broadcast unless it is summed. The bits
/// are those of the op and of its rule.
void evaluate_pointwise(const Operation& operation, Inputs inputs, const Tensor& out);

struct Effect;

/// Notes the calls of ops. At most one per thread is active: current().
class Tracer {
 public:
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  /// Notes a call with these abstract outputs. An unwanted residual is an empty handle.
  virtual void add(const Operation& operation, const Call& call, std::span<const Tensor> outputs) = 0;
  /// Notes that x was used where no operation is: a view or a new handle was made of it.
  virtual void note(const Tensor& x) = 0;
  /// What traces the function, for messages: compile, sparse_jacobian, ...
  virtual const char* owner() const noexcept = 0;
  /// Repeats a draw, which the tracer has performed as an effect; `seed` and `first` are the attributes that it set.
  virtual void draw_again(const Effect& effect, std::uint64_t seed, std::uint64_t first) = 0;
  /// The tracer of this thread; null when nothing is traced.
  static Tracer* current() noexcept { return detail::this_thread.state->tracer; }

 protected:
  Tracer() = default;
  ~Tracer() = default;
};

inline bool is_abstract(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  return b && b->abstract();
}
/// Whether the elements are in memory of the user, who may write there. For an abstract tensor: whether those of the
/// argument or variable that it stands for may be; its block then has borrowed_flag too.
inline bool is_borrowed(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  if (b->flags & detail::view_flag) b = static_cast<const detail::Block*>(b->base);
  return (b->flags & detail::borrowed_flag) != 0;
}
inline bool any_abstract(Inputs inputs) noexcept {
  for (const Tensor* x : inputs)
    if (is_abstract(*x)) return true;
  return false;
}
/// Whether an op with these inputs must call trace() instead of computing.
inline bool traced(Inputs inputs) noexcept { return Tracer::current() ? !inputs.empty() : any_abstract(inputs); }
/// Whether apply() of an op with these inputs would evaluate it and do nothing else: nobody records or observes it.
bool unobserved(Inputs inputs) noexcept;
/// An abstract tensor, row-major without gaps.
Tensor abstract(DType dtype, const Shape& shape);

/// Traces a call of a primitive and returns its abstract outputs. TraceError, naming what made the input, if an input
/// is abstract but nothing is traced.
void trace(const Primitive& primitive, const Call& call, const Metas& metas, bool residuals_wanted,
           std::span<Tensor> outputs);
/// The same for a definition or derivative of the table.
Tensor trace(const Operation& operation, Inputs inputs, DType dtype, const Shape& shape);

}  // namespace reel::ops
