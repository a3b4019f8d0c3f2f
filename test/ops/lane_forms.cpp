// The forms of elementwise: function objects, which trace once; rows of tensors as arguments; views that are read in
// place.
#include <cmath>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/runtime.hpp>
#include <thread>

#include "../loops/layouts.hpp"
#include "../support/derivatives.hpp"
#include "catch.hpp"

using namespace reel;
using Catch::Contains;
using support::difference, support::Function, support::pull, support::push, support::Tensors;

namespace {

// A function of five points of a grid, the first of which is the middle.
constexpr auto stencil = [](auto c, auto u, auto d, auto l, auto r) {
  return where(c > u, u + d + l + r - 4 * c, c * u - r);
};

// The inside of a grid, and its neighbours.
Tensors shifted(const Tensor& x) {
  const std::int64_t rows = x.shape()[0] - 1, columns = x.shape()[1] - 1;
  const auto part = [&](std::int64_t i, std::int64_t j) {
    return slice(x, {reel::range(1 + i, rows + i), reel::range(1 + j, columns + j)});
  };
  return {part(0, 0), part(-1, 0), part(1, 0), part(0, -1), part(0, 1)};
}

Tensor apply_to(const Tensors& x) { return elementwise(stencil, x[0], x[1], x[2], x[3], x[4]); }

}  // namespace

TEST_CASE("elementwise reads views in place, with the bits of contiguous operands") {
  const int before = num_threads();
  std::uint64_t seed = 3;
  for (const Shape& shape : {Shape{9, 20}, Shape{5, 63}, Shape{40, 64}, Shape{7, 130}, Shape{30, 700}, Shape{4, 3, 90},
                             Shape{3, 5000}, Shape{2, 3, 2, 200}, Shape{300, 301}})
    for (int trial = 0; trial < 8; ++trial) {
      Tensors views, copies;
      for (int k = 0; k < 5; ++k) {
        Shape own = shape;
        if (k == trial % 5) own[static_cast<int>(layouts::next(seed) % own.size())] = 1;
        if (k == 4 && trial % 3 == 0) own = {shape.back()};
        views.push_back(layouts::view(own, layouts::next(seed), k == 2 ? layouts::next(seed) : 0));
        copies.push_back(contiguous(views.back()));
      }
      // Gaps after rows only, as in slices.
      for (int k = 0; k < 2; ++k) {
        Shape wide = shape;
        wide[wide.rank() - 1] += 3;
        const Tensor base = from_data(layouts::numbers(wide.elements(), ++seed), wide);
        views[static_cast<std::size_t>(k)] = slice(base, {ellipsis, reel::range(k, shape.back() + k)});
        copies[static_cast<std::size_t>(k)] = contiguous(views[static_cast<std::size_t>(k)]);
      }
      INFO(to_string(shape) << " " << trial);
      for (const int threads : {1, 3}) {
        set_num_threads(threads);
        CHECK(difference({apply_to(views)}, {apply_to(copies)}).error == 0);
      }
    }
  set_num_threads(before);
}

// A comparison reads elements. The second operand repeats with a shorter period than the rows of the first.
TEST_CASE("an operand that repeats within a few rows is packed beside views that are read in place") {
  const Tensor x = slice(from_data(layouts::numbers(8 * 2 * 43, 1), {8, 2, 43}), {ellipsis, reel::range(1, 41)});
  const Tensor y = from_data(layouts::numbers(2, 2), {2, 1});
  const auto f = [](auto a, auto b) { return where(a > b, a, b * a); };
  CHECK(array_equal(elementwise(f, x, y), elementwise(f, contiguous(x), contiguous(broadcast_to(y, {8, 2, 40})))));
}

TEST_CASE("a stencil of shifted slices has the derivatives of its ops") {
  support::Random random("stencil");
  for (const Shape& shape : {Shape{5, 6}, Shape{40, 67}, Shape{12, 300}}) {
    const Tensor x = random.tensor(shape);
    const Function lanes = [](const Tensors& t) { return Tensors{apply_to(shifted(t[0]))}; };
    const Function ops = [](const Tensors& t) {
      const Tensors s = shifted(t[0]);
      return Tensors{stencil(s[0], s[1], s[2], s[3], s[4])};
    };
    CHECK(difference(lanes({x}), ops({x})).error == 0);
    const Tensors v = random.like(lanes({x})), t = random.like({x});
    CHECK(difference(pull(lanes, {x}, v), pull(ops, {x}, v)).error <= 1e-13);
    CHECK(difference(push(lanes, {x}, t), push(ops, {x}, t)).error <= 1e-13);
    const auto twice = [&](const Function& f) {
      return grad([&](const Tensor& y) {
        return sum(square(grad([&](const Tensor& z) { return sum(f({z})[0] * v[0]); })(y)));
      })(x);
    };
    CHECK(difference({twice(lanes)}, {twice(ops)}).error <= 1e-12);
  }
}

