// The complex QR algorithm: reduction to Hessenberg form by reflections, then steps with Wilkinson's shift, by
// rotations (Golub and Van Loan, Matrix Computations, 4th edition, sections 7.4 and 7.5).
#include "linalg/functions/schur.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reel::loops {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Complex multiplication without the NaN recovery of the C standard's Annex G.
Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
double size_of(const Complex& a) { return std::abs(a.real()) + std::abs(a.imag()); }

// to += factor from, of `count` elements.
void add_multiple(Complex* to, const Complex& factor, const Complex* from, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) to[j] += times(factor, from[j]);
}

// Reflections I - 2 v v^H from both sides make column k zero below row k + 1.
void reduce_to_hessenberg(Schur& s) {
  const std::int64_t n = s.t.rows;
  std::vector<Complex> v(static_cast<std::size_t>(n)), row(v.size());
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    double norm = 0, below = 0;
    for (std::int64_t i = k + 1; i < n; ++i) norm = std::hypot(norm, std::abs(s.t(i, k)));
    for (std::int64_t i = k + 2; i < n; ++i) below = std::max(below, size_of(s.t(i, k)));
    if (below == 0) continue;
    const Complex first = s.t(k + 1, k);
    const double magnitude = std::abs(first);
    const Complex phase = magnitude == 0 ? Complex(1) : first / magnitude;
    double length = 0;
    for (std::int64_t i = k + 1; i < n; ++i) {
      Complex& e = v[static_cast<std::size_t>(i)];
      e = s.t(i, k) / norm;
      if (i == k + 1) e += phase;
      length = std::hypot(length, std::abs(e));
    }
    for (std::int64_t i = k + 1; i < n; ++i) v[static_cast<std::size_t>(i)] /= length;
    // rows k + 1 ... of t: t -= 2 v (v^H t)
    std::fill(row.begin(), row.end(), Complex());
    for (std::int64_t i = k + 1; i < n; ++i)
      add_multiple(row.data() + k, std::conj(v[static_cast<std::size_t>(i)]), s.t.row(i) + k, n - k);
    for (std::int64_t i = k + 1; i < n; ++i)
      add_multiple(s.t.row(i) + k, -2.0 * v[static_cast<std::size_t>(i)], row.data() + k, n - k);
    // columns k + 1 ... of t and z: m -= 2 (m v) v^H
    for (ComplexMatrix* m : {&s.t, &s.z})
      for (std::int64_t i = 0; i < n; ++i) {
        Complex sum;
        for (std::int64_t j = k + 1; j < n; ++j) sum += times((*m)(i, j), v[static_cast<std::size_t>(j)]);
        for (std::int64_t j = k + 1; j < n; ++j)
          (*m)(i, j) -= times(2.0 * sum, std::conj(v[static_cast<std::size_t>(j)]));
      }
    for (std::int64_t i = k + 2; i < n; ++i) s.t(i, k) = 0;
  }
}

// The eigenvalue of the 2 x 2 block that ends at `last` which is closer to its last element.
Complex wilkinson_shift(const ComplexMatrix& t, std::int64_t last) {
  const Complex a = t(last - 1, last - 1), d = t(last, last), bc = times(t(last - 1, last), t(last, last - 1));
  const Complex half = 0.5 * (a - d), root = std::sqrt(times(half, half) + bc);
  const Complex far = std::abs(half + root) >= std::abs(half - root) ? half + root : half - root;
  return far == Complex() ? d : d - bc / far;
}

// The rotation [conj(c), conj(s); -s, c], which maps (a, b) to (norm, 0).
struct Rotation {
  Complex c{1}, s{0};
  Rotation() = default;
  Rotation(const Complex& a, const Complex& b) {
    const double norm = std::hypot(std::abs(a), std::abs(b));
    if (norm > 0) c = a / norm, s = b / norm;
  }
  void apply_to_rows(Complex* upper, Complex* lower, std::int64_t count) const {
    const Complex cc = std::conj(c), sc = std::conj(s);
    for (std::int64_t j = 0; j < count; ++j) {
      const Complex p = upper[j], q = lower[j];
      upper[j] = times(cc, p) + times(sc, q);
      lower[j] = times(c, q) - times(s, p);
    }
  }
  // By its adjoint from the right, of columns k and k + 1.
  void apply_to_columns(ComplexMatrix& m, std::int64_t k, std::int64_t rows) const {
    const Complex cc = std::conj(c), sc = std::conj(s);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Complex p = m(i, k), q = m(i, k + 1);
      m(i, k) = times(c, p) + times(s, q);
      m(i, k + 1) = times(cc, q) - times(sc, p);
    }
  }
};

