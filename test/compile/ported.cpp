// Facts from TensorFlow's tests of tf.function and MLX's tests of compile that no other file of this folder checks;
// test/compile/suites.txt lists those tests and where each is.
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::same_bits;

TEST_CASE("ported: constants that are not finite") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    for (const double constant : {std::nan(""), infinity, -infinity}) {
      const Tensor x = cast(tensor({1., -1.}), d);
      const auto f = [=](const Tensor& a) { return where(a > 0, a, cast(scalar(constant), d)) * 2; };
      CHECK(same_bits(compile(f)(x), f(x)));
    }
}

TEST_CASE("ported: a call by another thread, and a function that another thread releases and makes again") {
  int traced = 0;
  const auto f = [&](const Tensor& x) {
    ++traced;
    return std::pair(x + 1., x * 2.);
  };
  auto first = std::make_unique<Compiled<decltype(f)>>(f, CompileOptions());
  Tensor sum_of_all = scalar(0.);
  for (int i = 0; i < 3; ++i)
    std::thread([&] {
      const auto [y, z] = (*first)(scalar(1.));
      sum_of_all = sum_of_all + y + z;
    }).join();
  CHECK(sum_of_all.item() == 12);
  CHECK(traced == 1);
  std::thread([&] { first.reset(); }).join();
  std::thread([&] { CHECK(compile(f)(scalar(1.)).second.item() == 2); }).join();
  CHECK(traced == 2);
}

TEST_CASE("ported: variables that a function called inside reads are watched") {
  const Variable v(scalar(4.), "v");
  const auto f = compile([&] { return square(v); });
  const auto g = compile([&] { return f(); });
  const auto h = compile([&] { return g(); });
  for (int call = 0; call < 2; ++call)
    for (const auto& function : {std::function<Tensor()>(f), std::function<Tensor()>(g), std::function<Tensor()>(h)}) {
      GradientTape tape;
      const Tensor y = function();
      REQUIRE(tape.watched_variables().size() == 1);
      CHECK(tape.watched_variables()[0].id() == v.id());
      CHECK((*tape.gradient(y, v)).item() == 8);
    }
}

TEST_CASE("ported: a function called inside reads before the outer one assigns, and assigns before it reads") {
  const Variable v(scalar(1.), "v");
  const auto plus_one = compile([&] { return v + 1.; });
  const auto add = compile([&](const Tensor& x) { v.assign_add(x); });
  const auto reads_first = compile([&] {
    const Tensor y = plus_one();
    v.assign_add(scalar(2.));
    return y;
  });
  const auto assigns_first = compile([&](const Tensor& x) {
    add(x);
    add(x);
    return plus_one();
  });
  CHECK(reads_first().item() == 2);
  CHECK(v.read().item() == 3);
  CHECK(assigns_first(scalar(10.)).item() == 24);
  CHECK(v.read().item() == 23);
}

TEST_CASE("ported: a function without results, of a variable that a tape watches") {
  const Variable v(scalar(3.), "v");
  const auto nothing = compile([&](const Tensor& x) { static_cast<void>(x + v); });
  const auto outer = compile([&](const Tensor& x) {
    const Tensor y = x + v;
    nothing(y);
    return y;
  });
  GradientTape tape;
  nothing(v);
  CHECK((*tape.gradient(outer(v), v)).item() == 2);
}

TEST_CASE("ported: a gradient by rows inside, through a function called inside") {
  const auto row_sums = compile([](const Tensor& x) { return sum(x, {1}); });
  const auto slope = [&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(mean(gather(row_sums(x), tensor<std::int64_t>({0}))), x);
  };
  const Tensor x = reshape(tensor({1., 2., 3., 4.}), {2, 2, 1});
  CHECK(same_bits(compile(slope)(x), slope(x)));
}

TEST_CASE("ported: many arguments, many results, and a broadcast operand of several readers") {
  const auto f = [](const std::vector<Tensor>& x) {
    std::vector<Tensor> list;
    Tensor total = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) {
      total = total + x[k] * x[k - 1];
      list.push_back(exp(x[k]) - total);
    }
    const Tensor wide = broadcast_to(x[0][0], {5});
    list.push_back(total + wide * x[1]);
    list.push_back(sum(wide));
    return list;
  };
  std::vector<Tensor> x;
  for (int k = 0; k < 60; ++k) x.push_back(support::ramp({5}, 0.01 * k));
  const std::vector<Tensor> got = compile(f)(x), expected = f(x);
  REQUIRE(got.size() == 61);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], expected[k]));
}

TEST_CASE("ported: the structure of results may differ from signature to signature only by the lengths of lists") {
  const auto f = compile([](const Tensor& x) {
    std::vector<Tensor> list(static_cast<std::size_t>(x.size()), x);
    return list;
  });
  for (int i = 0; i < 2; ++i)
    for (const std::int64_t n : {1, 3}) CHECK(f(support::ramp({n})).size() == static_cast<std::size_t>(n));
  CHECK(f.stats().traces == 2);
}

TEST_CASE("ported: functions of numbers in several bases, unsigned integers and NaN") {
  const Tensor p = cast(tensor({.1, .2, .3, .4}), DType::float32);
  const auto entropies = [](const Tensor& x) { return stack({-sum(x * log(x)), -sum(x * log2(x))}); };
  CHECK(same_bits(compile(entropies)(p), entropies(p)));
  const Tensor bytes = cast(tensor({1., 2., 3.}), DType::uint8);
  const auto plus_one = [](const Tensor& x) { return abs(x) + 1; };
  CHECK(same_bits(compile(plus_one)(bytes), plus_one(bytes)));
  const auto equal_elements = compile([](const Tensor& x) { return sum(cast(equal(x, x), DType::int64)); });
  CHECK(equal_elements(tensor({1., std::nan("")})).item<std::int64_t>() == 1);
}

TEST_CASE("ported: deep graphs, values of several readers, broadcasts and many dimensions") {
  const auto check = [](Tensor (*f)(const Tensor&), const Tensor& x) { CHECK(same_bits(compile(f)(x), f(x))); };
  const auto deep = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = cos(sin(y));
    return y;
  };
  const auto repeated = [](const Tensor& x) {
    const Tensor y = abs(exp(x));
    return y + abs(exp(sum(y) / 100.));
  };
  const auto broadcast = [](const Tensor& x) {
    const Tensor y = broadcast_to(x, {1});
    return y + y;
  };
  const auto added = [](const Tensor& x) { return abs(x + 1.); };
  const auto greatest = [](const Tensor& x) { return equal(x, max(x, {1, 2}, true)); };
  const auto infinite = [](const Tensor& x) { return isinf(x + 2.); };
  check(deep, tensor({3., -2.}));
  check(repeated, tensor({3., -2.}));
  check(broadcast, scalar(2.));
  check(added, transpose(support::ramp({2, 2, 2, 2, 2, 2, 2, 2})));
  check(greatest, support::ramp({2, 3, 4}));
  check(infinite, tensor({0., std::numeric_limits<double>::infinity()}));
  for (const DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64})
    check([](const Tensor& x) { return x * 1 + 0; }, cast(tensor({0., 1., 2., 3.}), d));
}