TEST_CASE("a function object of elementwise calls its function once") {
  int calls = 0;
  double rate = 2;
  const auto scaled = elementwise([&](const auto& x, const auto& y) {
    ++calls;
    return rate * x + y;
  });
  const Tensor x = tensor({1., 2.});
  CHECK(scaled(x, x).to_vector() == std::vector<double>{3, 6});
  rate = 10;  // fixed by then
  CHECK(scaled(x, x).to_vector() == std::vector<double>{3, 6});
  CHECK(scaled(cast(x, DType::float32), x[1]).to_vector() == std::vector<double>{4, 6});
  CHECK(scaled(tensor<float>({1}), tensor<float>({2})).dtype() == DType::float32);
  CHECK(scaled(zeros({0, 2}), x).shape() == Shape{0, 2});
  CHECK(calls == 1);
  rate = 5;
  CHECK(scaled(x, 0.5).to_vector() == std::vector<double>{5.5, 10.5});  // which arguments are numbers is another trace
  CHECK(scaled(x, 7).to_vector() == std::vector<double>{12, 17});
  CHECK(calls == 2);
  const auto copy = scaled;
  CHECK(copy(x, 1).to_vector() == std::vector<double>{6, 11});
  CHECK(calls == 2);
  CHECK(scaled(2, x).to_vector() == std::vector<double>{11, 12});
  CHECK(calls == 3);
  rate = 1;
  auto other = elementwise([&](const auto& a, const auto& b) { return a * b; });
  CHECK(other(x, x).to_vector() == std::vector<double>{1, 4});
}

TEST_CASE("a function object of elementwise has the bits and derivatives of a direct call") {
  support::Random random("objects");
  const auto f = [](const auto& a, const auto& b, const auto& c) {
    return std::tuple(where(a > 0.25, tanh(a * b) + 0.5 * c, 0.0 * a), a * c - 3, power(b, 2.0));
  };
  const auto object = elementwise(f);
  const Tensors x = {random.tensor({3, 4}), random.tensor({4}), random.tensor({3, 1})};
  const auto list = [](const std::tuple<Tensor, Tensor, Tensor>& t) {
    return Tensors{std::get<0>(t), std::get<1>(t), std::get<2>(t)};
  };
  const Function once = [&](const Tensors& t) { return list(object(t[0], t[1], t[2])); };
  const Function anew = [&](const Tensors& t) { return list(elementwise(f, t[0], t[1], t[2])); };
  const Tensors v = random.like(anew(x)), t = random.like(x);
  for (int call = 0; call < 3; ++call) {
    CHECK(difference(once(x), anew(x)).error == 0);
    CHECK(difference(pull(once, x, v), pull(anew, x, v)).error == 0);
    CHECK(difference(push(once, x, t), push(anew, x, t)).error == 0);
  }
  const auto energy = [&](const Function& g) {
    return [g](const Tensor& a) { return sum(square(g({a, a[0], ones({3, 1})})[0])); };
  };
  CHECK(difference({hessian(energy(once))(x[0])}, {hessian(energy(anew))(x[0])}).error == 0);
}

TEST_CASE("numbers among the arguments of a function object are read at each call") {
  const auto scaled = elementwise([](const auto& x, const auto& k) { return k * x * x; });
  const Tensor x = tensor({1., 3.});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor two = scaled(x, 2), five = scaled(x, 5);
  CHECK(two.to_vector() == std::vector<double>{2, 18});
  CHECK(five.to_vector() == std::vector<double>{5, 45});
  CHECK(tape.gradient(two, x).dense().to_vector() == std::vector<double>{4, 12});
  CHECK(tape.gradient(five, x).dense().to_vector() == std::vector<double>{10, 30});
}

TEST_CASE("function objects of elementwise take lanes, nest, and work in compiled functions") {
  const auto gaussian = elementwise([](const auto& x) { return exp(-0.5 * x * x); });
  const Tensor x = tensor({0., 1., 2.}), w = tensor({1., 2., 3.});
  const auto mixture = elementwise([&](const auto& a, const auto& b) { return b * gaussian(a) + gaussian(b); });
  const std::vector<double> y = mixture(x, w).to_vector();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double a = double(i), b = 1 + a;
    CHECK(y[i] == Approx(b * std::exp(-a * a / 2) + std::exp(-b * b / 2)).epsilon(1e-14));
  }
  const auto compiled = compile([&](const Tensor& a) { return sum(gaussian(a)); });
  CHECK(compiled(x).item() == sum(gaussian(x)).item());
  CHECK(array_equal(grad([&](const Tensor& a) { return compiled(a); })(x),
                    grad([&](const Tensor& a) { return sum(gaussian(a)); })(x)));
}

