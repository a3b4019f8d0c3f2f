#include "ops/promote.hpp"

namespace reel::ops {

Promoted promote_operands(const char* op, std::span<const Operand* const> operands, Accept accept) {
  const DType common = common_dtype(op, operands), d = accept == Accept::floating ? common : floating_of(common);
  if (!is_differentiable(d) || (accept != Accept::number && is_complex(d)))
    fail<TypeError>(op, "is not defined for {}; {}", d, remedy(d));
  return {d, widened(d)};
}

}  // namespace reel::ops
