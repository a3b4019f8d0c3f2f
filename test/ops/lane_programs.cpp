// elementwise around its program: shapes, layouts, dtypes, numbers, several results, what a tape keeps, what does not
// compile, and errors.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/runtime.hpp>
#include <thread>

#include "../support/derivatives.hpp"
#include "catch.hpp"
#include "support/calls.hpp"

using namespace reel;
using Catch::Contains;
using support::Difference, support::difference, support::Function, support::Layout, support::pull, support::push,
    support::Tensors;

namespace {

constexpr auto mix = [](auto x, auto y, auto z) { return where(x > y, tanh(x * y) + z, z * square(y) - x); };

Tensors fused(const Tensors& x) { return {elementwise(mix, x[0], x[1], x[2])}; }
Tensors plain(const Tensors& x) { return {mix(x[0], x[1], x[2])}; }

void check_same(const Tensors& x, const std::string& what) {
  INFO(what);
  const Tensors y = plain(x), z = fused(x);
  REQUIRE(z[0].shape() == y[0].shape());
  CHECK(difference(z, y).error == 0);
  support::Random random(what);
  const Tensors v = random.like(y), t = random.like(x);
  const Tensors g = pull(fused, x, v), expected = pull(plain, x, v);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(g[i].shape() == x[i].shape());
  CHECK(difference(g, expected).error <= 1e-13 * (1 + difference(g, expected).size));
  CHECK(difference(push(fused, x, t), push(plain, x, t)).error <= 1e-13);
}

Tensors jacobians(const Function& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x);
  Tensors all;
  for (const Gradient& j : tape.jacobian(f(x)[0], x)) all.push_back(j.dense());
  return all;
}

double gradient_at(const Tensor& x, Tensor (*f)(const Tensor&)) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x).dense().item();
}

}  // namespace

TEST_CASE("arguments of elementwise broadcast and have any layout") {
  support::Random random("layouts");
  const std::vector<std::vector<Shape>> patterns = {{{}, {}, {}},
                                                    {{1}, {1}, {1}},
                                                    {{0}, {1}, {}},
                                                    {{2, 0, 3}, {3}, {}},
                                                    {{700}, {700}, {700}},
                                                    {{3, 4}, {4}, {3, 1}},
                                                    {{2, 3, 4}, {3, 1}, {}},
                                                    {{5, 1, 3}, {1, 4, 1}, {5, 4, 3}},
                                                    {{300, 3}, {3}, {300, 1}},
                                                    {{3, 1000}, {1000}, {3, 1}},
                                                    {{33, 65}, {33, 65}, {65}}};
  for (const auto& shapes : patterns) {
    Tensors x;
    for (const Shape& s : shapes) x.push_back(random.tensor(s));
    const std::string what = to_string(shapes[0]) + to_string(shapes[1]) + to_string(shapes[2]);
    for (Layout layout : support::layouts) {
      Tensors views;
      for (const Tensor& one : x) views.push_back(laid_out(one, layout));
      check_same(views, what + " " + support::name(layout));
      check_same({views[0], x[1], x[2]}, what + " first " + support::name(layout));
    }
  }
  check_same({random.tensor({70, 90}), transpose(random.tensor({90, 70})), random.tensor({70, 1})},
             "large, transposed");
}

TEST_CASE("results of elementwise have the same bits for every number of threads and length") {
  const int before = num_threads();
  support::Random random("threads");
  const std::int64_t n = 100003;
  const Tensor x = random.tensor({n}), y = random.tensor({n}), z = random.tensor({1});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Tensors all = fused({x, y, z});
    const Tensors g = pull(fused, {x, y, z}, {y});
    all.insert(all.end(), g.begin(), g.end());
    return all;
  };
  const Tensors one = run(1), seven = run(7);
  set_num_threads(before);
  CHECK(difference(one, seven).error == 0);
  const Tensors part = {slice(x, {reel::range(17, 5001)}), slice(y, {reel::range(17, 5001)}), z};
  CHECK(difference(fused(part), {slice(one[0], {reel::range(17, 5001)})}).error == 0);
}

