// <reel/linalg/factorisations.hpp> by textbook algorithms on jets: reflections, elimination, rotations. Of spectra,
// values and squares of vectors are compared. Operands have gaps between their eigenvalues.
#include <cmath>
#include <reel/linalg.hpp>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Matrices = std::vector<Matrix>;

Matrix made(std::size_t rows, std::size_t columns) { return Matrix(rows, std::vector<Jet>(columns)); }
std::size_t width(const Matrix& a) { return a.empty() ? 0 : a[0].size(); }
Matrix transposed(const Matrix& a) {
  Matrix t = made(width(a), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < width(a); ++j) t[j][i] = a[i][j];
  return t;
}
Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c = made(a.size(), width(b));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < width(b); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}
Matrix squares(Matrix a) {
  for (auto& row : a)
    for (Jet& x : row) x = x * x;
  return a;
}
Matrix solved(const Matrix& a, const Matrix& b) {
  Jet determinant;
  return eliminate(a, b, determinant);
}
// The first rows and columns.
Matrix leading(const Matrix& a, std::size_t rows, std::size_t columns) {
  Matrix c = made(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) c[i][j] = a[i][j];
  return c;
}

// The triangle that reflections leave, with LAPACK's signs.
Matrix upper_factor(Matrix a) {
  const std::size_t m = a.size(), n = width(a);
  for (std::size_t j = 0; j + 1 < m && j < n; ++j) {
    Jet below;
    for (std::size_t i = j + 1; i < m; ++i) below += a[i][j] * a[i][j];
    const Jet norm = a[j][j] * a[j][j] + below;
    if (norm.v[0] < 0.01L || std::fabs(a[j][j].v[0]) < 1e-3L) throw Unfit();
    if (below.v[0] == 0) throw Unfit();  // LAPACK leaves such a column, with the other sign than beside it
    std::vector<Jet> v;
    for (std::size_t i = j; i < m; ++i) v.push_back(a[i][j]);
    v[0] = v[0].v[0] < 0 ? v[0] - sqrt(norm) : v[0] + sqrt(norm);
    Jet square;
    for (const Jet& x : v) square += x * x;
    for (std::size_t c = 0; c < n; ++c) {
      Jet inner;
      for (std::size_t i = j; i < m; ++i) inner += v[i - j] * a[i][c];
      for (std::size_t i = j; i < m; ++i) a[i][c] = a[i][c] - Jet(2) * inner / square * v[i - j];
    }
  }
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < std::min(i, n); ++j) a[i][j] = Jet(0);
  return a;
}
Matrices qr_of(const Matrix& a, const Matrix&) {
  const Matrix r = upper_factor(a);
  return {transposed(solved(transposed(r), transposed(a))), r};
}
Matrices lq_of(const Matrix& a, const Matrix& b) {
  const Matrices qr = qr_of(transposed(a), b);
  return {transposed(qr[1]), transposed(qr[0])};
}

// L and U in one matrix. Near ties of pivots are rejected, because the other pivot gives another program.
Matrix packed_lu(Matrix a) {
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::fabs(a[i][k].v[0]) > std::fabs(a[pivot][k].v[0])) pivot = i;
    if (std::fabs(a[pivot][k].v[0]) < 0.02L) throw Unfit();
    for (std::size_t i = k; i < n; ++i)
      if (i != pivot && std::fabs(a[pivot][k].v[0]) - std::fabs(a[i][k].v[0]) < 1e-4L) throw Unfit();
    std::swap(a[k], a[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      a[i][k] = a[i][k] / a[k][k];
      for (std::size_t j = k + 1; j < n; ++j) a[i][j] = a[i][j] - a[i][k] * a[k][j];
    }
  }
  return a;
}
Matrices lu_of(const Matrix& a, const Matrix&) {
  Matrix l = packed_lu(a), u = l;
  for (std::size_t i = 0; i < l.size(); ++i)
    for (std::size_t j = 0; j < l.size(); ++j)
      if (j >= i)
        l[i][j] = Jet(i == j);
      else
        u[i][j] = Jet(0);
  return {l, u};
}

Matrix gram(const Matrix& a) {
  Matrix l = a;
  for (std::size_t i = 0; i < l.size(); ++i)
    for (std::size_t j = i + 1; j < l.size(); ++j) l[i][j] = Jet(0);
  return times(l, transposed(l));
}

