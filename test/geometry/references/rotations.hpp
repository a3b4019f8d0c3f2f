// Rotations by axis and angle, for numbers N that have + - * / and elementary functions: references of the op cases
// and, with jets, of random programs.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace rotations {

template <class N>
using List = std::vector<N>;

inline long double sqrt(long double x) { return std::sqrt(x); }
inline long double sin(long double x) { return std::sin(x); }
inline long double cos(long double x) { return std::cos(x); }
inline long double arctan2(long double y, long double x) { return std::atan2(y, x); }
inline bool less(long double x, long double y) { return x < y; }

template <class N>
N length(const List<N>& v) {
  N sum = 0;
  for (const N& x : v) sum = sum + x * x;
  return sqrt(sum);
}
/// a + b [u] + c u u^T, row by row, of a unit vector u.
template <class N>
List<N> about(const List<N>& u, const N& a, const N& b, const N& c) {
  const N z = 0;
  const List<N> cross = {z, z - u[2], u[1], u[2], z, z - u[0], z - u[1], u[0], z};
  List<N> m;
  for (std::size_t i = 0; i < 9; ++i) {
    const N p = c * u[i / 3] * u[i % 3] + b * cross[i];
    m.push_back(i % 4 == 0 ? a + p : p);
  }
  return m;
}
template <class N>
List<N> unit(const List<N>& w, const N& angle) {
  List<N> u;
  for (const N& x : w) u.push_back(x / angle);
  return u;
}
template <class N>
List<N> exponential(const List<N>& w) {
  const N t = length(w);
  return about(unit(w, t), cos(t), sin(t), N(1) - cos(t));
}
template <class N>
List<N> times(const List<N>& m, const List<N>& v) {
  List<N> y;
  for (std::size_t i = 0; i < m.size() / v.size(); ++i) {
    N sum = 0;
    for (std::size_t k = 0; k < v.size(); ++k) sum = sum + m[i * v.size() + k] * v[k];
    y.push_back(sum);
  }
  return y;
}
/// The motion by a twist, translation first, as 16 numbers.
template <class N>
List<N> motion(const List<N>& x) {
  const List<N> w(x.begin() + 3, x.end()), rho(x.begin(), x.begin() + 3), r = exponential(w);
  const N t = length(w), s = sin(t) / t;
  const List<N> p = times(about(unit(w, t), s, (N(1) - cos(t)) / t, N(1) - s), rho);
  return {r[0], r[1], r[2], p[0], r[3], r[4], r[5], p[1], r[6], r[7], r[8], p[2], N(0), N(0), N(0), N(1)};
}
/// Shepperd's formula of the largest divisor, normalised, with w >= 0.
template <class N>
List<N> quaternion(const List<N>& r) {
  const N one = 1;
  const std::array<List<N>, 4> rows = {List<N>{one + r[0] + r[4] + r[8], r[7] - r[5], r[2] - r[6], r[3] - r[1]},
                                       {r[7] - r[5], one + r[0] - r[4] - r[8], r[3] + r[1], r[2] + r[6]},
                                       {r[2] - r[6], r[3] + r[1], one - r[0] + r[4] - r[8], r[7] + r[5]},
                                       {r[3] - r[1], r[2] + r[6], r[7] + r[5], one - r[0] - r[4] + r[8]}};
  std::size_t best = 0;
  for (std::size_t k = 1; k < 4; ++k)
    if (less(rows[best][best], rows[k][k])) best = k;
  List<N> q = unit(rows[best], length(rows[best]));
  if (less(q[0], N(0)))
    for (N& x : q) x = N(0) - x;
  return q;
}
template <class N>
List<N> logarithm(const List<N>& r) {
  const List<N> q = quaternion(r), v(q.begin() + 1, q.end());
  const N s = length(v), angle = N(2) * arctan2(s, q[0]);
  List<N> w;
  for (const N& x : v) w.push_back(angle * (x / s));
  return w;
}
/// The twist of a motion: V^-1 in closed form.
template <class N>
List<N> twist(const List<N>& m) {
  const List<N> w = logarithm(List<N>{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]});
  const N t = length(w), half = t / N(2), a = half * cos(half) / sin(half);
  List<N> x = times(about(unit(w, t), a, N(0) - half, N(1) - a), List<N>{m[3], m[7], m[11]});
  x.insert(x.end(), w.begin(), w.end());
  return x;
}
template <class N>
List<N> product(const List<N>& p, const List<N>& q) {
  return {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3], p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
          p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1], p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]};
}
template <class N>
List<N> conjugate(const List<N>& q) {
  return {q[0], N(0) - q[1], N(0) - q[2], N(0) - q[3]};
}
/// q v q^-1.
template <class N>
List<N> rotated(const List<N>& q, const List<N>& v) {
  const N size = length(q);
  const List<N> y = product(product(q, List<N>{N(0), v[0], v[1], v[2]}), conjugate(q));
  return {y[1] / (size * size), y[2] / (size * size), y[3] / (size * size)};
}
template <class N>
List<N> matrix(const List<N>& q) {
  List<N> m(9);
  for (std::size_t k = 0; k < 3; ++k) {
    List<N> e(3, N(0));
    e[k] = 1;
    const List<N> column = rotated(q, e);
    for (std::size_t i = 0; i < 3; ++i) m[3 * i + k] = column[i];
  }
  return m;
}

}  // namespace rotations
