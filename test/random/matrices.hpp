// Matrices of jets, for the interpreters of factorisations: elimination with pivots, and suitable operands.
#pragma once
#include <algorithm>

#include "ranged.hpp"

namespace random_programs {

/// A value of that shape and a suitable dtype, or a new input.
inline int value_like(Maker& m, const Extents& shape, bool with_complex = false, bool source = true) {
  const int k = m.pick([&](const Array& a) {
    return a.shape == shape && (is_real_floating(a.dtype) || (with_complex && reel::is_complex(a.dtype)));
  });
  if (k >= 0 && m.chance(0.7)) return k;
  const bool s = source && m.source_elements + elements(shape) < 16 && m.chance(0.6);
  return m.input(s ? Role::source : Role::constant, m.floating_dtype(), shape);
}

using Matrix = std::vector<std::vector<Jet>>;
/// The last two axes of x, at a position of the axes before them.
inline Matrix matrix(const Array& x, std::int64_t batch = 0) {
  const std::int64_t n = x.shape[x.shape.size() - 2], m = x.shape.back();
  Matrix a(at(n), std::vector<Jet>(at(m)));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) a[at(i)][at(j)] = x[(batch * n + i) * m + j].re;
  return a;
}
inline void store(const Matrix& a, Array& x, std::int64_t batch = 0) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      x[(batch * static_cast<std::int64_t>(a.size()) + static_cast<std::int64_t>(i)) *
            static_cast<std::int64_t>(a[i].size()) +
        static_cast<std::int64_t>(j)] = Num(a[i][j]);
}
/// Adds rounding errors of the size of the largest element of each coefficient.
inline void settle(Matrix& a, double units = 4) {
  for (int k = 0; k < Jet::count; ++k) {
    double largest = 0;
    for (const auto& row : a)
      for (const Jet& x : row) largest = std::max(largest, static_cast<double>(std::fabs(x.v[k])));
    for (auto& row : a)
      for (Jet& x : row) x.e[k] += units * Jet::unit * largest;
  }
}
/// Gauss and Jordan's elimination of a beside b: x with a x = b, and the determinant of a. Unfit when nearly singular.
inline Matrix eliminate(Matrix a, Matrix b, Jet& determinant) {
  const std::size_t n = a.size();
  determinant = Jet(1);
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r][c].v[0]) > std::fabs(a[pivot][c].v[0])) pivot = r;
    if (std::fabs(a[pivot][c].v[0]) < 0.02L) throw Unfit();
    if (pivot != c) std::swap(a[pivot], a[c]), std::swap(b[pivot], b[c]), determinant = -determinant;
    determinant = determinant * a[c][c];
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const Jet f = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; ++k) a[r][k] = a[r][k] - f * a[c][k];
      for (Jet& x : b[r]) {
        const std::size_t k = static_cast<std::size_t>(&x - b[r].data());
        x = x - f * b[c][k];
      }
    }
  }
  for (std::size_t r = 0; r < n; ++r)
    for (Jet& x : b[r]) x = rounded(x / a[r][r], 8);
  settle(b);
  determinant = rounded(determinant, 4 * static_cast<double>(n));
  return b;
}
inline Matrix unit_matrix(std::size_t n) {
  Matrix e(n, std::vector<Jet>(n));
  for (std::size_t i = 0; i < n; ++i) e[i][i] = Jet(1);
  return e;
}
inline DType factor_dtype(const Inputs& in) {
  DType d = promoted(in);
  if (reel::is_complex(d) || d == DType::float16 || d == DType::bfloat16) throw Unfit();
  d = floating_of(d);
  round_like(d);
  return d;
}
inline std::int64_t batches(const Array& x) { return elements(Extents(x.shape.begin(), x.shape.end() - 2)); }

/// A square matrix, or a batch, far from singular: x x^T + 1, or x + 2.
inline int square_matrix(Maker& m, bool symmetric) {
  int x = m.pick([](const Array& a) {
    return a.rank() >= 2 && a.rank() <= 3 && a.shape.back() == a.shape[a.shape.size() - 2] && a.shape.back() > 0 &&
           a.shape.back() < 4 && (a.dtype == DType::float32 || a.dtype == DType::float64);
  });
  if (x < 0) {
    const std::int64_t n = m.between(1, 3);
    Extents shape = {n, n};
    if (m.chance(0.2)) shape.insert(shape.begin(), 2);
    if (m.depth) return -1;
    x = m.input(m.source_elements < 8 && m.chance(0.7) ? Role::source : Role::constant,
                m.chance(0.8) ? DType::float64 : DType::float32, shape);
    if (x < 0) return -1;
  }
  if (!symmetric) return x;
  const int product = m.emit("matmul", {Maker::arg(x), Maker::arg(x)}, {0, 1});
  if (product < 0) return -1;
  const std::int64_t n = m.at(x).shape.back();
  std::vector<double> one(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) one[at(i * n + i)] = 1;
  const int e = m.input_of(m.at(x).dtype, {n, n}, one);
  return e < 0 ? -1 : m.emit("add", {Maker::arg(product), Maker::arg(e)});
}

}  // namespace random_programs
