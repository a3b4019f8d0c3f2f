// Bessel functions of order 0 and 1 on vectors against those in long double, on every instruction set of this machine:
// at most 4 units in the last place, derivatives 8; of J and Y units of at least half the envelope sqrt(2 / (pi x)), as
// near their zeros terms cancel.
#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "special/bessel/kernels.hpp"
#include "special/table.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr int functions = static_cast<int>(bessel_count);

special::Function function_at(int k) {
  constexpr special::Function all[] = {
#define REEL_FUNCTION(name) special::Function::name,
      REEL_BESSEL_FUNCTIONS(REEL_FUNCTION)
#undef REEL_FUNCTION
  };
  return all[k];
}
std::string_view name_of(int k) { return special::signature(function_at(k)).name; }
bool oscillates(int k) { return name_of(k)[0] == 'j' || name_of(k)[0] == 'y'; }
bool is_even_or_odd(int k) { return name_of(k)[0] == 'i' || name_of(k)[0] == 'j'; }

template <class T>
Loop loop_of(const Set& set, int k, int order) {
  const Bessel& b = set.get<BesselKernels>().of(static_cast<BesselFunction>(k), reel::dtype_of<T>);
  return order == 0 ? b.value : b.derivative;
}
template <class T>
std::vector<T> evaluate(Loop loop, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const Strided in{x.data(), 1};
  loop(&in, y.data(), static_cast<std::ptrdiff_t>(x.size()));
  return y;
}
std::vector<double> in_long_double(int k, int order, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const void* in[] = {x.data()};
  special::evaluate(function_at(k), &order, in, y.data(), static_cast<std::ptrdiff_t>(x.size()), DType::float64);
  return y;
}
std::vector<double> logarithmic(double low, double high, std::size_t n, std::mt19937_64& random) {
  std::vector<double> x(n);
  for (double& v : x) v = std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  return x;
}

// The largest error in units of the last place of T.
template <class T>
double error(int k, const std::vector<T>& x, const std::vector<T>& got, const std::vector<double>& wanted) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T rounded = static_cast<T>(wanted[i]);
    if (got[i] == rounded || (std::isnan(got[i]) && std::isnan(rounded))) continue;
    double size = std::abs(wanted[i]);
    if (oscillates(k)) size = std::max(size, 0.5 * std::sqrt(2 / (3.14159265358979 * static_cast<double>(x[i]))));
    size = std::max(size, static_cast<double>(std::numeric_limits<T>::min()));
    const double unit = std::ldexp(1.0, std::ilogb(size) + 1 - std::numeric_limits<T>::digits);
    const double e = std::abs(static_cast<double>(got[i]) - wanted[i]) / unit;
    worst = e <= worst ? worst : e;  // infinite and NaN count
  }
  return worst;
}

/// Where errors of j1, y1 and k1 were the largest of 6500 draws.
constexpr std::array worst_found = {9.844465461074547,  12.164041168242976, 12.809818043150129, 17.916066733975086,
                                    24.995273368359509, 53.661297066629324, 288.85413513329621, 461.65726935376671};

template <class T>
void check_accuracy(const Set& set) {
  std::mt19937_64 random(7);
  const double ends[] = {1e-30, 1e-3, 0.5, 1, 2, 5, 8, 40, 690, 1e4, 1e9};
  for (std::size_t r = 0; r + 1 < std::size(ends); ++r) {
    std::vector<double> drawn = logarithmic(ends[r], ends[r + 1], 203, random);
    if (ends[r] == 8) drawn.insert(drawn.end(), worst_found.begin(), worst_found.end());
    const std::vector<T> x(drawn.begin(), drawn.end());
    const std::vector<double> exact(x.begin(), x.end());
    for (int k = 0; k < functions; ++k) {
      for (int order = 0; order < 2; ++order) {
        const Loop loop = loop_of<T>(set, k, order);
        const bool grows = name_of(k) == "i0" || name_of(k) == "i1";
        if (loop == nullptr || (grows && ends[r + 1] > 690)) continue;  // overflow is tested below
        INFO(set.isa << ", " << name_of(k) << ", order " << order << ", x from " << ends[r]);
        const double most = sizeof(T) == 4 ? 1 : order == 1 ? 8 : 4;
        CHECK(error(k, x, evaluate(loop, x), in_long_double(k, order, exact)) <= most);
      }
    }
  }
}

}  // namespace

TEST_CASE("vectorised Bessel functions agree with long double") {
  for (const Set* set : supported_sets()) {
    check_accuracy<double>(*set);
    check_accuracy<float>(*set);
  }
}

