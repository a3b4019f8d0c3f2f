// Rules of recording, replay and sparse gradients that no other file tests, each under its number.
#include <array>
#include <reel/final_gradients.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains, Catch::StartsWith;
using support::number;
using Doubles = std::vector<double>;
using Rule = std::vector<Gradient>;

namespace {

Doubles numbers(const Gradient& g) { return g.dense().to_vector(); }

// New tensors of the given values, recorded as the results of an op on `inputs`.
template <std::size_t N, std::size_t M>
std::array<Tensor, M> recorded(const char* name, const Tensor (&inputs)[N], const Tensor (&outputs)[M],
                               BackwardFunction backward = {}) {
  record_operation(name, inputs, outputs, std::move(backward));
  std::array<Tensor, M> result;
  for (std::size_t i = 0; i < M; ++i) result[i] = outputs[i];
  return result;
}

}  // namespace

TEST_CASE("S6: an op registered as not differentiable gives none to each of its inputs") {
  GradientRegistry::add_not_differentiable("opaque");
  const Tensor x = scalar(1.0), y = scalar(2.0), z = scalar(3.0);
  GradientTape tape;
  tape.watch(std::tuple(x, y, z));
  const Tensor out = recorded("opaque", {x, y, z}, {scalar(6.0)})[0];
  const auto g = tape.gradient(out, {x, y, z});
  GradientRegistry::remove("opaque");
  for (const Gradient& each : g) CHECK(each.reason() == WhyNone::not_differentiable);
}

TEST_CASE("S7, S115: a rule may return tensors, slices or none; slices are densified where a tensor is needed") {
  const Tensor x = tensor({{1., 2.}, {3., 4.}}), y = scalar(1.0), z = scalar(2.0);
  GradientTape tape;
  tape.watch(std::tuple(x, y, z));
  const Tensor doubled = x * 2;
  const Tensor out = recorded("mixed", {doubled, y, z}, {scalar(0.0)}, [](auto) {
    const Tensor rows = tensor({{5., 6.}, {7., 8.}});
    return Rule{IndexedSlices{rows, tensor<int>({1, 1}), {2, 2}}, scalar(9.0), Gradient()};
  })[0];
  const auto g = tape.gradient(out, {x, y, z});
  CHECK(numbers(g[0]) == Doubles{0, 0, 24, 28});
  CHECK(number(g[1]) == 9);
  CHECK_FALSE(g[2]);
}

TEST_CASE("S14, S23: shapes and dtypes are known though no value is kept") {
  GradientTape tape({.persistent = true});
  const Tensor row = tensor<float>({1, 2, 3}), column = tensor<float>({{1}, {2}});
  tape.watch(std::pair(row, column));
  const Tensor y = row + column;
  CHECK(tape.stats().entries == 1);
  CHECK(tape.stats().saved_tensors == 0);
  const auto g = tape.gradient(y, {row, column});
  CHECK((*g[0]).dtype() == DType::float32);
  CHECK(numbers(g[0]) == Doubles{2, 2, 2});
  CHECK((*g[1]).shape() == Shape{2, 1});
  CHECK(numbers(g[1]) == Doubles{3, 3});
}

TEST_CASE("S15: a rule gets one cotangent per output") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const auto [y0, y1] = recorded("pair", {x}, {scalar(1.0), scalar(2.0)}, [](std::span<const Gradient> g) {
    REQUIRE(g.size() == 2);
    return Rule{*g[0] * 10 + *g[1]};
  });
  CHECK(number(tape.gradient(y0 * 2 + y1 * 3, x)) == 23);
}

TEST_CASE("S17: recording does not wrap tensors") {
  const Tensor x = scalar(3.0), y = scalar(9.0);
  const std::uint64_t x_id = x.id(), y_id = y.id();
  GradientTape tape;
  tape.watch(x);
  record_operation("square_of_three", {&x, 1}, {&y, 1}, [](auto g) { return Rule{g[0]}; });
  CHECK(x.id() == x_id);
  CHECK(y.id() == y_id);
}

