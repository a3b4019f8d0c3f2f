// The numbers of the interpreter: long double with an error bound, and with derivatives in up to three directions at
// once. They share no code with the library.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace random_programs {

using Real = long double;

/// A comparison could not be decided within rounding error, so the program has no definite result.
struct Ambiguous {};
/// A statement that cannot be.
struct Unfit {};

/// A polynomial in e1, e2, e3 with e_k^2 = 0: nested dual numbers, flattened. The coefficient v[m] belongs to the
/// product of the e_k whose bit k is set in m. e[m] bounds the error of v[m] if each operation rounds to `unit`.
struct Jet {
  static inline int count = 1;       ///< coefficients in use: 2^order
  static inline double unit = 0;     ///< rounding unit of the dtype of the computation
  static inline int precision = 64;  ///< its bits
  Real v[8];
  double e[8];

  Jet(Real x = 0) {
    v[0] = x, e[0] = 0;
    for (int m = 1; m < count; ++m) v[m] = 0, e[m] = 0;
  }
  Jet(const Jet& x) { *this = x; }
  Jet& operator=(const Jet& x) {
    for (int m = 0; m < count; ++m) v[m] = x.v[m], e[m] = x.e[m];
    return *this;
  }
  bool exact() const { return e[0] == 0; }
  /// The value as a constant.
  Jet value() const {
    Jet c(v[0]);
    c.e[0] = e[0];
    return c;
  }
};

/// While it exists, computations are exact; errors are still propagated.
struct Exactly {
  double unit = Jet::unit;
  int precision = Jet::precision;
  Exactly() { Jet::unit = 0, Jet::precision = 64; }
  ~Exactly() { Jet::unit = unit, Jet::precision = precision; }
  Exactly(const Exactly&) = delete;
  Exactly& operator=(const Exactly&) = delete;
};

bool representable(Real x);
Real nearest(Real x);  ///< representable number
/// x with `units` further rounding errors in every coefficient. A representable value stays exact if
/// `exact_if_representable`.
Jet rounded(Jet x, double units, bool exact_if_representable = false);

Jet operator+(const Jet& a, const Jet& b);
Jet operator-(const Jet& a, const Jet& b);
Jet operator*(const Jet& a, const Jet& b);
Jet operator/(const Jet& a, const Jet& b);
Jet operator-(const Jet& a);
inline Jet& operator+=(Jet& a, const Jet& b) { return a = a + b; }
/// a < b, a == b of the values. Ambiguous within error.
bool less(const Jet& a, const Jet& b);
bool same(const Jet& a, const Jet& b);

/// A Taylor series in one variable up to the fourth power, from which derivatives of functions are computed.
struct Series {
  static constexpr int terms = 5;
  std::array<Real, terms> c{};
  Series(Real x = 0) { c[0] = x; }
  static Series variable(Real x) {
    Series s(x);
    s.c[1] = 1;
    return s;
  }
};
Series operator+(const Series& a, const Series& b);
Series operator-(const Series& a, const Series& b);
Series operator*(const Series& a, const Series& b);
Series operator/(const Series& a, const Series& b);
Series exp(const Series& x);
Series expm1(const Series& x);
Series log(const Series& x);
Series log1p(const Series& x);
Series sin(const Series& x);
Series cos(const Series& x);
Series pow(const Series& x, Real p);
inline Series sqrt(const Series& x) { return pow(x, 0.5L); }
/// f(x) where f(x0) and the series of f' at x are known.
Series integral(Real value, const Series& slope, const Series& x);
Real polygamma(int n, Real x);
Series lgamma(const Series& x);
/// The n-th derivative of digamma.
Series polygamma(int n, const Series& x);

/// f(x) for a smooth f. `units`: the number of rounding errors allowed to the library for each derivative.
Jet smooth(const Jet& x, Series (*f)(const Series&), double units = 8);
Jet chain(const Jet& x, const Series& f, double units);

// Functions of jets.
Jet exp(const Jet& x);
Jet log(const Jet& x);
Jet sin(const Jet& x);
Jet cos(const Jet& x);
Jet sinh(const Jet& x);
Jet cosh(const Jet& x);
Jet sqrt(const Jet& x);
Jet arctan2(const Jet& y, const Jet& x);
/// |x|, with derivative 0 at 0.
Jet absolute(const Jet& x);
inline Jet abs(const Jet& x) { return absolute(x); }

/// A complex number. For a real dtype the imaginary part is ignored.
struct Num {
  Jet re, im;
  Num(const Jet& r = 0, const Jet& i = 0) : re(r), im(i) {}
  Num(Real x) : re(x) {}
};
Num operator+(const Num& a, const Num& b);
Num operator-(const Num& a, const Num& b);
Num operator*(const Num& a, const Num& b);
Num operator/(const Num& a, const Num& b);
inline Num& operator+=(Num& a, const Num& b) { return a = a + b; }
Num exp(const Num& z);
Num log(const Num& z);

/// Set for the run: whether numbers have imaginary parts (else they are skipped).
inline bool complex_numbers = false;

}  // namespace random_programs
