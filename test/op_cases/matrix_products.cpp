// Rows of the ops of <reel/linalg/products.hpp>. References are sums over indices in long double.
#include <algorithm>
#include <numeric>
#include <reel/linalg.hpp>
#include <span>

#include "matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Array kronecker(const Array& a, const Array& b) {
  const int rank = std::max(a.shape.rank(), b.shape.rank());
  const auto extent = [rank](const Array& x, int d) {
    const int k = d - (rank - x.shape.rank());
    return k < 0 ? 1 : x.shape[k];
  };
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(extent(a, d) * extent(b, d));
  return build(shape, [&](const Index& i) {
    Index ia, ib;
    for (int d = 0; d < rank; ++d) {
      const std::int64_t n = extent(b, d), k = i[static_cast<std::size_t>(d)];
      if (d >= rank - a.shape.rank()) ia.push_back(k / n);
      if (d >= rank - b.shape.rank()) ib.push_back(k % n);
    }
    return at(a, ia) * at(b, ib);
  });
}

// The element of x at the last indices, repeated along axes of extent 1.
Real repeated(const Array& x, const Index& i) {
  Index own(i.end() - x.shape.rank(), i.end());
  for (std::size_t d = 0; d < own.size(); ++d)
    if (x.shape[static_cast<std::int64_t>(d)] == 1) own[d] = 0;
  return at(x, own);
}
// Along the axis, counted from the end.
Array crossed(A x, std::int64_t axis) {
  Shape shape = x[0].shape.rank() >= x[1].shape.rank() ? x[0].shape : x[1].shape;
  for (int d = 1; d <= std::min(x[0].shape.rank(), x[1].shape.rank()); ++d)
    shape[-d] = std::max(x[0].shape[-d], x[1].shape[-d]);
  return build(shape, [&](const Index& i) {
    const std::size_t place = i.size() - static_cast<std::size_t>(-axis);
    Index next = i, after = i;
    next[place] = (i[place] + 1) % 3;
    after[place] = (i[place] + 2) % 3;
    return repeated(x[0], next) * repeated(x[1], after) - repeated(x[0], after) * repeated(x[1], next);
  });
}

// Over the last axis of both, for each pair of the others.
Array inner_of(const Array& a, const Array& b) {
  Shape shape;
  for (int d = 0; d + 1 < a.shape.rank(); ++d) shape.push_back(a.shape[d]);
  for (int d = 0; d + 1 < b.shape.rank(); ++d) shape.push_back(b.shape[d]);
  return build(shape, [&](const Index& i) {
    const std::span<const std::int64_t> all(i);
    const auto of_a = all.first(static_cast<std::size_t>(a.shape.rank() - 1)), of_b = all.subspan(of_a.size());
    Index ia(of_a.begin(), of_a.end()), ib(of_b.begin(), of_b.end());
    ia.push_back(0);
    ib.push_back(0);
    Real sum = 0;
    for (std::int64_t k = 0; k < a.shape.back(); ++k) {
      ia.back() = ib.back() = k;
      sum += at(a, ia) * at(b, ib);
    }
    return sum;
  });
}
Array scalar_of(Real x) { return {{}, {x}}; }

// The sums over j of a(..., i, j) x(..., j).
Array vectors_of(const Array& a, const Array& x) {
  const int rank = std::max(a.shape.rank() - 1, x.shape.rank());
  Shape shape;
  for (int d = -rank; d < -1; ++d)
    shape.push_back(std::max(-d <= a.shape.rank() - 1 ? a.shape[d - 1] : 1, -d <= x.shape.rank() ? x.shape[d] : 1));
  shape.push_back(a.shape[-2]);
  return build(shape, [&](const Index& i) {
    Real sum = 0;
    for (std::int64_t j = 0; j < a.shape[-1]; ++j) {
      Index of_a = i, of_x = i;
      of_a.push_back(j);
      of_x.back() = j;
      sum += repeated(a, of_a) * repeated(x, of_x);
    }
    return sum;
  });
}
Array power_of(const Array& a, int n) {
  return each(a, [n](const Array& m) {
    Array y = unit(m.shape[0]);
    for (int k = 0; k < n; ++k) y = times(y, m);
    return y;
  });
}
Array inverse_of(const Array& a) {
  return each(a, [](const Array& m) { return solved(m, unit(m.shape[0])); });
}

// f of the rows (or columns) of magnitudes.
template <class F>
Array magnitudes(const Array& x, F f) {
  Array size = x;
  for (Real& v : size.values) v = std::abs(v);
  return f(size);
}
Real largest(const Row& r) { return *std::max_element(r.begin(), r.end()); }
Real root(const Row& r) {
  Real sum = 0;
  for (const Real v : r) sum += v * v;
  return std::sqrt(sum);
}

