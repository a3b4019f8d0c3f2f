// The loops of the pointwise table, for every instruction set of this machine. For each op, dtype, length and
// stride, an element has the same bits at every position, and agrees with the scalar set to a few units in the last
// place.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/baseline/copy.hpp"
#include "kernels/comparisons.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/table.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr std::ptrdiff_t lengths[] = {0, 1, 2, 3, 8, 17, 67, 128, 300, 1000};
constexpr std::ptrdiff_t longest = 1000;

// Five operands g, x, y, w, z, each with room for a stride of 2 on either side of its middle.
template <class T>
struct Operands {
  std::vector<T> data[5];
  explicit Operands(std::string_view op) {
    std::mt19937 random(7);
    for (auto& operand : data) {
      operand.resize(std::size_t(4 * longest));
      for (T& e : operand) e = draw(random);
    }
    if (op == "polygamma" || op == "erfcx_derivative")
      for (T& e : data[1]) e = static_cast<T>(random() % 4);
    if (std::is_integral_v<T> && (op == "floor_divide" || op == "mod"))
      for (T& e : data[2]) e = e == T(0) ? T(3) : e;
  }
  static T draw(std::mt19937& random) {
    if constexpr (std::is_same_v<T, bool>) return (random() & 1u) != 0;
    if constexpr (std::is_integral_v<T>) return static_cast<T>(random() % 7 == 0 ? random() : random() % 60);
    return static_cast<T>(
        std::uniform_real_distribution<double>(random() % 2 == 0 ? 0.01 : -3, random() % 3 == 0 ? 0.99 : 3)(random));
  }
  Strided at(std::size_t k, std::ptrdiff_t stride, std::ptrdiff_t from = 0) const {
    return {data[k].data() + 2 * longest + from * stride, stride};
  }
};

// Bytes hold booleans.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
bool close(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (a == b) return true;
    return std::abs(a - b) < 16 * std::numeric_limits<T>::epsilon() * (std::max(std::abs(a), std::abs(b)) + T(0.1));
  }
}

template <class T>
void check_loop(const std::string& what, Loop loop, Loop reference, const Operands<T>& operands, std::size_t first,
                std::size_t count) {
  if (reference == nullptr) return;
  REQUIRE(loop != nullptr);
  constexpr std::ptrdiff_t patterns[][5] = {{1, 1, 1, 1, 1},    {1, 0, 1, 0, 1}, {0, 1, 0, 1, 0}, {0, 0, 0, 0, 0},
                                            {-1, 1, 2, -1, -1}, {2, 2, 0, 1, 2}, {1, -1, 1, 2, 1}};
  for (const auto& stride : patterns) {
    const auto at = [&](std::ptrdiff_t from) {
      std::vector<Strided> in;
      for (std::size_t k = first; k < first + count; ++k) in.push_back(operands.at(k, stride[k], from));
      return in;
    };
    const auto run = [&](Loop f, std::ptrdiff_t from, std::ptrdiff_t n) {
      std::vector<T> out(static_cast<std::size_t>(n) + 1, T(77));
      f(at(from).data(), out.data(), n);
      CHECK(out.back() == T(77));  // nothing is written past the end
      out.pop_back();
      return out;
    };
    const std::vector<T> whole = run(loop, 0, longest), expected = run(reference, 0, longest);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (close(whole[i], expected[i])) continue;
      const auto element = [&](std::size_t k) {
        return operands.data[k][static_cast<std::size_t>(2 * longest + static_cast<std::ptrdiff_t>(i) * stride[k])];
      };
      INFO(what << " at " << i << " of g, x, y, w, z = " << +element(0) << ' ' << +element(1) << ' ' << +element(2)
                << ' ' << +element(3) << ' ' << +element(4));
      CHECK(+whole[i] == Approx(+expected[i]));
      return;
    }
    for (std::ptrdiff_t n : lengths)
      for (std::ptrdiff_t from : {std::ptrdiff_t(0), std::ptrdiff_t(5), longest - n}) {
        if (from + n > longest) continue;
        const std::vector<T> part = run(loop, from, n);
        INFO(what << ": " << n << " elements from " << from << ", stride of x " << stride[1]);
        CHECK((n == 0 || std::memcmp(part.data(), whole.data() + from, part.size() * sizeof(T)) == 0));
      }
  }
  // The result in the place of the first operand.
  for (std::ptrdiff_t n : lengths) {
    Operands<T> copy = operands;
    std::vector<T> expected(static_cast<std::size_t>(n));
    std::vector<Strided> in;
    for (std::size_t k = first; k < first + count; ++k) in.push_back(copy.at(k, k == first + 1 ? 2 : 1));
    loop(in.data(), expected.data(), n);
    T* place = copy.data[first].data() + 2 * longest;
    loop(in.data(), place, n);
    INFO(what << " in place, " << n << " elements");
    CHECK((n == 0 || std::memcmp(place, expected.data(), expected.size() * sizeof(T)) == 0));
  }
}

