// <reel/linalg/factorisations.hpp>: operands and calls. Of spectra, values and squares of vectors are compared.
// Operands have gaps between their eigenvalues.
#include <cmath>
#include <reel/linalg.hpp>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Results = std::vector<ArrayOf<Jet>>;

// Of each function, with the rounding errors of several steps.
template <class... F>
Results of(JetArrays x, F... f) {
  return {each(x[0], settling(f, 64))...};
}
template <class F>
Results of_sides(JetArrays x, F f) {
  return {each_side(x[0], x[1], settling(f, 64))};
}
Matrix squares(Matrix a) {
  for (Jet& x : a.values) x = x * x;
  return a;
}
Matrix squared_eigenvectors(MatrixRef a) { return squares(eigenvectors(a)); }
RowOf<Jet> eigenvalues_of_bands(MatrixRef a) {
  return eigen(made<Jet>(a.rows, a.rows,
                         [&](std::size_t i, std::size_t j) {
                           return i == j ? a[i][i] : i + 1 == j ? a[i][j] : j + 1 == i ? a[j][i] : Jet(0);
                         }))
      .values;
}
// Of a symmetric matrix: the function asks for conditions that its vectors meet.
Matrix square_of(MatrixRef a) {
  static_cast<void>(eigenvalues(a));
  return a * a;
}
Matrix squared_left_vectors(MatrixRef a) { return squares(left_vectors(a)); }
Matrix squared_right_vectors(MatrixRef a) { return transposed(squares(left_vectors(transposed(a)))); }

// Of all but the last column.
std::int64_t fewer(std::int64_t n) { return n > 1 ? n - 1 : n; }
Matrix without_last(MatrixRef a) { return leading(a, a.rows, at(fewer(static_cast<std::int64_t>(a.columns)))); }
Tensor without_last(const reel::Operand& operand) {
  const Tensor a = reel::identity(operand);
  return reel::slice(a, {reel::ellipsis, reel::range_from(0), reel::range(0, fewer(a.shape().back()))});
}
Tensor first_column(const reel::Operand& x) { return reel::slice(reel::identity(x), {reel::ellipsis, 0}); }
reel::Eigh by_bands(const reel::Operand& operand) {
  const Tensor x = reel::identity(operand);
  return reel::eigh_tridiagonal(reel::diagonal(x), reel::diagonal(x, 1));
}

using Tensors = std::vector<Tensor>;
using random_programs::append;
void append(Tensors& out, const reel::Qr& f) { out = {f.q, f.r}; }
void append(Tensors& out, const reel::Lq& f) { out = {f.l, f.q}; }
void append(Tensors& out, const reel::Lu& f) { out = {f.l, f.u}; }
void append(Tensors& out, const reel::Eigh& f) { out = {f.eigenvalues, reel::square(f.eigenvectors)}; }
void append(Tensors& out, const reel::Svd& f) { out = {reel::square(f.u), f.s, reel::square(f.vh)}; }
void append(Tensors& out, const reel::Eig& f) {
  const Tensor& w = f.eigenvalues;
  out = {reel::real(reel::matmul(f.eigenvectors * reel::expand_dims(w * w, -2), reel::inverse(f.eigenvectors)))};
}

