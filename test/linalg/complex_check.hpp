// Shared by tests of real and complex matrices: operands, and derivatives, for which a complex number counts as two
// real ones.
#pragma once
#include <vector>

#include "catch.hpp"
#include "support/derivatives.hpp"

namespace complex_check {

using reel::Tensor;
using support::Tensors;

inline Tensor drawn(support::Random& random, const reel::Shape& shape, reel::DType d = reel::DType::complex128) {
  return cast(make_complex(random.tensor(shape, -1, 1), random.tensor(shape, -1, 1)), d);
}

/// Real or complex.
inline Tensor drawn_in(support::Random& random, const reel::Shape& shape, reel::DType d) {
  return is_complex(d) ? drawn(random, shape, d) : cast(random.tensor(shape), d);
}
/// The dtypes of matrices that LAPACK takes.
inline constexpr reel::DType dtypes[] = {reel::DType::float32, reel::DType::float64, reel::DType::complex64,
                                         reel::DType::complex128};
inline double eps_of(reel::DType d) {
  return d == reel::DType::float32 || d == reel::DType::complex64 ? 0x1p-23 : 0x1p-52;
}

inline Tensor adjoint(const Tensor& x) { return conj(moveaxis(x, -1, -2)); }
inline Tensor hermitian(const Tensor& x) { return 0.5 * (x + adjoint(x)); }

/// f(a) has the same bits for any layout of a, for any number of threads, and while a tape follows a.
template <class F>
void check_same_bits(const F& f, const Tensor& a) {
  const std::vector<Tensor> first = f(a);
  const auto again = [&](const Tensor& at) {
    const std::vector<Tensor> now = f(at);
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(array_equal(now[i], first[i]));
  };
  using support::Layout;
  for (const Layout layout : {Layout::transposed, Layout::flipped, Layout::stepped}) again(laid_out(a, layout));
  const int before = reel::num_threads();
  for (const int threads : {1, 2, 3, 7}) {
    reel::set_num_threads(threads);
    again(a);
  }
  reel::set_num_threads(before);
  reel::GradientTape tape;
  tape.watch(a);
  again(a);
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
