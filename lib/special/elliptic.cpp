// Elliptic integrals: Carlson's symmetric forms by duplication (Carlson 1995; DLMF 19.36.1), on Taylor polynomials, and
// Legendre's forms in terms of them.
#include <array>

#include "special/arguments.hpp"

namespace reel::kernels::special {

namespace {

/// The relative difference of the arguments at which duplication ends: the series then has full precision.
constexpr Real settled = 3e-4L;

/// sqrt(x), also for a constant 0.
Taylor root_of(const Taylor& x) {
  for (int k = 0; k < x.size(); ++k)
    if (x[k] != 0) return sqrt(x);
  return x;
}
/// x, y and z after a duplication step, and its lambda.
struct Triple {
  Taylor x, y, z;
  Taylor duplicate() {
    const Taylor a = root_of(x), b = root_of(y), c = root_of(z), lambda = a * b + b * c + c * a;
    x = (x + lambda) / 4.0L, y = (y + lambda) / 4.0L, z = (z + lambda) / 4.0L;
    return lambda;
  }
};
/// Whether duplication must go on. It ends if a coefficient is not finite.
bool far_apart(const Taylor& mean, std::initializer_list<const Taylor*> from) {
  Real most = 0;
  for (const Taylor* x : from)
    for (int k = 0; k < x->size(); ++k) {
      const Real apart = std::abs((*x)[k] - mean[k]);
      if (!std::isfinite(apart)) return false;
      most = std::max(most, apart);
    }
  return most > settled * mean[0];
}
constexpr int duplications_max = 100;

Taylor carlson_f(const Taylor& x, const Taylor& y, const Taylor& z) {
  Triple t = {x, y, z};
  Taylor mean = (x + y + z) / 3.0L;
  for (int i = 0; i < duplications_max && far_apart(mean, {&t.x, &t.y, &t.z}); ++i) {
    t.duplicate();
    mean = (t.x + t.y + t.z) / 3.0L;
  }
  const Taylor inverse = 1 / mean, u = 1 - t.x * inverse, v = 1 - t.y * inverse, w = -u - v;
  const Taylor e2 = u * v - w * w, e3 = u * v * w;
  return (1 - e2 / 10.0L + e3 / 14.0L + e2 * e2 / 24.0L - e2 * e3 * (3 / 44.0L)) / root_of(mean);
}

/// The series of R_D and R_J in the elementary symmetric functions of the differences (DLMF 19.36.2).
Taylor third_kind_series(const Taylor& e2, const Taylor& e3, const Taylor& e4, const Taylor& e5) {
  return 1 - e2 * (3 / 14.0L) + e3 / 6.0L + e2 * e2 * (9 / 88.0L) - e4 * (3 / 22.0L) - e2 * e3 * (9 / 52.0L) +
         e5 * (3 / 26.0L);
}

Taylor carlson_d(const Taylor& x, const Taylor& y, const Taylor& z) {
  Triple t = {x, y, z};
  Taylor mean = (x + y + 3 * z) / 5.0L, sum = constant(x, 0);
  Real power = 1;
  for (int i = 0; i < duplications_max && far_apart(mean, {&t.x, &t.y, &t.z}); ++i, power /= 4) {
    const Taylor before = t.z, lambda = t.duplicate();
    sum += power / (root_of(before) * (before + lambda));
    mean = (t.x + t.y + 3 * t.z) / 5.0L;
  }
  const Taylor inverse = 1 / mean, u = 1 - t.x * inverse, v = 1 - t.y * inverse, w = -(u + v) / 3.0L;
  const Taylor uv = u * v, ww = w * w;
  const Taylor e2 = uv - 6 * ww, e3 = (3 * uv - 8 * ww) * w, e4 = 3 * (uv - ww) * ww, e5 = uv * w * ww;
  return power * third_kind_series(e2, e3, e4, e5) / (mean * root_of(mean)) + 3 * sum;
}

/// R_C(x, y), y > 0, is R_F(x, y, y).
Taylor carlson_c(const Taylor& x, const Taylor& y) { return carlson_f(x, y, y); }

Taylor carlson_j(const Taylor& x, const Taylor& y, const Taylor& z, const Taylor& p) {
  Triple t = {x, y, z};
  Taylor q = p, mean = (x + y + z + 2 * p) / 5.0L, sum = constant(x, 0);
  Real power = 1;
  for (int i = 0; i < duplications_max && far_apart(mean, {&t.x, &t.y, &t.z, &q}); ++i, power /= 4) {
    const Taylor root = root_of(q);
    const Taylor d = (root + root_of(t.x)) * (root + root_of(t.y)) * (root + root_of(t.z));
    const Taylor lambda = t.duplicate();
    // R_C(1, 1 + e) with 1 + e = 2 sqrt(p) (p + lambda) / d, which does not cancel for small p (Carlson 1995, 2.23).
    const Taylor all = q + lambda;
    sum += power * carlson_c(constant(q, 1), 2 * root * all / d) / d;
    q = all / 4.0L;
    mean = (t.x + t.y + t.z + 2 * q) / 5.0L;
  }
  const Taylor inverse = 1 / mean, u = 1 - t.x * inverse, v = 1 - t.y * inverse, w = 1 - t.z * inverse;
  const Taylor r = -(u + v + w) / 2.0L, uvw = u * v * w, rr = r * r;
  const Taylor e2 = u * v + v * w + w * u - 3 * rr, e3 = uvw + 2 * e2 * r + 4 * r * rr;
  const Taylor e4 = (2 * uvw + e2 * r + 3 * r * rr) * r, e5 = uvw * rr;
  return power * third_kind_series(e2, e3, e4, e5) / (mean * root_of(mean)) + 6 * sum;
}

/// DLMF 19.21.10, with z between x and y, so that no terms cancel.
Taylor carlson_g(const Taylor& x, const Taylor& y, const Taylor& z) {
  const Taylor *low = &x, *middle = &y, *high = &z;
  if ((*low)[0] > (*middle)[0]) std::swap(low, middle);
  if ((*middle)[0] > (*high)[0]) std::swap(middle, high);
  if ((*low)[0] > (*middle)[0]) std::swap(low, middle);
  const Taylor& m = *middle;
  return (m * carlson_f(x, y, z) - (*low - m) * (*high - m) * carlson_d(*low, *high, m) / 3.0L +
          root_of(*low * *high / m)) /
         2.0L;
}

/// The derivative of R_G by its first argument. That of the formula above is a small difference if x is far below z.
Taylor carlson_g_slope(const Taylor& x, const Taylor& y, const Taylor& z) {
  return (carlson_f(x, y, z) - x * carlson_d(y, z, x) / 3.0L) / 4.0L;
}

template <std::size_t Count, class F>
Real carlson(const Arguments& a, const F& f) {
  int zeros = 0, infinite = 0;
  for (std::size_t k = 0; k < Count; ++k) {
    if (!(a.at[k] >= 0)) return nan;
    zeros += a.at[k] == 0;
    infinite += std::isinf(a.at[k]);
  }
  if (zeros > 1) return nan;
  if (infinite > 0) return 0;  // also the derivatives; R_G has its own limits
  const Orders o(a.orders, Count);
  const auto v = [&](std::size_t k) { return Taylor::variable(o, a.at[k], static_cast<int>(k)); };
  if constexpr (Count == 4)
    return derivative(f(v(0), v(1), v(2), v(3)));
  else if constexpr (Count == 3)
    return derivative(f(v(0), v(1), v(2)));
  else
    return derivative(f(v(0), v(1)));
}

Real symmetric_second(const Arguments& a) {
  Arguments b = a;
  int orders[] = {a.orders[0], a.orders[1], a.orders[2]}, by = 0;
  while (by < 3 && (orders[by] == 0 || a.at[by] == 0)) ++by;
  for (int k = 0; k < 3; ++k)
    if (std::isinf(a.at[k]) && Orders(a.orders, 3).total() == 0) return carlson<3>(a, carlson_f) + infinity;
  if (by == 3) return carlson<3>(a, carlson_g);
  --orders[by];
  std::swap(orders[by], orders[0]), std::swap(b.at[by], b.at[0]);
  b.orders = orders;
  return carlson<3>(b, carlson_g_slope);
}

// ---- Legendre's forms (DLMF 19.25)

Taylor complete_first(const Taylor& m1) { return carlson_f(constant(m1, 0), m1, constant(m1, 1)); }
Taylor complete_second(const Taylor& m1) { return 2 * carlson_g(constant(m1, 0), m1, constant(m1, 1)); }
Taylor complete_second_slope(const Taylor& m1) { return 2 * carlson_g_slope(m1, constant(m1, 0), constant(m1, 1)); }
/// K (or E) of the parameter 1 - m1, differentiated `order` times by m1.
Real complete(Real m1, int order, bool second) {
  if (!(m1 >= 0)) return nan;
  if (m1 == 0) return second ? (order == 0 ? 1 : -alternating(order) * infinity) : alternating(order) * infinity;
  if (std::isinf(m1)) return second && order == 0 ? infinity : 0;
  if (second && order > 0) return by_argument(m1, order - 1, complete_second_slope);
  return by_argument(m1, order, second ? complete_second : complete_first);
}

// phi is `turns` half turns and a rest, whose sine and cosine are those of phi, reduced exactly, with one sign.
struct Angle {
  Real turns, s, c;
  explicit Angle(Real phi)
      : turns(std::nearbyint(phi / pi)), s(alternating(turns) * std::sin(phi)), c(alternating(turns) * std::cos(phi)) {}
};
/// The integral of (1 - m sin(t)^2)^(-1/2) from 0 to phi, or of its inverse, as a function of m; phi is a number.
Taylor incomplete_integral(const Angle& phi, const Taylor& m, bool second) {
  const Real s = phi.s;
  const Taylor m1 = 1 - m, x = constant(m, phi.c * phi.c), y = x + s * s * m1, one = constant(m, 1);
  Taylor value = s * carlson_f(x, y, one);
  if (second) value -= m * carlson_d(x, y, one) * (s * s * s / 3);
  if (phi.turns == 0) return value;
  if (second && m[0] == 1) return value + 2 * phi.turns;
  return value + 2 * phi.turns * (second ? complete_second(m1) : complete_first(m1));
}
/// The derivative of the second kind by m, (E - F) / (2 m).
Taylor incomplete_second_slope(const Angle& phi, const Taylor& m) {
  const Real s = phi.s;
  const Taylor m1 = 1 - m, x = constant(m, phi.c * phi.c), y = x + s * s * m1;
  const Taylor slope = carlson_d(x, y, constant(m, 1)) * (-s * s * s / 6);
  return phi.turns == 0 ? slope : slope - 2 * phi.turns * complete_second_slope(m1);
}
/// Of the two forms of 1 - m sin(phi)^2, the first keeps the digits of a small m, the second those of 1 - m.
Taylor integrand(const Taylor& phi, const Taylor& m, bool second) {
  const Taylor s = sin(phi), c = cos(phi), root = sqrt(m[0] < 0.5L ? 1 - m * s * s : c * c + (1 - m) * s * s);
  return second ? root : 1 / root;
}
Real legendre_incomplete(const Arguments& a, bool second) {
  const Real phi = a.at[0], m = a.at[1], s = std::sin(phi);
  if (std::isinf(phi)) return std::isinf(m) || m > 1 || a.orders[0] + a.orders[1] > 0 ? nan : phi;
  if (m == -infinity && s != 0) {  // the integral of |sin(t)|^-1 or |sin(t)| times a power of -m
    const bool grows = second && a.orders[1] == 0;
    return grows ? std::copysign(infinity, a.orders[0] == 0 ? phi : 1) : 0;
  }
  if (!(m * s * s <= 1) || std::isinf(m) || (m > 1 && std::abs(phi) > pi / 2)) return nan;
  if (a.orders[0] > 0) {
    const int orders[] = {a.orders[0] - 1, a.orders[1]};
    const Orders o(orders, 2);
    return derivative(integrand(Taylor::variable(o, phi, 0), Taylor::variable(o, m, 1), second));
  }
  if (m == 1 && !second && std::abs(phi) >= pi / 2) return a.orders[1] == 0 ? std::copysign(infinity, phi) : nan;
  const bool slope = second && a.orders[1] > 0;
  const Orders o = {0, a.orders[1] - static_cast<int>(slope)};
  const Taylor t = Taylor::variable(o, m, 1);
  return derivative(slope ? incomplete_second_slope(Angle(phi), t) : incomplete_integral(Angle(phi), t, second));
}

/// Whether the last argument is 0 and those before it are in the domain.
bool has_pole(const Arguments& a, int last) {
  return a.at[last] == 0 && std::all_of(a.at, a.at + last, [](Real v) { return v >= 0; });
}

}  // namespace

Real elliptic(Function f, const Arguments& a) {
  switch (f) {
    case Function::ellipk:
    case Function::ellipe:
      return alternating(a.orders[0]) * complete(1 - a.at[0], a.orders[0], f == Function::ellipe);
    case Function::ellipkm1:
      return complete(a.at[0], a.orders[0], false);
    case Function::ellipkinc:
      return legendre_incomplete(a, false);
    case Function::ellipeinc:
      return legendre_incomplete(a, true);
    case Function::elliprc:
      return a.at[1] == 0 && a.at[0] > 0 ? infinity : carlson<2>(a, carlson_c);
    case Function::elliprf:
      return carlson<3>(a, carlson_f);
    case Function::elliprd:
      return has_pole(a, 2) ? infinity : carlson<3>(a, carlson_d);
    case Function::elliprg:
      return symmetric_second(a);
    default:
      return has_pole(a, 3) ? infinity : carlson<4>(a, carlson_j);
  }
}

}  // namespace reel::kernels::special
