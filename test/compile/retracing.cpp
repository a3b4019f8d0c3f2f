// What TensorFlow's tests of tf.function and MLX's tests of compile check, as facts about compile(f): when f is traced
// again, captures, variables, structure, errors, and the state after a failed call.
#include <map>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "core/block.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::same_bits;

TEST_CASE("retracing: by shape, dtype, rank and static value, and never by the values of tensors") {
  int traced = 0;
  const auto f = compile([&](const Tensor& x, int power) {
    ++traced;
    Tensor y = x;
    for (int i = 1; i < power; ++i) y = y * x;
    return y;
  });
  const auto after = [&](const Tensor& x, int power) {
    f(x, power);
    return traced;
  };
  CHECK(after(scalar(2.), 2) == 1);
  CHECK(after(scalar(3.), 2) == 1);
  CHECK(after(support::ramp({1}), 2) == 2);
  CHECK(after(support::ramp({2}), 2) == 3);
  CHECK(after(zeros({2}, DType::float32), 2) == 4);
  CHECK(after(zeros({0}), 2) == 5);
  CHECK(after(scalar(2.), 3) == 6);
  CHECK(after(support::ramp({2}), 2) == 6);
  CHECK(f(scalar(2.), 3).item() == 8);
  // Strides count.
  CHECK(after(support::ramp({4}), 2) == 7);
  CHECK(after(slice(support::ramp({8}), {range(0, 8, 2)}), 2) == 8);
  CHECK(after(flip(support::ramp({4})), 2) == 9);
  CHECK(after(contiguous(flip(support::ramp({4}))), 2) == 9);
  CHECK(after(slice(support::ramp({8}), {range(4, 8)}), 2) == 9);  // an offset does not
  const auto copy = f;                                             // copies share programs
  CHECK(copy(scalar(5.), 2).item() == 25);
  CHECK(traced == 9);
  CHECK(copy.stats().signatures == 9);
}

TEST_CASE("retracing: the structure of arguments counts, and the same tensor twice is two inputs") {
  int traced = 0;
  const auto f = compile([&](const std::vector<Tensor>& list) {
    ++traced;
    Tensor y = scalar(0.);
    for (const Tensor& x : list) y = y + x;
    return y;
  });
  const Tensor a = scalar(1.), b = scalar(2.);
  CHECK(f(std::vector{a, b}).item() == 3);
  CHECK(f(std::vector{a, a}).item() == 2);
  CHECK(traced == 1);
  CHECK(f(std::vector{a, b, b}).item() == 5);
  CHECK(traced == 2);
  CHECK(f(std::vector<Tensor>()).item() == 0);
  CHECK(traced == 3);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = compile([](const Tensor& p, const Tensor& q) { return p * q * q; })(a, a);
  CHECK((*tape.gradient(y, a)).item() == 3);
}

TEST_CASE("retracing: results of any structure, inputs returned, constants, and functions of nothing") {
  const Tensor x = support::ramp({3});
  const auto f = compile([](const Tensor& a) {
    return std::tuple(a, a, std::map<std::string, Tensor>{{"twice", a * 2.}}, std::vector<Tensor>{a[0], ones({2})});
  });
  for (int i = 0; i < 2; ++i) {
    const auto r = f(x);
    CHECK(same_bits(std::get<0>(r), x));
    CHECK(same_bits(std::get<1>(r), x));
    CHECK(same_bits(std::get<2>(r).at("twice"), x * 2.));
    CHECK(same_bits(std::get<3>(r)[0], x[0]));
    CHECK(same_bits(std::get<3>(r)[1], ones({2})));
  }
  const auto constant = compile([] { return arange(3) * 2; });
  CHECK(same_bits(constant(), arange(3) * 2));
  CHECK(same_bits(constant(), arange(3) * 2));
  CHECK(constant.stats().traces == 1);
}

