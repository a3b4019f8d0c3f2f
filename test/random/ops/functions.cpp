// Functions of matrices by series and Newton's iteration, equations of matrices as systems for their elements.
#include <reel/linalg.hpp>

#include "jet_matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;

// All with the precision of long double; roundings of the library are added at the end.
Matrix exponential(const Matrix& a) {
  const Exactly exactly;
  Matrix y = unit_matrix(a.size()), term = y;
  for (int k = 1; k < 34; ++k) {
    term = term * a;
    for (auto& row : term)
      for (Jet& x : row) x = x * Jet(std::ldexp(Real(1), -5) / k);
    y = sum_of(y, 1, term);
  }
  for (int k = 0; k < 5; ++k) y = y * y;
  return y;
}
Matrix root(const Matrix& a) {
  const Exactly exactly;
  const Matrix one = unit_matrix(a.size()), zero = jet_matrix(a.size(), a.size());
  Matrix y = a, z = one;
  for (int k = 0; k < 12; ++k) {
    const Matrix next = sum_of(sum_of(zero, 0.5L, y), 0.5L, solved(z, one));
    z = sum_of(sum_of(zero, 0.5L, z), 0.5L, solved(y, one));
    y = next;
  }
  return y;
}
Matrix logarithm(const Matrix& a) {
  const Exactly exactly;
  const Matrix one = unit_matrix(a.size());
  const Matrix r = root(root(root(a))), q = solved(sum_of(r, 1, one), sum_of(r, -1, one)), square = q * q;
  Matrix power = q, y = sum_of(jet_matrix(a.size(), a.size()), 16, q);
  for (int k = 3; k < 50; k += 2) {
    power = power * square;
    y = sum_of(y, Real(16) / k, power);
  }
  return y;
}
Matrix sylvester_solution(const Matrix& a, const Matrix& b, const Matrix& q) {
  const Exactly exactly;
  const std::size_t n = a.size(), m = b.size();
  Matrix system = jet_matrix(n * m, n * m), right = jet_matrix(n * m, 1), x = jet_matrix(n, m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      right[i * m + j][0] = q[i][j];
      for (std::size_t k = 0; k < n; ++k) system[i * m + j][k * m + j] += a[i][k];
      for (std::size_t k = 0; k < m; ++k) system[i * m + j][i * m + k] += b[k][j];
    }
  const Matrix vector = solved(system, right);
  for (std::size_t i = 0; i < n * m; ++i) x[i / m][i % m] = vector[i][0];
  return x;
}

Matrix hermitian(const Matrix& a) {
  Matrix y = jet_matrix(a.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a.size(); ++j) y[i][j] = (a[i][j] + a[j][i]) * Jet(0.5L);
  return y;
}
// Functions of symmetric matrices without eigenvalues, so that equal ones are like others.
Matrix exponential_of_half(const Matrix& a) { return exponential(hermitian(a)); }
Matrix cube_of_half(const Matrix& a) {
  const Exactly exactly;
  const Matrix h = hermitian(a);
  return h * h * h;
}
Matrix inverse_of_half(const Matrix& a) {
  const Exactly exactly;
  return solved(hermitian(a), unit_matrix(a.size()));
}

struct FunctionOp {
  const char* name;
  bool dominant;
  Matrix (*eval)(const Matrix& a);
  Tensor (*call)(const reel::Operand& a);
};
Tensor by_exp(const reel::Operand& a) {
  return reel::symmetric_function(a, [](const Tensor& w) { return reel::exp(w); });
}
Tensor by_cube(const reel::Operand& a) {
  return reel::symmetric_function(a, [](const Tensor& w) { return w * w * w; });
}
Tensor by_reciprocal(const reel::Operand& a) {
  return reel::symmetric_function(a, [](const Tensor& w) { return 1 / w; });
}
constexpr FunctionOp function_ops[] = {{"expm", false, exponential, reel::expm},
                                       {"sqrtm", true, root, reel::sqrtm},
                                       {"logm", true, logarithm, reel::logm},
                                       {"symmetric_function exp", false, exponential_of_half, by_exp},
                                       {"symmetric_function cube", false, cube_of_half, by_cube},
                                       {"symmetric_function reciprocal", true, inverse_of_half, by_reciprocal}};

