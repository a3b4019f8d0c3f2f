// Tensors for long formulas in sources that are not hot.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <reel/tensor.hpp>

namespace reel::ops {

/// A tensor whose destructor, copies and operators are calls: a formula takes a third of the code.
class Quantity : public Tensor {
 public:
  Quantity() noexcept = default;
  Quantity(const Tensor& x);
  Quantity(Tensor&& x) noexcept;
  Quantity(const Quantity& x);
  Quantity(Quantity&& x) noexcept = default;
  Quantity& operator=(const Quantity& x);
  Quantity& operator=(Quantity&& x) noexcept = default;
  ~Quantity();

  friend Quantity operator+(const Quantity& x, const Quantity& y);
  friend Quantity operator-(const Quantity& x, const Quantity& y);
  friend Quantity operator*(const Quantity& x, const Quantity& y);
  friend Quantity operator/(const Quantity& x, const Quantity& y);
  friend Quantity operator+(double x, const Quantity& y);
  friend Quantity operator-(double x, const Quantity& y);
  friend Quantity operator*(double x, const Quantity& y);
  friend Quantity operator/(const Quantity& x, double y);
};

}  // namespace reel::ops
