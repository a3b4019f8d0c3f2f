// GradientTape's public behaviour: rules S66-S79, decisions C1-C6, C10, C13, and the reasons for a missing gradient.
#include <memory>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

TEST_CASE("S66-S68, S70, S101, C6: aggregation of slices and tensors") {
  const VSpace space;
  CHECK_FALSE(space.aggregate({}));
  const Tensor dense = tensor({{1., 1.}, {1., 1.}, {1., 1.}});
  const IndexedSlices a{tensor({{1., 2.}}), tensor<std::int64_t>({1}), {3, 2}},
      b{tensor({{10., 20.}}), tensor<int>({1}), {3, 2}};
  const Gradient one[] = {dense};
  CHECK((*space.aggregate(one)).id() == dense.id());
  const Gradient sparse[] = {a, Gradient(), b};
  const Gradient both = space.aggregate(sparse);
  REQUIRE(both.is_slices());
  CHECK(both.slices().values.shape() == Shape{2, 2});
  CHECK(both.slices().indices.dtype() == DType::int64);
  CHECK((*both).to_vector() == std::vector<double>{0, 0, 11, 22, 0, 0});
  const Gradient narrow[] = {b, b}, alone[] = {Gradient(), a};
  CHECK(space.aggregate(narrow).slices().indices.dtype() == DType::int64);
  CHECK(space.aggregate(alone).is_slices());
  const Gradient mixed[] = {a, dense};
  CHECK_FALSE(space.aggregate(mixed).is_slices());
  CHECK((*space.aggregate(mixed)).to_vector() == std::vector<double>{1, 1, 2, 3, 1, 1});
  CHECK(space.num_elements(a) == 2);
  CHECK(space.num_elements(dense) == 6);
  CHECK(space.num_elements(scalar(1.0)) == 1);
}

TEST_CASE("S66: accumulation does not write into gradients that it does not own") {
  const Tensor x = tensor({1., 2.}), dy = tensor({3., 4.});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x + x + x;
  CHECK((*tape.gradient(y, x, {.output_gradients = dy})).to_vector() == std::vector<double>{9, 12});
  CHECK(dy.to_vector() == std::vector<double>{3, 4});
}

