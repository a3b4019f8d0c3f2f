#include "ops/promote.hpp"

namespace reel::ops {

Promoted promote_dtype(const char* op, DType common, Accept accept) {
  const DType d = accept == Accept::floating ? common : floating_of(common);
  if (!is_differentiable(d) || (accept != Accept::number && is_complex(d)))
    fail<TypeError>(op, "is not defined for {}; {}", d, remedy(d));
  return {d, widened(d)};
}

PromotedOperand promote_operand(const char* op, const Operand& x, Accept accept, const char* operand) {
  if (x.is_tensor()) require_defined(op, x.tensor(), operand);
  const Promoted d = promote_operands(op, {&x}, accept);
  return {to_tensor(op, x, d.wide, operand), d.result};
}

}  // namespace reel::ops
