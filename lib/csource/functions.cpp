// Helper functions in C. Errors are at most 1e-14 relative, or absolute near zeros, and 5e-14 for derivatives of erfcx
// of order 2 and up. The series are those of lib/kernels/math, which state their sources. In the texts $ marks the name
// of a helper.
#include "csource/functions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "csource/typed.hpp"

namespace reel::csource {

namespace {

constexpr std::array helpers{
    Helper{"polynomial", R"(/* c[0] + c[1] x + ... + c[n - 1] x^(n - 1) */
static double $polynomial(double x, const double *c, int n) {
  double y = c[n - 1];
  int i;
  for (i = n - 2; i >= 0; --i) y = y * x + c[i];
  return y;
}
)"},
    Helper{"floor_divide", R"(static double $floor_divide(double x, double y) {
  double r, q;
  if (y == 0.0 || x != x || y != y) return x / y;
  r = fmod(x, y);
  q = rint((x - r) / y);
  if (r != 0.0 && (y < 0.0) != (r < 0.0)) q -= 1.0;
  return q == 0.0 ? copysign(0.0, x / y) : q;
}
)"},
    Helper{"mod", R"(static double $mod(double x, double y) {
  const double r = fmod(x, y);
  if (r == 0.0) return copysign(0.0, y);
  return (y < 0.0) != (r < 0.0) ? r + y : r;
}
)"},
    Helper{"floor_divide_integer", R"(static int64_t $floor_divide_integer(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return (int64_t)(0 - (uint64_t)x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
)"},
    Helper{"mod_integer", R"(static int64_t $mod_integer(int64_t x, int64_t y) {
  int64_t r;
  if (y == 0 || y == -1) return 0;
  r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
)"},
    Helper{"power_integer", R"(/* Modulo 2^64. */
static int64_t $power_integer(int64_t x, int64_t n) {
  uint64_t y = 1, b = (uint64_t)x;
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  for (; n != 0; n /= 2, b *= b)
    if (n % 2 != 0) y *= b;
  return (int64_t)y;
}
)"},
    Helper{"sigmoid", R"(static double $sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
)"},
    Helper{"softplus", R"(static double $softplus(double x) {
  return (x > 0.0 || x != x ? x : 0.0) + log1p(exp(-fabs(x)));
}
)"},
    Helper{"logaddexp", R"(static double $logaddexp(double x, double y) {
  if (x == y) return x + 0x1.62e42fefa39efp-1;
  return (x > y || x != x ? x : y) + log1p(exp(-fabs(x - y)));
}
)"},
    Helper{"logit", R"(static double $logit(double x) {
  return fabs(x - 0.5) < 0.25 ? log1p((2.0 * x - 1.0) / (1.0 - x)) : log(x / (1.0 - x));
}
)"},
    Helper{"kl_div", R"(static double $kl_div(double x, double y) {
  if (x > 0.0 && y > 0.0) {
    if (x != y && (isinf(x) || isinf(y))) return (double)INFINITY;
    const double d = (x - y) / y;
    return x * (fabs(d) < 0.5 ? log1p(d) : log(x) - log(y)) - (x - y);
  }
  if (x == 0.0 && y >= 0.0) return y;
  return x != x || y != y ? x + y : (double)INFINITY;
}
)"},
    Helper{"lerp", R"(static double $lerp(double x, double y, double w) {
  const double d = y - x;
  if (isfinite(d)) return w < 0.5 ? x + w * d : y - (1.0 - w) * d;
  return w == 0.0 ? x : w == 1.0 ? y : (1.0 - w) * x + w * y;
}
)"},
    Helper{"gelu", R"(static double $gelu(double x) {
  return x < -40.0 ? -0.0 : 0.5 * x * erfc(-0x1.6a09e667f3bcdp-1 * x);
}
)"},
    Helper{"silu", R"(static double $silu(double x) { return x < -800.0 ? -0.0 : x / (1.0 + exp(-x)); }
)"},
    Helper{"softsign", R"(static double $softsign(double x) {
  return isinf(x) ? copysign(1.0, x) : x / (1.0 + fabs(x));
}
)"},
    Helper{"elu", R"(static double $elu(double x, double alpha) { return x > 0.0 ? x : alpha * expm1(x); }
)"},
    Helper{"digamma", R"(static double $digamma(double x) {
  static const double series[] = {
    0x1.158879c512d43p-5, 0x1.5424a1f6fa7cdp-6, -0x1.26163778189d8p-6, 0x1.ee66a408aac30p-9, 0x1.4472396c5f369p-9,
    -0x1.dec22c048accfp-10, 0x1.13b086e896e42p-10, -0x1.aadc7304ea632p-11, 0x1.13250f5755642p-11,
    -0x1.85909dccc24d4p-12, 0x1.25e8f0baf12dfp-12, -0x1.aedda5faf4ae0p-13, 0x1.524da034a2b47p-13,
    -0x1.0875f5d01bb75p-13, 0x1.a88fe64e4e820p-14, -0x1.67baf37ddc8cep-14, 0x1.4470501d71837p-14,
    -0x1.2778007767a5cp-14, 0x1.cd089e9b298b2p-15, -0x1.08438f27b2697p-15, 0x1.784c8ea05878cp-17,
    -0x1.e21397805f4a5p-20};
  static const double reflected[] = {
    0x1.4a34cc4a60fa6p+0, 0x1.51322ac7d84a7p-3, 0x1.1c261302448b8p-5, 0x1.0b36af89d1de8p-7, 0x1.04b8cd241102fp-9,
    0x1.020ab0d6d4786p-11, 0x1.00d8ad542a6f6p-13, 0x1.016dec32aa5b3p-15, 0x1.e508cfb69ba22p-18, 0x1.60d94415da8d4p-19};
  const double y = x < 0.0 ? 0.5 - x : x < 1.0 ? x + 0.5 : x - 0.5;
  const double value = log(y) + $polynomial((y - 0.75) / (y + 0.75), series, 22) / (y * y);
  if (x == 0.0) return -(double)INFINITY;
  if (x >= 1.0) return isinf(x) ? x : value;
  if (x < 0.0) {
    const double f = x - rint(x), z = f * f;
    if (f == 0.0) return (double)NAN;
    return value - 1.0 / f + (2.0 * f / (1.0 - z) + f * $polynomial(z, reflected, 10));
  }
  return value - 1.0 / x;
}
)"},
    Helper{"trigamma", R"(static double $trigamma(double x) {
  static const double series[] = {
    0x1.de9e64df22ef3p-1, 0x1.b232e1d8c1a83p-3, -0x1.23d54f12f04b1p-2, 0x1.c6b94e0dc189dp-3, -0x1.f5efc52046527p-4,
    0x1.c1fadcbd72504p-5, -0x1.78d86cf500c90p-6, 0x1.343e6a612cf74p-7, -0x1.de96cbe4d5319p-9, 0x1.6dbf4acda88cap-10,
    -0x1.1631e4529ceb2p-11, 0x1.97432250d3da2p-13, -0x1.2eff25ea7045ep-14, 0x1.ba5de316d4f09p-16,
    -0x1.358d17cc210c7p-17, 0x1.96ec6628f1ce6p-19, -0x1.af6eebcbc3e0ap-21, 0x1.3d58a4d86478ep-20,
    -0x1.3cf5665702de3p-19, 0x1.5c56689e4e496p-19, -0x1.af9d9701e22e6p-20, 0x1.168e86b0dee64p-21,
    -0x1.1edecb5d69c2bp-24};
  static const double reflected[] = {
    0x1.4a34cc4a60fa6p+0, 0x1.f9cb402bc46bdp-2, 0x1.632f97c2dbf9ep-3, 0x1.d39fb32a46963p-5, 0x1.254fe890f8f72p-6,
    0x1.62ce320b54916p-8, 0x1.a175a596a1609p-10, 0x1.e0811bfcbf2dfp-12, 0x1.1261d33a7f9fap-13, 0x1.16d2f59ab1f69p-15,
    0x1.ee9583632a3c6p-17};
  const double y = x < 0.0 ? 0.5 - x : x < 1.0 ? x + 0.5 : x - 0.5, b = y < 0x1p+60 ? y : 0x1p+60;
  const double value = $polynomial((b - 1.0) / (b + 1.0), series, 23) / y;
  if (x >= 1.0 || x != x) return value;
  if (x < 0.0) {
    const double f = x - rint(x), z = f * f;
    return 1.0 / z + (2.0 * (1.0 + z) / ((1.0 - z) * (1.0 - z)) + $polynomial(z, reflected, 11) - value);
  }
  return 1.0 / (x * x) + value;
}
)"},
    Helper{"hurwitz_zeta", R"(/* The sum of (a + k)^-s over k >= 0, by the Euler-Maclaurin formula. */
static long double $hurwitz_zeta(int s, long double a) {
  static const long double c[] = {
    1.0L / 12, -1.0L / 720, 1.0L / 30240, -1.0L / 1209600, 1.0L / 47900160, -691.0L / 1307674368000.0L,
    1.0L / 74724249600.0L, -3617.0L / 10670622842880000.0L, 43867.0L / 5109094217170944000.0L,
    -174611.0L / 802857662698291200000.0L};
  long double sum = 0, term, power = 1;
  int i;
  for (; a < 12 + s; a += 1) {
    power = 1;
    for (i = 0; i < s; ++i) power /= a;
    sum += power;
  }
  power = 1;
  for (i = 0; i < s; ++i) power /= a;
  sum += power * (a / (s - 1) + 0.5L);
  term = power * s / a;
  for (i = 0; i < 10; ++i) {
    sum += c[i] * term;
    term *= (s + 2.0L * i + 1) * (s + 2.0L * i + 2) / (a * a);
  }
  return sum;
}
)"},
    Helper{"polygamma", R"(static double $polygamma(double order, double x) {
  const double sign = fmod(order, 2.0) == 0.0 ? -1.0 : 1.0;
  const int s = order >= 2.0 && order <= 1500.0 ? (int)order + 1 : 0;
  long double zeta, power = 1, f, t;
  int i;
  if (order == 0.0) return $digamma(x);
  if (order == 1.0) return $trigamma(x);
  if (s == 0 || order != floor(order) || x != x || x == -(double)INFINITY) return (double)NAN;
  if (x <= 0.0 && x == floor(x)) return sign * (double)INFINITY;
  if (isinf(x)) return sign * 0.0;
  if (x > 0.0) {
    zeta = $hurwitz_zeta(s, x);
  } else {
    f = (long double)x - (long double)rint(x);
    for (i = 0; i < s; ++i) power /= f;
    zeta = $hurwitz_zeta(s, 1 - f); /* tcc 0.9.27 loses a long double around a call */
    t = $hurwitz_zeta(s, 1 - (long double)x);
    zeta -= t;
    if (s % 2 != 0) zeta = -zeta;
    t = $hurwitz_zeta(s, 1 + f);
    zeta += power + t;
  }
  for (i = 2; i < s; ++i) zeta *= i;
  return sign * (double)zeta;
}
)"},
    Helper{"erfcx", R"(/* exp(x^2) erfc(x) */
static double $erfcx(double x) {
  const double s = x * x, lost = fma(x, x, -s);
  if (x < 25.0) return x < -27.0 ? (double)INFINITY : exp(s) * erfc(x) * (1.0 + lost);
  return 0x1.20dd750429b6dp-1 / x *
         (1.0 - 0.5 / s * (1.0 - 1.5 / s * (1.0 - 2.5 / s * (1.0 - 3.5 / s * (1.0 - 4.5 / s * (1.0 - 5.5 / s))))));
}
)"},
    Helper{"erfcx_slope", R"(static double $erfcx_slope(double x) {
  static const double c[] = {
    -0x1.5505d7303d7d9p+1, 0x1.a4cdbfd763eabp-3, 0x1.6320a4dc30a18p-1, -0x1.bb88737fb5390p-1, 0x1.e3417ae5b015bp-2,
    -0x1.3bd7aad568ed3p-6, -0x1.59dcb84c89378p-3, 0x1.011072b7f6b3ep-3, -0x1.042712ccbe34dp-5, -0x1.450661621b677p-7,
    0x1.06a3008e64f7dp-7, 0x1.f0796a163a3c8p-13, -0x1.845094eee1c96p-10, 0x1.1414a71c8cae6p-14, 0x1.292d87585a838p-12,
    -0x1.2e33be99071c4p-17, -0x1.e8d3e6444718ap-15, -0x1.ae3d09e0ddcc6p-19, 0x1.97c39303e0b76p-17,
    0x1.521d486f5ac7fp-19, -0x1.376a464fc5e73p-19, -0x1.1770773ddf166p-20, 0x1.711428874a35dp-22,
    0x1.591edb967b114p-22, -0x1.a1f522e712939p-26, -0x1.43318ffce0d29p-24, -0x1.aba1d6f010d8ap-29,
    0x1.9ee349a05bca7p-27, 0x1.970d0863d0fedp-31, -0x1.100d4dc0d1f5ap-30};
  const double d = x < 0x1p+1000 ? 1.0 + 2.0 * x : 0x1p+1001;
  if (x < 0.25) return 2.0 * x * $erfcx(x) - 0x1.20dd750429b6dp+0;
  return $polynomial((d - 7.0) / (d + 5.0), c, 30) / d / d;
}
)"},
    Helper{"erfcx_derivative",
           R"(/* By y(n + 1) = 2x y(n) + 2n y(n - 1), forward or, where that cancels, by Miller's algorithm. */
static double $erfcx_derivative(double order, double x) {
  const int n = order >= 2.0 && order <= 250.0 ? (int)order : 0;
  const long double slope = 1.12837916709551257389615890312154517L;
  int k;
  if (order == 0.0) return $erfcx(x);
  if (order == 1.0) return $erfcx_slope(x);
  if (n == 0 || order != floor(order) || x != x) return (double)NAN;
  if (x > 1e200) return n % 2 == 0 ? 0.0 : -0.0;
  if (x < -30.0) return n % 2 == 0 ? (double)INFINITY : -(double)INFINITY;
  if (x < 0.5 && x * sqrt(8.0 * n) < 6.0) {
    long double before = $erfcx(x), y = 2 * x * before - slope;
    for (k = 1; k < n; ++k) {
      const long double next = 2 * x * y + 2 * k * before;
      before = y;
      y = next;
    }
    return (double)y;
  } else {
    const double root = sqrt(2.0 * n) + 23.0 / x;
    long double q = sqrt(x * x + root * root) - x, product = 1;
    for (k = (int)(root * root / 2.0) + 24; k > 0; --k) {
      q = 2 * k / (q + 2 * x);
      if (k <= n) product *= q;
    }
    product *= slope / (2 * x + q);
    return (double)(n % 2 == 0 ? product : -product);
  }
}
)"},
    Helper{"ndtr", R"(static double $ndtr(double x) { return 0.5 * erfc(-0x1.6a09e667f3bcdp-1 * x); }
)"},
    Helper{"log_ndtr", R"(static double $log_ndtr(double x) {
  if (x > 0.0) return log1p(-$ndtr(-x));
  if (x < -1.0) return log(0.5 * $erfcx(-0x1.6a09e667f3bcdp-1 * x)) - 0.5 * (x * x);
  return log($ndtr(x));
}
)"},
    Helper{"erf_inverse", R"(/* z with erf(z) = d and erfc(|z|) = q, 0 <= q <= 1 */
static double $erf_inverse(double d, double q) {
  static const double near[] = {
    0x1.4f38760a41abbp-54, 0x1.db29fb2fee5e3p-3, 0x1.7a72e72c1f2f2p-7, -0x1.3211025e23154p-9, -0x1.0c86b83f54815p-13,
    0x1.87014b8b0c17cp-15, 0x1.0f1ef1ac04536p-19, -0x1.0fd175a612578p-20, -0x1.3fa7edd842155p-25,
    0x1.85cc053891764p-26, 0x1.d4ed4913f0af4p-31, -0x1.46ea280e29675p-31, 0x1.829a298ac8aa1p-36,
    -0x1.e21f009c642d8p-39, 0x1.6a00d0584d550p-38, -0x1.72d498971cdc8p-40, 0x1.163cd7e051bb8p-43,
    0x1.6e1c2bb53b6b2p-48, -0x1.703403d0af759p-49, 0x1.49c330190c6dbp-52, -0x1.1beb65c2ed2b7p-56,
    0x1.95b0e08473b9ep-62};
  static const double far[] = {
    -0x1.96ea3d757982ep-3, 0x1.dfc763a6aeef3p-3, -0x1.2fd722766b5bfp-4, 0x1.8d2a8c9513060p-6, 0x1.9fe77a810147cp-6,
    -0x1.9f64a84530a4dp-5, 0x1.2aa53a07386a3p-4, -0x1.4fac4531a74b2p-4, 0x1.65cf3747fc42dp-4, -0x1.58deb8feaf123p-4,
    0x1.41181b41d7371p-4, -0x1.13cd2deedd887p-4, 0x1.c4351b8dcc50bp-5, -0x1.4c25979e341abp-5, 0x1.b5760a155a445p-6,
    -0x1.931d403a3d8b9p-7, -0x1.c3836d8a7afabp-10, 0x1.d7b9f9f729caep-7, -0x1.1ee1d0528810cp-6, 0x1.17e30e5f638e8p-6,
    -0x1.0733e9389909bp-5, 0x1.c1f964176acf9p-5, -0x1.7a709795e81d2p-5, 0x1.bbf28cfa0c29cp-7, 0x1.d95c7ddda8825p-10};
  const double w = -log(q * (2.0 - q));
  if (w > 5.0) {
    const double s = sqrt(-log(q));
    return q == 0.0 ? copysign((double)INFINITY, d) : copysign(s + $polynomial((s - 6.0) / (s + 6.0), far, 25), d);
  }
  return d * (0x1.c5bf891b4ef6ap-1 + $polynomial(w, near, 22));
}
)"},
    Helper{"erfinv", R"(static double $erfinv(double x) { return $erf_inverse(x, 1.0 - fabs(x)); }
)"},
    Helper{"erfcinv", R"(static double $erfcinv(double x) { return $erf_inverse(1.0 - x, x < 1.0 ? x : 2.0 - x); }
)"},
    Helper{"ndtri", R"(static double $ndtri(double x) {
  return 0x1.6a09e667f3bcdp+0 * $erf_inverse(2.0 * x - 1.0, 2.0 * (x < 0.5 ? x : 1.0 - x));
}
)"},
};

