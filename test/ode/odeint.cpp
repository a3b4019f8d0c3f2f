// odeint: orders of the methods, solutions of SciPy and in closed form, derivatives of the steps and by times, errors.
#include <cmath>
#include <map>
#include <reel/compile.hpp>
#include <reel/ode.hpp>
#include <string>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "ode/step_control.hpp"
#include "ode_values.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;
using support::Tensors;

namespace {

const std::map<std::string, OdeFunction> problems = {
    {"lotka_volterra",
     [](const Tensor& y, const Tensor&) {
       return stack({1.5 * y(0) - y(0) * y(1), -3 * y(1) + y(0) * y(1)});
     }},
    {"lorenz",
     [](const Tensor& y, const Tensor&) {
       return stack({10 * (y(1) - y(0)), y(0) * (28 - y(2)) - y(1), y(0) * y(1) - 8.0 / 3 * y(2)});
     }},
    {"van_der_pol",
     [](const Tensor& y, const Tensor&) {
       return stack({y(1), 1000 * (1 - square(y(0))) * y(1) - y(0)});
     }},
    {"robertson",
     [](const Tensor& y, const Tensor&) {
       const Tensor slow = 0.04 * y(0) - 1e4 * y(1) * y(2), fast = 3e7 * square(y(1));
       return stack({-slow, slow - fast, fast});
     }},
};
Tensor decay(const Tensor& k, const Tensor& y0, const Tensor& t, const OdeOptions& o) {
  return odeint([k](const Tensor& y, const Tensor&) { return -k * y; }, y0, t, o);
}
const OdeOptions fine = {.relative_tolerance = 1e-12, .absolute_tolerance = 1e-14};
// Steps that do not depend on y: of length 0.1, 1 and the rest.
OdeOptions coarse(OdeMethod method, std::int64_t budget = 0) { return {method, 1e6, 1e6, 0.1, 100, budget}; }

}  // namespace

TEST_CASE("the steps, their errors and their interpolants have the orders of the methods") {
  const OdeFunction f = [](const Tensor& y, const Tensor& t) { return sin(y * t) + y; };
  const auto error_of = [&](OdeMethod method, double h, double part, bool embedded) {
    const autodiff::Ode ode{f, method, DType::float64};
    const auto number = [&](double x) { return autodiff::number_of(ode, x); };
    Tensor exact = tensor({1}), start = exact;
    const int pieces = 64;
    for (int k = 0; k < pieces; ++k)
      exact = autodiff::dormand_prince_step(ode, exact, number(0.5 + h * part * k / pieces), number(h * part / pieces),
                                            false)
                  .y;
    const autodiff::StepResult step = autodiff::take_step(ode, start, number(0.5), number(h), true);
    if (embedded) return largest(exact - (step.y + step.error));
    return largest(exact - (part == 1 ? Tensor(step.y) : Tensor(autodiff::between(ode, start, step, h, part))));
  };
  struct Case {
    OdeMethod method;
    double part;
    bool embedded;  // the solution of the other order
    int order;      // of the error of one step
  };
  for (const Case& c : {Case{OdeMethod::dormand_prince, 1, false, 6},
                        {OdeMethod::dormand_prince, 1, true, 5},
                        {OdeMethod::dormand_prince, 0.4, false, 5},
                        {OdeMethod::rosenbrock, 1, false, 3},
                        {OdeMethod::rosenbrock, 1, true, 4},
                        {OdeMethod::rosenbrock, 0.4, false, 3}}) {
    INFO("method " << static_cast<int>(c.method) << ", part " << c.part << ", error " << c.embedded);
    const double h = c.method == OdeMethod::rosenbrock ? 0.01 : 0.05;
    const double ratio = error_of(c.method, h, c.part, c.embedded) / error_of(c.method, h / 2, c.part, c.embedded);
    CHECK(std::log2(ratio) == Approx(c.order).margin(0.35));
  }
}

