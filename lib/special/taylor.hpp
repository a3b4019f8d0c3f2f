// Truncated Taylor polynomials in up to four variables, of orders known at run time. A special function is evaluated on
// them in place of numbers to obtain its partial derivatives. The functions in this folder are templates over the
// number type, long double or Taylor, so that values cost no more than plain arithmetic. On x86-64 long double has
// eleven bits more than double; differences of logarithms of gamma functions lose about as many.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <utility>

#include "special/bounds.hpp"

namespace reel::kernels::special {

using Real = long double;

constexpr Real nan = std::numeric_limits<Real>::quiet_NaN(), infinity = std::numeric_limits<Real>::infinity();
constexpr Real pi = 3.14159265358979323846264338327950288L, euler = 0.57721566490153286060651209008240243L;

/// The order in each variable. A polynomial has the coefficients of u^i v^j w^k t^l with i <= n[0], j <= n[1], ...
class Orders {
 public:
  static constexpr int coefficients_max = special::coefficients_max, variables = arguments_max;
  /// The orders of the first variables; the others have order 0.
  Orders(std::initializer_list<int> orders) : Orders(orders.begin(), orders.size()) {}
  Orders(const int* orders, std::size_t count) {
    std::copy_n(orders, count, n_);
    for (int v = variables; v-- > 0; size_ *= n_[v] + 1) {
      strides_[v] = size_, total_ += n_[v];
      if (n_[v] > 0) next_[v] = std::exchange(first_, v);
    }
  }
  int operator[](int variable) const { return n_[variable]; }
  int size() const { return size_; }
  int total() const { return total_; }
  int stride(int variable) const { return strides_[variable]; }
  /// The variables with an order above 0 are first(), next(first()), ..., up to the number of variables.
  int first() const { return first_; }
  int next(int variable) const { return next_[variable]; }

 private:
  int n_[variables] = {}, strides_[variables] = {}, next_[variables] = {}, first_ = variables;
  int size_ = 1, total_ = 0;
};

// Not inlined: the functions are long, and a polynomial has up to 64 coefficients.
class Taylor {
 public:
  Taylor(const Orders& orders, Real value) : orders_(&orders), size_(orders.size()) {
    c_[0] = value;
    for (int k = 1; k < size_; ++k) c_[k] = 0;
  }
  /// value + u, where u is variable 0, 1, 2 or 3.
  static Taylor variable(const Orders& orders, Real value, int which) {
    Taylor t(orders, value);
    if (orders[which] > 0) t.c_[orders.stride(which)] = 1;
    return t;
  }
  [[gnu::noinline]] Taylor(const Taylor& t) : orders_(t.orders_), size_(t.size_) { std::copy_n(t.c_, size_, c_); }
  [[gnu::noinline]] Taylor& operator=(const Taylor& t) {
    std::copy_n(t.c_, size_, c_);
    return *this;
  }
  const Orders& orders() const { return *orders_; }
  int size() const { return size_; }
  Real operator[](int k) const { return c_[k]; }

  [[gnu::noinline]] Taylor& operator+=(const Taylor& b) {
    for (int k = 0; k < size_; ++k) c_[k] += b.c_[k];
    return *this;
  }
  [[gnu::noinline]] Taylor& operator-=(const Taylor& b) {
    for (int k = 0; k < size_; ++k) c_[k] -= b.c_[k];
    return *this;
  }
  [[gnu::noinline]] Taylor& operator*=(Real b) {
    for (int k = 0; k < size_; ++k) c_[k] *= b;
    return *this;
  }
  Taylor& operator+=(Real b) {
    c_[0] += b;
    return *this;
  }
  friend Taylor operator+(Taylor a, const Taylor& b) { return a += b; }
  friend Taylor operator-(Taylor a, const Taylor& b) { return a -= b; }
  friend Taylor operator+(Taylor a, Real b) { return a += b; }
  friend Taylor operator+(Real a, Taylor b) { return b += a; }
  friend Taylor operator-(Taylor a, Real b) { return a += -b; }
  friend Taylor operator-(Real a, Taylor b) { return (b *= -1) += a; }
  friend Taylor operator-(Taylor a) { return a *= -1; }
  friend Taylor operator*(Taylor a, Real b) { return a *= b; }
  friend Taylor operator*(Real a, Taylor b) { return b *= a; }
  friend Taylor operator/(Taylor a, Real b) { return a *= 1 / b; }
  friend Taylor operator*(const Taylor& a, const Taylor& b) {
    Taylor r(*a.orders_, 0);
    add_product(*a.orders_, a.orders_->first(), a.c_, b.c_, r.c_);
    return r;
  }
  friend Taylor operator/(const Taylor& a, const Taylor& b) { return a * reciprocal(b); }
  friend Taylor operator/(Real a, const Taylor& b) { return a * reciprocal(b); }

  /// f(x) by composition with f's Taylor series: f(k) returns f^(k) / k! at the value of x, for k = 0, 1, ... in turn.
  template <class F>
  friend Taylor compose(const Taylor& x, F f) {
    Real c[Orders::coefficients_max];
    for (int k = 0; k <= x.orders_->total(); ++k) c[k] = f(k);
    return with_coefficients(x, c);
  }
  [[gnu::noinline]] friend Taylor with_coefficients(const Taylor& x, const Real* c) {
    const int most = x.orders_->total();
    Taylor rest(x), r(*x.orders_, c[most]);
    rest.c_[0] = 0;
    for (int k = most; k-- > 0;) (r = r * rest) += c[k];
    return r;
  }
  [[gnu::noinline]] friend Taylor reciprocal(const Taylor& x) {
    Real c = -1;
    return compose(x, [&, x0 = x.c_[0]](int) { return c = -c / x0; });
  }

