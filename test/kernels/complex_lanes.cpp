// Complex exp, log, sqrt and quotients in vectors: against std::complex<long double>; at special numbers and on branch
// cuts against the functions of one number; the same bits at every position.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/table.hpp"
#include "support/numbers.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

using Long = std::complex<long double>;

struct Function {
  const char* name;
  std::size_t definition;
  Long (*value)(Long x, Long y);
  long double part;  // the largest error of a part, in its epsilon; parts of a quotient may cancel
};
const Function functions[] = {
    {"exp", index_of<"exp">(), [](Long x, Long) { return std::exp(x); }, 3},
    {"log", index_of<"log">(), [](Long x, Long) { return std::log(x); }, 3},
    {"sqrt", index_of<"sqrt">(), [](Long x, Long) { return std::sqrt(x); }, 2},
    {"divide", index_of<"divide">(), [](Long x, Long y) { return x / y; }, 0},
};

template <class T>
using Numbers = std::vector<std::complex<T>>;
template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::complex64 : DType::complex128;

template <class T>
Numbers<T> run(const Set& set, const Function& f, const Numbers<T>& x, const Numbers<T>& y) {
  Numbers<T> out(x.size());
  const Strided in[] = {{x.data(), 1}, {y.data(), 1}};
  set.get<PointwiseKernels>()
      .of(f.definition, dtype_of<T>)
      .value(in, out.data(), static_cast<std::ptrdiff_t>(x.size()));
  return out;
}

template <class T>
bool same(const Numbers<T>& a, const Numbers<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

// A small generator whose numbers do not depend on the standard library.
struct Random {
  std::uint64_t state = 1;
  double operator()(double low, double high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
  }
};

enum class Where { around, far, near_circle };

template <class T>
Numbers<T> drawn(Random& random, Where where, std::size_t n) {
  const double exponents = sizeof(T) == 8 ? 450 : 55;
  Numbers<T> list;
  for (std::size_t i = 0; i < n; ++i) {
    const double angle = random(-3.2, 3.2), size = where == Where::around ? random(0, 20)
                                                   : where == Where::far
                                                       ? std::exp2(random(-exponents, exponents))
                                                       : 1 + random(-1, 1) * std::exp2(random(-20, 0) * 2);
    list.emplace_back(static_cast<T>(size * std::cos(angle)), static_cast<T>(size * std::sin(angle)));
  }
  return list;
}

template <class T>
bool representable(Long z) {
  using N = std::numeric_limits<T>;
  return std::abs(z) < static_cast<long double>(N::max()) && std::abs(z) > 1e3L * static_cast<long double>(N::min());
}

struct Worst {
  long double all = 0, real = 0, imag = 0;  // in epsilon, of the number and of its parts
};

template <class T>
Worst worst_of(const Function& f, const Numbers<T>& x, const Numbers<T>& y, const Numbers<T>& got) {
  Worst worst;
  const auto smallest = 1e3L * static_cast<long double>(std::numeric_limits<T>::min());
  const auto error = [&](long double a, long double b, long double size) {
    return size > smallest ? std::abs(a - b) / size / static_cast<long double>(std::numeric_limits<T>::epsilon()) : 0;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Long want = f.value(Long(x[i]), Long(y[i])), z(got[i]);
    if (!representable<T>(want)) continue;
    worst.all = support::worse(
        worst.all, std::abs(z - want) / std::abs(want) / static_cast<long double>(std::numeric_limits<T>::epsilon()));
    worst.real = support::worse(worst.real, error(z.real(), want.real(), std::abs(want.real())));
    worst.imag = support::worse(worst.imag, error(z.imag(), want.imag(), std::abs(want.imag())));
  }
  return worst;
}

template <class T>
void check_values(const Set& set) {
  Random random;
  for (const Function& f : functions)
    for (const Where where : {Where::around, Where::far, Where::near_circle}) {
      const Numbers<T> x = drawn<T>(random, where, 5000), y = drawn<T>(random, where, 5000);
      const Worst worst = worst_of(f, x, y, run(set, f, x, y));
      INFO(set.isa << ", " << f.name << " of " << sizeof(T) << " bytes, range " << static_cast<int>(where));
      CHECK(worst.all < 2);
      if (f.part > 0) {
        CHECK(worst.real <= f.part);
        CHECK(worst.imag <= f.part);
      }
    }
}

// Zeros and infinities of both signs, NaN, numbers whose squares are out of range, ends of exp, the cuts themselves.
template <class T>
std::vector<T> odd_numbers() {
  using N = std::numeric_limits<T>;
  std::vector<T> list{0,
                      1,
                      T(0.5),
                      3,
                      T(1e-3),
                      T(710),
                      T(88.8),
                      T(1e9),
                      T(sizeof(T) == 8 ? 1e200 : 1e25),
                      N::max(),
                      N::min(),
                      N::denorm_min(),
                      N::infinity()};
  for (std::size_t i = 0, n = list.size(); i < n; ++i) list.push_back(-list[i]);
  list.push_back(N::quiet_NaN());
  return list;
}

template <class T>
bool alike(T a, T b, long double scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::signbit(a) == std::signbit(b) &&
         std::abs(static_cast<long double>(a) - static_cast<long double>(b)) <=
             4 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * scale +
                 static_cast<long double>(std::numeric_limits<T>::denorm_min());
}

// The quotient by a real number has the quotients of the parts where these are exact.
template <class T>
void check_real_divisors(const Set& set) {
  Random random;
  const auto whole = [&] { return static_cast<T>(std::trunc(random(-1000, 1000))); };
  Numbers<T> x, y, quotients;
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::complex<T> quotient(whole(), i % 5 == 0 ? std::copysign(T(0), whole()) : whole());
    const T divisor = whole() + T(0.5);
    x.emplace_back(quotient.real() * divisor, quotient.imag() * divisor);
    y.emplace_back(divisor, T(0));
    quotients.push_back(quotient);
  }
  const Numbers<T> got = run(set, functions[3], x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO(set.isa << ", " << x[i] << " by " << y[i] << ": " << got[i] << ", not " << quotients[i]);
    CHECK(got[i] == quotients[i]);
  }
}