void add(std::vector<Op>& t, const FunctionOp& op) {
  Op o;
  o.name = op.name;
  o.make = [&op](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = op.dominant ? dominant_matrix(m, n) : real_value(m, {n, n});
    s.args = {Maker::arg(a)};
    return a >= 0;
  };
  o.eval = [&op](const Statement&, const Inputs& in, Arrays& out) {
    Array y(real_dtype(in), in[0]->shape);
    const Matrix a = matrix(*in[0]);
    for (const auto& row : a)
      for (const Jet& x : row)
        if (!(std::fabs(x.v[0]) < 6)) throw Unfit();
    if (op.dominant) require_dominant(a, 0.5L);
    Matrix z = op.eval(a);
    settle(z, 200);
    store(z, y);
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(op.call(a[0])); };
  t.push_back(std::move(o));
}

// The upper right block of the exponential of [a, e; 0, a].
Matrix frechet(const Matrix& a, const Matrix& e) {
  const std::size_t n = a.size();
  Matrix block = jet_matrix(2 * n, 2 * n), z = jet_matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      block[i][j] = block[i + n][j + n] = a[i][j];
      block[i][j + n] = e[i][j];
    }
  block = exponential(block);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) z[i][j] = block[i][j + n];
  return z;
}
// The sum of what each coefficient of e alone gives, each rounded at its own size: the parts may cancel.
Matrix settled_frechet(const Matrix& a, const Matrix& e) {
  Matrix sum = jet_matrix(a.size(), a.size());
  for (int k = 0; k < Jet::count; ++k) {
    Matrix part = e;
    for (auto& row : part)
      for (Jet& x : row)
        for (int m = 0; m < Jet::count; ++m)
          if (m != k) x.v[m] = 0, x.e[m] = 0;
    part = frechet(a, part);
    settle(part, 200);
    const Exactly exactly;
    sum = sum_of(sum, 1, part);
  }
  return sum;
}
void add_frechet(std::vector<Op>& t) {
  Op o;
  o.name = "expm_frechet";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = real_value(m, {n, n}), e = a < 0 ? -1 : real_value(m, {n, n});
    s.args = {Maker::arg(a), Maker::arg(e)};
    return e >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(real_dtype(in), in[0]->shape);
    const Matrix a = matrix(*in[0]);
    for (const auto& row : a)
      for (const Jet& x : row)
        if (!(std::fabs(x.v[0]) < 6)) throw Unfit();
    store(settled_frechet(a, matrix(*in[1])), y);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::expm_frechet(a[0], a[1]));
  };
  t.push_back(std::move(o));
}

void add_equations(std::vector<Op>& t) {
  Op o;
  o.name = "sylvester";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2), k = m.between(1, 2);
    const int a = dominant_matrix(m, n), b = a < 0 ? -1 : dominant_matrix(m, k), q = b < 0 ? -1 : real_value(m, {n, k});
    s.args = {Maker::arg(a), Maker::arg(b), Maker::arg(q)};
    return q >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(real_dtype(in), in[2]->shape);
    const Matrix a = matrix(*in[0]), b = matrix(*in[1]);
    require_dominant(a, 0.5L);
    require_dominant(b, 0.5L);
    Matrix x = sylvester_solution(a, b, matrix(*in[2]));
    settle(x, 200);
    store(x, y);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::sylvester(a[0], a[1], a[2]));
  };
  t.push_back(o);

  o.name = "lyapunov";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t n = m.between(1, 2);
    const int a = dominant_matrix(m, n), q = a < 0 ? -1 : real_value(m, {n, n});
    s.args = {Maker::arg(a), Maker::arg(q)};
    return q >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(real_dtype(in), in[1]->shape);
    const Matrix a = matrix(*in[0]);
    require_dominant(a, 0.5L);
    Matrix flipped = a;
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) flipped[i][j] = a[j][i];
    Matrix x = sylvester_solution(a, flipped, matrix(*in[1]));
    settle(x, 200);
    store(x, y);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::lyapunov(a[0], a[1]));
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_matrix_functions(std::vector<Op>& t) {
  for (const FunctionOp& op : function_ops) add(t, op);
  add_frechet(t);
  add_equations(t);
}

}  // namespace random_programs
