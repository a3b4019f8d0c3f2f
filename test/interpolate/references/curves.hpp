// Interpolation and integrals of samples by their definitions, for numbers N that have + - * / and less(): references
// of the op cases and, with jets, of random programs. Splines by the second derivatives at the knots, as one dense
// system.
#pragma once
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace interpolation {

template <class N>
using Numbers = std::vector<N>;

inline bool less(long double a, long double b) { return a < b; }
inline long double absolute(long double x) { return x < 0 ? -x : x; }

/// The interval that x is in: the last one whose first knot is not above x, of all but the last knot; the first one
/// below all.
template <class N>
std::size_t interval_of(const Numbers<N>& knots, const N& x) {
  std::size_t i = 0;
  for (std::size_t k = 1; k + 1 < knots.size(); ++k)
    if (!less(x, knots[k])) i = k;
  return i;
}

/// The piecewise linear function; `below` and `above` are the values outside.
template <class N>
N linear(const N& x, const Numbers<N>& xp, const Numbers<N>& fp, const N& below, const N& above) {
  if (less(x, xp.front())) return below;
  if (less(xp.back(), x)) return above;
  if (xp.size() == 1) return fp[0];
  const std::size_t i = interval_of(xp, x);
  return fp[i] + (fp[i + 1] - fp[i]) * (x - xp[i]) / (xp[i + 1] - xp[i]);
}

/// x - knots[i] to the k-th power has the coefficient c[i][k].
template <class N>
struct Pieces {
  Numbers<N> knots;
  std::vector<std::array<N, 4>> c;

  N at(const N& x, int derivative) const {
    const std::size_t i = interval_of(knots, x);
    const N d = x - knots[i];
    N sum = 0, power = 1;
    for (int k = derivative; k < 4; ++k) {
      int factor = 1;
      for (int j = 0; j < derivative; ++j) factor *= k - j;
      sum = sum + N(factor) * c[i][static_cast<std::size_t>(k)] * power;
      power = power * d;
    }
    return sum;
  }
  /// From the first knot.
  N integral(const N& x) const {
    const std::size_t last = interval_of(knots, x);
    N sum = 0;
    for (std::size_t i = 0; i <= last; ++i) {
      const N d = (i == last ? x : knots[i + 1]) - knots[i];
      N power = d;
      for (int k = 0; k < 4; ++k) {
        sum = sum + c[i][static_cast<std::size_t>(k)] * power / N(k + 1);
        power = power * d;
      }
    }
    return sum;
  }
};

template <class N>
Numbers<N> differences(const Numbers<N>& x) {
  Numbers<N> d;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) d.push_back(x[i + 1] - x[i]);
  return d;
}
template <class N>
Numbers<N> slopes_of(const Numbers<N>& x, const Numbers<N>& y) {
  Numbers<N> m = differences(y);
  const Numbers<N> h = differences(x);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = m[i] / h[i];
  return m;
}

/// From values and slopes.
template <class N>
Pieces<N> hermite(const Numbers<N>& x, const Numbers<N>& y, const Numbers<N>& s) {
  Pieces<N> p{x, {}};
  const Numbers<N> h = differences(x), m = slopes_of(x, y);
  for (std::size_t i = 0; i < h.size(); ++i)
    p.c.push_back(
        {y[i], s[i], (N(3) * m[i] - N(2) * s[i] - s[i + 1]) / h[i], (s[i] + s[i + 1] - N(2) * m[i]) / (h[i] * h[i])});
  return p;
}

/// a x = b by elimination without pivoting, row by row.
template <class N>
Numbers<N> eliminated(std::vector<Numbers<N>> a, Numbers<N> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const N f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] = a[i][j] - f * a[k][j];
      b[i] = b[i] - f * b[k];
    }
  for (std::size_t i = 0; i < n; ++i) b[i] = b[i] / a[i][i];
  return b;
}

enum class Ends { not_a_knot, natural, clamped, periodic };

/// The second derivatives at the knots.
template <class N>
Numbers<N> moments(const Numbers<N>& x, const Numbers<N>& y, Ends ends, const N& first, const N& last) {
  const std::size_t n = x.size();
  const Numbers<N> h = differences(x), m = slopes_of(x, y);
  if (ends == Ends::not_a_knot && n == 2) return {N(0), N(0)};
  if (ends == Ends::not_a_knot && n == 3) return Numbers<N>(3, N(2) * (m[1] - m[0]) / (h[0] + h[1]));
  const std::size_t size = ends == Ends::periodic ? n - 1 : n;
  std::vector<Numbers<N>> a(size, Numbers<N>(size));
  Numbers<N> b(size);
  const auto equation = [&](std::size_t i, std::size_t before, std::size_t own) {
    const std::size_t left = (i + size - 1) % size, right = (i + 1) % size;
    a[i][left] = a[i][left] + h[before];
    a[i][i] = a[i][i] + N(2) * (h[before] + h[own]);
    a[i][right] = a[i][right] + h[own];
    b[i] = N(6) * (m[own] - m[before]);
  };
  for (std::size_t i = 1; i + 1 < n; ++i) equation(i, i - 1, i);
  const std::size_t e = n - 1, k = h.size() - 1;
  if (ends == Ends::periodic) {
    equation(0, k, 0);
    Numbers<N> found = eliminated(a, b);
    found.push_back(found[0]);
    return found;
  }
  if (ends == Ends::natural) {
    a[0][0] = a[e][e] = N(1);
  } else if (ends == Ends::clamped) {
    a[0][0] = N(2) * h[0], a[0][1] = h[0], b[0] = N(6) * (m[0] - first);
    a[e][e] = N(2) * h[k], a[e][e - 1] = h[k], b[e] = N(6) * (last - m[k]);
  } else {
    a[0][0] = h[1], a[0][1] = N(0) - h[0] - h[1], a[0][2] = h[0];
    a[e][e] = h[k - 1], a[e][e - 1] = N(0) - h[k] - h[k - 1], a[e][e - 2] = h[k];
  }
  return eliminated(a, b);
}
template <class N>
Pieces<N> spline(const Numbers<N>& x, Numbers<N> y, Ends ends, const N& first = N(0), const N& last = N(0)) {
  if (ends == Ends::periodic) y.back() = y.front();
  const Numbers<N> h = differences(x), m = slopes_of(x, y), s = moments(x, y, ends, first, last);
  Pieces<N> p{x, {}};
  for (std::size_t i = 0; i < h.size(); ++i)
    p.c.push_back(
        {y[i], m[i] - h[i] * (N(2) * s[i] + s[i + 1]) / N(6), s[i] / N(2), (s[i + 1] - s[i]) / (N(6) * h[i])});
  return p;
}

