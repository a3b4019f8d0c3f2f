// Programs on single elements: random ones against the same ops one by one, in every rounding mode; what becomes a part
// of them; calls of elementwise() on one element.
#include <cfenv>
#include <cmath>
#include <limits>
#include <reel/elementwise.hpp>

#include "catch.hpp"
#include "program/passes/passes.hpp"
#include "support/derivatives.hpp"
#include "traced.hpp"

using namespace reel;
using support::names, support::same_bits, support::traced;
using support::Tensors;

namespace {

using Function = std::function<Tensors(const Tensors&)>;

// Calls f in every rounding mode. The tests are repeated on every instruction set.
template <class F>
void in_every_rounding_mode(F f) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    INFO("rounding mode " << mode);
    f();
  }
}

// The ops are arithmetic, functions of one argument with and without an instruction of their own, and extrema.
Tensor unary(int which, const Tensor& x) {
  switch (which) {
    case 0:
      return -x;
    case 1:
      return square(x);
    case 2:
      return sqrt(abs(x));
    case 3:
      return reciprocal(x);
    case 4:
      return sin(x);
    case 5:
      return tanh(x);
    case 6:
      return log(square(x));
    case 7:
      return floor(x) + ceil(x) + trunc(x) + sign(x);
    case 8:
      return rsqrt(square(x)) * sigmoid(x);
    default:
      return exp(-abs(x)) + relu(x);
  }
}
Tensor binary(int which, const Tensor& x, const Tensor& y) {
  switch (which) {
    case 0:
    case 1:
      return x + y;
    case 2:
    case 3:
      return x - y;
    case 4:
    case 5:
    case 6:
      return x * y;
    case 7:
      return x / y;
    case 8:
      return maximum(x, y) - minimum(y, 1.5);
    case 9:
      return squared_difference(x, y);
    default:
      return fma(x, y, 0.25) + 3.;
  }
}

// A random function of the elements of x [8]: its value, its derivatives, and some of its terms in an array.
Tensors random_function(std::uint64_t seed, const Tensor& x) {
  support::Random random(std::to_string(seed));
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.uniform(0, static_cast<double>(n) - 1e-9));
  };
  GradientTape tape;
  Tensors terms;
  for (std::int64_t k = 0; k < 8; ++k) terms.push_back(x(k));
  const Tensors elements = terms;
  tape.watch(elements);
  for (int k = 0; k < 40; ++k) {
    const Tensor &a = terms[below(terms.size())], &b = terms[terms.size() - 1 - below(4)];
    terms.push_back(random.uniform(0, 1) < 0.3 ? unary(static_cast<int>(below(10)), b)
                                               : binary(static_cast<int>(below(11)), a, b));
    if (k % 13 == 5)
      terms.push_back(stack({terms.back(), a, b})(1) + concatenate({reshape(a, {1}), reshape(b, {1})})(1));
  }
  const Tensor some = stack({terms[20], terms[30], terms[20], terms[8]});
  terms.push_back(terms.back() - sum(stack(std::span(terms).last(3 + below(terms.size() - 3)))));
  Tensors results{terms.back(), some, terms[12]};
  for (const Gradient& g : tape.gradient(terms.back() + terms[30], elements))
    if (g) results.push_back(*g);
  return results;
}

std::vector<double> operands(std::uint64_t seed) {
  support::Random random(std::to_string(seed));
  const double special[] = {0., -0., std::numeric_limits<double>::infinity(), std::nan(""), 1e-310, 1.};
  std::vector<double> list;
  for (int k = 0; k < 8; ++k)
    list.push_back(random.uniform(0, 1) < 0.1 ? special[static_cast<std::size_t>(random.uniform(0, 5.99))]
                                              : random.uniform(-2, 2));
  return list;
}

// The program of f consists of these instructions and has the bits of f.
void check(const Function& f, const Tensors& x, const std::vector<std::string>& instructions) {
  program::Program program = traced(f, x);
  program::optimize(program);
  CHECK(names(program) == instructions);
  const program::Executable executable(std::move(program));
  const Tensors expected = f(x);
  Tensors got(expected.size());
  executable.run(x, got);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], expected[k]));
}

}  // namespace

TEST_CASE("programs on single elements give the bits of ops, in every rounding mode") {
  std::uint64_t seed = 1;
  in_every_rounding_mode([&] {
    for (int round = 0; round < 6; ++round, ++seed)
      for (const DType d : {DType::float32, DType::float64}) {
        INFO("seed " << seed);
        const Function f = [&](const Tensors& x) { return random_function(seed, x[0]); };
        const Tensors x{cast(from_data(operands(seed)), d)}, y{cast(from_data(operands(seed + 1000)), d)};
        program::Program program = traced(f, x);
        program::optimize(program);
        CHECK(names(program) == std::vector<std::string>{"scalars"});
        const program::Executable executable(std::move(program));
        for (const Tensors& at : {x, y, x}) {
          const Tensors expected = f(at);
          Tensors got(expected.size());
          executable.run(at, got);
          for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], expected[k]));
        }
      }
  });
}