TEST_CASE("S24, S95: a user's rule gets none for outputs without a gradient, and no zeros are allocated") {
  struct Counting : VSpace {
    mutable int fills = 0;
    Tensor zeros(const Shape& s, DType d) const override { return ++fills, VSpace::zeros(s, d); }
  } space;
  const Tensor x = scalar(3.0);
  GradientTape tape({.vspace = &space});
  tape.watch(x);
  const auto [y, count, unused] =
      recorded("measured", {x}, {scalar(3.0), scalar(7), scalar(1.0)}, [](std::span<const Gradient> g) {
        CHECK(g[0]);
        CHECK_FALSE(g[1]);  // an integer
        CHECK_FALSE(g[2]);
        return Rule{*g[0] * 5};
      });
  CHECK(number(tape.gradient({y * 2, count * 2}, x)) == 10);
  CHECK(space.fills == 0);
}

TEST_CASE("S28, S79: results are parallel to the sources") {
  const Tensor a = scalar(2.0), b = scalar(3.0), c = scalar(4.0);
  GradientTape tape;
  tape.watch(std::vector{a, b, c});
  const auto g = tape.gradient(a * c, {c, b, a, c});
  REQUIRE(g.size() == 4);
  CHECK(number(g[0]) == 2);
  CHECK_FALSE(g[1]);
  CHECK(number(g[2]) == 4);
  CHECK(number(g[3]) == 2);
}

TEST_CASE("S71: requested zeros have their own shape and dtype and are not shared") {
  const Tensor x = scalar(1.0), a = zeros({2}), b = zeros({2, 2}, DType::float32), c = zeros({2});
  GradientTape tape;
  tape.watch(std::tuple(x, a, b, c));
  const auto g = tape.gradient(x * 2, {a, b, c, a}, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK((*g[0]).shape() == Shape{2});
  CHECK((*g[1]).shape() == Shape{2, 2});
  CHECK((*g[1]).dtype() == DType::float32);
  const Tensor moved = *g[0] + 1;
  CHECK(numbers(g[2]) == Doubles{0, 0});
  CHECK(numbers(g[3]) == Doubles{0, 0});
  CHECK(moved.to_vector() == Doubles{1, 1});
}

TEST_CASE("S74: watching an integer warns, a few times at most, and is accepted") {
  WarningLog log;
  GradientTape tape;
  const Tensor n = scalar(1);
  for (int i = 0; i < 10; ++i) tape.watch(n);
  CHECK(log.texts.size() <= 5);  // in the whole process
  for (const std::string& text : log.texts)
    CHECK_THAT(text, Contains("the dtype of the watched tensor must be floating") && Contains("got int32"));
  CHECK(tape.gradient(n + n, n).reason() == WhyNone::integer_dtype);
}

TEST_CASE("S81, C7: a complex target needs its output gradient") {
  const Tensor z = scalar(complex128(3, 4));
  GradientTape tape({.persistent = true});
  tape.watch(z);
  const Tensor y = identity(z);
  CHECK_THROWS_AS(tape.gradient(y, z), TypeError);
  CHECK_THROWS_WITH(tape.gradient(y, z), Contains("complex"));
  const Tensor g = *tape.gradient(y, z, {.output_gradients = scalar(complex128(1, -2))});
  CHECK(g.item<complex128>() == complex128(1, -2));
}

TEST_CASE("S89, C9: gradients flow through bfloat16 and float16, missing ones are zeros") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Tensor x = cast(tensor({1., 2., 3., 4.}), dtype);
    GradientTape tape;
    tape.watch(x);
    const Tensor half = cast(split(x, 2)[1], DType::float64);
    const Tensor g = *tape.gradient(half * half, x);
    CHECK(g.dtype() == dtype);
    CHECK(cast(g, DType::float64).to_vector() == Doubles{0, 0, 6, 8});
  }
}

