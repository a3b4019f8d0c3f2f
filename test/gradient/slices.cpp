// IndexedSlices, from gather's gradient to the optimisers. Rules S66-S69, S113-S118. The cost is proportional to the
// number of rows named.
#include <cmath>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Values = std::vector<double>;
using Indices = std::vector<std::int64_t>;

// Rows 2, 0, 2 of a [4, 2] table: 2 twice.
IndexedSlices some_rows() { return {tensor({{1., 2.}, {10., 20.}, {100., 200.}}), tensor<int>({2, 0, 2}), {4, 2}}; }
Tensor table() { return tensor({{1., 2.}, {3., 4.}, {5., 6.}, {7., 8.}}); }

// The peak memory of f beyond what was live before, in bytes.
template <class F>
std::int64_t peak_of(const F& f) {
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  f();
  return memory_stats().peak_bytes - before;
}

}  // namespace

TEST_CASE("S118: gather's gradient is sparse for tensors and variables, through identity, contiguous and cast") {
  const Tensor x = table();
  const Variable v(table(), "table");
  GradientTape tape;
  tape.watch(x);
  const Tensor rows = tensor<int>({3, 1});
  const auto g = gradients({sum(gather(x, rows)), sum(gather(identity(v), rows)),
                            sum(gather(contiguous(cast(identity(x), DType::float32)), rows))},
                           {x, v});
  for (const Gradient& s : g) REQUIRE(s.is_slices());
  CHECK(g[0].slices().dtype() == DType::float64);
  CHECK(g[0].slices().dense_shape == Shape{4, 2});
  CHECK(g[0].slices().indices.to_vector<std::int64_t>() == Indices{3, 1, 3, 1});
  CHECK(g[0].dense().to_vector() == Values{0, 0, 2, 2, 0, 0, 2, 2});
  CHECK(g[1].slices().indices.to_vector<std::int64_t>() == Indices{3, 1});
  // Along another axis it is dense.
  CHECK_FALSE(gradients(sum(gather(x, tensor<int>({1}), 1)), x)[0].is_slices());
  // A scalar index names one row.
  const Gradient one = gradients(sum(gather(x, scalar(-1))), x)[0];
  REQUIRE(one.is_slices());
  CHECK(one.slices().indices.to_vector<std::int64_t>() == Indices{3});
}

TEST_CASE("S115: where a rule needs a tensor, slices are densified for it") {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  // Without one they are concatenated, with int64 indices.
  const Tensor both = gather(x, tensor<std::int32_t>({2, 0})) + gather(x, tensor<std::int32_t>({1, 1}));
  const Gradient concatenated = gradients(sum(both), x)[0];
  REQUIRE(concatenated.is_slices());
  CHECK(concatenated.slices().indices.dtype() == DType::int64);
  const Gradient g = gradients(sum(gather(x * x, tensor<int>({2, 2}))), x)[0];
  CHECK_FALSE(g.is_slices());
  CHECK(g.dense().to_vector() == Values{0, 0, 0, 0, 20, 24, 0, 0});
}

TEST_CASE("S9: an override replaces a rule that would pass slices on") {
  const Tensor x = table();
  const GradientRegistry::OverrideGuard guard("identity", [](const RecordedOp&, std::span<const Gradient> g) {
    return std::vector<Gradient>{g[0].dense() * 10};
  });
  GradientTape tape;
  tape.watch(x);
  const Gradient g = tape.gradient(sum(gather(identity(x), tensor<int>({3}))), x);
  CHECK(g.dense().to_vector() == Values{0, 0, 0, 0, 0, 0, 10, 10});
}

