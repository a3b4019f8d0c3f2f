// Banded and Toeplitz systems, and products, as dense ones; products of reflectors; sparse matrices as dense ones.
#include <map>
#include <reel/linalg.hpp>
#include <reel/sparse.hpp>

#include "jet_matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;

// The dense matrix of operands of n elements each; the first operand is the main diagonal.
using Dense = Matrix (*)(const Inputs& in, std::size_t n);

Matrix banded(const Inputs& in, std::size_t n) {
  Matrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i <= j + 1 && j <= i + 1) a[i][j] = (*in[0])[static_cast<std::int64_t>((1 + i - j) * n + j)].re;
  return a;
}
Matrix lower_bidiagonal(const Inputs& in, std::size_t n) {
  Matrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i][i] = (*in[0])[static_cast<std::int64_t>(i)].re;
    if (i + 1 < n) a[i + 1][i] = (*in[0])[static_cast<std::int64_t>(n + i)].re;
  }
  return a;
}
Matrix tridiagonal(const Inputs& in, std::size_t n) {
  Matrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    a[i][i] = (*in[1])[at].re;
    if (i + 1 < n) a[i + 1][i] = (*in[0])[at].re, a[i][i + 1] = (*in[2])[at].re;
  }
  return a;
}
Matrix toeplitz_of(const Inputs& in, std::size_t n) {
  Matrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      a[i][j] = i >= j ? (*in[0])[static_cast<std::int64_t>(i - j)].re : (*in[1])[static_cast<std::int64_t>(j - i)].re;
  return a;
}

// A value plus this constant.
int raised(Maker& m, const Extents& shape, const std::vector<double>& by) {
  const int x = real_value(m, shape), e = x < 0 ? -1 : m.input_of(m.at(x).dtype, shape, by);
  return e < 0 ? -1 : m.emit("add", {Maker::arg(x), Maker::arg(e)});
}

void add(std::vector<Op>& t, const char* name, std::function<std::vector<int>(Maker&, std::int64_t)> operands,
         Dense dense, std::function<void(const Operands&, std::vector<Tensor>&)> call, bool product = false) {
  Op o;
  o.name = name;
  o.make = [operands](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 3);
    for (const int x : operands(m, n)) {
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    const int b = real_value(m, m.chance(0.5) ? Extents{n} : Extents{n, 2});
    s.args.push_back(Maker::arg(b));
    return b >= 0;
  };
  o.eval = [dense, product](const Statement&, const Inputs& in, Arrays& out) {
    Array b = *in.back(), y(real_dtype(in), b.shape);
    const auto n = static_cast<std::size_t>(b.shape[0]);
    if (b.rank() == 1) b.shape.push_back(1);
    const Matrix a = dense(in, n);
    if (!product) require_dominant(a, 0.5L);
    Matrix x = jet_matrix(0, 0);
    {
      const Exactly exactly;
      x = product ? a * matrix(b) : solved(a, matrix(b));
    }
    settle(x, 100);
    store(x, y);
    out.push_back(std::move(y));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { call(a, out); };
  t.push_back(std::move(o));
}

// Of matrices with one diagonal below the main one.
void add_banded_cholesky(std::vector<Op>& t) {
  Op o;
  o.name = "banded_cholesky";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 3);
    std::vector<double> by(static_cast<std::size_t>(2 * n));
    std::fill_n(by.begin(), n, 6.0);
    const int a = raised(m, {2, n}, by);
    s.args.push_back(Maker::arg(a));
    return a >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const Array& a = *in[0];
    Array y(real_dtype(in), a.shape);
    const std::int64_t n = a.shape[1];
    Matrix l = jet_matrix(2, static_cast<std::size_t>(n));
    {
      const Exactly exactly;
      for (std::int64_t j = 0; j < n; ++j) {
        const auto k = static_cast<std::size_t>(j);
        Jet pivot = a[j].re;
        if (j > 0) pivot = pivot - l[1][k - 1] * l[1][k - 1];
        if (!(pivot.v[0] > 0.5L)) throw Unfit();
        l[0][k] = sqrt(pivot);
        if (j + 1 < n) l[1][k] = a[n + j].re / l[0][k];
      }
    }
    settle(l, 100);
    store(l, y);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::banded_cholesky(a[0]));
  };
  t.push_back(std::move(o));
}

