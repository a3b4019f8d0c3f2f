// Arithmetic on matrices of jets, for the interpreter of ops on matrices.
#pragma once
#include "../matrices.hpp"

namespace random_programs {

inline Matrix jet_matrix(std::size_t n, std::size_t m) { return Matrix(n, std::vector<Jet>(m)); }
inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix c = jet_matrix(a.size(), b[0].size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}
/// a + factor b
inline Matrix sum_of(Matrix a, Real factor, const Matrix& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += Jet(factor) * b[i][j];
  return a;
}
/// x with a x = b, by elimination with pivots. Unfit if nearly singular.
inline Matrix solved(Matrix a, Matrix b) {
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
inline void require_dominant(const Matrix& a, Real by) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    Real rest = 0;
    for (std::size_t j = 0; j < a.size(); ++j) rest += i == j ? 0 : std::fabs(a[i][j].v[0]);
    if (!(a[i][i].v[0] - rest > by)) throw Unfit();
  }
}

}  // namespace random_programs
