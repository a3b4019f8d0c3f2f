// Banded and Toeplitz systems, and products, as dense ones; products of reflectors; sparse matrices as dense ones.
#include <map>
#include <reel/linalg.hpp>
#include <reel/sparse.hpp>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Ms = const std::vector<Matrix>&;

// A value plus this constant.
int raised(Maker& m, const Extents& shape, const std::vector<double>& by) {
  const int x = real_value(m, shape), e = x < 0 ? -1 : m.input_of(m.at(x).dtype, shape, by);
  return e < 0 ? -1 : m.emit("add", {Maker::arg(x), Maker::arg(e)});
}
// `rows` diagonals of which this one outweighs the others.
int raised_band(Maker& m, std::int64_t rows, std::int64_t row, std::int64_t n) {
  std::vector<double> by(at(rows * n));
  std::fill_n(by.begin() + row * n, n, 6.0);
  return raised(m, {rows, n}, by);
}
std::vector<int> three_diagonals(Maker& m, std::int64_t n, bool dominant) {
  const int lower = real_value(m, {n - 1});
  const int diagonal = lower < 0 ? -1 : dominant ? raised(m, {n}, std::vector<double>(at(n), 6.0)) : real_value(m, {n});
  return {lower, diagonal, diagonal < 0 ? -1 : real_value(m, {n - 1})};
}

// Operands but the last, for n equations.
using Draw = std::vector<int> (*)(Maker& m, std::int64_t n);
// The system of dense(operands but the last), or its product with the last operand, which may be a vector.
void add(std::vector<Op>& t, const char* name, Draw draw, Matrix (*dense)(Ms x), Call call, bool product = false) {
  const auto make = [draw](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 3);
    for (const int x : draw(m, n)) {
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    const int b = real_value(m, m.chance(0.5) ? Extents{n} : Extents{n, 2});
    s.args.push_back(Maker::arg(b));
    return b >= 0;
  };
  const auto reference = [dense, product](JetArrays x, const Statement&) {
    const ArrayOf<Jet>& b = x.back();
    const Matrix a = dense(std::vector<Matrix>(x.begin(), x.end() - 1));
    if (!product) require_dominant(a);
    const auto f = [product](MatrixRef m, MatrixRef right) { return product ? m * right : solved(m, right); };
    return ArrayOf<Jet>{b.shape, settling(f, 100, true)(a, Matrix(b)).values};
  };
  t.push_back(row_op<Jet>(name, make, real_dtype, reference, call));
}

