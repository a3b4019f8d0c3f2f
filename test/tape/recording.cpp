// What a tape records, keeps and releases: rules S10-S40 on recording and retention.
#include <cmath>
#include <reel/final_gradients.hpp>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/warnings.hpp"
#include "tape/tape.hpp"

using namespace reel;

namespace {
// Bytes that the rules of f keep on a tape that follows all arguments.
template <class F, class... X>
TapeStats stats_of(F f, const X&... x) {
  GradientTape tape;
  (tape.watch(x), ...);
  const Tensor y = f(x...);
  return tape.stats();
}
Tensor ramp(std::int64_t n) { return linspace(0.1, 0.9, n); }
}  // namespace

TEST_CASE("S11: without an active tape nothing is kept") {
  const std::int64_t live = memory_stats().live_tensors;
  Tensor x = scalar(2.0);
  for (int i = 0; i < 1000; ++i) x = tanh(x * 1.5);
  CHECK(memory_stats().live_tensors == live + 1);
}

TEST_CASE("S12, S20, S21: a tape keeps only what the rule reads") {
  const Tensor x = ramp(1000), y = ramp(1000) + 1;
  const std::int64_t bytes = 8000;
  using Unary = Tensor (*)(const Operand&);
  // Neither operand nor result.
  for (Unary f : {Unary(negative), Unary(identity)}) CHECK(stats_of(f, x).saved_bytes == 0);
  CHECK(stats_of([](const Tensor& a, const Tensor& b) { return a + b; }, x, y).saved_bytes == 0);
  CHECK(stats_of([](const Tensor& a, const Tensor& b) { return a - b; }, x, y).saved_bytes == 0);
  for (Unary f : {Unary(floor), Unary(ceil), Unary(round), Unary(trunc), Unary(sign)})
    CHECK(stats_of(f, x).saved_bytes == 0);
  CHECK(stats_of([](const Tensor& a) { return sum(a); }, x).saved_bytes == 0);
  CHECK(stats_of([](const Tensor& a) { return mean(a); }, x).saved_bytes == 0);
  // The result alone (S21) or the operand alone (S20): one of the two, never both.
  for (Unary f : {Unary(exp), Unary(tanh), Unary(sigmoid), Unary(sqrt), Unary(rsqrt), Unary(reciprocal), Unary(relu),
                  Unary(selu), Unary(square), Unary(abs), Unary(sin), Unary(cos), Unary(tan), Unary(log), Unary(log1p),
                  Unary(expm1), Unary(softplus), Unary(softsign)})
    CHECK(stats_of(f, x).saved_bytes == bytes);
  CHECK(stats_of([](const Tensor& a) { return softmax(a); }, x).saved_bytes <= bytes);
  CHECK(stats_of([](const Tensor& a) { return log_softmax(a); }, x).saved_bytes <= bytes);
  // Of a product, the factor that a followed operand's derivative reads.
  CHECK(stats_of([&](const Tensor& a) { return a * y; }, x).saved_bytes == bytes);
  CHECK(stats_of([](const Tensor& a, const Tensor& b) { return a * b; }, x, y).saved_bytes == 2 * bytes);
}

TEST_CASE("S12: a tape keeps the result of exp, not its operand") {
  GradientTape tape;
  Tensor x = ramp(1 << 16);
  tape.watch(x);
  Tensor shifted = x + 1;
  const std::int64_t before = memory_stats().live_bytes;
  Tensor y = exp(shifted);
  const std::int64_t with = memory_stats().live_bytes;
  shifted = Tensor();
  CHECK(memory_stats().live_bytes <= with - (8 << 16));
  y = Tensor();
  CHECK(memory_stats().live_bytes >= before - (8 << 16) + (8 << 16));
}

TEST_CASE("S13: an op that keeps its own result can be differentiated twice") {
  const Tensor x = scalar(0.0);
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(x);
  const Tensor y = exp(x);
  const Gradient g = inner.gradient(y, x);
  CHECK((*outer.gradient(g, x)).item() == 1.0);
}

TEST_CASE("S18: an op is recorded if an input is watched; its results are then watched") {
  GradientTape tape;
  const Tensor x = scalar(3.0), c = scalar(2.0);
  const Tensor unwatched = c * c;
  CHECK(tape.stats().entries == 0);
  tape.watch(x);
  const Tensor y = x * c, z = y * unwatched;
  CHECK(tape.stats().entries == 2);
  CHECK((*tape.gradient(z, x)).item() == 8.0);
}