TEST_CASE("the gradient of a broadcast scalar is summed in the same pass") {
  support::Random random("shared");
  const std::int64_t n = 200001;
  const Tensor x = random.tensor({3, n}), g = random.tensor({3, n});
  const Variable slope(full({1, 1}, 2.0)), offset(scalar(0.5));
  GradientTape tape({.persistent = true});
  const Tensor y = elementwise([](Lane u, Lane a, Lane b) { return a * u + square(b); }, x, slope, offset);
  const auto d = tape.gradient({y}, {slope, offset}, {.output_gradients = {g}});
  CHECK(d[0].dense().shape() == Shape{1, 1});
  CHECK(d[0].dense().item() == Approx(sum(g * x).item()).epsilon(1e-12));
  CHECK(d[1].dense().item() == Approx(sum(g).item()).epsilon(1e-12));
  // Recorded by an outer tape it is summed by an op of its own: the second derivative by the offset is 2 sum(g).
  GradientTape outer;
  const Tensor b = scalar(0.5);
  outer.watch(b);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(b);
    first = inner.gradient(elementwise([](Lane u, Lane v) { return u * square(v); }, x, b), b).dense();
  }
  CHECK(outer.gradient(first, b).dense().item() == Approx(2 * sum(x).item()).epsilon(1e-12));
}

TEST_CASE("dtypes of elementwise are those of the pointwise ops, in floating point") {
  const Tensor narrow = tensor<float>({1, 2}), wide = tensor({3., 4.}), whole = tensor<std::int32_t>({5, 6});
  const auto sum = [](auto x, auto y) { return x + 0.5 * y; };
  CHECK(elementwise(sum, narrow, narrow).dtype() == DType::float32);
  CHECK(elementwise(sum, narrow, 2).dtype() == DType::float32);
  CHECK(elementwise(sum, narrow, wide).dtype() == DType::float64);
  CHECK(elementwise(sum, narrow, wide).to_vector() == std::vector<double>{2.5, 4});
  CHECK(elementwise(sum, whole, whole).to_vector() == std::vector<double>{7.5, 9});
  CHECK(elementwise(sum, whole, 2).dtype() == DType::float64);
  CHECK(elementwise(sum, 1, 2.0).item() == 2.0);
  const Tensor half = cast(wide, DType::float16), complex = cast(wide, DType::complex128);
  CHECK_THROWS_WITH(elementwise(sum, half, half), Contains("float16") && Contains("cast"));
  CHECK_THROWS_AS(elementwise(sum, half, half), TypeError);
  CHECK_THROWS_AS(elementwise(sum, complex, complex), TypeError);
  GradientTape tape;
  tape.watch(narrow);
  const Gradient g = tape.gradient(elementwise(sum, wide, narrow), narrow);
  CHECK(g.dense().dtype() == DType::float32);
  CHECK(g.dense().to_vector<float>() == std::vector<float>{0.5f, 0.5f});
}

TEST_CASE("variables and numbers are arguments of elementwise") {
  const Variable w(tensor({2., 3.}));
  GradientTape tape;
  const Tensor y = elementwise([](Lane x, Lane a, Lane b) { return a * x * x + b; }, w, 4, 0.5);
  CHECK(y.to_vector() == std::vector<double>{16.5, 36.5});
  CHECK(tape.gradient(y, w).dense().to_vector() == std::vector<double>{16, 24});
}

TEST_CASE("several results of elementwise are computed in one pass and differentiated in one") {
  const Tensor x = tensor({0.5, 1.5}), y = tensor({2., 3.});
  GradientTape tape({.persistent = true});
  tape.watch(Tensors{x, y});
  const auto [s, p, a] = elementwise([](Lane u, Lane v) { return std::tuple(u + v, u * v, u); }, x, y);
  static_assert(
      std::is_same_v<decltype(elementwise([](Lane u) { return std::tuple(u, u); }, x)), std::tuple<Tensor, Tensor>>);
  static_assert(std::is_same_v<decltype(elementwise(
                                   [](Lane u) {
                                     return std::array{u, u, u};
                                   },
                                   x)),
                               std::array<Tensor, 3>>);
  CHECK(tape.stats().entries == 1);
  CHECK(s.to_vector() == std::vector<double>{2.5, 4.5});
  CHECK(p.to_vector() == std::vector<double>{1, 4.5});
  CHECK(a.to_vector() == x.to_vector());
  CHECK(a.id() != x.id());
  const auto both = tape.gradient({s, p}, {x, y});
  CHECK(both[0].dense().to_vector() == std::vector<double>{3, 4});
  CHECK(both[1].dense().to_vector() == std::vector<double>{1.5, 2.5});
  CHECK(tape.gradient(p, x).dense().to_vector() == y.to_vector());
  CHECK(tape.gradient(a, x).dense().to_vector() == std::vector<double>{1, 1});
  CHECK_FALSE(tape.gradient(a, y));
}

