// Every reason for a missing gradient: its code, its text, and the op, variable or line that it names.
#include <functional>
#include <memory>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "tape/record.hpp"

using namespace reel;
using Catch::Contains;

namespace {

Tensor user_op(const char* op, const Tensor& x, BackwardFunction backward) {
  const Tensor out[] = {from_data(x.to_vector(), x.shape())};
  record_operation(op, {&x, 1}, out, std::move(backward));
  return out[0];
}
std::vector<Gradient> nothing(std::span<const Gradient>) { return {Gradient()}; }

struct Row {
  WhyNone code;
  const char* words;
  std::function<Gradient(GradientTape& tape, const Tensor& x)> gradient;  // x is watched
};

}  // namespace

TEST_CASE("every reason is produced and its text names the op, variable or line") {
  const Variable early(scalar(2.0), "early"), frozen(scalar(2.0), "frozen", false);
  const Tensor before = early, never = scalar(3.0);
  GradientRegistry::add_not_differentiable("reasons_flat");
  const std::vector<Row> rows = {
      {WhyNone::unknown, "the gradient function of mine (op 1 on the tape) returned none",
       [](GradientTape& t, const Tensor& x) { return t.gradient(user_op("mine", x * 2, nothing) * 3, x); }},
      {WhyNone::never_watched, "the tape never watched the source; call tape.watch(x) before it is used",
       [&](GradientTape& t, const Tensor& x) { return t.gradient(x * never, never); }},
      {WhyNone::never_watched, "variable 'frozen' is not watched by itself; call tape.watch(v) before it is read",
       [&](GradientTape& t, const Tensor& x) { return t.gradient(x * frozen, frozen); }},
      {WhyNone::not_connected, "the target does not depend on the source",
       [&](GradientTape& t, const Tensor& x) {
         t.watch(never);
         return t.gradient(never * 2, x);
       }},
      {WhyNone::target_unwatched, "nothing that the tape watches leads to the target",
       [&](GradientTape& t, const Tensor& x) { return t.gradient(never * 2, x); }},
      {WhyNone::integer_dtype,
       "the path ends at cast (before op 0 on the tape), whose result is an integer or a boolean",
       [](GradientTape& t, const Tensor& x) {
         const Tensor back = cast(cast(x, DType::int64), DType::float64);
         return t.gradient(back * 2, x);
       }},
      {WhyNone::integer_dtype, "integers and booleans are constants to a tape; cast to a floating dtype",
       [](GradientTape& t, const Tensor& x) {
         const Tensor i = scalar<std::int64_t>(3);
         return t.gradient(x * i, i);
       }},
      {WhyNone::stop_gradient, "the path ends at stop_gradient (before op 1 on the tape)",
       [](GradientTape& t, const Tensor& x) { return t.gradient(stop_gradient(x * x) + 1, x); }},
      {WhyNone::stop_gradient, "the path ends at stop_gradients, an option of gradient()",
       [](GradientTape& t, const Tensor& x) {
         const Tensor h = exp(x * 2);
         return t.gradient(h * 2, x, {.stop_gradients = h});
       }},
      {WhyNone::paused, "the path ends at multiply (before op 1 on the tape), which ran while the tape was paused",
       [](GradientTape& t, const Tensor& x) {
         const Tensor h = exp(x);
         const auto y = [&] {
           const auto pause = t.stop_recording();
           return h * h;
         }();
         return t.gradient(y, x);
       }},
      {WhyNone::other_thread, "it was made on another thread; a tape records only the ops of its own thread",
       [](GradientTape& t, const Tensor& x) {
         Tensor y;
         std::thread([&] { y = x * x; }).join();
         return t.gradient(y, x);
       }},
      {WhyNone::read_before_tape,
       "variable 'early' was not read while the tape recorded; a value read before is not watched",
       [&](GradientTape& t, const Tensor&) { return t.gradient(before * 2, early); }},
      {WhyNone::not_differentiable, "reasons_flat (op 1 on the tape) is registered as not differentiable",
       [](GradientTape& t, const Tensor& x) { return t.gradient(user_op("reasons_flat", exp(x), {}) * 2, x); }},
  };
  for (const Row& row : rows)
    for (const bool persistent : {false, true}) {
      const Tensor x = scalar(2.0);
      GradientTape tape({.persistent = persistent});
      tape.watch(x);
      const Gradient g = row.gradient(tape, x);
      CHECK_FALSE(g);
      CHECK(g.reason() == row.code);
      CHECK(g.why_none() == row.words);
      CHECK(to_string(g) == "none (" + std::string(row.words) + ")");
      CHECK_THROWS_WITH(g.dense(), Contains(row.words));
      CHECK_THROWS_AS(g.slices(), ValueError);
      const Gradient copy = g;
      CHECK(copy.why_none() == row.words);
    }
  GradientRegistry::remove("reasons_flat");
}