void add_householder_product(std::vector<Op>& t) {
  Op o;
  o.name = "householder_product";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = real_value(m, {m.between(2, 3), n}), tau = a < 0 ? -1 : real_value(m, {n});
    s.args = {Maker::arg(a), Maker::arg(tau)};
    return tau >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(real_dtype(in), in[0]->shape);
    const auto m = static_cast<std::size_t>(y.shape[0]), n = static_cast<std::size_t>(y.shape[1]);
    Matrix v = matrix(*in[0]), q = jet_matrix(m, n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (i <= j) v[i][j] = Jet(i == j ? 1 : 0);
        q[i][j] = Jet(i == j ? 1 : 0);
        if (std::fabs(v[i][j].v[0]) > 4) throw Unfit();
      }
    for (std::size_t r = n; r-- > 0;)
      for (std::size_t j = 0; j < n; ++j) {
        Jet along(0);
        for (std::size_t i = r; i < m; ++i) along = along + v[i][r] * q[i][j];
        along = along * (*in[1])[static_cast<std::int64_t>(r)].re;
        for (std::size_t i = r; i < m; ++i) q[i][j] = q[i][j] - along * v[i][r];
      }
    settle(q, 40);
    store(q, y);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::householder_product(a[0], a[1]));
  };
  t.push_back(std::move(o));
}

// ---- Sparse matrices [3, 3]. ints: the positions of each pattern, as bits in row-major order.

constexpr std::int64_t side = 3;
using Positions = std::vector<std::pair<std::size_t, std::size_t>>;
Positions positions_of(std::int64_t bits) {
  Positions all;
  for (std::int64_t k = 0; k < side * side; ++k)
    if (bits >> k & 1) all.emplace_back(k / side, k % side);
  return all;
}
// Patterns are made before functions are traced.
const reel::SparsityPattern& pattern_of(std::int64_t bits) {
  static std::map<std::int64_t, reel::SparsityPattern> made;
  const auto found = made.find(bits);
  if (found != made.end()) return found->second;
  std::vector<std::int64_t> rows, columns;
  for (const auto& [i, j] : positions_of(bits)) {
    rows.push_back(static_cast<std::int64_t>(i));
    columns.push_back(static_cast<std::int64_t>(j));
  }
  const reel::Shape count{static_cast<std::int64_t>(rows.size())};
  return made[bits] = reel::coo_to_csr(reel::from_data(rows, count), reel::from_data(columns, count), {side, side});
}
Matrix scattered(const Array& values, std::int64_t bits) {
  Matrix a = jet_matrix(side, side);
  std::int64_t k = 0;
  for (const auto& [i, j] : positions_of(bits)) a[i][j] = values[k++].re;
  return a;
}
Matrix gathered(const Matrix& a, std::int64_t bits) {
  Matrix y = jet_matrix(1, 0);
  for (const auto& [i, j] : positions_of(bits)) y[0].push_back(a[i][j]);
  return y;
}
// The positions that products of elements reach.
std::int64_t product_bits(std::int64_t a, std::int64_t b) {
  std::int64_t bits = 0;
  for (const auto& [i, k] : positions_of(a))
    for (const auto& [l, j] : positions_of(b))
      if (k == l) bits |= std::int64_t{1} << (i * side + j);
  return bits;
}
Matrix flipped(const Matrix& a) {
  Matrix y = jet_matrix(a[0].size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) y[j][i] = a[i][j];
  return y;
}
std::int64_t flipped_bits(std::int64_t bits) {
  std::int64_t y = 0;
  for (const auto& [i, j] : positions_of(bits)) y |= std::int64_t{1} << (j * side + i);
  return y;
}
Matrix softmax_of(const Matrix& a, std::int64_t bits) {
  Matrix y = jet_matrix(side, side);
  std::vector<Jet> total(side);
  for (const auto& [i, j] : positions_of(bits)) total[i] = total[i] + (y[i][j] = exp(a[i][j]));
  for (const auto& [i, j] : positions_of(bits)) y[i][j] = y[i][j] / total[i];
  return y;
}
Matrix ones_row() { return {{Jet(1), Jet(1), Jet(1)}}; }