TEST_CASE("S90: an integer ends the path without an error") {
  const Tensor x = scalar(2.5);
  GradientTape tape;
  tape.watch(x);
  const Tensor back = cast(cast(x, DType::int32), DType::float64) * 2;
  CHECK_FALSE(tape.gradient(back, x));
}

TEST_CASE("S91, S94: ops off the path, stopped or without a gradient need no registered gradient") {
  const Tensor x = scalar(2.0), other = scalar(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, other));
  const Tensor y = x * x;
  const Tensor leads_away = recorded("nobody_registered_1", {y}, {scalar(0.0)})[0];
  const Tensor from_elsewhere = recorded("nobody_registered_2", {other}, {scalar(5.0)})[0];
  const Tensor z = y + from_elsewhere;
  CHECK(number(tape.gradient(z, x)) == 4);
  const Tensor stopped = recorded("nobody_registered_3", {x}, {scalar(6.0)})[0];
  CHECK(number(tape.gradient(stopped * x, x, {.stop_gradients = stopped})) == 6);
  CHECK_THROWS_AS(tape.gradient(leads_away, x), LookupError);
  CHECK_THROWS_AS(tape.gradient(z, other), LookupError);
  // The other results of a source's op do not depend on the source.
  const auto [first, second] = recorded("nobody_registered_4", {x}, {scalar(1.0), scalar(2.0)});
  const Tensor beyond = recorded("nobody_registered_5", {second}, {scalar(3.0)})[0];
  CHECK(number(tape.gradient(first * beyond, first)) == 3);
  CHECK_THROWS_AS(tape.gradient(first * beyond, second), LookupError);
}

TEST_CASE("S93, S105: stop_gradients are constants, sources are not; both may be given") {
  const Tensor a = scalar(0.0);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor b = 2 * a, c = a + b;
  const auto total = tape.gradient(c, {a, b});
  CHECK(number(total[0]) == 3);
  CHECK(number(total[1]) == 1);
  const auto partial = tape.gradient(c, {a, b}, {.stop_gradients = {a, b}});
  CHECK(number(partial[0]) == 1);
  CHECK(number(partial[1]) == 1);
  const Tensor same = a + stop_gradient(b);
  CHECK(number(tape.gradient(same, a)) == 1);
  CHECK(number(tape.gradient(c, a, {.stop_gradients = b})) == 1);
  // A chain of sources: gradients continue through later sources to earlier ones.
  const Tensor d = b * 5;
  const auto chain = tape.gradient(d, {a, b});
  CHECK(number(chain[0]) == 10);
  CHECK(number(chain[1]) == 5);
  // Integers count as stopped.
  const Tensor n = cast(a, DType::int64);
  CHECK(number(tape.gradient(a + n, a)) == 1);
}

TEST_CASE("S36, S91: a source that is given twice is one source") {
  const Tensor x = scalar(3.0), w = scalar(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, w));
  const Tensor y = recorded("without_rule", {w}, {scalar(5.0)})[0] * x;  // off the path from x
  for (const std::size_t times : {1u, 2u, 3u}) {
    const auto g = tape.gradient(y, std::vector<Tensor>(times, x));
    CHECK(g.size() == times);
    for (const Gradient& each : g) CHECK(number(each) == 5.0);
  }
  CHECK_THROWS_AS(tape.gradient(y, w), LookupError);
}