 private:
  /// r += a b, over this variable and the following ones.
  [[gnu::noinline]] static void add_product(const Orders& o, int variable, const Real* a, const Real* b, Real* r) {
    if (variable == Orders::variables) {
      *r += *a * *b;
      return;
    }
    const int n = o[variable], stride = o.stride(variable), next = o.next(variable);
    for (int i = 0; i <= n; ++i) {
      const Real* x = a + i * stride;
      if (next == Orders::variables && *x == 0) continue;  // 0 times infinity counts as 0
      for (int p = 0; p <= n - i; ++p)
        if (next == Orders::variables)
          r[(i + p) * stride] += *x * b[p * stride];
        else
          add_product(o, next, x, b + p * stride, r + (i + p) * stride);
    }
  }
  const Orders* orders_;
  int size_;
  Real c_[Orders::coefficients_max];
};

// ---- Functions for either number type

inline Real value(Real x) { return x; }
inline Real value(const Taylor& x) { return x[0]; }
/// A constant of the same type as x.
inline Real constant(Real, Real c) { return c; }
inline Taylor constant(const Taylor& x, Real c) { return {x.orders(), c}; }
inline int total_order(Real) { return 0; }
inline int total_order(const Taylor& x) { return x.orders().total(); }
/// Whether x is below `least` times the sum in every coefficient, so that a series may end.
inline bool negligible(Real x, Real sum, Real least) { return std::abs(x) <= least * std::abs(sum); }
inline bool negligible(const Taylor& x, const Taylor& sum, Real least) {
  for (int k = 0; k < x.size(); ++k)
    if (!(std::abs(x[k]) <= least * std::abs(sum[k]))) return false;
  return true;
}

inline Real exp(Real x) { return std::exp(x); }
[[gnu::noinline]] inline Taylor exp(const Taylor& x) {
  Real c = 0;
  return compose(x, [&, x0 = x[0]](int k) { return c = k == 0 ? std::exp(x0) : c / k; });
}
inline Real expm1(Real x) { return std::expm1(x); }
[[gnu::noinline]] inline Taylor expm1(const Taylor& x) {
  Real c = 0;
  return compose(x, [&, x0 = x[0]](int k) {
    c = k == 0 ? std::exp(x0) : c / k;
    return k == 0 ? std::expm1(x0) : c;
  });
}
inline Real log(Real x) { return std::log(x); }
[[gnu::noinline]] inline Taylor log(const Taylor& x) {
  Real power = -1;
  return compose(x, [&, x0 = x[0]](int k) { return k == 0 ? std::log(x0) : (power /= -x0) / k; });
}
inline Real log1p(Real x) { return std::log1p(x); }
[[gnu::noinline]] inline Taylor log1p(const Taylor& x) {
  Real power = -1;
  return compose(x, [&, x0 = x[0]](int k) { return k == 0 ? std::log1p(x0) : (power /= -(1 + x0)) / k; });
}
inline Real sqrt(Real x) { return std::sqrt(x); }
[[gnu::noinline]] inline Taylor sqrt(const Taylor& x) {
  Real c = 0;
  return compose(x, [&, x0 = x[0]](int k) { return c = k == 0 ? std::sqrt(x0) : c * (1.5L - k) / (k * x0); });
}
/// sin(x) from the sine s and cosine c of its constant part, which may have been reduced.
[[gnu::noinline]] inline Taylor sin(const Taylor& x, Real s, Real c) {
  Real power = 1;
  return compose(x, [&](int k) {
    if (k > 0) power /= k;
    const Real d = k % 2 == 0 ? s : c;
    return power * (k % 4 < 2 ? d : -d);
  });
}
inline Taylor sin(const Taylor& x) { return sin(x, std::sin(x[0]), std::cos(x[0])); }
inline Taylor cos(const Taylor& x) { return sin(x, std::cos(x[0]), -std::sin(x[0])); }
/// sin(pi x) for |x| <= 1/2.
inline Real sin_pi(Real x) { return std::sin(pi * x); }
inline Taylor sin_pi(const Taylor& x) { return sin(pi * x); }

inline Real erfc(Real x) { return std::erfc(x); }
[[gnu::noinline]] inline Taylor erfc(const Taylor& x) {
  Real before = 0, gauss = std::exp(-x[0] * x[0]);  // coefficients k - 1 and k of exp(-x^2)
  return compose(x, [&, x0 = x[0]](int k) {
    if (k == 0) return std::erfc(x0);
    const Real c = -2 / std::sqrt(pi) * gauss / k;
    before = std::exchange(gauss, -2 * (x0 * gauss + before) / k);
    return c;
  });
}

/// x - log(1 + x), by its series near 0.
inline Real minus_log1p(Real x) {
  if (std::abs(x) > 0.3L) return x - std::log1p(x);
  Real sum = 0;
  for (int k = 40; k >= 2; --k) sum = 1 / static_cast<Real>(k) - x * sum;
  return x * x * sum;
}
[[gnu::noinline]] inline Taylor minus_log1p(const Taylor& x) {
  Real power = 1;
  return compose(x, [&, x0 = x[0]](int k) {
    if (k > 0) power /= -(1 + x0);
    return k == 0 ? minus_log1p(x0) : k == 1 ? x0 / (1 + x0) : power / k;
  });
}

}  // namespace reel::kernels::special