// The properties of a definition's loops.
struct Definition {
  std::string name;
  table::Domain domain;
  std::size_t arity;
};
std::vector<Definition> definitions() {
  return std::apply(
      [](const auto&... d) {
        return std::vector<Definition>{{std::string(d.name), d.domain, static_cast<std::size_t>(d.arity)}...};
      },
      table::definitions);
}

template <class T>
void check_definition(const Set& set, DType type, std::size_t at, const Definition& definition) {
  const Set& scalar = *find("scalar");
  const Pointwise &entry = set.get<PointwiseKernels>().of(at, type),
                  &reference = scalar.get<PointwiseKernels>().of(at, type);
  const bool exists = !std::is_integral_v<T> || (std::is_same_v<T, bool> ? definition.domain == table::all
                                                                         : definition.domain != table::floating);
  INFO(definition.name);
  CHECK((entry.value != nullptr) == exists);
  if (!exists) return;
  using S = Stored<T>;
  Operands<S> operands(definition.name);
  if constexpr (std::is_same_v<T, bool>)
    for (auto& operand : operands.data)
      for (S& e : operand) e &= 1;
  check_loop<S>(definition.name + " " + set.isa, entry.value, reference.value, operands, 1, definition.arity);
  // Derivatives read the result of these operands.
  const Strided in[] = {{operands.data[1].data(), 1}, {operands.data[2].data(), 1}, {operands.data[3].data(), 1}};
  std::vector<S> z(operands.data[4].size());
  reference.value(in, z.data(), static_cast<std::ptrdiff_t>(z.size()));
  operands.data[4] = z;
  for (std::size_t k = 0; k < definition.arity; ++k)
    check_loop<S>(definition.name + " derivative " + std::to_string(k) + " " + set.isa, entry.derivative[k],
                  reference.derivative[k], operands, 0, 5);
}

template <class T>
void check_definitions(const Set& set, DType type) {
  std::size_t at = 0;
  for (const Definition& definition : definitions()) check_definition<T>(set, type, at++, definition);
}

}  // namespace

TEST_CASE("a pointwise loop gives an element the same bits in every position, stride and instruction set", "[once]") {
  for (const Set* set : supported_sets()) {
    check_definitions<float>(*set, DType::float32);
    check_definitions<double>(*set, DType::float64);
    check_definitions<bool>(*set, DType::boolean);
    check_definitions<std::uint8_t>(*set, DType::uint8);
    check_definitions<std::int32_t>(*set, DType::int32);
    check_definitions<std::int64_t>(*set, DType::int64);
  }
}

