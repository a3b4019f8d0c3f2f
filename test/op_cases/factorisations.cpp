// Rows of <reel/linalg/factorisations.hpp>. Signs of vectors are arbitrary: rows take their absolute values.
#include <algorithm>
#include <reel/linalg.hpp>

#include "matrices.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// ---- References

Array absolute(Array x) {
  for (Real& v : x.values) v = std::abs(v);
  return x;
}
Array symmetrised(const Array& a) {
  const Array t = flipped(a);
  Array s = a;
  for (std::size_t i = 0; i < s.values.size(); ++i) s.values[i] = (a.values[i] + t.values[i]) / 2;
  return s;
}

// Jacobi's rotations of a symmetric matrix: eigenvalues ascending, eigenvectors in columns.
struct Eigen {
  Array values, vectors;
};
Eigen eigen(Array a) {
  const std::int64_t n = last(a);
  Array v = unit(n);
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (at(a, {p, q}) == 0) continue;
        const Real theta = (at(a, {q, q}) - at(a, {p, p})) / (2 * at(a, {p, q}));
        const Real t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const Real c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::int64_t k = 0; k < n; ++k) {
          const Real x = at(a, {k, p}), y = at(a, {k, q});
          at(a, {k, p}) = c * x - s * y, at(a, {k, q}) = s * x + c * y;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const Real x = at(a, {p, k}), y = at(a, {q, k});
          at(a, {p, k}) = c * x - s * y, at(a, {q, k}) = s * x + c * y;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const Real x = at(v, {k, p}), y = at(v, {k, q});
          at(v, {k, p}) = c * x - s * y, at(v, {k, q}) = s * x + c * y;
        }
      }
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return at(a, {i, i}) < at(a, {j, j}); });
  const auto from = [&](std::int64_t i) { return order[static_cast<std::size_t>(i)]; };
  return {build({n},
                [&](const Index& i) {
                  return at(a, {from(i[0]), from(i[0])});
                }),
          build({n, n}, [&](const Index& i) {
            return at(v, {i[0], from(i[1])});
          })};
}
Array eigenvalues(const Array& a) { return eigen(symmetrised(a)).values; }
Array eigenvectors(const Array& a) { return absolute(eigen(symmetrised(a)).vectors); }

// By the eigenvalues of a^T a or a a^T, whichever is smaller.
Array singular_values(const Array& a) {
  const bool tall = a.shape[0] >= a.shape[1];
  Array w = eigen(tall ? times(flipped(a), a) : times(a, flipped(a))).values;
  std::reverse(w.values.begin(), w.values.end());
  for (Real& x : w.values) x = std::sqrt(x);
  return w;
}
// The k left ones: of a a^T, the largest first.
Array left_vectors(const Array& a) {
  const std::int64_t m = a.shape[0], k = std::min(m, a.shape[1]);
  const Array v = eigen(times(a, flipped(a))).vectors;
  return absolute(build({m, k}, [&](const Index& i) { return at(v, {i[0], m - 1 - i[1]}); }));
}
Array right_vectors(const Array& a) { return flipped(left_vectors(flipped(a))); }

