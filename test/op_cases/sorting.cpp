// Rows of the ops of <reel/ops/sorting.hpp>.
#include "references/sorting.hpp"

#include <algorithm>
#include <reel/ops/sorting.hpp>

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Array without_axis(Array x, int axis) {
  x.shape.erase(axis < 0 ? axis + x.shape.rank() : axis);
  return x;
}
// The rows of all quantiles in front.
template <QuantileMethod M>
Array quantiles(A x) {
  const Array& q = x[1];
  Shape shape = q.shape;
  shape.push_back(x[0].shape[0]);
  Array y{shape, {}};
  for (const Real v : q.values)
    for (const Real z : fold(x[0], {-1}, false, [&](const Row& r) { return quantile_of(r, v, M); }).values)
      y.values.push_back(z);
  return y;
}
template <QuantileMethod M>
Tensor quantile_by(X x) {
  return quantile(x[0], x[1], -1, {.method = M});
}
// The second operand in (0, 1).
Tensor fractions(const Tensor& drawn, std::size_t operand) { return operand == 1 ? abs(drawn) * 0.49 : drawn; }
Tensor with_nan(const Tensor& drawn, std::size_t) { return where(drawn > 1.0, std::nan(""), drawn); }
Row numbers_of(const Row& r) {
  Row s;
  for (const Real v : r)
    if (!std::isnan(v)) s.push_back(v);
  return s;
}
// Along axis 0, of the elements up to 1, at q = 5 / 16.
template <QuantileMethod M>
Array nan_quantiles(A x) {
  return fold(x[0], {0}, false, [](Row r) {
    for (Real& v : r) v = v > 1 ? NAN : v;
    const Row s = numbers_of(r);
    return s.empty() ? NAN : quantile_of(s, 0.3125L, M);
  });
}
Tensor halves(const Tensor& x) { return trunc(x * 2) * 0.5; }

Array ascending(const Array& x) {
  return along(x, -1, [](const Row& r) { return sorted(r, false); });
}

