// AnomalyGuard: names the first op or rule whose result is not finite, with the line that called it. Borrowed memory
// must not change between recording and replay.
#include <cmath>
#include <functional>
#include <limits>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "op_cases.hpp"
#include "support/derivatives.hpp"
#include "tape/record.hpp"

using namespace reel;
using Catch::Contains;

namespace {

const double no_number = std::numeric_limits<double>::quiet_NaN();

// The text of the ValueError that f throws; empty if none.
template <class F>
std::string fault(F f) {
  try {
    f();
  } catch (const ValueError& e) {
    return e.what();
  }
  return {};
}

std::string at(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }

// An op of the user with this rule.
Tensor user_op(const Tensor& x, BackwardFunction backward, TangentFunction jvp = {}) {
  const Tensor out[] = {from_data(x.to_vector(), x.shape())};
  record_operation("mine", {&x, 1}, out, std::move(backward), std::move(jvp));
  return out[0];
}

}  // namespace

TEST_CASE("AnomalyGuard: without one nothing is checked") {
  CHECK(std::isinf(log(tensor({0.})).to_vector()[0]));
  { const AnomalyGuard guard; }
  CHECK(std::isinf(log(tensor({0.})).to_vector()[0]));
  CHECK_FALSE(tape::active());
}

TEST_CASE("AnomalyGuard, forward: names op, line, shapes and elements; needs no tape") {
  const AnomalyGuard guard;
  const Tensor x = tensor({{1., 2., 0.}, {4., -1., 0.}});
  const int line = __LINE__ + 1;
  const std::string text = fault([&] { static_cast<void>(log(x)); });
  CHECK(text ==
        "log: its result is not finite: float64 [2, 3], 3 of 6 elements, the first at [0, 2] (-inf); inputs: 0 "
        "float64 [2, 3]; called at " +
            at(line));
  // A column of a transposed view: indices are the result's own.
  CHECK_THAT(fault([&] { static_cast<void>(log(transpose(x))); }), Contains("[3, 2], 3 of 6") && Contains("at [1, 1]"));
  CHECK(fault([&] { static_cast<void>(log(x + 2)); }).empty());
}

TEST_CASE("AnomalyGuard, forward: compound operators have the line of their statement") {
  const AnomalyGuard guard;
  const double huge = 1e308;
  Tensor t = tensor({huge, huge});
  const auto line_of = [&](int line, auto f) {
    t = tensor({huge, 1.});
    CHECK_THAT(fault(f), Contains("called at " + at(line)));
  };
  line_of(__LINE__, [&] { t += huge; });
  line_of(__LINE__, [&] { t -= -huge; });
  line_of(__LINE__, [&] { t *= 10; });
  line_of(__LINE__, [&] { t /= 1e-9; });
  line_of(__LINE__, [&] { t %= tensor({0., 1.}); });
  line_of(__LINE__, [&] { t += t; });
}

TEST_CASE("AnomalyGuard, forward: an input that is not finite is named as the origin") {
  const AnomalyGuard guard;
  const Tensor x = tensor({1., 2.}), y = tensor({3., no_number});
  CHECK_THAT(fault([&] { static_cast<void>(x * y); }),
             Contains("multiply") && Contains("the origin: input 1 was not finite already (float64 [2], 1 of 2 "
                                              "elements, the first at [1] (nan))"));
  CHECK_THAT(fault([&] { static_cast<void>(x / 0.0); }), !Contains("origin"));
}

