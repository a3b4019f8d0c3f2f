// Rows of the ops of <reel/ops/scans.hpp>.
#include <algorithm>
#include <reel/ops/scans.hpp>

#include "references/statistics.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// The prefixes of a row, each made one number.
template <class F>
Row prefixes(const Row& r, F f) {
  Row y;
  for (std::size_t n = 1; n <= r.size(); ++n)
    y.push_back(f(Row(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(n))));
  return y;
}
Real latest_largest(const Row& r) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < r.size(); ++k)
    if (r[k] >= r[at]) at = k;
  return static_cast<Real>(at);
}
Row before_each(Row r) {
  r.pop_back();
  return r;
}
Row truncated(Row r) {
  for (Real& v : r) v = std::trunc(v);
  return r;
}

// Distances of at least 0.5.
Tensor ascending(const Tensor& drawn, std::size_t operand) {
  return operand == 1 && drawn.rank() == 1 ? cumsum(abs(drawn) + 0.5, 0) : operand == 1 ? abs(drawn) + 0.5 : drawn;
}

// clang-format off
constexpr Shaped rows[] = {
    {"cummax", "7;3x5;2x0;300", [](X x) { return cummax(x[0], -1).values; }, [](A x) { return along(x[0], -1, [](const Row& r) { return running_extreme_of(r, 1, false); }); }},
    {"cummax", "4x3;2x3x2", [](X x) { return cummax(x[0], -2, true).values; }, [](A x) { return along(x[0], -2, [](const Row& r) { return running_extreme_of(r, 1, true); }); }},
    {"cummax", "9", [](X x) { return cummax(trunc(x[0]), 0).indices; }, [](A x) { return along(x[0], 0, [](const Row& r) { return prefixes(truncated(r), latest_largest); }); }, {-2, 2}, nullptr, constant},
    {"cummin", "7;3x5", [](X x) { return cummin(x[0], -1).values; }, [](A x) { return along(x[0], -1, [](const Row& r) { return running_extreme_of(r, -1, false); }); }},
    {"cummin", "5x3", [](X x) { return cummin(x[0], 0, true).values; }, [](A x) { return along(x[0], 0, [](const Row& r) { return running_extreme_of(r, -1, true); }); }},
    {"logcumsumexp", "7;3x4;2x0;300", [](X x) { return logcumsumexp(x[0], -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return logcumsumexp_of(r, false); }); }, {-2, 2}, nullptr, none, 4},
    {"logcumsumexp", "4x3;2x3x2", [](X x) { return logcumsumexp(x[0], -2, false, true); }, [](A x) { return along(x[0], -2, [](const Row& r) { return logcumsumexp_of(r, true); }); }, {-9, 9}, nullptr, none, 64},
    {"logcumsumexp", "5;2x3", [](X x) { return slice(logcumsumexp(x[0], -1, true), {ellipsis, range_from(1)}); }, [](A x) { return along(x[0], -1, [](const Row& r) { return before_each(logcumsumexp_of(r, false)); }); }, {-2, 2}, nullptr, none, 4},
    {"logcumsumexp", "4x2", [](X x) { return slice(logcumsumexp(x[0], 0, true, true), {range_to(-1)}); }, [](A x) { return along(x[0], 0, [](const Row& r) { return reversed(before_each(logcumsumexp_of(reversed(r), false))); }); }, {-2, 2}, nullptr, none, 4},
    {"diff", "5;3x4;1;2x0", [](X x) { return diff(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return differences_of(r, 1); }); }},
    {"diff", "5x2", [](X x) { return diff(x[0], 2, 0); }, [](A x) { return along(x[0], 0, [](const Row& r) { return differences_of(r, 2); }); }, {-2, 2}, nullptr, none, 4},
    {"ediff1d", "2x3;4;();0", [](X x) { return ediff1d(x[0]); }, [](A x) { const Row y = differences_of(x[0].values, 1); return Array{{std::ssize(y)}, y}; }},
    {"gradient_along", "5,();3x2,()", [](X x) { return gradient_along(x[0], -1, x[1]); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return slopes_of(r, coordinates_of(r.size(), x[1].values[0]), false); }); }, {-2, 2}, ascending, none, 8},
    {"gradient_along", "4x2,()", [](X x) { return gradient_along(x[0], 0, x[1], 2); }, [](A x) { return along(x[0], 0, [&](const Row& r) { return slopes_of(r, coordinates_of(r.size(), x[1].values[0]), true); }); }, {-2, 2}, ascending, none, 8},
    {"gradient_along", "5,5;2x3,3", [](X x) { return gradient_along(x[0], -1, x[1]); }, [](A x) { return along(x[0], -1, [&](const Row& r) { return slopes_of(r, x[1].values, false); }); }, {-2, 2}, ascending, none, 32},
    {"gradient_along", "4x2,4;3x1,3", [](X x) { return gradient_along(x[0], 0, x[1], 2); }, [](A x) { return along(x[0], 0, [&](const Row& r) { return slopes_of(r, x[1].values, true); }); }, {-2, 2}, ascending, none, 32},
    {"associative_scan", "7;1;2x8", [](X x) { return associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, x[0], -1); },
      [](A x) { return along(x[0], -1, [](const Row& r) { return cumprod_of(r, false, false); }); }, {-2, 2}, nullptr, none, 8},
    {"associative_scan", "2x5x2", [](X x) { return associative_scan([](const Tensor& s, const Tensor& t) { return stack({s[0] * t[0], t[0] * s[1] + t[1]}); }, x[0], 1, true)[1]; },
      [](A x) { return build({5, 2}, [&](const Index& i) { Real y = 0; for (std::int64_t k = 5; k-- > i[0];) y = at(x[0], {1, k, i[1]}) + at(x[0], {0, k, i[1]}) * y; return y; }); }, {-2, 2}, nullptr, none, 16},
};
// clang-format on

}  // namespace

std::span<const Shaped> scans() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
