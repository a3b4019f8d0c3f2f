// Functions of matrices and equations of matrices: operands and calls.
#include <reel/linalg.hpp>

#include "../matrices.hpp"

namespace random_programs {

namespace {

using reel::Tensor;

// Functions of symmetric matrices without eigenvalues, so that equal ones are like others.
Matrix exponential_of_half(MatrixRef a) { return exponential(symmetrised(a)); }
Matrix cube_of_half(MatrixRef a) { return symmetrised(a) * symmetrised(a) * symmetrised(a); }
Matrix inverse_of_half(MatrixRef a) { return inverse(symmetrised(a)); }
// The sum of what each coefficient of e alone gives, each rounded at its own size: the parts may cancel.
Matrix settled_exponential_along(MatrixRef a, MatrixRef e) {
  Matrix sum(a.rows, a.rows);
  for (int k = 0; k < Jet::count; ++k) {
    Matrix part = e;
    for (Jet& x : part.values)
      for (int m = 0; m < Jet::count; ++m)
        if (m != k) x.v[m] = 0, x.e[m] = 0;
    part = settling(exponential_along<Jet>, 200, true)(require_small(a, 6), part);
    const Exactly exactly;
    sum = sum_of(sum, 1, part);
  }
  return sum;
}

template <bool Dominant>
bool make_matrix(Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 2);
  const int a = Dominant ? dominant_matrix(m, n) : real_value(m, {n, n});
  s.args = {Maker::arg(a)};
  return a >= 0;
}
template <class F>
void add_function(std::vector<Op>& t, const char* name, F f, Call call) {
  t.push_back(row_op<Jet>(
      name, make_matrix<false>, real_dtype,
      [f](JetArrays x, const Statement&) {
        return each(x[0], [&](MatrixRef a) { return settling(f, 200, true)(require_small(a, 6)); });
      },
      call));
}
// Of matrices with eigenvalues to the right of 0.
template <class F>
void add_of_dominant(std::vector<Op>& t, const char* name, F f, Call call) {
  t.push_back(row_op<Jet>(
      name, make_matrix<true>, real_dtype,
      [f](JetArrays x, const Statement&) {
        return each(x[0], [&](MatrixRef a) { return settling(f, 200, true)(require_dominant(require_small(a, 6))); });
      },
      call));
}
bool make_along(Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 2);
  const int a = real_value(m, {n, n}), e = a < 0 ? -1 : real_value(m, {n, n});
  s.args = {Maker::arg(a), Maker::arg(e)};
  return e >= 0;
}
bool make_sylvester(Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 2), k = m.between(1, 2);
  const int a = dominant_matrix(m, n), b = a < 0 ? -1 : dominant_matrix(m, k), q = b < 0 ? -1 : real_value(m, {n, k});
  s.args = {Maker::arg(a), Maker::arg(b), Maker::arg(q)};
  return q >= 0;
}
bool make_lyapunov(Maker& m, Statement& s) {
  const std::int64_t n = m.between(1, 2);
  const int a = dominant_matrix(m, n), q = a < 0 ? -1 : real_value(m, {n, n});
  s.args = {Maker::arg(a), Maker::arg(q)};
  return q >= 0;
}
Matrix dominant_solution(MatrixRef a, MatrixRef b, MatrixRef q) {
  return settling(sylvester_solution<Jet>, 200, true)(require_dominant(a), require_dominant(b), q);
}
Matrix lyapunov_solution(MatrixRef a, MatrixRef q) {
  return settling(sylvester_solution<Jet>, 200, true)(require_dominant(a), transposed(a), q);
}

}  // namespace

void add_matrix_functions(std::vector<Op>& t) {
  using reel::symmetric_function;
  add_function(t, "expm", exponential<Jet>, REEL_CALL(reel::expm(x[0])));
  add_of_dominant(t, "sqrtm", root<Jet>, REEL_CALL(reel::sqrtm(x[0])));
  add_of_dominant(t, "logm", logarithm<Jet>, REEL_CALL(reel::logm(x[0])));
  add_function(t, "symmetric_function exp", exponential_of_half,
               REEL_CALL(symmetric_function(x[0], [](const Tensor& w) { return reel::exp(w); })));
  add_function(t, "symmetric_function cube", cube_of_half,
               REEL_CALL(symmetric_function(x[0], [](const Tensor& w) { return w * w * w; })));
  add_of_dominant(t, "symmetric_function reciprocal", inverse_of_half,
                  REEL_CALL(symmetric_function(x[0], [](const Tensor& w) { return 1 / w; })));
  t.push_back(row_op<Jet>(
      "expm_frechet", make_along, real_dtype,
      [](JetArrays x, const Statement&) {
        return each({x[0], x[1]}, {2, 2}, settled_exponential_along);
      },
      REEL_CALL(reel::expm_frechet(x[0], x[1]))));
  t.push_back(row_op<Jet>(
      "sylvester", make_sylvester, real_dtype,
      [](JetArrays x, const Statement&) {
        return each({x[0], x[1], x[2]}, {2, 2, 2}, dominant_solution);
      },
      REEL_CALL(reel::sylvester(x[0], x[1], x[2]))));
  t.push_back(row_op<Jet>(
      "lyapunov", make_lyapunov, real_dtype,
      [](JetArrays x, const Statement&) {
        return each({x[0], x[1]}, {2, 2}, lyapunov_solution);
      },
      REEL_CALL(reel::lyapunov(x[0], x[1]))));
}

}  // namespace random_programs
