// Rows of the ops of <reel/ops/statistics.hpp>.
#include "references/statistics.hpp"

#include <limits>
#include <reel/ops/statistics.hpp>

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// NaN above 1, in tensors and in rows.
Tensor with_nan(const Tensor& x) { return where(greater(x, 1.0), std::nan(""), x); }
Row numbers(const Row& r) {
  Row y;
  for (const Real v : r)
    if (!(v > 1)) y.push_back(v);
  return y;
}
template <class F>
Array without_nan(A x, std::vector<int> axes, bool keepdims, F f) {
  return fold(x[0], std::move(axes), keepdims, [&](const Row& r) { return f(numbers(r)); });
}

Tensor positive(const Tensor& drawn, std::size_t operand) { return operand == 1 ? abs(drawn) + 0.25 : drawn; }
Tensor norm_limit(const Tensor& drawn, std::size_t operand) { return operand == 1 ? abs(drawn) * 0 + 1.5 : drawn; }

constexpr double infinity = std::numeric_limits<double>::infinity();
template <int P>
constexpr double order = P == 0    ? infinity
                         : P == 15 ? 1.5
                                   : P;
template <int P>
Tensor distances(X x) {
  return cdist(x[0], x[1], order<P>);
}
template <int P>
Array distances(A x) {
  return cdist_of(x, order<P>);
}
// f of all elements of both operands, which broadcast.
template <class F>
Array of_all(A x, F f) {
  const Array both = by_elements(x, [](const Real*v) { return v[0]; }),
              w = by_elements(x, [](const Real*v) { return v[1]; });
  return {{}, {f(both.values, w.values)}};
}