// Every pair of special numbers gives the result of the functions of one number, including signs of zeros.
template <class T>
void check_odd(const Set& set) {
  Numbers<T> x, y;
  for (const T re : odd_numbers<T>())
    for (const T im : odd_numbers<T>()) x.emplace_back(re, im);
  for (std::size_t shift = 0; shift < 5; ++shift) {
    for (std::size_t i = 0; i < x.size(); ++i) y.push_back(x[(i * 7 + shift * 101) % x.size()]);
    for (const Function& f : functions) {
      const Numbers<T> got = run(set, f, x, y), want = run(*find("scalar"), f, x, y);
      for (std::size_t i = 0; i < x.size(); ++i) {
        INFO(set.isa << ", " << f.name << " of " << x[i] << " and " << y[i] << ": " << got[i] << ", not " << want[i]);
        CHECK(alike(got[i].real(), want[i].real(), std::abs(static_cast<long double>(want[i].real()))));
        CHECK(alike(got[i].imag(), want[i].imag(), std::abs(static_cast<long double>(want[i].imag()))));
      }
    }
    y.clear();
  }
}

template <class T>
void check_places(const Set& set) {
  Random random;
  Numbers<T> x = drawn<T>(random, Where::around, 70), y = drawn<T>(random, Where::around, 70);
  for (const std::size_t at : {std::size_t(3), std::size_t(4), std::size_t(21), std::size_t(69)}) {
    x[at] = {std::numeric_limits<T>::infinity(), 1};
    y[at] = 0;
  }
  for (const Function& f : functions) {
    INFO(set.isa << ", " << f.name << " of " << sizeof(T) << " bytes");
    const Numbers<T> all = run(set, f, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(same<T>(run<T>(set, f, {x[i]}, {y[i]}), {all[i]}));
    for (std::size_t n = 0; n < x.size(); ++n)
      CHECK(same<T>(run<T>(set, f, {x.begin(), x.begin() + static_cast<long>(n)}, y),
                    {all.begin(), all.begin() + static_cast<long>(n)}));
    Numbers<T> place = x;
    const Loop loop = set.get<PointwiseKernels>().of(f.definition, dtype_of<T>).value;
    const Strided in[] = {{place.data(), 1}, {y.data(), 1}};
    loop(in, place.data(), static_cast<std::ptrdiff_t>(place.size()));
    CHECK(same(place, all));
    Numbers<T> backwards(x.size());
    const Strided reversed[] = {{&x.back(), -1}, {&y.back(), -1}};
    loop(reversed, backwards.data(), static_cast<std::ptrdiff_t>(x.size()));
    CHECK(same<T>({backwards.rbegin(), backwards.rend()}, all));
    const Strided repeated[] = {{x.data(), 1}, {y.data(), 0}};
    loop(repeated, backwards.data(), static_cast<std::ptrdiff_t>(x.size()));
    CHECK(same(backwards, run(set, f, x, Numbers<T>(x.size(), y[0]))));
  }
}

}  // namespace

TEST_CASE("complex functions of vectors agree with long double") {
  for (const Set* set : supported_sets()) {
    check_values<double>(*set);
    check_values<float>(*set);
  }
}

TEST_CASE("complex quotients by real numbers are exact if the quotients of the parts are") {
  for (const Set* set : supported_sets()) {
    check_real_divisors<double>(*set);
    check_real_divisors<float>(*set);
  }
}

TEST_CASE("complex functions of vectors and of scalars agree at zeros, infinities, NaN and branch cuts") {
  for (const Set* set : supported_sets()) {
    check_odd<double>(*set);
    check_odd<float>(*set);
  }
}

TEST_CASE("complex functions of vectors give an element the same bits at every position") {
  for (const Set* set : supported_sets()) {
    check_places<double>(*set);
    check_places<float>(*set);
  }
}
