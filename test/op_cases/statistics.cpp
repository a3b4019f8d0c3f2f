// Rows of the ops of <reel/ops/statistics.hpp>.
#include <algorithm>
#include <limits>
#include <reel/ops/statistics.hpp>

#include "naive.hpp"

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
Real mean_of(const Row& r) { return total(r) / static_cast<Real>(r.size()); }
Real variance_of(const Row& r, Real ddof) {
  Real sum = 0;
  for (const Real v : r) sum += (v - mean_of(r)) * (v - mean_of(r));
  return sum / (static_cast<Real>(r.size()) - ddof);
}
Real product_of(const Row& r) {
  Real y = 1;
  for (const Real v : r) y *= v;
  return y;
}
Real largest(const Row& r) { return r.empty() ? std::nan("") : *std::max_element(r.begin(), r.end()); }
Real smallest(const Row& r) { return r.empty() ? std::nan("") : *std::min_element(r.begin(), r.end()); }
template <class F>
Array without_nan(A x, std::vector<int> axes, bool keepdims, F f) {
  return fold(x[0], std::move(axes), keepdims, [&](const Row& r) { return f(numbers(r)); });
}

Tensor positive(const Tensor& drawn, std::size_t operand) { return operand == 1 ? abs(drawn) + 0.25 : drawn; }
Tensor norm_limit(const Tensor& drawn, std::size_t operand) { return operand == 1 ? abs(drawn) * 0 + 1.5 : drawn; }

Real covariance(const Array& x, std::int64_t i, std::int64_t j, Real ddof) {
  const std::int64_t n = x.shape[1];
  Real mi = 0, mj = 0, sum = 0;
  for (std::int64_t k = 0; k < n; ++k)
    mi += at(x, {i, k}) / static_cast<Real>(n), mj += at(x, {j, k}) / static_cast<Real>(n);
  for (std::int64_t k = 0; k < n; ++k) sum += (at(x, {i, k}) - mi) * (at(x, {j, k}) - mj);
  return sum / (static_cast<Real>(n) - ddof);
}
// Rows of the mask x[1] > 0; an empty row gives zeros.
Array masked_rows(const Array& x, const Array& mask) {
  return build(x.shape, [&](const Index& i) {
    const auto allowed = [&](std::int64_t k) {
      return (mask.shape.rank() == 1 ? at(mask, {k}) : at(mask, {i[0], k})) > 0;
    };
    Real sum = 0;
    for (std::int64_t k = 0; k < x.shape[1]; ++k) sum += allowed(k) ? std::exp(at(x, {i[0], k})) : 0;
    return allowed(i[1]) ? std::exp(at(x, i)) / sum : 0;
  });
}
Real distance(const Row& v, double p) {
  Real sum = 0;
  for (const Real e : v)
    sum = std::isinf(p) ? std::max(sum, std::abs(e)) : sum + std::pow(std::abs(e), static_cast<Real>(p));
  return std::isinf(p) ? sum : std::pow(sum, 1 / static_cast<Real>(p));
}
Row difference(const Array& x, const Array& y, Index i, Index j) {
  Row v;
  i.push_back(0);
  j.push_back(0);
  for (std::int64_t k = 0; k < x.shape[-1]; ++k) {
    i.back() = j.back() = k;
    v.push_back(at(x, i) - at(y, j));
  }
  return v;
}
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
  const bool batched = x[0].shape.rank() == 3 || x[1].shape.rank() == 3;
  Shape shape{x[0].shape[-2], x[1].shape[-2]};
  if (batched) shape.insert(0, x[0].shape.rank() == 3 ? x[0].shape[0] : x[1].shape[0]);
  return build(shape, [&](const Index& i) {
    Index a{i[i.size() - 2]}, b{i.back()};
    if (x[0].shape.rank() == 3) a.insert(a.begin(), i[0]);
    if (x[1].shape.rank() == 3) b.insert(b.begin(), i[0]);
    return distance(difference(x[0], x[1], a, b), order<P>);
  });
}
// The nearest nondecreasing row: the largest over starts of the smallest over ends of means (Barlow et al. 1972, 1.4).
Row isotonic(const Row& r) {
  Row y;
  for (std::size_t i = 0; i < r.size(); ++i) {
    Real best = -INFINITY;
    for (std::size_t s = 0; s <= i; ++s) {
      Real least = INFINITY;
      for (std::size_t t = i + 1; t <= r.size(); ++t)
        least = std::min(least, mean_of(Row(r.begin() + static_cast<std::ptrdiff_t>(s),
                                            r.begin() + static_cast<std::ptrdiff_t>(t))));
      best = std::max(best, least);
    }
    y.push_back(best);
  }
  return y;
}
Row negated(Row r) {
  for (Real& v : r) v = -v;
  return r;
}