TEST_CASE("captures: a tensor is what it was when f was traced; a variable is what it is") {
  Tensor w = scalar(2.);
  double number = 10;
  Variable v(scalar(3.), "v");
  const auto f = compile([&](const Tensor& x) { return x * w + v * number; });
  CHECK(f(scalar(1.)).item() == 32);
  w = scalar(100.);
  number = 1000;
  CHECK(f(scalar(1.)).item() == 32);
  v.assign(scalar(4.));
  CHECK(f(scalar(1.)).item() == 42);
  CHECK(f(support::ramp({1})).to_vector()[0] == Approx(-100 + 4000));  // another signature is traced now
  CHECK(f.stats().constant_bytes >= 8);
}

TEST_CASE("variables: assigned, read again, and read by others between calls") {
  Variable count(scalar(std::int64_t{0}), "count", false), other(scalar(1.), "other");
  const auto f = compile([&](const Tensor& x) {
    count.assign_add(scalar(std::int64_t{1}));
    count.assign_add(scalar(std::int64_t{1}));
    other.assign(other * x);
    other.assign(other + 1.);
    return cast(count, DType::float64) * 100. + other;
  });
  CHECK(f(scalar(2.)).item() == 203);
  CHECK(f(scalar(2.)).item() == 407);
  CHECK(count.read().item<std::int64_t>() == 4);
  const Tensor before = other.read();
  f(scalar(2.));
  CHECK(before.item() == 7);  // a value that was read stays
  CHECK(other.read().item() == 15);
}

TEST_CASE("variables: arguments that are the same variable or others") {
  int traced = 0;
  const auto f = compile([&](const Tensor& a, const Tensor& b) {
    ++traced;
    return a * 10. + b;
  });
  Variable v(scalar(1.)), w(scalar(2.));
  CHECK(f(v, w).item() == 12);
  CHECK(f(v, v).item() == 11);
  v.assign(scalar(3.));
  CHECK(f(v, w).item() == 32);
  CHECK(traced == 1);  // f receives their values, tensors of their own
  GradientTape tape;
  const Tensor y = f(v, w);
  const auto g = tape.gradient(y, std::pair(v, w));
  CHECK((*g.first).item() == 10);
  CHECK((*g.second).item() == 1);
}

TEST_CASE("gradients: in a program, through it, through one in another, and of second order") {
  const auto inner = compile([](const Tensor& x) { return x * x * x; });
  const auto outer = compile([&](const Tensor& x) { return inner(x) * 2.; });
  const auto slope = compile([&](const Tensor& x) { return grad(outer)(x); });
  const Tensor x = scalar(3.);
  CHECK(grad(outer)(x).item() == 54);
  CHECK(slope(x).item() == 54);
  CHECK(grad(slope)(x).item() == 36);
  CHECK(grad([&](const Tensor& y) { return grad(slope)(y); })(x).item() == 12);
  Variable v(scalar(2.), "v");
  const auto trained = compile([&](const Tensor& a) {
    GradientTape tape;
    const Tensor y = a * v * v;
    const Tensor d = *tape.gradient(y, v);
    v.assign_sub(d * .125);
    return d;
  });
  CHECK(trained(x).item() == 12);
  CHECK(v.read().item() == .5);
  CHECK(trained(x).item() == 3);
}

TEST_CASE("errors: what f throws comes out, and the next call traces again") {
  int traced = 0;
  bool fails = true;
  Variable v(scalar(1.), "v");
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    v.assign(x);
    if (fails) throw std::runtime_error("not yet");
    return x * v;
  });
  CHECK_THROWS_WITH(f(scalar(2.)), "not yet");
  CHECK_THROWS_AS(f(scalar(2.)), std::runtime_error);
  CHECK(v.read().item() == 1);
  CHECK(f.stats().signatures == 0);
  fails = false;
  CHECK(f(scalar(2.)).item() == 4);
  CHECK(traced == 3);
  CHECK_THROWS_AS(compile([](const Tensor& a, const Tensor& b) { return matmul(a, b); })(support::ramp({2, 3}),
                                                                                         support::ramp({2, 3})),
                  ShapeError);
  CHECK_THROWS_AS(compile([](const Tensor&) { return Tensor(); })(support::ramp({3})), ValueError);
}

