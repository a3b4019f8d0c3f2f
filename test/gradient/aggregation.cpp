// Aggregation methods: how terms are summed, when, and in how much memory. Rules S38, S66-S72, S99-S102, S117.
#include <memory>
#include <reel/compile.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"

using namespace reel;

namespace {

using Values = std::vector<double>;
constexpr AggregationMethod methods[] = {AggregationMethod::add_n, AggregationMethod::tree,
                                         AggregationMethod::accumulate_n};

std::vector<Gradient> no_rule(const RecordedOp&, std::span<const Gradient>) { return {}; }

// Counts the terms of each call of aggregate, and claims that gradients are large.
struct Counting : VSpace {
  explicit Counting(std::int64_t elements = 1) : elements_(elements) {}
  std::int64_t num_elements(const Gradient&) const override { return elements_; }
  Gradient aggregate(std::span<const Gradient> terms) const override {
    calls.push_back(terms.size());
    return VSpace::aggregate(terms);
  }
  mutable std::vector<std::size_t> calls;

 private:
  std::int64_t elements_;
};

std::vector<std::size_t> calls_for(std::size_t terms, AggregationMethod method, std::int64_t elements = 1) {
  const Counting space(elements);
  const Tensor x = scalar(1.0);
  GradientTape tape({.vspace = &space});
  tape.watch(x);
  std::vector<Tensor> ys;
  for (std::size_t i = 0; i < terms; ++i) ys.push_back(x * 2.0);
  CHECK(tape.gradient(ys, x, {.aggregation_method = method}).dense().item() == 2.0 * static_cast<double>(terms));
  return space.calls;
}

// The memory that the gradient of n terms takes beyond what is live, in buffers of one gradient.
double peak_buffers(AggregationMethod method) {
  constexpr std::int64_t n = (1 << 18) - 16;  // with its header just a size class of the pool
  const Tensor x = ones({n});
  GradientTape tape;
  tape.watch(x);
  std::vector<Tensor> ys;
  // Twice: a term that is a repeated number takes no memory.
  for (int i = 0; i < 32; ++i) ys.push_back(2 * sum(x * ((i + 1.0) / 2)));
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  const Tensor g = *tape.gradient(ys, x, {.aggregation_method = method});
  CHECK(g.data<double>()[7] == 32 * 33 / 2);
  return static_cast<double>(memory_stats().peak_bytes - before) / static_cast<double>(8 * n);
}

}  // namespace

TEST_CASE("S99: accumulate_n adds the gradients of parts of a tensor in one buffer") {
  for (const bool overrides : {false, true}) {
    const auto guard = overrides ? std::make_unique<GradientRegistry::OverrideGuard>("another op", no_rule) : nullptr;
    const Tensor x = zeros({1 << 16});
    GradientTape tape;
    tape.watch(x);
    std::vector<Tensor> ys;
    for (std::int64_t i = 0; i < 8; ++i) ys.push_back(slice(x, {range(i, i + 9)}));
    reset_peak_bytes();
    const std::int64_t before = memory_stats().live_bytes;
    const Tensor g = *tape.gradient(ys, x, {.aggregation_method = AggregationMethod::accumulate_n});
    CHECK(memory_stats().peak_bytes - before < 3 * x.size() * static_cast<std::int64_t>(sizeof(double)) / 2);
    CHECK(sum(g).item() == 72);
  }
}

TEST_CASE("S99: a sum to which terms were added in place is not the term that another tape recorded") {
  const Tensor x = tensor({1., 2.});
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor part = slice(x, {range(0, 1)}), in[] = {x}, y[] = {from_data(x.to_vector())};
  record_operation("stops", in, y, [&](std::span<const Gradient> g) {
    Gradient term = x * *g[0];
    outer.stop();  // nothing follows the sums after this
    return std::vector<Gradient>{std::move(term)};
  });
  const Gradient total = inner.gradient({part, y[0]}, x, {.aggregation_method = AggregationMethod::accumulate_n});
  CHECK(total.dense().to_vector() == Values{2, 2});
  CHECK_FALSE(outer.gradient(total, x));
}

TEST_CASE("S99: every method gives [20, 10] in the ten-fold test") {
  for (const AggregationMethod method : methods) {
    const Tensor x = scalar(1.0);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * 2.0;
    const Tensor z = y + y + y + y + y + y + y + y + y + y;
    const auto g = gradients(z, {x, y}, {.aggregation_method = method});
    CHECK(g[0].dense().item() == 20);
    CHECK(g[1].dense().item() == 10);
  }
}