template <class N>
bool agree(const N& a, const N& b) {
  return (less(N(0), a) && less(N(0), b)) || (less(a, N(0)) && less(b, N(0)));
}
template <class N>
Pieces<N> monotone(const Numbers<N>& x, const Numbers<N>& y) {
  const Numbers<N> h = differences(x), m = slopes_of(x, y);
  const std::size_t k = h.size() - 1;
  Numbers<N> s(x.size());
  if (k == 0) return hermite(x, y, Numbers<N>{m[0], m[0]});
  for (std::size_t i = 1; i <= k; ++i) {
    if (!agree(m[i - 1], m[i])) continue;
    const N w = N(2) * h[i] + h[i - 1], v = h[i] + N(2) * h[i - 1];
    s[i] = (w + v) / (w / m[i - 1] + v / m[i]);
  }
  const auto end = [&](std::size_t a, std::size_t b) {
    const N d = ((N(2) * h[a] + h[b]) * m[a] - h[a] * m[b]) / (h[a] + h[b]);
    const auto vanishes = [](const N& v) { return !less(v, N(0)) && !less(N(0), v); };
    if (!agree(d, m[a]) && !(vanishes(d) && vanishes(m[a]))) return N(0);
    return !agree(m[a], m[b]) && less(N(3) * absolute(m[a]), absolute(d)) ? N(3) * m[a] : d;
  };
  s[0] = end(0, 1), s[k + 1] = end(k, k - 1);
  return hermite(x, y, s);
}
template <class N>
Pieces<N> by_changes(const Numbers<N>& x, const Numbers<N>& y) {
  Numbers<N> m = slopes_of(x, y);
  if (m.size() == 1) return hermite(x, y, Numbers<N>{m[0], m[0]});
  for (int k = 0; k < 2; ++k) {
    m.insert(m.begin(), N(2) * m[0] - m[1]);
    m.push_back(N(2) * m[m.size() - 1] - m[m.size() - 2]);
  }
  Numbers<N> s, total, c = differences(m);
  for (N& one : c) one = absolute(one);
  N largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    total.push_back(c[i] + c[i + 2]);
    if (less(largest, total[i])) largest = total[i];
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    s.push_back(less(N(1e-9L) * largest, total[i]) ? (c[i + 2] * m[i + 1] + c[i] * m[i + 2]) / total[i]
                                                   : (m[i + 1] + m[i + 2]) / N(2));
  return hermite(x, y, s);
}

/// Sums over the intervals of the coordinates x.
template <class N>
Numbers<N> running_trapezia(const Numbers<N>& y, const Numbers<N>& x) {
  Numbers<N> sums{N(0)};
  for (std::size_t i = 0; i + 1 < y.size(); ++i)
    sums.push_back(sums.back() + (x[i + 1] - x[i]) * (y[i] + y[i + 1]) / N(2));
  return sums;
}
/// The integral from a to b of the parabola through samples i, i + 1 and i + 2, by Newton's divided differences.
template <class N>
N under_parabola(const Numbers<N>& y, const Numbers<N>& x, std::size_t i, const N& a, const N& b) {
  const N u = x[i + 1] - x[i], d0 = (y[i + 1] - y[i]) / u, d1 = (y[i + 2] - y[i + 1]) / (x[i + 2] - x[i + 1]);
  const N bend = (d1 - d0) / (x[i + 2] - x[i]);
  const auto primitive = [&](const N& t) {
    const N s = t - x[i];
    return y[i] * s + d0 * s * s / N(2) + bend * (s * s * s / N(3) - u * s * s / N(2));
  };
  return primitive(b) - primitive(a);
}
template <class N>
N parabolas(const Numbers<N>& y, const Numbers<N>& x) {
  const std::size_t n = y.size();
  if (n < 3) return running_trapezia(y, x).back();
  N sum = 0;
  for (std::size_t i = 0; i + 2 < n; i += 2) sum = sum + under_parabola(y, x, i, x[i], x[i + 2]);
  if (n % 2 == 0) sum = sum + under_parabola(y, x, n - 3, x[n - 2], x[n - 1]);
  return sum;
}

}  // namespace interpolation