// clang-format off
constexpr Shaped rows[] = {
    {"nansum", "7;3x4", [](X x) { return nansum(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, total); }, {-2, 2}, nullptr, none, 2},
    {"nanprod", "4x3", [](X x) { return nanprod(with_nan(x[0]), 0); }, [](A x) { return without_nan(x, {0}, false, product_of); }, {-2, 2}, nullptr, none, 2},
    {"nanmean", "7;3x4", [](X x) { return nanmean(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, mean_of); }, {-2, 1.4}, nullptr, none, 2},
    {"nanmean", "5x3", [](X x) { return nanmean(with_nan(x[0]), 0, true); }, [](A x) { return without_nan(x, {0}, true, mean_of); }, {-2, 1.4}, nullptr, none, 2},
    {"nanmax", "7;3x4", [](X x) { return nanmax(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, largest); }},
    {"nanmax", "5x3", [](X x) { return nanmax(with_nan(x[0]), 0, true); }, [](A x) { return without_nan(x, {0}, true, largest); }, {-2, 1.4}},
    {"nanmin", "2x3x2", [](X x) { return nanmin(with_nan(x[0]), {0, 2}); }, [](A x) { return without_nan(x, {0, 2}, false, smallest); }, {-2, 1.4}},
    {"nanvar", "9;3x4", [](X x) { return nanvar(with_nan(x[0])); }, [](A x) { return without_nan(x, {}, false, [](const Row& r) { return variance_of(r, 0); }); }, {-2, 1.4}, nullptr, none, 8},
    {"nanvar", "6x2", [](X x) { return nanvar(with_nan(x[0]), 0, 1, true); }, [](A x) { return without_nan(x, {0}, true, [](const Row& r) { return variance_of(r, 1); }); }, {-2, 1.2}, nullptr, none, 8},
    {"nanstd", "6x2", [](X x) { return nanstd(with_nan(x[0]), 0, 1); }, [](A x) { return without_nan(x, {0}, false, [](const Row& r) { return std::sqrt(variance_of(r, 1)); }); }, {-2, 1.2}, nullptr, none, 16},
    {"average", "3x4,3x4;3x4,4", [](X x) { return average(x[0], x[1]); },
      [](A x) { Real sum = 0, all = 0; for_each_index(x[0].shape, [&](const Index& i) { const Real w = x[1].shape.rank() == 2 ? at(x[1], i) : x[1].shape.rank() == 1 ? at(x[1], {i[1]}) : x[1].values[0]; sum += w * at(x[0], i); all += w; }); return Array{{}, {sum / all}}; }, {-2, 2}, positive, none, 4},
    {"average", "3x4,3", [](X x) { return average(x[0], x[1], 0, true); }, [](A x) { return fold(x[0], {0}, true, [&](const Row& r) { Real sum = 0; for (std::size_t k = 0; k < r.size(); ++k) sum += r[k] * x[1].values[k]; return sum / total(x[1].values); }); }, {-2, 2}, positive, none, 4},
    {"ptp", "7;3x4", [](X x) { return ptp(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return largest(r) - smallest(r); }); }},
    {"ptp", "4x3", [](X x) { return ptp(x[0], 0, true); }, [](A x) { return fold(x[0], {0}, true, [](const Row& r) { return largest(r) - smallest(r); }); }},
    {"cov", "3x5", [](X x) { return cov(x[0]); }, [](A x) { return build({3, 3}, [&](const Index& i) { return covariance(x[0], i[0], i[1], 1); }); }, {-2, 2}, nullptr, none, 8},
    {"cov", "6", [](X x) { return cov(x[0], 0); }, [](A x) { return Array{{}, {variance_of(x[0].values, 0)}}; }, {-2, 2}, nullptr, none, 8},
    {"corrcoef", "3x5", [](X x) { return corrcoef(x[0]); }, [](A x) { return build({3, 3}, [&](const Index& i) { return covariance(x[0], i[0], i[1], 1) / std::sqrt(covariance(x[0], i[0], i[0], 1) * covariance(x[0], i[1], i[1], 1)); }); }, {-2, 2}, nullptr, none, 16},
    {"masked_softmax", "3x4,3x4;2x5,5", [](X x) { return masked_softmax(x[0], greater(stop_gradient(x[1]), 0)); }, [](A x) { return masked_rows(x[0], x[1]); }, {-2, 2}, nullptr, none, 4},
    {"weighted_logsumexp", "3x4,3x4;3x4,4;5,()", [](X x) { return weighted_logsumexp(x[0], x[1]).log; },
      [](A x) { Real sum = 0; for_each_index(x[0].shape, [&](const Index& i) { sum += std::exp(at(x[0], i)) * (x[1].shape.rank() == x[0].shape.rank() ? at(x[1], i) : x[1].shape.rank() == 1 ? at(x[1], {i[1]}) : x[1].values[0]); }); return Array{{}, {std::log(sum)}}; }, {-2, 2}, positive, none, 8},
    {"weighted_logsumexp", "3x4", [](X x) { return weighted_logsumexp(x[0], -0.5, -1, true).log; }, [](A x) { return fold(x[0], {-1}, true, [](const Row& r) { Real sum = 0; for (const Real v : r) sum += std::exp(v); return std::log(sum / 2); }); }, {-2, 2}, nullptr, none, 32},
    {"weighted_logsumexp", "2x3,2x3", [](X x) { return weighted_logsumexp(x[0], x[1], 1).sign; }, [](A x) { Array y{{2}, {}}; for (std::int64_t i = 0; i < 2; ++i) { Real sum = 0; for (std::int64_t k = 0; k < 3; ++k) sum += std::exp(at(x[0], {i, k})) * at(x[1], {i, k}); y.values.push_back(sum < 0 ? -1 : 1); } return y; }, {-2, 2}, nullptr, constant},
    {"clip_by_norm", "4,();2x3,()", [](X x) { return clip_by_norm(x[0], x[1]); }, [](A x) { Array y = x[0]; Real n = 0; for (const Real v : y.values) n += v * v; n = std::sqrt(n); if (n > x[1].values[0]) for (Real& v : y.values) v *= x[1].values[0] / n; return y; }, {-2, 2}, norm_limit, none, 4},
    {"clip_by_norm", "3x4", [](X x) { return clip_by_norm(x[0], 1.5, 1); }, [](A x) { return along(x[0], 1, [](Row r) { Real n = 0; for (const Real v : r) n += v * v; n = std::sqrt(n); if (n > 1.5L) for (Real& v : r) v *= 1.5L / n; return r; }); }, {-2, 2}, nullptr, none, 4},
    {"cdist", "3x2,4x2;2x3x2,3x2;2x2,2x3x2;0x2,3x2;2x5,1x5", distances<2>, distances<2>, {-2, 2}, nullptr, none, 8},
    {"cdist", "3x2,2x2", distances<1>, distances<1>, {-2, 2}, nullptr, none, 4},
    {"cdist", "3x3,2x3", distances<0>, distances<0>},
    {"cdist", "3x3,2x3", distances<3>, distances<3>, {-2, 2}, nullptr, none, 16},
    {"cdist", "2x3,2x3", distances<15>, distances<15>, {-2, 2}, nullptr, none, 64},
    {"pdist", "4x2;1x3", [](X x) { return pdist(x[0]); }, [](A x) { Array y{{}, {}}; const std::int64_t n = x[0].shape[0]; for (std::int64_t i = 0; i < n; ++i) for (std::int64_t j = i + 1; j < n; ++j) y.values.push_back(distance(difference(x[0], x[0], {i}, {j}), 2)); y.shape = {static_cast<std::int64_t>(y.values.size())}; return y; }, {-2, 2}, nullptr, none, 8},
    {"isotonic_regression", "9;2x5;1;2x0", [](X x) { return isotonic_regression(x[0]); }, [](A x) { return along(x[0], -1, isotonic); }, {-2, 2}, nullptr, none, 4},
    {"isotonic_regression", "3x4", [](X x) { return isotonic_regression(x[0], false); }, [](A x) { return along(x[0], -1, [](const Row& r) { return negated(isotonic(negated(r))); }); }, {-2, 2}, nullptr, none, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> statistics() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