// Singular values, ascending: rotations of the columns until they are orthogonal (Hestenes 1958).
Row singular_values(const Array& m) {
  const bool wide = m.shape[0] < m.shape[1];
  const std::int64_t rows = std::max(m.shape[0], m.shape[1]), columns = std::min(m.shape[0], m.shape[1]);
  Array a = build({rows, columns}, [&](const Index& i) { return wide ? at(m, {i[1], i[0]}) : at(m, i); });
  for (int sweep = 0; sweep < 40; ++sweep)
    for (std::int64_t p = 0; p < columns; ++p)
      for (std::int64_t q = p + 1; q < columns; ++q) {
        Real pp = 0, pq = 0, qq = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          pp += at(a, {i, p}) * at(a, {i, p}), pq += at(a, {i, p}) * at(a, {i, q}), qq += at(a, {i, q}) * at(a, {i, q});
        const Real angle = std::atan2(2 * pq, qq - pp) / 2, c = std::cos(angle), s = std::sin(angle);
        for (std::int64_t i = 0; i < rows; ++i) {
          const Real x = at(a, {i, p}), y = at(a, {i, q});
          at(a, {i, p}) = c * x - s * y, at(a, {i, q}) = s * x + c * y;
        }
      }
  Row values = fold(a, {0}, false, root).values;
  std::sort(values.begin(), values.end());
  return values;
}
// f of each matrix, a number.
template <class F>
Array over_matrices(const Array& x, F f) {
  Shape leading = x.shape;
  leading.pop_back();
  leading.pop_back();
  return {leading, each(x, [&](const Array& m) { return scalar_of(f(m)); }).values};
}
template <class F>
Array over_spectra(const Array& x, F f) {
  return over_matrices(x, [&](const Array& m) { return f(singular_values(m)); });
}
Array keeping(Array x) {
  x.shape.push_back(1);
  x.shape.push_back(1);
  return x;
}
Real largest_column(const Array& m) {
  const Array sums = magnitudes(m, [](const Array& size) { return fold(size, {0}, false, total); });
  return largest(sums.values);
}
// Singular values far apart.
Tensor apart(const Tensor& x, std::size_t) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  return x + eye(m, n) * cumsum(full({n}, 3.0), 0);
}

// A square matrix behind `leading` axes for its rows, far from singular; a vector as drawn.
Tensor dominant(const Tensor& x, std::size_t operand) {
  if (operand > 0 || x.rank() < 2) return x;
  if (x.rank() == 2 || x.shape()[-1] == x.shape()[-2]) return x + 6 * eye(x.shape().back());
  const std::int64_t n = x.shape()[0] * x.shape()[1];
  return reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape());
}

// Reflectors applied to columns of the identity, one after another, the last first.
Array reflected(A x) {
  const Array &a = x[0], &tau = x[1];
  const std::int64_t m = a.shape[-2], n = a.shape[-1], k = tau.shape[-1];
  const bool batched = a.shape.rank() > 2 || tau.shape.rank() > 1;
  Array all{batched ? Shape{2, m, n} : Shape{m, n}, {}};
  for (std::int64_t b = 0; b < (batched ? 2 : 1); ++b) {
    const auto element = [&](std::int64_t i, std::int64_t j) {
      return i < j    ? 0
             : i == j ? 1
                      : a.values[static_cast<std::size_t>(((a.shape.rank() > 2 ? b : 0) * m + i) * n + j)];
    };
    Array q = build({m, n}, [](const Index& i) { return i[0] == i[1] ? 1 : 0; });
    for (std::int64_t r = k - 1; r >= 0; --r)
      for (std::int64_t j = 0; j < n; ++j) {
        Real along = 0;
        for (std::int64_t i = r; i < m; ++i) along += element(i, r) * at(q, {i, j});
        along *= tau.values[static_cast<std::size_t>((tau.shape.rank() > 1 ? b : 0) * k + r)];
        for (std::int64_t i = r; i < m; ++i) at(q, {i, j}) -= along * element(i, r);
      }
    all.values.insert(all.values.end(), q.values.begin(), q.values.end());
  }
  return all;
}