TEST_CASE("S18: every tape decides for itself") {
  const Tensor x = scalar(3.0), y = scalar(4.0);
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(y);
  const Tensor z = x * y;
  const Tensor a = x * x;
  CHECK(outer.stats().entries == 2);
  CHECK(inner.stats().entries == 1);
  CHECK((*inner.gradient(z, y)).item() == 3.0);
  CHECK((*outer.gradient(z + a, x)).item() == 10.0);
}

TEST_CASE("S19: a popped tape does not record its own replay, outer tapes do") {
  const Tensor x = scalar(2.0);
  GradientTape outer;
  outer.watch(x);
  const std::int64_t entries = [&] {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = x * x * x;
    const Gradient g = inner.gradient(y, x);
    CHECK((*g).item() == 12.0);
    CHECK((*outer.gradient(g, x)).item() == 12.0);
    return inner.stats().entries;
  }();
  CHECK(entries == 0);
}

TEST_CASE("S25: a tape records only the ops of its own thread") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  std::thread([&] { y = x * x; }).join();
  CHECK(tape.stats().entries == 0);
  const Gradient g = tape.gradient(y, x);
  CHECK_FALSE(g);
  CHECK(g.reason() == WhyNone::other_thread);
}

TEST_CASE("S26, C5: watch is for this tape only") {
  const Tensor x = scalar(2.0);
  GradientTape outer, inner;
  inner.watch(x);
  const Tensor y = x * x;
  CHECK((*inner.gradient(y, x)).item() == 4.0);
  CHECK_FALSE(outer.gradient(y, x));
}

TEST_CASE("S27: reading a trainable variable watches it; the list is in order of construction") {
  const Variable v0(scalar(1.0), "v0"), v1(scalar(2.0), "v1"), frozen(scalar(3.0), "frozen", false);
  GradientTape tape({.persistent = true});
  const Tensor y = v1 * v0 * frozen * v1;
  const auto watched = tape.watched_variables();
  REQUIRE(watched.size() == 2);
  CHECK(watched[0] == v0);
  CHECK(watched[1] == v1);
  CHECK((*tape.gradient(y, v1)).item() == 12.0);
  CHECK_FALSE(tape.gradient(y, frozen));
  GradientTape other;
  other.watch(frozen);
  const Tensor z = frozen * frozen;
  CHECK((*other.gradient(z, frozen)).item() == 6.0);
}

TEST_CASE("the list of n watched variables is reallocated O(log n) times") {
  std::vector<Variable> many;
  for (int i = 0; i < 3000; ++i) many.emplace_back(scalar(1.0));
  std::array<int, 2> moves{};
  std::size_t watched = 0;
  // In a thread of its own: a tape takes over the lists of an earlier one.
  std::thread([&] {
    const GradientTape tape;
    const tape::Tape& t = *tape::top();
    const auto rooms = [&] { return std::array{t.variables.capacity(), t.slots.capacity()}; };
    for (const Variable& v : many) {
      const auto before = rooms();
      static_cast<void>(v.read());
      for (std::size_t i = 0; i < moves.size(); ++i) moves[i] += rooms()[i] != before[i];
    }
    watched = t.variables.size();
  }).join();
  CHECK(watched == many.size());
  for (const int m : moves) CHECK((m >= 1 && m <= 12));
}

TEST_CASE("S27: without watch_accessed_variables only explicitly watched variables count") {
  const Variable v(scalar(3.0)), w(scalar(5.0));
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(w);
  const Tensor y = v * w;
  const auto g = tape.gradient(y, {v, w});
  CHECK_FALSE(g[0]);
  CHECK((*g[1]).item() == 3.0);
}

TEST_CASE("S107: a variable's gradient covers all its reads, also across assign; recorded values never change") {
  const Variable w(tensor({1., 2.}), "w");
  GradientTape tape;
  const Tensor first = w * w;
  w.assign(tensor({10., 20.}));
  const Tensor second = w * 3;
  w.assign_add(tensor({1., 1.}));
  CHECK((*tape.gradient(first + second, w)).to_vector() == std::vector<double>{2 * 1 + 3, 2 * 2 + 3});
  CHECK(w.read().to_vector() == std::vector<double>{11, 21});
}

TEST_CASE("a value that was read before the tape began is not watched; the reason names this") {
  const Variable w(scalar(2.0), "w");
  const Tensor before = w;
  GradientTape tape({.persistent = true});
  const Tensor y = before * before;
  const Gradient g = tape.gradient(y, w);
  CHECK_FALSE(g);
  CHECK(g.reason() == WhyNone::read_before_tape);
  CHECK(g.why_none() == "variable 'w' was not read while the tape recorded; a value read before is not watched");
  const Tensor z = before * w;  // one read before, one now
  CHECK((*tape.gradient(z, w)).item() == 2.0);
}

