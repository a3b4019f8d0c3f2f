// Derivatives of the pointwise table at kinks, ties and singular points, where a convention decides, and at ordinary
// points against independent numbers; for every instruction set of this machine, in both precisions.
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/table.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
T value_at(const Set& set, std::size_t op, DType type, T x, T y, T w) {
  const Strided in[] = {{&x, 1}, {&y, 1}, {&w, 1}};
  T z;
  set.get<PointwiseKernels>().of(op, type).value(in, &z, 1);
  return z;
}
template <class T>
T derivative_at(const Set& set, std::size_t op, std::size_t operand, DType type, T x, T y, T w) {
  const T z = value_at(set, op, type, x, y, w), g = 1;
  const Strided in[] = {{&g, 1}, {&x, 1}, {&y, 1}, {&w, 1}, {&z, 1}};
  T out;
  set.get<PointwiseKernels>().of(op, type).derivative[operand](in, &out, 1);
  return out;
}

bool near(double a, double b, double eps) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) < 8 * eps * (1 + std::abs(b));
}

struct Point {
  std::string_view name;
  std::size_t op;
  double x, y, w;
  std::vector<double> expected;  // for each operand
};

template <class T>
void check(const Point& p, DType type) {
  for (const Set* set : supported_sets()) {
    for (std::size_t k = 0; k < p.expected.size(); ++k) {
      if (set->get<PointwiseKernels>().of(p.op, type).derivative[k] == nullptr) continue;
      const double got = static_cast<double>(
          derivative_at(*set, p.op, k, type, static_cast<T>(p.x), static_cast<T>(p.y), static_cast<T>(p.w)));
      INFO(p.name << "(" << p.x << ", " << p.y << ", " << p.w << ") by operand " << k << ", " << set->isa << ", "
                  << 8 * sizeof(T) << " bits: " << got << ", expected " << p.expected[k]);
      CHECK(near(got, static_cast<double>(static_cast<T>(p.expected[k])),
                 static_cast<double>(std::numeric_limits<T>::epsilon())));
    }
  }
}

template <table::FixedString Name>
Point at(double x, std::vector<double> expected) {
  return {Name, index_of<Name>(), x, 0, 0, expected};
}
template <table::FixedString Name>
Point at(double x, double y, std::vector<double> expected) {
  return {Name, index_of<Name>(), x, y, 0, expected};
}
template <table::FixedString Name>
Point at(double x, double y, double w, std::vector<double> expected) {
  return {Name, index_of<Name>(), x, y, w, expected};
}

void check_all(const std::vector<Point>& points) {
  for (const Point& p : points) {
    check<float>(p, DType::float32);
    check<double>(p, DType::float64);
  }
}

}  // namespace

TEST_CASE("C12: derivatives at kinks and ties") {
  check_all({
      at<"abs">(0, {0}),
      at<"abs">(-2, {-1}),
      at<"relu">(0, {0}),
      at<"relu">(2, {1}),
      at<"relu">(-2, {0}),
      at<"relu6">(0, {0}),
      at<"relu6">(3, {1}),
      at<"relu6">(6, {0}),
      at<"relu6">(not_a_number, {1}),
      at<"hard_sigmoid">(-3, {0}),
      at<"hard_sigmoid">(3, {0}),
      at<"hard_sigmoid">(not_a_number, {1. / 6}),
      at<"hard_swish">(-3, {0}),
      at<"hard_swish">(3, {1}),
      at<"hard_swish">(0, {.5}),
      at<"hardshrink">(.5, .5, {0}),
      at<"hardshrink">(-.5, .5, {0}),
      at<"hardshrink">(1, .5, {1}),
      at<"copysign">(0, -1, {0}),
      at<"copysign">(2, -0., {-1}),
      at<"copysign">(-2, -0., {1}),
      at<"copysign">(-2, -not_a_number, {-1}),
      at<"leaky_relu">(0, 0.1, {0.1, 0}),
      at<"leaky_relu">(-2, 0.1, {0.1, -2}),
      at<"leaky_relu">(3, 0.1, {1, 0}),
      at<"elu">(0, 2, {2, 0}),
      at<"elu">(0, 1, {1, 0}),
      at<"elu">(3, 2, {1, 0}),
      at<"elu">(-1, 2, {2 * std::exp(-1), std::expm1(-1)}),
      at<"selu">(0, {1.75809934084737686}),
      at<"selu">(2, {1.05070098735548049}),
      at<"selu">(-1, {1.75809934084737686 * std::exp(-1)}),
      at<"maximum">(2, 2, {.5, .5}),
      at<"maximum">(3, 2, {1, 0}),
      at<"maximum">(2, 3, {0, 1}),
      at<"maximum">(not_a_number, 2, {1, 0}),
      at<"maximum">(2, not_a_number, {0, 1}),
      at<"maximum">(not_a_number, not_a_number, {.5, .5}),
      at<"minimum">(2, 2, {.5, .5}),
      at<"minimum">(3, 2, {0, 1}),
      at<"minimum">(not_a_number, 2, {1, 0}),
      at<"minimum">(2, not_a_number, {0, 1}),
      at<"clip">(1, 1, 3, {1, 0, 0}),
      at<"clip">(3, 1, 3, {1, 0, 0}),
      at<"clip">(2, 1, 3, {1, 0, 0}),
      at<"clip">(0, 1, 3, {0, 1, 0}),
      at<"clip">(4, 1, 3, {0, 0, 1}),
      at<"clip">(not_a_number, 1, 3, {0, 0, 0}),
      at<"clip">(2, 3, 1, {0, 0, 1}),
      at<"fma">(2, 3, 5, {3, 2, 1}),
      at<"lerp">(2, 3, .25, {.75, .25, 1}),
      at<"lerp">(2, 5, 1.5, {-.5, 1.5, 3}),
  });
}