Matrix cholesky_of(const Matrix& a) {
  Matrix l = made(a.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      Jet sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum = sum - l[i][k] * l[j][k];
      if (i == j && sum.v[0] < 0.01L) throw Unfit();
      l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
    }
  return l;
}

// a becomes diagonal, by rotations whose product is v.
void rotate(Matrix& a, Matrix& v) {
  const std::size_t n = a.size();
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q) {
      const Jet gap = a[q][q] - a[p][p], beside = a[p][q];
      const Jet root = sqrt(gap * gap + Jet(4) * beside * beside);
      const Jet t = Jet(2) * beside / (gap.v[0] < 0 ? gap - root : gap + root);
      const Jet c = Jet(1) / sqrt(Jet(1) + t * t), s = t * c;
      const auto turn = [&](Jet& x, Jet& y) {
        const Jet old = x;
        x = c * x - s * y;
        y = s * old + c * y;
      };
      for (std::size_t k = 0; k < n; ++k) turn(a[k][p], a[k][q]), turn(v[k][p], v[k][q]);
      for (std::size_t k = 0; k < n; ++k) turn(a[p][k], a[q][k]);
    }
}

// Eigenvalues, as a row, and eigenvectors of a symmetric matrix, ascending: first of the numbers alone, then of what
// that leaves of the jets, by angles without a constant term.
Matrices eigen(const Matrix& a) {
  const std::size_t n = a.size();
  Matrix numbers = a, v = unit_matrix(n);
  {
    const Exactly exactly;
    for (auto& row : numbers)
      for (Jet& x : row) x = Jet(x.v[0]);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (i != j && numbers[i][j].v[0] == 0) numbers[i][j].v[0] = 1e-25L;
    for (int sweep = 0; sweep < 12; ++sweep) {
      rotate(numbers, v);
      for (auto* m : {&numbers, &v})
        for (auto& row : *m)
          for (Jet& x : row) x = Jet(x.v[0] == 0 ? 1e-300L : x.v[0]);
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return numbers[i][i].v[0] < numbers[j][j].v[0]; });
  Matrix sorted = made(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) sorted[i][j] = v[i][order[j]];
  for (std::size_t i = 1; i < n; ++i)
    if (numbers[order[i]][order[i]].v[0] - numbers[order[i - 1]][order[i - 1]].v[0] < 0.1L) throw Unfit();
  Matrix rest = times(transposed(sorted), times(a, sorted));
  for (int sweep = 0; sweep < 4; ++sweep) rotate(rest, sorted);
  Matrix values = made(1, n);
  for (std::size_t i = 0; i < n; ++i) values[0][i] = rest[i][i];
  return {values, sorted};
}
Matrix symmetrised(const Matrix& a) {
  Matrix s = a;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) s[i][j] = Jet(0.5L) * (a[i][j] + a[j][i]);
  return s;
}
Matrices eigh_of(const Matrix& a, const Matrix&) {
  const Matrices e = eigen(symmetrised(a));
  return {e[0], squares(e[1])};
}
Matrices tridiagonal_of(const Matrix& a, const Matrix&) {
  Matrix t = made(a.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    t[i][i] = a[i][i];
    if (i > 0) t[i - 1][i] = t[i][i - 1] = a[i - 1][i];
  }
  return {eigen(t)[0]};
}
// Of a symmetric matrix: the function asks for conditions that its vectors meet.
Matrices square_of(const Matrix& a, const Matrix&) {
  static_cast<void>(eigen(symmetrised(a)));
  return {times(a, a)};
}
Matrices trace_of_square(const Matrix& a, const Matrix& b) {
  const Matrix p = square_of(a, b)[0];
  Matrix t = made(1, 1);
  for (std::size_t i = 0; i < p.size(); ++i) t[0][0] += p[i][i];
  return {t};
}

Matrices svd_of(const Matrix& a, const Matrix&) {
  const Matrices e = eigen(times(transposed(a), a));
  const std::size_t n = a.size();
  if (n > 0 && e[0][0][0].v[0] < 0.04L) throw Unfit();
  Matrix s = made(1, n), v = made(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    s[0][i] = sqrt(e[0][0][n - 1 - i]);
    for (std::size_t k = 0; k < n; ++k) v[k][i] = e[1][k][n - 1 - i];
  }
  Matrix u = times(a, v);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) u[k][i] = u[k][i] / s[0][i];
  return {squares(u), s, transposed(squares(v))};
}

