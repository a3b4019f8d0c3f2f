// Matrix products and factorisations by textbook algorithms: sums of products, elimination with pivots, Cholesky's
// recurrence.
#include <algorithm>
#include <map>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Strings = std::vector<std::string>;

DType product_dtype(const Inputs& in) {
  const DType d = promoted(in);
  if (d == DType::boolean || d == DType::uint8) throw Unfit();
  round_like(d);
  return d;
}
Array swapped(const Array& x) {  // the last two axes
  Array y = x;
  std::swap(y.shape[y.shape.size() - 1], y.shape[y.shape.size() - 2]);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Extents k = indices_of(y.shape, i);
    std::swap(k[k.size() - 1], k[k.size() - 2]);
    y[i] = x[position_of(x.shape, k)];
  }
  return y;
}
Array matrix_product(Array a, Array b, DType d) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const std::int64_t n = a.shape[a.shape.size() - 2], k = a.shape.back(), m = b.shape.back();
  if (b.shape[b.shape.size() - 2] != k) throw Unfit();
  const Extents batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  Extents shape = broadcast_shapes(batch_a, batch_b);
  const Extents batch = shape;
  shape.push_back(n), shape.push_back(m);
  Array y(d, shape);
  for (std::int64_t s = 0; s < elements(batch); ++s) {
    const std::int64_t pa = broadcast_index(batch_a, batch, s), pb = broadcast_index(batch_b, batch, s);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j)
        for (std::int64_t l = 0; l < k; ++l)
          y[(s * n + i) * m + j] += a[(pa * n + i) * k + l] * b[(pb * k + l) * m + j];
  }
  if (row) y.shape.erase(y.shape.end() - 2);
  if (column) y.shape.pop_back();
  return y;
}

// ints: transpose_a, transpose_b.
void add_matmul(std::vector<Op>& t) {
  Op o;
  o.name = "matmul";
  o.weight = 3;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
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
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    out.push_back(matrix_product(s.ints[0] ? swapped(*in[0]) : *in[0], s.ints[1] ? swapped(*in[1]) : *in[1], d));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::matmul(a[0], a[1], {.transpose_a = s.ints[0] != 0, .transpose_b = s.ints[1] != 0}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "matmul(" + a[0] + ", " + a[1] + ", {" + (s.ints[0] ? "true" : "false") + ", " +
           (s.ints[1] ? "true})" : "false})");
  };
  t.push_back(std::move(o));
}

/// Sums of products over letters, as einsum's.
Array summed(const std::vector<std::string>& letters, const std::string& result, const Inputs& in, DType d) {
  std::map<char, std::int64_t> extent;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t a = 0; a < letters[i].size(); ++a) {
      const std::int64_t n = in[i]->shape[a];
      std::int64_t& e = extent.try_emplace(letters[i][a], n).first->second;
      if (e != 1 && n != 1 && e != n) throw Unfit();
      if (e == 1) e = n;
    }
  std::string all = result;
  for (const auto& [c, n] : extent)
    if (all.find(c) == std::string::npos) all += c;
  Extents shape, space;
  for (const char c : result) shape.push_back(extent[c]);
  for (const char c : all) space.push_back(extent[c]);
  Array y(d, shape);
  for (std::int64_t i = 0; i < elements(space); ++i) {
    const Extents k = indices_of(space, i);
    Num product(1);
    for (std::size_t o = 0; o < in.size(); ++o) {
      Extents at_operand;
      for (std::size_t a = 0; a < letters[o].size(); ++a)
        at_operand.push_back(in[o]->shape[a] == 1 ? 0 : k[all.find(letters[o][a])]);
      const Num& x = (*in[o])[position_of(in[o]->shape, at_operand)];
      product = o == 0 ? x : product * x;
    }
    y[position_of(shape, Extents(k.begin(), k.begin() + static_cast<std::ptrdiff_t>(result.size())))] += product;
  }
  return y;
}

