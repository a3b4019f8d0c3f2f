// The check of derivatives for products and factorisations: both modes against each other and against central
// differences, then the same for the gradient function, to any order.
#pragma once
#include <cmath>

#include "catch.hpp"
#include "support/derivatives.hpp"

namespace linalg {

struct Check {
  int order = 2;
  double slack = 1;        // a condition number
  bool symmetric = false;  // directions are symmetric matrices: the op reads one triangle
};

inline void check(const support::Function& f, const support::Tensors& x, const Check& how = {}) {
  using namespace support;
  Random random("linalg");
  const auto directions = [&] {
    Tensors t = random.like(x);
    if (how.symmetric)
      for (reel::Tensor& one : t)
        if (one.rank() > 1) one = 0.5 * (one + reel::moveaxis(one, -1, -2));
    return t;
  };
  Function g = f;
  double slack = how.slack;
  for (int order = 1; order <= how.order; ++order) {
    const Tensors y = g(x), v = random.like(y), t = directions();
    const Tensors forward = push(g, x, t), reverse = pull(g, x, v);
    const Dot a = inner(v, forward), b = inner(reverse, t);
    INFO("order " << order << ": " << static_cast<double>(a.value) << ", " << static_cast<double>(b.value));
    CHECK(std::abs(a.value - b.value) <= 1e-12L * static_cast<long double>(slack) * std::max(a.scale, b.scale));
    constexpr double h = 1e-5;
    const Tensors above = g(moved(x, h, t)), below = g(moved(x, -h, t));
    Tensors slope;
    for (std::size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * h));
    const Difference d = difference(forward, slope);
    INFO("central differences: error " << d.error << " of " << d.size);
    CHECK(d.error <= 1e-7 * slack * (1 + d.size));
    g = gradient_of(g, v);
    slack *= how.slack > 1 ? 4 : 2;
  }
}

/// The same for a function of tensors to one tensor.
template <class F>
void check_one(const F& f, const support::Tensors& x, const Check& how = {}) {
  check([f](const support::Tensors& at) { return support::Tensors{f(at)}; }, x, how);
}

}  // namespace linalg