namespace {

// Powers of x, from one exponent and from exponents that differ from element to element.
template <class T>
void check_small_powers(const PointwiseKernels& kernels, DType type) {
  const Loop loop = kernels.op[index_of<"power">()][index(type)].value;
  std::mt19937 random(11);
  std::uniform_int_distribution<int> digits(0, 1 << 20), exponents(std::numeric_limits<T>::min_exponent / 2, 600);
  std::vector<T> x(211), y(x.size()), one(x.size()), mixed(x.size());
  for (T& a : x) {
    a = std::ldexp(T(digits(random) - (1 << 19)), exponents(random) % std::numeric_limits<T>::max_exponent);
    if (digits(random) % 2 == 0) a = T(digits(random)) / T(1 << 19);
  }
  x[3] = std::numeric_limits<T>::infinity(), x[50] = std::numeric_limits<T>::quiet_NaN(), x[51] = T(0), x[90] = -T(0);
  for (int n = -5; n <= 5; ++n) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 2 == 0 ? T(n) : T(0.3);
    const T power = T(n);
    for (std::size_t shift : {0u, 1u}) {  // each element beside another exponent
      const Strided both[] = {{x.data() + shift, 1}, {&power, 0}}, each[] = {{x.data() + shift, 1}, {y.data(), 1}};
      const auto length = static_cast<std::ptrdiff_t>(x.size() - shift);
      loop(both, one.data(), length);
      loop(each, mixed.data(), length);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < x.size() - shift; i += 2) wrong += std::memcmp(&one[i], &mixed[i], sizeof(T)) != 0;
      CAPTURE(n, shift);
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("a power has the same bits from one exponent for all elements and from one for each") {
  for (const Set* set : supported_sets()) {
    CAPTURE(set->isa);
    check_small_powers<float>(set->get<PointwiseKernels>(), DType::float32);
    check_small_powers<double>(set->get<PointwiseKernels>(), DType::float64);
  }
}

TEST_CASE("a derivative has a loop exactly where its definition has a function for it") {
  std::size_t at = 0;
  const auto check_derivatives = [&]<class... P>(const std::tuple<P...>&) {
    const Loop* loops = pointwise(at++, DType::float64).derivative;
    CHECK((((*loops++ != nullptr) == P::has_function) && ...));
  };
  std::apply([&](const auto&... d) { (check_derivatives(d.derivatives), ...); }, table::definitions);
  CHECK(at == table::size);
}

TEST_CASE("integer ops wrap modulo 2^n and divide as Python does") {
  const auto apply = [](std::size_t op, auto a, auto b) {
    using T = decltype(a);
    const DType type = sizeof(T) == 1 ? DType::uint8 : sizeof(T) == 4 ? DType::int32 : DType::int64;
    const Strided in[] = {{&a, 1}, {&b, 1}};
    T out = 0;
    pointwise(op, type).value(in, &out, 1);
    return out;
  };
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min(), greatest = std::numeric_limits<std::int32_t>::max();
  constexpr auto lowest64 = std::numeric_limits<std::int64_t>::min();
  CHECK(apply(index_of<"add">(), greatest, 1) == lowest);
  CHECK(apply(index_of<"subtract">(), std::uint8_t(3), std::uint8_t(5)) == 254);
  CHECK(apply(index_of<"multiply">(), 1 << 20, 1 << 20) == 0);
  CHECK(apply(index_of<"multiply">(), 65537, 65537) == 131073);
  CHECK(apply(index_of<"negative">(), lowest, 0) == lowest);
  CHECK(apply(index_of<"abs">(), lowest64, std::int64_t(0)) == lowest64);
  CHECK(apply(index_of<"square">(), std::uint8_t(17), std::uint8_t(0)) == 33);
  CHECK(apply(index_of<"floor_divide">(), lowest, -1) == lowest);
  CHECK(apply(index_of<"mod">(), lowest64, std::int64_t(-1)) == 0);
  const int divisions[][4] = {{7, 3, 2, 1},    {-7, 3, -3, 2}, {7, -3, -3, -2},
                              {-7, -3, 2, -1}, {6, -3, -2, 0}, {-6, 3, -2, 0}};
  for (const auto& [a, b, quotient, rest] : divisions) {
    CHECK(apply(index_of<"floor_divide">(), a, b) == quotient);
    CHECK(apply(index_of<"mod">(), a, b) == rest);
  }
  CHECK(apply(index_of<"power">(), -3, 5) == -243);
  CHECK(apply(index_of<"power">(), 0, 0) == 1);
  CHECK(apply(index_of<"power">(), 2, 31) == lowest);
  CHECK(apply(index_of<"power">(), std::uint8_t(2), std::uint8_t(8)) == 0);
  CHECK(apply(index_of<"sign">(), -9, 0) == -1);
  CHECK(apply(index_of<"relu">(), -9, 0) == 0);
  CHECK(apply(index_of<"floor">(), -9, 0) == -9);
}

TEST_CASE("comparisons, predicates, logic and selection agree with the language, for every length and stride") {
  const auto check = [](const std::string& what, Loop loop, auto expected, const auto& x, const auto& y) {
    REQUIRE(loop != nullptr);
    for (std::ptrdiff_t n : lengths)
      for (auto [sx, sy] : {std::pair(1, 1), {1, 0}, {0, 1}, {2, -1}}) {
        const auto* px = x.data() + 2 * longest;
        const auto* py = y.data() + 2 * longest;
        const Strided in[] = {{px, sx}, {py, sy}};
        std::vector<std::uint8_t> out(static_cast<std::size_t>(n) + 1, 77);
        loop(in, out.data(), n);
        CHECK(out.back() == 77);
        for (std::ptrdiff_t i = 0; i < n; ++i)
          if (out[static_cast<std::size_t>(i)] != static_cast<std::uint8_t>(expected(px[i * sx], py[i * sy]))) {
            INFO(what << " of " << +px[i * sx] << " and " << +py[i * sy]);
            CHECK(+out[static_cast<std::size_t>(i)] == +expected(px[i * sx], py[i * sy]));
            return;
          }
      }
  };
  const auto check_order = [&]<class T>(const Set& set, DType type, T) {
    Operands<T> operands("");
    auto &x = operands.data[1], &y = operands.data[2];
    for (std::size_t i = 0; i < x.size(); i += 3) y[i] = x[i];
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < x.size(); i += 5) x[i] = std::numeric_limits<T>::quiet_NaN();
      for (std::size_t i = 0; i < x.size(); i += 7)
        x[i] = (i & 1u) != 0 ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
      check(
          "isnan", set.get<ComparisonKernels>().of(Predicate::isnan, type), [](T a, T) { return std::isnan(a); }, x, y);
      check(
          "isinf", set.get<ComparisonKernels>().of(Predicate::isinf, type), [](T a, T) { return std::isinf(a); }, x, y);
      check(
          "isfinite", set.get<ComparisonKernels>().of(Predicate::isfinite, type),
          [](T a, T) { return std::isfinite(a); }, x, y);
    }
    check(
        "equal", set.get<ComparisonKernels>().of(Comparison::equal, type), [](T a, T b) { return a == b; }, x, y);
    check(
        "not_equal", set.get<ComparisonKernels>().of(Comparison::not_equal, type), [](T a, T b) { return a != b; }, x,
        y);
    check(
        "less", set.get<ComparisonKernels>().of(Comparison::less, type), [](T a, T b) { return a < b; }, x, y);
    check(
        "less_equal", set.get<ComparisonKernels>().of(Comparison::less_equal, type), [](T a, T b) { return a <= b; }, x,
        y);
    check(
        "greater", set.get<ComparisonKernels>().of(Comparison::greater, type), [](T a, T b) { return a > b; }, x, y);
    check(
        "greater_equal", set.get<ComparisonKernels>().of(Comparison::greater_equal, type),
        [](T a, T b) { return a >= b; }, x, y);
  };
  for (const Set* set : supported_sets()) {
    check_order(*set, DType::boolean, std::uint8_t());
    check_order(*set, DType::uint8, std::uint8_t());
    check_order(*set, DType::int32, std::int32_t());
    check_order(*set, DType::int64, std::int64_t());
    check_order(*set, DType::float32, float());
    check_order(*set, DType::float64, double());

    Operands<std::uint8_t> bytes("");
    for (auto& operand : bytes.data)
      for (std::uint8_t& e : operand) e &= 1;
    const auto &x = bytes.data[1], &y = bytes.data[2];
    check(
        "and", set->get<ComparisonKernels>().of(Logical::conjunction), [](int a, int b) { return a & b; }, x, y);
    check(
        "or", set->get<ComparisonKernels>().of(Logical::disjunction), [](int a, int b) { return a | b; }, x, y);
    check(
        "xor", set->get<ComparisonKernels>().of(Logical::exclusive), [](int a, int b) { return a ^ b; }, x, y);
    check(
        "not", set->get<ComparisonKernels>().of(Logical::negation), [](int a, int) { return 1 - a; }, x, y);

    for (std::ptrdiff_t size : {1, 2, 4, 8, 16}) {
      std::vector<char> a(static_cast<std::size_t>(4 * longest * size)), b(a.size());
      std::mt19937 random(5);
      for (char& e : a) e = static_cast<char>(random());
      for (char& e : b) e = static_cast<char>(random());
      for (std::ptrdiff_t n : lengths)
        for (auto [sc, sa, sb] : {std::tuple(1, 1, 1), {1, 0, 1}, {1, 1, 0}, {0, 1, 1}, {2, -1, 1}, {-1, 2, 0}}) {
          const std::uint8_t* pc = x.data() + 2 * longest;
          const char *pa = a.data() + 2 * longest * size, *pb = b.data() + 2 * longest * size;
          const Strided in[] = {{pc, sc}, {pa, sa}, {pb, sb}};
          std::vector<char> out(static_cast<std::size_t>(n * size));
          set->get<ComparisonKernels>().select[size_class(static_cast<std::size_t>(size))](in, out.data(), n);
          bool good = true;
          for (std::ptrdiff_t i = 0; i < n; ++i)
            good &= std::memcmp(out.data() + i * size, pc[i * sc] != 0 ? pa + i * sa * size : pb + i * sb * size,
                                static_cast<std::size_t>(size)) == 0;
          CHECK(good);
        }
    }
  }
}