TEST_CASE("AnomalyGuard, forward: every dtype, weak scalars, results in reused memory") {
  const AnomalyGuard guard;
  for (const DType d :
       {DType::float16, DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    INFO(name(d));
    CHECK(fault([&] { static_cast<void>(cast(tensor({1., 2., 3.}), d)); }).empty());
    CHECK_THAT(fault([&] {
                 static_cast<void>(cast(tensor({1., no_number, 3.}), d));
               }),
               Contains(std::string(name(d)) + " [3], 1 of 3 elements, the first at [1] (nan)"));
  }
  CHECK_THAT(fault([&] { static_cast<void>((ones({3}) + 1.0) / 0.0); }), Contains("divide"));
  Tensor x = full({4}, 1e300);
  CHECK_THAT(fault([&] { x *= 1e300; }), Contains("multiply") && Contains("inf"));
}

TEST_CASE("AnomalyGuard, forward: reductions, products, variables and updates") {
  const AnomalyGuard guard;
  const Tensor big = full({2, 2}, 1e300);
  CHECK_THAT(fault([&] { static_cast<void>(sum(full({20}, 1e308))); }), Contains("sum"));
  CHECK_THAT(fault([&] { static_cast<void>(matmul(big, big)); }), Contains("matmul") && Contains("4 of 4"));
  const Variable v(full({2}, 1.5e308), "v");
  CHECK_THAT(fault([&] { static_cast<void>(v * 2); }), Contains("multiply"));
  CHECK_THAT(fault([&] { v.assign_add(full({2}, 1e308)); }), Contains("add"));
}

TEST_CASE("AnomalyGuard: options for one direction and for NaN only; nested guards") {
  const Tensor zero = tensor({0.});
  {
    const AnomalyGuard outer({.infinity = false});
    CHECK(fault([&] { static_cast<void>(log(zero)); }).empty());
    CHECK_THAT(fault([&] { static_cast<void>(log(zero - 1)); }), Contains("nan"));
    {
      const AnomalyGuard inner({.check_forward = false});
      CHECK(fault([&] { static_cast<void>(log(zero - 1)); }).empty());
    }
    CHECK_FALSE(fault([&] { static_cast<void>(log(zero - 1)); }).empty());
  }
  CHECK(fault([&] { static_cast<void>(log(zero - 1)); }).empty());
  const AnomalyGuard guard({.check_backward = false});
  GradientTape tape;
  tape.watch(zero);
  const Tensor y = sqrt(zero);
  CHECK(std::isinf(tape.gradient(y, zero).dense().to_vector()[0]));
}

TEST_CASE("AnomalyGuard, backward: names rule, line of the op, operand and cotangent") {
  const AnomalyGuard guard;
  const Tensor x = tensor({1., 0., 4.}), c = tensor({1., 2., 3.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const int line = __LINE__ + 1;
  const Tensor y = sum(c * sqrt(x));
  CHECK(fault([&] { static_cast<void>(tape.gradient(y, x)); }) ==
        "sqrt: the gradient for input 0 that its rule gives is not finite: float64 [3], 1 of 3 elements, the first at "
        "[1] (inf); cotangents: 0 float64 [3]; the op was called at " +
            at(line));
  const Tensor z = x * 2;
  CHECK_THAT(fault([&] {
               static_cast<void>(tape.gradient(z, x, {.output_gradients = tensor({1., no_number, 1.})}));
             }),
             Contains("multiply") && Contains("the origin: cotangent 0 was not finite already"));
}

TEST_CASE("AnomalyGuard, backward: after an error a persistent tape is usable, another is used") {
  const AnomalyGuard guard;
  const Tensor x = tensor({0.});
  GradientTape kept({.persistent = true}), once;
  kept.watch(x);
  once.watch(x);
  const Tensor y = sqrt(x), z = x * 3;
  CHECK_FALSE(fault([&] { static_cast<void>(once.gradient(y, x)); }).empty());
  CHECK_THROWS_AS(once.gradient(y, x), TapeError);
  CHECK_FALSE(fault([&] { static_cast<void>(kept.gradient(y, x)); }).empty());
  CHECK((*kept.gradient(z, x)).to_vector() == std::vector<double>{3});
}

TEST_CASE("AnomalyGuard, backward: IndexedSlices and users' rules are checked") {
  const AnomalyGuard guard;
  const Tensor x = ones({4, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = user_op(x, [](std::span<const Gradient>) -> std::vector<Gradient> {
    return {IndexedSlices{tensor({{1., no_number}}), tensor<std::int64_t>({2}), {4, 2}}};
  });
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(y, x)); }),
             Contains("mine") && Contains("float64 [1, 2], 1 of 2 elements, the first at [0, 1]"));
}

TEST_CASE("AnomalyGuard, backward: slices that a rule of the library passes on are checked") {
  const AnomalyGuard guard({.check_forward = false});
  const Tensor x = ones({4, 2}, DType::float32);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(cast(x, DType::float64), tensor<int>({2}));
  CHECK_THAT(fault([&] {
               static_cast<void>(tape.gradient(y, x, {.output_gradients = tensor({{1., 1e300}})}));
             }),
             Contains("cast: the gradient for input 0") && Contains("float32 [1, 2], 1 of 2 elements"));
}

TEST_CASE("AnomalyGuard, backward: what a rule gives is checked, not a sum that it adds to in place") {
  const AnomalyGuard guard({.check_forward = false});
  const Tensor x = tensor({1.}), c = tensor({1.5e308});
  for (const auto method : {AggregationMethod::add_n, AggregationMethod::accumulate_n}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = slice(x, {range(0, 1)}) * c, z = slice(x, {range(0, 1)}) * c;
    CHECK(fault([&] {
            CHECK(std::isinf((*tape.gradient({y, z}, x, {.aggregation_method = method})).to_vector()[0]));
          }).empty());
  }
}

TEST_CASE("AnomalyGuard, forward mode: a tangent that is not finite") {
  const AnomalyGuard guard;
  const Tensor x = tensor({4., 0.});
  CHECK_THAT(fault([&] {
               support::push([](const support::Tensors& a) -> support::Tensors { return {sqrt(a[0])}; }, {x},
                             {ones({2})});
             }),
             Contains("sqrt: the tangent of output 0 that its rule gives is not finite") && Contains("at [1]"));
}

TEST_CASE("AnomalyGuard: of a rule only the results are checked") {
  const AnomalyGuard guard;
  const Tensor x = tensor({1., 4.});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = user_op(x, [](std::span<const Gradient> g) -> std::vector<Gradient> {
    const Tensor infinite = g[0].dense() / 0.0;
    return {where(isinf(infinite), g[0].dense(), infinite)};
  });
  CHECK((*tape.gradient(y, x)).to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("AnomalyGuard: with suspended, nested and ended tapes") {
  const Tensor x = tensor({2.});
  auto guard = std::make_unique<AnomalyGuard>();
  auto outer = std::make_unique<GradientTape>();
  outer->watch(x);
  {
    const tape::Suspend suspend;
    CHECK_FALSE(fault([&] { static_cast<void>(log(x - 2)); }).empty());
    CHECK_FALSE(tape::followed(x));
  }
  const Tensor y = x * x;
  guard.reset();
  CHECK((*outer->gradient(y, x)).item() == 4.0);
  outer.reset();
  CHECK_FALSE(tape::active());
  CHECK(fault([&] { static_cast<void>(log(x - 2)); }).empty());
}

TEST_CASE("AnomalyGuard: does not change results") {
  const Tensor x = linspace(0.1, 2.0, 12);
  const auto run = [&] {
    return value_and_grad([](const Tensor& a) {
      return sum(log_softmax(reshape(a, {3, 4})) * matmul(reshape(a, {3, 4}), ones({4, 4}))) + var(a);
    })(x);
  };
  const auto [value, gradient] = run();
  const AnomalyGuard guard;
  const auto [value2, gradient2] = run();
  CHECK(value.item() == value2.item());
  CHECK(array_equal(gradient, gradient2));
}

TEST_CASE("AnomalyGuard: names borrowed memory that changed between recording and replay") {
  double memory[] = {1, 2, 3, 4};
  const AnomalyGuard guard;
  const Tensor x = borrow(memory, Shape{4}, 0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const int line = __LINE__ + 1;
  const Tensor y = sum(x * x);
  const Tensor z = sum(x[1] * x[1]);
  CHECK((*tape.gradient(y, x)).to_vector() == std::vector<double>{2, 4, 6, 8});
  memory[0] = 5;
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(y, x)); }),
             Contains("multiply: the borrowed memory behind its saved value 0 (float64 [4]) has changed") &&
                 Contains(at(line)) && Contains("from_data"));
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(z, x)); }), Contains("has changed"));  // a view of it
  memory[0] = 1;
  CHECK(tape.gradient(y, x));
}