void add_banded_cholesky(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    const int a = raised_band(m, 2, 0, m.between(1, 3));
    s.args.push_back(Maker::arg(a));
    return a >= 0;
  };
  t.push_back(row_op<Jet>(
      "banded_cholesky", make, real_dtype,
      [](JetArrays x, const Statement&) { return each(x[0], settling(banded_cholesky<Jet>, 100, true)); },
      REEL_CALL(reel::banded_cholesky(x[0]))));
}
void add_householder_product(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = real_value(m, {m.between(2, 3), n}), tau = a < 0 ? -1 : real_value(m, {n});
    s.args = {Maker::arg(a), Maker::arg(tau)};
    return tau >= 0;
  };
  t.push_back(row_op<Jet>(
      "householder_product", make, real_dtype,
      [](JetArrays x, const Statement&) {
        return each({x[0], x[1]}, {2, 1}, [](MatrixRef a, MatrixRef tau) {
          return settled(reflected(require_small(triangle(a, true, true), 4), tau.values), 40);
        });
      },
      REEL_CALL(reel::householder_product(x[0], x[1]))));
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
Matrix scattered(const RowOf<Jet>& values, std::int64_t bits) {
  Matrix a(side, side);
  std::size_t k = 0;
  for (const auto& [i, j] : positions_of(bits)) a[i][j] = values[k++];
  return a;
}
Matrix gathered(const Matrix& a, std::int64_t bits) {
  RowOf<Jet> y;
  for (const auto& [i, j] : positions_of(bits)) y.push_back(a[i][j]);
  return {1, y.size(), y};
}
// The positions that products of elements reach.
std::int64_t product_bits(std::int64_t a, std::int64_t b) {
  std::int64_t bits = 0;
  for (const auto& [i, k] : positions_of(a))
    for (const auto& [l, j] : positions_of(b))
      if (k == l) bits |= std::int64_t{1} << (i * side + j);
  return bits;
}
std::int64_t flipped_bits(std::int64_t bits) {
  std::int64_t y = 0;
  for (const auto& [i, j] : positions_of(bits)) y |= std::int64_t{1} << (j * side + i);
  return y;
}
Matrix softmax_of(const Matrix& a, std::int64_t bits) {
  Matrix y(side, side);
  RowOf<Jet> total(side);
  for (const auto& [i, j] : positions_of(bits)) total[i] = total[i] + (y[i][j] = exp(a[i][j]));
  for (const auto& [i, j] : positions_of(bits)) y[i][j] = y[i][j] / total[i];
  return y;
}
Matrix ones_row() { return {1, side, RowOf<Jet>(side, Jet(1))}; }

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
    {"csr_matmul of the transpose", Second::columns, false, [](M a, M b, Bits) { return transposed(a) * b; },
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
     [](M a, M, Bits k) { return gathered(transposed(a), flipped_bits(k[0])); },
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

ArrayOf<Jet> value_of_sparse(const SparseOp& f, JetArrays x, const Statement& s) {
  const Matrix a = scattered(x[0].values, s.ints[0]);
  if (f.solves) require_dominant(a);
  const Matrix b = f.second == Second::none     ? Matrix()
                   : f.second == Second::values ? scattered(x[1].values, s.ints[1])
                                                : Matrix(x[1]);
  // But for solutions, terms may cancel: those of a softmax of one element all do.
  const Matrix y = settling([&] { return f.eval(a, b, s.ints); }, 100, f.solves)();
  return y.rows == 1 ? cases::matrices::array_of(y.values) : cases::matrices::array_of(y);
}

void add_sparse_matrices(std::vector<Op>& t) {
  for (const SparseOp& f : sparse_ops) {
    Op o = row_op<Jet>(
        f.name, [&f](Maker& m, Statement& s) { return make_sparse(f, m, s); }, real_dtype,
        [&f](JetArrays x, const Statement& s) { return value_of_sparse(f, x, s); }, {});
    o.call = [&f](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const Csr matrix{pattern_of(s.ints[0]), a.tensor(0)};
      out.push_back(f.call(matrix, f.second == Second::none ? Tensor() : a.tensor(1), s.ints));
    };
    o.text = {};
    t.push_back(std::move(o));
  }
}

}  // namespace

void add_structured_systems(std::vector<Op>& t) {
  add(
      t, "banded_solve", [](Maker& m, std::int64_t n) { return std::vector{raised_band(m, 3, 1, n)}; },
      [](Ms x) { return banded(x[0], 1, 1); }, REEL_CALL(reel::banded_solve(x[0], 1, 1, x[1])));
  add(
      t, "banded_triangular_solve", [](Maker& m, std::int64_t n) { return std::vector{raised_band(m, 2, 0, n)}; },
      [](Ms x) { return banded(x[0], 1, 0); }, REEL_CALL(reel::banded_triangular_solve(x[0], x[1])));
  add_banded_cholesky(t);
  add_sparse_matrices(t);
  add_householder_product(t);
  const auto from_diagonals = [](Ms x) { return tridiagonal(x[0].values, x[1].values, x[2].values); };
  add(
      t, "tridiagonal_solve", [](Maker& m, std::int64_t n) { return three_diagonals(m, n, true); }, from_diagonals,
      REEL_CALL(reel::tridiagonal_solve(x[0], x[1], x[2], x[3])));
  add(
      t, "tridiagonal_matmul", [](Maker& m, std::int64_t n) { return three_diagonals(m, n, false); }, from_diagonals,
      REEL_CALL(reel::tridiagonal_matmul(x[0], x[1], x[2], x[3])), true);
  add(
      t, "toeplitz_solve",
      [](Maker& m, std::int64_t n) {
        std::vector<double> by(at(n));
        by[0] = 6;
        const int column = raised(m, {n}, by);
        return std::vector{column, column < 0 ? -1 : real_value(m, {n})};
      },
      [](Ms x) { return toeplitz(x[0].values, x[1].values); }, REEL_CALL(reel::toeplitz_solve(x[0], x[1], x[2])));
}

}  // namespace random_programs