TEST_CASE("elementwise: results that are an argument, a number, or independent of the arguments") {
  const Tensor x = tensor({0.5, 1.5}), y = tensor({2.});
  GradientTape tape({.persistent = true});
  tape.watch(Tensors{x, y});
  const auto [copy, constant, flat, twice, again] = elementwise(
      [](Lane u, Lane v) {
        const Lane number = 0 * u + 7, two = u * 2;
        return std::tuple(v, number, floor(u), two, two);
      },
      x, y);
  CHECK(copy.to_vector() == std::vector<double>{2, 2});
  CHECK(constant.to_vector() == std::vector<double>{7, 7});
  CHECK(twice.to_vector() == again.to_vector());
  CHECK(tape.gradient(copy, y).dense().to_vector() == std::vector<double>{2});
  CHECK(tape.gradient({twice, again}, x).dense().to_vector() == std::vector<double>{4, 4});
  const Gradient zero = tape.gradient(flat, x);  // connected, as for the op
  REQUIRE(zero);
  CHECK(zero.dense().to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("elementwise: tangents of results that are an argument, and of broadcast arguments") {
  const Tensor x = tensor({0.5, 1.5}), y = tensor({2.}), tx = tensor({3., 5.}), ty = tensor({7.});
  const auto f = [](Lane u, Lane v) { return std::tuple(v, u + v, floor(u), floor(v) * u, u * v); };
  const auto tangents = [&](const ForwardAccumulator& accumulator) {
    std::vector<std::vector<double>> all;
    std::apply(
        [&](const auto&... z) {
          (all.push_back(accumulator.jvp(z) ? accumulator.jvp(z).dense().to_vector() : std::vector<double>()), ...);
        },
        elementwise(f, x, y));
    return all;
  };
  using Rows = std::vector<std::vector<double>>;
  CHECK(tangents(ForwardAccumulator(y, ty)) == Rows{{7, 7}, {7, 7}, {}, {0, 0}, {3.5, 10.5}});
  CHECK(tangents(ForwardAccumulator(x, tx)) == Rows{{}, {3, 5}, {0, 0}, {6, 10}, {6, 10}});
  CHECK(tangents(ForwardAccumulator(std::vector<Tensor>{x, y}, std::vector<Tensor>{tx, ty})) ==
        Rows{{7, 7}, {10, 12}, {0, 0}, {6, 10}, {9.5, 20.5}});
}

// Later ops are replayed first, so their cotangent is the sum that the program adds to.
TEST_CASE("cotangents of elementwise are added to those of later uses, also batched") {
  support::Random random("added");
  for (const Shape& shape : {Shape{7}, Shape{3, 4}, Shape{1}, Shape{}, Shape{70, 700}}) {
    INFO(to_string(shape));
    const Tensors x = {random.tensor(shape), random.tensor(shape), random.tensor(shape)};
    const auto and_later = [](const Function& f) {
      return Function([f](const Tensors& p) {
        const Tensor z = f(p)[0], later = p[0] * 2 + p[1] * 3 + p[2] * 4;
        return Tensors{stack({sum(z), sum(z * z), sum(later), sum(z * later)})};
      });
    };
    const Difference rows = difference(jacobians(and_later(fused), x), jacobians(and_later(plain), x));
    CHECK(rows.error <= 1e-13 * (1 + rows.size));
    const Tensors v = random.like(and_later(plain)(x));
    const Difference d = difference(pull(and_later(fused), x, v), pull(and_later(plain), x, v));
    CHECK(d.error <= 1e-13 * (1 + d.size));
  }
}

TEST_CASE("a function passed to elementwise runs once per call and reads captured numbers anew") {
  double rate = 2;
  int calls = 0;
  const Tensor x = tensor({1., 2.});
  const auto scaled = [&](Lane u) {
    ++calls;
    return where(u > rate, u, rate * u);
  };
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor first = elementwise(scaled, x);
  rate = 10;
  const Tensor second = elementwise(scaled, x);
  CHECK(calls == 2);
  CHECK(first.to_vector() == std::vector<double>{2, 4});
  CHECK(second.to_vector() == std::vector<double>{10, 20});
  CHECK(tape.gradient(first, x).dense().to_vector() == std::vector<double>{2, 2});
  CHECK(tape.gradient(second, x).dense().to_vector() == std::vector<double>{10, 10});
  for (int length : {1, 2, 5}) {  // the program itself may depend on a capture
    const Tensor y = elementwise(
        [&](Lane u) {
          Lane product = u;
          for (int i = 1; i < length; ++i) product *= u;
          return product;
        },
        x);
    CHECK(y.to_vector() == std::vector<double>{1, std::pow(2, length)});
    CHECK(tape.gradient(y, x).dense().to_vector() ==
          std::vector<double>{double(length), length * std::pow(2, length - 1)});
  }
}

TEST_CASE("elementwise: NaN and infinities among the constants of a program") {
  const Tensor x = tensor({1., -1.});
  CHECK(elementwise([](Lane u) { return where(u > 0, INFINITY, u * 0.5); }, x).to_vector() ==
        std::vector<double>{INFINITY, -0.5});
  const std::vector<double> nan = elementwise([](Lane u) { return where(isnan(u * NAN), u, 0); }, x).to_vector();
  CHECK(nan == std::vector<double>{1, -1});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = elementwise([](Lane u) { return where(u > 0, u, NAN) * u; }, x);
  const std::vector<double> g = tape.gradient(y, x).dense().to_vector();
  CHECK(g[0] == 2);
  CHECK(std::isnan(g[1]));
}

TEST_CASE("fma rounds once as an op, in elementwise and in programs, and so do its derivatives") {
  const auto f = [](const auto& x, const auto& y, const auto& z) { return fma(x, y, z) * 4; };
  const auto check = [&](DType dtype, double e, std::int64_t n) {
    // (1 + e) (1 - e) - 1 = -e^2, of which a rounded product leaves nothing.
    const Tensor x = full({n}, 1 + e, dtype), y = full({n}, 1 - e, dtype), z = full({n}, -1, dtype);
    const Tensor expected = full({n}, -4 * e * e, dtype);
    CHECK(array_equal(f(x, y, z), expected));
    CHECK(array_equal(elementwise(f, x, y, z), expected));
    const auto compiled =
        compile([&](const Tensor& a, const Tensor& b, const Tensor& c) { return std::pair(f(a, b, c), tanh(c)); });
    // The derivative by a: 2 (a b + c) b.
    const auto squared = compile([](const Tensor& a, const Tensor& b, const Tensor& c) {
      return grad([&](const Tensor& u) { return sum(square(fma(u, b, c))); })(a);
    });
    for (int run = 0; run < 2; ++run) {
      CHECK(array_equal(compiled(x, y, z).first, expected));
      CHECK(array_equal(squared(x, y, z), (-2 * e * e) * y));
    }
  };
  for (const std::int64_t n : {1, 37, 1000}) {
    check(DType::float64, 0x1p-30, n);
    check(DType::float32, 0x1p-13, n);
  }
}

TEST_CASE("nan_to_num replaces infinities by the largest numbers of the dtype") {
  const auto check = [](DType dtype, double largest) {
    const Tensor x = cast(tensor({INFINITY, -INFINITY, NAN, 1.5}), dtype);
    const std::vector<double> expected = {largest, -largest, 0.25, 1.5};
    CHECK(cast(nan_to_num(x, 0.25), DType::float64).to_vector() == expected);
    const auto compiled = compile([](const Tensor& v) { return nan_to_num(v, 0.25); });
    for (int run = 0; run < 2; ++run) CHECK(cast(compiled(x), DType::float64).to_vector() == expected);
    const Tensor limits = nan_to_num(x);  // finite in the dtype itself
    CHECK(all(isfinite(limits)).item<bool>());
    CHECK_FALSE(any(isfinite(limits * cast(tensor({2, 2, INFINITY, INFINITY}), dtype))).item<bool>());
    CHECK(array_equal(grad([](const Tensor& v) { return sum(nan_to_num(v)); })(x), cast(tensor({0, 0, 0, 1}), dtype)));
  };
  check(DType::float64, std::numeric_limits<double>::max());
  check(DType::float32, std::numeric_limits<float>::max());
  check(DType::float16, 65504);
  check(DType::bfloat16, 0x1.fep127);
}

TEST_CASE("a tape keeps only the arguments of elementwise that the gradient reads") {
  support::Random random("memory");
  const Tensor x = random.tensor({1000}), y = random.tensor({1000}), z = random.tensor({1000});
  {
    GradientTape tape;
    tape.watch(Tensors{x, y, z});
    const Tensor r = elementwise([](auto a, auto b, auto c) { return tanh(exp(a) * b) + sin(a * b) - c; }, x, y, z);
    CHECK(tape.stats().entries == 1);
    CHECK(tape.stats().saved_tensors == 2);
    CHECK(tape.stats().saved_bytes == 2 * 8000);
  }
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor r = elementwise([](auto a, auto b) { return a * tanh(b); }, x, y);
    CHECK(tape.stats().saved_bytes == 8000);  // y
  }
  {
    GradientTape tape;
    tape.watch(Tensors{x, y});
    const Tensor r = elementwise([](auto a, auto b) { return 3 * a - b / 7; }, x, y);
    CHECK(tape.stats().saved_tensors == 0);
  }
  {
    GradientTape tape;
    const Tensor r = elementwise([](auto a) { return exp(a); }, x);
    CHECK(tape.stats().entries == 0);
  }
}

TEST_CASE("a recorded gradient of elementwise is one entry that keeps its arguments") {
  support::Random random("second order");
  const Tensor x = random.tensor({100}), y = random.tensor({100});
  GradientTape outer;
  outer.watch(Tensors{x, y});
  GradientTape inner;
  inner.watch(Tensors{x, y});
  const Tensor z = elementwise([](auto a, auto b) { return tanh(a * b) + a; }, x, y);
  const std::int64_t before = outer.stats().entries;
  const auto g = inner.gradient(z, {x, y}, {.output_gradients = {y}});
  CHECK(outer.stats().entries == before + 2);  // the cotangent's identity, the program
  CHECK(g[1].dense().shape() == y.shape());
}

TEST_CASE("Jacobians and forward accumulators pass through elementwise") {
  support::Random random("jacobian");
  const Tensors x = {random.tensor({3, 1}), random.tensor({4}), random.tensor({})};
  const Tensors expected = jacobians(plain, x), got = jacobians(fused, x);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(got[i].shape() == expected[i].shape());
  CHECK(difference(got, expected).error <= 1e-15);

  const Tensors t = random.like(x);
  const auto tangent = [&](const Function& f) {
    const ForwardAccumulator accumulator(x, t);
    return accumulator.jvp(f(x)[0]).dense();
  };
  CHECK(difference({tangent(fused)}, {tangent(plain)}).error <= 1e-15);

  // A connected zero has the right shape, also batched.
  GradientTape tape;
  tape.watch(x[1]);
  const Tensor steps = elementwise([](Lane a) { return floor(a) + 0.5; }, x[1]);
  CHECK(tape.jacobian(steps, x[1]).dense().to_vector() == std::vector<double>(16, 0.0));
}

TEST_CASE("elementwise takes any number of arguments, and programs of any length") {
  support::Random random("many");
  Tensors x;
  for (int i = 0; i < 12; ++i) x.push_back(random.tensor({5, i % 2 ? 7 : 1}));
  const auto f = [](auto... lanes) { return (tanh(lanes) + ...) * (sin(lanes) + ...); };
  const Function many = [&](const Tensors& t) {
    return Tensors{elementwise(f, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11])};
  };
  const Function expected = [&](const Tensors& t) {
    return Tensors{f(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9], t[10], t[11])};
  };
  const Tensors v = {random.tensor({5, 7})};
  CHECK(difference(many(x), expected(x)).error <= 1e-14);
  CHECK(difference(pull(many, x, v), pull(expected, x, v)).error <= 1e-13);

  // The gradient of 800 steps keeps 800 values at once: more than fit the stack.
  const auto iterate = [](auto c) {
    auto z = c;
    for (int i = 0; i < 800; ++i) z = sin(z) + c;
    return z;
  };
  for (std::int64_t n : {3, 40000}) {
    const Tensor c = random.tensor({n});
    const Function lanes = [&](const Tensors& t) { return Tensors{elementwise(iterate, t[0])}; };
    const Function tensors = [&](const Tensors& t) { return Tensors{iterate(t[0])}; };
    CHECK(difference(pull(lanes, {c}, {ones({n})}), pull(tensors, {c}, {ones({n})})).error == 0);
  }
}