TEST_CASE("slices that arrive before a rule that adds to sums in place") {
  const Tensor x = table();
  for (const auto method : {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor first = sum(x * x), second = slice(x, {range(1, 2)}),
                 last = gather(x, tensor<int>({3, 1, 3, 0})) * 1.0;
    const Gradient g = tape.gradient({first, second, last}, x, {.aggregation_method = method});
    CHECK(g.dense().to_vector() == Values{3, 5, 8, 10, 10, 12, 16, 18});
  }
}

TEST_CASE("S116: slices of slices are flattened, with the outer dense_shape") {
  const Tensor x = table();
  GradientTape tape;
  tape.watch(x);
  const Tensor inner = gather(x, tensor<int>({3, 0, 3}));
  const Gradient g = gradients(sum(gather(inner, tensor<int>({2, 1, 1})) * tensor({{1.}, {10.}, {100.}})), x)[0];
  REQUIRE(g.is_slices());
  CHECK(g.slices().indices.to_vector<std::int64_t>() == Indices{3, 0, 0});
  CHECK(g.slices().values.to_vector() == Values{1, 1, 10, 10, 100, 100});
  CHECK(g.slices().dense_shape == Shape{4, 2});
  // Indices of rank 2 are flattened; those of rank 0 cannot be.
  const Tensor pairs = gather(x, tensor<int>({{0, 1}, {2, 3}}));
  const Gradient h = gradients(sum(gather(pairs, tensor<int>({1, 1}))), x)[0];
  REQUIRE(h.is_slices());
  CHECK(h.slices().indices.to_vector<std::int64_t>() == Indices{2, 3, 2, 3});
  CHECK(h.dense().to_vector() == Values{0, 0, 0, 0, 2, 2, 2, 2});
  const Gradient k = gradients(sum(gather(gather(x, scalar(1)), tensor<int>({0, 0}))), x)[0];
  CHECK(k.dense().to_vector() == Values{0, 0, 2, 0, 0, 0, 0, 0});
}

TEST_CASE("S116: slices from outside name rows of a gather, from the end too") {
  const Tensor x = table();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = gather(x, reshape(tensor<int>({3, 0, 1, 1, 2, 0}), {3, 2}));
  const IndexedSlices seed{reshape(linspace(1, 12, 12), {3, 2, 2}), tensor<int>({2, -1, 0}), {3, 2, 2}};
  tape.stop();
  const Gradient g = tape.gradient(y, x, {.output_gradients = Gradient(seed)});
  const IndexedSlices outside{ones({1, 2, 2}), tensor<int>({3}), {3, 2, 2}};
  CHECK_THROWS_WITH(tape.gradient(y, x, {.output_gradients = Gradient(outside)}),
                    Contains("index 3 (element 0 of indices) is out of range for axis 0, of extent 3"));
  // Rows 2 0 of the last pair, twice, and 3 0 of the first.
  REQUIRE(g.is_slices());
  CHECK(g.slices().indices.to_vector<std::int64_t>() == Indices{2, 0, 2, 0, 3, 0});
  CHECK(g.dense().to_vector() == Values{3 + 7 + 11, 4 + 8 + 12, 0, 0, 1 + 5, 2 + 6, 9, 10});
}

TEST_CASE("S113: dense() adds duplicates and fills zeros; wrong indices are refused") {
  CHECK(some_rows().dense().to_vector() == Values{10, 20, 0, 0, 101, 202, 0, 0});
  CHECK(some_rows().dense(DType::float64).dtype() == DType::float64);
  CHECK_THROWS_AS(some_rows().dense(DType::float32), ValueError);
  CHECK_THROWS_WITH(some_rows().dense(DType::float32),
                    Contains("Tensor conversion requested dtype float32 for IndexedSlices with dtype float64"));
  IndexedSlices s = some_rows();
  s.dense_shape = {};
  CHECK_THROWS_AS(s.dense(), ValueError);
  CHECK_THROWS_WITH(s.dense(), Contains("Tensor conversion requested for IndexedSlices without dense_shape"));
  s.dense_shape = {4, 3};
  CHECK_THROWS_AS(s.dense(), ShapeError);
  s.dense_shape = {2, 2};
  CHECK_THROWS_AS(s.dense(), IndexError);
  s.indices = tensor({0., 1., 2.});
  CHECK_THROWS_AS(s.dense(), TypeError);
}

TEST_CASE("S113: dense() is differentiable: the rows gathered") {
  const Tensor values = tensor({{1., 2.}, {3., 4.}});
  GradientTape tape;
  tape.watch(values);
  const Tensor d = IndexedSlices{values, tensor<int>({1, 1}), {3, 2}}.dense();
  CHECK(gradients(sum(d * d), values)[0].dense().to_vector() == Values{8, 12, 8, 12});
}

TEST_CASE("S114: a warning before 100 000 000 elements are allocated") {
  struct Log {
    std::vector<std::string> texts;
    Log() {
      set_warning_handler(
          [](std::string_view text, void* self) {
            static_cast<Log*>(self)->texts.emplace_back(text);
            detail::fail_allocation_after(0);  // so that the machine need not have the memory
          },
          this);
    }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    ~Log() {
      detail::fail_allocation_after(-1);
      set_warning_handler(nullptr);
    }
  };
  const IndexedSlices s{zeros({1, 100, 100, 100}, DType::uint8), tensor<int>({7}), {100, 100, 100, 100}};
  const IndexedSlices t{zeros({1}, DType::uint8), tensor<int>({7}), {99'999'999}};
  const Log log;
  CHECK_THROWS_AS(s.dense(), std::bad_alloc);
  REQUIRE(log.texts.size() == 1);
  CHECK(log.texts[0] ==
        "Converting sparse IndexedSlices to a dense Tensor with 100000000 elements. This may consume a large amount of "
        "memory.");
  detail::fail_allocation_after(0);
  CHECK_THROWS_AS(t.dense(), std::bad_alloc);
  CHECK(log.texts.size() == 1);
}

TEST_CASE("assign_add and assign_sub take gradients: dense, slices, or none with its reason") {
  const Variable v(table(), "table");
  const Tensor before = v;
  v.assign_add(Gradient(ones({4, 2})));
  v.assign_sub(some_rows());
  CHECK(v.read().to_vector() == Values{2 - 10, 3 - 20, 4, 5, 6 - 101, 7 - 202, 8, 9});
  v.assign_add(some_rows());
  CHECK(array_equal(v, table() + 1.0));
  CHECK(before.to_vector() == table().to_vector());  // a value read earlier stays what it was
  GradientTape tape;
  const Gradient unconnected = tape.gradient(ones({1}), v);
  CHECK_THROWS_AS(v.assign_sub(unconnected), ValueError);
  CHECK_THROWS_WITH(v.assign_sub(unconnected), Contains("table") && Contains(unconnected.why_none()));
  IndexedSlices s = some_rows();
  s.dense_shape = {5, 2};
  CHECK_THROWS_AS(v.assign_sub(s), ShapeError);
  CHECK_THROWS_AS(v.assign_sub(IndexedSlices{ones({1, 2}), tensor<int>({4}), {4, 2}}), IndexError);
  CHECK_THROWS_AS(v.assign_sub(IndexedSlices{ones({1, 2}, DType::float32), tensor<int>({0}), {4, 2}}), TypeError);
  CHECK(array_equal(v, table() + 1.0));
  v.assign_sub(IndexedSlices{zeros({0, 2}), tensor<int>({}), {4, 2}});
  CHECK(array_equal(v, table() + 1.0));
}

TEST_CASE("a value that a tape keeps is not changed by an assignment of rows") {
  const Variable v(table(), "table");
  v.assign_add(some_rows());  // from here on it owns its storage
  GradientTape tape({.persistent = true});
  const Tensor loss = sum(v * v);  // keeps the value
  const Values value = v.read().to_vector();
  v.assign_sub(some_rows());
  tape.stop();
  Values twice = value;
  for (double& x : twice) x *= 2;
  CHECK(tape.gradient(loss, v).dense().to_vector() == twice);
}

TEST_CASE("SGD with slices has the bits of SGD with the dense gradient") {
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor start = cast(table(), d) / 3.0;
    const Variable sparse(start), dense(start);
    SGD sgd({.learning_rate = 0.1});
    const Tensor rows = tensor<int>({3, 1, 3, 3});
    for (int i = 0; i < 5; ++i) {
      GradientTape tape;
      const Gradient g = tape.gradient(sum(square(gather(sparse, rows))), sparse);
      REQUIRE(g.is_slices());
      sgd.step(g.dense(), dense);
      sgd.step(g, sparse);
      CHECK(array_equal(sparse, dense));
    }
  }
}

