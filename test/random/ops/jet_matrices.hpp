// Square matrices of jets, for the interpreter of ops on matrices.
#pragma once
#include <algorithm>
#include <vector>

#include "../program.hpp"

namespace random_programs {

using JetMatrix = std::vector<std::vector<Jet>>;

inline JetMatrix jet_matrix(std::size_t n, std::size_t m) { return JetMatrix(n, std::vector<Jet>(m)); }
inline JetMatrix jet_identity(std::size_t n) {
  JetMatrix e = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) e[i][i] = Jet(1);
  return e;
}
/// The last two axes of x, at a position of the axes before them.
inline JetMatrix jets_of(const Array& x, std::int64_t batch = 0) {
  const std::int64_t n = x.shape[x.shape.size() - 2], m = x.shape.back();
  JetMatrix a = jet_matrix(static_cast<std::size_t>(n), static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < n * m; ++i)
    a[static_cast<std::size_t>(i / m)][static_cast<std::size_t>(i % m)] = x[batch * n * m + i].re;
  return a;
}
inline void store(const JetMatrix& a, Array& y, std::int64_t batch = 0) {
  std::int64_t at = batch * static_cast<std::int64_t>(a.size() * (a.empty() ? 0 : a[0].size()));
  for (const auto& row : a)
    for (const Jet& x : row) y[at++] = Num(x);
}
inline JetMatrix operator*(const JetMatrix& a, const JetMatrix& b) {
  JetMatrix c = jet_matrix(a.size(), b[0].size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}
/// a + factor b
inline JetMatrix sum_of(JetMatrix a, Real factor, const JetMatrix& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += Jet(factor) * b[i][j];
  return a;
}
/// Further roundings, at the size of the largest element of each coefficient.
inline void settle(JetMatrix& a, double units) {
  for (int k = 0; k < Jet::count; ++k) {
    double largest = 0;
    for (const auto& row : a)
      for (const Jet& x : row) largest = std::max(largest, static_cast<double>(std::fabs(x.v[k])));
    for (auto& row : a)
      for (Jet& x : row) x.e[k] += units * Jet::unit * largest;
  }
}
/// x with a x = b, by elimination with pivots. Unfit if nearly singular.
inline JetMatrix solved(JetMatrix a, JetMatrix b) {
  const std::size_t n = a.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r][c].v[0]) > std::fabs(a[pivot][c].v[0])) pivot = r;
    if (std::fabs(a[pivot][c].v[0]) < 0.05L) throw Unfit();
    std::swap(a[pivot], a[c]);
    std::swap(b[pivot], b[c]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const Jet f = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; ++k) a[r][k] = a[r][k] - f * a[c][k];
      for (std::size_t k = 0; k < b[r].size(); ++k) b[r][k] = b[r][k] - f * b[c][k];
    }
  }
  for (std::size_t r = 0; r < n; ++r)
    for (Jet& x : b[r]) x = x / a[r][r];
  return b;
}
/// The dtype of a result that is computed in float64. Unfit where rounding bounds would be too coarse.
inline DType real_dtype(const Inputs& in) {
  const DType d = floating_of(promoted(in));
  if (d != DType::float32 && d != DType::float64) throw Unfit();
  round_like(d);
  return d;
}
/// A value of that shape, or a new input.
inline int real_value(Maker& m, const Extents& shape) {
  const int k = m.pick(
      [&](const Array& a) { return a.shape == shape && (a.dtype == DType::float64 || a.dtype == DType::float32); });
  if (k >= 0 && m.chance(0.7)) return k;
  const bool source = m.source_elements + elements(shape) < 16 && m.chance(0.6);
  return m.input(source ? Role::source : Role::constant, m.chance(0.8) ? DType::float64 : DType::float32, shape);
}
/// A matrix whose eigenvalues are to the right of zero: x + n I for a value of few elements.
inline int dominant_matrix(Maker& m, std::int64_t n) {
  const int x = real_value(m, {n, n});
  if (x < 0) return -1;
  std::vector<double> diagonal(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) diagonal[static_cast<std::size_t>(i * n + i)] = 4;
  const int e = m.input_of(m.at(x).dtype, {n, n}, diagonal);
  return e < 0 ? -1 : m.emit("add", {Maker::arg(x), Maker::arg(e)});
}
/// Unfit unless the diagonal outweighs the rest of each row by this much.
inline void require_dominant(const JetMatrix& a, Real by) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    Real rest = 0;
    for (std::size_t j = 0; j < a.size(); ++j) rest += i == j ? 0 : std::fabs(a[i][j].v[0]);
    if (!(a[i][i].v[0] - rest > by)) throw Unfit();
  }
}

}  // namespace random_programs
