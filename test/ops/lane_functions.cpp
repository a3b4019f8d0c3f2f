// elementwise against the same function computed op by op: every function of lanes and random compositions of them, in
// value, in both modes and up to the fourth order.
#include <cmath>
#include <reel/elementwise.hpp>
#include <set>

#include "../op_cases.hpp"
#include "../support/derivatives.hpp"
#include "catch.hpp"

using namespace reel;
using support::Difference, support::difference, support::Function, support::gradient_of, support::pull, support::push,
    support::Tensors;

namespace {

// A function of lanes that is also a function of tensors.
struct Pair {
  const char* name;
  Tensor (*fused)(const Tensors& x);
  Tensor (*plain)(const Tensors& x);
};

template <class F>
Pair pair(const char* name, F) {
  if constexpr (std::is_invocable_v<F, Lane>)
    return {name, [](const Tensors& x) { return elementwise(F(), x[0]); }, [](const Tensors& x) { return F()(x[0]); }};
  else if constexpr (std::is_invocable_v<F, Lane, Lane>)
    return {name, [](const Tensors& x) { return elementwise(F(), x[0], x[1]); },
            [](const Tensors& x) { return F()(x[0], x[1]); }};
  else
    return {name, [](const Tensors& x) { return elementwise(F(), x[0], x[1], x[2]); },
            [](const Tensors& x) { return F()(x[0], x[1], x[2]); }};
}

// clang-format off
#define PAIR_1(NAME) pair(#NAME, [](auto x) { return NAME(x); }),
#define PAIR_2(NAME) pair(#NAME, [](auto x, auto y) { return NAME(x, y); }),
#define PAIR_3(NAME) pair(#NAME, [](auto x, auto y, auto z) { return NAME(x, y, z); }),
#define PAIR(NAME, ARITY) PAIR_##ARITY(NAME)
const Pair pairs[] = {
    pair("polygamma", [](auto x) { return polygamma(2, x); }),  // before that of the list: orders are integers
    pair("erfcx_derivative", [](auto x) { return erfcx_derivative(2, x); }),
    pair("threshold", [](auto x, auto y) { return threshold(x, 0.5, y); }),  // limits carry no gradient
    pair("hardshrink", [](auto x) { return hardshrink(x, 0.5); }),
    REEL_POINTWISE_FUNCTIONS(PAIR) REEL_NORMAL_FUNCTIONS(PAIR) REEL_COMPOSED_FUNCTIONS(PAIR)
    pair("equal", [](auto x, auto y) { return where(equal(x, y), x, 2 * y); }),
    pair("not_equal", [](auto x, auto y) { return where(not_equal(x, y), x, 2 * y); }),
    pair("less", [](auto x, auto y) { return where(x < y, x, 2 * y); }),
    pair("less_equal", [](auto x, auto y) { return where(x <= y, x, 2 * y); }),
    pair("greater", [](auto x, auto y) { return where(x > y, x, 2 * y); }),
    pair("greater_equal", [](auto x, auto y) { return where(x >= y, x, 2 * y); }),
    pair("logical_and", [](auto x, auto y) { return where(logical_and(x > 0, y > 1), x, 2 * y); }),
    pair("logical_or", [](auto x, auto y) { return where(logical_or(x > 0, y > 1), x, 2 * y); }),
    pair("logical_xor", [](auto x, auto y) { return where(logical_xor(x > 0, y > 1), x, 2 * y); }),
    pair("logical_not", [](auto x) { return where(logical_not(x > 0), x, 2 * x); }),
    pair("isnan", [](auto x) { return where(isnan(log(x)), x, 2 * x); }),
    pair("isinf", [](auto x) { return where(isinf(1000 * exp(500 * x)), x, 2 * x); }),
    pair("isfinite", [](auto x) { return where(isfinite(1000 * exp(500 * x)), x, 2 * x); }),
    pair("where", [](auto x, auto y, auto z) { return where(x > 0, y, x * z); }),
};
// clang-format on

Function one(Tensor (*f)(const Tensors&)) {
  return [f](const Tensors& x) { return Tensors{f(x)}; };
}

void check_close(const std::string& what, const Tensors& got, const Tensors& expected, double slack = 1) {
  const Difference d = difference(got, expected);
  INFO(what << ": differs by " << d.error << " of " << d.size);
  CHECK(d.error <= 1e-13 * slack * (1 + d.size));
}

// Value, both modes, and gradients of gradients.
void check_orders(Function fused, Function plain, const Tensors& x, int orders, support::Random& random) {
  for (int order = 0; order <= orders; ++order) {
    const Tensors expected = plain(x);
    check_close("order " + std::to_string(order), fused(x), expected, std::pow(4, order));
    const Tensors t = random.like(x);
    check_close("tangent of order " + std::to_string(order), push(fused, x, t), push(plain, x, t), std::pow(4, order));
    const Tensors w = random.like(expected);
    fused = gradient_of(std::move(fused), w);
    plain = gradient_of(std::move(plain), w);
  }
}

}  // namespace