TEST_CASE("a gradient is contiguous, though the cotangent of a sum is a broadcast view") {
  const Tensor x = tensor({{1., 2.}, {3., 4.}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor g = *tape.gradient(sum(x), x), t = *tape.gradient(sum(transpose(x) * tensor({{1., 2.}, {3., 4.}})), x);
  CHECK(g.data<double>()[3] == 1);
  CHECK(t.data<double>()[1] == 3);
}

TEST_CASE("S72: replay touches gradients only through the hooks of the tape's VSpace") {
  struct Counting : VSpace {
    mutable int sums = 0, seeds = 0, fills = 0;
    Gradient aggregate(std::span<const Gradient> terms) const override { return ++sums, VSpace::aggregate(terms); }
    Tensor ones(const Shape& s, DType d) const override { return ++seeds, VSpace::ones(s, d) * 10; }
    Tensor zeros(const Shape& s, DType d) const override { return ++fills, VSpace::zeros(s, d); }
  } space;
  const Tensor x = scalar(3.0), far = scalar(1.0);
  GradientTape tape({.vspace = &space});
  tape.watch(x);
  tape.watch(far);
  const Tensor y = x * x;
  const auto g = tape.gradient(y, {x, far}, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK((*g[0]).item() == 60.0);
  CHECK((*g[1]).item() == 0.0);
  CHECK(space.seeds == 1);
  CHECK(space.sums == 1);
  CHECK(space.fills == 1);
}

TEST_CASE("S72: the default VSpace is a vector space") {
  const VSpace space;
  const Tensor a = tensor({1.5, -2.}), b = tensor({0.25, 8.});
  const Gradient with_zero[] = {a, space.zeros({2}, DType::float64)}, ab[] = {a, b}, ba[] = {b, a};
  CHECK((*space.aggregate(with_zero)).to_vector() == a.to_vector());
  CHECK((*space.aggregate(ab)).to_vector() == (*space.aggregate(ba)).to_vector());
  CHECK((*space.aggregate(ab)).dtype() == DType::float64);
  CHECK(space.ones({2, 1}, DType::float32).shape() == Shape{2, 1});
}

TEST_CASE("S73: the stack is balanced after exceptions and when tapes are destroyed out of order") {
  const Tensor x = scalar(2.0);
  try {
    GradientTape tape;
    tape.watch(x);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  auto first = std::make_unique<GradientTape>(), second = std::make_unique<GradientTape>(),
       third = std::make_unique<GradientTape>();
  for (auto* t : {&first, &second, &third}) (*t)->watch(x);
  second.reset();
  const Tensor y = x * x;
  CHECK((*first->gradient(y, x)).item() == 4.0);
  first.reset();
  CHECK((*third->gradient(y, x)).item() == 4.0);
  third.reset();
  const std::int64_t live = memory_stats().live_tensors;
  { const Tensor z = y * y; }
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("S75, S76, C1: a tape that is not persistent gives one gradient") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  CHECK((*tape.gradient(y, x)).item() == 4.0);
  CHECK_FALSE(tape.active());
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("GradientTape.gradient can only be called once"));
  CHECK_THAT(tape.explain(y, x), Contains("used already"));
  tape.reset();
  tape.watch(x);
  const Tensor z = x * 3;
  CHECK((*tape.gradient(z, x)).item() == 3.0);
}

TEST_CASE("S77, C2: structures of targets and sources; a persistent tape inside its scope") {
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::tuple(x, std::vector{y}));
  const Tensor z = x * y, w = x * x;
  const auto [gx, gy] = tape.gradient(std::pair(z, w), std::tuple(x, std::vector{y}));
  CHECK((*gx).item() == 10.0);
  REQUIRE(gy.size() == 1);
  CHECK((*gy[0]).item() == 3.0);
  const std::map<std::string, Tensor> named{{"x", x}, {"y", y}};
  const std::map<std::string, Gradient> g = tape.gradient(z, named);
  CHECK((*g.at("y")).item() == 3.0);
  // The replay itself is recorded while the tape is active.
  CHECK((*tape.gradient(tape.gradient(x * x * x, x), x)).item() == 18.0);
}

TEST_CASE("watch takes a braced list of tensors and variables") {
  const Tensor x = scalar(3.0);
  const Variable w(scalar(4.0), "w", false);
  GradientTape tape;
  tape.watch({x, w});
  const std::vector<Gradient> g = tape.gradient(x * w, {x, w});
  CHECK((*g.at(0)).item() == 4.0);
  CHECK((*g.at(1)).item() == 3.0);
  GradientTape single;
  single.watch({x});
  CHECK((*single.gradient(x * x, x)).item() == 6.0);
}

TEST_CASE("S78: the nesting example") {
  const Tensor x = scalar(3.0);
  GradientTape outer;
  outer.watch(x);
  Tensor y = x * x;
  {
    GradientTape inner;
    inner.watch(y);
    const Tensor z = 2 * y;
    CHECK((*inner.gradient(z, y)).item() == 2.0);
  }
  y = y + 2;
  CHECK((*outer.gradient(y, x)).item() == 6.0);
}

TEST_CASE("S79, C10: the gradient of an unconnected source is none, or zeros on request") {
  const Tensor x = tensor<float>({1, 2}), far = tensor<float>({3, 4});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(far);
  const Tensor y = x * 2;
  CHECK_FALSE(tape.gradient(y, far));
  const Gradient zero = tape.gradient(y, far, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK((*zero).dtype() == DType::float32);
  CHECK((*zero).to_vector<float>() == std::vector<float>{0, 0});
  CHECK_THROWS_AS(*tape.gradient(y, far), ValueError);
}

TEST_CASE("S80, S83, C14: output gradients: weights, numbers, a cast with one warning, errors") {
  const Tensor x = tensor<float>({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  tape.stop();  // or it would record its replays, and warn of that too
  CHECK((*tape.gradient(y, x, {.output_gradients = tensor<float>({1, 10})})).to_vector<float>() ==
        std::vector<float>{2, 40});
  CHECK((*tape.gradient(y, x, {.output_gradients = 0.5})).to_vector<float>() == std::vector<float>{1, 2});
  WarningLog log;
  CHECK((*tape.gradient(y, x, {.output_gradients = tensor({1., 1.})})).dtype() == DType::float32);
  REQUIRE(log.texts.size() == 1);
  CHECK(log.texts[0] == "GradientTape.gradient: an output gradient of dtype float64 is cast to float32, the target's");
  CHECK_THROWS_AS(tape.gradient(y, x, {.output_gradients = scalar(1.f)}), ShapeError);
  CHECK_THROWS_WITH(tape.gradient(y, x, {.output_gradients = {scalar(1.f), scalar(1.f)}}),
                    Contains("Passed 2 grad_ys for 1 ys"));
  CHECK_THROWS_AS(tape.gradient(y, x, {.output_gradients = tensor<bool>({true, true})}), TypeError);
  CHECK_THROWS_AS(tape.gradient(y, x, {.unconnected_gradients = UnconnectedGradients(7)}), ValueError);
  CHECK_THROWS_AS(tape.gradient(y, x, {.aggregation_method = AggregationMethod(9)}), ValueError);
  CHECK_THROWS_AS(tape.gradient(Tensor(), x), ValueError);
  CHECK((*tape.gradient(y, x)).to_vector<float>() == std::vector<float>{2, 4});  // and is usable still
}

TEST_CASE("S87: results do not alias the caller's output gradient") {
  const Tensor x = scalar(1.0), dy = scalar(5.0);
  GradientTape tape;
  tape.watch(x);
  const Gradient g = tape.gradient(x, x, {.output_gradients = dy});
  CHECK((*g).item() == 5.0);
  CHECK((*g).id() != dy.id());
}

TEST_CASE("stop_recording pauses, stop leaves the stack, resume enters it (C13), reset clears") {
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  Tensor unseen;
  {
    const auto pause = tape.stop_recording();
    unseen = x * y;
  }
  const Gradient missing = tape.gradient(unseen, x);
  CHECK_FALSE(missing);
  CHECK(missing.reason() == WhyNone::paused);
  CHECK_THAT(missing.why_none(), Contains("multiply") && Contains("paused"));
  tape.stop();
  const Tensor outside = x * 5;
  CHECK_FALSE(tape.gradient(outside, x));
  const std::int64_t entries = tape.stats().entries;
  for (int i = 0; i < 10; ++i) CHECK((*tape.gradient(y, x)).item() == 6.0);
  CHECK(tape.stats().entries == entries);
  tape.resume();
  CHECK_THROWS_AS(tape.resume(), TapeError);
  const Tensor z = y * 2;
  CHECK((*tape.gradient(z, x)).item() == 12.0);
  tape.reset();
  CHECK(tape.stats().entries == 0);
  CHECK(tape.gradient(z, x).reason() == WhyNone::never_watched);
}

TEST_CASE("C2: gradients of a stopped persistent tape do not make it grow") {
  const Tensor x = linspace(0.1, 1.0, 50);
  const Variable w(ones({50}));
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(tanh(x * w) * exp(x) / (w + x));
  tape.stop();
  const auto ask = [&] { return tape.gradient(y, {x, w}); };
  const auto first = ask();
  ask();  // beside the first, which stays
  const TapeStats stats = tape.stats();
  const MemoryStats memory = memory_stats();
  for (int i = 0; i < 10000; ++i) ask();
  CHECK(tape.stats().entries == stats.entries);
  CHECK(tape.stats().entry_bytes == stats.entry_bytes);
  CHECK(tape.stats().saved_bytes == stats.saved_bytes);
  CHECK(memory_stats().live_bytes == memory.live_bytes);
  CHECK(memory_stats().live_tensors == memory.live_tensors);
  CHECK(memory_stats().pool_misses == memory.pool_misses);
  CHECK((*ask()[1]).to_vector() == (*first[1]).to_vector());
}

TEST_CASE("C2: an active persistent tape that records its replays warns once") {
  WarningLog log;
  const Tensor x = scalar(1.1);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(x * x);
  for (int i = 0; i < 50; ++i) gradients(tape, y, x);  // meant to be recorded
  REQUIRE(log.texts.empty());
  tape.reset();
  tape.watch(x);
  const Tensor z = tanh(x * x);
  gradients(tape, z, x);
  for (int i = 0; i < 50; ++i) tape.gradient(z, x);
  REQUIRE(log.texts.size() == 1);
  CHECK_THAT(log.texts[0], Contains("stop()"));
}

TEST_CASE("why_none names the reason") {
  const Tensor x = scalar(2.0), w = scalar(3.0), never = scalar(4.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(w);
  const Tensor stopped = stop_gradient(x * x);
  const Tensor y = stopped * 3;
  const Gradient cut = tape.gradient(y, x);
  CHECK(cut.reason() == WhyNone::stop_gradient);
  CHECK(cut.why_none() == "the path ends at stop_gradient (before op 1 on the tape)");
  CHECK(tape.gradient(x * never, never).reason() == WhyNone::never_watched);
  const Gradient apart = tape.gradient(y * w, x);
  CHECK(apart.reason() == WhyNone::not_connected);
  CHECK_THAT(apart.why_none(), Contains("stop_gradient"));
  CHECK(tape.gradient(never * never, x).reason() == WhyNone::target_unwatched);
  CHECK(tape.gradient(cast(x, DType::int32), x).reason() == WhyNone::integer_dtype);
  const Gradient there = tape.gradient(x * w, x);
  CHECK(there.why_none().empty());
}

TEST_CASE("explain describes the path or its absence") {
  const Tensor x = scalar(0.2), far = scalar(1.0);
  const Variable w(scalar(3.0), "w");
  GradientTape tape;
  tape.watch(x);
  const Tensor y = tanh(x * w);
  CHECK(tape.explain(y, x) == "source 0: connected through 2 recorded ops: multiply, tanh");
  CHECK(tape.explain(y, w) == "variable 'w': connected through 2 recorded ops: multiply, tanh");
  CHECK(tape.explain(y, far) ==
        "source 0: no gradient: the tape never watched the source; call tape.watch(x) before it is used");
  CHECK(tape.explain(x, x) == "source 0: is the target itself");
  CHECK((*tape.gradient(y, x)).item() == Approx(3 / (std::cosh(0.6) * std::cosh(0.6))).epsilon(1e-14));
}

// The message of the error that f throws; empty if none.
template <class F>
static std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("a tape on another thread is TapeError; its destruction there is allowed") {
  auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
  const Tensor x = scalar(2.0), wide = ones({2, 1});
  const Variable v(x);
  tape->watch(x);
  tape->watch(wide);
  const Tensor y = x * x, by_columns = broadcast_to(wide * wide, {2, 5});
  // Refused for the thread, whatever else there is to refuse: a tape that was stopped or used up.
  const auto all_refused = [&](GradientTape& t) {
    const auto refused = [&](const char* who, const auto& f) {
      CAPTURE(who);
      CHECK_THAT(message(f), Catch::StartsWith(who) && Contains("belongs to another thread"));
    };
    refused("GradientTape.watch:", [&] { t.watch(x); });
    refused("GradientTape.watch:", [&] { t.watch(v); });
    refused("GradientTape.gradient:", [&] { t.gradient(y, x); });
    refused("GradientTape.jacobian:", [&] { t.jacobian(y, x); });
    refused("GradientTape.batch_jacobian:", [&] { t.batch_jacobian(by_columns, wide); });
    refused("GradientTape.stop_recording:", [&] { static_cast<void>(t.stop_recording()); });
    refused("GradientTape.stop:", [&] { t.stop(); });
    refused("GradientTape.resume:", [&] { t.resume(); });
    refused("GradientTape.reset:", [&] { t.reset(); });
    refused("gradients:", [&] { gradients(t, y, x); });
    refused("hessians:", [&] { hessians(t, y, x); });
    refused("hessian_vector_product:", [&] { hessian_vector_product(t, y, x, x); });
  };
  GradientTape used;
  used.watch(x);
  static_cast<void>(used.gradient(x * x, x));
  GradientTape stopped;
  stopped.stop();
  std::thread([&] {
    all_refused(*tape);
    all_refused(used);
    all_refused(stopped);
    tape.reset();
  }).join();
  const Tensor z = x * x;  // reaps it
  GradientTape next;
  next.watch(x);
  CHECK((*next.gradient(x * x, x)).item() == 4.0);
}

TEST_CASE("a tape that was used up refuses to watch, to record and to pause") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  static_cast<void>(tape.gradient(x * x, x));
  const auto refused = [&](const char* who, const auto& f) {
    CAPTURE(who);
    CHECK_THAT(message(f), Catch::StartsWith(who) && Contains("used already"));
  };
  refused("GradientTape.watch:", [&] { tape.watch(x); });
  refused("GradientTape.watch:", [&] { tape.watch(Variable(x)); });
  refused("GradientTape.stop_recording:", [&] { static_cast<void>(tape.stop_recording()); });
  refused("GradientTape.resume:", [&] { tape.resume(); });
}

TEST_CASE("resume: a tape that is not persistent, and a persistent one in its own rule") {
  const Tensor x = scalar(2.0);
  GradientTape once;
  once.watch(x);
  once.stop();
  once.resume();
  CHECK((*once.gradient(x * x, x)).item() == 4.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = custom_gradient([&](const Tensor& v) {
    return std::pair(v * v, [&](const Tensor& dy) {
      tape.resume();
      return dy;
    });
  })(x);
  tape.stop();
  CHECK((*tape.gradient(y, x)).item() == 1.0);
  CHECK(tape.active());
}

TEST_CASE("nested tapes to order 6") {
  const double at = 0.7;
  const Tensor x = scalar(at);
  // The n-th derivative of exp(x) sin(x) is 2^(n/2) exp(x) sin(x + n pi / 4).
  GradientTape t1, t2, t3, t4, t5, t6;
  for (GradientTape* t : {&t1, &t2, &t3, &t4, &t5, &t6}) t->watch(x);
  Tensor y = exp(x) * sin(x);
  int n = 0;
  for (GradientTape* t : {&t6, &t5, &t4, &t3, &t2, &t1}) {
    y = *t->gradient(y, x);
    ++n;
    const double expected = std::pow(2.0, n / 2.0) * std::exp(at) * std::sin(at + n * 3.14159265358979323846 / 4);
    CHECK(y.item() == Approx(expected).epsilon(1e-13));
  }
}

TEST_CASE("S5: the registry's three outcomes, which replay reports") {
  const Tensor x = scalar(3.0);
  const auto record = [&](const char* name) {
    const Tensor in[] = {x}, out[] = {scalar(9.0)};
    record_operation(name, in, out);
    return out[0];
  };
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor unknown = record("unknown_op");
  CHECK_THROWS_AS(tape.gradient(unknown, x), LookupError);
  CHECK_THROWS_WITH(tape.gradient(unknown, x), Contains("No gradient defined for operation 'unknown_op'"));
  GradientRegistry::add("unknown_op", [](const RecordedOp& op, std::span<const Gradient> g) {
    return std::vector<Gradient>{*g[0] * 2 * op.inputs[0]};
  });
  CHECK((*tape.gradient(unknown, x)).item() == 6.0);
  CHECK_THROWS_AS(GradientRegistry::add_not_differentiable("unknown_op"), ValueError);
  GradientRegistry::remove("unknown_op");
  GradientRegistry::add_not_differentiable("flat_op");
  const Tensor flat = record("flat_op");
  const Gradient missing = tape.gradient(flat, x);
  CHECK_FALSE(missing);
  CHECK(missing.reason() == WhyNone::not_differentiable);
  CHECK_THAT(missing.why_none(), Contains("flat_op"));
  GradientRegistry::remove("flat_op");
}

TEST_CASE("S9: an override guard replaces a rule on this thread while it lives") {
  const Tensor x = scalar(0.5);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(x);
  {
    const GradientRegistry::OverrideGuard guard(
        "tanh", [](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{*g[0] * 100}; });
    CHECK((*tape.gradient(y, x)).item() == 100.0);
  }
  {
    const GradientRegistry::OverrideGuard guard(
        "tanh", [](const RecordedOp&, std::span<const Gradient>) { return std::vector<Gradient>{ones({3})}; });
    CHECK_THROWS_WITH(tape.gradient(y, x), Contains("Incompatible shapes between op input and calculated input"));
  }
  CHECK((*tape.gradient(y, x)).item() == Approx(1 - std::tanh(0.5) * std::tanh(0.5)));
}

TEST_CASE("S9: each override guard removes its own override, in any order of destruction") {
  const Tensor x = scalar(0.5);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(x);
  using Guard = GradientRegistry::OverrideGuard;
  const auto times = [](double factor) {
    return [=](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{*g[0] * factor}; };
  };
  const auto ask = [&] { return (*tape.gradient(y, x)).item(); };
  auto first = std::make_unique<Guard>("tanh", times(2)), second = std::make_unique<Guard>("tanh", times(3)),
       third = std::make_unique<Guard>("exp", times(5));
  CHECK(ask() == 3.0);
  first.reset();
  CHECK(ask() == 3.0);
  first = std::make_unique<Guard>("tanh", times(7));
  CHECK(ask() == 7.0);
  second.reset();
  third.reset();
  CHECK(ask() == 7.0);
  first.reset();
  CHECK(ask() == Approx(1 - std::tanh(0.5) * std::tanh(0.5)));
}

TEST_CASE("S9: an override may destroy its own guard and make others while it runs") {
  const Tensor x = scalar(0.5);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = tanh(x);
  using Guard = GradientRegistry::OverrideGuard;
  std::vector<std::unique_ptr<Guard>> guards;
  const std::vector<double> factors(100, 4.0);  // of the function's own: it must not go while it runs
  guards.push_back(
      std::make_unique<Guard>("tanh", [&guards, factors](const RecordedOp& op, std::span<const Gradient> g) {
        guards.clear();
        for (int i = 0; i < 20; ++i)
          guards.push_back(
              std::make_unique<Guard>("exp", [](const RecordedOp&, auto) { return std::vector<Gradient>(1); }));
        CHECK(op.name == "tanh");
        return std::vector<Gradient>{*g[0] * factors.back()};
      }));
  CHECK((*tape.gradient(y, x)).item() == 4.0);
  CHECK((*tape.gradient(y, x)).item() == Approx(1 - std::tanh(0.5) * std::tanh(0.5)));
}

TEST_CASE("stop_recording on a tape that does not record is refused, as TensorFlow does") {
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.stop();
  CHECK_THROWS_AS(tape.stop_recording(), TapeError);
  tape.resume();
  {
    const auto pause = tape.stop_recording();
    const auto nested = tape.stop_recording();
    CHECK_FALSE(tape.gradient(x * x, x));
  }
  CHECK((*tape.gradient(x * x, x)).item() == 6.0);
  GradientTape once;
  once.watch(x);
  static_cast<void>(once.gradient(x * x, x));
  CHECK_THROWS_AS(once.stop_recording(), TapeError);
  once.reset();
  once.watch(x);
  CHECK_NOTHROW(once.stop_recording());
  CHECK((*once.gradient(x * x, x)).item() == 6.0);
}

TEST_CASE("after a failed allocation in gradient() the tape is usable, can be reset and destroyed") {
  const Tensor x = ones({8});
  int failures = 0;
  for (std::int64_t n = 0;; ++n) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = sum(sin(x) * x);
    tape.stop();
    bool failed = false;
    detail::fail_allocation_after(n);
    try {
      static_cast<void>(tape.gradient(y, x));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    detail::fail_allocation_after(-1);
    failures += failed;
    INFO("allocation " << n);
    CHECK(array_equal(*tape.gradient(y, x), sin(x) + x * cos(x)));
    CHECK_NOTHROW(tape.reset());
    if (!failed) break;
  }
  CHECK(failures >= 5);
}

TEST_CASE("S16: tracing prints what is recorded and replayed") {
  WarningLog log;
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  set_tracing(true);
  const Tensor y = x * x;
  static_cast<void>(tape.gradient(y, x));
  set_tracing(false);
  REQUIRE(log.texts.size() >= 2);
  CHECK_THAT(log.texts[0], Catch::StartsWith("Computed op multiply inputs ["));
  CHECK_THAT(log.texts[1], Catch::StartsWith("Gradient for multiply inputs ["));
}

TEST_CASE("tapes of different threads are independent") {
  const Variable w(scalar(2.0), "w");
  std::vector<std::thread> threads;
  std::vector<double> results(4);
  for (std::size_t k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 2000; ++i) {
        GradientTape tape;
        const Tensor y = w * w * static_cast<double>(k + 1);
        results[k] += (*tape.gradient(y, w)).item();
      }
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t k = 0; k < 4; ++k) CHECK(results[k] == 8000.0 * static_cast<double>(k + 1));
}