TEST_CASE("S99, S102: terms are added in order of arrival, or all at once by pairwise summation") {
  // Terms arrive in the reverse of this order: 1e16, 1, -1e16, 1.
  const auto total = [](const GradientOptions& options) {
    const Tensor x = tensor({1.});
    GradientTape tape;
    tape.watch(x);
    std::vector<Tensor> ys;
    for (const double c : {1.0, -1e16, 1.0, 1e16}) ys.push_back(slice(x, {range(0, 1)}) * c);
    return tape.gradient(ys, x, options).dense().item();
  };
  for (const bool overrides : {false, true}) {
    const auto guard = overrides ? std::make_unique<GradientRegistry::OverrideGuard>("another op", no_rule) : nullptr;
    CHECK(total({.aggregation_method = AggregationMethod::tree}) == 1);          // ((1e16 + 1) - 1e16) + 1
    CHECK(total({.aggregation_method = AggregationMethod::accumulate_n}) == 1);  // the same
    CHECK(total({.aggregation_method = AggregationMethod::add_n}) == 0);         // (1e16 + 1) + (-1e16 + 1)
  }
  CHECK(total({}) == 1);
}

TEST_CASE("S102: pairwise summation has smaller rounding errors than a running sum") {
  const Tensor x = scalar(1.0f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  std::vector<Tensor> ys;
  for (int i = 0; i < 4096; ++i) ys.push_back(x * 0.1f);
  tape.stop();
  const auto error = [&](AggregationMethod method) {
    return std::abs(tape.gradient(ys, x, {.aggregation_method = method}).dense().item() - 4096 * double{0.1f});
  };
  CHECK(error(AggregationMethod::add_n) < 1e-4);
  CHECK(error(AggregationMethod::accumulate_n) > 1e-3);
}

TEST_CASE("S99: memory of the methods: add_n every term, tree three buffers, accumulate_n two") {
  const double add_n = peak_buffers(AggregationMethod::add_n), tree = peak_buffers(AggregationMethod::tree),
               in_place = peak_buffers(AggregationMethod::accumulate_n);
  CHECK(add_n > 31);
  CHECK(tree < 3.2);
  CHECK(in_place < 2.2);
  CHECK(tree > in_place + 0.8);
  CHECK(peak_buffers(GradientOptions().aggregation_method) < 2.2);
}

TEST_CASE("S38, S72: a VSpace sums all terms at once for add_n, early when they are many and large, else in pairs") {
  using Calls = std::vector<std::size_t>;
  CHECK(calls_for(10, AggregationMethod::add_n) == Calls{10});
  CHECK(calls_for(1, AggregationMethod::add_n).empty());
  CHECK(calls_for(3, AggregationMethod::add_n, std::int64_t{1} << 40) == Calls{3});  // fewer than four wait
  // 2^23 elements are 32 MiB: four terms do not exceed 128 MiB, five do.
  CHECK(calls_for(10, AggregationMethod::add_n, 1 << 23) == Calls{5, 5, 2});
  CHECK(calls_for(10, AggregationMethod::add_n, 1 << 24) == Calls{4, 4, 4});
  CHECK(calls_for(4, AggregationMethod::tree) == Calls{2, 2, 2});
  CHECK(calls_for(4, AggregationMethod::accumulate_n) == Calls{2, 2, 2});
}

TEST_CASE("S66: no method writes into a gradient that it does not own") {
  for (const AggregationMethod method : methods) {
    const Tensor x = tensor({1., 2.}), dy = tensor({3., 4.});
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = x * 1.0, z = y + y + y;
    tape.stop();
    const auto g = tape.gradient(z, {x, y}, {.output_gradients = dy, .aggregation_method = method});
    const Values first = g[1].dense().to_vector();
    const auto again =
        tape.gradient(std::vector{z, z}, {x, y}, {.output_gradients = {dy, dy}, .aggregation_method = method});
    CHECK(dy.to_vector() == Values{3, 4});
    CHECK(g[1].dense().to_vector() == first);
    CHECK(g[0].dense().to_vector() == Values{9, 12});
    CHECK(again[0].dense().to_vector() == Values{18, 24});
    CHECK(again[1].dense().to_vector() == Values{18, 24});
  }
}

TEST_CASE("S19, S99: every method is differentiable: the sums are recorded by an outer tape") {
  for (const AggregationMethod method : methods) {
    const Tensor x = scalar(2.0);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x * x;  // x three times: terms meet
    const Gradient g = gradients(y, x, {.aggregation_method = method})[0];
    const Gradient h = gradients(g, x, {.aggregation_method = method})[0];
    CHECK(g.dense().item() == 12);
    CHECK(h.dense().item() == 12);
    CHECK(gradients(h, x, {.aggregation_method = method})[0].dense().item() == 6);
  }
}

TEST_CASE("S117: slices are concatenated in order of arrival, without deduplication, by every method") {
  for (const AggregationMethod method : methods) {
    const Tensor x = tensor({{1., 2.}, {3., 4.}, {5., 6.}});
    GradientTape tape;
    tape.watch(x);
    const Tensor a = sum(gather(x, tensor<int>({0, 1}))), b = sum(gather(x, tensor<int>({1})) * 10.0),
                 c = sum(gather(x, tensor<std::int64_t>({2, 2})) * 100.0);
    const Gradient g = tape.gradient({a, b, c}, x, {.aggregation_method = method});
    REQUIRE(g.is_slices());
    const IndexedSlices s = g.slices();
    CHECK(s.indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 2, 1, 0, 1});
    CHECK(s.values.to_vector() == Values{100, 100, 100, 100, 10, 10, 1, 1, 1, 1});
    CHECK(g.dense().to_vector() == Values{1, 1, 11, 11, 200, 200});
  }
}

