// Products of vectors and matrices, and norms of matrices, as sums over indices.
#include <algorithm>
#include <reel/linalg.hpp>

#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Strings = std::vector<std::string>;

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
Num conjugate(const Num& z, DType d) { return reel::is_complex(d) ? Num(z.re, -z.im) : z; }

/// Two operands; ints as the op needs them.
struct ProductOp {
  const char* name;
  int least, most;  // ranks of the first operand
  bool (*choose)(Maker& m, const Extents& x, Extents& y, std::vector<std::int64_t>& ints);
  Array (*eval)(const Array& a, const Array& b, const std::vector<std::int64_t>& ints, DType d);
  Tensor (*call)(const Operand& a, const Operand& b, const std::vector<std::int64_t>& ints);
};
using Ints = std::vector<std::int64_t>;

Array kron_of(const Array& a, const Array& b, const Ints&, DType d) {
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  Extents sa(rank - a.shape.size(), 1), sb(rank - b.shape.size(), 1), shape(rank);
  sa.insert(sa.end(), a.shape.begin(), a.shape.end());
  sb.insert(sb.end(), b.shape.begin(), b.shape.end());
  for (std::size_t k = 0; k < rank; ++k) shape[k] = sa[k] * sb[k];
  Array y(d, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Extents ia = indices_of(shape, i), ib = ia;
    for (std::size_t k = 0; k < rank; ++k) ib[k] = ia[k] % sb[k], ia[k] /= sb[k];
    y[i] = a[position_of(sa, ia)] * b[position_of(sb, ib)];
  }
  return y;
}
Array cross_of(const Array& a, const Array& b, const Ints&, DType d) {
  Array y(d, broadcast_shapes(a.shape, b.shape));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i - i % 3, p = row + (i + 1) % 3, q = row + (i + 2) % 3;
    const auto of = [&](const Array& x, std::int64_t k) { return x[broadcast_index(x.shape, y.shape, k)]; };
    y[i] = of(a, p) * of(b, q) - of(a, q) * of(b, p);
  }
  return y;
}
Array inner_of(const Array& a, const Array& b, const Ints&, DType d) {
  const std::int64_t k = a.shape.back(), rows = k ? a.size() / k : 0, columns = k ? b.size() / k : 0;
  Extents shape(a.shape.begin(), a.shape.end() - 1);
  shape.insert(shape.end(), b.shape.begin(), b.shape.end() - 1);
  Array y(d, shape);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t l = 0; l < k; ++l) y[i * columns + j] += a[i * k + l] * b[j * k + l];
  return y;
}
Array vdot_of(const Array& a, const Array& b, const Ints&, DType d) {
  Array y(d, {});
  for (std::int64_t i = 0; i < a.size(); ++i) y[0] += conjugate(a[i], a.dtype) * b[i];
  return y;
}
Array matvec_of(const Array& a, const Array& b, const Ints&, DType d) {
  Array y(d, Extents(a.shape.begin(), a.shape.end() - 1));
  const std::int64_t k = a.shape.back();
  if (b.shape != Extents{k}) throw Unfit();
  for (std::int64_t i = 0; i < y.size(); ++i)
    for (std::int64_t j = 0; j < k; ++j) y[i] += a[i * k + j] * b[j];
  return y;
}
Array vecdot_of(const Array& a, const Array& b, const Ints&, DType d) {
  const Extents shape = broadcast_shapes(a.shape, b.shape);
  Array y(d, Extents(shape.begin(), shape.end() - 1));
  for (std::int64_t i = 0; i < elements(shape); ++i)
    y[i / shape.back()] +=
        conjugate(a[broadcast_index(a.shape, shape, i)], a.dtype) * b[broadcast_index(b.shape, shape, i)];
  return y;
}