TEST_CASE("threads may share one function object of elementwise") {
  const auto f = elementwise([](const auto& x, const auto& k) { return k * sin(x); });
  const Tensor x = linspace(0., 1., 100);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (std::size_t i = 0; i < wrong.size(); ++i)
    threads.emplace_back([&, i] {
      for (int call = 0; call < 200; ++call) {
        const double k = static_cast<double>(i) + call;
        GradientTape tape;
        tape.watch(x);
        const Tensor y = call % 2 ? f(x, k) : f(x, scalar(k));
        wrong[i] += !array_equal(y, k * sin(x)) || !array_equal(*tape.gradient(y, x), k * cos(x));
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(8));
}

TEST_CASE("a row of tensors is one argument of elementwise") {
  support::Random random("rows");
  const auto polynomial = [](const auto& x, std::span<const Lane> coefficients) {
    Lane y = 0 * x;
    for (const Lane& c : coefficients) y = y * x + c;
    return y;
  };
  Tensors c;
  for (int i = 0; i < 20; ++i) c.push_back(random.tensor(i % 2 ? Shape{4} : Shape{3, 1}));
  const Tensor x = random.tensor({3, 4});
  const auto object = elementwise(polynomial);
  for (const std::size_t count : {0u, 1u, 3u, 20u}) {
    const std::span<const Tensor> some(c.data(), count);
    const auto ops = [&](const Tensors& t) {
      Tensor y = 0 * t[0];
      for (std::size_t i = 1; i < t.size(); ++i) y = y * t[0] + t[i];
      return Tensors{y};
    };
    Tensors all = {x};
    all.insert(all.end(), some.begin(), some.end());
    const Function anew = [&](const Tensors& t) {
      return Tensors{elementwise(polynomial, t[0], std::span(t).subspan(1))};
    };
    const Function once = [&](const Tensors& t) { return Tensors{object(t[0], std::span(t).subspan(1))}; };
    const Tensors v = {random.tensor({3, 4})};
    for (const Function& f : {anew, once}) {
      CHECK(difference(f(all), ops(all)).error == 0);
      CHECK(difference(pull(f, all, v), pull(ops, all, v)).error <= 1e-13);
    }
  }
  const std::array<Tensor, 2> two = {c[0], c[1]};
  const auto sums = elementwise(
      [](std::span<const Lane> a, auto b, std::span<const Lane> d) {
        return std::vector<Lane>{a[0] + b, a[1] * d[0]};
      },
      two, 2, Tensors{x});
  static_assert(std::is_same_v<decltype(sums), const std::vector<Tensor>>);
  REQUIRE(sums.size() == 2);
  CHECK(array_equal(sums[0], broadcast_to(c[0] + 2, {3, 4})));
  CHECK(array_equal(sums[1], c[1] * x));
  {
    GradientTape tape;
    tape.watch(x);
    CHECK(elementwise([](std::span<const Lane>) { return std::vector<Lane>(); }, Tensors{x}).empty());
    CHECK(tape.stats().entries == 0);
  }
  const auto first = [](std::span<const Lane> a) { return a[0]; };
  CHECK(elementwise(first, Tensors{tensor<float>({1}), tensor({2.})}).dtype() == DType::float64);
  CHECK_THROWS_AS(elementwise(first, Tensors{x, Tensor()}), ValueError);
  CHECK_THROWS_WITH(elementwise(first, Tensors{x, ones({7})}), Contains("[3, 4]") && Contains("[7]"));
}

TEST_CASE("an exception while a function object is traced leaves nothing behind") {
  bool fails = true;
  const auto f = elementwise([&](const auto& x) {
    if (fails) throw std::runtime_error("no");
    return x * 2;
  });
  const Tensor x = tensor({1., 2.});
  CHECK_THROWS_WITH(f(x), "no");
  fails = false;
  CHECK(f(x).to_vector() == std::vector<double>{2, 4});
  CHECK_THROWS_AS(f(Tensor()), ValueError);
  CHECK_THROWS_AS(f(cast(x, DType::float16)), TypeError);
  CHECK(f(x).to_vector() == std::vector<double>{2, 4});
  Lane kept;
  const auto leaks = elementwise([&](const auto& a) { return kept = a; });
  CHECK(array_equal(leaks(x), x));
  CHECK_THROWS_AS(kept + 1, ValueError);
}