// Householder's reflections, of the sign that LAPACK chooses: what remains of a [m, n] in the first k rows.
Array upper_factor(const Array& given) {
  Array a = given;
  const std::int64_t m = a.shape[0], n = a.shape[1], k = std::min(m, n);
  for (std::int64_t j = 0; j < std::min(m - 1, n); ++j) {
    Row v;
    Real norm = 0;
    for (std::int64_t i = j; i < m; ++i) v.push_back(at(a, {i, j})), norm += at(a, {i, j}) * at(a, {i, j});
    v[0] += (v[0] < 0 ? -1 : 1) * std::sqrt(norm);
    Real square = 0;
    for (const Real x : v) square += x * x;
    for (std::int64_t c = 0; c < n; ++c) {
      Real inner = 0;
      for (std::int64_t i = j; i < m; ++i) inner += v[static_cast<std::size_t>(i - j)] * at(a, {i, c});
      for (std::int64_t i = j; i < m; ++i) at(a, {i, c}) -= 2 * inner / square * v[static_cast<std::size_t>(i - j)];
    }
  }
  return build({k, n}, [&](const Index& i) { return i[1] < i[0] ? 0 : at(a, {i[0], i[1]}); });
}
// q = x r^-1 for the first k columns x of a: the solution of r^T q^T = x^T.
Array orthogonal_factor(const Array& a) {
  const Array r = upper_factor(a);
  const std::int64_t m = a.shape[0], k = r.shape[0];
  const Array u = build({k, k}, [&](const Index& i) { return at(r, i); });
  const Array x = build({m, k}, [&](const Index& i) { return at(a, i); });
  return flipped(solved(flipped(u), flipped(x)));
}

// Gauss's elimination with row pivots: L and U in one array, and the order of the rows.
struct Packed {
  Array lu;
  std::vector<std::int64_t> rows;
};
Packed packed(Array a) {
  const std::int64_t m = a.shape[0], n = a.shape[1];
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < m; ++i) rows.push_back(i);
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < m; ++i)
      if (std::abs(at(a, {i, k})) > std::abs(at(a, {pivot, k}))) pivot = i;
    std::swap(rows[static_cast<std::size_t>(k)], rows[static_cast<std::size_t>(pivot)]);
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(a, {k, j}), at(a, {pivot, j}));
    for (std::int64_t i = k + 1; i < m; ++i) {
      at(a, {i, k}) /= at(a, {k, k});
      for (std::int64_t j = k + 1; j < n; ++j) at(a, {i, j}) -= at(a, {i, k}) * at(a, {k, j});
    }
  }
  return {a, rows};
}
Array packed_factors(const Array& a) { return packed(a).lu; }
Array lower_of(const Array& a) {
  const Array f = packed(a).lu;
  return build({a.shape[0], std::min(a.shape[0], a.shape[1])}, [&](const Index& i) {
    return i[0] == i[1] ? 1 : i[0] > i[1] ? at(f, i) : 0;
  });
}
Array upper_of(const Array& a) {
  const Array f = packed(a).lu;
  return build({std::min(a.shape[0], a.shape[1]), a.shape[1]},
               [&](const Index& i) { return i[0] > i[1] ? 0 : at(f, i); });
}
Array permutation_of(const Array& a) {
  const auto rows = packed(a).rows;
  const auto m = static_cast<std::int64_t>(rows.size());
  return build({m, m}, [&](const Index& i) { return Real(rows[static_cast<std::size_t>(i[1])] == i[0]); });
}

// l l^T for the lower triangle l.
Array gram(const Array& x) {
  return each(x, [](const Array& m) {
    const Array l = triangle(m, true, false);
    return times(l, flipped(l));
  });
}

// The factor of l l^T + sign x x^T.
Array updated(const Array& l, const Array& x, Real sign) {
  const auto one = [sign](const Array& m, const Array& v) {
    Array a = gram(m);
    for (std::int64_t i = 0; i < last(m); ++i)
      for (std::int64_t j = 0; j < last(m); ++j) at(a, {i, j}) += sign * at(v, {i}) * at(v, {j});
    return cholesky_of(a);
  };
  return batched(l, x, one, true);
}

// By the normal equations.
Array pseudoinverse(const Array& a) {
  const Array t = flipped(a);
  return a.shape[0] >= a.shape[1] ? solved(times(t, a), t) : flipped(solved(times(a, t), a));
}
Array least_squares(const Array& a, const Array& b) {
  return batched(a, b, [](const Array& m, const Array& y) {
    const Array p = pseudoinverse(m);
    return y.shape.rank() == 1 ? Array{{p.shape[0]}, times(p, {{y.shape[0], 1}, y.values}).values} : times(p, y);
  });
}
Array tridiagonal(A x) {
  const std::int64_t n = last(x[0]);
  return build({n, n}, [&](const Index& i) {
    return i[0] == i[1] ? at(x[0], {i[0]}) : std::abs(i[0] - i[1]) == 1 ? at(x[1], {std::min(i[0], i[1])}) : 0;
  });
}