// Of all but the last column.
std::size_t fewer(std::size_t n) { return n > 1 ? n - 1 : n; }
Matrices pinv_of(const Matrix& a, const Matrix&) {
  const Matrix x = leading(a, a.size(), fewer(a.size())), t = transposed(x);
  return {solved(times(t, x), t)};
}
Matrices lstsq_of(const Matrix& a, const Matrix& b) { return {times(pinv_of(a, b)[0], b)}; }
Tensor without_last(const Operand& operand) {
  const Tensor a = reel::identity(operand);
  const auto n = static_cast<std::int64_t>(fewer(static_cast<std::size_t>(a.shape().back())));
  return reel::slice(a, {reel::ellipsis, reel::range_from(0), reel::range(0, n)});
}
Tensor row(const Tensor& x) { return reel::expand_dims(x, -2); }

enum class Wants { square, symmetric, square_and_sides };
struct Row {
  const char* name;
  Wants wants;
  Matrices (*eval)(const Matrix& a, const Matrix& b);
  std::vector<Tensor> (*call)(const Operands& a);
};
const Row rows[] = {
    {"qr", Wants::square, qr_of,
     [](const Operands& a) {
       const auto [q, r] = reel::qr(a[0]);
       return std::vector{q, r};
     }},
    {"lq", Wants::square, lq_of,
     [](const Operands& a) {
       const auto [l, q] = reel::lq(a[0]);
       return std::vector{l, q};
     }},
    {"lu_factor", Wants::square, [](const Matrix& a, const Matrix&) { return Matrices{packed_lu(a)}; },
     [](const Operands& a) { return std::vector{reel::lu_factor(a[0]).lu}; }},
    {"lu", Wants::square, lu_of,
     [](const Operands& a) {
       const reel::Lu f = reel::lu(a[0]);
       return std::vector{f.l, f.u};
     }},
    {"lu_solve", Wants::square_and_sides,
     [](const Matrix& a, const Matrix& b) {
       static_cast<void>(packed_lu(a));
       return Matrices{solved(a, b)};
     },
     [](const Operands& a) { return std::vector{reel::lu_solve(reel::lu_factor(a[0]), a[1])}; }},
    {"cholesky_solve", Wants::square_and_sides,
     [](const Matrix& a, const Matrix& b) { return Matrices{solved(gram(a), b)}; },
     [](const Operands& a) { return std::vector{reel::cholesky_solve(a[0], a[1])}; }},
    {"cholesky_inverse", Wants::square,
     [](const Matrix& a, const Matrix&) { return Matrices{solved(gram(a), unit_matrix(a.size()))}; },
     [](const Operands& a) { return std::vector{reel::cholesky_inverse(a[0])}; }},
    {"cholesky_update", Wants::square_and_sides,
     [](const Matrix& a, const Matrix& b) {
       Matrix sum = gram(a);
       for (std::size_t i = 0; i < sum.size(); ++i)
         for (std::size_t j = 0; j < sum.size(); ++j) sum[i][j] += b[i][0] * b[j][0];
       return Matrices{cholesky_of(sum)};
     },
     [](const Operands& a) {
       return std::vector{reel::cholesky_update(a[0], reel::slice(reel::identity(a[1]), {reel::ellipsis, 0}))};
     }},
    {"matrix_norm", Wants::square,
     [](const Matrix& a, const Matrix& b) {
       const Matrix s = svd_of(a, b)[1];
       Matrix y = made(1, 2);
       y[0][0] = s[0][0];
       for (const Jet& x : s[0]) y[0][1] += x;
       return Matrices{y};
     },
     [](const Operands& a) {
       return std::vector{reel::concatenate({reel::matrix_norm(a[0], reel::MatrixNorm::spectral, true),
                                             reel::matrix_norm(a[0], reel::MatrixNorm::nuclear, true)},
                                            -1)};
     }},
    {"cond", Wants::square,
     [](const Matrix& a, const Matrix& b) {
       const Matrix s = svd_of(a, b)[1];
       Matrix y = made(1, 2);
       y[0][0] = s[0][0] / s[0].back();
       Jet squares_of, inverses;
       for (const Jet& x : s[0]) squares_of += x * x, inverses += Jet(1) / (x * x);
       y[0][1] = sqrt(squares_of * inverses);
       return Matrices{y};
     },
     [](const Operands& a) {
       const Tensor both[] = {reel::cond(a[0]), reel::cond(a[0], reel::MatrixNorm::frobenius)};
       return std::vector{row(reel::stack(both, -1))};
     }},
    {"eigh", Wants::symmetric, eigh_of,
     [](const Operands& a) {
       const auto [w, v] = reel::eigh(a[0]);
       return std::vector{row(w), reel::square(v)};
     }},
    {"eigvalsh", Wants::symmetric, [](const Matrix& a, const Matrix& b) { return Matrices{eigh_of(a, b)[0]}; },
     [](const Operands& a) { return std::vector{row(reel::eigvalsh(a[0]))}; }},
    {"eigh_tridiagonal", Wants::square, tridiagonal_of,
     [](const Operands& a) {
       const Tensor x = reel::identity(a[0]);
       return std::vector{row(reel::eigh_tridiagonal(reel::diagonal(x), reel::diagonal(x, 1)).eigenvalues)};
     }},
    {"eig", Wants::symmetric, square_of,
     [](const Operands& a) {
       const auto [w, v] = reel::eig(a[0]);
       return std::vector{reel::real(reel::matmul(v * row(w * w), reel::inverse(v)))};
     }},
    {"eigvals", Wants::symmetric, trace_of_square,
     [](const Operands& a) {
       const Tensor w = reel::eigvals(a[0]);
       return std::vector{row(reel::real(reel::sum(w * w, -1, true)))};
     }},
    {"svd", Wants::square, svd_of,
     [](const Operands& a) {
       const auto [u, s, vh] = reel::svd(a[0]);
       return std::vector{reel::square(u), row(s), reel::square(vh)};
     }},
    {"svdvals", Wants::square, [](const Matrix& a, const Matrix& b) { return Matrices{svd_of(a, b)[1]}; },
     [](const Operands& a) { return std::vector{row(reel::svdvals(a[0]))}; }},
    {"pinv", Wants::square, pinv_of, [](const Operands& a) { return std::vector{reel::pinv(without_last(a[0]))}; }},
    {"lstsq", Wants::square_and_sides, lstsq_of,
     [](const Operands& a) { return std::vector{reel::lstsq(without_last(a[0]), a[1])}; }},
};

