// Rows of reductions, scans and normalisations.
#include <algorithm>
#include <limits>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Real product(const Row& r) {
  Real p = 1;
  for (Real v : r) p *= v;
  return p;
}
Real largest(const Row& r) { return *std::max_element(r.begin(), r.end()); }
Real smallest(const Row& r) { return *std::min_element(r.begin(), r.end()); }
Real average(const Row& r) { return total(r) / static_cast<Real>(r.size()); }
Real spread(const Row& r, int ddof) {
  const Real m = average(r);
  Real sum = 0;
  for (Real v : r) sum += (v - m) * (v - m);
  return sum / static_cast<Real>(static_cast<int>(r.size()) - ddof);
}
Real norm_of(const Row& r, Real p) {
  Real sum = 0;
  for (Real v : r) sum = std::isinf(p) ? std::max(sum, std::abs(v)) : sum + std::pow(std::abs(v), p);
  return std::isinf(p) ? sum : std::pow(sum, 1 / p);
}
Real log_sum(const Row& r) {
  Real sum = 0;
  for (Real v : r) sum += std::exp(v - largest(r));
  return largest(r) + std::log(sum);
}
Row softmax_of(Row r) {
  const Real l = log_sum(r);
  for (Real& v : r) v = std::exp(v - l);
  return r;
}
Row log_softmax_of(Row r) {
  const Real l = log_sum(r);
  for (Real& v : r) v -= l;
  return r;
}
template <class F>
Row scan(Row r, bool exclusive, bool reverse, Real start, F f) {
  if (reverse) std::reverse(r.begin(), r.end());
  for (Real& v : r) {
    const Real next = f(start, v);
    v = exclusive ? start : next;
    start = next;
  }
  if (reverse) std::reverse(r.begin(), r.end());
  return r;
}
Row sums(Row r, bool exclusive, bool reverse) {
  return scan(std::move(r), exclusive, reverse, 0, [](Real a, Real b) { return a + b; });
}
Row products(Row r, bool exclusive, bool reverse) {
  return scan(std::move(r), exclusive, reverse, 1, [](Real a, Real b) { return a * b; });
}
constexpr double infinity = std::numeric_limits<double>::infinity();