TEST_CASE("momentum and Adam with slices: named rows follow the recurrence, others keep value and state") {
  for (const bool nesterov : {false, true}) {
    const Variable w(table(), "w");
    SGD sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    double x = 5, v = 0;
    for (int i = 0; i < 6; ++i) {
      if (i == 3) {  // row 2 is not named: it rests
        sgd.step(IndexedSlices{ones({1, 2}), tensor<int>({0}), {4, 2}}, w);
        continue;
      }
      GradientTape tape;
      sgd.step(tape.gradient(sum(square(gather(w, tensor<int>({2, 2})))), w), w);
      const double g = 4 * x;
      v = 0.9 * v + g;
      x -= 0.1 * (nesterov ? g + 0.9 * v : v);
    }
    CHECK(w.read()[2][0].item() == Approx(x).epsilon(1e-13));
    CHECK(w.read()[1].to_vector() == Values{3, 4});
    CHECK(w.read()[3].to_vector() == Values{7, 8});
  }
  const Variable w(table(), "w");
  Adam adam({.learning_rate = 0.05});
  double x = 5, m = 0, s = 0;
  for (int t = 1; t <= 6; ++t) {
    if (t == 4) {  // the variable's step counts, the row's state rests
      adam.step(IndexedSlices{ones({1, 2}), tensor<int>({0}), {4, 2}}, w);
      continue;
    }
    GradientTape tape;
    adam.step(tape.gradient(sum(square(gather(w, tensor<int>({2, 2})))), w), w);
    const double g = 4 * x;
    m = 0.9 * m + 0.1 * g;
    s = 0.999 * s + 0.001 * g * g;
    x -= 0.05 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(s / (1 - std::pow(0.999, t))) + 1e-8);
  }
  CHECK(w.read()[2][0].item() == Approx(x).epsilon(1e-12));
  CHECK(w.read()[1].to_vector() == Values{3, 4});
}

