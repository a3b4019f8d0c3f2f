// Derivatives of functions of complex numbers: a complex number counts as two real ones.
#pragma once
#include "catch.hpp"
#include "support/derivatives.hpp"

namespace complex_check {

using reel::Tensor;
using support::Tensors;

inline Tensor drawn(support::Random& random, const reel::Shape& shape, reel::DType d = reel::DType::complex128) {
  return cast(make_complex(random.tensor(shape, -1, 1), random.tensor(shape, -1, 1)), d);
}

/// The scalar product of real numbers, or of complex numbers as pairs of real ones.
inline double inner(const Tensors& a, const Tensors& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += sum(real(conj(a[i]) * b.at(i))).item();
  return total;
}

/// A random tensor of the shape and dtype of x.
inline Tensor drawn_like(support::Random& random, const Tensor& x) {
  return is_complex(x.dtype()) ? drawn(random, x.shape()) : random.tensor(x.shape());
}

/// Reverse against forward mode, and both against central differences along a direction; then the same for the
/// gradient.
inline void check_orders(support::Function f, const Tensors& x, int orders, double slack = 1) {
  support::Random random("complex products");
  for (int order = 1; order <= orders; ++order) {
    CAPTURE(order);
    Tensors v, t;
    for (const Tensor& one : f(x)) v.push_back(drawn_like(random, one));
    for (const Tensor& one : x) t.push_back(drawn_like(random, one));
    const Tensors forward = support::push(f, x, t), reverse = support::pull(f, x, v);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(reverse[i].dtype() == x[i].dtype());
    CHECK(inner(v, forward) == Approx(inner(reverse, t)).epsilon(1e-11 * slack).margin(1e-11 * slack));
    constexpr double h = 1e-5;
    Tensors above = x, below = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      above[i] = x[i] + h * t[i];
      below[i] = x[i] - h * t[i];
    }
    const double slope = (inner(v, f(above)) - inner(v, f(below))) / (2 * h);
    CHECK(inner(v, forward) == Approx(slope).epsilon(1e-6 * slack).margin(1e-6 * slack));
    f = support::gradient_of(f, v);
    slack *= slack > 1 ? 4 : 1;
  }
}

}  // namespace complex_check
