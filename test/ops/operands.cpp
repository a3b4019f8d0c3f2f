// Operands: a Gradient wherever a tensor is accepted (operands, parameters, targets, trees, optimisers); memory of
// rvalues.
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <type_traits>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Values = std::vector<double>;

enum class Chosen { tensor, gradient, variable };
Chosen chosen(const Tensor&) { return Chosen::tensor; }
Chosen chosen(const Gradient&) { return Chosen::gradient; }
Chosen by_value(Tensor) { return Chosen::tensor; }
Chosen by_value(Gradient) { return Chosen::gradient; }
Chosen with_variable(const Gradient&) { return Chosen::gradient; }
Chosen with_variable(const Variable&) { return Chosen::variable; }
double total(const Tensor& x) { return sum(x).item(); }

// float16 and bfloat16 do not promote to each other.
template <class A, class B>
concept Chooses = requires(bool c, A a, B b) {
  c ? a : b;
};
static_assert(!Chooses<Gradient&, Tensor&> && Chooses<Gradient&, Gradient&> && Chooses<Tensor, Tensor&>);
static_assert(std::is_convertible_v<Gradient, Tensor> && std::is_convertible_v<Tensor, Gradient>);
static_assert(!std::is_convertible_v<Gradient, bool> && std::is_constructible_v<bool, Gradient>);
static_assert(!std::is_convertible_v<Gradient, Variable>);

Tensor point() { return tensor({1, 2, 3}); }
// 2 x.
Gradient dense() {
  const Tensor x = point();
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(x * x), x);
}
// [1, 0, 2], as slices.
Gradient sparse() {
  const Tensor x = point();
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(gather(x, tensor<int>({2, 0, 2}))), x);
}

}  // namespace

TEST_CASE("a Gradient is accepted as an operand, dense or sparse") {
  for (const auto& [g, values] : {std::pair(dense(), Values{2, 4, 6}), std::pair(sparse(), Values{1, 0, 2})}) {
    CAPTURE(g);
    CHECK((point() - 0.5 * g).to_vector() == Values{1 - values[0] / 2, 2 - values[1] / 2, 3 - values[2] / 2});
    CHECK((g + g).to_vector() == Values{2 * values[0], 2 * values[1], 2 * values[2]});
    CHECK((-g).to_vector() == Values{-values[0], -values[1], -values[2]});
    CHECK(sum(g).item() == values[0] + values[1] + values[2]);
    CHECK(total(g) == values[0] + values[1] + values[2]);
    CHECK(matmul(g, g).item() == sum(square(g)).item());
    const Tensor t = g;
    CHECK(t.to_vector() == values);
    Tensor u;
    u = g;
    u += g;
    CHECK(u.to_vector() == (2.0 * t).to_vector());
    CHECK(concatenate({g, t}).size() == 6);
    CHECK(stack(std::vector<Tensor>{g, t}).shape() == Shape{2, 3});
    CHECK(elementwise([](auto a, auto b) { return a * b; }, g, t).to_vector() == square(t).to_vector());
    CHECK((g > 3.0).to_vector<bool>() == (t > 3.0).to_vector<bool>());
    CHECK(array_equal(g, t));
  }
}

TEST_CASE("a missing gradient as an operand is an error with its reason") {
  GradientTape tape;
  const Gradient missing = tape.gradient(sum(point()), tensor({1.0}));
  REQUIRE_FALSE(missing);
  CHECK_THROWS_AS(point() - missing, ValueError);
  CHECK_THROWS_WITH(point() - missing, Contains(missing.why_none()) && Contains("operands.cpp:"));
  CHECK_THROWS_WITH(total(missing), Contains(missing.why_none()));
  CHECK_THROWS_WITH(Tensor(missing), Contains(missing.why_none()));
  CHECK_THROWS_AS(-Gradient(), ValueError);
}