namespace {

using Lengths = std::vector<double>;
// Of the first accepted steps.
Lengths lengths_of(const OdeFunction& f, const Tensor& y, double from, double to, const OdeOptions& o, std::size_t n) {
  Lengths found;
  const auto take = [&](const Tensor&, const autodiff::TakenStep& taken, const autodiff::StepResult&) {
    found.push_back(taken.length);
    return found.size() < n;
  };
  static_cast<void>(autodiff::find_steps({f, o.method, DType::float64}, y, from, to, o, take));
  return found;
}
// The first step by the algorithm of Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4.
double first_length(const OdeFunction& f, const Lengths& y, double from, double direction, const OdeOptions& o) {
  const auto norm = [&](const Lengths& v, const Lengths& less) {
    double squares = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      squares += std::pow((v[i] - less[i]) / (o.absolute_tolerance + o.relative_tolerance * std::abs(y[i])), 2);
    return std::sqrt(squares / static_cast<double>(y.size()));
  };
  const Lengths zero(y.size()), f0 = f(from_data(y), scalar(from)).to_vector();
  const double d0 = norm(y, zero), d1 = norm(f0, zero), h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
  Lengths moved = y;
  for (std::size_t i = 0; i < y.size(); ++i) moved[i] += direction * h0 * f0[i];
  const Lengths f1 = f(from_data(moved), scalar(from + direction * h0)).to_vector();
  const double d2 = norm(f1, f0) / h0, order = o.method == OdeMethod::rosenbrock ? 3 : 5;
  const double h1 =
      std::max(d1, d2) <= 1e-15 ? std::max(1e-6, 1e-3 * h0) : std::pow(0.01 / std::max(d1, d2), 1 / order);
  return direction * std::min(100 * h0, h1);
}

}  // namespace

TEST_CASE(
    "odeint: the first step is by derivatives; others grow and shrink by the error, and not after a rejected one") {
  const OdeFunction f = [](const Tensor& y, const Tensor& t) { return stack({y(0) * y(1), 3 * t - square(y(0))}); };
  for (const OdeMethod method : {OdeMethod::dormand_prince, OdeMethod::rosenbrock}) {
    const OdeOptions o = {method, 1e-6, 1e-8};
    const double order = method == OdeMethod::rosenbrock ? 3 : 5;
    for (const double direction : {1., -1.})
      for (const Lengths& y : {Lengths{-1.5, 0.25}, {1e-3, -40}, {0, 0}}) {
        INFO("method " << static_cast<int>(method) << ", direction " << direction << ", from " << y[0]);
        const double first = lengths_of(f, from_data(y), 2, 2 + 10 * direction, o, 1).at(0);
        CHECK(first == Approx(first_length(f, y, 2, direction, o)).epsilon(1e-9));
      }
    CHECK(lengths_of([](const Tensor& y, const Tensor&) { return 0 * y; }, ones({1}), 0, 1, o, 1).at(0) == 1e-6);
    // The error of t^(order - 1) is a multiple of the step to the power of the order.
    const OdeFunction power = [order](const Tensor& y, const Tensor& t) { return 0 * y + reel::power(t, order - 1); };
    const autodiff::Ode ode{power, method, DType::float64};
    const double error = largest(
        autodiff::take_step(ode, zeros({1}), autodiff::number_of(ode, 0), autodiff::number_of(ode, 1), true).error);
    const auto after = [&](double size) {
      return lengths_of(power, zeros({1}), 0, 9, {method, 0, error / size, 1}, 2).at(0);
    };
    CHECK(after(std::pow(2, order)) == Approx(0.45));
    CHECK(after(0.8 * std::pow(5, order)) == Approx(0.2));
    // NaN beyond 0.5: a tenth, and no growth by the first step after it.
    std::int64_t calls = 0;
    const auto calls_for_four = [&](double end) {
      calls = 0;
      const OdeFunction one = [&](const Tensor& y, const Tensor& t) {
        ++calls;
        return where(t > end, std::nan(""), ones_like(y));
      };
      const Lengths found = lengths_of(one, zeros({1}), 0, 1e9, {method, 1e-6, 1e-6, 1}, 4);
      for (const double h : found) CHECK((end > 1 || h == Approx(0.1)));
      return calls;
    };
    CHECK(6 * calls_for_four(1e9) == 4 * calls_for_four(0.5));
  }
}

