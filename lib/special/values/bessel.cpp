// Spherical Bessel functions of the first kind, of whole orders, and Airy's Ai in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/table.hpp"
#include "special/values/values.hpp"

namespace reel::kernels::special::values {

namespace {

// ---- Spherical functions

/// j_n(x) for x^2 <= 4 n + 6, by its power series (DLMF 10.53.1).
double spherical_series(int n, double x, double least) {
  double power = 1;  // x^n / (2 n + 1)!!
  for (int k = 1; k <= n; ++k) power *= x / (2 * k + 1);
  const double z = x * x / -2;
  double term = 1, sum = 1;
  for (int k = 1; std::abs(term) > least; ++k) sum += term *= z / (k * (2.0 * (n + k) + 1));
  return power * sum;
}
/// By j_(k+1) = (2 k + 1) / x j_k - j_(k-1), stable up to order x.
double spherical_upward(int n, double x, double s, double c) {
  const double inverse = 1 / x;
  double before = s * inverse, now = (before - c) * inverse;
  for (int k = 1; k < n; ++k) {
    const double next = (2 * k + 1) * inverse * now - before;
    before = now, now = next;
  }
  return now;
}
/// The terms of the series cancel by at most exp(x^2 / (2 n)). For other arguments below a large order the general
/// method runs the recurrence downwards.
double spherical(int n, double x, double s, double c, double least) {
  constexpr int small_order = 12;
  if (n < x && x * x > 4 * n + 6) return spherical_upward(n, x, s, c);
  return x * x <= 4 * n + 6 || n <= small_order ? spherical_series(n, x, least) : left;
}

/// A recurrence takes a step for each order.
constexpr double order_max = 1000;

/// Elements of one order.
void of_order(int n, const double* x, double* out, std::ptrdiff_t count, double least) {
  double s[block], c[block];
  const Strided in{x, 1};
  pointwise(index_of<"sin">(), DType::float64).value(&in, s, count);
  if (n == 0) {
    for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = s[i] / x[i];
    return;
  }
  pointwise(index_of<"cos">(), DType::float64).value(&in, c, count);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const double y = spherical(n, std::abs(x[i]), std::copysign(s[i], s[i] * x[i]), c[i], least);
    out[i] = x[i] < 0 && n % 2 == 1 ? -y : y;
  }
}

// ---- Ai

/// y by its Taylor series about the nearest whole number, -10.5 <= x <= 2.5: the coefficients follow from y'' = x y.
double airy_near(double x) {
  // Ai and Ai' at 2, 1, ..., -10
  constexpr double table[][2] = {
      {0.0349241304232743791, -0.0530903844336536317}, {0.135292416312881416, -0.159147441296793213},
      {0.355028053887817239, -0.258819403792806798},   {0.535560883292352119, -0.0101605671166452094},
      {0.227407428201685576, 0.618259020741691041},    {-0.378814293677658074, 0.314583769216598814},
      {-0.0702655329492895151, -0.79062857536858138},  {0.35076100902411432, 0.327192818554443137},
      {-0.329145173629823105, 0.345935487281342895},   {0.184280835250505637, -0.771008168410126548},
      {-0.0527050503563862026, 0.935560938198306551},  {-0.0221337215473414037, -0.975663980926331595},
      {0.0402412384864431907, 0.996265044132790056}};
  constexpr int terms = 24;
  constexpr auto reciprocals = [] {
    std::array<double, terms> r{};
    for (int k = 0; k < terms; ++k) r[static_cast<std::size_t>(k)] = 1.0 / ((k + 1) * (k + 2));
    return r;
  }();
  const double at = std::nearbyint(x), h = x - at, h2 = h * h, at_h2 = at * h2, h3 = h2 * h;
  const double* row = table[2 - static_cast<int>(at)];
  double before = 0, now = row[0], next = row[1] * h, sum = 0;  // terms
  for (const double r : reciprocals) {
    const double after = (at_h2 * now + h3 * before) * r;
    sum += after;
    before = now, now = next, next = after;
  }
  return row[0] + (row[1] * h + sum);
}

/// 2 / 3 x^(3/2) as a sum of two numbers: its rounding error is relative to the exponential, and absolute in sines.
struct Exponent {
  double high, low, root;  // root: of x
};
Exponent airy_exponent(double x) {
  const double root = std::sqrt(x), lost_root = std::fma(-root, root, x) / (2 * root);
  const double power = x * root, lost = std::fma(x, root, -power) + x * lost_root;
  const double high = power * 2 / 3;
  return {high, (std::fma(-3, high, 2 * power) + 2 * lost) / 3, root};
}

/// x > 2.5: e^-zeta / (2 sqrt(pi) x^(1/4)) times a function of 1 / zeta that is 1 at 0 (DLMF 9.7.5), interpolated at
/// Chebyshev points on both sides of x = 5, to 1e-17.
double airy_decaying(double x) {
  constexpr double near[] = {0.9841406638270533072,     -6.801061954308412794e-3,  3.070364566102323653e-4,
                             -2.316672738616370476e-5,  2.310135430206821137e-6,   -2.764837677545111909e-7,
                             3.773956069000872185e-8,   -5.696011328668857346e-9,  9.31333921352678412e-10,
                             -1.626762676533133457e-10, 3.00165105322792499e-11,   -5.725203994729389169e-12,
                             1.151308648951738042e-12,  -2.937271830012587692e-13, 6.39854044814630514e-14};
  constexpr double far[] = {0.9954981887004593761,     -4.354669658356620472e-3,  1.384335028770160846e-4,
                            -7.98212509095132243e-6,   6.49444277005193577e-7,    -6.694183574142553262e-8,
                            8.236832931456624478e-9,   -1.165439555769407404e-9,  1.848477939277062828e-10,
                            -3.228693839680256284e-11, 6.118755366526361677e-12,  -1.217313359397489944e-12,
                            2.623428556920181056e-13,  -7.836792677498997083e-14, 1.928995946943714277e-14};
  constexpr double middle = 0.13416407864998738178, end = 0.37947331922020551984;  // 1 / zeta at 5 and 2.5
  constexpr double half_root_pi = 0.28209479177387814347;                          // 1 / (2 sqrt(pi))
  const Exponent zeta = airy_exponent(x);
  const double t = 1 / zeta.high;
  const double y =
      t < middle ? horner(t * (2 / middle) - 1, far) : horner((2 * t - (middle + end)) * (1 / (end - middle)), near);
  return std::exp(-zeta.high) * (half_root_pi * (y - y * zeta.low) / std::sqrt(zeta.root));
}

/// x < -10.5 (DLMF 9.7.9).
double airy_oscillating(double x) {
  // (-1)^k u_2k and (-1)^k u_(2k+1)
  constexpr double even[] = {1.0,
                             -0.03713348765432098765,
                             0.05764919041266972133,
                             -0.2915913992307505115,
                             3.079453030173166993,
                             -55.62278536591708278,
                             1.533169432012795616e+3,
                             -5.989251356587906863e+4,
                             3.148257417866826379e+6,
                             -2.142880369636803196e+8,
                             1.833576693789056766e+10};
  constexpr double odd[] = {0.06944444444444444444,   -0.03799305912780064015,  0.116099064025515411,
                            -0.8776669695100169165,   12.34157333234523871,     -278.4650807776025672,
                            9.207206599726414698e+3,  -4.195248751165510687e+5, 2.519891987160236768e+7,
                            -1.929375549182493053e+9, 1.834183035288325634e+11};
  constexpr double root_two_pi = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  const Exponent zeta = airy_exponent(-x);
  const double sine = std::sin(zeta.high), cosine = std::cos(zeta.high), t = 1 / zeta.high;
  const double small = std::sin(zeta.low), one = std::cos(zeta.low);
  const double s = sine * one + cosine * small, c = cosine * one - sine * small;
  const double p = horner(t * t, even), q = t * horner(t * t, odd);
  return root_two_pi / std::sqrt(zeta.root) * (p * (c + s) + q * (s - c));
}

double airy(double x) {
  constexpr double near_min = -10.5, near_max = 2.5;
  constexpr double phase_max = 1e10;  // below -this the sum of two numbers has too few digits of the phase
  if (!(x > -phase_max && x < phase_max)) return left;
  return x > near_max ? airy_decaying(x) : x >= near_min ? airy_near(x) : airy_oscillating(x);
}

}  // namespace

void spherical_jn(Function, const double* const* in, double* out, std::ptrdiff_t n, double least) {
  for (std::ptrdiff_t i = 0; i < n;) {
    const double order = in[1][i];
    std::ptrdiff_t count = 1;
    while (i + count < n && in[1][i + count] == order) ++count;
    if (order >= 0 && order <= order_max && order == std::floor(order))
      of_order(static_cast<int>(order), in[0] + i, out + i, count, least);
    else
      std::fill_n(out + i, count, left);
    i += count;
  }
}

void airy_ai(Function, const double* const* in, double* out, std::ptrdiff_t n, double) {
  for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = airy(in[0][i]);
}

}  // namespace reel::kernels::special::values
