// <reel/testing.hpp>: the checker accepts right derivatives and rejects wrong ones, and says which is wrong and where.
#include <cmath>
#include <reel/reel.hpp>
#include <reel/testing.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;

namespace {

// square with these rules in place of its own; both get x.
using Rule = Tensor (*)(const Tensor& x, const Tensor& g);
Tensor square_with(const Tensor& x, Rule vjp, Rule jvp) {
  const Tensor constant = stop_gradient(x);
  const Tensor out[] = {from_data((constant * constant).to_vector(), x.shape())};
  TangentFunction tangent;
  if (jvp) tangent = [x, jvp](std::span<const Tensor> t) { return std::vector<Tensor>{jvp(x, t[0])}; };
  record_operation(
      "my_square", {&x, 1}, out,
      [x, vjp](std::span<const Gradient> g) { return std::vector<Gradient>{vjp(x, g[0].dense())}; }, tangent);
  return out[0];
}
Tensor right(const Tensor& x, const Tensor& g) { return 2 * x * g; }
Tensor wrong(const Tensor& x, const Tensor& g) { return 3 * x * g; }
Tensor right_once(const Tensor& x, const Tensor& g) { return 2 * stop_gradient(x) * g; }
Tensor wrong_in_one(const Tensor& x, const Tensor& g) { return (2 * x + tensor({0., 0., 1e-3})) * g; }

template <Rule Vjp, Rule Jvp>
Tensor mine(const Tensor& x) {
  return square_with(x, Vjp, Jvp);
}

bool any_note(const CheckReport& r, const std::string& part) {
  for (const std::string& note : r.notes)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

const Tensor point = tensor({0.5, -1.2, 2.0});

}  // namespace

TEST_CASE("check_gradients: correct functions pass in both modes, to the third order") {
  const auto check = [](const char* name, auto f, const auto& args, int order) {
    const CheckReport r = check_gradients(f, args, {.order = order});
    INFO(name << ": " << r);
    CHECK(r);
    CHECK(r.notes.empty());
    CHECK(r.worst_error < 1e-6);
    for (int k = 1; k <= order; ++k)
      for (const CheckMode mode : {CheckMode::reverse, CheckMode::forward})
        CHECK(std::count_if(r.entries.begin(), r.entries.end(),
                            [&](const CheckEntry& e) { return e.order == k && e.mode == mode; }) > 0);
  };
  check(
      "tanh", [](const Tensor& x) { return tanh(x); }, point, 3);
  check(
      "log near zero", [](const Tensor& x) { return log(x); }, tensor({1e-3, 1e3}), 2);
  check(
      "softmax",
      [](const Tensor& x) {
        return softmax(reshape(x, {2, 3}));
      },
      linspace(-1, 1, 6), 2);
  check(
      "linear", [](const Tensor& x) { return 3 * x; }, point, 2);
  check(
      "constant", [](const Tensor& x) { return sum(stop_gradient(x) * 0); }, point, 1);
  const Tensor a = reshape(linspace(0.1, 1, 6), {2, 3}), b = reshape(linspace(-1, 1, 12), {3, 4});
  check(
      "matmul", [](const Tensor& x, const Tensor& y) { return exp(matmul(x, y)); }, std::tuple(a, b), 2);
  check("my own", mine<right, right>, point, 3);
}

TEST_CASE("check_gradients: trees, variables, integers and several results") {
  const Variable w(point, "w");
  const CheckReport tree =
      check_gradients([](const std::vector<Tensor>& x) { return std::pair(sin(x[0]), x[0] * x[1]); },
                      std::vector<Tensor>{point, point});
  CHECK(tree);
  CHECK(tree.entries.size() == 4);
  CHECK(check_gradients([](const Tensor& x) { return exp(x); }, w));
  const CheckReport gathered = check_gradients([](const Tensor& x, const Tensor& i) { return gather(x, i) * 2; },
                                               std::tuple(point, tensor<std::int64_t>({2, 0, 2})));
  CHECK(gathered);
  for (const CheckEntry& e : gathered.entries) CHECK(e.argument == 0);
}

TEST_CASE("check_gradients: a wrong rule fails, and the report names the element") {
  const CheckReport r = check_gradients(mine<wrong, right>, point);
  CHECK_FALSE(r);
  CHECK(r.worst_error > 0.3);
  CHECK_THAT(to_string(r), Catch::StartsWith("failed") && Contains("order 1, reverse mode, argument 0: failed"));
  const CheckReport one = check_gradients(mine<wrong_in_one, right>, point);
  CHECK_FALSE(one);
  CHECK_THAT(one.entries[0].worst, Contains("element 2"));
  CHECK(one.worst_error == Approx(1e-3 / 4).epsilon(0.5));
}

TEST_CASE("check_gradients: a wrong jvp fails in forward mode only") {
  const CheckReport r = check_gradients(mine<right, wrong>, point);
  CHECK_FALSE(r);
  REQUIRE(r.entries.size() == 2);
  CHECK(r.entries[0].passed);
  CHECK_FALSE(r.entries[1].passed);
  CHECK(check_gradients(mine<right, wrong>, point, {.modes = CheckMode::reverse}));
  CHECK_FALSE(check_gradients(mine<right, wrong>, point, {.modes = CheckMode::forward}));
  CHECK(check_gradients(mine<wrong, right>, point, {.modes = CheckMode::forward}));  // its jvp is right
}

TEST_CASE("check_gradients: a wrong second derivative passes the first order and fails the second") {
  CHECK(check_gradients(mine<right_once, right>, point));
  const CheckReport r = check_gradients(mine<right_once, right>, point, {.order = 2});
  CHECK_FALSE(r);
  for (const CheckEntry& e : r.entries)
    if (e.mode == CheckMode::reverse) CHECK(e.passed == (e.order == 1));
}

TEST_CASE("check_gradients: without a jvp forward mode is skipped with a note, or fails if requested") {
  const CheckReport r = check_gradients(mine<right, nullptr>, point);
  CHECK(r);
  CHECK(any_note(r, "no forward mode: my_square"));
  CHECK_FALSE(check_gradients(mine<right, nullptr>, point, {.modes = CheckMode::forward}));
}

TEST_CASE("check_gradients: float16 and float32 have thresholds of their own") {
  for (const DType d : {DType::float32, DType::float16, DType::bfloat16}) {
    INFO(name(d));
    const auto good = [](const Tensor& a) {
      const Tensor b = cast(a, DType::float32);
      return sin(b) * b;
    };
    const auto bad = [](const Tensor& a) {
      const Tensor b = cast(a, DType::float32);
      return sin(b) * stop_gradient(b);
    };
    const CheckReport r = check_gradients(good, cast(point, d));
    INFO(r);
    CHECK(r);
    CHECK_FALSE(check_gradients(bad, cast(point, d)));
  }
  const Tensor x = cast(point, DType::float32);
  const auto near = [](const Tensor& a) { return sin(a) + stop_gradient(a) * 0.02; };
  CHECK_FALSE(check_gradients(near, x));
  CHECK(check_gradients(near, x, {.tolerance = 0.1}));
  CHECK(check_gradients([](const Tensor& a) { return sum(tanh(a)); }, x, {.order = 2}));
}

TEST_CASE("check_gradients: rounding is not taken for a kink or an error") {
  using Function = Tensor (*)(const Tensor&);
  const std::pair<const char*, Function> functions[] = {
      {"softmax", [](const Tensor& x) { return softmax(x); }},
      {"exp / sum", [](const Tensor& x) { return exp(x) / sum(exp(x), -1, true); }},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
      {"cross-entropy",
       [](const Tensor& x) {
         return sparse_softmax_cross_entropy(x, zeros({2, 3}, DType::int64));
       }},
      {"layer_norm", [](const Tensor& x) { return layer_norm(x); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
  };
  for (const auto& [name, f] : functions)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Generator generator(seed);
      const Tensor x = random_normal(generator, {2, 3, 5}, 0, 2, DType::float32);
      const CheckReport r = check_gradients(f, x, {.order = 2});
      INFO(name << ", seed " << seed << ": " << r);
      CHECK(r);
      CHECK(r.notes.empty());
      // In float32 alone, and where the gradient is 2 % too large.
      const auto narrow = [of = f](const Tensor& at) {
        if (at.dtype() != DType::float32) throw TypeError("float32 only");
        return of(at);
      };
      const CheckReport alone = check_gradients(narrow, x, {.order = 2});
      INFO("in float32 alone: " << alone);
      CHECK(alone);
      const auto off = [](const auto& of) {
        return [of](const Tensor& at) {
          const Tensor y = of(at);
          return y + 0.02f * (y - stop_gradient(y));
        };
      };
      CHECK_FALSE(check_gradients(off(f), x));
      CHECK_FALSE(check_gradients(off(narrow), x));
    }
  for (const DType d : {DType::float16, DType::bfloat16}) {
    Generator generator(3);
    const CheckReport r = check_gradients([](const Tensor& x, const Tensor& s) { return layer_norm(x, s, s); },
                                          std::tuple(random_normal(generator, {4, 64}, 0, 1, d), ones({64}, d)));
    INFO(name(d) << ": " << r);
    CHECK(r);
    CHECK(r.worst_error < 0.02);
  }
}

TEST_CASE("check_gradients: a zero gradient passes with rounding errors, a wrong one that is nearly zero fails") {
  for (const DType d : {DType::float64, DType::float32}) {
    Generator generator(1);
    const Tensor x = random_normal(generator, {2, 3, 5}, 0, 2, d);
    const CheckReport r = check_gradients([](const Tensor& a) { return sum(softmax(a)); }, x);
    INFO(r);
    CHECK(r);
    CHECK_FALSE(
        check_gradients([](const Tensor& a) { return sum(softmax(a)) + 1e-4f * (sum(a) - stop_gradient(sum(a))); }, x));
    if (d == DType::float64) CHECK(check_gradients([](const Tensor& a) { return mean(layer_norm(a)); }, x));
  }
}

TEST_CASE("check_gradients: kinks of float32 functions, and functions that differ in float64") {
  const Tensor x = cast(tensor({1.0, 0.0, -1.0}), DType::float32);
  const CheckReport r = check_gradients([](const Tensor& a) { return relu(a); }, x);
  CHECK_FALSE(r);
  CHECK(any_note(r, "kink at element 1 of argument 0"));
  CHECK(r.notes.size() == 1);
  const auto two = [](const Tensor& a) { return a.dtype() == DType::float64 ? 3 * a : sin(a); };
  CHECK(check_gradients(two, x));
}

TEST_CASE("check_gradients: a kink is named, and fails unless kinks are allowed") {
  const Tensor x = tensor({1.0, 0.0, -1.0});
  const CheckReport r = check_gradients([](const Tensor& a) { return sum(relu(a)); }, x);
  CHECK_FALSE(r);
  CHECK(any_note(r, "kink at element 1 of argument 0"));
  CHECK(r.notes.size() == 1);
  CHECK(check_gradients([](const Tensor& a) { return sum(relu(a)); }, x, {.allow_kinks = true}));
  CHECK(check_gradients([](const Tensor& a) { return abs(a); }, x, {.allow_kinks = true}));
  // A gradient outside the two slopes is wrong at a kink too.
  const auto outside = [](const Tensor& a) { return sum(relu(a)) + 5 * sum(a) - stop_gradient(5 * sum(a)); };
  CHECK_FALSE(check_gradients(outside, x, {.allow_kinks = true}));
  // Near a kink is not at one.
  const CheckReport near = check_gradients([](const Tensor& a) { return sum(relu(a)); }, tensor({1e-3, -1e-4}));
  INFO(near);
  CHECK(near);
}

TEST_CASE("check_gradients: detects a function with different results for the same arguments") {
  double calls = 0;
  const CheckReport r = check_gradients([&](const Tensor& x) { return x * ++calls; }, point);
  CHECK_FALSE(r);
  CHECK(any_note(r, "different results for the same arguments"));
}

TEST_CASE("check_gradients: loops that replay runs again may capture by reference") {
  const auto f = [](const Tensor& x, const Tensor& w) {
    const auto step = [&w](const Tensor& state, const Tensor& input) {
      const Tensor next = tanh(state * w + input);
      return std::pair(next, next);
    };
    return scan(step, x, linspace(0, 1, 5), {.memory_budget = 64}).first;
  };
  const auto arguments = std::tuple(tensor({.3, -.2}), tensor({.5, .7}));
  CHECK(check_gradients(f, arguments, {.order = 2}));
}

TEST_CASE("check_gradients: varies random elements of a large argument, chosen by the seed") {
  const Tensor x = linspace(-1, 1, 4000);
  int calls = 0;
  const auto f = [&](const Tensor& a) {
    ++calls;
    return sum(sin(a));
  };
  const CheckReport r = check_gradients(f, x, {.seed = 7, .elements = 10});
  CHECK(r);
  CHECK(calls < 10 * 60);
  CHECK(to_string(r) == to_string(check_gradients(f, x, {.seed = 7, .elements = 10})));
}

TEST_CASE("check_gradients: refuses bad arguments") {
  const auto f = [](const Tensor& x) { return x; };
  CHECK_THROWS_AS(check_gradients(f, point, {.order = 0}), ValueError);
  CHECK_THROWS_AS(check_gradients(f, Tensor()), ValueError);
  CHECK_THROWS_AS(check_gradients(f, tensor<std::int64_t>({1})), TypeError);
  CHECK_THROWS_AS(check_gradients(f, cast(point, DType::complex128)), TypeError);
  CHECK_THROWS_WITH(check_gradients([](const Tensor&) -> Tensor { throw std::runtime_error("mine"); }, point), "mine");
}

TEST_CASE("check_gradients: ignores integer arguments and results in every order") {
  for (const DType d : {DType::float64, DType::float32}) {
    const auto f = [](const Tensor& x, const Tensor& i) { return std::pair(sin(x) * i, cast(x > 0, DType::int64)); };
    const auto off = [&](const Tensor& x, const Tensor& i) {
      auto [y, positive] = f(x, i);
      return std::pair(y + 0.1f * (y - stop_gradient(y)), positive);
    };
    const auto arguments = std::tuple(cast(point, d), tensor<std::int64_t>({3, 1, 2}));
    const CheckReport r = check_gradients(f, arguments, {.order = 2});
    INFO(r);
    CHECK(r);
    CHECK(r.entries.size() == 4);
    for (const CheckEntry& e : r.entries) CHECK(e.argument == 0);
    CHECK_FALSE(check_gradients(off, arguments));
  }
}

TEST_CASE("check_gradients: skips arguments without elements") {
  const auto f = [](const Tensor& x, const Tensor& none_of) { return sum(square(x)) + sum(none_of); };
  const CheckReport r = check_gradients(f, std::tuple(point, zeros({0})));
  CHECK(r);
  for (const CheckEntry& e : r.entries) CHECK(e.argument == 0);
}

TEST_CASE("check_gradients: forward mode alone notes a kink and accepts a slope between the one-sided ones") {
  const auto one_mode = [](const auto& f) { return check_gradients(f, zeros({3}), {.modes = CheckMode::forward}); };
  const CheckReport r = one_mode([](const Tensor& a) { return abs(a); });
  CHECK(r);
  CHECK(any_note(r, "order 1: kink along a tangent of argument 0: slopes "));
  CHECK_THAT(to_string(r), Catch::StartsWith("passed") && Contains("order 1, forward mode, argument 0: passed") &&
                               Contains("\n  order 1: kink along a tangent"));
  CHECK_FALSE(one_mode([](const Tensor& a) { return abs(a) + 5 * a - stop_gradient(5 * a); }));
  CHECK(one_mode([](const Tensor& a) { return sin(a); }).notes.empty());
}

TEST_CASE("check_gradients: a NaN gradient fails with an infinite error") {
  const auto f = [](const Tensor& x) {
    const Tensor out[] = {from_data(square(x).to_vector(), x.shape())};
    record_operation(
        "nan", {&x, 1}, out, [x](std::span<const Gradient>) { return std::vector<Gradient>{full(x.shape(), NAN)}; },
        [x](std::span<const Tensor>) { return std::vector<Tensor>{full(x.shape(), NAN)}; });
    return out[0];
  };
  for (const CheckMode mode : {CheckMode::reverse, CheckMode::forward, CheckMode::both}) {
    const CheckReport r = check_gradients(f, point, {.modes = mode});
    CHECK_FALSE(r);
    CHECK(std::isinf(r.worst_error));
  }
}

TEST_CASE("check_gradients: results of varying shape, dtype or number, and NaN results") {
  int calls = 0;
  const auto found_out = [&](const auto& f) {
    calls = 0;
    const CheckReport r = check_gradients(f, point);
    return !r && any_note(r, "different results for the same arguments");
  };
  CHECK(found_out([&](const Tensor& x) { return std::vector<Tensor>(static_cast<std::size_t>(++calls), x); }));
  CHECK(found_out([&](const Tensor& x) { return ++calls % 2 ? x : reshape(x, {1, 3}); }));
  CHECK(found_out([&](const Tensor& x) { return ++calls % 2 ? x : cast(x, DType::float32); }));
  CHECK(found_out([&](const Tensor& x) { return ++calls % 2 ? x : x * NAN; }));
  const CheckReport r = check_gradients([](const Tensor& x) { return where(x > 0, x, log(stop_gradient(x))); }, point);
  CHECK_FALSE(any_note(r, "different results"));  // NaN twice is the same
  CHECK_THROWS_WITH(check_gradients([](const Tensor& x) { return cast(x, DType::complex128); }, point),
                    Contains("complex results are not supported"));
}

TEST_CASE("check_gradients: a float32 function that differs in float64 is checked in float32") {
  const Tensor x = cast(point, DType::float32);
  const auto wide = [](const Tensor& a) { return a.dtype() == DType::float64; };
  const auto right_and_wrong = [&](const auto& other) {
    const auto f = [&](const Tensor& a) -> std::vector<Tensor> { return wide(a) ? other(a) : std::vector{sin(a)}; };
    const auto off = [&](const Tensor& a) -> std::vector<Tensor> {
      return wide(a) ? other(a) : std::vector{sin(a) + 0.1f * (sin(a) - stop_gradient(sin(a)))};
    };
    CHECK(check_gradients(f, x));
    CHECK_FALSE(check_gradients(off, x));
  };
  right_and_wrong([](const Tensor& a) { return std::vector{sin(a), a}; });
  right_and_wrong([](const Tensor& a) { return std::vector{reshape(sin(a), {1, 3})}; });
  right_and_wrong([](const Tensor& a) { return std::vector{cast(a, DType::int64)}; });
  right_and_wrong([](const Tensor& a) { return std::vector{cast(sin(a), DType::float32)}; });
}

TEST_CASE("check_gradients: uses the step of the caller") {
  const Tensor x = tensor({1.0});
  double farthest = 0;
  const auto f = [&](const Tensor& a) {
    farthest = support::worse(farthest, std::abs(a.to_vector()[0] - 1));
    return sum(sin(a));
  };
  CHECK(check_gradients(f, x));
  CHECK(farthest == Approx(0.02));
  farthest = 0;
  CHECK(check_gradients(f, x, {.step = 0.001}));
  CHECK(farthest == Approx(0.001));
}
