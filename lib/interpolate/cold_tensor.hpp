// Tensors for long formulas in sources that are not hot.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <reel/tensor.hpp>

namespace reel::ops {

/// A tensor whose destructor, copies and operators are not inlined, so that a formula takes a third of the code.
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

  // Defined here, so that only argument-dependent lookup finds them: those of tensors stay unambiguous.
  friend Quantity operator+(const Quantity& x, const Quantity& y) { return added(x, y); }
  friend Quantity operator-(const Quantity& x, const Quantity& y) { return subtracted(x, y); }
  friend Quantity operator*(const Quantity& x, const Quantity& y) { return multiplied(x, y); }
  friend Quantity operator/(const Quantity& x, const Quantity& y) { return divided(x, y); }
  friend Quantity operator+(double x, const Quantity& y) { return added(x, y); }
  friend Quantity operator-(double x, const Quantity& y) { return subtracted(x, y); }
  friend Quantity operator*(double x, const Quantity& y) { return multiplied(x, y); }
  friend Quantity operator/(const Quantity& x, double y) { return divided(x, y); }

 private:
  static Quantity added(const Quantity& x, const Quantity& y);
  static Quantity subtracted(const Quantity& x, const Quantity& y);
  static Quantity multiplied(const Quantity& x, const Quantity& y);
  static Quantity divided(const Quantity& x, const Quantity& y);
  static Quantity added(double x, const Quantity& y);
  static Quantity subtracted(double x, const Quantity& y);
  static Quantity multiplied(double x, const Quantity& y);
  static Quantity divided(const Quantity& x, double y);
};

}  // namespace reel::ops