TEST_CASE("S32: a target that is a source gives ones, also when the tape does not follow it") {
  const Tensor x = tensor({1., 2.}), w = scalar(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(w);
  for (const auto method : {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    const GradientOptions options{.aggregation_method = method};
    CHECK(numbers(tape.gradient(x, std::vector{x, w}, options)[0]) == Doubles{1, 1});
    CHECK(numbers(tape.gradient(std::vector{x, x, x}, std::vector{w, x}, options)[1]) == Doubles{3, 3});
  }
  CHECK(tape.gradient(x, w).reason() == WhyNone::target_unwatched);
  CHECK(tape.gradient(w * w, x, {.stop_gradients = {w}}).reason() == WhyNone::never_watched);
}

namespace {

// Calls replay() on an active tape until it warns, and checks what was recorded by then. `replay` returns what keeps
// its entries alive. The target has `copies` elements for each of the source.
template <class Replay>
void check_growth_warning(const std::string& op, std::size_t copies, const Replay& replay) {
  CAPTURE(op);
  WarningLog log;
  const Tensor x = ones({2, 3}), weights = ones({2, 3 * static_cast<std::int64_t>(copies)});
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, weights));
  const Tensor y = concatenate(std::vector<Tensor>(copies, x * x), 1);
  std::vector<Tensor> others;
  for (int i = 0; i < 95; ++i) others.push_back(x + i);
  const std::int64_t forward = tape.stats().entries;
  std::int64_t before = forward, now = forward;
  std::vector<Gradient> results;
  while (log.texts.empty() && now < 20 * forward) {
    before = now;
    results.push_back(replay(tape, y, x, weights));
    now = tape.stats().entries;
  }
  REQUIRE(log.texts.size() == 1);
  CHECK(before <= 9 * forward);
  CHECK(now > 9 * forward);
  CHECK_THAT(log.texts[0],
             StartsWith("GradientTape." + op + ": ") && Contains(": " + std::to_string(now) + " entries by now, " +
                                                                 std::to_string(forward) + " of them forward"));
}

}  // namespace

TEST_CASE("C2: an active tape warns when its replays are eight times what came before them") {
  const auto gradient = [](GradientTape& tape, const Tensor& y, const Tensor& x, const Tensor& weights) {
    return tape.gradient(y, x, {.output_gradients = weights});
  };
  const auto jacobian = [](GradientTape& tape, const Tensor& y, const Tensor& x, const Tensor&) {
    return tape.jacobian(y, x);
  };
  const auto batch_jacobian = [](GradientTape& tape, const Tensor& y, const Tensor& x, const Tensor&) {
    return tape.batch_jacobian(y, x);
  };
  check_growth_warning("gradient", 1, gradient);
  check_growth_warning("jacobian", 1, jacobian);
  check_growth_warning("batch_jacobian", 1, batch_jacobian);  // row by row
  check_growth_warning("batch_jacobian", 4, batch_jacobian);  // column by column
}