// clang-format off
constexpr Shaped rows[] = {
    {"sum", "3x4;5;();2x3x4;0x3;1", [](X x) { return sum(x[0]); }, [](A x) { return fold(x[0], {}, false, total); }},
    {"sum", "3x4;2x3x4;2x0;0x2", [](X x) { return sum(x[0], 0); }, [](A x) { return fold(x[0], {0}, false, total); }},
    {"sum", "3x4;2x3x4;2x0", [](X x) { return sum(x[0], {-1}, true); }, [](A x) { return fold(x[0], {-1}, true, total); }},
    {"sum", "2x3x4", [](X x) { return sum(x[0], {0, 2}); }, [](A x) { return fold(x[0], {0, 2}, false, total); }},
    {"sum", "3x4", [](X x) { return sum(x[0], std::vector<int>{}); }, [](A x) { return x[0]; }},
    {"mean", "3x4;5;();0x3;2x0", [](X x) { return mean(x[0]); }, [](A x) { return fold(x[0], {}, false, average); }},
    {"mean", "3x4;2x3x4", [](X x) { return mean(x[0], 1, true); }, [](A x) { return fold(x[0], {1}, true, average); }},
    {"prod", "3x2;5;();0", [](X x) { return prod(x[0]); }, [](A x) { return fold(x[0], {}, false, product); }},
    {"prod", "3x4;2x3x4;2x0", [](X x) { return prod(x[0], -1); }, [](A x) { return fold(x[0], {-1}, false, product); }},
    {"prod", "2x3x2", [](X x) { return prod(x[0], {0, 2}, true); }, [](A x) { return fold(x[0], {0, 2}, true, product); }},
    {"max", "3x4;5;()", [](X x) { return max(x[0]); }, [](A x) { return fold(x[0], {}, false, largest); }},
    {"max", "3x4;2x3x4;0x0", [](X x) { return max(x[0], 1); }, [](A x) { return fold(x[0], {1}, false, largest); }},
    {"min", "3x4;5;()", [](X x) { return min(x[0]); }, [](A x) { return fold(x[0], {}, false, smallest); }},
    {"min", "3x4;2x3x4", [](X x) { return min(x[0], {0, 1}, true); }, [](A x) { return fold(x[0], {0, 1}, true, smallest); }},
    {"argmax", "3x4;2x3x4", [](X x) { return argmax(x[0], -1); },
      [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return Real(std::max_element(r.begin(), r.end()) - r.begin()); }); }, {-2, 2}, nullptr, boolean_result},
    {"argmin", "3x4;2x3x4", [](X x) { return argmin(x[0], 0, true); },
      [](A x) { return fold(x[0], {0}, true, [](const Row& r) { return Real(std::min_element(r.begin(), r.end()) - r.begin()); }); }, {-2, 2}, nullptr, boolean_result},
    {"any", "3x4;0", [](X x) { return any(greater(x[0], 1.5)); },
      [](A x) { return fold(x[0], {}, false, [](const Row& r) { return Real(std::any_of(r.begin(), r.end(), [](Real v) { return v > 1.5; })); }); }, {-2, 2}, nullptr, boolean_result},
    {"all", "3x4;0", [](X x) { return all(greater(x[0], -1.5)); },
      [](A x) { return fold(x[0], {}, false, [](const Row& r) { return Real(std::all_of(r.begin(), r.end(), [](Real v) { return v > -1.5; })); }); }, {-2, 2}, nullptr, boolean_result},
    {"var", "3x4;5", [](X x) { return var(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return spread(r, 0); }); }},
    {"var", "3x4;2x3x4", [](X x) { return var(x[0], -1, 1, true); }, [](A x) { return fold(x[0], {-1}, true, [](const Row& r) { return spread(r, 1); }); }},
    {"var", "3x4;2x3x4", [](X x) { return var(x[0], 1); }, [](A x) { return fold(x[0], {1}, false, [](const Row& r) { return spread(r, 0); }); }},
    {"std", "3x4;5", [](X x) { return reel::std(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return std::sqrt(spread(r, 0)); }); }},
    {"std", "3x4;2x3x4", [](X x) { return reel::std(x[0], -2, 1); }, [](A x) { return fold(x[0], {-2}, false, [](const Row& r) { return std::sqrt(spread(r, 1)); }); }, {-2, 2}, nullptr, none, 20},
    {"norm", "3x4;5", [](X x) { return norm(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return norm_of(r, 2); }); }},
    {"norm", "3x4;2x3x4", [](X x) { return norm(x[0], 1, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, 1); }); }},
    {"norm", "3x4", [](X x) { return norm(x[0], 3, 0, true); }, [](A x) { return fold(x[0], {0}, true, [](const Row& r) { return norm_of(r, 3); }); }, {0.3, 2}},
    {"norm", "3x4", [](X x) { return norm(x[0], infinity, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, infinity); }); }},
    {"norm", "3x4;2x3", [](X x) { return norm(x[0], 1.5, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, 1.5L); }); }, {-2, -0.3}, nullptr, none, 10},
    {"norm", "3x4", [](X x) { return norm(x[0], 2.5, 1); }, [](A x) { return fold(x[0], {1}, false, [](const Row& r) { return norm_of(r, 2.5L); }); }, {-2, -0.3}, nullptr, none, 10},
    {"norm", "3x4", [](X x) { return norm(x[0], 4, 0); }, [](A x) { return fold(x[0], {0}, false, [](const Row& r) { return norm_of(r, 4); }); }},
    {"norm", "3x4;5", [](X x) { return norm(x[0], 0.5); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return norm_of(r, 0.5L); }); }, {0.3, 2}, nullptr, none, 10},
    {"norm", "3x4;2x3x2", [](X x) { return norm(x[0], -1, 1, true); }, [](A x) { return fold(x[0], {1}, true, [](const Row& r) { return norm_of(r, -1); }); }, {-2, -0.3}, nullptr, none, 10},
    {"logsumexp", "3x4;5;()", [](X x) { return logsumexp(x[0]); }, [](A x) { return fold(x[0], {}, false, log_sum); }},
    {"logsumexp", "3x4;2x3x4", [](X x) { return logsumexp(x[0], {1}, true); }, [](A x) { return fold(x[0], {1}, true, log_sum); }},
    {"logsumexp", "3x4;2x3x4", [](X x) { return logsumexp(x[0], {1}); }, [](A x) { return fold(x[0], {1}, false, log_sum); }},
    {"softmax", "3x4;5;2x3x4", [](X x) { return softmax(x[0]); }, [](A x) { return along(x[0], -1, softmax_of); }},
    {"softmax", "3x4;2x3x4", [](X x) { return softmax(x[0], 0); }, [](A x) { return along(x[0], 0, softmax_of); }},
    {"log_softmax", "3x4;5;2x3x4", [](X x) { return log_softmax(x[0]); }, [](A x) { return along(x[0], -1, log_softmax_of); }},
    {"log_softmax", "3x4;2x3x4", [](X x) { return log_softmax(x[0], 1); }, [](A x) { return along(x[0], 1, log_softmax_of); }},
    {"cumsum", "3x4;5;2x3x4;0", [](X x) { return cumsum(x[0], -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return sums(r, false, false); }); }},
    {"cumsum", "3x4;2x3x4", [](X x) { return cumsum(x[0], 0, true); }, [](A x) { return along(x[0], 0, [](const Row& r) { return sums(r, true, false); }); }},
    {"cumsum", "3x4", [](X x) { return cumsum(x[0], 1, false, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return sums(r, false, true); }); }},
    {"cumsum", "3x4", [](X x) { return cumsum(x[0], 1, true, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return sums(r, true, true); }); }},
    {"cumprod", "3x4;5;2x3x4;0", [](X x) { return cumprod(x[0], -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return products(r, false, false); }); }},
    {"cumprod", "3x4;2x3x4", [](X x) { return cumprod(x[0], 0, true); }, [](A x) { return along(x[0], 0, [](const Row& r) { return products(r, true, false); }); }},
    {"cumprod", "3x4", [](X x) { return cumprod(x[0], 1, false, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return products(r, false, true); }); }},
    {"cumprod", "3x4", [](X x) { return cumprod(x[0], 1, true, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return products(r, true, true); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> reductions() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