const ProductOp product_ops[] = {
    {"kron", 0, 2,
     [](Maker& m, const Extents& x, Extents& y, Ints&) {
       y = m.random_shape(0, 2);
       return elements(x) * elements(y) <= m.limit;
     },
     kron_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::kron(a, b); }},
    {"cross", 1, 2,
     [](Maker& m, const Extents& x, Extents& y, Ints&) {
       y = {3};
       if (m.chance(0.4)) y.insert(y.begin(), x.size() > 1 ? x[0] : 2);
       return x.back() == 3;
     },
     cross_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::cross(a, b); }},
    {"inner", 1, 3,
     [](Maker& m, const Extents& x, Extents& y, Ints&) {
       y = {x.back()};
       if (m.chance(0.5)) y.insert(y.begin(), m.between(1, 2));
       return true;
     },
     inner_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::inner(a, b); }},
    {"vdot", 0, 3,
     [](Maker&, const Extents& x, Extents& y, Ints&) {
       y = {elements(x)};
       return true;
     },
     vdot_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::vdot(a, b); }},
    {"matvec", 2, 3,
     [](Maker&, const Extents& x, Extents& y, Ints&) {
       y = {x.back()};
       return true;
     },
     matvec_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::matvec(a, b); }},
    {"vecdot", 1, 3,
     [](Maker& m, const Extents& x, Extents& y, Ints&) {
       y = m.chance(0.5) ? x : Extents{x.back()};
       return x.back() > 0;
     },
     vecdot_of, [](const Operand& a, const Operand& b, const Ints&) { return reel::vecdot(a, b); }},
};

void add(std::vector<Op>& t, const ProductOp& op) {
  Op o;
  o.name = op.name;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    int a = m.floating(op.least, op.most, true);
    if (a < 0) return false;
    Extents y;
    if (!op.choose(m, m.at(a).shape, y, s.ints)) {
      a = partner(m, m.chance(0.5) ? Extents{3} : Extents{2, 3});
      if (a < 0 || !op.choose(m, m.at(a).shape, y, s.ints)) return false;
    }
    const int b = partner(m, y);
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    out.push_back(op.eval(*in[0], *in[1], s.ints, d));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(op.call(a[0], a[1], s.ints));
  };
  t.push_back(std::move(o));
}

Array product(const Array& a, const Array& b, DType d) {
  const std::int64_t n = a.shape[0], k = a.shape[1], m = b.shape[1];
  Array y(d, {n, m});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      for (std::int64_t l = 0; l < k; ++l) y[i * m + j] += a[i * k + l] * b[l * m + j];
  return y;
}

// From left to right, whatever the order of the library.
void add_multi_dot(std::vector<Op>& t) {
  Op o;
  o.name = "multi_dot";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int a = m.floating(2, 2, true);
    if (a < 0) return false;
    const std::int64_t p = m.between(1, 3), q = m.between(1, 3);
    const int b = partner(m, {m.at(a).shape[1], p}), c = b < 0 ? -1 : partner(m, {p, q});
    s.args = {Maker::arg(a), Maker::arg(b), Maker::arg(c)};
    return c >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    for (const Array* x : in)
      if (x->rank() != 2 || x->size() == 0) throw Unfit();
    out.push_back(product(product(*in[0], *in[1], d), *in[2], d));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::multi_dot(a.tensors()));
  };
  o.text = [](const Statement&, const Strings& a) { return "multi_dot({" + a[0] + ", " + a[1] + ", " + a[2] + "})"; };
  t.push_back(std::move(o));
}

// ints: the exponent, at least 0; matrix_inverse covers what lies below.
void add_power(std::vector<Op>& t) {
  Op o;
  o.name = "matrix_power";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = partner(m, {n, n});
    s.args = {Maker::arg(a)};
    s.ints = {m.between(0, 3)};
    return a >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = product_dtype(in);
    const std::int64_t n = in[0]->shape.back();
    Array y(d, {n, n});
    for (std::int64_t i = 0; i < n; ++i) y[i * n + i] = Num(1);
    for (std::int64_t k = 0; k < s.ints[0]; ++k) y = product(y, *in[0], d);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::matrix_power(a[0], s.ints[0]));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "matrix_power(" + a[0] + ", " + std::to_string(s.ints[0]) + ")";
  };
  t.push_back(std::move(o));
}