TEST_CASE("S29: an op used k times as an input gets k terms; S92: in the reverse order of recording") {
  const Tensor x = scalar(1.5);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = y + y;
  CHECK((*tape.gradient(y, x)).item() == 32.0);
}

TEST_CASE("S30, C3: gradients are total, through other sources too") {
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = y * x;
  const auto g = tape.gradient(z, {x, y});
  CHECK((*g[0]).item() == 27.0);
  CHECK((*g[1]).item() == 3.0);
  const auto partial = tape.gradient(z, {x, y}, {.stop_gradients = y});
  CHECK((*partial[0]).item() == 9.0);
  CHECK((*partial[1]).item() == 3.0);
}

TEST_CASE("S31, C4: a gradient given for an inner target adds") {
  const Tensor x = scalar(3.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor inner = x * y;
  CHECK((*tape.gradient({inner, x}, x, {.output_gradients = {scalar(1.0), scalar(2.0)}})).item() == 4.0);
}

TEST_CASE("S32: a target that is a source gives ones, repeated targets add, S36: repeated sources repeat") {
  const Tensor x = tensor({1., 2.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK((*tape.gradient(x, x)).to_vector() == std::vector<double>{1, 1});
  CHECK((*tape.gradient({x, x}, x)).to_vector() == std::vector<double>{2, 2});
  const auto twice = tape.gradient(x * 3, {x, x});
  CHECK((*twice[0]).to_vector() == std::vector<double>{3, 3});
  CHECK((*twice[1]).to_vector() == std::vector<double>{3, 3});
  const Tensor stranger = scalar(1.0);
  CHECK((*tape.gradient(stranger, stranger)).item() == 1.0);
}

TEST_CASE("S32, S107: a variable is a target, read or not while the tape recorded") {
  const Variable z(scalar(3.0)), other(scalar(4.0));
  GradientTape tape({.persistent = true});
  tape.watch(z);
  const Tensor y = z * 2.0;
  tape.stop();
  CHECK((*tape.gradient(z, z)).item() == 1);
  CHECK((*tape.gradient({z, z}, z)).item() == 2);
  CHECK((*tape.gradient({Target(y), Target(z)}, {z})[0]).item() == 3);
  CHECK((*tape.gradient(std::vector{z}, z)).item() == 1);
  CHECK((*tape.jacobian(z, z)).item() == 1);
  CHECK_FALSE(tape.gradient(z, other));
  CHECK_FALSE(tape.gradient(other, z));
  CHECK(tape.explain(z, z) == "source 0: is the target itself");
  z.assign(scalar(5.0));
  CHECK((*tape.gradient(z, z)).item() == 1);
  // One that the tape never saw.
  GradientTape blind({.persistent = true, .watch_accessed_variables = false});
  CHECK((*blind.gradient(z, z)).item() == 1);
  CHECK_FALSE(blind.gradient(z, other));
  ForwardAccumulator accumulator(z, 7.0);
  accumulator.stop();
  CHECK((*accumulator.jvp(z)).item() == 7);
}

TEST_CASE("S33: the rule of an op without cotangents is not called") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor ins[] = {x}, outs[] = {identity(scalar(1.0))};
  record_operation("nobody calls me", ins, outs,
                   [](std::span<const Gradient>) -> std::vector<Gradient> { throw std::runtime_error("called"); });
  const Tensor y = x * x;
  CHECK((*tape.gradient(y, x)).item() == 4.0);
}

TEST_CASE("S34: missing cotangents of a multi-output op are zeros") {
  const Tensor x = tensor({1., 2., 3., 4.});
  GradientTape tape;
  tape.watch(x);
  const auto parts = split(x, 2);
  CHECK((*tape.gradient(sum(parts[1] * parts[1]), x)).to_vector() == std::vector<double>{0, 0, 6, 8});
}

TEST_CASE("S35: integers are constants") {
  WarningLog log;
  const Tensor i = tensor<int>({1, 2});
  GradientTape tape({.persistent = true});
  tape.watch(i);
  REQUIRE(log.texts.size() == 1);
  CHECK(log.texts[0] == "GradientTape.watch: the dtype of the watched tensor must be floating or complex, got int32");
  const Tensor y = i * 2.0;
  const Gradient g = tape.gradient(y, i);
  CHECK_FALSE(g);
  CHECK(g.reason() == WhyNone::integer_dtype);
  const Tensor x = tensor({1.5, 2.5});
  tape.watch(x);
  const Tensor z = cast(cast(x, DType::int32), DType::float64);
  const Gradient cut = tape.gradient(z, x);
  CHECK_FALSE(cut);
  CHECK(cut.reason() == WhyNone::integer_dtype);
  CHECK_THAT(cut.why_none(), Catch::Contains("cast"));
  // However far beyond the cut the target lies, and whoever computed in whose memory.
  const Tensor far[] = {sum(exp(2.0 * cast(cast(x, DType::int32), DType::float64))),
                        cast(cast(x, DType::int32) * 3, DType::float64),
                        ones({2}) - cast(cast(x, DType::int32), DType::float64) * ones({2})};
  for (const Tensor& target : far) {
    const Gradient beyond = tape.gradient(target, x);
    CHECK(beyond.reason() == WhyNone::integer_dtype);
    CHECK_THAT(beyond.why_none(), Catch::Contains("cast"));
  }
}

TEST_CASE("S39: replay of a tape that is not persistent frees each value after its last use") {
  GradientTape tape;
  Tensor x = zeros({1 << 16});
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = sin(y);
  CHECK(tape.stats().saved_tensors == 20);
  reset_peak_bytes();
  const std::int64_t live = memory_stats().live_bytes;
  const Gradient g = tape.gradient(y, x);
  // A few cotangents in flight, not one per op.
  CHECK(memory_stats().peak_bytes - live < 5 * (8 << 16));
  CHECK(tape.stats().saved_tensors == 0);
  CHECK(tape.stats().entries == 0);
}

TEST_CASE("S39: a replay drops a value that op after op saved behind its last reader") {
  for (const bool one_by_one : {false, true}) {
    INFO(one_by_one);
    const Tensor x = scalar(1.0);
    GradientTape tape;
    tape.watch(x);
    std::int64_t tensors = 0;
    const Tensor in[] = {x}, out[] = {scalar(1.0)};
    record_operation("first", in, out, [&](std::span<const Gradient> g) {  // replayed last
      tensors = memory_stats().live_tensors;
      return std::vector<Gradient>{g[0]};
    });
    Tensor y = out[0];
    const std::int64_t before = memory_stats().live_tensors;
    {
      const Tensor small = scalar(1.0), large = full({1000}, 1.0);  // saved by each of these ops, held by nobody else
      for (int i = 0; i < 100; ++i) y = y * small;
      for (int i = 0; i < 3; ++i) y = y * sum(large * y);
    }
    if (one_by_one)
      for_each_gradient(tape, y, std::vector<Source>{x}, [](std::size_t, const Gradient& g) { CHECK(g); });
    else
      CHECK(tape.gradient(y, x));
    CHECK(tensors <= before + 3);
  }
}

TEST_CASE("S40: 10^6 discarded forward passes on one tape take bounded memory") {
  const Tensor x = scalar(0.5);
  GradientTape tape;
  tape.watch(x);
  std::int64_t most = 0;
  for (int i = 0; i < 1000000; ++i) {
    const Tensor y = exp(sin(x) * x);
    if (i % 10000 == 0) most = std::max(most, tape.stats().entries);
  }
  CHECK(most <= 10000);
  const Tensor z = x * x * x;
  CHECK((*tape.gradient(z, x)).item() == 0.75);
}

TEST_CASE("a sweep keeps entries that live results depend on") {
  const Tensor x = scalar(0.5);
  GradientTape tape;
  tape.watch(x);
  Tensor kept = x;
  double expected = 1;
  for (int i = 0; i < 20000; ++i) {
    const Tensor dropped = exp(kept * x);
    if (i % 1000 == 0) {
      kept = kept * 1.25;
      expected *= 1.25;
    }
  }
  CHECK(tape.stats().entries < 12000);
  CHECK((*tape.gradient(kept, x)).item() == Approx(expected).epsilon(1e-14));
}

TEST_CASE("a sweep keeps entries whose results another tape's rules return") {
  const Tensor x = tensor({.3, -.7, 1.1});
  const auto second = [&](int discarded) {
    GradientTape outer;
    outer.watch(x);
    Gradient first;
    {
      GradientTape inner;
      inner.watch(x);
      Tensor y;
      {
        const Tensor a = exp(x);  // its handle dies; the inner tape's multiply keeps it
        const auto pause = outer.stop_recording();
        y = sum(a * a * x);
      }
      for (int i = 0; i < discarded; ++i) static_cast<void>(sin(exp(x * 0.1)));
      first = inner.gradient(y, x);
    }
    return (*outer.gradient(first, x)).to_vector();
  };
  CHECK(second(6000) == second(0));
}

TEST_CASE("with more than two tapes all release discarded results") {
  const Tensor x = scalar(0.5);
  GradientTape t1, t2, t3, t4;
  for (GradientTape* t : {&t1, &t2, &t3, &t4}) t->watch(x);
  for (int i = 0; i < 50000; ++i) static_cast<void>(sin(x) * 2.0);
  for (GradientTape* t : {&t1, &t2, &t3, &t4}) CHECK(t->stats().entries <= 10000);
  const Tensor y = x * x;
  CHECK((*t1.gradient(y, x)).item() == 1.0);
}

TEST_CASE("a chain of ten million ops records, replays and is destroyed in a thread with a 256 KiB stack", "[once]") {
#ifdef REEL_TEST_SANITIZED
  constexpr int length = 1000000;
#else
  constexpr int length = 10000000;
#endif
  static double result;
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void*) -> void* {
                const Tensor x = scalar(1.0), c = scalar(1.0 + 1e-8);
                {
                  GradientTape tape;
                  tape.watch(x);
                  Tensor y = x;
                  for (int i = 0; i < length; ++i) y = y * c;
                  result = (*tape.gradient(y, x)).item();
                }
                GradientTape dropped;  // destroyed without a replay
                dropped.watch(x);
                Tensor y = x;
                for (int i = 0; i < length / 10; ++i) y = y * c;
                return nullptr;
              },
              nullptr) == 0);
  REQUIRE(pthread_join(thread, nullptr) == 0);
  pthread_attr_destroy(&attributes);
  CHECK(result == Approx(std::exp(length * std::log1p(1e-8))).epsilon(1e-9));
}