using reel::Csr;
enum class Second { none, values, columns, matrix };  // of the shape [nonzeros], [3, 2], [3, 3]
struct SparseOp {
  const char* name;
  Second second;
  bool solves;
  Matrix (*eval)(const Matrix& a, const Matrix& b, const std::vector<std::int64_t>& bits);
  Tensor (*call)(const Csr& a, const Tensor& b, const std::vector<std::int64_t>& bits);
};
using Bits = const std::vector<std::int64_t>&;
using M = const Matrix&;
const SparseOp sparse_ops[] = {
    {"csr_matmul", Second::columns, false, [](M a, M b, Bits) { return a * b; },
     [](const Csr& a, const Tensor& b, Bits) { return reel::csr_matmul(a.values, a.pattern, b); }},
    {"csr_matmul of the transpose", Second::columns, false, [](M a, M b, Bits) { return flipped(a) * b; },
     [](const Csr& a, const Tensor& b, Bits) { return reel::csr_matmul(a.values, a.pattern, b, true); }},
    {"csr_solve", Second::columns, true, [](M a, M b, Bits) { return solved(a, b); },
     [](const Csr& a, const Tensor& b, Bits) { return reel::csr_solve(a.values, a.pattern, b); }},
    {"sampled_matmul", Second::matrix, false, [](M a, M b, Bits k) { return gathered(a * b, k[0]); },
     [](const Csr& a, const Tensor& b, Bits) { return reel::sampled_matmul(a.pattern, reel::to_dense(a), b); }},
    {"to_csr", Second::matrix, false, [](M a, M b, Bits k) { return gathered(sum_of(a, 1, b), k[1]); },
     [](const Csr& a, const Tensor& b, Bits k) {
       return reel::to_csr(reel::to_dense(a) + b, pattern_of(k[1])).values;
     }},
    {"add of sparse matrices", Second::values, false,
     [](M a, M b, Bits k) { return gathered(sum_of(a, 1, b), k[0] | k[1]); },
     [](const Csr& a, const Tensor& b, Bits k) {
       return reel::add(a, Csr{pattern_of(k[1]), b}).values;
     }},
    {"matmul of sparse matrices", Second::values, false,
     [](M a, M b, Bits k) { return gathered(a * b, product_bits(k[0], k[1])); },
     [](const Csr& a, const Tensor& b, Bits k) {
       return reel::matmul(a, Csr{pattern_of(k[1]), b}).values;
     }},
    {"transpose of a sparse matrix", Second::none, false,
     [](M a, M, Bits k) { return gathered(flipped(a), flipped_bits(k[0])); },
     [](const Csr& a, const Tensor&, Bits) { return reel::transpose(a).values; }},
    {"softmax of a sparse matrix", Second::none, false,
     [](M a, M, Bits k) { return gathered(softmax_of(a, k[0]), k[0]); },
     [](const Csr& a, const Tensor&, Bits) { return reel::softmax(a).values; }},
    {"sum of a sparse matrix", Second::none, false, [](M a, M, Bits) { return ones_row() * a; },
     [](const Csr& a, const Tensor&, Bits) { return reel::sum(a, 0); }},
};

std::int64_t drawn_bits(Maker& m, bool with_diagonal) {
  const std::int64_t bits = m.between(1, (1 << side * side) - 1) | (with_diagonal ? 0b100010001 : 0);
  pattern_of(bits);
  return bits;
}
std::int64_t bit_count(std::int64_t bits) { return static_cast<std::int64_t>(positions_of(bits).size()); }

bool make_sparse(const SparseOp& f, Maker& m, Statement& s) {
  s.ints = {drawn_bits(m, f.solves), drawn_bits(m, false)};
  std::vector<double> by;
  for (const auto& [i, j] : positions_of(s.ints[0])) by.push_back(i == j ? 5 : 0);
  const Extents nonzeros{bit_count(s.ints[0])};
  const int a = f.solves ? raised(m, nonzeros, by) : real_value(m, nonzeros);
  if (a < 0) return false;
  s.args = {Maker::arg(a)};
  if (f.second == Second::none) return true;
  const int b = real_value(m, f.second == Second::values    ? Extents{bit_count(s.ints[1])}
                              : f.second == Second::columns ? Extents{side, 2}
                                                            : Extents{side, side});
  s.args.push_back(Maker::arg(b));
  return b >= 0;
}

