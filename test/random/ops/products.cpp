// Products of vectors and matrices, norms of matrices and systems of tensors: operands and calls.
#include "../../linalg/references/products.hpp"

#include <algorithm>
#include <reel/linalg.hpp>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using Nums = ArraysOf<Num>;

/// A value of that shape, or a new input.
int partner(Maker& m, const Extents& shape) {
  const int k = m.pick(
      [&](const Array& a) { return a.shape == shape && (is_real_floating(a.dtype) || reel::is_complex(a.dtype)); });
  if (k >= 0 && m.chance(0.7)) return k;
  const bool source = m.source_elements + elements(shape) < 16 && m.chance(0.6);
  return m.input(source ? Role::source : Role::constant, m.floating_dtype(), shape);
}
DType product_dtype(const Inputs& in) {
  const DType d = promoted(in);
  if (d == DType::boolean || d == DType::uint8) throw Unfit();
  round_like(d);
  return d;
}

// Chooses the shape of the second operand. False if the first, of this shape, does not fit.
using Choose = bool (*)(Maker& m, const Extents& x, Extents& y);
struct ProductOp {
  const char* name;
  int least, most;  // ranks of the first operand
  Choose choose;
  ArrayOf<Num> (*reference)(Nums x);
  Call call;
};
bool small_product(Maker& m, const Extents& x, Extents& y) {
  y = m.random_shape(0, 2);
  return elements(x) * elements(y) <= m.limit;
}
bool of_three(Maker& m, const Extents& x, Extents& y) {
  y = {3};
  if (m.chance(0.4)) y.insert(y.begin(), x.size() > 1 ? x[0] : 2);
  return x.back() == 3;
}
bool rows_of_last(Maker& m, const Extents& x, Extents& y) {
  y = {x.back()};
  if (m.chance(0.5)) y.insert(y.begin(), m.between(1, 2));
  return true;
}
bool flat(Maker&, const Extents& x, Extents& y) {
  y = {elements(x)};
  return true;
}
bool last(Maker&, const Extents& x, Extents& y) {
  y = {x.back()};
  return true;
}
bool same_or_last(Maker& m, const Extents& x, Extents& y) {
  y = m.chance(0.5) ? x : Extents{x.back()};
  return x.back() > 0;
}
const ProductOp product_ops[] = {
    {"kron", 0, 2, small_product, kronecker<Num>, REEL_CALL(reel::kron(x[0], x[1]))},
    {"cross", 1, 2, of_three, [](Nums x) { return cross_product(x); }, REEL_CALL(reel::cross(x[0], x[1]))},
    {"inner", 1, 3, rows_of_last, inner_product<Num>, REEL_CALL(reel::inner(x[0], x[1]))},
    {"vdot", 0, 3, flat, vector_product<Num>, REEL_CALL(reel::vdot(x[0], x[1]))},
    {"matvec", 2, 3, last, matrix_vector<Num>, REEL_CALL(reel::matvec(x[0], x[1]))},
    {"vecdot", 1, 3, same_or_last, [](Nums x) { return vectors_product(x); }, REEL_CALL(reel::vecdot(x[0], x[1]))},
};