TEST_CASE("every pointwise op is a function of lanes, with the values and derivatives of the op") {
  std::set<std::string> seen;
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & (cases::by_complex | cases::not_of_lanes)) continue;
    INFO(row.name);
    const auto found = std::find_if(std::begin(pairs), std::end(pairs),
                                    [&](const Pair& p) { return std::string_view(p.name) == row.name; });
    REQUIRE(found != std::end(pairs));
    if (!seen.insert(row.name).second) continue;
    support::Random random(row.name);
    Tensors x;
    for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor({9}, row.domain[i].low, row.domain[i].high));
    CHECK(found->fused(x).to_vector() == found->plain(x).to_vector());
    check_orders(one(found->fused), one(found->plain), x, row.arity == 1 ? 4 : 3, random);
    Tensors narrow;
    for (const Tensor& one : x) narrow.push_back(cast(one, DType::float32));
    CHECK(found->fused(narrow).dtype() == DType::float32);
    CHECK(found->fused(narrow).to_vector<float>() == found->plain(narrow).to_vector<float>());
    const Tensors g = {ones({9}, DType::float32)};
    CHECK(difference(pull(one(found->fused), narrow, g), pull(one(found->plain), narrow, g)).error == 0);
  }
}

TEST_CASE("elementwise has the derivatives of the ops at kinks and singular points") {
  const double inf = INFINITY, nan = NAN;
  const Tensor special = tensor({0., -0., 1., -1., inf, -inf, nan, 1e308, -1e308, 1e-320});
  for (const Pair& p : pairs) {
    INFO(p.name);
    for (const Tensor& other : {special, flip(special), ones_like(special)}) {
      const Tensors x = {special, other, abs(other) + 1.0};
      if (std::string_view(p.name) == "elu") continue;  // alpha must not be negative
      CHECK(difference({p.fused(x)}, {p.plain(x)}).error == 0);
      CHECK(
          difference(pull(one(p.fused), x, {ones_like(special)}), pull(one(p.plain), x, {ones_like(special)})).error ==
          0);
    }
  }
}

namespace {

// A random expression of `steps` functions, the same for tensors and lanes.
template <class V>
V compose(unsigned seed, int steps, std::vector<V> pool) {
  std::mt19937 engine(seed);
  const auto pick = [&]() -> const V& { return pool[engine() % pool.size()]; };
  for (int i = 0; i < steps; ++i) {
    const V a = pick(), b = pick(), c = pick();
    switch (engine() % 13) {
      case 0:
        pool.push_back(a + b);
        break;
      case 1:
        pool.push_back(a - 0.5 * b);
        break;
      case 2:
        pool.push_back(tanh(a) * b);
        break;
      case 3:
        pool.push_back(a / (1 + square(b)));
        break;
      case 4:
        pool.push_back(sin(a));
        break;
      case 5:
        pool.push_back(exp(-square(a)));
        break;
      case 6:
        pool.push_back(sigmoid(a));
        break;
      case 7:
        pool.push_back(maximum(a, b));
        break;
      case 8:
        pool.push_back(where(a > b, c, a));
        break;
      case 9:
        pool.push_back(where(logical_or(a < 0.1, equal(b, c)), b, 2.0));
        break;
      case 10:
        pool.push_back(softplus(a) - b);
        break;
      case 11:
        pool.push_back(power(1.5 + square(a), 0.5));
        break;
      default:
        pool.push_back(clip(a, -0.8, b));
        break;
    }
  }
  V sum = pool.back() + 0.1 * (pool[0] + pool[1] + pool[2]);
  for (std::size_t i = 3; i + 1 < pool.size(); i += 2) sum = sum + pool[i];
  return sum;
}

}  // namespace

TEST_CASE("random compositions in elementwise have the values and derivatives of the separate ops") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    support::Random random("composition " + std::to_string(seed));
    const int steps = 3 + static_cast<int>(seed % 12);
    const Function fused = [=](const Tensors& x) {
      return Tensors{elementwise(
          [=](Lane a, Lane b, Lane c) {
            return compose<Lane>(seed, steps, {a, b, c});
          },
          x[0], x[1], x[2])};
    };
    const Function plain = [=](const Tensors& x) { return Tensors{compose<Tensor>(seed, steps, x)}; };
    const Tensors x = {random.tensor({3, 1, 5}), random.tensor({4, 1}), random.tensor({5})};
    check_orders(fused, plain, x, 2, random);
  }
}

TEST_CASE("fourth derivatives of elementwise are those of four nested tapes over ops") {
  const auto f = [](auto x, auto y) { return tanh(x * y) + exp(-square(x)) / (1 + y * y); };
  const Function fused = [=](const Tensors& x) { return Tensors{elementwise(f, x[0], x[1])}; };
  const Function plain = [=](const Tensors& x) { return Tensors{f(x[0], x[1])}; };
  support::Random random("fourth order");
  check_orders(fused, plain, {random.tensor({6}), random.tensor({6})}, 4, random);

  // d^4/dx^4 of x^6 is 360 x^2.
  Tensor x = tensor({1., 2., -3.}), d;
  GradientTape a, b, c, e;
  for (GradientTape* tape : {&a, &b, &c, &e}) tape->watch(x);
  d = elementwise([](auto t) { return t * t * t * t * t * t; }, x);
  for (GradientTape* tape : {&e, &c, &b, &a}) d = *tape->gradient(d, x);
  CHECK(d.to_vector() == std::vector<double>{360, 1440, 3240});
}