TEST_CASE("derivatives at singular points and at large arguments") {
  check_all({
      at<"sqrt">(0, {inf}),
      at<"rsqrt">(0, {-inf}),
      at<"cbrt">(0, {inf}),
      at<"hypot">(0, 0, {0, 0}),
      at<"hypot">(3, 4, {.6, .8}),
      at<"arctan2">(0, 0, {not_a_number, not_a_number}),
      at<"arctan2">(1, 2, {.4, -.2}),
      at<"arctan2">(1e30, 2e30, {4e-31, -2e-31}),
      at<"log">(0, {inf}),
      at<"log">(-1, {-1}),
      at<"logit">(0, {inf}),
      at<"logit">(1, {inf}),
      at<"logit">(.5, {4}),
      at<"arcsin">(1, {inf}),
      at<"arccos">(1, {-inf}),
      at<"arctanh">(1, {inf}),
      at<"arccosh">(1, {inf}),
      at<"power">(0, 0, {0, 0}),
      at<"power">(0, 1, {1, 0}),
      at<"power">(0, 2, {0, 0}),
      at<"power">(0, .5, {inf, 0}),
      at<"power">(0, -1, {-inf, -inf}),
      at<"power">(-2, 3, {12, not_a_number}),
      at<"power">(2, 3, {12, 8 * std::log(2.)}),
      at<"power">(2, 0, {0, std::log(2.)}),
      at<"mod">(-5, 3, {1, 2}),
      at<"mod">(5, 3, {1, -1}),
      at<"divide">(3, 4, {.25, -3. / 16}),
      at<"divide">(1, 0, {inf, -inf}),
      at<"kl_div">(0, 2, {-inf, 1}),
      at<"kl_div">(0, 0, {-inf, 1}),
      at<"kl_div">(2, 0, {-1, 1}),
      at<"kl_div">(-1, 1, {-1, 1}),
      at<"kl_div">(2, 2, {0, 0}),
      at<"kl_div">(not_a_number, 1, {not_a_number, not_a_number}),
      at<"kl_div">(1, not_a_number, {not_a_number, not_a_number}),
      at<"logaddexp">(-inf, -inf, {.5, .5}),
      at<"logaddexp">(inf, inf, {.5, .5}),
      at<"logaddexp">(inf, 2, {1, 0}),
      at<"logaddexp">(-inf, 2, {0, 1}),
      at<"logaddexp">(2, 2, {.5, .5}),
      at<"sigmoid">(1000, {0}),
      at<"sigmoid">(-1000, {0}),
      at<"sigmoid">(0, {.25}),
      at<"softplus">(-1000, {0}),
      at<"softplus">(0, {.5}),
      at<"softplus">(1000, {1}),
      at<"softplus">(inf, {1}),
      at<"silu">(-1000, {0}),
      at<"silu">(1000, {1}),
      at<"gelu">(-1000, {0}),
      at<"gelu">(1000, {1}),
      at<"tanh">(100, {0}),
      at<"expm1">(-1e-5, {std::exp(-1e-5)}),
      at<"expm1">(-30, {std::exp(-30.)}),
  });
}

TEST_CASE("derivatives at ordinary points agree with published or closed values") {
  check_all({
      at<"gelu">(0, {.5}),
      at<"gelu">(1, {1.0833154705876864}),
      at<"silu">(0, {.5}),
      at<"silu">(1, {.92767051187148673}),
      at<"softsign">(-1, {.25}),
      at<"square">(3, {6}),
      at<"squared_difference">(5, 2, {6, -6}),
      at<"reciprocal">(-2, {-.25}),
      at<"rsqrt">(4, {-.0625}),
      at<"cbrt">(8, {1. / 12}),
      at<"exp2">(3, {8 * std::log(2.)}),
      at<"log2">(4, {1 / (4 * std::log(2.))}),
      at<"log10">(10, {1 / (10 * std::log(10.))}),
      at<"log1p">(1, {.5}),
      at<"sin">(1, {std::cos(1.)}),
      at<"cos">(1, {-std::sin(1.)}),
      at<"tan">(1, {1 + std::tan(1.) * std::tan(1.)}),
      at<"arcsin">(.6, {1.25}),
      at<"arccos">(.6, {-1.25}),
      at<"arctan">(2, {.2}),
      at<"sinh">(1, {std::cosh(1.)}),
      at<"cosh">(1, {std::sinh(1.)}),
      at<"tanh">(.5, {1 - std::tanh(.5) * std::tanh(.5)}),
      at<"arcsinh">(.75, {.8}),
      at<"arccosh">(1.25, {4. / 3}),
      at<"arctanh">(.5, {4. / 3}),
      at<"erf">(1, {.41510749742059472}),
      at<"erfc">(1, {-.41510749742059472}),
      at<"logaddexp">(1, 3, {1 / (1 + std::exp(2.)), 1 / (1 + std::exp(-2.))}),
  });
}

TEST_CASE("lgamma, digamma and polygamma are derivatives of each other") {
  check_all({
      at<"lgamma">(1, {-.57721566490153286}),
      at<"digamma">(1, {1.6449340668482264}),
      at<"polygamma">(0, 2, {0, .64493406684822644}),
      at<"polygamma">(1, 1, {0, -2.4041138063191886}),
  });
}