TEST_CASE("choices by a comparison agree with the language, for every length and stride") {
  const auto check = [&]<class T>(const Set& set, DType type, T) {
    Operands<T> operands("");
    auto &a = operands.data[0], &b = operands.data[1];
    for (std::size_t i = 0; i < a.size(); i += 3) b[i] = a[i];
    for (std::size_t i = 0; i < a.size(); i += 5)
      a[i] = std::copysign(std::numeric_limits<T>::quiet_NaN(), T(i % 2 == 0 ? 1 : -1));
    for (std::size_t i = 0; i < a.size(); i += 7) a[i] = i % 2 != 0 ? T(-0.0) : T(0), b[i] = T(0);
    for (std::size_t i = 0; i < a.size(); i += 11) operands.data[2][i] = std::numeric_limits<T>::quiet_NaN();
    const T* p[4];
    for (std::size_t k = 0; k < 4; ++k) p[k] = operands.data[k % 3].data() + 2 * longest;
    p[3] -= 1;
    bool (*const test[])(T, T) = {[](T u, T v) { return u == v; }, [](T u, T v) { return u < v; },
                                  [](T u, T v) { return u <= v; }};
    for (std::size_t c = 0; c < std::size(test); ++c)
      for (const std::ptrdiff_t n : lengths)
        for (const auto& s : {std::array<std::ptrdiff_t, 4>{1, 1, 1, 1}, {1, 0, 1, 0}, {0, 1, 0, 1}, {2, -1, 1, 0}}) {
          const Strided in[] = {{p[0], s[0]}, {p[1], s[1]}, {p[2], s[2]}, {p[3], s[3]}};
          std::vector<T> out(static_cast<std::size_t>(n) + 1, T(77));
          set.get<ComparisonKernels>().choice[c][index(type)](in, out.data(), n);
          bool good = out.back() == T(77);
          for (std::ptrdiff_t i = 0; i < n; ++i) {
            const T wanted = test[c](p[0][i * s[0]], p[1][i * s[1]]) ? p[2][i * s[2]] : p[3][i * s[3]];
            good &= std::memcmp(&out[static_cast<std::size_t>(i)], &wanted, sizeof wanted) == 0;
          }
          INFO(set.isa << ", choice " << c << " of " << n);
          CHECK(good);
        }
  };
  for (const Set* set : supported_sets()) {
    check(*set, DType::float32, float());
    check(*set, DType::float64, double());
  }
}