TEST_CASE("an assignment of a followed value is named where a path ends at it") {
  const Tensor x = scalar(2.0);
  const Variable v(scalar(1.0), "v"), constant(scalar(1.0), "constant", false);
  const auto why = [&](const auto& assign, const Variable& of) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    assign(y);
    return tape.gradient(of.read() * 3, x).why_none();
  };
  const auto check = [](const std::string& text, const std::string& op) {
    CHECK_THAT(text, Contains(op + " (before op 1 on the tape") && Contains("reasons.cpp"));
  };
  set_source_locations(true);
  check(why([&](const Tensor& y) { v.assign(y); }, v), "Variable.assign");
  check(why([&](const Tensor& y) { v.assign_add(y); }, v), "Variable.assign_add");
  check(why([&](const Tensor& y) { v.assign_sub(y); }, v), "Variable.assign_sub");
  check(why([&](const Tensor& y) { constant.assign(y); }, constant), "Variable.assign");
  set_source_locations(false);
  CHECK(why([](const Tensor&) {}, v) == "the target does not depend on the source");
}

TEST_CASE("stop_gradients is the reason on a tape of any length") {
  const std::string reason = "the path ends at stop_gradients, an option of gradient()";
  // An entry that owns its rule, and more entries than one chunk of memory holds.
  const auto through_checkpoint = [](const Tensor& y) {
    return checkpoint([](const Tensor& v) { return tanh(v); })(y);
  };
  const auto through_many = [](Tensor y) {
    for (int i = 0; i < 20000; ++i) y = y * 1.0;
    return y;
  };
  for (const std::function<Tensor(const Tensor&)>& f :
       {std::function<Tensor(const Tensor&)>(through_checkpoint), std::function<Tensor(const Tensor&)>(through_many)}) {
    const Tensor x = scalar(-1.25), other = scalar(1.0);
    GradientTape tape;
    tape.watch(x);
    tape.watch(other);
    const Tensor y = square(x), z = f(y);
    const auto g = tape.gradient(z, {x, other}, {.stop_gradients = {y}});
    CHECK_FALSE(g[0]);
    CHECK(g[0].why_none().starts_with(reason));
    CHECK_FALSE(g[1].why_none().starts_with(reason));
  }
}

TEST_CASE("the reasons of a used tape and of a default-constructed gradient") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  CHECK(tape.gradient(y, x));
  CHECK(tape.explain(y, x) == "the tape was used already; make it persistent to use it again");
  CHECK_THROWS_WITH(tape.gradient(y, x), Catch::StartsWith("GradientTape.gradient can only be called once: "));
  CHECK(Gradient().why_none() == "this Gradient is empty: it was default-constructed, or moved from");
  CHECK(Gradient().reason() == WhyNone::unknown);
  CHECK_THROWS_WITH(Gradient().dense(), Contains("default-constructed"));
}