void eval_sparse(const SparseOp& f, const Statement& s, const Inputs& in, Arrays& out) {
  const DType d = real_dtype(in);
  const Matrix a = scattered(*in[0], s.ints[0]);
  if (f.solves) require_dominant(a, 0.5L);
  const Matrix b = f.second == Second::none     ? jet_matrix(0, 0)
                   : f.second == Second::values ? scattered(*in[1], s.ints[1])
                                                : matrix(*in[1]);
  Matrix x = jet_matrix(0, 0);
  if (f.solves) {
    const Exactly exactly;
    x = f.eval(a, b, s.ints);
  } else {
    x = f.eval(a, b, s.ints);  // terms may cancel: those of a softmax of one element all do
  }
  settle(x, 100);
  const auto rows = static_cast<std::int64_t>(x.size()), columns = static_cast<std::int64_t>(x[0].size());
  Array y(d, rows == 1 ? Extents{columns} : Extents{rows, columns});
  store(x, y);
  out.push_back(std::move(y));
}

void add_sparse_matrices(std::vector<Op>& t) {
  for (const SparseOp& f : sparse_ops) {
    Op o;
    o.name = f.name;
    o.make = [&f](Maker& m, Statement& s) { return make_sparse(f, m, s); };
    o.eval = [&f](const Statement& s, const Inputs& in, Arrays& out) { eval_sparse(f, s, in, out); };
    o.call = [&f](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const Csr matrix{pattern_of(s.ints[0]), a.tensor(0)};
      out.push_back(f.call(matrix, f.second == Second::none ? Tensor() : a.tensor(1), s.ints));
    };
    t.push_back(std::move(o));
  }
}

}  // namespace

void add_structured_systems(std::vector<Op>& t) {
  add(
      t, "banded_solve",
      [](Maker& m, std::int64_t n) {
        std::vector<double> by(static_cast<std::size_t>(3 * n));
        std::fill_n(by.begin() + n, n, 6.0);
        return std::vector<int>{raised(m, {3, n}, by)};
      },
      banded, [](const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::banded_solve(a[0], 1, 1, a[1])); });
  add(
      t, "banded_triangular_solve",
      [](Maker& m, std::int64_t n) {
        std::vector<double> by(static_cast<std::size_t>(2 * n));
        std::fill_n(by.begin(), n, 6.0);
        return std::vector<int>{raised(m, {2, n}, by)};
      },
      lower_bidiagonal,
      [](const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::banded_triangular_solve(a[0], a[1])); });
  add_banded_cholesky(t);
  add_sparse_matrices(t);
  add_householder_product(t);
  add(
      t, "tridiagonal_solve",
      [](Maker& m, std::int64_t n) {
        const std::vector<double> by(static_cast<std::size_t>(n), 6.0);
        const int lower = real_value(m, {n - 1}), diagonal = lower < 0 ? -1 : raised(m, {n}, by);
        return std::vector<int>{lower, diagonal, diagonal < 0 ? -1 : real_value(m, {n - 1})};
      },
      tridiagonal,
      [](const Operands& a, std::vector<Tensor>& out) {
        out.push_back(reel::tridiagonal_solve(a[0], a[1], a[2], a[3]));
      });
  add(
      t, "tridiagonal_matmul",
      [](Maker& m, std::int64_t n) {
        const int lower = real_value(m, {n - 1}), diagonal = lower < 0 ? -1 : real_value(m, {n});
        return std::vector<int>{lower, diagonal, diagonal < 0 ? -1 : real_value(m, {n - 1})};
      },
      tridiagonal,
      [](const Operands& a, std::vector<Tensor>& out) {
        out.push_back(reel::tridiagonal_matmul(a[0], a[1], a[2], a[3]));
      },
      true);
  add(
      t, "toeplitz_solve",
      [](Maker& m, std::int64_t n) {
        std::vector<double> by(static_cast<std::size_t>(n));
        by[0] = 6;
        const int column = raised(m, {n}, by);
        return std::vector<int>{column, column < 0 ? -1 : real_value(m, {n})};
      },
      toeplitz_of,
      [](const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::toeplitz_solve(a[0], a[1], a[2])); });
}

}  // namespace random_programs
