// Matrices of jets, for the interpreters of ops on matrices: suitable operands, and the rounding errors of results.
#pragma once
#include <algorithm>
#include <optional>

#include "../linalg/references/matrices.hpp"
#include "rows.hpp"

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

using namespace cases::matrices;
using cases::RowOf;
using Matrix = MatrixOf<Jet>;
using MatrixRef = const Matrix&;
using JetArrays = ArraysOf<Jet>;

/// Adds rounding errors of the size of the largest element of each coefficient.
inline Matrix settled(Matrix a, double units) {
  for (int k = 0; k < Jet::count; ++k) {
    double largest = 0;
    for (const Jet& x : a.values) largest = std::max(largest, static_cast<double>(std::fabs(x.v[k])));
    for (Jet& x : a.values) x.e[k] += units * Jet::unit * largest;
  }
  return a;
}
inline RowOf<Jet> settled(const RowOf<Jet>& x, double units) { return settled(Matrix(x.size(), 1, x), units).values; }
inline Jet settled(const Jet& x, double units) { return rounded(x, units); }
/// f of matrices with such errors. `exact`: f itself makes none.
template <class F>
auto settling(F f, double units, bool exact = false) {
  return [=](const auto&... a) {
    const auto result = [&] {
      std::optional<Exactly> exactly;
      if (exact) exactly.emplace();
      return f(a...);
    };
    return settled(result(), units);
  };
}

inline DType factor_dtype(const Inputs& in) {
  DType d = promoted(in);
  if (reel::is_complex(d) || d == DType::float16 || d == DType::bfloat16) throw Unfit();
  d = floating_of(d);
  round_like(d);
  return d;
}
inline std::int64_t batches(const Array& x) { return elements(Extents(x.shape.begin(), x.shape.end() - 2)); }

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
inline MatrixRef require_dominant(MatrixRef a, Real by = 0.5L) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    Real rest = 0;
    for (std::size_t j = 0; j < a.rows; ++j) rest += i == j ? 0 : magnitude(a[i][j]);
    if (!(value_of(a[i][i]) - rest > by)) throw Unfit();
  }
  return a;
}
inline MatrixRef require_small(MatrixRef a, Real bound) {
  for (const Jet& x : a.values)
    if (!(magnitude(x) <= bound)) throw Unfit();
  return a;
}

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