// clang-format off
constexpr Shaped rows[] = {
    {"nansum", "7;3x4", [](X x) { return nansum(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, total); }, {-2, 2}, nullptr, none, 2},
    {"nanprod", "4x3", [](X x) { return nanprod(with_nan(x[0]), 0); }, [](A x) { return without_nan(x, {0}, false, product_of); }, {-2, 2}, nullptr, none, 2},
    {"nanmean", "7;3x4", [](X x) { return nanmean(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, mean_of); }, {-2, 1.4}, nullptr, none, 2},
    {"nanmean", "5x3", [](X x) { return nanmean(with_nan(x[0]), 0, true); }, [](A x) { return without_nan(x, {0}, true, mean_of); }, {-2, 1.4}, nullptr, none, 2},
    {"nanmax", "7;3x4", [](X x) { return nanmax(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, largest_of); }},
    {"nanmax", "5x3", [](X x) { return nanmax(with_nan(x[0]), 0, true); }, [](A x) { return without_nan(x, {0}, true, largest_of); }, {-2, 1.4}},
    {"nanmin", "2x3x2", [](X x) { return nanmin(with_nan(x[0]), {0, 2}); }, [](A x) { return without_nan(x, {0, 2}, false, smallest_of); }, {-2, 1.4}},
    {"nanvar", "9;3x4", [](X x) { return nanvar(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, [](const Row& r) { return variance_of(r, 0); }); }, {-2, 1.4}, nullptr, none, 8},
    {"nanvar", "6x2", [](X x) { return nanvar(with_nan(x[0]), 0, 1, true); }, [](A x) { return without_nan(x, {0}, true, [](const Row& r) { return variance_of(r, 1); }); }, {-2, 1.2}, nullptr, none, 8},
    {"nanstd", "6x2", [](X x) { return nanstd(with_nan(x[0]), 0, 1); }, [](A x) { return without_nan(x, {0}, false, [](const Row& r) { return deviation_of(r, 1); }); }, {-2, 1.2}, nullptr, none, 16},
    {"average", "3x4,3x4;3x4,4", [](X x) { return average(x[0], x[1]); },
      [](A x) { return of_all(x, weighted_mean_of<Real>); }, {-2, 2}, positive, none, 4},
    {"average", "3x4,3", [](X x) { return average(x[0], x[1], 0, true); }, [](A x) { return fold(x[0], {0}, true, [&](const Row& r) { return weighted_mean_of(r, x[1].values); }); }, {-2, 2}, positive, none, 4},
    {"ptp", "7;3x4", [](X x) { return ptp(x[0]); }, [](A x) { return fold(x[0], {}, false, range_of); }},
    {"ptp", "4x3", [](X x) { return ptp(x[0], 0, true); }, [](A x) { return fold(x[0], {0}, true, range_of); }},
    {"cov", "3x5", [](X x) { return cov(x[0]); }, [](A x) { return covariances_of(x[0], 1, false); }, {-2, 2}, nullptr, none, 8},
    {"cov", "6", [](X x) { return cov(x[0], 0); }, [](A x) { return Array{{}, {variance_of(x[0].values, 0)}}; }, {-2, 2}, nullptr, none, 8},
    {"corrcoef", "3x5", [](X x) { return corrcoef(x[0]); }, [](A x) { return covariances_of(x[0], 1, true); }, {-2, 2}, nullptr, none, 16},
    {"masked_softmax", "3x4,3x4;2x5,5", [](X x) { return masked_softmax(x[0], greater(stop_gradient(x[1]), 0)); }, [](A x) { return along_all(x, -1, [](const std::vector<Row>& r) { return masked_softmax_of(r[0], r[1]); }); }, {-2, 2}, nullptr, none, 4},
    {"weighted_logsumexp", "3x4,3x4;3x4,4;5,()", [](X x) { return weighted_logsumexp(x[0], x[1]).log; },
      [](A x) { return of_all(x, weighted_log_sum_exp_of<Real>); }, {-2, 2}, positive, none, 8},
    {"weighted_logsumexp", "3x4", [](X x) { return weighted_logsumexp(x[0], -0.5, -1, true).log; }, [](A x) { return fold(x[0], {-1}, true, [](const Row& r) { return weighted_log_sum_exp_of(r, Row(r.size(), -0.5L)); }); }, {-2, 2}, nullptr, none, 32},
    {"weighted_logsumexp", "2x3,2x3", [](X x) { return weighted_logsumexp(x[0], x[1], 1).sign; }, [](A x) { Array y{{2}, {}}; for (std::int64_t i = 0; i < 2; ++i) { Real sum = 0; for (std::int64_t k = 0; k < 3; ++k) sum += std::exp(at(x[0], {i, k})) * at(x[1], {i, k}); y.values.push_back(sum < 0 ? -1 : 1); } return y; }, {-2, 2}, nullptr, constant},
    {"clip_by_norm", "4,();2x3,()", [](X x) { return clip_by_norm(x[0], x[1]); }, [](A x) { return Array{x[0].shape, clipped_by_norm(x[0].values, x[1].values[0])}; }, {-2, 2}, norm_limit, none, 4},
    {"clip_by_norm", "3x4", [](X x) { return clip_by_norm(x[0], 1.5, 1); }, [](A x) { return along(x[0], 1, [](const Row& r) { return clipped_by_norm(r, 1.5L); }); }, {-2, 2}, nullptr, none, 4},
    {"cdist", "3x2,4x2;2x3x2,3x2;2x2,2x3x2;0x2,3x2;2x5,1x5", distances<2>, distances<2>, {-2, 2}, nullptr, none, 8},
    {"cdist", "3x2,2x2", distances<1>, distances<1>, {-2, 2}, nullptr, none, 4},
    {"cdist", "3x3,2x3", distances<0>, distances<0>},
    {"cdist", "3x3,2x3", distances<3>, distances<3>, {-2, 2}, nullptr, none, 16},
    {"cdist", "2x3,2x3", distances<15>, distances<15>, {-2, 2}, nullptr, none, 64},
    {"pdist", "4x2;1x3", [](X x) { return pdist(x[0]); }, [](A x) { return pdist_of(x[0]); }, {-2, 2}, nullptr, none, 8},
    {"isotonic_regression", "9;2x5;1;2x0", [](X x) { return isotonic_regression(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return isotonic_of(r, true); }); }, {-2, 2}, nullptr, none, 4},
    {"isotonic_regression", "3x4", [](X x) { return isotonic_regression(x[0], false); }, [](A x) { return along(x[0], -1, [](const Row& r) { return isotonic_of(r, false); }); }, {-2, 2}, nullptr, none, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> statistics() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
