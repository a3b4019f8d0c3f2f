// Values of special functions in double: which arguments the methods take. What they leave, the general methods
// compute, at many times the cost, so that no test of results notices.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "special/values/values.hpp"

using namespace reel;

namespace {

using kernels::special::Function;
namespace values = kernels::special::values;

// The elements of a grid that a method in double leaves to the general one, or computes for float32 with an error above
// 1e-7.
int left_out(Function f, const std::vector<double>& first, const std::vector<double>& second) {
  const int orders[4] = {};
  int count = 0;
  for (const double a : first)
    for (const double b : second) {
      const double* in[] = {&a, &b};
      double y = 0, rough = 0;
      values::of(f, orders)(f, in, &y, 1, values::least_of_double);
      values::of(f, orders)(f, in, &rough, 1, values::least_of_float);
      INFO(static_cast<int>(f) << " at " << a << ", " << b << ": " << y << ", " << rough);
      const bool good = std::abs(y - rough) <= 1e-7 * std::abs(y) + 1e-13;
      CHECK(good);
      count += !good;
    }
  return count;
}

}  // namespace

TEST_CASE("values of special functions in double: the methods take all ordinary arguments") {
  const std::vector<double> unit = {-1, -0.9, -0.6, -0.3, -1e-3, 0, 0.2, 0.55, 0.97, 1},
                            degrees = {0, 1, 2, 3, 4, 7, 20, 41, 128};
  for (const Function f : {Function::legendre, Function::chebyshev_t, Function::chebyshev_u})
    CHECK(left_out(f, unit, degrees) == 0);
  const std::vector<double> small = {-3.5, -1, -0.2, 0, 0.3, 1, 2.5}, low = {0, 1, 2, 3, 4, 7, 20};
  for (const Function f : {Function::hermite, Function::hermite_e, Function::laguerre})
    CHECK(left_out(f, small, low) == 0);
  const std::vector<double> positive = {0.1, 0.7, 1, 1.9, 2.5, 6, 13, 40};
  for (const Function f : {Function::gammainc, Function::gammaincc}) {
    CHECK(left_out(f, positive, positive) == 0);
    CHECK(left_out(f, {160}, {100, 159, 161, 250}) == 0);
    CHECK(left_out(f, {1200}, {1000, 1199, 1201, 1400}) == 0);
  }
  CHECK(left_out(Function::zeta, {1.001, 1.5, 2, 3.3, 9, 30}, {0.02, 0.3, 1, 2.75, 9, 55, 1e4}) == 0);
  CHECK(left_out(Function::multigammaln, {2.1, 3, 9.5, 100}, {1, 2, 3, 4}) == 0);
  CHECK(left_out(Function::airy_ai, {-1e6, -60, -12, -9.9, -3.3, -0.5, 0, 0.1, 1.7, 2.6, 5, 30}, {0}) == 0);
  CHECK(left_out(Function::spherical_jn, {-30, -4, 4, 30}, {0, 1, 2, 3, 6}) == 0);
}
