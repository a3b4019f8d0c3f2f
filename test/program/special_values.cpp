// The op table as programs at zeros of both signs, infinities, NaN and subnormal numbers: the bits of the function run
// op by op. Each op is called twice, so that the gradients of its operands are sums of two terms.
#include <array>
#include <cfenv>
#include <cmath>
#include <complex>
#include <limits>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "op_cases.hpp"
#include "op_operands.hpp"
#include "program/passes/passes.hpp"
#include "support/warnings.hpp"
#include "traced.hpp"

using namespace reel;
using support::same_bits, support::traced, support::Tensors;

namespace {

// The tensor with about `part` of its elements replaced.
Tensor with_special_values(const Tensor& x, support::Random& random, double part) {
  if (!is_floating(x.dtype())) return x;
  const double tiny = x.dtype() == DType::float64 ? 1e-310 : 1e-40;
  const double values[] = {0., -0., 0., -0., std::numeric_limits<double>::infinity(), std::nan(""), tiny, -tiny, -1.};
  std::vector<double> list = cast(x, DType::float64).to_vector<double>();
  for (double& v : list)
    if (random.uniform(0, 1) < part) v = values[static_cast<std::size_t>(random.uniform(0, std::size(values) - 1e-9))];
  return cast(from_data(list, x.shape()), x.dtype());
}

// Two calls of an op at x, and the gradients of both results for the cotangents that follow the operands.
std::function<Tensors(const Tensors&)> called_twice(std::function<Tensor(const Tensors&)> f, std::size_t operands) {
  return [f = std::move(f), operands](const Tensors& all) {
    const Tensors x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(operands));
    GradientTape tape;
    tape.watch(x);
    Tensors y{f(x), f(x)};
    if (all.size() > operands) {
      const Tensors cotangents(all.end() - 2, all.end());
      for (const Gradient& g : tape.gradient(y, x, {.output_gradients = cotangents}))
        if (g) y.push_back(*g);
    }
    return y;
  };
}

// In float16 a NaN's payload is left open too.
Tensor comparable(const Tensor& x) { return item_size(x.dtype()) == 2 ? cast(x, DType::float32) : x; }

// The program of f gives the bits of f. Returns the number of results.
std::size_t check_program(const std::function<Tensors(const Tensors&)>& f, const Tensors& x) {
  const Tensors expected = f(x);
  program::Program program = traced(f, x);
  program::optimize(program);
  const program::Executable executable(std::move(program));
  Tensors got(expected.size());
  executable.run(x, got);
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    CHECK(same_bits(comparable(got[k]), comparable(expected[k])));
  }
  return got.size();
}

std::size_t check(const std::string& what, const std::function<Tensor(const Tensors&)>& op, Tensors x,
                  support::Random& random) {
  CAPTURE(what);
  const std::size_t operands = x.size();
  const auto f = called_twice(op, operands);
  try {
    const Tensor y = op(x);
    for (int k = 0; k < 2 && is_floating(y.dtype()); ++k)
      x.push_back(with_special_values(cast(random.tensor(y.shape(), -2, 2), y.dtype()), random, 0.5));
    static_cast<void>(f(x));
  } catch (const Error&) {
    return 0;  // not for these values
  }
  return check_program(f, x);
}

constexpr DType dtypes[] = {DType::float16, DType::float32, DType::float64, DType::complex64};

std::size_t check_rows(std::span<const cases::Shaped> rows, double part) {
  std::size_t count = 0;
  for (const cases::Shaped& row : rows) {
    if (row.flags & cases::by_values) continue;
    support::Random random(row.name);
    support::for_drawn_operands(row, [&](const Tensors& drawn, const Tensors&) {
      for (const DType d : dtypes) {
        Tensors x = support::cast_all(drawn, d);
        for (Tensor& one : x) one = with_special_values(one, random, part);
        count += check(row.name + std::string(" of ") + name(d), row.call, x, random);
      }
    });
  }
  return count;
}

}  // namespace

TEST_CASE("special values: programs of pointwise ops give the bits of ops") {
  WarningLog quiet;
  std::size_t count = 0;
  for (const cases::Pointwise& row : cases::pointwise()) {
    support::Random random(row.name);
    for (const DType d : dtypes)
      for (const Shape& shape : {Shape{}, Shape{7, 5}}) {
        Tensors x;
        for (int i = 0; i < row.arity; ++i) {
          const Shape own = i == 1 && shape.rank() == 2 ? Shape{shape[1]} : shape;
          const Tensor drawn = random.tensor(own, row.domain[i].low, row.domain[i].high);
          x.push_back(with_special_values(cast(drawn, d), random, 0.5));
        }
        count += check(row.name + std::string(" of ") + name(d), row.call, x, random);
      }
  }
  CHECK(count > 20 * cases::pointwise().size());
}

TEST_CASE("special values: programs of other ops give the bits of ops") {
  WarningLog quiet;
  for (const double part : {0.5, 1.})
    for (const auto& rows : cases::shaped_tables()) CHECK(check_rows(rows, part) > rows.size());
}