enum class Wants { square, symmetric, square_and_sides };
struct Row {
  const char* name;
  Wants wants;
  Results (*reference)(JetArrays x);
  Call call;
};
using X = JetArrays;
using M = MatrixRef;
// clang-format off
const Row rows[] = {
    {"qr", Wants::square, [](X x) { return of(x, orthogonal_factor<Jet>, upper_factor<Jet>); }, REEL_CALL(reel::qr(x[0]))},
    {"lq", Wants::square, [](X x) { return of(x, lower_lq<Jet>, orthogonal_lq<Jet>); }, REEL_CALL(reel::lq(x[0]))},
    {"lu_factor", Wants::square, [](X x) { return of(x, [](M a) { return packed_factors(a); }); }, REEL_CALL(reel::lu_factor(x[0]).lu)},
    {"lu", Wants::square, [](X x) { return of(x, lower_factor<Jet>, gauss_factor<Jet>); }, REEL_CALL(reel::lu(x[0]))},
    {"lu_solve", Wants::square_and_sides, [](X x) { return of_sides(x, [](M a, M b) { static_cast<void>(packed_factors(a)); return solved(a, b); }); }, REEL_CALL(reel::lu_solve(reel::lu_factor(x[0]), x[1]))},
    {"cholesky_solve", Wants::square_and_sides, [](X x) { return of_sides(x, [](M l, M b) { return solved(gram(l), b); }); }, REEL_CALL(reel::cholesky_solve(x[0], x[1]))},
    {"cholesky_inverse", Wants::square, [](X x) { return of(x, [](M l) { return inverse(gram(l)); }); }, REEL_CALL(reel::cholesky_inverse(x[0]))},
    {"cholesky_update", Wants::square_and_sides, [](X x) { return of_sides(x, [](M l, M b) { return updated_cholesky(l, leading(b, b.rows, 1).values, 1); }); }, REEL_CALL(reel::cholesky_update(x[0], first_column(x[1])))},
    {"matrix_norm", Wants::square, [](X x) { return of(x, [](M a) { const auto s = singular_values(a); return RowOf<Jet>{s[0], cases::total(s)}; }); }, REEL_CALL(reel::stack({reel::matrix_norm(x[0], reel::MatrixNorm::spectral), reel::matrix_norm(x[0], reel::MatrixNorm::nuclear)}, -1))},
    {"cond", Wants::square, [](X x) { return of(x, [](M a) { const auto s = singular_values(a); return RowOf<Jet>{condition(s, 0), condition(s, 2)}; }); }, REEL_CALL(reel::stack({reel::cond(x[0]), reel::cond(x[0], reel::MatrixNorm::frobenius)}, -1))},
    {"eigh", Wants::symmetric, [](X x) { return of(x, eigenvalues<Jet>, squared_eigenvectors); }, REEL_CALL(reel::eigh(x[0]))},
    {"eigvalsh", Wants::symmetric, [](X x) { return of(x, eigenvalues<Jet>); }, REEL_CALL(reel::eigvalsh(x[0]))},
    {"eigh_tridiagonal", Wants::square, [](X x) { return of(x, eigenvalues_of_bands); }, REEL_CALL(by_bands(x[0]).eigenvalues)},
    {"eig", Wants::symmetric, [](X x) { return of(x, square_of); }, REEL_CALL(reel::eig(x[0]))},
    {"eigvals", Wants::symmetric, [](X x) { return of(x, [](M a) { return trace_of(square_of(a)); }); }, REEL_CALL(reel::real(reel::sum(reel::square(reel::eigvals(x[0])), -1)))},
    {"svd", Wants::square, [](X x) { return of(x, squared_left_vectors, singular_values<Jet>, squared_right_vectors); }, REEL_CALL(reel::svd(x[0]))},
    {"svdvals", Wants::square, [](X x) { return of(x, singular_values<Jet>); }, REEL_CALL(reel::svdvals(x[0]))},
    {"pinv", Wants::square, [](X x) { return of(x, [](M a) { return pseudoinverse(without_last(a)); }); }, REEL_CALL(reel::pinv(without_last(x[0])))},
    {"lstsq", Wants::square_and_sides, [](X x) { return of_sides(x, [](M a, M b) { return pseudoinverse(without_last(a)) * b; }); }, REEL_CALL(reel::lstsq(without_last(x[0]), x[1]))},
};
// clang-format on

// Factors have the rounding errors of a's dtype, which that of the result does not tell.
DType same_dtype(const Inputs& in) {
  for (const Array* x : in)
    if (x->dtype != in[0]->dtype) throw Unfit();
  return factor_dtype(in);
}

std::function<bool(Maker&, Statement&)> make_operands(Wants wants) {
  return [wants](Maker& m, Statement& s) {
    const int a = square_matrix(m, wants == Wants::symmetric);
    if (a < 0) return false;
    s.args = {Maker::arg(a)};
    if (wants != Wants::square_and_sides) return true;
    Extents shape = m.at(a).shape;
    shape.back() = m.between(1, 2);
    const int b = value_like(m, shape);
    s.args.push_back(Maker::arg(b));
    return b >= 0;
  };
}

}  // namespace

void add_decompositions(std::vector<Op>& t) {
  for (const Row& r : rows)
    t.push_back(row_op<Jet>(r.name, make_operands(r.wants),
                            std::string(r.name) == "lu_solve" ? same_dtype : factor_dtype,
                            [&r](JetArrays x, const Statement&) { return r.reference(x); }, r.call, {0.6}));
}

}  // namespace random_programs
