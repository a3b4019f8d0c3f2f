#include "stats/variates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/make/philox.hpp"

namespace reel::loops {
namespace {

// The random blocks of one element. Draws of the generator have a counter whose upper half is 0; here its words are the
// number of the block and 1 plus the number of the element among those that share a position.
class ElementStream {
 public:
  ElementStream(RandomStream from, std::int64_t element, std::int64_t per_block)
      : key_{word(from.seed), word(from.seed >> 32)},
        position_(from.first + static_cast<std::uint64_t>(element / per_block)),
        own_(static_cast<std::uint32_t>(element % per_block) + 1) {}
  std::array<std::uint64_t, 2> next() {
    const Bits128 r = philox({word(position_), word(position_ >> 32), count_++, own_}, key_);
    return {r[0] | std::uint64_t{r[1]} << 32, r[2] | std::uint64_t{r[3]} << 32};
  }

 private:
  static std::uint32_t word(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
  std::array<std::uint32_t, 2> key_;
  std::uint64_t position_;
  std::uint32_t own_, count_ = 0;
};

// value * exp(log_factor), log_factor <= 0.
struct ScaledVariate {
  double value, log_factor;
  double number() const { return log_factor == 0 ? value : value * portable_exp(log_factor); }
  double logarithm() const { return portable_log(value) + log_factor; }
};

// Of a rejection; each fails with a probability below 2/3, so that all of them never do.
constexpr int attempts_max = 1000;

// Marsaglia, Tsang 2000: d (1 + c x)^3 with normal x is accepted with a probability above 0.95; for a < 1 a variate of
// shape a + 1 times u^(1 / a).
ScaledVariate gamma_variate(ElementStream& stream, double a) {
  double log_factor = 0;
  if (a < 1) {
    log_factor = std::max(portable_log(open_unit(stream.next()[0])) / a, -std::numeric_limits<double>::max() / 4);
    a += 1;
  }
  const double d = a - 1. / 3, c = 1 / (3 * std::sqrt(d));
  for (int i = 0; i < attempts_max; ++i) {
    const auto bits = stream.next();
    const double x = normal_quantile(open_unit(bits[0])), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = open_unit(bits[1]), square = x * x;
    if (u < 1 - 0.0331 * square * square) return {d * v, log_factor};
    if (portable_log(u) < 0.5 * square + d * (1 - v + portable_log(v))) return {d * v, log_factor};
  }
  return {std::numeric_limits<double>::quiet_NaN(), 0};
}

// g / (g + h) of gamma variates, by the logarithm of h / g: the factors may underflow.
double beta_variate(ElementStream& stream, double a, double b) {
  const ScaledVariate g = gamma_variate(stream, a), h = gamma_variate(stream, b);
  if (g.log_factor == 0 && h.log_factor == 0) return g.value / (g.value + h.value);
  const double t = h.logarithm() - g.logarithm(), e = portable_exp(-std::fabs(t));
  return t > 0 ? e / (1 + e) : 1 / (1 + e);
}

// x / sqrt(g / (df / 2)) with normal x.
double student_variate(ElementStream& stream, double df) {
  const double x = normal_quantile(open_unit(stream.next()[0]));
  const double half = std::max(0.5 * df, std::numeric_limits<double>::denorm_min());
  const ScaledVariate g = gamma_variate(stream, half);
  return x * std::sqrt(half / g.value) / portable_exp(0.5 * g.log_factor);
}

// atan(x) to 2 ulp: by its series after two halvings, atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))).
double portable_atan(double x) {
  const bool steep = std::fabs(x) > 1;
  double t = steep ? 1 / x : x;
  for (int i = 0; i < 2; ++i) t = t / (1 + std::sqrt(1 + t * t));
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = 1. / k - t * t * sum;
  const double y = 4 * t * sum;
  return steep ? std::copysign(1.5707963267948966, x) - y : y;
}

// Best, Fisher 1979, from a wrapped Cauchy distribution of parameter rho: tan(x / 2) is a Cauchy variate, the quotient
// of a point in the unit disc, times (1 - rho) / (1 + rho). In terms that do not cancel for small and large kappa.
double angle_variate(ElementStream& stream, double kappa) {
  constexpr double square_max = 1e150;  // numbers whose square, times 4, is finite
  // The distribution of sqrt(kappa) times the angle is normal, but for a relative difference of some 1 / kappa.
  if (kappa > square_max) return normal_quantile(open_unit(stream.next()[0])) / std::sqrt(kappa);
  const double hypotenuse = std::sqrt(1 + 4 * kappa * kappa), tau = 1 + hypotenuse;
  const double root = std::sqrt(2 * tau), sum = tau + root;  // rho = 2 kappa / sum
  const double rest = (root + 1 + 1 / (hypotenuse + 2 * kappa)) / sum, slope = rest / (1 + 2 * kappa / sum);
  const double at_mode = 0.25 * sum * rest * rest;
  for (int i = 0; i < attempts_max; ++i) {
    const auto point = stream.next();
    const double x = 2 * open_unit(point[0]) - 1, y = 2 * open_unit(point[1]) - 1;
    if (x * x + y * y > 1) continue;
    const double t = slope * y / x, c = at_mode + kappa * (2 * t * t / (1 + t * t));
    const double u = open_unit(stream.next()[0]);
    if (c * (2 - c) > u || portable_log(c / u) + 1 - c >= 0) return 2 * portable_atan(t);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double variate(Variate v, ElementStream& stream, double a, double b) {
  if (v == Variate::von_mises && a == 0) return angle_variate(stream, 0);
  if (!(a > 0 && b > 0) || std::isinf(a) || std::isinf(b)) return std::numeric_limits<double>::quiet_NaN();
  switch (v) {
    case Variate::gamma:
      return gamma_variate(stream, a).number();
    case Variate::log_gamma:
      return gamma_variate(stream, a).logarithm();
    case Variate::beta:
      return beta_variate(stream, a, b);
    case Variate::student_t:
      return student_variate(stream, a);
    default:
      return angle_variate(stream, a);
  }
}

template <class T>
void draw(Variate v, RandomStream from, std::span<const Tensor* const> parameters, const Tensor& y) {
  Tensor scratch[2];
  const T* at[2] = {};
  for (std::size_t k = 0; k < 2; ++k)
    at[k] = reinterpret_cast<const T*>(
        detail::block(contiguous(*parameters[std::min(k, parameters.size() - 1)], scratch[k]))->data);
  T* const to = detail::mutable_data<T>(y);
  constexpr std::int64_t per_block = sizeof(T) == 8 ? 2 : 4;
  parallel_for(y.size(), tuning::random_grain / 4, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ElementStream stream(from, i, per_block);
      to[i] = static_cast<T>(variate(v, stream, at[0][i], at[1][i]));
    }
  });
}

}  // namespace

void draw_variate(Variate v, RandomStream from, std::span<const Tensor* const> parameters, const Tensor& y) {
  visit_among<float, double>(y.dtype(), [&]<class T>() { draw<T>(v, from, parameters, y); });
}

}  // namespace reel::loops
