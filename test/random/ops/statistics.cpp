// Differences, scans by a function, averages, covariances, distances and limits: their operands and calls.
#include "../../op_cases/references/statistics.hpp"

#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using X = ArraysOf<Jet>;
using S = Statement;
using Row = std::vector<Jet>;

DType first_dtype(const Inputs& in) {
  if (reel::is_complex(in[0]->dtype)) throw Unfit();
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
constexpr Traits in_bodies{.weight = 1, .body = true};

// ---- Along the last axis. ints: a number, a flag.

bool make_along(Maker& m, S& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  s.ints = {m.between(0, 2), m.chance(0.5)};
  s.reals = {m.chance(0.5) ? 1.0 : 0.5};
  s.args = {Maker::arg(x)};
  return true;
}
Op along(const char* name, Row (*f)(const Row& row, const S& s), Call call) {
  return row_op<Jet>(
      name, make_along, first_dtype,
      [=](X x, const S& s) { return cases::along(x[0], -1, [&](const Row& row) { return f(row, s); }); }, call,
      in_bodies);
}
// ediff1d of each row, as the rows of a result.
Tensor differences_of_rows(const reel::Operand& operand) {
  const Tensor x = operand.tensor();
  std::vector<Tensor> rows;
  for (const Tensor& row : reel::unstack(reel::reshape(x, {-1, x.shape()[-1]}), 0)) rows.push_back(reel::ediff1d(row));
  reel::Shape shape = x.shape();
  shape[-1] -= 1;
  return reel::reshape(reel::stack(rows, 0), shape);
}
Tensor times(const Tensor& a, const Tensor& b) { return a * b; }

// clang-format off
void add_along(std::vector<Op>& t) {
  t.push_back(along("ediff1d", [](const Row& row, const S&) { return cases::differences_of(row, 1); }, REEL_CALL(differences_of_rows(x[0]))));
  t.push_back(along("diff", [](const Row& row, const S& s) { return cases::differences_of(row, s.ints[0]); }, REEL_CALL(reel::diff(x[0], i[0]))));
  t.push_back(along("gradient_along", [](const Row& row, const S& s) { return cases::slopes_of(row, cases::coordinates_of(row.size(), Jet(s.reals[0])), false); },
      REEL_CALL(reel::gradient_along(x[0], -1, r[0]))));
  t.push_back(along("associative_scan", [](const Row& row, const S& s) { return cases::cumprod_of(row, false, s.ints[1]); },
      REEL_CALL(reel::associative_scan(times, x[0], -1, i[1] != 0))));
  t.push_back(along("isotonic_regression", [](const Row& row, const S& s) { return cases::isotonic_of(row, s.ints[1] != 0); },
      REEL_CALL(reel::isotonic_regression(x[0], i[1] != 0))));
}
// clang-format on

// ---- Of the rows of a matrix.

bool make_rows(Maker& m, S& s) {
  const int x = m.floating(2, 2);
  s.args = {Maker::arg(x)};
  return x >= 0 && m.at(x).size() > 0;
}
ArrayOf<Jet> twice(const ArrayOf<Jet>& x) {
  return cases::build<Jet>(x.shape, [&](const auto& i) { return cases::at(x, i) * Jet(2); });
}
// clang-format off
void add_rows(std::vector<Op>& t) {
  t.push_back(row_op<Jet>("cov", make_rows, first_dtype, [](X x, const S&) { return cases::covariances_of(x[0], 1, false); }, REEL_CALL(reel::cov(x[0])), in_bodies));
  t.push_back(row_op<Jet>("corrcoef", make_rows, first_dtype, [](X x, const S&) { return cases::covariances_of(x[0], 1, true); },
      REEL_CALL(reel::corrcoef(x[0])), in_bodies));
  t.push_back(row_op<Jet>("pdist", make_rows, first_dtype, [](X x, const S&) { return cases::pdist_of(x[0]); }, REEL_CALL(reel::pdist(x[0])), in_bodies));
  t.push_back(row_op<Jet>("cdist", make_rows, first_dtype, [](X x, const S&) { const ArrayOf<Jet> both[] = {x[0], twice(x[0])}; return cases::cdist_of(X(both), 2); },
      REEL_CALL(reel::cdist(x[0], reel::identity(x[0]) * 2)), in_bodies));
}
// clang-format on

// ---- Of x and another array of its shape, along the last axis: weights, or a mask where it is above 0.

bool make_weighted(Maker& m, S& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  int w = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.shape == m.at(x).shape; });
  if (w < 0) w = m.input(Role::constant, m.at(x).dtype, m.at(x).shape);
  s.args = {Maker::arg(x), Maker::arg(w)};
  return w >= 0;
}
// clang-format off
void add_weighted(std::vector<Op>& t) {
  t.push_back(row_op<Jet>("average", make_weighted, first_dtype, [](X x, const S&) { return cases::reduce_along(x, -1, [](const auto& rows) { return cases::weighted_mean_of(rows[0], rows[1]); }); },
      REEL_CALL(reel::average(x[0], x[1], -1)), in_bodies));
  t.push_back(row_op<Jet>("masked_softmax", make_weighted, first_dtype, [](X x, const S&) { return cases::along_all(x, -1, [](const auto& rows) { return cases::masked_softmax_of(rows[0], rows[1]); }); },
      REEL_CALL(reel::masked_softmax(x[0], reel::greater(x[1], 0))), in_bodies));
  t.push_back(row_op<Jet>("weighted_logsumexp", make_weighted, first_dtype, [](X x, const S&) { return cases::reduce_along(x, -1, [](const auto& rows) { return cases::weighted_log_sum_exp_of(rows[0], rows[1]); }); },
      REEL_CALL(reel::weighted_logsumexp(x[0], x[1], -1).log), in_bodies));
  t.push_back(row_op<Jet>("clip_by_norm", make_weighted, first_dtype, [](X x, const S&) { return cases::along(x[0], -1, [](const Row& row) { return cases::clipped_by_norm(row, Jet(1)); }); },
      REEL_CALL(reel::clip_by_norm(x[0], 1.0, -1)), in_bodies));
}
// clang-format on

}  // namespace

void add_statistics(std::vector<Op>& t) {
  add_along(t);
  add_rows(t);
  add_weighted(t);
}

}  // namespace random_programs
