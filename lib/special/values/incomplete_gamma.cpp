// Incomplete gamma functions in double. By regions:
// 1. a >= 30 and x within 0.3 a of a: Temme's expansion, uniform about x = a (DLMF 8.12; Temme 1979).
// 2. x < a + 1: P by its series, the power times the sum of x^n / (a + 1)_n (DLMF 8.11.4).
// 3. Q of a < 1/2 and x < 1.1: the difference of 1 and that series without its first term (DiDonato, Morris 1986, 4.3).
// 4. Otherwise Q by its continued fraction (DLMF 8.9.2).
// Regions as in Gil, Segura, Temme 2012. The far tails of large a, whose power needs a longer exponent than double has,
// are left to the general method.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/table.hpp"
#include "special/values/values.hpp"

namespace reel::kernels::special::values {

namespace {

constexpr double pi = 3.14159265358979323846;

/// (1 / Gamma(1 + t) - 1) / t for |t| <= 1/2: interpolated at Chebyshev points, to 6e-19.
double reciprocal_gamma_part(double t) {
  constexpr double c[] = {
      0.5772156649015328612,     -0.6558780715202538811,   -0.04200263503409551524,    0.1665386113822915135,
      -0.04219773455552083909,   -0.009621971527878989861, 0.007218943245911071781,    -0.00116516759179449747,
      -0.0002152416622946765442, 0.0001280502813722699188, -0.00002013495568503960125, -1.25048479649271597e-6,
      1.133504548062679282e-6,   -2.056750434568255084e-7, 4.939580133523849467e-9,    5.104149841716327621e-9};
  return horner(t, c);
}
/// The parameter from which Stirling's series is taken: 8 terms are enough.
constexpr double stirling_from = 10;
/// lgamma(a) - ((a - 1/2) log a - a + log(2 pi) / 2) (DLMF 5.11.1).
double stirling_rest(double a) {
  constexpr double c[] = {1 / 12.0,   -1 / 360.0,      1 / 1260.0, -1 / 1680.0,
                          1 / 1188.0, -691 / 360360.0, 1 / 156.0,  -3617 / 122400.0};
  const double inverse = 1 / a;
  return horner(inverse * inverse, c) * inverse;
}

/// x^a e^-x / Gamma(a + 1), a < stirling_from.
double power_of_small(double a, double x) {
  const double whole = std::floor(a + 0.5), t = a - whole;
  double factorial = 1;  // (1 + t) ... (whole + t)
  for (double k = 0; k < whole; ++k) factorial *= a - k;
  constexpr double half_from = 700;  // from here on exp(-x) may underflow before it is multiplied
  const double half = x < half_from ? 1 : std::exp(-x / 2), rest = x < half_from ? std::exp(-x) : half;
  return std::pow(x, a) * half * ((1 + t * reciprocal_gamma_part(t)) / factorial) * rest;
}
/// The same for larger a: (x / a)^a e^(a - x) / sqrt(2 pi a) without the rest of Stirling's series. The rounding errors
/// of x / a and a - x are made good: they would be multiplied by a, or be relative to e^(a - x).
double power_of_large(double a, double x) {
  constexpr double apart_max = 600, power_min = 1e-250, power_max = 1e250;  // well inside double
  constexpr double underflow = 800;
  const double apart = a - x, ratio = x / a, power = std::pow(ratio, a);
  if (!(std::abs(apart) < apart_max && power > power_min && power < power_max))
    return -apart - a * std::log(ratio) > underflow ? 0 : left;
  const double back = a - apart, lost = (a - (apart + back)) + (back - x);  // of a - x
  const double rest = stirling_rest(a), exponent = apart - rest;
  const double low = ((apart - exponent) - rest) + lost + std::fma(-ratio, a, x) / ratio;
  const double y = power * (std::exp(exponent) / std::sqrt(2 * pi * a));
  return y + y * low;
}
double gamma_power(double a, double x) { return a < stirling_from ? power_of_small(a, x) : power_of_large(a, x); }

constexpr double largest = 1e15;  // of arguments: from here on a + 1 loses digits
constexpr int terms_max = 4000;
/// `least` above this: nine digits are asked for.
constexpr double rough_from = 1e-10;

/// The sum of x^n / (a + 1)_n: four terms for each division.
double p_series(double a, double x, double least) {
  double term = 1, sum = 1, r = a;
  const double x2 = x * x;
  for (int n = 0; n < terms_max; n += 4, r += 4) {
    const double r1 = r + 1, r2 = r + 2, r3 = r + 3, r4 = r + 4, below = term / (r1 * r2 * (r3 * r4));
    sum += x * (r2 * r3 * r4 + x * (r3 * r4 + x * (r4 + x))) * below;
    term = x2 * x2 * below;
    if (term * (x + r4) <= least * r4 * sum) return sum;
  }
  return left;
}

/// a times the power over Q(a, x) = x + 1 - a + a_1 / (b_1 + a_2 / (b_2 + ...)), a_n = n (a - n), b_n = x + 2 n + 1 -
/// a: convergents by the recurrence, two terms for each step.
double q_fraction(double a, double x, double least) {
  constexpr double small = 1e-150;    // of the convergents' parts, which grow as n!
  constexpr double rounding = 4e-16;  // of convergents: the next are nearer by much
  const double b0 = x + 1 - a;
  double above_before = small, above = b0 * small, below_before = 0, below = small, last = b0;
  for (int n = 1; n < terms_max;) {
    for (int i = 0; i < 2; ++i, n += 2) {
      const double k = n, a1 = k * (a - k), a2 = (k + 1) * (a - k - 1), b1 = b0 + 2 * k, b2 = b1 + 2;
      const double here = b2 * b1 + a2, before = b2 * a1;
      const double above_next = b1 * above + a1 * above_before, below_next = b1 * below + a1 * below_before;
      above = here * above + before * above_before, below = here * below + before * below_before;
      above_before = above_next, below_before = below_next;
    }
    const double now = above / below;
    if (std::abs(now - last) <= std::max(least, rounding) * now) return now;
    last = now;
  }
  return left;
}

/// The same for a < 2 by the fraction of which the other is the even part (DLMF 8.9.2), x + (1 - a) / (1 + 1 / (x +
/// (2 - a) / (1 + 2 / (x + ...)))), backwards: its terms are positive but perhaps one, so that errors do not grow. The
/// n-th convergent errs by about exp(-4 sqrt(n x)).
double q_fraction_of_small(double a, double x, double least) {
  const double squared = least < rough_from ? 98 : 27;  // (log(least) / 4)^2
  double tail = x;
  for (double n = std::ceil(squared / x) + 3; n > 0; --n) tail = x + (n - a) * (tail / (tail + n));
  return tail;
}

/// Q(a, x) for a < 1/2 and x < 1.1, where P is close to 1.
double q_small(double a, double x) {
  double sum = 0, power = 1;
  for (int n = 1; n < 24; ++n) {  // 1.1^24 / 24! is below 2e-23
    power *= x / -n;
    sum -= power / (a + n);
  }
  const double exponent = a * std::log(x) + std::log1p(a * reciprocal_gamma_part(a)), e = std::expm1(exponent);
  return a * (1 + e) * sum - e;
}

constexpr double temme_from = 30, temme_within = 0.3;
/// The exponent up to which exp(-y^2) keeps 1e-14.
constexpr double temme_exponent_max = 64;

/// eta^2 / 2 = m - log(1 + m), |m| <= 0.3, by the series of log(1 + m) = 2 atanh(s).
double half_eta_square(double m) {
  constexpr double c[] = {1 / 3.0,  1 / 5.0,  1 / 7.0,  1 / 9.0,  1 / 11.0, 1 / 13.0,
                          1 / 15.0, 1 / 17.0, 1 / 19.0, 1 / 21.0, 1 / 23.0};
  const double s = m / (2 + m), square = s * s;
  return s * (m - 2 * square * horner(square, c));
}
/// The sum of c_k(eta) / a^k; c_k by its power series (DLMF 8.12.12), whose terms below 1e-17 at a = 30 are left out.
double temme_sum(double eta, double inverse) {
  constexpr double d[] = {
      -0.333333333333333333,     0.0833333333333333333,     -0.0148148148148148148,    0.00115740740740740741,
      0.0003527336860670194,     -0.000178755144032921811,  0.0000391926317852243778,  -2.18544851067999216e-6,
      -1.85406221071515996e-6,   8.29671134095308601e-7,    -1.76659527368260793e-7,   6.70785354340149858e-9,
      1.0261809784240308e-8,     -4.38203601845335319e-9,   9.14769958223679023e-10,   -0.00185185185185185185,
      -0.00347222222222222222,   0.0026455026455026455,     -0.000990226337448559671,  0.000205761316872427984,
      -4.01877572016460905e-7,   -0.0000180985503344899778, 7.64916091608111008e-6,    -1.6120900894563446e-6,
      4.64712780280743434e-9,    1.37863344691572096e-7,    -5.75254560351770496e-8,   1.19516285997781473e-8,
      0.0041335978835978836,     -0.00268132716049382716,   0.000771604938271604938,   2.00938786008230453e-6,
      -0.000107366532263651605,  0.0000529234488291201254,  -0.0000127606351886187277, 3.42357873409613807e-8,
      1.37219573090629332e-6,    -6.29899213838005502e-7,   1.42806142060642418e-7,    -2.0477098421990866e-10,
      -1.40925299108675211e-8,   0.000649434156378600823,   0.000229472093621399177,   -0.000469189494395255712,
      0.000267720632062838853,   -0.0000756180167188397641, -2.39650511386729665e-7,   0.0000110826541153473024,
      -5.67495282699159657e-6,   1.42309007324358839e-6,    -2.78610802915281422e-11,  -1.69584040919302773e-7,
      8.09946490538808236e-8,    -0.000861888290916711699,  0.000784039221720066627,   -0.00029907248030319018,
      -1.46384525788434182e-6,   0.0000664149821546512219,  -0.0000396836504717943466, 0.0000113757269706784191,
      2.5074972262375328e-10,    -1.6954149536558306e-6,    8.90750753220530969e-7,    -0.00033679855336635815,
      -0.0000697281375836585777, 0.000277275324495939208,   -0.000199325705161888477,  0.0000679778047793720784,
      1.41906292064396701e-7,    -0.0000135940481897686933, 8.01847025633420154e-6,    -2.29148117650809517e-6,
      0.000531307936463992223,   -0.000592166437353693883,  0.000270878209671804483,   7.90235323266032787e-7,
      -0.0000815396936756196875, 0.0000561168275310624965,  -0.0000183291165828433756, 0.000344367606892377671,
      0.0000517179090826059219,  -0.000334931610811422363,  0.000281269515476323702,   -0.00010976582244684731,
      -0.000652623918595309419,  0.00083949872067208728,    -0.000438297098541721005,  -0.00059676129019274625};
  constexpr int sizes[] = {15, 13, 13, 12, 10, 9, 7, 5, 3, 1};
  const double* row = d + std::size(d);
  double sum = 0;
  for (int k = static_cast<int>(std::size(sizes)); k-- > 0;) {
    row -= sizes[k];
    double c = row[sizes[k] - 1];
    for (int n = sizes[k] - 1; n-- > 0;) c = c * eta + row[n];
    sum = sum * inverse + c;
  }
  return sum;
}
/// P or Q. `exponent` is a eta^2 / 2.
double temme(double a, double m, double half, bool upper) {
  const double eta = std::copysign(std::sqrt(2 * half), m), y = std::copysign(std::sqrt(a * half), m);
  const double rest = std::exp(-a * half) / std::sqrt(2 * pi * a) * temme_sum(eta, 1 / a);
  return upper ? std::erfc(y) / 2 + rest : std::erfc(-y) / 2 - rest;
}

/// `power` is 0, or gamma_power(a, x).
double of_numbers(double a, double x, double power, bool upper, double least) {
  constexpr double small_a = 0.5, small_x = 1.1, small_fraction = 2;
  if (!(a > 0 && x > 0 && a < largest && x < largest)) return left;
  if (a >= temme_from && std::abs(x - a) < temme_within * a) {
    const double m = (x - a) / a, half = half_eta_square(m);
    if (a * half < temme_exponent_max) return temme(a, m, half, upper);
  }
  if (upper && a < small_a && x < small_x) return q_small(a, x);
  const bool below = x < (upper && a < small_a ? small_x : a + 1);
  if (power == 0) power = gamma_power(a, x);
  if (!(power > 0)) return std::isnan(power) ? left : below == upper ? 1 : 0;
  if (below) {
    const double p = power * p_series(a, x, least);
    return upper ? 1 - p : p;
  }
  const double q = a * power / (a < small_fraction ? q_fraction_of_small : q_fraction)(a, x, least);
  return upper ? q : 1 - q;
}

/// gamma_power with some nine digits, for float32: by logarithms, on vectors. 0 where it has fewer.
void rough_powers(const double* a, const double* x, double* power, std::ptrdiff_t n) {
  constexpr double a_max = 1e5, power_min = 1e-300;  // the parts of the exponent are of the size of a log a
  double logs[block];
  const auto apply = [n](kernels::Loop loop, const double* from, double* to) {
    const Strided in{from, 1};
    loop(&in, to, n);
  };
  apply(pointwise(index_of<"log">(), DType::float64).value, x, logs);
  for (std::ptrdiff_t i = 0; i < n; ++i) power[i] = a[i] + 1;
  apply(pointwise(index_of<"lgamma">(), DType::float64).value, power, power);
  for (std::ptrdiff_t i = 0; i < n; ++i) power[i] = a[i] * logs[i] - x[i] - power[i];
  apply(pointwise(index_of<"exp">(), DType::float64).value, power, power);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (!(a[i] < a_max && power[i] > power_min)) power[i] = 0;
}

}  // namespace

void incomplete_gamma(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least) {
  const bool upper = f == Function::gammaincc;
  double power[block] = {};
  if (least > rough_from) rough_powers(in[0], in[1], power, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = of_numbers(in[0][i], in[1][i], power[i], upper, least);
}

/// The density a / x times the power, if that is far from underflow.
void gamma_slope(Function f, const double* const* in, double* out, std::ptrdiff_t n, double least) {
  constexpr double power_min = 1e-250;
  const double sign = f == Function::gammaincc ? -1 : 1;
  double power[block] = {};
  if (least > rough_from) rough_powers(in[0], in[1], power, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double a = in[0][i], x = in[1][i];
    if (power[i] == 0) power[i] = a > 0 && x > 0 && a < largest ? gamma_power(a, x) : left;
    out[i] = power[i] > power_min ? sign * a * power[i] / x : left;
  }
}

}  // namespace reel::kernels::special::values