TEST_CASE("odeint agrees with SciPy; the method for stiff equations takes few steps") {
  for (const OdeValue& v : ode_values) {
    const std::string name = v.problem;
    INFO(name);
    const bool stiff = name == "van_der_pol" || name == "robertson";
    std::int64_t calls = 0;
    const OdeFunction f = [&](const Tensor& y, const Tensor& t) {
      ++calls;
      return problems.at(name)(y, t);
    };
    OdeOptions o = {.relative_tolerance = 1e-9, .absolute_tolerance = 1e-10};
    if (stiff) o = {OdeMethod::rosenbrock, 1e-5, 1e-9};
    const Tensor y = odeint(f, from_data(v.start), from_data(v.times), o);
    const Tensor exact = from_data(v.values, y.shape());
    const Tensor size = 1e-3 * max(abs(exact)) + abs(exact);
    CHECK(largest((y - exact) / size) < 10 * o.relative_tolerance);
    CHECK(calls < 2500);
  }
  // Explicit steps are limited by stiffness; a few implicit ones suffice.
  const auto fast = [](const Tensor& y, const Tensor& t) { return -10000 * (y - cos(t)) - sin(t); };
  const Tensor t = tensor({0, 1, 2});
  CHECK_THROWS_WITH(odeint(fast, 1.0, t, {.max_steps = 300}), Contains("odeint: 300 steps reach t ="));
  const OdeOptions implicit = {OdeMethod::rosenbrock, 1e-4, 1e-4, 0, 300};
  CHECK(largest(odeint(fast, 1.0, t, implicit) - cos(t)) < 1e-4);
}

TEST_CASE("odeint advises what helps: another method, or the discrete adjoint") {
  const Tensor t = tensor({0, 1, 2});
  const auto last = [&](OdeOptions o) {
    o.max_steps = 300;
    return [o, t](const Tensor& rate) {
      const auto f = [rate](const Tensor& y, const Tensor& at) { return -rate * (y - cos(at)) - sin(at); };
      return odeint(f, 1.0, t, o)[2];
    };
  };
  const Tensor rate = scalar(10000.0);
  CHECK_THROWS_WITH(last({})(rate),
                    Contains("or use OdeMethod::rosenbrock") && !Contains("adjoint", Catch::CaseSensitive::No));
  CHECK_THROWS_WITH(last({.adjoint = OdeAdjoint::continuous})(rate),
                    Contains("use OdeMethod::rosenbrock with OdeAdjoint::discrete"));
  const OdeOptions stiff = {OdeMethod::rosenbrock, 1e-4, 1e-4};
  OdeOptions continuous(stiff);
  continuous.adjoint = OdeAdjoint::continuous;
  CHECK_NOTHROW(last(continuous)(rate));
  CHECK_THROWS_WITH(grad(last(continuous))(rate), Contains("use OdeAdjoint::discrete: a stiff equation is unstable"));
  CHECK(std::abs(grad(last(stiff))(rate).item()) < 1e-6);
  OdeOptions precise(stiff);
  precise.relative_tolerance = precise.absolute_tolerance = 1e-12;
  CHECK_THROWS_WITH(last(precise)(rate), Contains("use larger tolerances"));
}

