// Rules of users: what an override sees and may use, how a rule's results are checked, and what a rule may do to the
// replayed tape. Rules S3, S9, S37, S96, S97.
#include <memory>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Ids = std::vector<std::uint64_t>;
Ids ids_of(std::span<const Tensor> tensors) {
  Ids ids;
  for (const Tensor& x : tensors) ids.push_back(x.defined() ? x.id() : 0);
  return ids;
}

// The ids that an override of the op sees for the inputs, then for the outputs, when y is differentiated; 0 for values
// that are not kept.
Ids kept(const char* op, GradientTape& tape, const Tensor& y, const Source& x) {
  Ids ids;
  const GradientRegistry::OverrideGuard guard(op, [&](const RecordedOp& r, std::span<const Gradient>) {
    for (const std::span<const Tensor> list : {r.inputs, r.outputs})
      for (const std::uint64_t id : ids_of(list)) ids.push_back(id);
    return std::vector<Gradient>(r.inputs.size());
  });
  tape.gradient(y, {x});
  return ids;
}

}  // namespace

TEST_CASE("S9: an override gets the values that the op's rule keeps, at their positions") {
  const Tensor x = tensor({{1., 2.}, {3., 5.}}), y = tensor({{2., 7.}, {1., 8.}}),
               constant = tensor({{3., 1.}, {4., 1.}});
  const Variable v(constant);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  for (const auto& [name, op] : {std::pair<const char*, Tensor (*)(const Operand&)>("exp", exp), {"tanh", tanh}}) {
    const Tensor z = op(x);
    CHECK(kept(name, tape, z, x) == Ids{0, z.id()});
  }
  CHECK(kept("square", tape, square(x), x) == Ids{x.id(), 0});
  CHECK(kept("multiply", tape, x * y, x) == Ids{x.id(), y.id(), 0});
  CHECK(kept("multiply", tape, x * x, x) == Ids{x.id(), x.id(), 0});
  CHECK(kept("multiply", tape, x * constant, x) == Ids{0, constant.id(), 0});
  CHECK(kept("multiply", tape, constant * x, x) == Ids{constant.id(), 0, 0});
  const Tensor read = v;
  CHECK(kept("multiply", tape, read * x, v) == Ids{read.id(), x.id(), 0});
  CHECK(kept("matmul", tape, matmul(x, y), x) == Ids{x.id(), y.id(), 0});
  CHECK(kept("matmul", tape, matmul(x, constant), x) == Ids{0, constant.id(), 0});
  CHECK(kept("matmul", tape, matmul(constant, x), x) == Ids{constant.id(), 0, 0});
  const Tensor soft = softmax(x), most = max(x);
  CHECK(kept("softmax", tape, soft, x) == Ids{0, soft.id()});
  CHECK(kept("max", tape, most, x) == Ids{x.id(), most.id()});
  // Factors, conditions and indices that a rule keeps beside them are neither.
  const Tensor m = tensor({{2., 1., 0.}, {1., 3., 1.}, {0., 1., 4.}});
  tape.watch(m);
  const Tensor volume = det(m);
  CHECK(kept("det", tape, volume, m) == Ids{m.id(), volume.id()});
  CHECK(kept("where", tape, where(less(x, 2), constant, x), x) == Ids{0, 0, 0});
  CHECK(kept("gather", tape, gather(x, tensor<int>({1})), x) == Ids{0, 0});
  CHECK(kept("sum", tape, sum(x), x) == Ids{0, 0});
}

TEST_CASE("S9: an override gets a kept input that no tape follows, whatever its place among the kept values") {
  const Tensor x = tensor({1., 2., 3., 4.}), terms = tensor({5., 6.});
  GradientTape tape;
  tape.watch(x);
  const Ids ids = kept("scatter_multiply", tape, index_multiply(x, {tensor<int>({1, 3})}, terms), x);
  REQUIRE(ids.size() == 3);
  CHECK((ids[0] == 0 && ids[1] != 0 && ids[2] == 0));
}