TEST_CASE("programs on single elements hold reads, stacks and places; other readers end them") {
  const Function rollout = [](const Tensors& all) {
    const Tensor& x = all[0];
    GradientTape tape;
    tape.watch(x);
    Tensor position = scalar(0.), speed = scalar(1.), cost = scalar(0.);
    for (std::int64_t k = 0; k < 40; ++k) {
      speed = speed + 0.1 * (x(k, 0) * cos(position) - x(k, 1));
      position = position + 0.1 * speed;
      cost = cost + square(position - 1.);
    }
    return Tensors{cost, *tape.gradient(cost, x), stack({position, speed})};
  };
  const Tensor x = full({40, 2}, 0.25);
  const Tensor flipped = flip(transpose(reshape(cast(arange(80), DType::float64) * 0.01, {2, 40})), 0);
  for (const Tensor& at : {cast(x, DType::float64), flipped}) {
    check(rollout, {at}, {"scalars"});
  }

  // Gradients of reads that are added to one another: what has no reader inside is written.
  const Function few = [](const Tensors& all) {
    GradientTape tape;
    tape.watch(all);
    const Tensor y = all[0](1) * all[0](2) + sum(stack({all[0](5), all[1](0), all[0](1) * 3.})) * all[1](2);
    Tensors results{y, all[0](2) + 1., stack({y, y * 2.}) * from_data(std::vector{2., 3.})};
    for (const Gradient& g : tape.gradient(y, all)) results.push_back(*g);
    return results;
  };
  check(few, {cast(arange(8), DType::float64), cast(arange(3), DType::float64)}, {"scalars"});

  // A sum over an array between the two halves of the work on elements; float32 beside float64.
  const Function between = [](const Tensors& all) {
    const Tensor &a = all[0], &narrow = all[1];
    const Tensor first = a(0) * a(1) + 2., other = narrow(0) * 3.f - narrow(1);
    const Tensor s = sum(a * first);
    const Tensor last = (s - first) * s + cast(other * narrow(0), DType::float64);
    return Tensors{last * a(3), other, first};
  };
  const Tensors both{cast(arange(40), DType::float64) * 0.25 - 1., from_data(std::vector{0.5f, 7.f})};
  check(between, both, {"scalars", "multiply", "sum", "scalars", "cast", "scalars"});
}

TEST_CASE("programs on single elements choose by comparisons, which may be results") {
  const Function f = [](const Tensors& all) {
    const Tensor &x = all[0], &narrow = all[1];
    GradientTape tape;
    tape.watch(x);
    const Tensor a = x(0) * x(1), b = x(2) - 0.5;
    const Tensor below = a < b, odd = logical_or(logical_and(below, not_equal(x(3), 0.25)), isnan(b / x(4)));
    const Tensor y = where(odd, a * b, where(logical_not(a >= 1.), square(b), where(isinf(x(3)), 0., a)));
    return Tensors{y, *tape.gradient(y, x), below, where(narrow(0) > narrow(1), narrow(1), 2.f) * narrow(0), odd};
  };
  for (const double first : {-2., 0.25, 3., 0.})
    check(f,
          {from_data(std::vector{first, 0.75, 1.5, 0.25, first}),
           from_data(std::vector{0.5f, static_cast<float>(first)})},
          {"scalars", "scalars"});
}

TEST_CASE("elementwise on one element has the bits of elementwise on many, with choices and numbers") {
  const double limit = 0.75;
  const auto f = [limit](const Lane& x, const Lane& y) {
    const Lane near = where(logical_and(x < y, logical_not(y >= limit)), x * y - limit, sqrt(abs(x)) + exp(y));
    const Lane far = where(logical_or(isnan(x), isinf(y)), 1., near * near + 2. * x);
    return std::array<Lane, 3>{far, where(equal(x, y), x, -y) * limit, near / (1. + square(far))};
  };
  in_every_rounding_mode([&] {
    const auto e = elementwise(f);
    for (const DType d : {DType::float32, DType::float64}) {
      const Tensor x = cast(from_data(operands(3)), d), y = cast(from_data(operands(4)), d);
      const auto many = e(x, y);
      for (std::int64_t k = 0; k < x.size(); ++k) {
        const auto one = e(x(k), y(k));
        const auto gradient = [&](const Tensor& a, const Tensor& b) {
          GradientTape tape;
          tape.watch(a);
          const auto z = e(a, b);
          return *tape.gradient(z[0] + z[2], a);
        };
        for (std::size_t j = 0; j < 3; ++j) CHECK(same_bits(one[j], many[j](k)));
        CHECK(same_bits(gradient(contiguous(x(k)), y(k)), gradient(x, y)(k)));
      }
    }
  });
}