TEST_CASE("odeint in closed form: directions, dtypes, shapes, tolerances") {
  const Tensor t = tensor({0, 0.3, 1, 2.5}), k = scalar(0.8);
  double before = 1;
  for (const double tolerance : {1e-3, 1e-6, 1e-9, 1e-12}) {
    const Tensor y = decay(k, scalar(2.0), t, {.relative_tolerance = tolerance, .absolute_tolerance = tolerance});
    const double error = largest(y - 2 * exp(-k * t));
    CHECK(error < tolerance);
    CHECK(error < before);
    before = error;
  }
  // Backwards in time, f of time, any shape, float32, empty states, a single time.
  const Tensor back = odeint([](const Tensor& y, const Tensor& s) { return 2 * s * ones_like(y); }, full({2, 3}, 4.0),
                             tensor({2, 1, -1}), fine);
  CHECK(back.shape() == Shape{3, 2, 3});
  CHECK(largest(back - reshape(tensor({4, 1, 1}), {3, 1, 1})) < 1e-12);
  const Tensor narrow = odeint([](const Tensor& y, const Tensor&) { return -y; }, scalar(1.0F), t);
  CHECK(narrow.dtype() == DType::float32);
  CHECK(largest(cast(narrow, DType::float64) - exp(-1 * t)) < 1e-5);
  CHECK(odeint([](const Tensor& y, const Tensor&) { return y; }, zeros({0}), t).shape() == Shape{4, 0});
  CHECK(odeint([](const Tensor& y, const Tensor&) { return y; }, ones({2}), tensor({3})).to_vector() ==
        std::vector<double>{1, 1});
  CHECK(largest(odeint([](const Tensor& y, const Tensor&) { return zeros_like(y); }, 5.0, t) - 5) == 0);
}

TEST_CASE("derivatives of the computed steps, to order 3 in both modes") {
  for (const OdeMethod method : {OdeMethod::dormand_prince, OdeMethod::rosenbrock})
    for (const std::int64_t budget : {0, 4096}) {
      INFO("method " << static_cast<int>(method) << ", budget " << budget);
      linalg::check_one(
          [&](const Tensors& p) {
            const OdeFunction f = [k = p[0]](const Tensor& y, const Tensor& t) {
              return stack({y(1), -k * sin(y(0)) + 0.3 * t * y(1)});
            };
            return odeint(f, p[1], tensor({0, 0.05, 0.7, 1.2, 2.6}), coarse(method, budget));
          },
          {scalar(1.3), tensor({0.4, -0.2})}, {.order = 3, .slack = 20});
    }
}

TEST_CASE("derivatives by times and parameters agree with closed forms, to order 3") {
  const Tensor k = scalar(0.8), t = tensor({0.2, 1, 1.7});
  for (const auto& of : {std::function<Tensor(const Tensor&, const Tensor&)>([](const Tensor&rate, const Tensor&times) {
         return sum(decay(rate, scalar(2.0), times, fine) * tensor({1, 2, 3}));
       })}) {
    const auto exact = [](const Tensor& rate, const Tensor& times) {
      return sum(2 * exp(-rate * (times - times(0))) * tensor({1, 2, 3}));
    };
    support::Function f = [&](const Tensors& x) { return Tensors{of(x[0], x[1])}; };
    support::Function g = [&](const Tensors& x) { return Tensors{exact(x[0], x[1])}; };
    const Tensors x = {k, t};
    for (int order = 0; order < 3; ++order) {
      support::Random random("directions");
      const Tensors y = g(x), v = random.like(y), along = random.like(x);
      INFO("order " << order);
      CHECK(support::difference(f(x), y).error < 1e-10);
      CHECK(support::difference(support::pull(f, x, v), support::pull(g, x, v)).error < 1e-9);
      CHECK(support::difference(support::push(f, x, along), support::push(g, x, along)).error < 1e-9);
      f = support::gradient_of(f, v);
      g = support::gradient_of(g, v);
    }
  }
}