TEST_CASE("an optimiser refuses slices that do not fit before any variable is changed") {
  const Variable a(table(), "a"), b(table(), "b");
  SGD sgd;
  const IndexedSlices outside{ones({1, 2}), tensor<int>({9}), {4, 2}};
  CHECK_THROWS_AS(sgd.step(std::vector<Gradient>{some_rows(), outside}, {a, b}), IndexError);
  const IndexedSlices other{ones({1, 3}), tensor<int>({0}), {4, 3}};
  CHECK_THROWS_AS(sgd.step(std::vector<Gradient>{some_rows(), other}, {a, b}), ShapeError);
  CHECK(array_equal(a, table()));
}

TEST_CASE("a step on a few rows of a large table takes memory for these rows") {
  const Variable v(zeros({1'000'000, 16}, DType::float32), "embedding");  // 64 MB
  const Tensor rows = tensor<int>({5, 999'999, 123, 5});
  SGD plain({.learning_rate = 0.1}), momentum({.learning_rate = 0.1, .momentum = 0.9});
  Adam adam;
  Gradient g;
  const auto differentiate = [&] {
    GradientTape tape;
    g = tape.gradient(sum(gather(v, rows) + 1.0), v);
  };
  CHECK(peak_of(differentiate) < 100'000);
  // The first step gives the variable storage of its own, and the optimisers their state.
  plain.step(g, v);
  momentum.step(g, v);
  adam.step(g, v);
  const auto address = [&] {
    const Tensor value = v;
    return value.data<float>().data();
  };
  const float* storage = address();
  CHECK(peak_of([&] { plain.step(g, v); }) < 200'000);
  CHECK(peak_of([&] { momentum.step(g, v); }) < 200'000);
  CHECK(peak_of([&] { adam.step(g, v); }) < 200'000);
  CHECK(peak_of([&] { v.assign_sub(g); }) < 200'000);
  CHECK(peak_of(differentiate) < 200'000);
  CHECK(address() == storage);
  CHECK(peak_of([&] { plain.step(g.dense(), v); }) > 60'000'000);  // what it would take
}