TEST_CASE("special values: a weight's gradient is a sum of products in the bits of ops, in every instruction set") {
  // w [n, m], three factors [k, n] of it, and cotangents [k, m].
  const auto f = [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensors y{matmul(x[1], x[0]), matmul(x[2], x[0]), matmul(x[1] * x[2], x[0])};
    return Tensors{*tape.gradient(y, x[0], {.output_gradients = Tensors{x[3], x[4], x[3]}})};
  };
  const kernels::Set usual = kernels::active();
  support::Random random("products");
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    for (const DType d : {DType::float32, DType::float64, DType::complex64})
      for (const auto& [k, n, m] : {std::array{0, 5, 6},
                                    {1, 7, 9},
                                    {2, 7, 9},
                                    {30, 1, 40},
                                    {30, 40, 1},
                                    {5, 1, 1},
                                    {24, 16, 40},
                                    {300, 33, 17},
                                    {700, 160, 170}}) {
        CAPTURE(set->isa, d, k, n, m);
        Tensors x;
        for (const Shape& s : {Shape{n, m}, {k, n}, {k, n}, {k, m}, {k, m}})
          x.push_back(with_special_values(cast(random.tensor(s), d), random, k < 5 ? 0.5 : 0.01));
        check_program(f, x);
      }
  }
  kernels::activate(usual);
}

TEST_CASE("special values: a slice's gradient leaves -0 outside as it is, whoever holds the sum") {
  const auto f = [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensors y{slice(x[0], {range(1, 3)}), x[0] * x[1], slice(x[0], {range(0, 2)}), x[0]};
    const Tensor last = full({4}, -0.);
    return Tensors{*tape.gradient(y, x[0], {.output_gradients = Tensors{x[2], x[3], x[2], last}}), last};
  };
  const Tensor minus = full({4}, -0.);
  check_program(f, {ones({4}), ones({4}), full({2}, -0.), minus});
  const Tensor g = f({ones({4}), ones({4}), full({2}, -0.), minus})[0];
  CHECK(same_bits(g, minus));
}

TEST_CASE("special values: sums of parts of gradients keep the bits of ops in every rounding mode") {
  const auto parts = [](const Tensor& x) {
    return Tensors{slice(x, {range(0, 2)}), slice(x, {range(3, 5)}), slice(x, {range(1, 3)}), x[0]};
  };
  using Function = std::function<Tensors(const Tensors&)>;
  const auto slices = [&](std::size_t count, int whole) {  // `whole`: which term is no slice; none if negative
    return Function([=](const Tensors& x) {
      GradientTape tape;
      tape.watch(x[0]);
      std::vector<Tensor> y, seeds;
      const Tensors all = parts(x[0]);
      for (std::size_t k = 0; k < count; ++k) {
        if (static_cast<int>(k) == whole) y.push_back(x[0] * x[1]), seeds.push_back(x[1]);
        y.push_back(all[k]);
        seeds.push_back(slice(x[1], {range(0, 2)}));
        if (all[k].rank() == 0) seeds.back() = x[1][0];
      }
      return Tensors{*tape.gradient(y, x[0], {.output_gradients = seeds})};
    });
  };
  const Function steps = [&](const Tensors& x) {  // the sums of a loop
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor y = fori_loop(
        70,
        [&](const Tensor&, const Tensor& z) {
          const Tensors all = parts(x[0]);
          return z * .5 + all[0] * all[1] + all[0] * x[0][2];
        },
        slice(x[1], {range(0, 2)}));
    return Tensors{*tape.gradient(y, x[0])};
  };
  std::vector<Function> functions{steps};
  for (const std::size_t count : {2u, 3u, 4u})
    for (const int whole : {-1, 0, 1}) functions.push_back(slices(count, whole));
  for (const std::int64_t n : {6, 40})
    for (std::size_t k = 0; k < functions.size(); ++k) {
      program::Program program = traced(functions[k], {zeros({n}), zeros({n})});
      program::optimize(program);
      const program::Executable executable(std::move(program));  // of all modes
      for (const int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST})
        for (const Tensor& seed : {full({n}, 0.), full({n}, -0.), linspace(-1., 1., n)}) {
          std::fesetround(mode);
          const Tensors x{linspace(.1, 1., n), seed};
          const Tensors expected = functions[k](x);
          Tensors got(1);
          executable.run(x, got);
          std::fesetround(FE_TONEAREST);
          CAPTURE(n, k, mode, seed);
          CHECK(same_bits(got[0], expected[0]));
        }
    }
}

TEST_CASE("special values: the gradient of a broadcast complex operand is conjugated after it is summed") {
  using C = std::complex<double>;
  const std::function f = [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor y = multiply(x[1], x[0]);
    return Tensors{tape.gradient(y, x[0], {.output_gradients = x[2]}).dense()};
  };
  const Tensor z = from_data(std::vector<C>{{1, 2}, {-1, 0.5}}, {2, 1}), real = from_data(std::vector{0.5, 0.25});
  const Tensor w = from_data(std::vector<C>{{1, 0.}, {1, -0.}, {0., -0.}, {-0., 0.}}, {2, 2});
  check_program(f, {z, real, w});
}