TEST_CASE("odeint: a memory budget changes no bit and shortens the tape; variables have gradients") {
  const Variable k(scalar(0.8), "k");
  const OdeFunction f = [k](const Tensor& y, const Tensor& t) { return stack({y(1), -k * y(0) + cos(t)}); };
  const Tensor y0 = tensor({1, 0}), t = tensor({0, 30});
  OdeOptions o;
  const Tensor alone = odeint(f, y0, t, o);
  std::vector<Tensor> gradients;
  std::vector<std::size_t> entries;
  for (const std::int64_t budget : {0, 1 << 14}) {
    o.memory_budget = budget;
    GradientTape tape;
    tape.watch(y0);
    const Tensor y = odeint(f, y0, t, o);
    CHECK(array_equal(y, alone));
    entries.push_back(static_cast<std::size_t>(tape.stats().entries));
    const auto list = tape.gradient(sum(y(1)), {k, y0});
    gradients.push_back(concatenate({reshape(list[0].dense(), {1}), list[1].dense()}));
  }
  CHECK(entries[1] < 150);
  CHECK(entries[0] > 20 * entries[1]);
  CHECK(largest(gradients[0] - gradients[1]) < 1e-12);
}

TEST_CASE("errors of odeint name the cause") {
  const OdeFunction f = [](const Tensor& y, const Tensor&) { return -y; };
  const Tensor t = tensor({0, 1});
  CHECK_THROWS_WITH(odeint({}, 1.0, t), Contains("odeint: the function is empty"));
  CHECK_THROWS_WITH(odeint(f, arange(3), t), Contains("odeint: y0 is int64"));
  CHECK_THROWS_WITH(odeint(f, 1.0, 2.0), Contains("odeint: t is []"));
  CHECK_THROWS_AS(odeint(f, 1.0, zeros({0})), ShapeError);
  CHECK_THROWS_AS(odeint(f, Tensor(), t), ValueError);
  CHECK_THROWS_AS(odeint(f, 1.0, make_complex(t, t)), TypeError);
  for (const Tensor& bad : {tensor({0, 0}), tensor({0, 1, 0.5}), tensor({0, 1, -1}), tensor({0, std::nan("")})})
    CHECK_THROWS_WITH(odeint(f, 1.0, bad), Contains("times must ascend or descend strictly"));
  CHECK_THROWS_WITH(odeint([](const Tensor&, const Tensor&) { return Tensor(); }, 1.0, t), Contains("empty tensor"));
  CHECK_THROWS_AS(odeint([](const Tensor&, const Tensor&) { return ones({2}); }, 1.0, t), ShapeError);
  CHECK_THROWS_AS(odeint([](const Tensor& y, const Tensor&) { return cast(y, DType::float32); }, 1.0, t), TypeError);
  CHECK_THROWS_WITH(odeint([](const Tensor& y, const Tensor&) { return y / 0; }, 1.0, t), Contains("infinite or NaN"));
  // A solution that ends at t = 1.
  CHECK_THROWS_WITH(odeint([](const Tensor& y, const Tensor&) { return square(y); }, 1.0, tensor({0, 2})),
                    Contains("odeint: "));
  CHECK_THROWS_AS(odeint(f, 1.0, t, {.relative_tolerance = std::nan("")}), ValueError);
  CHECK_THROWS_AS(odeint(f, 1.0, t, {.relative_tolerance = 0, .absolute_tolerance = 0}), ValueError);
  CHECK_THROWS_AS(odeint(f, 1.0, t, {.first_step = -1}), ValueError);
  CHECK_THROWS_AS(odeint(f, 1.0, t, {.max_steps = 0}), ValueError);
  CHECK_THROWS_AS(odeint(f, 1.0, t, {.memory_budget = -1}), ValueError);
  CHECK_THROWS_AS(compile([&](const Tensor& y) { return odeint(f, y, t); })(scalar(1.0)), TraceError);
  CHECK_THROWS_WITH(compile([&](const Tensor& y) { return odeint(f, y, t); })(scalar(1.0)),
                    Catch::StartsWith("odeint: it"));
}