TEST_CASE("borrowed memory that was recorded under a guard is checked after it, too") {
  double memory[] = {1, 2};
  const Tensor x = borrow(memory, Shape{2}, 0);
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  {
    const AnomalyGuard guard;
    y = x * x;
  }
  memory[0] = 5;
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(y, x)); }), Contains("has changed"));
}

TEST_CASE("AnomalyGuard: every op reports its result and the line of the call") {
  // NaN in every element of every operand reaches the result of all but those that choose or test.
  int reported = 0;
  const AnomalyGuard guard;
  const auto try_op = [&](const char* name, auto call, const std::vector<Tensor>& x) {
    for (const char* bare : {"contiguous", "stop_gradient"})  // these compute nothing
      if (std::string(name) == bare) return;
    Tensor z;
    {
      const AnomalyGuard off({.check_forward = false});
      try {
        z = call(cases::Operands(x));
      } catch (const Error&) {
        return;  // refuses NaN
      }
    }
    if (!is_differentiable(z.dtype()) || !any(isnan(z)).item<bool>()) return;
    const std::string text = fault([&] { static_cast<void>(call(cases::Operands(x))); });
    INFO(name << ": " << text);
    ++reported;
    CHECK_THAT(text, Contains(" is not finite: "));
    CHECK_THAT(text,
               Contains("called at ") && (Contains("op_cases/") || Contains("/rows") || Contains("/references/")));
  };
  for (const cases::Pointwise& row : cases::pointwise())
    try_op(row.name, row.call, std::vector<Tensor>(static_cast<std::size_t>(row.arity), full({3}, no_number)));
  for (const auto& rows : cases::shaped_tables())
    for (const cases::Shaped& row : rows) {
      std::vector<Tensor> x;
      const std::vector<Shape> shapes = cases::shapes_of(row)[0];
      for (const Shape& shape : shapes) x.push_back(full(shape, no_number));
      try_op(row.name, row.call, x);
    }
  CHECK(reported > 150);
}

