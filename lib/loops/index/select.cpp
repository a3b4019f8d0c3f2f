#include "loops/index/select.hpp"

#include "loops/loops.hpp"

namespace reel::loops {

void select(const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size == 0) return;
  const Tensor* in[] = {&condition, &x, &y};
  pointwise(kernels::active().select[kernels::size_class(item_size(to->dtype))], in, out);
}

}  // namespace reel::loops