bool is_upper(const ComplexMatrix& a) {
  for (std::int64_t i = 1; i < a.rows; ++i)
    if (std::any_of(a.row(i), a.row(i) + i, [](const Complex& e) { return e != Complex(); })) return false;
  return true;
}
// The rows and the columns of a square matrix in reverse order.
ComplexMatrix reverse_order(ComplexMatrix a) {
  std::reverse(a.elements.begin(), a.elements.end());
  return a;
}
// A lower triangle becomes an upper one by the permutation of both its rows and its columns.
Schur triangular_schur(ComplexMatrix a, bool upper) {
  const std::int64_t n = a.rows;
  Schur s{upper ? std::move(a) : reverse_order(std::move(a)), ComplexMatrix(n, n)};
  for (std::int64_t i = 0; i < n; ++i) s.z(i, upper ? i : n - 1 - i) = 1;
  return s;
}

// One step, t - shift = q r to r q + shift, of the block of rows first to last.
void qr_step(Schur& s, std::int64_t first, std::int64_t last, const Complex& shift) {
  const std::int64_t n = s.t.rows;
  std::vector<Rotation> rotations;
  for (std::int64_t k = first; k <= last; ++k) s.t(k, k) -= shift;
  for (std::int64_t k = first; k < last; ++k) {
    rotations.emplace_back(s.t(k, k), s.t(k + 1, k));
    rotations.back().apply_to_rows(s.t.row(k) + k, s.t.row(k + 1) + k, n - k);
    s.t(k + 1, k) = 0;
  }
  for (std::int64_t k = first; k < last; ++k) {
    const Rotation& r = rotations[static_cast<std::size_t>(k - first)];
    r.apply_to_columns(s.t, k, k + 2);
    r.apply_to_columns(s.z, k, n);
  }
  for (std::int64_t k = first; k <= last; ++k) s.t(k, k) += shift;
}

}  // namespace

ComplexMatrix product(const ComplexMatrix& a, const ComplexMatrix& b) {
  ComplexMatrix c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k) add_multiple(c.row(i), a(i, k), b.row(k), b.columns);
  return c;
}
ComplexMatrix adjoint(const ComplexMatrix& a) {
  ComplexMatrix b(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) b(j, i) = std::conj(a(i, j));
  return b;
}

double largest_element(const ComplexMatrix& a) {
  double largest = 0;
  for (const Complex& e : a.elements) largest = std::max(largest, size_of(e));
  return largest;
}
bool is_triangular(const ComplexMatrix& a) { return is_upper(a) || is_upper(reverse_order(a)); }

Schur schur(ComplexMatrix a) {
  const bool upper = is_upper(a);
  if (upper || is_triangular(a)) return triangular_schur(std::move(a), upper);
  const std::int64_t n = a.rows;
  Schur s{std::move(a), ComplexMatrix(n, n)};
  for (std::int64_t i = 0; i < n; ++i) s.z(i, i) = 1;
  reduce_to_hessenberg(s);
  const double scale = largest_element(s.t);  // of elements whose neighbours on the diagonal are zero
  int steps = 0;
  for (std::int64_t last = n - 1; last > 0;) {
    std::int64_t first = last;
    for (; first > 0; --first) {
      const double beside = size_of(s.t(first, first)) + size_of(s.t(first - 1, first - 1));
      if (!(size_of(s.t(first, first - 1)) > epsilon * (beside > 0 ? beside : scale))) break;  // NaN too
    }
    if (first > 0) s.t(first, first - 1) = 0;
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    // An exceptional shift in every tenth step breaks cycles.
    const bool exceptional = ++steps % 10 == 0;
    qr_step(s, first, last, exceptional ? s.t(last, last) + std::abs(s.t(last, last - 1)) : wilkinson_shift(s.t, last));
    if (steps > 300) s.t(last, last - 1) = 0;  // not known to occur: a bound for the loop
  }
  s.rounding = epsilon * largest_element(s.t);
  return s;
}

bool solve_triangular_sylvester(const ComplexMatrix& t, const ComplexMatrix& s, ComplexMatrix& x, double rounding) {
  const std::int64_t n = x.rows, m = x.columns;
  // Rows from last to first, elements of a row from first to last.
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < n; ++k) add_multiple(x.row(i), -t(i, k), x.row(k), m);
    for (std::int64_t j = 0; j < m; ++j) {
      const Complex pivot = t(i, i) + s(j, j);
      if (!(size_of(pivot) > std::max(rounding, epsilon * (size_of(t(i, i)) + size_of(s(j, j)))))) return false;
      x(i, j) /= pivot;
      add_multiple(x.row(i) + j + 1, -x(i, j), s.row(j) + j + 1, m - j - 1);
    }
  }
  return true;
}

void solve_upper(const ComplexMatrix& t, ComplexMatrix& x) {
  for (std::int64_t i = x.rows - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < x.rows; ++k) add_multiple(x.row(i), -t(i, k), x.row(k), x.columns);
    for (std::int64_t j = 0; j < x.columns; ++j) x(i, j) /= t(i, i);
  }
}

}  // namespace reel::loops