TEST_CASE("overload resolution with a Gradient") {
  Gradient g = dense();
  const Tensor t = g;
  CHECK(chosen(g) == Chosen::gradient);
  CHECK(chosen(t) == Chosen::tensor);
  CHECK(chosen(*g) == Chosen::tensor);
  CHECK(chosen(g + t) == Chosen::tensor);
  CHECK(by_value(g) == Chosen::gradient);
  CHECK(by_value(t) == Chosen::tensor);
  CHECK(with_variable(t) == Chosen::gradient);
  CHECK(with_variable(Variable(t)) == Chosen::variable);
  bool there = false;
  if (g) there = true;
  CHECK(there);
  CHECK((g && !Gradient()));
  CHECK_FALSE(!g);
}

TEST_CASE("a Gradient is accepted as target, source, parameter and leaf") {
  GradientTape tape({.persistent = true});
  const Tensor x = tensor({2});
  tape.watch(x);
  const Tensor y = x * x * x;
  const Gradient g = tape.gradient(y, x);
  CHECK(tape.gradient(tape.gradient(y, x), x).dense().item() == 12);
  CHECK(tape.gradient(2.0 * g, x).dense().item() == 24);
  CHECK(tape.gradient(g * g, g).dense().item() == 24);  // by the tensor that the gradient is
  CHECK(tape.gradient({g, Target(y)}, x).dense().item() == 24);
  CHECK(tape.gradient(std::tuple(g, y), x).dense().item() == 24);
  CHECK(grad([](const Tensor& a) { return sum(a * a); })(g).to_vector() == Values{24});
  CHECK(value_and_grad([](const Tensor& a) { return a; })(g).first.item() == 12);
  CHECK(jvp([](const Tensor& a) { return a * a; }, g, g).second.item() == 288);
  static_assert(std::is_same_v<map_t<Tensor, std::vector<Gradient>>, std::vector<Tensor>>);
  static_assert(std::is_same_v<map_t<Gradient, std::pair<Tensor, Gradient>>, std::pair<Gradient, Gradient>>);
}

TEST_CASE("optimisers and assign_sub apply a sparse gradient to the rows that it names only") {
  const Variable w(tensor({10, 20, 30}), "w");
  const Gradient g = sparse();
  REQUIRE(g.is_slices());
  // Momentum shows the difference: a dense step would give row 1 a velocity and write it.
  Adam adam({.learning_rate = 1});
  adam.step(std::vector{g}, {w});
  const Values first = w.read().to_vector();
  CHECK(first[1] == 20);
  CHECK(first[0] < 10);
  w.assign(tensor({10, 20, 30}));
  w.assign_sub(g);
  CHECK(w.read().to_vector() == Values{9, 20, 28});
  w.assign_add(g);
  CHECK(w.read().to_vector() == Values{10, 20, 30});
  w.assign_sub(0.5 * g);
  CHECK(w.read().to_vector() == Values{9.5, 20, 29});
  CHECK_THROWS_AS(w.assign_sub(Gradient()), ValueError);
}

TEST_CASE("a result takes the memory of the first rvalue operand that nobody else holds") {
  const auto of = [](const Tensor& x) { return static_cast<const void*>(x.data<double>().data()); };
  Tensor a = tensor({1., 2.}), b = tensor({3., 4.}), c = tensor({5., 6.});
  const void* const memory = of(b);
  const std::uint64_t id = b.id();
  const Tensor sum_of_both = a + std::move(b);
  CHECK(of(sum_of_both) == memory);
  CHECK(sum_of_both.id() != id);
  CHECK(sum_of_both.to_vector() == std::vector<double>{4, 6});
  const Tensor held = c;
  CHECK(of(std::move(c) * a) != of(held));
  CHECK(held.to_vector() == std::vector<double>{5, 6});
  const Tensor square_of = multiply(std::move(a), a);  // a handle that is read twice stays
  CHECK(square_of.to_vector() == std::vector<double>{1, 4});
  CHECK(a.to_vector() == std::vector<double>{1, 2});
  GradientTape tape;
  tape.watch(a);
  Tensor d = tensor({7., 8.});
  const void* const kept = of(d);
  const Tensor z = std::move(d) * a;  // the tape keeps d
  CHECK(of(z) != kept);
  CHECK(tape.gradient(z, a).dense().to_vector() == std::vector<double>{7, 8});
}