Op op_of(const ProductOp& op) {
  const auto make = [&op](Maker& m, Statement& s) {
    int a = m.floating(op.least, op.most, true);
    if (a < 0) return false;
    Extents y;
    if (!op.choose(m, m.at(a).shape, y)) {
      a = partner(m, m.chance(0.5) ? Extents{3} : Extents{2, 3});
      if (a < 0 || !op.choose(m, m.at(a).shape, y)) return false;
    }
    const int b = partner(m, y);
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  return row_op<Num>(op.name, make, product_dtype, [&op](Nums x, const Statement&) { return op.reference(x); }, op.call,
                     {1, true});
}

bool make_chain(Maker& m, Statement& s) {
  const int a = m.floating(2, 2, true);
  if (a < 0) return false;
  const std::int64_t p = m.between(1, 3), q = m.between(1, 3);
  const int b = partner(m, {m.at(a).shape[1], p}), c = b < 0 ? -1 : partner(m, {p, q});
  s.args = {Maker::arg(a), Maker::arg(b), Maker::arg(c)};
  return c >= 0 && m.at(a).size() > 0 && m.at(b).size() > 0;
}
// ints: the exponent, at least 0; inverse covers what lies below.
bool make_power(Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 2);
  const int a = partner(m, {n, n});
  s.args = {Maker::arg(a)};
  s.ints = {m.between(0, 3)};
  return a >= 0;
}
// ints: the norm.
bool make_norm(Maker& m, Statement& s) {
  const int a = m.floating(2, 3);
  s.args = {Maker::arg(a)};
  s.ints = {m.below(3)};
  return a >= 0;
}
ArrayOf<Jet> norms_of(const ArrayOf<Jet>& x, std::int64_t norm) {
  return each(x, [norm](MatrixRef a) {
    if (a.values.empty()) throw Unfit();
    if (norm != 0) return largest_sum(a, norm == 1);
    for (const Jet& v : a.values)
      if (magnitude(v) < 1e-3L) throw Unfit();  // kinks
    return rounded(frobenius_norm(a), 8);
  });
}
bool make_tensor_system(Maker& m, Statement& s) {
  const int a = partner(m, {2, 1, 2}), b = a < 0 ? -1 : partner(m, {2});
  s.args = {Maker::arg(a), Maker::arg(b)};
  return b >= 0;
}
bool make_tensor(Maker& m, Statement& s) {
  const int a = partner(m, {1, 2, 2});
  s.args = {Maker::arg(a)};
  return a >= 0;
}
ArrayOf<Jet> well_conditioned(ArrayOf<Jet> y, const ArrayOf<Jet>& a) {
  if (magnitude(determinant(Matrix(2, 2, a.values))) < 0.3L) throw Unfit();
  return {y.shape, settled(Matrix(1, y.values.size(), y.values), 32).values};
}
DType solver_dtype(const Inputs& in) {
  for (const Array* x : in)
    if (reel::is_complex(x->dtype)) throw Unfit();
  return real_dtype(in);
}

}  // namespace

void add_matrix_products(std::vector<Op>& t) {
  for (const ProductOp& op : product_ops) t.push_back(op_of(op));
  t.push_back(row_op<Num>("multi_dot", make_chain, product_dtype,
                          [](Nums x, const Statement&) { return chain_product(x); },
                          REEL_CALL(reel::multi_dot({x.tensor(0), x.tensor(1), x.tensor(2)})), {1, true}));
  t.push_back(row_op<Num>("matrix_power", make_power, product_dtype,
                          [](Nums x, const Statement& s) { return power_of(x[0], s.ints[0]); },
                          REEL_CALL(reel::matrix_power(x[0], i[0])), {1, true}));
  t.push_back(row_op<Jet>("matrix_norm", make_norm, given_dtype,
                          [](JetArrays x, const Statement& s) { return norms_of(x[0], s.ints[0]); },
                          REEL_CALL(reel::matrix_norm(x[0], static_cast<reel::MatrixNorm>(i[0]))), {1, true}));
  t.push_back(row_op<Jet>(
      "tensorsolve", make_tensor_system, solver_dtype,
      [](JetArrays x, const Statement&) { return well_conditioned(tensor_solution(x), x[0]); },
      REEL_CALL(reel::tensorsolve(x[0], x[1]))));
  t.push_back(row_op<Jet>(
      "tensorinv", make_tensor, solver_dtype,
      [](JetArrays x, const Statement&) { return well_conditioned(tensor_inverse(x[0], 2), x[0]); },
      REEL_CALL(reel::tensorinv(x[0]))));
}

}  // namespace random_programs