// The types of typed helpers, and the suffixes of names for them.
struct Typed {
  std::string_view real, suffix, libm;
};
constexpr Typed types[] = {{"double", "", ""}, {"float", "_f", "f"}, {"int64_t", "_int64", ""}};

const Helper* find_in(std::span<const Helper> list, std::string_view name) noexcept {
  const auto at = std::find_if(list.begin(), list.end(), [&](const Helper& h) { return h.name == name; });
  return at == list.end() ? nullptr : &*at;
}

const Helper* find_typed(std::string_view name) noexcept {
  for (const auto& list : {matrix_helpers(), neural_helpers(), random_helpers()})
    if (const Helper* one = find_in(list, name)) return one;
  return nullptr;
}

// A helper, and the type that its name asks for.
struct Found {
  const Helper* helper;
  const Typed* type = &types[0];
};
Found find(std::string_view name) noexcept {
  if (const Helper* one = find_in(helpers, name)) return {one};
  if (const Helper* one = find_typed(name)) return {one};
  for (const Typed& type : std::span(types).subspan(1))
    if (name.ends_with(type.suffix)) {
      name.remove_suffix(type.suffix.size());
      return {find_typed(name), &type};
    }
  return {nullptr};
}

std::string_view name_at(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() &&
         ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= '0' && text[n] <= '9') || text[n] == '_'))
    ++n;
  return text.substr(0, n);
}

}  // namespace