TEST_CASE("lanes do not convert to bool and do not mix with tensors") {
  // Templates, so that invalid code can be tested by requires.
  constexpr auto branches = []<class T>(T) {
    return requires(const T& x) { x ? 1 : 2; };
  };
  constexpr auto has_plus = []<class X, class Y>(X, Y) {
    return requires(const X& x, const Y& y) { x + y; };
  };
  constexpr auto compares = []<class X, class Y>(X, Y) {
    return requires(const X& x, const Y& y) { x > y; };
  };
  constexpr auto has_equal = []<class X, class Y>(X, Y) {
    return requires(const X& x, const Y& y) { x == y; };
  };
  constexpr auto has_maximum = []<class X, class Y>(X, Y) {
    return requires(const X& x, const Y& y) { maximum(x, y); };
  };
  CHECK_FALSE(branches(Lane()));
  CHECK_FALSE(branches(LaneMask()));
  CHECK(branches(1.0));
  CHECK(has_plus(Lane(), 1));
  CHECK(has_plus(2.0, Lane()));
  CHECK_FALSE(has_plus(Lane(), Tensor()));
  CHECK_FALSE(has_plus(Tensor(), Lane()));
  CHECK_FALSE(has_plus(Lane(), LaneMask()));
  CHECK_FALSE(compares(Lane(), Tensor()));
  CHECK_FALSE(has_equal(Lane(), Lane()));
  CHECK_FALSE(has_maximum(Lane(), Tensor()));
  CHECK(has_maximum(Lane(), 0));
  CHECK(has_maximum(1.0, 0));  // of tensors, as without the header
}

