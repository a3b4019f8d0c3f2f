// Textbook algorithms on naive arrays of matrices, in long double: references of linear algebra.
#pragma once
#include "naive.hpp"

namespace cases {

inline std::int64_t last(const Array& x) { return x.shape.back(); }

// f(row, column) of each matrix pair; leading axes equal or absent.
inline Array times(const Array& a, const Array& b) {
  const std::int64_t inner = last(a);
  reel::Shape shape = a.shape.rank() >= b.shape.rank() ? a.shape : b.shape;
  if (a.shape.rank() == b.shape.rank())
    for (int d = 0; d < shape.rank() - 2; ++d) shape[d] = std::max(a.shape[d], b.shape[d]);
  shape[-2] = a.shape[-2];
  shape[-1] = last(b);
  return build(shape, [&](const Index& i) {
    Real sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      Index ia = i, ib = i;
      ia.back() = k;
      ib[ib.size() - 2] = k;
      ia.erase(ia.begin(), ia.begin() + static_cast<std::ptrdiff_t>(i.size() - a.shape.size()));
      ib.erase(ib.begin(), ib.begin() + static_cast<std::ptrdiff_t>(i.size() - b.shape.size()));
      for (std::size_t d = 0; d + 2 < ia.size(); ++d)
        if (a.shape[static_cast<std::int64_t>(d)] == 1) ia[d] = 0;
      for (std::size_t d = 0; d + 2 < ib.size(); ++d)
        if (b.shape[static_cast<std::int64_t>(d)] == 1) ib[d] = 0;
      sum += at(a, ia) * at(b, ib);
    }
    return sum;
  });
}
inline Array flipped(const Array& x) {
  reel::Shape shape = x.shape;
  std::swap(shape[-1], shape[-2]);
  return build(shape, [&](Index i) {
    std::swap(i[i.size() - 1], i[i.size() - 2]);
    return at(x, i);
  });
}
inline Array as(const Array& x, const reel::Shape& shape) { return {shape, x.values}; }

// Gauss and Jordan with pivoting: x with a x = b, and the determinant of a, for one matrix a [n, n] and b [n, m].
inline Array eliminated(Array a, Array b, Real& determinant) {
  const std::int64_t n = last(a), m = last(b);
  determinant = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < n; ++i)
      if (std::abs(at(a, {i, k})) > std::abs(at(a, {pivot, k}))) pivot = i;
    if (pivot != k) determinant = -determinant;
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(a, {k, j}), at(a, {pivot, j}));
    for (std::int64_t j = 0; j < m; ++j) std::swap(at(b, {k, j}), at(b, {pivot, j}));
    const Real p = at(a, {k, k});
    determinant *= p;
    for (std::int64_t j = 0; j < n; ++j) at(a, {k, j}) /= p;
    for (std::int64_t j = 0; j < m; ++j) at(b, {k, j}) /= p;
    for (std::int64_t i = 0; i < n; ++i) {
      const Real f = i == k ? 0 : at(a, {i, k});
      for (std::int64_t j = 0; j < n; ++j) at(a, {i, j}) -= f * at(a, {k, j});
      for (std::int64_t j = 0; j < m; ++j) at(b, {i, j}) -= f * at(b, {k, j});
    }
  }
  return b;
}
inline Array unit(std::int64_t n) {
  return build({n, n}, [](const Index& i) { return Real(i[0] == i[1]); });
}
// f of each matrix of a batch, with the matrix or, of `vectors`, the vector of b that goes with it; b may be one for
// all.
template <class F>
Array batched(const Array& a, const Array& b, F f, bool vectors = false) {
  if (a.shape.rank() == 2) return f(a, b);
  const std::int64_t count = a.shape[0];
  const bool shared = b.shape.rank() < a.shape.rank() - (vectors ? 1 : 0);
  Array out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cut = [&](const Array& x) {
      const std::size_t size = x.values.size() / static_cast<std::size_t>(count),
                        from = static_cast<std::size_t>(i) * size;
      reel::Shape shape = x.shape;
      shape.erase(0);
      return Array{shape, Row(x.values.begin() + static_cast<std::ptrdiff_t>(from),
                              x.values.begin() + static_cast<std::ptrdiff_t>(from + size))};
    };
    const Array one = f(cut(a), shared ? b : cut(b));
    out.shape = {count};
    for (std::int64_t extent : one.shape) out.shape.push_back(extent);
    out.values.insert(out.values.end(), one.values.begin(), one.values.end());
  }
  return out;
}
template <class F>
Array each(const Array& a, F f) {
  return batched(a, a, [&](const Array& m, const Array&) { return f(m); });
}
inline Array solved(const Array& a, const Array& b) {
  return batched(a, b, [](const Array& m, const Array& r) {
    Real det;
    return r.shape.rank() == 1 ? as(eliminated(m, as(r, {r.shape[0], 1}), det), r.shape) : eliminated(m, r, det);
  });
}
inline Array determinants(const Array& a) {
  return each(a, [](const Array& m) {
    Array d{{}, {0}};
    eliminated(m, unit(last(m)), d.values[0]);
    return d;
  });
}
inline Array triangle(const Array& x, bool lower, bool unit_diagonal) {
  return build(x.shape, [&](const Index& i) {
    const std::int64_t d = i[i.size() - 2] - i[i.size() - 1];
    return d == 0 ? (unit_diagonal ? 1 : at(x, i)) : (d > 0) == lower ? at(x, i) : 0;
  });
}
inline Array cholesky_of(const Array& a) {
  return each(a, [](const Array& m) {
    Array l = build(m.shape, [](const Index&) { return Real(0); });
    for (std::int64_t i = 0; i < last(m); ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        Real sum = at(m, {i, j});
        for (std::int64_t k = 0; k < j; ++k) sum -= at(l, {i, k}) * at(l, {j, k});
        at(l, {i, j}) = i == j ? std::sqrt(sum) : sum / at(l, {j, j});
      }
    return l;
  });
}

}  // namespace cases