bool is_helper(std::string_view name) noexcept { return find(name).helper != nullptr; }

std::string helper_text(std::string_view name, std::string_view prefix) {
  const Found found = find(name);
  const bool typed = find_typed(found.helper->name) != nullptr;
  std::string text;
  for (std::string_view rest = found.helper->text; !rest.empty();) {
    const char c = rest[0];
    const std::string_view word = name_at(c == '$' || c == '@' ? rest.substr(1) : rest);
    const std::string_view suffix = !typed                         ? ""
                                    : c == '@'                     ? found.type->libm
                                    : c == '$' && find_typed(word) ? found.type->suffix
                                                                   : "";
    if (c == '$') text.append(prefix).append("_");
    if (typed && c != '$' && word == "real")
      text.append(found.type->real);
    else if (c == '$' || c == '@' || !word.empty())
      text.append(word);
    else
      text += c;
    text.append(suffix);
    rest.remove_prefix(std::max<std::size_t>(1, word.size() + (c == '$' || c == '@')));
  }
  return text;
}

std::vector<std::string> helpers_called_by(std::string_view name) {
  std::vector<std::string> names;
  const Found found = find(name);
  const std::string_view text = found.helper->text;
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    const std::string_view other = name_at(text.substr(at + 1));
    if (other == found.helper->name) continue;
    names.emplace_back(other);
    if (find_typed(other)) names.back() += found.type->suffix;
  }
  return names;
}

}  // namespace reel::csource