void add_products(std::vector<Op>& t) {
  Op o;
  o.name = "dot";
  o.weight = 1.5;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
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
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    const std::string a = std::string("abcd").substr(0, at(in[0]->rank())),
                      b = std::string("efgh").substr(0, at(in[1]->rank()));
    if (a.empty() || b.empty()) return out.push_back(summed({a, b}, a + b, in, d));
    std::string joined = b, rest = b;
    const std::size_t over = b.size() > 1 ? b.size() - 2 : 0;
    joined[over] = a.back();
    rest.erase(over, 1);
    out.push_back(summed({a, joined}, a.substr(0, a.size() - 1) + rest, in, d));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::dot(a[0], a[1])); };
  t.push_back(o);

  o.name = "outer";
  o.make = [](Maker& m, Statement& s) {
    const int a = m.floating(0, 2, true), b = m.floating(0, 2, true);
    if (a < 0 || b < 0) return false;
    s.args = {Maker::arg(a), Maker::arg(b)};
    return m.at(a).size() * m.at(b).size() <= m.limit;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    Array a = *in[0], b = *in[1];
    a.shape = {a.size()}, b.shape = {b.size()};
    out.push_back(summed({"i", "j"}, "ij", {&a, &b}, d));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::outer(a[0], a[1]));
  };
  t.push_back(o);

  // ints: the number of axes, then axes of a, axes of b; none: by count.
  o.name = "tensordot";
  o.make = [](Maker& m, Statement& s) {
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
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    std::string a = std::string("abcd").substr(0, at(in[0]->rank())),
                b = std::string("efgh").substr(0, at(in[1]->rank()));
    const auto n = at(s.ints[0]);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < n; ++i) {
      const auto axis = [](std::int64_t k, std::size_t rank) {
        return at(k < 0 ? k + static_cast<std::int64_t>(rank) : k);
      };
      if (s.ints[1])
        pairs.emplace_back(a.size() - n + i, i);
      else
        pairs.emplace_back(axis(s.ints[2 + i], a.size()), axis(s.ints[2 + n + i], b.size()));
    }
    for (const auto& [i, j] : pairs) {
      if (in[0]->shape[i] != in[1]->shape[j]) throw Unfit();
      b[j] = a[i];
    }
    std::string result;
    for (const char c : a)
      if (b.find(c) == std::string::npos) result += c;
    for (const char c : b)
      if (a.find(c) == std::string::npos) result += c;
    out.push_back(summed({a, b}, result, in, d));
  };
  const auto axes = [](const Statement& s, bool of_b) {
    const auto n = static_cast<std::ptrdiff_t>(s.ints[0]);
    return Extents(s.ints.begin() + 2 + (of_b ? n : 0), s.ints.begin() + 2 + (of_b ? 2 * n : n));
  };
  o.call = [axes](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(s.ints[1] ? reel::tensordot(a[0], a[1], s.ints[0])
                            : reel::tensordot(a[0], a[1], reel::Axes(axes(s, false)), reel::Axes(axes(s, true))));
  };
  o.text = [axes](const Statement& s, const Strings& a) {
    return "tensordot(" + a[0] + ", " + a[1] + ", " +
           (s.ints[1] ? std::to_string(s.ints[0])
                      : "Axes(" + braces(axes(s, false)) + "), Axes(" + braces(axes(s, true)) + ")") +
           ")";
  };
  t.push_back(o);
}

// text: the subscripts.
void add_einsum(std::vector<Op>& t) {
  Op o;
  o.name = "einsum";
  o.weight = 2.5;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
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
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    std::vector<std::string> letters(1);
    const std::size_t arrow = s.text.find('-');
    for (const char c : s.text.substr(0, arrow))
      if (c == ',')
        letters.emplace_back();
      else
        letters.back() += c;
    out.push_back(summed(letters, s.text.substr(arrow + 2), in, d));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::einsum(s.text, a.tensors()));
  };
  o.text = [](const Statement& s, const Strings& a) {
    std::string r = "einsum(\"" + s.text + "\", {";
    for (std::size_t i = 0; i < a.size(); ++i) r += (i ? ", " : "") + a[i];
    return r + "})";
  };
  t.push_back(std::move(o));
}

// ---- Square matrices.