TEST_CASE("errors of elementwise name the remedy") {
  const Tensor x = tensor({1., 2.}), y = tensor({1., 2., 3.});
  const auto sum = [](Lane a, Lane b) { return a + b; };
  CHECK_THROWS_AS(elementwise(sum, x, y), ShapeError);
  CHECK_THROWS_WITH(elementwise(sum, x, y), Contains("elementwise") && Contains("[2]") && Contains("[3]"));
  CHECK_THROWS_AS(elementwise(sum, x, Tensor()), ValueError);
  CHECK_THROWS_AS(elementwise([](Lane a) { return elu(a, -1); }, x), ValueError);

  Lane kept;
  CHECK_THROWS_AS(kept + 1, ValueError);
  elementwise([&](Lane a) { return kept = a; }, x);
  CHECK_THROWS_WITH(kept * 2, Contains("Lane"));
  CHECK_THROWS_AS(elementwise([&](Lane a) { return a * kept; }, x), ValueError);
  CHECK_THROWS_AS(elementwise([&](Lane) { return kept; }, x), ValueError);
  CHECK_THROWS_AS(elementwise([](Lane a) { return where(LaneMask(), a, 0); }, x), ValueError);
  CHECK_THROWS_AS(elementwise([&](Lane a) { return elementwise([&](Lane b) { return a + b; }, y), a; }, x), ValueError);
  bool refused = false;
  elementwise(
      [&](Lane a) {
        std::thread([&] {
          try {
            static_cast<void>(a + 1);
          } catch (const ValueError&) {
            refused = true;
          }
        }).join();
        return a;
      },
      x);
  CHECK(refused);
}

