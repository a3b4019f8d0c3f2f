#include "interpolate/cold_tensor.hpp"

#include <utility>

#include "interpolate/interpolate.hpp"

namespace reel::ops {

Quantity::Quantity(const Tensor& x) : Tensor(x) {}
Quantity::Quantity(Tensor&& x) noexcept : Tensor(std::move(x)) {}
Quantity::Quantity(const Quantity& x) : Tensor(x) {}
Quantity& Quantity::operator=(const Quantity& x) {
  Tensor::operator=(x);
  return *this;
}
Quantity::~Quantity() {}

Quantity Quantity::added(const Quantity& x, const Quantity& y) { return add(x, y); }
Quantity Quantity::subtracted(const Quantity& x, const Quantity& y) { return subtract(x, y); }
Quantity Quantity::multiplied(const Quantity& x, const Quantity& y) { return multiply(x, y); }
Quantity Quantity::divided(const Quantity& x, const Quantity& y) { return divide(x, y); }
Quantity Quantity::added(double x, const Quantity& y) { return add(x, y); }
Quantity Quantity::subtracted(double x, const Quantity& y) { return subtract(x, y); }
Quantity Quantity::multiplied(double x, const Quantity& y) { return multiply(x, y); }
Quantity Quantity::divided(const Quantity& x, double y) { return divide(x, y); }

Quantity join(const Tensor& x, const Tensor& y, const Tensor& z) {
  const Tensor parts[] = {x, y, z};
  return concatenate(std::span(parts, z.defined() ? 3 : 2), -1);
}
Quantity sum_of_rows(const Tensor& x) { return sum(x, -1); }
Quantity gather_values(const Tensor& x, const Tensor& indices) { return gather(x, indices, -1); }
Quantity last_axis(const Tensor& x, std::int64_t first, std::int64_t end, std::int64_t step) {
  const std::int64_t n = x.shape()[-1];
  return slice(x, {ellipsis, range(first < 0 ? first + n : first, end <= 0 ? end + n : end, step)});
}
DType dtype_at(const char* op, DType function, std::initializer_list<const Operand*> points) {
  DType d = function;
  for (const Operand* x : points) {
    const DType own = promote_operands(op, {x}, Accept::real).result;
    if (!x->is_weak()) d = promote(d, own);
  }
  return d;
}

Quantity steps_of(const Tensor& x) {
  // In this order with every compiler: it is that of the sum of the two gradients, where zeros differ in sign.
  const Tensor before = last_axis(x, 0, -1), after = last_axis(x, 1, 0);
  return after - before;
}

}  // namespace reel::ops