TEST_CASE("S3, S9: an override may differentiate kept values to any order; reading others is an error") {
  const Tensor x = scalar(0.5);
  const GradientRegistry::OverrideGuard guard("exp", [](const RecordedOp& op, std::span<const Gradient> g) {
    CHECK_THROWS_AS(op.inputs[0] * 2.0, ValueError);
    return std::vector<Gradient>{*g[0] * op.outputs[0] * 100.0};
  });
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor dy = *inner.gradient(exp(x), x);
  CHECK(dy.item() == Approx(100 * std::exp(0.5)));
  CHECK((*outer.gradient(dy, x)).item() == Approx(1e4 * std::exp(0.5)));
}

TEST_CASE("S37, S96, S97: results of a user's rule are checked; the tape stays usable") {
  const Tensor x = tensor({1., 2.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto with = [&](BackwardFunction backward) {
    const Tensor in[] = {x}, out[] = {x + 0.0};
    const Tensor fresh[] = {from_data(out[0].to_vector())};
    record_operation("custom", in, fresh, std::move(backward));
    return fresh[0];
  };
  const Tensor few = with([](auto) { return std::vector<Gradient>{}; });
  CHECK_THROWS_WITH(tape.gradient(few, x),
                    Contains("Num gradients 0 generated for op custom do not match num inputs 1"));
  const Tensor wide = with([](auto) { return std::vector<Gradient>{zeros({3})}; });
  CHECK_THROWS_WITH(tape.gradient(wide, x),
                    Contains("Input index: 0. Original input shape: [2].  Calculated input gradient shape: [3]"));
  const Tensor narrow = with([](auto) { return std::vector<Gradient>{zeros({2}, DType::float32)}; });
  CHECK_THROWS_WITH(tape.gradient(narrow, x),
                    Contains("Gradient type float32 generated for op custom does not match input type float64"));
  const Tensor thrower = with([](auto) -> std::vector<Gradient> { throw std::runtime_error("mine"); });
  CHECK_THROWS_WITH(tape.gradient(thrower, x), "mine");
  CHECK((*tape.gradient(x * x, x)).to_vector() == std::vector<double>{2, 4});
}

TEST_CASE("a tape that is not persistent is used after a rule has thrown") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor in[] = {x}, out[] = {scalar(1.0)};
  record_operation("thrower", in, out,
                   [](std::span<const Gradient>) -> std::vector<Gradient> { throw std::runtime_error("mine"); });
  CHECK_THROWS_WITH(tape.gradient(out[0], x), "mine");
  CHECK_THROWS_AS(tape.gradient(out[0], x), TapeError);
}

TEST_CASE("a rule may compute gradients of a persistent tape; of another it is a TapeError") {
  const Tensor x = scalar(2.0);
  for (bool persistent : {true, false}) {
    GradientTape tape({.persistent = persistent});
    tape.watch(x);
    const Tensor w = x * x;
    const auto f = custom_gradient(
        [&](const Tensor& u) { return std::pair(u * 3, [&](const Tensor& dy) { return dy * *tape.gradient(w, x); }); });
    const Tensor y = f(sin(x));
    tape.stop();
    if (persistent) {
      CHECK((*tape.gradient(y, x)).item() == 4 * std::cos(2.0));
      continue;
    }
    CHECK_THROWS_WITH(tape.gradient(y, x), Contains("from within a gradient function of this tape"));
    CHECK_THROWS_WITH(tape.gradient(y, x), Contains("only be called once"));
  }
}

TEST_CASE("a rule may destroy the tape that is replayed") {
  const Tensor x = scalar(2.0);
  for (bool persistent : {true, false}) {
    auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = persistent});
    tape->watch(x);
    const auto f = custom_gradient([&](const Tensor& u) {
      return std::pair(u * 3, [&](const Tensor& dy) {
        tape.reset();
        GradientTape other;  // must not be given the memory of the first
        other.watch(x);
        const Tensor w = x * x;
        return dy * *other.gradient(w, x);
      });
    });
    const Tensor y = f(sin(f(x)));
    CHECK(std::abs((*tape->gradient(y, x)).item() - 16 * std::cos(6.0)) < 1e-13);
  }
}