// ints: the norm.
void add_norms(std::vector<Op>& t) {
  Op o;
  o.name = "matrix_norm";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int a = m.floating(2, 3);
    s.args = {Maker::arg(a)};
    s.ints = {m.below(3)};
    return a >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (!is_real_floating(x.dtype) || x.size() == 0) throw Unfit();
    round_like(x.dtype);
    const std::int64_t n = x.shape[x.shape.size() - 2], m = x.shape.back();
    Array y(x.dtype, Extents(x.shape.begin(), x.shape.end() - 2));
    for (std::int64_t b = 0; b < y.size(); ++b) {
      Jet largest;
      const bool frobenius = s.ints[0] == 0, columns = s.ints[0] == 1;
      for (std::int64_t i = 0; i < (columns ? m : n); ++i) {
        Jet sum;
        for (std::int64_t j = 0; j < (columns ? n : m); ++j) {
          const Jet& one = x[(b * n + (columns ? j : i)) * m + (columns ? i : j)].re;
          if (std::fabs(one.v[0]) < 1e-3L) throw Unfit();  // kinks
          sum += frobenius ? one * one : absolute(one);
        }
        if (i > 0 && !frobenius && std::fabs(sum.v[0] - largest.v[0]) < 1e-2L) throw Unfit();  // ties
        if (frobenius)
          largest += sum;
        else if (i == 0 || less(largest, sum))
          largest = sum;
      }
      y[b] = Num(s.ints[0] == 0 ? rounded(sqrt(largest), 8) : largest);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::matrix_norm(a[0], static_cast<reel::MatrixNorm>(s.ints[0])));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "matrix_norm(" + a[0] + ", MatrixNorm(" + std::to_string(s.ints[0]) + "))";
  };
  t.push_back(std::move(o));
}

// Systems of two equations, by Cramer's rule.
void add_tensor_systems(std::vector<Op>& t) {
  const auto system = [](const Array& a, Jet(&m)[4]) {
    if (reel::is_complex(a.dtype)) throw Unfit();
    for (std::int64_t i = 0; i < 4; ++i) m[i] = a[i].re;
    const Jet det = m[0] * m[3] - m[1] * m[2];
    if (std::fabs(det.v[0]) < 0.3L) throw Unfit();
    return det;
  };
  const auto solver_dtype = [](const Inputs& in) {
    const DType d = promoted(in);
    if (d != DType::float32 && d != DType::float64) throw Unfit();
    round_like(d);
    return d;
  };
  Op o;
  o.name = "tensorsolve";
  o.make = [](Maker& m, Statement& s) {
    const int a = partner(m, {2, 1, 2}), b = a < 0 ? -1 : partner(m, {2});
    s.args = {Maker::arg(a), Maker::arg(b)};
    return b >= 0;
  };
  o.eval = [=](const Statement&, const Inputs& in, Arrays& out) {
    Array y(solver_dtype(in), {1, 2});
    if (in[0]->shape != Extents{2, 1, 2} || in[1]->shape != Extents{2}) throw Unfit();
    Jet m[4];
    const Jet det = system(*in[0], m), p = (*in[1])[0].re, q = (*in[1])[1].re;
    y[0] = Num(rounded((m[3] * p - m[1] * q) / det, 16));
    y[1] = Num(rounded((m[0] * q - m[2] * p) / det, 16));
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::tensorsolve(a[0], a[1]));
  };
  t.push_back(o);

  o.name = "tensorinv";
  o.make = [](Maker& m, Statement& s) {
    const int a = partner(m, {1, 2, 2});
    s.args = {Maker::arg(a)};
    return a >= 0;
  };
  o.eval = [=](const Statement&, const Inputs& in, Arrays& out) {
    Array y(solver_dtype(in), {2, 1, 2});
    if (in[0]->shape != Extents{1, 2, 2}) throw Unfit();
    Jet m[4];
    const Jet det = system(*in[0], m), all[] = {m[3], -m[1], -m[2], m[0]};
    for (std::int64_t i = 0; i < 4; ++i) y[i] = Num(rounded(all[at(i)] / det, 16));
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::tensorinv(a[0])); };
  t.push_back(std::move(o));
}

}  // namespace

void add_matrix_products(std::vector<Op>& t) {
  for (const ProductOp& op : product_ops) add(t, op);
  add_multi_dot(t);
  add_power(t);
  add_norms(t);
  add_tensor_systems(t);
}

}  // namespace random_programs
