#include "loops/make/transfer.hpp"

#include <cstring>

#include "kernels/baseline/cast.hpp"
#include "loops/elementwise/cast.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

void copy_out_one(const detail::Block* x, DType as, void* element) {
  if (x->dtype == as)
    std::memcpy(element, x->data, item_size(as));
  else
    kernels::cast(x->dtype, as)({x->data, 1}, element, 1);
}

}  // namespace

void* first_element(const Tensor& x) noexcept { return detail::block(x)->data; }

void copy_in(const void* elements, const Tensor& y) noexcept {
  const detail::Block* b = detail::block(y);
  if (b->size != 0) std::memcpy(b->data, elements, static_cast<std::size_t>(b->size) * item_size(b->dtype));
}

void copy_out(const Tensor& x, DType as, void* elements) {
  const detail::Block* b = detail::block(x);
  if (b->size == 1) return copy_out_one(b, as, elements);
  if (b->size == 0) return;
  const Tensor to = TensorAccess::adopt(detail::new_borrowed(elements, as, b->shape(), nullptr));
  if (b->dtype == as)
    copy(x, to);
  else
    cast(x, to);
}

}  // namespace reel::loops
