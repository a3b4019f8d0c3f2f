// Matrix products, factorisations and systems: their operands and calls.
#include <algorithm>
#include <map>

#include "../../linalg/references/products.hpp"
#include "../matrices.hpp"

namespace random_programs {

namespace {

using Nums = ArraysOf<Num>;

DType product_dtype(const Inputs& in) {
  const DType d = promoted(in);
  if (d == DType::boolean || d == DType::uint8) throw Unfit();
  round_like(d);
  return d;
}
// ints: transpose_a, transpose_b.
void add_matmul(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    const int a = m.chance(0.05) ? m.number(1, 3) : m.floating(1, 3, true);
    if (a < 0) return false;
    const Extents x = m.at(a).shape;
    s.ints = {x.size() > 1 && m.chance(0.3), 0};
    const std::int64_t k = s.ints[0] ? x[x.size() - 2] : x.back();
    Extents y = {k};
    if (m.chance(0.75)) {
      y.push_back(m.between(1, 3));
      s.ints[1] = m.chance(0.3);
      if (s.ints[1]) std::swap(y[0], y[1]);
      if (m.chance(0.3)) y.insert(y.begin(), x.size() > 2 && m.chance(0.7) ? x[0] : x.size() > 2 ? 1 : m.between(1, 2));
    }
    const int b = value_like(m, y, true);
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  t.push_back(row_op<Num>(
      "matmul", make, product_dtype,
      [](Nums x, const Statement& s) { return matrix_product(x[0], x[1], s.ints[0] != 0, s.ints[1] != 0); },
      REEL_CALL(reel::matmul(x[0], x[1], {.transpose_a = i[0] != 0, .transpose_b = i[1] != 0})), {3, true}));
}

// Of tensordot: ints are the number of axes, whether they are the last and first ones, axes of a, axes of b.
Extents axes_of(const Statement& s, std::int64_t operand) {
  if (s.ints[1]) return {};
  const auto from = s.ints.begin() + 2 + operand * s.ints[0];
  return Extents(from, from + s.ints[0]);
}

void add_products(std::vector<Op>& t) {
  const auto make_dot = [](Maker& m, Statement& s) {
    const int a = m.floating(0, 3, true);
    if (a < 0) return false;
    const Extents x = m.at(a).shape;
    Extents y;
    if (!x.empty() && m.chance(0.9)) {
      y = {x.back()};
      if (m.chance(0.5)) y.push_back(m.between(1, 3));
      if (y.size() == 2 && m.chance(0.2)) y.insert(y.begin(), 2);
    }
    const int b = value_like(m, y, true);
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  t.push_back(row_op<Num>("dot", make_dot, product_dtype, [](Nums x, const Statement&) { return dot_product(x); },
                          REEL_CALL(reel::dot(x[0], x[1])), {1.5, true}));

  const auto make_outer = [](Maker& m, Statement& s) {
    const int a = m.floating(0, 2, true), b = m.floating(0, 2, true);
    if (a < 0 || b < 0) return false;
    s.args = {Maker::arg(a), Maker::arg(b)};
    return m.at(a).size() * m.at(b).size() <= m.limit;
  };
  t.push_back(row_op<Num>("outer", make_outer, product_dtype, [](Nums x, const Statement&) { return outer_product(x); },
                          REEL_CALL(reel::outer(x[0], x[1])), {1.5, true}));

  const auto make_tensordot = [](Maker& m, Statement& s) {
    const int a = m.floating(0, 3, true);
    if (a < 0) return false;
    const Extents x = m.at(a).shape;
    const int n = m.below(std::min<int>(static_cast<int>(x.size()), 2) + 1);
    Extents y, axes_a, axes_b;
    const bool count = m.chance(0.5);
    if (count) {
      y.assign(x.end() - n, x.end());
      if (m.chance(0.5)) y.push_back(2);
    } else {
      std::vector<int> order;
      for (int i = 0; i < static_cast<int>(x.size()); ++i) order.push_back(i);
      std::shuffle(order.begin(), order.end(), m.random());
      for (int i = 0; i < n; ++i) axes_a.push_back(order[at(i)]), y.push_back(x[at(order[at(i)])]), axes_b.push_back(i);
      if (m.chance(0.5)) {
        y.insert(y.begin(), 2);
        for (auto& i : axes_b) i = m.chance(0.5) ? i + 1 : i + 1 - static_cast<std::int64_t>(y.size());
      }
    }
    s.ints = {n, count};
    s.ints.insert(s.ints.end(), axes_a.begin(), axes_a.end());
    s.ints.insert(s.ints.end(), axes_b.begin(), axes_b.end());
    const int b = value_like(m, y, true);
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  t.push_back(
      row_op<Num>("tensordot", make_tensordot, product_dtype,
                  [](Nums x, const Statement& s) {
                    std::vector<std::pair<std::size_t, std::size_t>> pairs;
                    const Extents of_a = axes_of(s, 0), of_b = axes_of(s, 1);
                    for (std::size_t k = 0; k < at(s.ints[0]); ++k)
                      if (s.ints[1])
                        pairs.emplace_back(x[0].shape.size() - at(s.ints[0]) + k, k);
                      else
                        pairs.emplace_back(x[0].shape.position(of_a[k]), x[1].shape.position(of_b[k]));
                    return tensor_product(x, pairs);
                  },
                  REEL_CALL(i[1] ? reel::tensordot(x[0], x[1], i[0])
                                 : reel::tensordot(x[0], x[1], reel::Axes(axes_of(s, 0)), reel::Axes(axes_of(s, 1)))),
                  {1.5, true}));
}

// text: the subscripts.
void add_einsum(std::vector<Op>& t) {
  const auto make = [](Maker& m, Statement& s) {
    std::map<char, std::int64_t> extent;
    std::string inputs, used;
    const int n = 1 + m.below(3);
    for (int i = 0; i < n; ++i) {
      const int x = m.floating(i == 0 ? 1 : 0, 3, true);
      if (x < 0) return false;
      std::string letters;
      for (const auto e : m.at(x).shape) {
        std::string can;  // letters of that extent
        for (const auto& [c, size] : extent)
          if (size == e || (e == 1 && m.chance(0.3))) can += c;
        char c = 0;
        if (!can.empty() && m.chance(i == 0 ? 0.15 : 0.7)) c = can[at(m.below(static_cast<int>(can.size())))];
        if (!c) {
          c = static_cast<char>('i' + extent.size());
          extent[c] = e;
        }
        letters += c;
        if (used.find(c) == std::string::npos) used += c;
      }
      inputs += (i ? "," : "") + letters;
      s.args.push_back(Maker::arg(x));
    }
    std::shuffle(used.begin(), used.end(), m.random());
    std::string result;
    for (const char c : used)
      if (m.chance(0.5)) result += c;
    s.text = inputs + "->" + result;
    std::int64_t work = 1;
    for (const auto& [c, size] : extent) work *= size;
    return work <= 400;
  };
  t.push_back(row_op<Num>("einsum", make, product_dtype,
                          [](Nums x, const Statement& s) { return products_summed(s.text, x); },
                          REEL_CALL(reel::einsum(s.text, x.tensors())), {2.5, true}));
}

// ---- Square matrices.

// The symmetric half, from which a differs by rounding.
Matrix cholesky_of_half(MatrixRef a) {
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (magnitude(a[i][j] - a[j][i]) > 1e-4L) throw Unfit();
  return cholesky(symmetrised(a));
}
using random_programs::append;
void append(std::vector<reel::Tensor>& out, const reel::SignLogDet& r) { out = {r.sign, r.logdet}; }

void add_factorisations(std::vector<Op>& t) {
  const auto add = [&t](const char* name, bool symmetric, auto reference, Call call) {
    const auto make = [symmetric](Maker& m, Statement& s) {
      const int a = square_matrix(m, symmetric);
      s.args = {Maker::arg(a)};
      return a >= 0;
    };
    t.push_back(row_op<Jet>(name, make, factor_dtype,
                            [reference](JetArrays x, const Statement&) { return reference(x[0]); }, call, {1.5}));
  };
  using Operand = const ArrayOf<Jet>&;
  add(
      "cholesky", true, [](Operand a) { return each(a, settling(cholesky_of_half, 12)); },
      REEL_CALL(reel::cholesky(x[0])));
  add(
      "inverse", false, [](Operand a) { return each(a, settling(inverse<Jet>, 12)); }, REEL_CALL(reel::inverse(x[0])));
  add(
      "det", false, [](Operand a) { return each(a, determinant<Jet>); }, REEL_CALL(reel::det(x[0])));
  add(
      "slogdet", false,
      [](Operand a) {
        return std::vector{each(a, determinant_sign<Jet>), each(a, log_determinant<Jet>)};
      },
      REEL_CALL(reel::slogdet(x[0])));
}

// ints: of solve none; of triangular_solve lower, transpose, unit_diagonal.
void add_solves(std::vector<Op>& t) {
  const auto make = [](bool triangular) {
    return [triangular](Maker& m, Statement& s) {
      const int a = square_matrix(m, false);
      if (a < 0) return false;
      Extents shape = m.at(a).shape;
      if (m.chance(0.5))
        shape.back() = m.between(1, 2);
      else
        shape = {shape.back()};
      if (shape.size() == 3 && m.chance(0.3)) shape.erase(shape.begin());
      const int b = value_like(m, shape);
      if (triangular) s.ints = {m.below(2), m.below(2), m.chance(0.3)};
      s.args = {Maker::arg(a), Maker::arg(b)};
      return b >= 0;
    };
  };
  t.push_back(
      row_op<Jet>("solve", make(false), factor_dtype,
                  [](JetArrays x, const Statement&) { return each_side(x[0], x[1], settling(solved<Jet>, 12)); },
                  REEL_CALL(reel::solve(x[0], x[1])), {1.5}));
  t.push_back(row_op<Jet>("triangular_solve", make(true), factor_dtype,
                          [](JetArrays x, const Statement& s) {
                            return each_side(x[0], x[1], [&](MatrixRef a, MatrixRef b) {
                              return settled(triangular_solution(a, b, s.ints[0] != 0, s.ints[1] != 0, s.ints[2] != 0),
                                             12);
                            });
                          },
                          REEL_CALL(reel::triangular_solve(x[0], x[1], {i[0] != 0, i[1] != 0, i[2] != 0})), {1.5}));
}

}  // namespace

void add_linear_algebra(std::vector<Op>& t) {
  add_matmul(t);
  add_products(t);
  add_einsum(t);
  add_factorisations(t);
  add_solves(t);
  add_decompositions(t);
}

}  // namespace random_programs
