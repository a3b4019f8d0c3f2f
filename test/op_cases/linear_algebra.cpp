// Rows of products and factorisations. References are textbook loops in long double; operands of factorisations are
// well conditioned, and the slack is a bound of the condition number.
#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

std::int64_t last(const Array& x) { return x.shape.back(); }

// f(row, column) of each matrix pair; leading axes equal or absent.
Array times(const Array& a, const Array& b) {
  const std::int64_t inner = last(a);
  Shape shape = a.shape.rank() >= b.shape.rank() ? a.shape : b.shape;
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
Array flipped(const Array& x) {
  Shape shape = x.shape;
  std::swap(shape[-1], shape[-2]);
  return build(shape, [&](Index i) {
    std::swap(i[i.size() - 1], i[i.size() - 2]);
    return at(x, i);
  });
}
Array as(const Array& x, const Shape& shape) { return {shape, x.values}; }

// Gauss and Jordan with pivoting: x with a x = b, and the determinant of a, for one matrix a [n, n] and b [n, m].
Array eliminated(Array a, Array b, Real& determinant) {
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
Array unit(std::int64_t n) {
  return build({n, n}, [](const Index& i) { return Real(i[0] == i[1]); });
}
// f of each matrix of a batch, with the matrix or vector of b that goes with it; b may be one for all.
template <class F>
Array batched(const Array& a, const Array& b, F f) {
  if (a.shape.rank() == 2) return f(a, b);
  const std::int64_t count = a.shape[0];
  Shape leading = a.shape;
  leading.pop_back();
  const bool shared = b.shape.rank() < a.shape.rank() && b.shape != leading;
  Array out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cut = [&](const Array& x) {
      const std::size_t size = x.values.size() / static_cast<std::size_t>(count),
                        from = static_cast<std::size_t>(i) * size;
      Shape shape = x.shape;
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
Array solved(const Array& a, const Array& b) {
  return batched(a, b, [](const Array& m, const Array& r) {
    Real det;
    return r.shape.rank() == 1 ? as(eliminated(m, as(r, {r.shape[0], 1}), det), r.shape) : eliminated(m, r, det);
  });
}
Array determinants(const Array& a) {
  return batched(a, a, [](const Array& m, const Array&) {
    Array d{{}, {0}};
    eliminated(m, unit(last(m)), d.values[0]);
    return d;
  });
}
Array triangle(const Array& x, bool lower, bool unit_diagonal) {
  return build(x.shape, [&](const Index& i) {
    const std::int64_t d = i[i.size() - 2] - i[i.size() - 1];
    return d == 0 ? (unit_diagonal ? 1 : at(x, i)) : (d > 0) == lower ? at(x, i) : 0;
  });
}
Array cholesky_of(const Array& a) {
  return batched(a, a, [](const Array& m, const Array&) {
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

Tensor dominant(const Tensor& x, std::size_t operand) { return operand == 0 ? x + 6 * eye(x.shape().back()) : x; }
Tensor positive(const Tensor& x, std::size_t) {
  const Tensor half = matmul(x, x, {.transpose_b = true});
  return half + 2 * eye(x.shape().back());
}
// cholesky reads the lower triangle alone: made symmetric, so that every element counts.
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// clang-format off
constexpr Shaped rows[] = {
    {"matmul", "2x3,3x4;1x1,1x1;0x3,3x2;2x0,0x3;5x2x3,5x3x4;5x2x3,3x4;2x3,5x3x4;1x2x3,5x3x2;2x3x0,0x4;2x0x3,3x4", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return times(x[0], x[1]); }},
    {"matmul", "3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), as(x[1], {3, 1})), {}); }},
    {"matmul", "3,3x4", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), x[1]), {4}); }},
    {"matmul", "2x3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(x[0], as(x[1], {3, 1})), {2}); }},
    {"matmul", "5x2x3,3", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(x[0], as(x[1], {3, 1})), {5, 2}); }},
    {"matmul", "3,5x3x2", [](X x) { return matmul(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), x[1]), {5, 2}); }},
    {"matmul", "3x2,3x4;5x3x2,5x3x4", [](X x) { return matmul(x[0], x[1], {.transpose_a = true}); }, [](A x) { return times(flipped(x[0]), x[1]); }},
    {"matmul", "2x3,4x3;5x2x3,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_b = true}); }, [](A x) { return times(x[0], flipped(x[1])); }},
    {"matmul", "3x2,4x3", [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); }, [](A x) { return times(flipped(x[0]), flipped(x[1])); }},
    {"dot", "3,3", [](X x) { return dot(x[0], x[1]); }, [](A x) { return as(times(as(x[0], {1, 3}), as(x[1], {3, 1})), {}); }},
    {"dot", "2x3,3x4", [](X x) { return dot(x[0], x[1]); }, [](A x) { return times(x[0], x[1]); }},
    {"dot", "2x3,5x3x4", [](X x) { return dot(x[0], x[1]); },
      [](A x) { return build({2, 5, 4}, [&](const Index& i) { Real s = 0; for (std::int64_t k = 0; k < 3; ++k) s += at(x[0], {i[0], k}) * at(x[1], {i[1], k, i[2]}); return s; }); }},
    {"outer", "3,4;2x2,3", [](X x) { return outer(x[0], x[1]); },
      [](A x) { const Row &a = x[0].values, &b = x[1].values; return build({a.size(), b.size()}, [&](const Index& i) { return a[static_cast<std::size_t>(i[0])] * b[static_cast<std::size_t>(i[1])]; }); }},
    {"tensordot", "2x3x4,3x4x5", [](X x) { return tensordot(x[0], x[1]); }, [](A x) { return times(as(x[0], {2, 12}), as(x[1], {12, 5})); }},
    {"tensordot", "2x3,4x2", [](X x) { return tensordot(x[0], x[1], 0, 1); }, [](A x) { return times(flipped(x[0]), flipped(x[1])); }},
    {"einsum", "2x3,3x4", [](X x) { return einsum("ij,jk->ik", x); }, [](A x) { return times(x[0], x[1]); }},
    {"einsum", "5x2x3,5x3x4", [](X x) { return einsum("...ij,...jk", {x[0], x[1]}); }, [](A x) { return times(x[0], x[1]); }},
    {"einsum", "3x3", [](X x) { return einsum("ii", x); }, [](A x) { return Array{{}, {at(x[0], {0, 0}) + at(x[0], {1, 1}) + at(x[0], {2, 2})}}; }},
    {"einsum", "3x3", [](X x) { return einsum("ii->i", x); }, [](A x) { return build({3}, [&](const Index& i) { return at(x[0], {i[0], i[0]}); }); }},
    {"einsum", "2x3", [](X x) { return einsum("ij->j", x); }, [](A x) { return fold(x[0], {0}, false, total); }},
    {"einsum", "2,3x2,3", [](X x) { return einsum("i,ji,j->ij", x); },
      [](A x) { return build({2, 3}, [&](const Index& i) { return at(x[0], {i[0]}) * at(x[1], {i[1], i[0]}) * at(x[2], {i[1]}); }); }},
    {"cholesky", "3x3;1x1;2x3x3;0x0", [](X x) { return cholesky(symmetric(x[0])); }, [](A x) { return cholesky_of(x[0]); }, {-1, 1}, positive, none, 20},
    {"solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;0x0,0x2;2x3x3,2x3;2x3x3,3;2x3x3,3x2", [](X x) { return solve(x[0], x[1]); }, [](A x) { return solved(x[0], x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;2x3x3,2x3;2x3x3,3;2x3x3,3x2", [](X x) { return triangular_solve(x[0], x[1]); }, [](A x) { return solved(triangle(x[0], true, false), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false}); }, [](A x) { return solved(triangle(x[0], false, false), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2;2x3x3,2x3", [](X x) { return triangular_solve(x[0], x[1], {.unit_diagonal = true}); }, [](A x) { return solved(triangle(x[0], true, true), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.transpose = true}); }, [](A x) { return solved(flipped(triangle(x[0], true, false)), x[1]); }, {-2, 2}, dominant, none, 10},
    {"triangular_solve", "3x3,3x2", [](X x) { return triangular_solve(x[0], x[1], {.lower = false, .transpose = true, .unit_diagonal = true}); },
      [](A x) { return solved(flipped(triangle(x[0], false, true)), x[1]); }, {-1, 1}, dominant, none, 100},
    {"inverse", "3x3;1x1;2x3x3;0x0", [](X x) { return inverse(x[0]); }, [](A x) { return batched(x[0], x[0], [](const Array& m, const Array&) { return solved(m, unit(last(m))); }); }, {-2, 2}, dominant, none, 10},
    {"det", "3x3;1x1;2x3x3", [](X x) { return det(x[0]); }, [](A x) { return determinants(x[0]); }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).logdet; }, [](A x) { Array d = determinants(x[0]); for (Real& v : d.values) v = std::log(std::abs(v)); return d; }, {-2, 2}, dominant, none, 10},
    {"slogdet", "3x3;2x3x3", [](X x) { return slogdet(x[0]).sign; }, [](A x) { Array d = determinants(x[0]); for (Real& v : d.values) v = v > 0 ? 1 : -1; return d; }, {-2, 2}, dominant, none, 10},
};
// clang-format on

}  // namespace

std::span<const Shaped> linear_algebra() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
