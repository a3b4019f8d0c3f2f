// Rows of reductions, scans and normalisations.
#include "references/reductions.hpp"

#include <algorithm>
#include <limits>

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

constexpr double infinity = std::numeric_limits<double>::infinity();

// clang-format off
constexpr Shaped rows[] = {
    {"sum", "3x4;5;();2x3x4;0x3;1", [](X x) { return sum(x[0]); }, [](A x) { return fold(x[0], {}, false, total); }},
    {"sum", "3x4;2x3x4;2x0;0x2", [](X x) { return sum(x[0], 0); }, [](A x) { return fold(x[0], {0}, false, total); }},
    {"sum", "3x4;2x3x4;2x0", [](X x) { return sum(x[0], {-1}, true); }, [](A x) { return fold(x[0], {-1}, true, total); }},
    {"sum", "2x3x4", [](X x) { return sum(x[0], {0, 2}); }, [](A x) { return fold(x[0], {0, 2}, false, total); }},
    {"sum", "3x4", [](X x) { return sum(x[0], std::vector<int>{}); }, [](A x) { return x[0]; }},
    {"mean", "3x4;5;();0x3;2x0", [](X x) { return mean(x[0]); }, [](A x) { return fold(x[0], {}, false, mean_of); }},
    {"mean", "3x4;2x3x4", [](X x) { return mean(x[0], 1, true); }, [](A x) { return fold(x[0], {1}, true, mean_of); }},
    {"prod", "3x2;5;();0", [](X x) { return prod(x[0]); }, [](A x) { return fold(x[0], {}, false, product_of); }},
    {"prod", "3x4;2x3x4;2x0", [](X x) { return prod(x[0], -1); }, [](A x) { return fold(x[0], {-1}, false, product_of); }},
    {"prod", "2x3x2", [](X x) { return prod(x[0], {0, 2}, true); }, [](A x) { return fold(x[0], {0, 2}, true, product_of); }},
    {"max", "3x4;5;()", [](X x) { return max(x[0]); }, [](A x) { return fold(x[0], {}, false, largest_of); }},
    {"max", "3x4;2x3x4;0x0", [](X x) { return max(x[0], 1); }, [](A x) { return fold(x[0], {1}, false, largest_of); }},
    {"min", "3x4;5;()", [](X x) { return min(x[0]); }, [](A x) { return fold(x[0], {}, false, smallest_of); }},
    {"min", "3x4;2x3x4", [](X x) { return min(x[0], {0, 1}, true); }, [](A x) { return fold(x[0], {0, 1}, true, smallest_of); }},
    {"argmax", "3x4;2x3x4", [](X x) { return argmax(x[0], -1); },
      [](A x) { return fold(x[0], {-1}, false, argument_of<1>); }, {-2, 2}, nullptr, boolean_result},
    {"argmin", "3x4;2x3x4", [](X x) { return argmin(x[0], 0, true); },
      [](A x) { return fold(x[0], {0}, true, argument_of<-1>); }, {-2, 2}, nullptr, boolean_result},
    {"any", "3x4;0", [](X x) { return any(greater(x[0], 1.5)); },
      [](A x) { return fold(x[0], {}, false, [](const Row& r) { return Real(std::any_of(r.begin(), r.end(), [](Real v) { return v > 1.5; })); }); }, {-2, 2}, nullptr, boolean_result},
    {"all", "3x4;0", [](X x) { return all(greater(x[0], -1.5)); },
      [](A x) { return fold(x[0], {}, false, [](const Row& r) { return Real(std::all_of(r.begin(), r.end(), [](Real v) { return v > -1.5; })); }); }, {-2, 2}, nullptr, boolean_result},
    {"var", "3x4;5", [](X x) { return var(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return variance_of(r, 0); }); }},
    {"var", "3x4;2x3x4", [](X x) { return var(x[0], -1, 1, true); }, [](A x) { return fold(x[0], {-1}, true, [](const Row& r) { return variance_of(r, 1); }); }},
    {"var", "3x4;2x3x4", [](X x) { return var(x[0], 1); }, [](A x) { return fold(x[0], {1}, false, [](const Row& r) { return variance_of(r, 0); }); }},
    {"std", "3x4;5", [](X x) { return reel::std(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return deviation_of(r, 0); }); }},
    {"std", "3x4;2x3x4", [](X x) { return reel::std(x[0], -2, 1); }, [](A x) { return fold(x[0], {-2}, false, [](const Row& r) { return deviation_of(r, 1); }); }, {-2, 2}, nullptr, none, 20},
    {"norm", "3x4;5", [](X x) { return norm(x[0]); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return norm_of(r, 2); }); }},
    {"norm", "3x4;2x3x4", [](X x) { return norm(x[0], 1, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, 1); }); }},
    {"norm", "3x4", [](X x) { return norm(x[0], 3, 0, true); }, [](A x) { return fold(x[0], {0}, true, [](const Row& r) { return norm_of(r, 3); }); }, {0.3, 2}},
    {"norm", "3x4", [](X x) { return norm(x[0], infinity, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, infinity); }); }},
    {"norm", "3x4;2x3", [](X x) { return norm(x[0], 1.5, -1); }, [](A x) { return fold(x[0], {-1}, false, [](const Row& r) { return norm_of(r, 1.5L); }); }, {-2, -0.3}, nullptr, none, 10},
    {"norm", "3x4", [](X x) { return norm(x[0], 2.5, 1); }, [](A x) { return fold(x[0], {1}, false, [](const Row& r) { return norm_of(r, 2.5L); }); }, {-2, -0.3}, nullptr, none, 10},
    {"norm", "3x4", [](X x) { return norm(x[0], 4, 0); }, [](A x) { return fold(x[0], {0}, false, [](const Row& r) { return norm_of(r, 4); }); }},
    {"norm", "3x4;5", [](X x) { return norm(x[0], 0.5); }, [](A x) { return fold(x[0], {}, false, [](const Row& r) { return norm_of(r, 0.5L); }); }, {0.3, 2}, nullptr, none, 10},
    {"norm", "3x4;2x3x2", [](X x) { return norm(x[0], -1, 1, true); }, [](A x) { return fold(x[0], {1}, true, [](const Row& r) { return norm_of(r, -1); }); }, {-2, -0.3}, nullptr, none, 10},
    {"logsumexp", "3x4;5;()", [](X x) { return logsumexp(x[0]); }, [](A x) { return fold(x[0], {}, false, log_sum_exp_of); }},
    {"logsumexp", "3x4;2x3x4", [](X x) { return logsumexp(x[0], {1}, true); }, [](A x) { return fold(x[0], {1}, true, log_sum_exp_of); }},
    {"logsumexp", "3x4;2x3x4", [](X x) { return logsumexp(x[0], {1}); }, [](A x) { return fold(x[0], {1}, false, log_sum_exp_of); }},
    {"softmax", "3x4;5;2x3x4", [](X x) { return softmax(x[0]); }, [](A x) { return along(x[0], -1, softmax_of<Real>); }},
    {"softmax", "3x4;2x3x4", [](X x) { return softmax(x[0], 0); }, [](A x) { return along(x[0], 0, softmax_of<Real>); }},
    {"log_softmax", "3x4;5;2x3x4", [](X x) { return log_softmax(x[0]); }, [](A x) { return along(x[0], -1, log_softmax_of<Real>); }},
    {"log_softmax", "3x4;2x3x4", [](X x) { return log_softmax(x[0], 1); }, [](A x) { return along(x[0], 1, log_softmax_of<Real>); }},
    {"cumsum", "3x4;5;2x3x4;0", [](X x) { return cumsum(x[0], -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return cumsum_of(r, false, false); }); }},
    {"cumsum", "3x4;2x3x4", [](X x) { return cumsum(x[0], 0, true); }, [](A x) { return along(x[0], 0, [](const Row& r) { return cumsum_of(r, true, false); }); }},
    {"cumsum", "3x4", [](X x) { return cumsum(x[0], 1, false, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return cumsum_of(r, false, true); }); }},
    {"cumsum", "3x4", [](X x) { return cumsum(x[0], 1, true, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return cumsum_of(r, true, true); }); }},
    {"cumprod", "3x4;5;2x3x4;0", [](X x) { return cumprod(x[0], -1); }, [](A x) { return along(x[0], -1, [](const Row& r) { return cumprod_of(r, false, false); }); }},
    {"cumprod", "3x4;2x3x4", [](X x) { return cumprod(x[0], 0, true); }, [](A x) { return along(x[0], 0, [](const Row& r) { return cumprod_of(r, true, false); }); }},
    {"cumprod", "3x4", [](X x) { return cumprod(x[0], 1, false, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return cumprod_of(r, false, true); }); }},
    {"cumprod", "3x4", [](X x) { return cumprod(x[0], 1, true, true); }, [](A x) { return along(x[0], 1, [](const Row& r) { return cumprod_of(r, true, true); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> reductions() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