TEST_CASE("vectorised Bessel functions at the ends of their domains") {
  struct End {
    const char* name;
    double x, value, slope;
  };
  const End ends[] = {
      {"i0", 0, 1, 0},
      {"i0", infinity, infinity, infinity},
      {"i0", 800, infinity, infinity},
      {"i1", 0, 0, 0.5},
      {"i1", infinity, infinity, infinity},
      {"i1", 1e5, infinity, infinity},
      {"i0e", infinity, 0, not_a_number},
      {"i1e", infinity, 0, not_a_number},
      {"k0", 0, infinity, -infinity},
      {"k0", -1, not_a_number, not_a_number},
      {"k0", infinity, 0, 0},
      {"k0", 1e5, 0, 0},
      {"k1", 0, infinity, -infinity},
      {"k0", -0.0, infinity, -infinity},
      {"k1", -0.0, infinity, -infinity},
      {"y0", -0.0, -infinity, infinity},
      {"y1", -0.0, -infinity, infinity},
      {"k1", -1, not_a_number, not_a_number},
      {"k1", 1e-320, infinity, -infinity},
      {"k1e", infinity, 0, not_a_number},
      {"k0e", 0, infinity, not_a_number},
      {"j0", infinity, 0, 0},
      {"j1", 0, 0, 0.5},
      {"j1", infinity, 0, 0},
      {"y0", 0, -infinity, infinity},
      {"y0", -1, not_a_number, not_a_number},
      {"y0", infinity, 0, 0},
      {"y1", 0, -infinity, infinity},
      {"y1", 1e-320, -infinity, infinity},
      {"y1", -1, not_a_number, not_a_number},
  };
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (const Set* set : supported_sets()) {
    for (int k = 0; k < functions; ++k) {
      const Loop value = loop_of<double>(*set, k, 0), slope = loop_of<double>(*set, k, 1);
      INFO(set->isa << ", " << name_of(k));
      CHECK(std::isnan(evaluate<double>(value, {not_a_number})[0]));
      for (const End& e : ends) {
        if (e.name != name_of(k)) continue;
        INFO("x is " << e.x);
        CHECK(same(evaluate<double>(value, {e.x})[0], e.value));
        if (slope != nullptr) CHECK(same(evaluate<double>(slope, {e.x})[0], e.slope));
      }
      if (!is_even_or_odd(k)) continue;
      const bool odd = name_of(k)[1] == '1';
      for (const double x : {0., 0.3, 3., 7., 30.}) {
        const double right = evaluate<double>(value, {x})[0], left = evaluate<double>(value, {-x})[0];
        CHECK(left == (odd ? -right : right));
        CHECK(std::signbit(left) == (odd != std::signbit(right)));
      }
    }
  }
}

TEST_CASE("vectorised Bessel functions give an element the same bits in every lane") {
  std::mt19937_64 random(11);
  const std::vector<double> x = logarithmic(0.01, 100, 67, random);
  for (const Set* set : supported_sets()) {
    for (int k = 0; k < functions; ++k) {
      const std::vector<double> all = evaluate(loop_of<double>(*set, k, 0), x);
      for (std::size_t i = 0; i < x.size(); i += 5)
        CHECK(evaluate<double>(loop_of<double>(*set, k, 0), {x[i]})[0] == all[i]);
    }
  }
}

TEST_CASE("vectorised Bessel functions in the floating-point environment of their host") {
  std::mt19937_64 random(13);
  std::vector<double> x = logarithmic(1e-3, 500, 203, random);
  x[5] = x[100] = infinity;
  const auto evaluated = [&](Loop loop, int mode) {
    std::fesetround(mode);
    std::vector<double> y = evaluate(loop, x);
    std::fesetround(FE_TONEAREST);
    return y;
  };
  for (const Set* set : supported_sets()) {
    for (int k = 0; k < functions; ++k) {
      for (int order = 0; order < 2; ++order) {
        const Loop loop = loop_of<double>(*set, k, order);
        if (loop == nullptr) continue;
        INFO(set->isa << ", " << name_of(k) << ", order " << order);
        std::feclearexcept(FE_ALL_EXCEPT);
        const std::vector<double> nearest = evaluate(loop, x);
        CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO) == 0);
        for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
          const std::vector<double> other = evaluated(loop, mode);
          double worst = 0;
          for (std::size_t i = 0; i < x.size(); ++i) {
            if (other[i] == nearest[i]) continue;
            const double e =
                std::abs(other[i] - nearest[i]) / (oscillates(k) ? 1 : std::max(std::abs(nearest[i]), 1e-300));
            worst = e <= worst ? worst : e;
          }
          CHECK(worst <= 1e-8);
        }
      }
    }
  }
}