// Factors have the rounding errors of a's dtype, which that of the result does not tell.
bool factors_first(const Row& r) { return std::string(r.name) == "lu_solve"; }

void add(std::vector<Op>& t, const Row& r) {
  Op o;
  o.name = r.name;
  o.weight = 0.6;
  o.make = [&r](Maker& m, Statement& s) {
    const int a = square_matrix(m, r.wants == Wants::symmetric);
    if (a < 0) return false;
    s.args = {Maker::arg(a)};
    if (r.wants != Wants::square_and_sides) return true;
    Extents shape = m.at(a).shape;
    shape.back() = m.between(1, 2);
    const int b = value_like(m, shape);
    s.args.push_back(Maker::arg(b));
    return b >= 0;
  };
  o.eval = [&r](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = factor_dtype(in);
    const Array& a = *in[0];
    if (batches(a) == 0) throw Unfit();  // nothing says how many results there are
    if (factors_first(r) && in[1]->dtype != a.dtype) throw Unfit();
    if (in.size() == 2 && (in[1]->rank() != a.rank() || batches(*in[1]) != batches(a))) throw Unfit();
    for (std::int64_t b = 0; b < batches(a); ++b) {
      Matrices results = r.eval(matrix(a, b), in.size() == 2 ? matrix(*in[1], b) : Matrix());
      for (std::size_t k = 0; k < results.size(); ++k) {
        if (b == 0) {
          Extents shape(a.shape.begin(), a.shape.end() - 2);
          shape.push_back(static_cast<std::int64_t>(results[k].size()));
          shape.push_back(static_cast<std::int64_t>(width(results[k])));
          out.emplace_back(d, shape);
        }
        for (int times_settled = 0; times_settled < 16; ++times_settled) settle(results[k]);
        store(results[k], out[k], b);
      }
    }
  };
  o.call = [&r](const Statement&, const Operands& a, std::vector<Tensor>& out) { out = r.call(a); };
  t.push_back(std::move(o));
}

}  // namespace

void add_decompositions(std::vector<Op>& t) {
  for (const Row& r : rows) add(t, r);
}

}  // namespace random_programs