// ---- Operands

// Eigenvalues and singular values far apart.
Tensor apart(const Tensor& x, std::size_t operand) {
  if (operand > 0) return x;
  if (x.rank() < 2) return x + 3 * cumsum(ones_like(x), -1);
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  return x + eye(m, n) * cumsum(full({n}, 3.0), 0);
}
Tensor positive(const Tensor& x, std::size_t operand) {
  return operand == 0 ? x + 3 * eye(x.shape()[-2], x.shape()[-1]) : x;
}
// As apart, and a positive definite matrix beside it.
Tensor pencil(const Tensor& x, std::size_t operand) {
  if (operand == 0) return apart(x, 0);
  return matmul(x, x, {.transpose_b = true}) * 0.2 + eye(x.shape().back());
}
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// clang-format off
constexpr Shaped rows[] = {
    {"qr", "3x3;4x2;2x4;2x3x2", [](X x) { return qr(x[0]).r; }, [](A x) { return each(x[0], upper_factor); }, {-1, 1}, apart, none, 20},
    {"qr", "3x3;4x2;2x4;2x3x2", [](X x) { return qr(x[0]).q; }, [](A x) { return each(x[0], orthogonal_factor); }, {-1, 1}, apart, none, 20},
    {"qr", "4x2", [](X x) { const Tensor q = slice(qr(x[0], QrMode::complete).q, {all, range_from(2)}); return eye(4) - matmul(q, q, {.transpose_b = true}); },
      [](A x) { const Array q = orthogonal_factor(x[0]); return times(q, flipped(q)); }, {-1, 1}, apart, none, 20},
    {"lq", "3x3;4x2;2x4", [](X x) { return lq(x[0]).l; }, [](A x) { return flipped(upper_factor(flipped(x[0]))); }, {-1, 1}, apart, none, 20},
    {"lq", "3x3;4x2;2x4", [](X x) { return lq(x[0]).q; }, [](A x) { return flipped(orthogonal_factor(flipped(x[0]))); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3;1x1;2x3x3", [](X x) { return eigh(symmetric(x[0])).eigenvalues; }, [](A x) { return each(x[0], eigenvalues); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3;1x1;2x3x3", [](X x) { return abs(eigh(symmetric(x[0]), {.lower = false}).eigenvectors); }, [](A x) { return each(x[0], eigenvectors); }, {-1, 1}, apart, none, 20},
    {"eigh", "3x3,3x3", [](X x) { return eigh(x[0], symmetric(x[1])).eigenvalues; },
      [](A x) { const Array l = cholesky_of(x[1]); return eigenvalues(flipped(solved(l, flipped(solved(l, symmetrised(x[0])))))); }, {-1, 1}, pencil, none, 100},
    {"eigvalsh", "3x3;1x1;2x3x3", [](X x) { return eigvalsh(symmetric(x[0])); }, [](A x) { return each(x[0], eigenvalues); }, {-1, 1}, apart, none, 20},
    {"eigh_tridiagonal", "4,3", [](X x) { return eigh_tridiagonal(x[0], x[1]).eigenvalues; }, [](A x) { return eigen(tridiagonal(x)).values; }, {-1, 1}, apart, none, 20},
    {"eig", "3x3;1x1;2x3x3", [](X x) { const auto [w, v] = eig(x[0]); return real(matmul(v * expand_dims(w * w, -2), inverse(v))); },
      [](A x) { return each(x[0], [](const Array& m) { return times(m, m); }); }, {-1, 1}, apart, by_complex, 200},
    {"eigvals", "3x3;1x1;2x3x3", [](X x) { const Tensor w = eigvals(x[0]); return real(sum(w * w, -1)); },
      [](A x) { return each(x[0], [](const Array& m) { const Array p = times(m, m); Array t{{}, {0}}; for (std::int64_t i = 0; i < last(p); ++i) t.values[0] += at(p, {i, i}); return t; }); }, {-1, 1}, apart, by_complex, 200},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return svd(x[0]).s; }, [](A x) { return each(x[0], singular_values); }, {-1, 1}, apart, none, 20},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return abs(svd(x[0]).u); }, [](A x) { return each(x[0], left_vectors); }, {-1, 1}, apart, none, 20},
    {"svd", "3x3;4x2;2x4;2x3x2", [](X x) { return abs(svd(x[0]).vh); }, [](A x) { return each(x[0], right_vectors); }, {-1, 1}, apart, none, 20},
    {"svdvals", "3x3;4x2;2x4;2x3x2", [](X x) { return svdvals(x[0]); }, [](A x) { return each(x[0], singular_values); }, {-1, 1}, apart, none, 20},
    {"lu_factor", "3x3;4x2;2x4;2x3x2", [](X x) { return lu_factor(flip(x[0], -2)).lu; }, [](A x) { return each(x[0], [](const Array& m) { return packed_factors(build(m.shape, [&](const Index& i) { return at(m, {m.shape[0] - 1 - i[0], i[1]}); })); }); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2;2x4", [](X x) { return lu(x[0]).l; }, [](A x) { return lower_of(x[0]); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2;2x4", [](X x) { return lu(x[0]).u; }, [](A x) { return upper_of(x[0]); }, {-1, 1}, apart, none, 20},
    {"lu", "3x3;4x2", [](X x) { return lu(x[0]).p; }, [](A x) { return permutation_of(x[0]); }, {-1, 1}, apart, constant, 1},
    {"lu_solve", "3x3,3x2;3x3,3;2x3x3,2x3x2;2x3x3,3x2;2x3x3,3", [](X x) { return lu_solve(lu_factor(flip(x[0], -2)), flip(x[1], x[1].shape().back() == 2 ? -2 : -1)); }, [](A x) { return solved(x[0], x[1]); }, {-1, 1}, apart, none, 20},
    {"cholesky_solve", "3x3,3x2;3x3,3;2x3x3,3x2;2x2x2,2x2;2x3x3,3", [](X x) { return cholesky_solve(x[0], x[1]); }, [](A x) { return solved(gram(x[0]), x[1]); }, {-1, 1}, positive, none, 20},
    {"cholesky_inverse", "3x3;2x3x3", [](X x) { return cholesky_inverse(x[0]); }, [](A x) { return each(gram(x[0]), [](const Array& m) { return solved(m, unit(last(m))); }); }, {-1, 1}, positive, none, 20},
    {"cholesky_update", "3x3,3;1x1,1;2x3x3,2x3;2x3x3,3", [](X x) { return cholesky_update(x[0], x[1]); }, [](A x) { return updated(x[0], x[1], 1); }, {-1, 1}, positive, none, 20},
    {"cholesky_update", "3x3,3;2x3x3,2x3", [](X x) { return cholesky_update(x[0], x[1], true); }, [](A x) { return updated(x[0], x[1], -1); }, {-0.8, 0.8}, positive, none, 20},
    {"pinv", "3x3;4x2;2x4;2x3x2", [](X x) { return pinv(x[0]); }, [](A x) { return each(x[0], pseudoinverse); }, {-1, 1}, apart, none, 20},
    {"lstsq", "3x3,3x2;4x2,4;2x4,2x2;2x3x2,2x3x1", [](X x) { return lstsq(x[0], x[1]); }, [](A x) { return least_squares(x[0], x[1]); }, {-1, 1}, apart, none, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> factorisations() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
