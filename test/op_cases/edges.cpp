// Kinks, ties, singular points and published numbers: what each op gives there, and its gradients for ones as
// cotangent. No gradients at all means that there must be none.
#include <cmath>
#include <limits>

#include "../op_cases.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
using T = std::vector<Tensor>;

}  // namespace

// clang-format off
std::vector<Edge> edges() {
  std::vector<Edge> all = {
    {"abs", "0", [](X x) { return abs(x[0]); }, [] { return T{tensor({0, -2, 3})}; }, {0, 2, 3}, {{0, -1, 1}}},
    {"sign", "connected zero", [](X x) { return sign(x[0]); }, [] { return T{tensor({-2, 0, 3})}; }, {-1, 0, 1}, {{0, 0, 0}}},
    {"sign", "NaN", [](X x) { return sign(x[0]); }, [] { return T{scalar(nan)}; }, {nan}, {{0}}},
    {"floor", "connected zero", [](X x) { return floor(x[0]); }, [] { return T{tensor({-1.5, 2})}; }, {-2, 2}, {{0, 0}}},
    {"ceil", "connected zero", [](X x) { return ceil(x[0]); }, [] { return T{tensor({-1.5, 2})}; }, {-1, 2}, {{0, 0}}},
    {"trunc", "connected zero", [](X x) { return trunc(x[0]); }, [] { return T{tensor({-1.5, 2})}; }, {-1, 2}, {{0, 0}}},
    {"round", "halves to even", [](X x) { return round(x[0]); }, [] { return T{tensor({0.5, 1.5, 2.5, -0.5, -1.5})}; }, {0, 2, 2, 0, -2}, {{0, 0, 0, 0, 0}}},
    {"floor_divide", "connected zero", [](X x) { return floor_divide(x[0], x[1]); }, [] { return T{scalar(-5.), scalar(3.)}; }, {-2}, {{0}, {0}}},
    {"mod", "-5, 3", [](X x) { return mod(x[0], x[1]); }, [] { return T{scalar(-5.), scalar(3.)}; }, {1}, {{1}, {2}}},

    {"relu", "0", [](X x) { return relu(x[0]); }, [] { return T{tensor({-1, 0, 1})}; }, {0, 0, 1}, {{0, 0, 1}}},
    {"leaky_relu", "0", [](X x) { return leaky_relu(x[0], 0.25); }, [] { return T{tensor({-1, 0, 1})}; }, {-0.25, 0, 1}, {{0.25, 0.25, 1}}},
    {"elu", "0, alpha 1", [](X x) { return elu(x[0]); }, [] { return T{scalar(0.)}; }, {0}, {{1}}},
    {"elu", "0, alpha 2", [](X x) { return elu(x[0], 2.0); }, [] { return T{scalar(0.)}; }, {0}, {{2}}},
    {"elu", "large", [](X x) { return elu(x[0]); }, [] { return T{tensor({1000, -1000})}; }, {1000, -1}, {{1, 0}}},
    {"selu", "0", [](X x) { return selu(x[0]); }, [] { return T{scalar(0.)}; }, {0}, {{1.75809934084737685994}}},
    {"sigmoid", "+-1000", [](X x) { return sigmoid(x[0]); }, [] { return T{tensor({-1000, 0, 1000})}; }, {0, 0.5, 1}, {{0, 0.25, 0}}},
    {"softplus", "+-1000", [](X x) { return softplus(x[0]); }, [] { return T{tensor({-1000, 0, 1000})}; }, {0, std::log(2.), 1000}, {{0, 0.5, 1}}},
    {"silu", "0 and 1", [](X x) { return silu(x[0]); }, [] { return T{tensor({0, 1})}; }, {0, 0.73105857863000487}, {{0.5, 0.9276705118714867}}},
    {"gelu", "0 and 1", [](X x) { return gelu(x[0]); }, [] { return T{tensor({0, 1})}; }, {0, 0.8413447460685429}, {{0.5, 1.0833154705876864}}},
    {"softsign", "0", [](X x) { return softsign(x[0]); }, [] { return T{scalar(0.)}; }, {0}, {{1}}},

    {"clip", "on its edges", [](X x) { return clip(x[0], x[1], x[2]); }, [] { return T{tensor({-1, 1, 2, -3}), scalar(-1.), scalar(1.)}; }, {-1, 1, 1, -1}, {{1, 1, 0, 0}, {1}, {1}}},
    {"clip", "bounds that are equal", [](X x) { return clip(x[0], x[1], x[2]); }, [] { return T{tensor({-1, 2, 5}), tensor({2, 2, 2}), tensor({2, 2, 2})}; }, {2, 2, 2}, {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}},
    {"clip", "bounds that cross", [](X x) { return clip(x[0], x[1], x[2]); }, [] { return T{tensor({0, 2, 5}), scalar(3.), scalar(1.)}; }, {1, 1, 1}, {{0, 0, 0}, {0}, {3}}},
    {"clip", "NaN", [](X x) { return clip(x[0], -1.0, 1.0); }, [] { return T{scalar(nan)}; }, {nan}, {{0}}},
    {"maximum", "tie", [](X x) { return maximum(x[0], x[1]); }, [] { return T{tensor({1, 2, 3}), tensor({1, 5, 0})}; }, {1, 5, 3}, {{0.5, 0, 1}, {0.5, 1, 0}}},
    {"minimum", "tie", [](X x) { return minimum(x[0], x[1]); }, [] { return T{tensor({1, 2, 3}), tensor({1, 5, 0})}; }, {1, 2, 0}, {{0.5, 1, 0}, {0.5, 0, 1}}},
    {"maximum", "NaN", [](X x) { return maximum(x[0], x[1]); }, [] { return T{tensor({nan, 2}), tensor({2, nan})}; }, {nan, nan}, {{1, 0}, {0, 1}}},
    {"minimum", "NaN", [](X x) { return minimum(x[0], x[1]); }, [] { return T{tensor({nan, 2}), tensor({2, nan})}; }, {nan, nan}, {{1, 0}, {0, 1}}},
    {"max", "ties", [](X x) { return max(x[0]); }, [] { return T{tensor({3, 1, 3})}; }, {3}, {{0.5, 0, 0.5}}},
    {"min", "ties", [](X x) { return min(x[0], 0); }, [] { return T{tensor({{1, 4}, {1, 2}})}; }, {1, 2}, {{0.5, 0, 0.5, 1}}},
    {"max", "NaN", [](X x) { return max(x[0]); }, [] { return T{tensor({1, nan, 2})}; }, {nan}, {{0, 1, 0}}},
    {"min", "NaN", [](X x) { return min(x[0]); }, [] { return T{tensor({1, nan, 2})}; }, {nan}, {{0, 1, 0}}},

    {"sqrt", "0", [](X x) { return sqrt(x[0]); }, [] { return T{scalar(0.)}; }, {0}, {{inf}}},
    {"rsqrt", "0", [](X x) { return rsqrt(x[0]); }, [] { return T{scalar(0.)}; }, {inf}, {{-inf}}},
    {"sqrt", "of a square at 0", [](X x) { return sqrt(square(x[0])); }, [] { return T{scalar(0.)}; }, {0}, {{nan}}},
    {"hypot", "origin", [](X x) { return hypot(x[0], x[1]); }, [] { return T{scalar(0.), scalar(0.)}; }, {0}, {{0}, {0}}},
    {"arctan2", "origin", [](X x) { return arctan2(x[0], x[1]); }, [] { return T{scalar(0.), scalar(0.)}; }, {0}, {{nan}, {nan}}},
    {"power", "0 ** 0", [](X x) { return power(x[0], x[1]); }, [] { return T{scalar(0.), scalar(0.)}; }, {1}, {{0}, {0}}},
    {"power", "0 ** 2", [](X x) { return power(x[0], x[1]); }, [] { return T{scalar(0.), scalar(2.)}; }, {0}, {{0}, {0}}},
    {"power", "0 ** -1", [](X x) { return power(x[0], x[1]); }, [] { return T{scalar(0.), scalar(-1.)}; }, {inf}, {{-inf}, {-inf}}},
    {"power", "0 ** 0.5", [](X x) { return power(x[0], x[1]); }, [] { return T{scalar(0.), scalar(0.5)}; }, {0}, {{inf}, {0}}},
    {"power", "-2 ** 3", [](X x) { return power(x[0], x[1]); }, [] { return T{scalar(-2.), scalar(3.)}; }, {-8}, {{12}, {nan}}},
    {"power", "-2 ** 3, exponent not watched", [](X x) { return power(x[0], 3.0); }, [] { return T{scalar(-2.)}; }, {-8}, {{12}}},
    {"log", "0 and -1", [](X x) { return log(x[0]); }, [] { return T{tensor({0, -1})}; }, {-inf, nan}, {{inf, -1}}},
    {"logaddexp", "-inf, -inf", [](X x) { return logaddexp(x[0], x[1]); }, [] { return T{scalar(-inf), scalar(-inf)}; }, {-inf}, {{0.5}, {0.5}}},
    {"logaddexp", "one infinite", [](X x) { return logaddexp(x[0], x[1]); }, [] { return T{tensor({inf, -inf}), tensor({2, 2})}; }, {inf, 2}, {{1, 0}, {0, 1}}},
    {"arcsin", "1", [](X x) { return arcsin(x[0]); }, [] { return T{scalar(1.)}; }, {std::acos(-1.) / 2}, {{inf}}},
    {"arccos", "1", [](X x) { return arccos(x[0]); }, [] { return T{scalar(1.)}; }, {0}, {{-inf}}},
    {"arctanh", "1", [](X x) { return arctanh(x[0]); }, [] { return T{scalar(1.)}; }, {inf}, {{inf}}},
    {"lgamma", "0", [](X x) { return lgamma(x[0]); }, [] { return T{scalar(0.)}; }, {inf}, {{-inf}}},
    {"digamma", "0 and a negative integer", [](X x) { return digamma(x[0]); }, [] { return T{tensor({0, -1})}; }, {-inf, nan}, {{inf, inf}}},
    {"erfc", "large", [](X x) { return erfc(x[0]); }, [] { return T{scalar(30.)}; }, {0}, {{0}}},
    {"tanh", "large", [](X x) { return tanh(x[0]); }, [] { return T{tensor({400, -400})}; }, {1, -1}, {{0, 0}}},
    {"expm1", "tiny", [](X x) { return expm1(x[0]); }, [] { return T{scalar(1e-20)}; }, {1e-20}, {{1}}},
    {"log1p", "tiny", [](X x) { return log1p(x[0]); }, [] { return T{scalar(1e-20)}; }, {1e-20}, {{1}}},
    {"where", "NaN in the other branch", [](X x) { return where(greater(x[0], 0), sqrt(x[0]), 0.0); }, [] { return T{scalar(0.)}; }, {0}, {{nan}}, 1e-13, {{0}}},
    {"divide", "by zero", [](X x) { return divide(x[0], x[1]); }, [] { return T{scalar(1.), scalar(0.)}; }, {inf}, {{inf}, {-inf}}},

    {"sum", "of nothing", [](X x) { return sum(x[0]); }, [] { return T{zeros({0, 3})}; }, {0}, {{}}},
    {"prod", "of nothing", [](X x) { return prod(x[0]); }, [] { return T{zeros({0})}; }, {1}, {{}}},
    {"mean", "of nothing", [](X x) { return mean(x[0]); }, [] { return T{zeros({0})}; }, {nan}, {{}}},
    {"mean", "of nothing, for each column", [](X x) { return mean(x[0], 0); }, [] { return T{zeros({0, 2})}; }, {nan, nan}, {{}}},
    {"var", "of nothing", [](X x) { return var(x[0]); }, [] { return T{zeros({0})}; }, {nan}, {{}}},
    {"std", "of nothing", [](X x) { return reel::std(x[0]); }, [] { return T{zeros({0})}; }, {nan}, {{}}},
    {"norm", "of nothing", [](X x) { return norm(x[0]); }, [] { return T{zeros({0})}; }, {0}, {{}}},
    {"logsumexp", "of nothing", [](X x) { return logsumexp(x[0]); }, [] { return T{zeros({0})}; }, {-inf}, {{}}},
    {"max", "of nothing, no results", [](X x) { return max(x[0], 1); }, [] { return T{zeros({0, 0})}; }, {}, {{}}},
    {"min", "of nothing, no results", [](X x) { return min(x[0], {0, 1}); }, [] { return T{zeros({0, 0, 0})}; }, {}, {{}}},
    {"norm", "p -1 of nothing, no results", [](X x) { return norm(x[0], -1, 1); }, [] { return T{zeros({0, 0})}; }, {}, {{}}},
    {"argmax", "of nothing, no results", [](X x) { return argmax(x[0], 1); }, [] { return T{zeros({0, 0})}; }, {}, {}},
    {"argmin", "of nothing, no results", [](X x) { return argmin(x[0], 0); }, [] { return T{zeros({0, 0})}; }, {}, {}},
    {"prod", "one zero", [](X x) { return prod(x[0]); }, [] { return T{tensor({0, 2, 3})}; }, {0}, {{6, 0, 0}}},
    {"prod", "two zeros", [](X x) { return prod(x[0]); }, [] { return T{tensor({0, 0, 3})}; }, {0}, {{0, 0, 0}}},
    {"cumprod", "a zero", [](X x) { return cumprod(x[0], 0); }, [] { return T{tensor({2, 0, 3})}; }, {2, 0, 0}, {{1, 8, 0}}},
    {"var", "1 2 3 4", [](X x) { return var(x[0], {}, 1); }, [] { return T{tensor({1, 2, 3, 4})}; }, {5. / 3}, {{-1, -1. / 3, 1. / 3, 1}}},
    {"std", "1 2 3 4", [](X x) { return reel::std(x[0], {}, 1); }, [] { return T{tensor({1, 2, 3, 4})}; }, {1.2909944487358056}, {{-0.38729833462074165, -0.12909944487358055, 0.12909944487358055, 0.38729833462074165}}},
    {"std", "of a constant", [](X x) { return reel::std(x[0]); }, [] { return T{tensor({2, 2, 2})}; }, {0}, {{0, 0, 0}}},
    {"std", "of one element, ddof 1", [](X x) { return reel::std(x[0], {}, 1); }, [] { return T{tensor({2})}; }, {nan}, {{nan}}},
    {"norm", "0", [](X x) { return norm(x[0]); }, [] { return T{zeros({3})}; }, {0}, {{0, 0, 0}}},
    {"norm", "p 1 at 0", [](X x) { return norm(x[0], 1); }, [] { return T{tensor({0, -2, 1})}; }, {3}, {{0, -1, 1}}},
    {"norm", "p infinite, tie", [](X x) { return norm(x[0], inf); }, [] { return T{tensor({2, -2, 1})}; }, {2}, {{0.5, -0.5, 0}}},
    {"norm", "p 1/2 at 0", [](X x) { return norm(x[0], 0.5); }, [] { return T{tensor({0, 1})}; }, {1}, {{0, 1}}},
    {"norm", "p 1/2, zero vector", [](X x) { return norm(x[0], 0.5); }, [] { return T{zeros({2})}; }, {0}, {{0, 0}}},
    {"norm", "p 3/2 at 0", [](X x) { return norm(x[0], 1.5); }, [] { return T{tensor({0, -4})}; }, {4}, {{0, -1}}},
    {"norm", "p 3/2, zero vector", [](X x) { return norm(x[0], 1.5); }, [] { return T{zeros({2})}; }, {0}, {{0, 0}}},
    {"norm", "p -1 at 0", [](X x) { return norm(x[0], -1); }, [] { return T{tensor({0, 2})}; }, {0}, {{0, 0}}},
    {"norm", "p -1", [](X x) { return norm(x[0], -1); }, [] { return T{tensor({-2, 2})}; }, {1}, {{-0.25, 0.25}}},
    {"norm", "p 3 at 0", [](X x) { return norm(x[0], 3); }, [] { return T{tensor({0, -2})}; }, {2}, {{0, -1}}},
    {"norm", "p 0 counts", [](X x) { return norm(x[0], 0); }, [] { return T{tensor({0, 5, -1})}; }, {2}, {{0, 0, 0}}},
    {"norm", "without overflow", [](X x) { return norm(x[0]); }, [] { return T{tensor({3e200, -4e200})}; }, {5e200}, {{0.6, -0.8}}},
    {"logsumexp", "all -inf", [](X x) { return logsumexp(x[0]); }, [] { return T{tensor({-inf, -inf})}; }, {-inf}, {{0.5, 0.5}}},
    {"logsumexp", "one -inf", [](X x) { return logsumexp(x[0]); }, [] { return T{tensor({-inf, 1})}; }, {1}, {{0, 1}}},
    {"logsumexp", "large", [](X x) { return logsumexp(x[0]); }, [] { return T{tensor({1000, 1000})}; }, {1000 + std::log(2.)}, {{0.5, 0.5}}},
    {"softmax", "all -inf", [](X x) { return softmax(x[0]); }, [] { return T{tensor({-inf, -inf})}; }, {nan, nan}, {{nan, nan}}},
    {"softmax", "large", [](X x) { return softmax(x[0]); }, [] { return T{tensor({1000, 0})}; }, {1, 0}, {{0, 0}}},
    {"log_softmax", "near 0", [](X x) { return slice(log_softmax(x[0]), {0}); }, [] { return T{tensor({40, 0})}; }, {-4.248354255291589e-18}, {{4.248354255291589e-18, -4.248354255291589e-18}}, 1e-30},

    {"gather", "duplicates add", [](X x) { return gather(x[0], tensor<std::int64_t>({0, 0, 1})); }, [] { return T{tensor({5, 6, 7})}; }, {5, 5, 6}, {{2, 1, 0}}},
    {"scatter_add", "duplicates add", [](X x) { return scatter_add(x[0], tensor<std::int64_t>({1, 1}), x[1]); }, [] { return T{tensor({1, 2}), tensor({3, 4})}; }, {1, 9}, {{1, 1}, {1, 1}}},
    {"pad", "constant", [](X x) { return pad(x[0], {1}, {1}); }, [] { return T{tensor({1, 2, 3})}; }, {0, 1, 2, 3, 0}, {{1, 1, 1}}},
    {"cast", "to an integer cuts", [](X x) { return cast(x[0], DType::int64); }, [] { return T{tensor({1.5, -1.5})}; }, {1, -1}, {}},
    {"argmax", "cuts; first of ties", [](X x) { return argmax(x[0], 0); }, [] { return T{tensor({1, 3, 3})}; }, {1}, {}},
    {"argmin", "cuts; a NaN counts", [](X x) { return argmin(x[0], 0); }, [] { return T{tensor({1, nan, 0})}; }, {1}, {}},
    {"stop_gradient", "cuts", [](X x) { return stop_gradient(x[0]); }, [] { return T{tensor({1, 3})}; }, {1, 3}, {}},
    {"less", "cuts", [](X x) { return less(x[0], 2); }, [] { return T{tensor({1, 3})}; }, {1, 0}, {}},
    {"isnan", "of each kind", [](X x) { return isnan(x[0]); }, [] { return T{tensor({nan, inf, -inf, 0})}; }, {1, 0, 0, 0}, {}},
    {"isinf", "of each kind", [](X x) { return isinf(x[0]); }, [] { return T{tensor({nan, inf, -inf, 0})}; }, {0, 1, 1, 0}, {}},
    {"isfinite", "of each kind", [](X x) { return isfinite(x[0]); }, [] { return T{tensor({nan, inf, -inf, 0})}; }, {0, 0, 0, 1}, {}},
    {"equal", "NaN differs from itself", [](X x) { return equal(x[0], x[0]); }, [] { return T{tensor({nan, 1})}; }, {0, 1}, {}},
    {"array_equal", "NaN differs from itself", [](X x) { return scalar(array_equal(x[0], x[0]) || array_equal(x[0], 1)); }, [] { return T{tensor({nan, 1})}; }, {0}, {}},

    {"cholesky", "4 2 2 3", [](X x) { return cholesky(x[0]); }, [] { return T{tensor({{4, 2}, {2, 3}})}; }, {2, 0, 1, std::sqrt(2.)}, {{0.21338834764831845, 0.07322330470336313, 0.07322330470336313, 0.35355339059327373}}},
    {"inverse", "4 2 2 3", [](X x) { return inverse(x[0]); }, [] { return T{tensor({{4, 2}, {2, 3}})}; }, {0.375, -0.25, -0.25, 0.5}, {{-0.015625, -0.03125, -0.03125, -0.0625}}},
    {"solve", "2 1 1 3", [](X x) { return solve(x[0], x[1]); }, [] { return T{tensor({{2, 1}, {1, 3}}), tensor({1, 2})}; }, {0.2, 0.6}, {{-0.08, -0.24, -0.04, -0.12}, {0.4, 0.2}}},
    {"det", "4 2 2 3", [](X x) { return det(x[0]); }, [] { return T{tensor({{4, 2}, {2, 3}})}; }, {8}, {{3, -2, -2, 4}}},
    {"det", "singular", [](X x) { return det(x[0]); }, [] { return T{tensor({{1, 2}, {2, 4}})}; }, {0}, {{4, -2, -2, 1}}},
    {"det", "zero", [](X x) { return det(x[0]); }, [] { return T{zeros({3, 3})}; }, {0}, {{0, 0, 0, 0, 0, 0, 0, 0, 0}}},
    {"slogdet", "4 2 2 3", [](X x) { return slogdet(x[0]).logdet; }, [] { return T{tensor({{4, 2}, {2, 3}})}; }, {std::log(8.)}, {{0.375, -0.25, -0.25, 0.5}}},
    {"slogdet", "sign", [](X x) { return slogdet(x[0]).sign; }, [] { return T{tensor({{0, 2}, {2, 3}})}; }, {-1}, {{0, 0, 0, 0}}},
    {"slogdet", "singular", [](X x) { return slogdet(x[0]).logdet; }, [] { return T{tensor({{0}})}; }, {-inf}, {{inf}}},
    {"slogdet", "singular, signs of the cofactors", [](X x) { return slogdet(x[0]).logdet; }, [] { return T{tensor({{1, 2}, {2, 4}})}; }, {-inf}, {{inf, -inf, -inf, inf}}},
    {"slogdet", "sign of a singular matrix", [](X x) { return slogdet(x[0]).sign; }, [] { return T{tensor({{1, 2}, {2, 4}})}; }, {0}, {{0, 0, 0, 0}}},
  };
  std::erase_if(all, [](const Edge& edge) { return !selected(edge.name); });
  return all;
}
// clang-format on

}  // namespace cases