TEST_CASE("resetting the replayed tape in a rule is an error; the tape stays usable") {
  const Tensor x = tensor({1., 2.}), y = tensor({3., 4.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  bool reset = true;
  record_operation("resets", {{x}}, {{y}}, [&](std::span<const Gradient> g) {
    if (reset) tape.reset();
    return std::vector<Gradient>{g[0]};
  });
  tape.stop();
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("GradientTape.reset: called from within a gradient function"));
  reset = false;
  CHECK((*tape.gradient(y, x)).to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("a user's jvp whose tangent has another dtype or shape than the result is refused") {
  const Tensor x = tensor({1., 2.});
  const auto apply = [&](const Tensor& tangent) {
    const ForwardAccumulator accumulator(x, ones({2}));
    const Tensor y = tensor({3., 4.});
    record_operation("odd", {{x}}, {{y}}, {}, [&](std::span<const Tensor>) { return std::vector<Tensor>{tangent}; });
    return (*accumulator.jvp(y)).to_vector();
  };
  CHECK(apply(tensor({5., 6.})) == std::vector<double>{5, 6});
  CHECK_THROWS_WITH(apply(cast(tensor({5., 6.}), DType::float32)),
                    Contains("of dtype float64 a tangent of dtype float32"));
  CHECK_THROWS_WITH(apply(ones({3})), Contains("of shape [2] a tangent of shape [3]"));
  // By a tape that is pushed forward, as by an accumulator.
  const auto pushed = [&](const Tensor& tangent) {
    const auto odd =
        custom_gradient([](const Tensor& a) { return std::pair(2 * a, [](const Tensor& g) { return 2 * g; }); },
                        [&](const auto&, const auto&) { return tangent; });
    return linearize([&](const Tensor& a) { return odd(a) * 3; }, x).second(ones({2})).to_vector();
  };
  CHECK(pushed(tensor({5., 6.})) == std::vector<double>{15, 18});
  CHECK_THROWS_WITH(pushed(cast(tensor({5., 6.}), DType::float32)),
                    Contains("of dtype float64 a tangent of dtype float32"));
  CHECK_THROWS_WITH(pushed(ones({3})), Contains("of shape [2] a tangent of shape [3]"));
}

TEST_CASE("empty handles are not accepted as tangents and gradients") {
  const Tensor x = tensor({1., 2.});
  const ForwardAccumulator accumulator(x, ones({2}));
  CHECK_THROWS_WITH(accumulator.jvp(Tensor()), Contains("ForwardAccumulator.jvp: the target is empty"));
  CHECK_THROWS_WITH(Gradient(IndexedSlices{}), Contains("empty values or indices"));
}

TEST_CASE("S9: an override of a user's op gets neither inputs nor outputs") {
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  record_operation("own", {&x, 1}, {&y, 1}, [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  CHECK(kept("own", tape, y, x) == Ids{0, 0});
  CHECK((*tape.gradient(y, x)).item() == 1.0);
}

TEST_CASE("invalid records and registrations are refused; removing an unknown name does nothing") {
  const Tensor x = scalar(3.0), empty;
  CHECK_THROWS_WITH(record_operation("own", {&empty, 1}, {&x, 1}), Contains("own has an empty input or output"));
  CHECK_THROWS_WITH(record_operation("own", {&x, 1}, {&empty, 1}), Contains("own has an empty input or output"));
  CHECK_THROWS_WITH(GradientRegistry::add("user_rules_empty", {}), Contains("for 'user_rules_empty' is empty"));
  CHECK_FALSE(GradientRegistry::contains("user_rules_empty"));
  GradientRegistry::remove("user_rules_empty");
  CHECK_FALSE(GradientRegistry::contains("user_rules_empty"));
}

TEST_CASE("a batched rule whose gradient has rank 0 is an error") {
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape tape;
  tape.watch(x);
  record_operation("flat", {&x, 1}, {&y, 1},
                   [](std::span<const Gradient>) { return std::vector<Gradient>{scalar(1.0)}; }, {}, {.batched = true});
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("flat: its rule is batched") && Contains("has shape []"));
}

TEST_CASE("a rule may not resume or reset a used tape that is replayed") {
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape tape;
  tape.watch(x);
  std::string resumed;
  record_operation("resumes", {&x, 1}, {&y, 1}, [&](std::span<const Gradient> g) {
    try {
      tape.resume();
    } catch (const TapeError& e) {
      resumed = e.what();
    }
    return std::vector{g[0]};
  });
  CHECK((*tape.gradient(y, x)).item() == 1.0);
  CHECK_THAT(resumed, Contains("GradientTape.resume: called from within a gradient function of this tape"));
}