TEST_CASE("errors: memory that ends in a call leaves variables and generators as they were") {
  Variable a(support::ramp({300}), "a"), b(support::ramp({300}), "b");
  Generator g(5);
  const auto f = compile([&](const Tensor& x, Generator& h) {
    a.assign(a * x + random_uniform(h, {300}));
    b.assign(b + a);
    return std::pair(sum(matmul(reshape(a, {10, 30}), reshape(b, {30, 10}))), softmax(a));
  });
  const Tensor x = support::ramp({300}, .1);
  static_cast<void>(f(x, g));
  const Tensor old_a = a.read(), old_b = b.read();
  const std::uint64_t position = g.position();
  int failed = 0;
  for (std::int64_t n = 0;; ++n) {
    detail::fail_allocation_after(n);
    try {
      static_cast<void>(f(x, g));
      detail::fail_allocation_after(-1);
      break;
    } catch (const std::bad_alloc&) {
      detail::fail_allocation_after(-1);
      ++failed;
      CHECK(same_bits(a.read(), old_a));
      CHECK(same_bits(b.read(), old_b));
      CHECK(g.position() == position);
    }
  }
  CHECK(failed > 5);
  CHECK_FALSE(same_bits(a.read(), old_a));
  CHECK(g.position() > position);
}

TEST_CASE("retracing: a call whose results could not be built leaves the program ready for the next call") {
  const detail::Programs programs{CompileOptions()};
  const Tensor x = scalar(2.);
  const detail::CallWords words{1};
  const detail::CallMakers make{
      [](const void*, bool) -> detail::FlatCall {
        return {[](std::span<const Tensor> in) { return std::vector{in[0] * in[0]}; }, std::make_shared<int>(), {}};
      },
      nullptr, nullptr};
  // A result that holds no program has the one that is ready. It is dropped here without a commit.
  const auto is_ready = [&] { return !programs.call({{&x, 1}, words, {}, {}, {}}, make).program; };
  CHECK_FALSE(is_ready());
  CHECK_FALSE(is_ready());
  CHECK(is_ready());
  CHECK(is_ready());
}

TEST_CASE("retracing: repeated calls of tensors alone see other signatures, tapes, traces, overrides and failures") {
  const auto plain = [](const Tensor& x, const std::pair<Tensor, Tensor>& y) {
    return std::tuple(cholesky(x), std::array{y.first * y.second, y.first}, scalar(3.));
  };
  const auto f = compile(plain);
  const auto agrees = [&](const Tensor& x, const Tensor& a, const Tensor& b) {
    for (int k = 0; k < 3; ++k) {
      const auto got = f(x, std::pair(a, b)), expected = plain(x, std::pair(a, b));
      std::vector<Tensor> other;
      for_each_leaf(expected, [&](const Tensor& leaf) { other.push_back(leaf); });
      std::size_t n = 0;
      for_each_leaf(got, [&](const Tensor& leaf) { CHECK(same_bits(leaf, other[n++])); });
    }
  };
  const Tensor x = eye(3) * 4., a = support::ramp({4}), b = support::ramp({4}, .3);
  agrees(x, a, b);
  agrees(x, b, b);
  agrees(x, flip(a), b);
  agrees(x, cast(a, DType::float32), cast(b, DType::float32));
  agrees(x, support::ramp({2, 2}), support::ramp({2, 2}));
  agrees(x, a, b);
  CHECK_THROWS_AS(f(-x, std::pair(a, b)), Error);
  CHECK_THROWS_AS(f(x, std::pair(a, Tensor())), ValueError);
  agrees(x, a, b);
  {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = std::get<1>(f(x, std::pair(a, b)))[0];
    CHECK(same_bits(*tape.gradient(y, a), b));
  }
  const auto around = compile([&](const Tensor& t) { return std::get<1>(f(x, std::pair(t, t)))[0]; });
  for (int k = 0; k < 3; ++k) CHECK(same_bits(around(a), a * a));
  agrees(x, a, b);
  const auto in_place = compile([](const Tensor& t) { return t; });
  for (int k = 0; k < 3; ++k) CHECK(in_place(a).id() == a.id());
  std::vector<Tensor> kept;
  for (int k = 0; k < 4; ++k) kept.push_back(std::get<2>(f(x, std::pair(a, b))));
  CHECK(kept[2].id() != kept[3].id());  // a constant: each result is a tensor of its own
}