TEST_CASE("AnomalyGuard, forward mode: tangents of accumulators and Jacobian columns; options") {
  const Tensor x = scalar(0.0), ramp = linspace(1.0, 2.0, 9);
  const auto column = [&] { static_cast<void>(jacobian([&](const Tensor& t) { return sqrt(t * ramp); })(x)); };
  const auto carried = [&] {
    const ForwardAccumulator accumulator(x, ones({}));
    static_cast<void>(sqrt(x));
  };
  for (const std::function<void()>& f : {std::function<void()>(column), std::function<void()>(carried)}) {
    const AnomalyGuard guard;
    CHECK_THAT(fault(f), Contains("sqrt: the tangent of output 0 that its rule gives is not finite"));
    const AnomalyGuard values_alone({.check_backward = false});
    CHECK_THAT(fault(f), !Contains("tangent"));  // but the Jacobian, which is made of it, is a value
    const AnomalyGuard nothing({.check_forward = false, .check_backward = false});
    CHECK(fault(f).empty());
  }
  const AnomalyGuard nan_alone({.infinity = false});
  CHECK(fault(column).empty());
}

TEST_CASE("AnomalyGuard: ignores integers; missing tensors in messages") {
  const AnomalyGuard guard;
  CHECK((tensor<std::int64_t>({INT64_MAX}) * 2).to_vector<std::int64_t>()[0] == -2);
  CHECK_FALSE(any(tensor({1., 2.}) > 3).item<bool>());
  const Tensor x = tensor({1., 2.}), parts[] = {ones({2}), zeros({2})};
  GradientTape tape;
  tape.watch(x);
  record_operation("pair", {&x, 1}, parts, [](std::span<const Gradient> g) {
    return std::vector<Gradient>{*g[1] * tensor({1., no_number})};
  });
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(parts[1], x)); }),
             Contains("pair: the gradient for input 0") && Contains("cotangents: 0 none, 1 float64 [2]"));
}

TEST_CASE("AnomalyGuard: checks only borrowed memory among the saved values") {
  double memory[] = {1, 2, 3, 4};
  const AnomalyGuard guard;
  const Tensor borrowed = borrow(memory, Shape{4}, 0), own = tensor({5., 6., 7., 8.});
  GradientTape tape({.persistent = true});
  tape.watch(own);
  const Tensor y = sum(own * own), z = sum(own * transpose(reshape(borrowed, {2, 2}))[0][0]);
  memory[3] = 9;  // seen by no rule of y
  CHECK((*tape.gradient(y, own)).to_vector() == std::vector<double>{10, 12, 14, 16});
  CHECK_THAT(fault([&] { static_cast<void>(tape.gradient(z, own)); }),
             Contains("borrowed memory") && Contains("changed"));
}

TEST_CASE("AnomalyGuard, backward: names a cotangent that a rule returns unchanged") {
  const AnomalyGuard guard;
  const Tensor x = tensor({1., 2.}), c = tensor({3., 4.});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = c + x;
  CHECK_THAT(fault([&] {
               static_cast<void>(tape.gradient(y, x, {.output_gradients = tensor({1., no_number})}));
             }),
             Contains("add: the gradient for input 1") && Contains("the origin: cotangent 0 was not finite already"));
}