TEST_CASE("S68, C6: the sum of slices and dense terms is dense, in either order") {
  for (const AggregationMethod method : methods)
    for (const bool dense_last : {false, true}) {
      const Tensor x = tensor({{1., 2.}, {3., 4.}});
      GradientTape tape;
      tape.watch(x);
      std::vector<Tensor> ys;
      if (dense_last) ys.push_back(sum(x * 5.0));
      ys.push_back(sum(gather(x, tensor<int>({1}))));
      ys.push_back(sum(gather(x, tensor<int>({1, 0}))));
      if (!dense_last) ys.push_back(sum(x * 5.0));
      ys.push_back(sum(gather(x, tensor<int>({1}))));
      const Gradient g = tape.gradient(ys, x, {.aggregation_method = method});
      CHECK_FALSE(g.is_slices());
      CHECK(g.dense().to_vector() == Values{6, 6, 8, 8});
    }
}

TEST_CASE("S117: gradients of many lookups take memory for their rows only") {
  const Tensor x = ones({100000, 4});
  GradientTape tape;
  tape.watch(x);
  std::vector<Tensor> ys;
  for (int i = 0; i < 500; ++i) ys.push_back(sum(gather(x, tensor<int>({i}))));
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  const Gradient g = tape.gradient(ys, x);
  REQUIRE(g.is_slices());
  CHECK(g.slices().values.shape() == Shape{500, 4});
  CHECK(memory_stats().peak_bytes - before < 1'000'000);  // dense: 3'200'000
}

TEST_CASE("S100: terms of different shapes are refused") {
  const VSpace space;
  const Gradient terms[] = {ones({2}), ones({3})};
  CHECK_THROWS_AS(space.aggregate(terms), ShapeError);
}

TEST_CASE("S109: gate_gradients is accepted and changes nothing") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  CHECK(gradients(x * x, x, {.gate_gradients = true})[0].dense().item() == 6);
}

TEST_CASE("a tensor that is two operands of an op: its gradient has the same bits at every size, and compiled") {
  const Tensor x = sin(arange(40000) * 1.0), w = cos(arange(40000) * 0.7);
  const auto f = [](const Tensor& a, const Tensor& b) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = a * 1.7 + (a - a) * 0.65;
    return tape.gradient(y, a, {.output_gradients = b}).dense();
  };
  const Tensor whole = f(x, w);
  CHECK(array_equal(compile(f)(x, w), whole));
  for (const std::int64_t first : {0, 20000}) {
    const auto part = [&](const Tensor& a) { return slice(a, {range(first, first + 1000)}); };
    CHECK(array_equal(f(part(x), part(w)), part(whole)));
  }
}