TEST_CASE("a gradient that is blocked on one path is no reason for a source on another") {
  const Tensor x = scalar(2.0), w = scalar(3.0), apart = scalar(4.0);
  GradientTape tape({.persistent = true});
  for (const Tensor& t : {x, w, apart}) tape.watch(t);
  const Tensor cut = user_op("mine", exp(x), nothing);
  const Tensor y = cut * w;
  const Gradient lost = tape.gradient(y, x), unrelated = tape.gradient(y, apart);
  CHECK_THAT(lost.why_none(), Contains("mine (op 1 on the tape)"));
  CHECK(unrelated.reason() == WhyNone::not_connected);
  CHECK(tape.gradient(y, w));
  CHECK(tape.gradient(y + x, x));  // another path leads there
  const auto both = tape.gradient(y, {x, apart}, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK(both[0].dense().item() == 0);
}

TEST_CASE("the reason of one result of an op is that of its inputs, not of its other results") {
  const Tensor x = tensor({2., 3.}), other = scalar(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  const Tensor unused = square(x);
  for (const std::size_t i : {0u, 1u}) {
    const auto parts = unstack(x);
    const Tensor aside = exp(parts[1 - i]);  // an entry without a cotangent and without a reason
    const Tensor cut = user_op("mine", parts[i], nothing);
    const auto g = tape.gradient(cut * other, {x, parts[0], parts[1]});
    CHECK_THAT(g[0].why_none(), Contains("mine"));
    CHECK_THAT(g[1 + i].why_none(), Contains("mine"));
    CHECK(g[2 - i].reason() == WhyNone::not_connected);
  }
  // Beyond stop_gradients the reason is another one.
  const Tensor y = exp(x), cut = user_op("mine", y * other, nothing);
  const auto g = tape.gradient(cut, {x, other}, {.stop_gradients = y});
  CHECK(g[0].reason() == WhyNone::stop_gradient);
  CHECK_THAT(g[1].why_none(), Contains("mine"));
}

TEST_CASE("a pause may outlive its tape, and pauses end in any order") {
  const Tensor x = scalar(2.0);
  auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
  tape->watch(x);
  auto first = std::make_unique<GradientTape::Pause>(*tape);
  auto second = std::make_unique<GradientTape::Pause>(*tape);
  first.reset();
  CHECK_FALSE(tape->gradient(x * x, x));
  second.reset();
  CHECK(tape->gradient(x * x, x));
  first = std::make_unique<GradientTape::Pause>(*tape);
  tape.reset();
  GradientTape next;  // of the same memory, perhaps
  next.watch(x);
  const Tensor y = x * x;
  first.reset();
  CHECK(next.gradient(y, x));
  GradientTape third;
  third.watch(x);
  CHECK(third.gradient(x * x, x));
}

TEST_CASE("a tape resumed, or made, while recording is suspended stays on the stack afterwards") {
  const Tensor x = scalar(2.0);
  GradientTape outer({.persistent = true}), stopped({.persistent = true});
  outer.watch(x);
  stopped.watch(x);
  stopped.stop();
  std::unique_ptr<GradientTape> made;
  {
    const tape::Suspend suspend;
    stopped.resume();
    made = std::make_unique<GradientTape>();
    made->watch(x);
  }
  const Tensor y = x * x;
  CHECK(stopped.active());
  for (GradientTape* t : {&outer, &stopped, made.get()}) CHECK((*t->gradient(y, x)).item() == 4.0);
}

TEST_CASE("reasons for integer variables, for a tape that watches no variables, and within a path") {
  const Variable count(tensor<std::int64_t>({1, 2}), "count"), w(scalar(2.0), "w");
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(x);
  const Tensor y = x * w * cast(count, DType::float64);
  tape.stop();
  CHECK(tape.gradient(y, count).reason() == WhyNone::integer_dtype);
  const Gradient unwatched = tape.gradient(y, w);
  CHECK(unwatched.reason() == WhyNone::never_watched);
  CHECK_THAT(unwatched.why_none(), Contains("variable 'w' is not watched by itself"));
  // Of several targets, the first with a reason gives it.
  const Tensor far = scalar(1.0), whole = cast(far, DType::int64);
  CHECK(tape.gradient({far, y}, w).reason() == WhyNone::never_watched);
  CHECK(tape.gradient({far * 2, far * 3}, x).reason() == WhyNone::target_unwatched);
  CHECK(tape.gradient({whole, far}, x).reason() == WhyNone::integer_dtype);
}

TEST_CASE("explain: several sources and targets, results off the path, long paths") {
  const Tensor x = scalar(0.2), z = scalar(0.3), far = scalar(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(z);
  const Tensor parts[] = {scalar(1.0), scalar(2.0)};
  record_operation("pair", {{x, z}}, parts, [](std::span<const Gradient> g) { return std::vector{g[0], g[1]}; });
  const Tensor aside = exp(x), y = parts[1] * far;
  Tensor longest = z;
  for (int i = 0; i < 14; ++i) longest = sin(longest);
  tape.stop();
  CHECK(tape.explain(y, std::vector{x, z}) ==
        "source 0: connected through 2 recorded ops: pair, multiply\n"
        "source 1: connected through 2 recorded ops: pair, multiply");
  CHECK(tape.explain(parts[0], x) == "source 0: connected through 1 recorded op: pair");
  CHECK(tape.explain(std::vector{aside, longest}, std::vector{x, z}) ==
        "source 0: connected through 1 recorded op: exp\n"
        "source 1: connected through 14 recorded ops: sin, sin, sin, sin, sin, sin, sin, sin, sin, sin, sin, sin, ...");
  CHECK_THAT(tape.explain(aside, z), Contains("source 0: no gradient: the target does not depend on the source"));
  CHECK_THAT(tape.explain(far, x), Contains("no gradient: nothing that the tape watches leads to the target"));
}

TEST_CASE("slices and missing gradients as values") {
  const Tensor values = tensor({{1., 2.}}), index = tensor<std::int64_t>({1});
  const Gradient sparse(IndexedSlices{values, index, {3, 2}});
  const Gradient copy = sparse;
  CHECK(copy.is_slices());
  CHECK(copy.slices().values.id() == values.id());
  CHECK((*copy).to_vector() == std::vector<double>{0, 0, 1, 2, 0, 0});
  CHECK(copy.why_none().empty());
  CHECK(copy.reason() == WhyNone::unknown);
  CHECK_THAT(to_string(copy), Catch::StartsWith("IndexedSlices of [3, 2]: rows "));
  CHECK_THROWS_WITH(Gradient(IndexedSlices{values, {}, {3, 2}}), Contains("empty values or indices"));
  CHECK_THROWS_WITH(Gradient(values).slices(), Contains("it is a tensor, not IndexedSlices"));
  CHECK_THROWS_WITH(Gradient().slices(), Contains("there are no slices to read"));
}