TEST_CASE("C2: no warning when the entries of replays are dropped with their results") {
  WarningLog log;
  const Tensor x = tensor({1., 2.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  for (int i = 0; i < 3000; ++i) tape.gradient(x * x, x);
  CHECK(log.texts.empty());
  const Tensor y = x * x;
  std::vector<Gradient> kept;
  for (int i = 0; i < 5000; ++i) kept.push_back(tape.gradient(y, x));
  CHECK(log.texts.size() == 1);
}

TEST_CASE("S27, S76: a used tape still knows which variables it watched") {
  const Variable v(scalar(3.0), "v");
  GradientTape tape;
  CHECK(number(tape.gradient(v * v, v)) == 6.0);
  REQUIRE(tape.watched_variables().size() == 1);
  CHECK(tape.watched_variables()[0] == v);
}

TEST_CASE("for_each_gradient: slices, views, rules without a gradient, and a first source that is not connected") {
  const Tensor apart = scalar(1.0), table = tensor({{1., 2.}, {3., 4.}}), x = tensor({1., 2.}), none_of = scalar(2.0);
  GradientTape tape;
  tape.watch(std::vector{apart, table, x, none_of});
  const Tensor blocked =
      recorded("blocks", {none_of}, {scalar(4.0)}, [](std::span<const Gradient>) { return Rule(1); })[0];
  const Tensor y = sum(gather(table, tensor<int>({1}))) + sum(x) + blocked;
  std::vector<Gradient> found(4);
  int calls = 0;
  for_each_gradient(tape, y, std::vector<Source>{apart, table, x, none_of},
                    [&](std::size_t k, const Gradient& g) { ++calls, found[k] = g; });
  CHECK(calls == 4);
  CHECK(found[0].reason() == WhyNone::not_connected);
  REQUIRE(found[1].is_slices());
  CHECK(numbers(found[1]) == Doubles{0, 0, 1, 1});
  CHECK(found[2].dense().is_contiguous());
  CHECK(numbers(found[2]) == Doubles{1, 1});
  CHECK(found[3].reason() == WhyNone::unknown);
}

TEST_CASE("for_each_gradient: a gradient is complete, and handed over before earlier entries are replayed") {
  for (const auto method : {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    const Tensor x = scalar(1.0), cut = scalar(2.0);
    std::vector<std::string> order;
    GradientTape tape;
    tape.watch(x);
    tape.watch(cut);
    const Tensor unused = exp(cut);
    const Tensor blocked =
        recorded("blocks", {cut * 1.0}, {scalar(4.0)}, [](std::span<const Gradient>) { return Rule(1); })[0];
    const Tensor y = recorded("first", {x}, {scalar(3.0)}, [&](std::span<const Gradient> g) {
      order.push_back("rule");
      return Rule{*g[0] * 2};
    })[0];
    const Tensor z = y * 2 + y * 3 + y * 4 + blocked;
    for_each_gradient(tape, z, std::vector<Source>{x, y, cut},
                      [&](std::size_t k, const Gradient& g) {
                        order.push_back(k == 0 ? "x" : k == 1 ? "y" : "cut");
                        if (k == 2)
                          CHECK_THAT(g.why_none(), Contains("blocks"));
                        else
                          CHECK(number(g) == (k == 0 ? 18 : 9));
                      },
                      {.aggregation_method = method});
    CHECK(order == std::vector<std::string>{"y", "rule", "x", "cut"});
  }
}

TEST_CASE("S102: a sum of many terms has the same bits for any number of threads") {
  const Tensor x = linspace(0.1, 3.0, 20000);
  const auto gradient = [&](int threads) {
    set_num_threads(threads);
    GradientTape tape;
    tape.watch(x);
    Tensor y = x * 1.1;
    for (int i = 2; i < 40; ++i) y += sin(x * i) * x;
    return numbers(tape.gradient(y, x));
  };
  const int before = num_threads();
  const Doubles one = gradient(1), seven = gradient(7);
  set_num_threads(before);
  CHECK(one == seven);
}

TEST_CASE("S103, C16: a source that is the unused sibling of a target gets zeros where zeros are asked for") {
  const Tensor x = tensor<float>({1, 2, 3, 4});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> halves = split(x, 2);
  CHECK_FALSE(tape.gradient(halves[0] * 2, halves[1]));
  const Gradient zero = tape.gradient(halves[0] * 2, halves[1], {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK((*zero).dtype() == DType::float32);
  CHECK(numbers(zero) == Doubles{0, 0});
}

TEST_CASE("S107: variables are sources and targets, slices and gradients are targets") {
  const Variable w(tensor({1., 2.}));
  GradientTape tape({.persistent = true});
  const Tensor y = w * w;
  const Gradient g = tape.gradient(y, w);
  CHECK(numbers(tape.gradient(g, w)) == Doubles{2, 2});
  CHECK(numbers(tape.gradient(w, w)) == Doubles{1, 1});
  const IndexedSlices s{reshape(w * 3, {1, 2}), tensor<int>({1}), {3, 2}};
  CHECK(numbers(tape.gradient(s, w)) == Doubles{3, 3});
}

TEST_CASE("S113: dense slices: rows with the same index add, rows without one are zero") {
  for (const DType dtype : {DType::int32, DType::int64}) {
    const Tensor indices = cast(tensor({2., 0., 2.}), dtype);
    const IndexedSlices s{tensor({{1., 2.}, {3., 4.}, {5., 6.}}), indices, {4, 2}};
    CHECK(s.dense().to_vector() == Doubles{3, 4, 0, 0, 6, 8, 0, 0});
  }
  const IndexedSlices outside{tensor({{1., 2.}}), tensor<int>({4}), {4, 2}};
  CHECK_THROWS_AS(outside.dense(), IndexError);
}

TEST_CASE("S116: rows of rows have the gradient of the rows that were taken") {
  const Tensor x = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(gather(x, tensor<int>({2, 0, 2})), tensor<int>({2, 2, 1}));
  const Gradient g = tape.gradient(y, x);
  CHECK((*g).shape() == Shape{3, 2});
  CHECK(numbers(g) == Doubles{1, 1, 0, 0, 2, 2});
}

TEST_CASE("S120: gradients flow through what closures capture, by value or by reference, at any depth") {
  const Tensor x = scalar(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * 3;
  const auto by_value = [y](const Tensor& t) { return t * y; };
  const auto by_reference = [&](const Tensor& t) { return [&] { return t * y + x; }(); };
  CHECK(number(tape.gradient(by_value(scalar(5.0)), x)) == 15);
  CHECK(number(tape.gradient(by_reference(scalar(5.0)), x)) == 16);
  // A tape that is opened within the closure sees the captured tensors that it watches.
  const auto inner = [&] {
    GradientTape within;
    within.watch(y);
    return *within.gradient(y * y * x, y);
  };
  CHECK(number(tape.gradient(inner(), x)) == 2 * (3 * 2 + 6));  // 2 y x = 6 x^2
}

TEST_CASE("S121: inputs that are not followed keep their place among the gradients") {
  const Tensor a = scalar(1.0), b = scalar(2.0), c = scalar(3.0);
  GradientTape tape;
  tape.watch(std::pair(a, c));
  const Tensor y = recorded("three", {a, b, c}, {scalar(0.0)}, [](auto) {
    return Rule{scalar(10.0), scalar(20.0), scalar(30.0)};
  })[0];
  const auto g = tape.gradient(y, {a, b, c});
  CHECK(number(g[0]) == 10);
  CHECK_FALSE(g[1]);
  CHECK(number(g[2]) == 30);
}

TEST_CASE("S122, S124: loops and branches of the host are recorded as they run") {
  const Tensor x = scalar(2.0), invariant = scalar(3.0), zero = scalar(0.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::tuple(x, invariant, zero));
  const auto loop = [&](int turns) {
    Tensor y = x;
    for (int i = 0; i < turns; ++i) y = y * invariant;
    return y;
  };
  CHECK(number(tape.gradient(loop(0), x)) == 1);
  CHECK_FALSE(tape.gradient(loop(0), invariant));
  CHECK(number(tape.gradient(loop(3), invariant)) == 2 * 3 * 9);
  // The branch that is not taken gives no 0 * inf.
  const Tensor branch = zero.item() > 0 ? log(zero) : zero * 2;
  CHECK(number(tape.gradient(branch, zero)) == 2);
}

TEST_CASE("S123: within a loop an inner tape sees what it recorded and nothing else") {
  const Tensor x = scalar(2.0);
  Tensor y = x * x;
  for (int i = 0; i < 3; ++i) {
    GradientTape inner;
    inner.watch(y);
    const Tensor z = y * y;
    const auto g = inner.gradient(z, {x, y});
    CHECK_FALSE(g[0]);
    CHECK(number(g[1]) == Approx(2 * y.item()));
    y = y * 0.5;
  }
}

TEST_CASE("C14: an output gradient of another floating dtype is cast to the target's") {
  WarningLog log;
  const Tensor x = tensor<float>({1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *tape.gradient(x * 2, x, {.output_gradients = tensor({1., 10.})});
  CHECK(g.dtype() == DType::float32);
  CHECK(g.to_vector() == Doubles{2, 20});
  CHECK(log.texts.size() == 1);
}