TEST_CASE("complex numbers are equal if both parts are") {
  const double x[] = {1, 2, 1, 2, std::nan(""), 0}, y[] = {1, 2, 1, 3, std::nan(""), 0};
  const Strided in[] = {{x, 1}, {y, 1}};
  std::uint8_t out[3];
  active<ComparisonKernels>().of(Comparison::equal, DType::complex128)(in, out, 3);
  CHECK((out[0] == 1 && out[1] == 0 && out[2] == 0));
  active<ComparisonKernels>().of(Comparison::not_equal, DType::complex128)(in, out, 3);
  CHECK((out[0] == 0 && out[1] == 1 && out[2] == 1));
  CHECK(active<ComparisonKernels>().of(Comparison::less, DType::complex128) == nullptr);
}

TEST_CASE("copies are complete at every distance of target and source within a page, for lengths around 2 KiB") {
  constexpr std::size_t page = 4096, most = 3 * page;
  std::vector<unsigned char> from(most + page), to(most + 2 * page);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37 % 251);
  const std::size_t base =
      (reinterpret_cast<std::uintptr_t>(from.data()) - reinterpret_cast<std::uintptr_t>(to.data())) % page;
  for (const std::size_t bytes : {1u, 2047u, 2048u, 2049u, 4000u, 4096u, 4097u, 10000u})
    for (std::size_t ahead = 0; ahead < 140; ++ahead) {
      std::fill(to.begin(), to.end(), 255);
      unsigned char* target = to.data() + base + ahead;
      copy({from.data(), 1}, target, 1, static_cast<std::ptrdiff_t>(bytes), 1);
      const bool same = std::memcmp(target, from.data(), bytes) == 0;
      const bool within = target[bytes] == 255 && std::count(to.data(), target, 255) == target - to.data();
      if (!same || !within) FAIL("wrong copy of " << bytes << " bytes, " << ahead << " ahead");
    }
}