TEST_CASE("elementwise: an exception of the function leaves no state behind; calls nest") {
  const Tensor x = tensor({1., 2.});
  GradientTape tape;
  tape.watch(x);
  const auto fails = [](Lane a) -> Lane {
    static_cast<void>(a * 2);
    throw std::runtime_error("no");
  };
  CHECK_THROWS_WITH(elementwise(fails, x), "no");
  CHECK(tape.stats().entries == 0);
  const Tensor y = elementwise(
      [&](Lane a) {
        const double scale = elementwise([](Lane b) { return b + 1; }, 4).item();
        CHECK_THROWS(elementwise(fails, x));
        return scale * a;
      },
      x);
  CHECK(y.to_vector() == std::vector<double>{5, 10});
  CHECK(tape.gradient(y, x).dense().to_vector() == std::vector<double>{5, 5});
}

TEST_CASE("a program that a tape holds outlives the cache and the call") {
  const Tensor x = scalar(0.5);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = elementwise([](Lane a) { return a * a * a; }, x);
  for (int length = 0; length < 1100; ++length)
    elementwise(
        [&](Lane a) {
          for (int i = 0; i < length; ++i) a += 1;
          return a;
        },
        1.0);
  CHECK(tape.gradient(y, x).dense().item() == 0.75);
  CHECK(gradient_at(x, [](const Tensor& t) { return elementwise([](Lane a) { return a * a * a; }, t); }) == 0.75);
}