// clang-format off
constexpr Shaped rows[] = {
    {"kron", "2x3,3x2;2,3;2x1x2,3x2;(),3;2x2,();0x2,3x1;2,3x1x2", [](X x) { return kron(x[0], x[1]); }, [](A x) { return kronecker(x[0], x[1]); }},
    {"cross", "3,3;4x3,4x3;2x4x3,3;3,4x3;1x3,2x3;0x3,3", [](X x) { return cross(x[0], x[1]); }, [](A x) { return crossed(x, -1); }, {-2, 2}, nullptr, none, 4},
    {"cross", "2x3x4,2x3x4;2x3x1,3x4", [](X x) { return cross(x[0], x[1], -2); }, [](A x) { return crossed(x, -2); }, {-2, 2}, nullptr, none, 4},
    {"inner", "3,3;2x3,4x3;2x2x3,4x3;5x3,3;2x0,3x0", [](X x) { return inner(x[0], x[1]); }, [](A x) { return inner_of(x[0], x[1]); }, {-2, 2}, nullptr, none, 4},
    {"inner", "(),3;2x3,()", [](X x) { return inner(x[0], x[1]); }, [](A x) { return kronecker(x[0], x[1]); }},
    {"vdot", "3,3;2x3,6;2x3,3x2;(),1;0,0", [](X x) { return vdot(x[0], x[1]); }, [](A x) { Real s = 0; for (std::size_t i = 0; i < x[0].values.size(); ++i) s += x[0].values[i] * x[1].values[i]; return scalar_of(s); }, {-2, 2}, nullptr, none, 4},
    {"vdot", "3,3;2x2,4", [](X x) { return imag(vdot(make_complex(x[0], sin(x[0])), make_complex(x[1], 2.0))); },
      [](A x) { Real s = 0; for (std::size_t i = 0; i < x[0].values.size(); ++i) s += 2 * x[0].values[i] - std::sin(x[0].values[i]) * x[1].values[i]; return scalar_of(s); }, {-2, 2}, nullptr, by_complex, 8},
    {"vecdot", "3,3;2x3,2x3;4x2x3,2x3;3,2x3;2x1x3,4x3;2x0,2x0", [](X x) { return vecdot(x[0], x[1]); },
      [](A x) { Shape s = x[0].shape.rank() >= x[1].shape.rank() ? x[0].shape : x[1].shape; for (int d = 1; d <= std::min(x[0].shape.rank(), x[1].shape.rank()); ++d) s[-d] = std::max(x[0].shape[-d], x[1].shape[-d]); const Array terms = build(s, [&](const Index& i) { return repeated(x[0], i) * repeated(x[1], i); }); return s.rank() == 1 ? scalar_of(total(terms.values)) : fold(terms, {-1}, false, total); }, {-2, 2}, nullptr, none, 4},
    {"vecdot", "3x2,3x2;3x2x2,3x1x2", [](X x) { return vecdot(x[0], x[1], 0); },
      [](A x) { return fold(build(x[0].shape, [&](const Index& i) { return at(x[0], i) * repeated(x[1], i); }), {0}, false, total); }, {-2, 2}, nullptr, none, 4},
    {"vecdot", "3,3;2x3,2x3", [](X x) { return real(vecdot(make_complex(0.0, x[0]), make_complex(x[0], x[1]))); },
      [](A x) { const Array terms = build(x[0].shape, [&](const Index& i) { return at(x[0], i) * at(x[1], i); }); return x[0].shape.rank() == 1 ? scalar_of(total(terms.values)) : fold(terms, {-1}, false, total); }, {-2, 2}, nullptr, by_complex, 4},
    {"matvec", "3x2,2;2x3x2,2x2;2x3x2,2;3x2,4x2;2x1x3x2,4x2;3x0,0;0x2,2", [](X x) { return matvec(x[0], x[1]); }, [](A x) { return vectors_of(x[0], x[1]); }, {-2, 2}, nullptr, none, 4},
    {"multi_dot", "2x3,3x4;4x1,1x2;0x2,2x3", [](X x) { return multi_dot(x); }, [](A x) { return times(x[0], x[1]); }, {-2, 2}, nullptr, none, 4},
    {"multi_dot", "2x5,5x1,1x4;4x1,1x3,3x2;2x2,2x2,2x2", [](X x) { return multi_dot(x); }, [](A x) { return times(times(x[0], x[1]), x[2]); }, {-2, 2}, nullptr, none, 20},
    {"multi_dot", "2,2x3,3x2,2", [](X x) { return multi_dot(x); }, [](A x) { return as(times(times(as(x[0], {1, 2}), times(x[1], x[2])), as(x[3], {2, 1})), {}); }, {-2, 2}, nullptr, none, 40},
    {"multi_dot", "3;2x3", [](X x) { return multi_dot(x); }, [](A x) { return x[0]; }},
    {"matrix_power", "3x3;2x2x2;1x1;0x0", [](X x) { return matrix_power(x[0], 5); }, [](A x) { return power_of(x[0], 5); }, {-1, 1}, nullptr, none, 20},
    {"matrix_power", "3x3;2x2x2", [](X x) { return matrix_power(x[0], 2) + matrix_power(x[0], 1); }, [](A x) { Array y = power_of(x[0], 2); for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += x[0].values[i]; return y; }, {-1, 1}, nullptr, none, 4},
    {"matrix_power", "3x3;2x2x2", [](X x) { return matrix_power(x[0], -3); }, [](A x) { return power_of(inverse_of(x[0]), 3); }, {-2, 2}, dominant, none, 10},
    {"matrix_power", "3x3;2x2x2;0x0", [](X x) { return matrix_power(x[0], 0); }, [](A x) { return power_of(x[0], 0); }},
    {"tensorsolve", "2x3x6,2x3;4x2x2,4;3x3,3", [](X x) { return tensorsolve(x[0], x[1]); },
      [](A x) { const auto n = static_cast<std::int64_t>(x[1].values.size()); Shape s = x[0].shape; for (int d = 0; d < x[1].shape.rank(); ++d) s.erase(0); return as(solved(as(x[0], {n, n}), as(x[1], {n, 1})), s); },
      {-2, 2}, [](const Tensor& x, std::size_t operand) { const std::int64_t n = operand == 0 ? x.shape().back() * (x.rank() == 3 && x.shape()[0] == 4 ? 2 : 1) : 0; return operand == 0 ? reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape()) : x; }, none, 10},
    {"tensorinv", "2x3x6;2x2x2x2", [](X x) { return tensorinv(x[0]); }, [](A x) { Shape s = x[0].shape, z; for (int d = 2; d < s.rank(); ++d) z.push_back(s[d]); z.push_back(s[0]); z.push_back(s[1]); const std::int64_t n = s[0] * s[1]; return as(inverse_of(as(x[0], {n, n})), z); }, {-2, 2}, [](const Tensor& x, std::size_t) { const std::int64_t n = x.shape()[0] * x.shape()[1]; return reshape(reshape(x, {n, n}) + 6 * eye(n), x.shape()); }, none, 10},
    {"tensorinv", "3x3", [](X x) { return tensorinv(x[0], 1); }, [](A x) { return inverse_of(x[0]); }, {-2, 2}, dominant, none, 10},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0]); }, [](A x) { return fold(x[0], {-2, -1}, false, root); }, {0.2, 2}, nullptr, none, 4},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::one, true); }, [](A x) { return magnitudes(x[0], [](const Array& m) { return fold(fold(m, {-2}, true, total), {-1}, true, largest); }); }, {0.2, 2}, nullptr, none, 4},
    {"matrix_norm", "3x4;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::infinity); }, [](A x) { return magnitudes(x[0], [](const Array& m) { return fold(fold(m, {-1}, true, total), {-2, -1}, false, largest); }); }, {-2, -0.2}, nullptr, none, 4},
    {"matrix_norm", "3x3;3x2;2x3;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::spectral); }, [](A x) { return over_spectra(x[0], [](const Row& s) { return s.back(); }); }, {-1, 1}, apart, none, 20},
    {"matrix_norm", "3x3;3x2;2x3;2x3x2;1x1", [](X x) { return matrix_norm(x[0], MatrixNorm::nuclear, true); }, [](A x) { return keeping(over_spectra(x[0], [](const Row& s) { return std::accumulate(s.begin(), s.end(), Real(0)); })); }, {-1, 1}, apart, none, 20},
    {"cond", "3x3;3x2;2x3;2x3x2", [](X x) { return cond(x[0]); }, [](A x) { return over_spectra(x[0], [](const Row& s) { return s.back() / s.front(); }); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::frobenius); }, [](A x) { return over_spectra(x[0], [](const Row& s) { Real a = 0, b = 0; for (const Real v : s) a += v * v, b += 1 / (v * v); return std::sqrt(a * b); }); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::nuclear); }, [](A x) { return over_spectra(x[0], [](const Row& s) { Real a = 0, b = 0; for (const Real v : s) a += v, b += 1 / v; return a * b; }); }, {-1, 1}, apart, none, 100},
    {"cond", "3x3;2x3x3", [](X x) { return cond(x[0], MatrixNorm::one); }, [](A x) { return over_matrices(x[0], [](const Array& m) { return largest_column(m) * largest_column(inverse_of(m)); }); }, {-1, 1}, apart, none, 100},
    {"householder_product", "4x3,3;3x3,2;2x4x2,2;4x2,2x1;2x1,1;3x2,0;0x0,0", [](X x) { return householder_product(x[0], x[1]); }, reflected, {-1, 1}, nullptr, none, 10},
    {"matrix_norm", "2x2", [](X x) { return matrix_norm(make_complex(x[0], 2 * x[0]), MatrixNorm::frobenius, true); }, [](A x) { return fold(build(x[0].shape, [&](const Index& i) { return std::sqrt(Real(5)) * at(x[0], i); }), {-2, -1}, true, root); }, {0.2, 2}, nullptr, by_complex, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> matrix_products() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