TEST_CASE("the kernels in use are the machine's best, or those that REEL_ISA names") {
  CHECK(find("scalar") != nullptr);
  CHECK(find("pdp11") == nullptr);
  const auto is_active = [](const Set* set) { return set != nullptr && std::string_view(set->isa) == active().isa; };
  CHECK(is_active(find(active().isa)));
  const char* wanted = std::getenv("REEL_ISA");
  if (wanted == nullptr || *wanted == '\0')
    CHECK(isa_problem() == nullptr);
  else
    CHECK(is_active(find(wanted)) == (isa_problem() == nullptr));
}

namespace {

// The quotient rounded down, and what is left; the quotient of the least number by -1 wraps. By 0 both are 0.
struct Division {
  std::int64_t quotient = 0, rest = 0;
  Division(std::int64_t x, std::int64_t y) {
    if (y == 0) return;
    if (y == -1) {
      quotient = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
      return;
    }
    const bool down = x % y != 0 && (x < 0) != (y < 0);
    quotient = x / y - (down ? 1 : 0);
    rest = x % y + (down ? y : 0);
  }
};

// Quotients and remainders of all pairs of some integers, extremes among them, as one array.
template <class T>
void check_divisions(const Set& set, DType dtype) {
  std::vector<T> some{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}, a, b;
  for (std::uint64_t i = 0, x = 1; i < 90; ++i, x = x * 6364136223846793005u + 1442695040888963407u)
    some.push_back(static_cast<T>(i < 12 ? i : x >> (i % 60)));
  for (const T x : std::vector<T>(some))
    for (const int step : {-1, 1})
      some.push_back(static_cast<T>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(step)));
  for (const T x : some)
    for (const T y : some) {
      a.push_back(x);
      b.push_back(y);
    }
  std::vector<T> quotient(a.size()), rest(a.size());
  const Strided in[] = {{a.data(), 1}, {b.data(), 1}};
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  set.get<PointwiseKernels>().of(index_of<"floor_divide">(), dtype).value(in, quotient.data(), n);
  set.get<PointwiseKernels>().of(index_of<"mod">(), dtype).value(in, rest.data(), n);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Division exact(a[i], b[i]);
    const T wanted = static_cast<T>(exact.quotient), left = static_cast<T>(exact.rest);
    if (quotient[i] == wanted && rest[i] == left) continue;
    CAPTURE(set.isa, dtype, +a[i], +b[i]);
    CHECK(+quotient[i] == +wanted);
    CHECK(+rest[i] == +left);
  }
  CHECK(a.size() > 70000);
}

}  // namespace

TEST_CASE("integers divide exactly in every instruction set") {
  for (const Set* set : supported_sets()) {
    check_divisions<std::uint8_t>(*set, DType::uint8);
    check_divisions<std::int32_t>(*set, DType::int32);
    check_divisions<std::int64_t>(*set, DType::int64);
  }
}