TEST_CASE("a function passed to elementwise may compute something else at each call") {
  const Tensor x = full({3}, 0.5);
  // Calls with a common prefix, then more or fewer functions, other numbers or other results.
  const auto value = [&](int length, bool squares, bool swaps, double number) {
    const auto [y, z] = elementwise(
        [&](Lane a) {
          Lane sum = a * number, part = a;
          for (int i = 0; i < length; ++i) part = squares && i == 1 ? square(part) : part + sum;
          return swaps ? std::tuple(sum, part) : std::tuple(part, sum);
        },
        x);
    return std::pair(y.to_vector<double>()[2], z.to_vector<double>()[2]);
  };
  for (int round = 0; round < 3; ++round) {
    for (int repeated = 0; repeated < 2; ++repeated) CHECK(value(2, false, false, 2) == std::pair(2.5, 1.0));
    CHECK(value(2, false, true, 2) == std::pair(1.0, 2.5));
    CHECK(value(2, true, false, 2) == std::pair(2.25, 1.0));
    CHECK(value(3, true, false, 2) == std::pair(3.25, 1.0));
    CHECK(value(1, true, false, 4) == std::pair(2.5, 2.0));
    CHECK(value(0, true, false, 4) == std::pair(0.5, 2.0));
  }
  // A nested call of the same function takes the other branch than the outer call.
  struct Nested {
    static double sum(const Tensor& t, int depth) {
      return elementwise(
                 [&](Lane a) {
                   const Lane doubled = a * 2;
                   const double inner = depth > 0 ? sum(t, depth - 1) : 0;
                   return depth % 2 ? doubled + inner : doubled - inner;
                 },
                 t)
          .item();
    }
  };
  const Tensor one = ones({});
  for (int round = 0; round < 3; ++round) {
    CHECK(Nested::sum(one, 0) == 2);
    CHECK(Nested::sum(one, 1) == 4);
    CHECK(Nested::sum(one, 2) == -2);
    CHECK(Nested::sum(one, 3) == 0);
  }
}

TEST_CASE("elementwise gives the reasons for missing gradients that other ops give") {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor cut = stop_gradient(x), y = elementwise([](auto v) { return tanh(v); }, cut);
  const Gradient g = tape.gradient(y, x);
  CHECK_FALSE(g);
  CHECK_THAT(g.why_none(), Contains("stop_gradient"));
}

TEST_CASE("elementwise: a listener is told of a call that no tape records") {
  std::vector<support::Recorded> calls;
  const auto f = elementwise([](auto x, auto y) { return x * y + 1; });
  const Tensor x = ones({3});
  {
    const support::Listening listening(calls);
    static_cast<void>(f(x, 2.));
  }
  static_cast<void>(f(x, 2.));
  REQUIRE(calls.size() == 1);
  CHECK(std::string(calls[0].primitive->rule.name) == "elementwise");
}