TEST_CASE("a failed allocation while recording leaves tapes unchanged") {
  const Tensor x = scalar(0.5);
  GradientTape outer({.persistent = true}), inner({.persistent = true});
  outer.watch(x);
  inner.watch(x);
  Tensor y = x;
  int failures = 0;
  for (int n = 0; n < 12; ++n) {
    const std::int64_t entries = inner.stats().entries;
    detail::fail_allocation_after(n);
    try {
      y = sin(y) * x + 2.0 * y;
    } catch (const std::bad_alloc&) {
      ++failures;
      CHECK(inner.stats().entries == outer.stats().entries);
      CHECK(inner.stats().entries <= entries + 4);
    }
    detail::fail_allocation_after(-1);
  }
  CHECK(failures > 0);
  CHECK(outer.active());
  const Tensor z = x * x;
  CHECK((*inner.gradient(z, x)).item() == 1.0);
  CHECK((*outer.gradient(z, x)).item() == 1.0);
}

TEST_CASE("one sweep drops a chain of discarded results, each of which keeps the previous one") {
  const Variable w(ones({64}), "w");
  GradientTape tape;
  const auto pass = [&] {
    Tensor h = w;
    for (int k = 0; k < 10; ++k) h = recompute_grad([](const Tensor& u) { return sin(u); })(h);
    return h;
  };
  const Tensor kept = pass();
  for (int i = 0; i < 3000; ++i) pass();
  CHECK(tape.stats().entries <= 4096 + 10);
  const double slope = (*tape.gradient(kept, w)).to_vector()[63];
  double x = 1, expected = 1;
  for (int k = 0; k < 10; ++k, x = std::sin(x)) expected *= std::cos(x);
  CHECK(std::abs(slope - expected) < 1e-14);
}

TEST_CASE(
    "a value that op after op saves is let go with the last of them, by a used-up replay, a sweep, and the tape") {
  const Tensor x = ramp(3);
  const auto chain = [&](int length) {
    const Tensor factor = ramp(3) + 1;  // saved by every op, held by nobody else at the end
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = y * factor;
    return y;
  };
  for (int length : {1, 2, 3, 33, 34, 100}) {
    INFO(length);
    const std::int64_t live = memory_stats().live_tensors;
    {
      GradientTape tape;
      tape.watch(x);
      Gradient slope = tape.gradient(chain(length), x);
      CHECK(memory_stats().live_tensors == live + 1);
    }
    CHECK(memory_stats().live_tensors == live);
    {
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const Tensor y = chain(length);
      tape.stop();
      CHECK(array_equal(*tape.gradient(y, x), *tape.gradient(y, x)));
    }
    CHECK(memory_stats().live_tensors == live);
    {
      GradientTape tape;
      tape.watch(x);
      for (int round = 0; round < 5000 / length; ++round) chain(length);  // forgotten: swept
      CHECK(memory_stats().live_tensors <= live + 2 * 4096 + 2);
    }
    CHECK(memory_stats().live_tensors == live);
  }
}
