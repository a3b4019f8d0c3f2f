// Functions whose values are computed by methods of their own in double (lib/kernels/special/values): on both sides of
// the borders between methods, and in vectors of several kinds of elements.
#include <cmath>
#include <limits>
#include <map>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <string>

#include "../partial.hpp"
#include "catch.hpp"
#include "region_values.hpp"

using namespace reel;

namespace {

using support::Arguments, support::Function;

struct Named {
  std::size_t operands;
  Function call;
};
Tensor gamma_slope(const Arguments& x) {
  GradientTape tape;
  tape.watch(x[1]);
  return tape.gradient(gammainc(x[0], x[1]), x[1]).dense();
}
const std::map<std::string, Named>& functions() {
  // clang-format off
#define TWO(f) {#f, {2, [](const Arguments& x) { return reel::f(x[0], x[1]); }}}
  static const std::map<std::string, Named> all = {
      TWO(gammainc), TWO(gammaincc), TWO(zeta), TWO(multigammaln), TWO(spherical_jn), TWO(legendre), TWO(chebyshev_t),
      TWO(chebyshev_u), TWO(hermite), TWO(hermite_e), TWO(laguerre),
      {"gamma_slope", {2, gamma_slope}}, {"airy_ai", {1, [](const Arguments& x) { return airy_ai(x[0]); }}}};
#undef TWO
  // clang-format on
  return all;
}

/// All operands of a function in the table, as vectors of `dtype`; each several times in a row.
Arguments operands_of(const std::string& name, DType dtype, std::size_t times = 1) {
  std::vector<double> columns[2];
  for (const RegionValue& v : region_values)
    if (v.function == name)
      for (std::size_t k = 0; k < 2; ++k) columns[k].insert(columns[k].end(), times, v.operands[k]);
  Arguments x;
  for (std::size_t k = 0; k < functions().at(name).operands; ++k) x.push_back(cast(from_data(columns[k]), dtype));
  return x;
}
std::vector<double> doubles(const Tensor& x) { return cast(x, DType::float64).to_vector(); }

}  // namespace

TEST_CASE("values keep their digits on both sides of the borders between methods") {
  constexpr double unit = std::numeric_limits<double>::epsilon();
  for (const auto& [name, f] : functions()) {
    const std::vector<double> y = doubles(f.call(operands_of(name, DType::float64))),
                              rounded = doubles(f.call(operands_of(name, DType::float32)));
    std::size_t i = 0;
    for (const RegionValue& v : region_values) {
      if (v.function != name) continue;
      INFO(name << " at " << v.operands[0] << ", " << v.operands[1] << ": " << y[i] << ", " << rounded[i] << ", not "
                << v.value);
      CHECK(std::abs(y[i] - v.value) <= (f.operands == 1 ? 4 * unit : 1e-13) * std::abs(v.value));
      CHECK(std::abs(rounded[i] - v.value) <= 6.1e-8 * std::abs(v.value));
      ++i;
    }
    CHECK(i > 10);
  }
}

TEST_CASE("an element has the same bits alone, among others, under a tape and compiled") {
  for (const auto& [name, f] : functions())
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Arguments x = operands_of(name, dtype, 7);  // runs of one degree, more than a block
      const Tensor y = f.call(x);
      INFO(name << ", " << dtype);
      GradientTape tape;
      tape.watch(x.back());
      CHECK(array_equal(f.call(x), y));
      const auto compiled = compile([&f = f](const Tensor& a, const Tensor& b) {
        return f.call(f.operands == 1 ? Arguments{a} : Arguments{a, b});
      });
      CHECK(array_equal(compiled(x.front(), x.back()), y));
      for (std::int64_t i = 0; i < y.shape()[0]; i += 5) {
        Arguments one;
        for (const Tensor& column : x) one.push_back(column[i]);
        CHECK(array_equal(f.call(one), y[i]));
      }
    }
}