// clang-format off
constexpr Shaped rows[] = {
    {"sort", "7;3x5;();2x0;1;40;300", [](X x) { return x[0].rank() == 0 ? sort(reshape(x[0], {1})) : sort(x[0]); }, [](A x) { return x[0].shape.rank() == 0 ? Array{{1}, x[0].values} : ascending(x[0]); }},
    {"sort", "4x3;2x5x3", [](X x) { return sort(x[0], -2, true); }, [](A x) { return along(x[0], -2, [](const Row& r) { return sorted(r, true); }); }},
    {"argsort", "7;3x5;0;300", [](X x) { return argsort(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return positions_of(r, false); }); }, {-2, 2}, nullptr, constant},
    {"argsort", "4x3", [](X x) { return argsort(halves(x[0]), 0, true); }, [](A x) { return along(x[0], 0, [](Row r) { for (Real& v : r) v = std::trunc(v * 2) / 2; return positions_of(r, true); }); }, {-2, 2}, nullptr, constant},
    {"top_k", "7;3x5;40", [](X x) { return top_k(x[0], 3).values; }, [](A x) { return along(x[0], -1, [](const Row& r) { return first_of(r, 3, true); }); }},
    {"top_k", "5x2;4x3", [](X x) { return top_k(x[0], 2, 0, false).values; }, [](A x) { return along(x[0], 0, [](const Row& r) { return first_of(r, 2, false); }); }},
    {"top_k", "5x2", [](X x) { return top_k(x[0], 5, 0).indices; }, [](A x) { return along(x[0], 0, [](const Row& r) { return positions_of(r, true); }); }, {-2, 2}, nullptr, constant},
    {"kth_value", "7;3x5;40", [](X x) { return kth_value(x[0], 4).values; }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return kth_of(r, 4); }); }},
    {"kth_value", "5x2", [](X x) { return kth_value(x[0], 1, 0).values; }, [](A x) { return fold(x[0], {0}, false, [](const Row& r) { return kth_of(r, 1); }); }},
    {"partition", "7;3x5;40", [](X x) { const Tensor y = partition(x[0], -3); return stack({slice(y, {ellipsis, -3}), sum(slice(y, {ellipsis, reel::range_from(-3)}), -1)}, -1); },
      [](A x) { return along(x[0], -1, [](const Row& r) { const Row s = sorted(r, true); return Row{s[2], s[2] + s[1] + s[0]}; }); }},
    {"argpartition", "5x2", [](X x) { return slice(argpartition(x[0], 1, 0), {1}); }, [](A x) { return without_axis(along(x[0], 0, [](const Row& r) { return Row{positions_of(r, false)[1]}; }), 0); }, {-2, 2}, nullptr, constant},
    {"median", "7;3x4;2x3x2", [](X x) { return median(x[0]); }, [](A x) { return fold(x[0], {}, false, median_of); }},
    {"median", "7x2;3x4", [](X x) { return median(x[0], 0, true); }, [](A x) { return fold(x[0], {0}, true, median_of); }},
    {"nanmedian", "7;3x4", [](X x) { return nanmedian(x[0]); }, [](A x) { return fold(x[0], {}, false, median_of); }},
    {"nanmedian", "9x2;2x8", [](X x) { return nanmedian(with_nan(x[0], 0), 0); }, [](A x) { return fold(x[0], {0}, false, [](Row r) { for (Real& v : r) v = v > 1 ? NAN : v; const Row s = numbers_of(r); return s.empty() ? NAN : median_of(s); }); }, {-2, 1.2}},
    {"quantile", "3x5,2;1x4,();2x1,2;3x2,2x2", quantile_by<QuantileMethod::linear>, quantiles<QuantileMethod::linear>, {-2, 2}, fractions, none, 4},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::lower>, quantiles<QuantileMethod::lower>, {-2, 2}, fractions},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::higher>, quantiles<QuantileMethod::higher>, {-2, 2}, fractions},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::nearest>, quantiles<QuantileMethod::nearest>, {-2, 2}, fractions},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::midpoint>, quantiles<QuantileMethod::midpoint>, {-2, 2}, fractions},
    {"quantile", "3x5,2;2x1,1", quantile_by<QuantileMethod::hazen>, quantiles<QuantileMethod::hazen>, {-2, 2}, fractions, none, 8},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::weibull>, quantiles<QuantileMethod::weibull>, {-2, 2}, fractions, none, 8},
    {"quantile", "3x5,2", quantile_by<QuantileMethod::median_unbiased>, quantiles<QuantileMethod::median_unbiased>, {-2, 2}, fractions, none, 8},
    {"percentile", "3x5,2", [](X x) { return percentile(x[0], x[1] * 100, -1); }, quantiles<QuantileMethod::linear>, {-2, 2}, fractions, none, 8},
    {"nanquantile", "3x5,2;1x4,();2x1,2", [](X x) { return nanquantile(x[0], x[1], -1); }, quantiles<QuantileMethod::linear>, {-2, 2}, fractions, none, 4},
    {"nanquantile", "9x2;2x8", [](X x) { return nanquantile(with_nan(x[0], 0), 0.3125, 0, {.method = QuantileMethod::hazen}); }, nan_quantiles<QuantileMethod::hazen>, {-2, 1.2}, nullptr, none, 8},
    {"nanquantile", "9x2", [](X x) { return nanquantile(with_nan(x[0], 0), 0.3125, 0, {.method = QuantileMethod::midpoint}); }, nan_quantiles<QuantileMethod::midpoint>, {-2, 1.2}},
    {"nanpercentile", "9x2;2x8", [](X x) { return nanpercentile(with_nan(x[0], 0), 31.25, 0); }, nan_quantiles<QuantileMethod::linear>, {-2, 1.2}, nullptr, none, 8},
    {"quantile", "3x4", [](X x) { return quantile(x[0], 0.25, {}, {.keepdims = true}); }, [](A x) { return fold(x[0], {}, true, [](const Row& r) { return quantile_of(r, 0.25L, QuantileMethod::linear); }); }, {-2, 2}, nullptr, none, 4},
    {"searchsorted", "5,2x3;4,();0,2;2x3,2x4;70,90", [](X x) { return searchsorted(sort(x[0]), x[1]); }, [](A x) { return places_of(ascending(x[0]), x[1], false); }, {-2, 2}, nullptr, constant},
    {"searchsorted", "9,7", [](X x) { return searchsorted(sort(halves(x[0])), halves(x[1]), true); },
      [](A x) { Array s = ascending(x[0]), v = x[1]; for (Array* a : {&s, &v}) for (Real& e : a->values) e = std::trunc(e * 2) / 2; return places_of(s, v, true); }, {-2, 2}, nullptr, constant},
    {"digitize", "2x3,5", [](X x) { return digitize(x[0], sort(x[1])); }, [](A x) { return places_of(ascending(x[1]), x[0], true); }, {-2, 2}, nullptr, constant},
    {"unique", "7;3x4;0", [](X x) { return unique(x[0]).values; }, [](A x) { Array y{{x[0].shape.elements()}, sorted(x[0].values, false)}; return y; }, {-2, 2}, nullptr, by_values},
    {"unique", "3x4", [](X x) { return unique(trunc(x[0])).inverse; },
      [](A x) { Array y = x[0]; for (Real& v : y.values) v = std::trunc(v); const Row all = distinct(y.values); for (Real& v : y.values) v = static_cast<Real>(std::find(all.begin(), all.end(), v) - all.begin()); return y; }, {-2, 2}, nullptr, constant | by_values},
};
// clang-format on

}  // namespace

std::span<const Shaped> sorting() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
