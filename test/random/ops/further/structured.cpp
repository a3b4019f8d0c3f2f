// Banded and Toeplitz systems, and products, as dense ones; products of reflectors.
#include <reel/linalg.hpp>

#include "jet_matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;

// The dense matrix of operands of n elements each; the first operand is the main diagonal.
using Dense = JetMatrix (*)(const Inputs& in, std::size_t n);

JetMatrix banded(const Inputs& in, std::size_t n) {
  JetMatrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i <= j + 1 && j <= i + 1) a[i][j] = (*in[0])[static_cast<std::int64_t>((1 + i - j) * n + j)].re;
  return a;
}
JetMatrix lower_bidiagonal(const Inputs& in, std::size_t n) {
  JetMatrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i][i] = (*in[0])[static_cast<std::int64_t>(i)].re;
    if (i + 1 < n) a[i + 1][i] = (*in[0])[static_cast<std::int64_t>(n + i)].re;
  }
  return a;
}
JetMatrix tridiagonal(const Inputs& in, std::size_t n) {
  JetMatrix a = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    a[i][i] = (*in[1])[at].re;
    if (i + 1 < n) a[i + 1][i] = (*in[0])[at].re, a[i][i + 1] = (*in[2])[at].re;
  }
  return a;
}
JetMatrix toeplitz_of(const Inputs& in, std::size_t n) {
  JetMatrix a = jet_matrix(n, n);
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
    const JetMatrix a = dense(in, n);
    if (!product) require_dominant(a, 0.5L);
    JetMatrix x = jet_matrix(0, 0);
    {
      const Exactly exactly;
      x = product ? a * jets_of(b) : solved(a, jets_of(b));
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
    JetMatrix l = jet_matrix(2, static_cast<std::size_t>(n));
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
    JetMatrix v = jets_of(*in[0]), q = jet_matrix(m, n);
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