void add_factorisations(std::vector<Op>& t) {
  const auto add = [&t](const char* name, bool symmetric,
                        std::function<void(const Statement&, const Inputs&, Arrays&)> eval,
                        std::function<void(const Statement&, const Operands&, std::vector<Tensor>&)> call) {
    Op o;
    o.name = name;
    o.weight = 1.5;
    o.make = [symmetric](Maker& m, Statement& s) {
      const int a = square_matrix(m, symmetric);
      s.args = {Maker::arg(a)};
      return a >= 0;
    };
    o.eval = std::move(eval);
    o.call = std::move(call);
    t.push_back(std::move(o));
  };
  add(
      "cholesky", true,
      [](const Statement&, const Inputs& in, Arrays& out) {
        const Array& x = *in[0];
        Array y(factor_dtype(in), x.shape);
        for (std::int64_t b = 0; b < batches(x); ++b) {
          Matrix a = matrix(x, b), l(a.size(), std::vector<Jet>(a.size()));
          for (std::size_t i = 0; i < a.size(); ++i)  // the symmetric half
            for (std::size_t j = 0; j < i; ++j) {
              if (std::fabs(a[i][j].v[0] - a[j][i].v[0]) > 1e-4L) throw Unfit();
              a[i][j] = Jet(0.5L) * (a[i][j] + a[j][i]);
            }
          for (std::size_t j = 0; j < a.size(); ++j)
            for (std::size_t i = j; i < a.size(); ++i) {
              Jet s = a[i][j];
              for (std::size_t k = 0; k < j; ++k) s = s - l[i][k] * l[j][k];
              if (i == j && s.v[0] < 0.02L) throw Unfit();
              l[i][j] = i == j ? sqrt(s) : rounded(s / l[j][j], 8);
            }
          settle(l);
          store(l, y, b);
        }
        out.push_back(std::move(y));
      },
      [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::cholesky(a[0])); });
  add(
      "inverse", false,
      [](const Statement&, const Inputs& in, Arrays& out) {
        const Array& x = *in[0];
        Array y(factor_dtype(in), x.shape);
        Jet determinant;
        for (std::int64_t b = 0; b < batches(x); ++b)
          store(eliminate(matrix(x, b), unit_matrix(at(x.shape.back())), determinant), y, b);
        out.push_back(std::move(y));
      },
      [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::inverse(a[0])); });
  add(
      "det", false,
      [](const Statement&, const Inputs& in, Arrays& out) {
        const Array& x = *in[0];
        Array y(factor_dtype(in), Extents(x.shape.begin(), x.shape.end() - 2));
        for (std::int64_t b = 0; b < batches(x); ++b) {
          // By permutations, which holds for singular matrices too.
          const Matrix a = matrix(x, b);
          std::vector<std::size_t> order(a.size());
          for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
          Jet sum;
          do {
            Jet term(1);
            for (std::size_t i = 0; i < order.size(); ++i) {
              term = term * a[i][order[i]];
              for (std::size_t j = 0; j < i; ++j)
                if (order[j] > order[i]) term = -term;
            }
            sum += term;
          } while (std::next_permutation(order.begin(), order.end()));
          sum = rounded(sum, 8);
          double size = 1;  // of the intermediate products
          for (const auto& r : a)
            for (const Jet& e : r) size = std::max(size, static_cast<double>(std::fabs(e.v[0])));
          for (int k = 0; k < Jet::count; ++k) sum.e[k] += 8 * Jet::unit * size * size * size;
          y[b] = Num(sum);
        }
        out.push_back(std::move(y));
      },
      [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::det(a[0])); });
  add(
      "slogdet", false,
      [](const Statement&, const Inputs& in, Arrays& out) {
        const Array& x = *in[0];
        Array sign(factor_dtype(in), Extents(x.shape.begin(), x.shape.end() - 2)), y = sign;
        for (std::int64_t b = 0; b < batches(x); ++b) {
          Jet determinant;
          eliminate(matrix(x, b), unit_matrix(at(x.shape.back())), determinant);
          sign[b] = Num(determinant.v[0] < 0 ? -1 : 1);
          y[b] = Num(log(absolute(determinant)));
        }
        out = {sign, y};
      },
      [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
        const reel::SignLogDet r = reel::slogdet(a[0]);
        out = {r.sign, r.logdet};
      });
}

// ints: of solve none; of triangular_solve lower, transpose, unit_diagonal.
void add_solves(std::vector<Op>& t) {
  for (const bool triangular : {false, true}) {
    Op o;
    o.name = triangular ? "triangular_solve" : "solve";
    o.weight = 1.5;
    o.make = [triangular](Maker& m, Statement& s) {
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
    o.eval = [triangular](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& a = *in[0];
      Array b = *in[1];
      const DType d = factor_dtype(in);
      const bool vector = b.rank() == 1;
      if (vector) b.shape.push_back(1);
      const Extents batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
      Extents shape = broadcast_shapes(batch_a, batch_b);
      const Extents batch = shape;
      if (b.shape[b.shape.size() - 2] != a.shape.back()) throw Unfit();
      shape.push_back(a.shape.back()), shape.push_back(b.shape.back());
      Array y(d, shape);
      for (std::int64_t k = 0; k < elements(batch); ++k) {
        Matrix x = matrix(a, broadcast_index(batch_a, batch, k));
        if (triangular) {
          for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < x.size(); ++j)
              if (s.ints[0] ? j > i : j < i) x[i][j] = Jet(0);
            if (s.ints[2]) x[i][i] = Jet(1);
          }
          if (s.ints[1])
            for (std::size_t i = 0; i < x.size(); ++i)
              for (std::size_t j = 0; j < i; ++j) std::swap(x[i][j], x[j][i]);
        }
        Jet determinant;
        store(eliminate(x, matrix(b, broadcast_index(batch_b, batch, k)), determinant), y, k);
      }
      if (vector) y.shape.pop_back();
      out.push_back(std::move(y));
    };
    o.call = [triangular](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back(triangular ? reel::triangular_solve(a[0], a[1], {s.ints[0] != 0, s.ints[1] != 0, s.ints[2] != 0})
                               : reel::solve(a[0], a[1]));
    };
    o.text = [triangular](const Statement& s, const Strings& a) {
      const auto flag = [&](std::size_t i) { return std::string(s.ints[i] ? "true" : "false"); };
      if (!triangular) return "solve(" + a[0] + ", " + a[1] + ")";
      return "triangular_solve(" + a[0] + ", " + a[1] + ", {" + flag(0) + ", " + flag(1) + ", " + flag(2) + "})";
    };
    t.push_back(std::move(o));
  }
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
