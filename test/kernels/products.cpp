// Matrix products in tiles: every result has the bits of one chain of multiply-adds along k. Tested on every
// instruction set of this machine, for extents around the borders of tiles and vectors, and factors of any strides,
// packed and unpacked.
#include "kernels/products.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"

using namespace reel::kernels;
using reel::DType, reel::dtype_of;

namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

template <class E>
struct Parts {
  using Real = E;
  static constexpr std::ptrdiff_t count = 1;
};
template <class T>
struct Parts<std::complex<T>> {
  using Real = T;
  static constexpr std::ptrdiff_t count = 2;
};

// A matrix with strides, in memory of exactly its size.
template <class E>
struct Matrix {
  std::vector<E> memory;
  std::ptrdiff_t first, row_stride, column_stride;

  const E& operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return memory[at(first + i * row_stride + j * column_stride)];
  }
  ProductFactor factor() const { return {memory.data() + first, row_stride, column_stride}; }
};

enum class Strides { rows, columns, wide_rows, reversed, every_other, equal_rows, equal_columns };
constexpr Strides all_strides[] = {Strides::rows,        Strides::columns,    Strides::wide_rows,    Strides::reversed,
                                   Strides::every_other, Strides::equal_rows, Strides::equal_columns};

template <class E>
Matrix<E> drawn(std::ptrdiff_t rows, std::ptrdiff_t columns, Strides strides, std::mt19937& random) {
  Matrix<E> x{{}, 0, 0, 0};
  switch (strides) {
    case Strides::rows:
      x.row_stride = columns, x.column_stride = 1;
      break;
    case Strides::columns:
      x.row_stride = 1, x.column_stride = rows;
      break;
    case Strides::wide_rows:
      x.row_stride = columns + 3, x.column_stride = 1;
      break;
    case Strides::reversed:
      x.row_stride = -columns, x.column_stride = -1, x.first = rows * columns - 1;
      break;
    case Strides::every_other:
      x.row_stride = 2 * columns, x.column_stride = 2;
      break;
    case Strides::equal_rows:
      x.row_stride = 0, x.column_stride = 1;
      break;
    case Strides::equal_columns:
      x.row_stride = 1, x.column_stride = 0;
      break;
  }
  const std::ptrdiff_t last = x.first + (rows - 1) * x.row_stride + (columns - 1) * x.column_stride;
  x.memory.resize(at(std::max(x.first, last) + 1));
  using T = typename Parts<E>::Real;
  std::uniform_real_distribution<T> uniform(-1, 1);
  for (E& e : x.memory) {
    if constexpr (Parts<E>::count == 2)
      e = E(uniform(random), uniform(random));
    else
      e = uniform(random);
  }
  return x;
}

// The promise of a kernel set: multiply-adds along k, in order, from 0.
template <class T>
T chained(bool fused, T a, T b, T sum) {
  const volatile T product = a * b;  // no compiler fuses it
  return fused ? std::fma(a, b, sum) : product + sum;
}
template <class T>
T chain(bool fused, const Matrix<T>& a, const Matrix<T>& b, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) {
  T sum = 0;
  for (std::ptrdiff_t p = 0; p < k; ++p) sum = chained(fused, a(i, p), b(p, j), sum);
  return sum;
}
template <class T>
std::complex<T> chain(bool fused, const Matrix<std::complex<T>>& a, const Matrix<std::complex<T>>& b, std::ptrdiff_t i,
                      std::ptrdiff_t j, std::ptrdiff_t k) {
  T re = 0, im = 0;
  for (std::ptrdiff_t p = 0; p < k; ++p) {
    const std::complex<T> x = a(i, p), y = b(p, j);
    re = chained(fused, x.imag(), -y.imag(), chained(fused, x.real(), y.real(), re));
    im = chained(fused, x.imag(), y.real(), chained(fused, x.real(), y.imag(), im));
  }
  return {re, im};
}

bool near(long double got, long double expected, long double bound) { return std::abs(got - expected) <= bound; }
template <class T>
bool near(std::complex<T> got, std::complex<T> expected, long double bound) {
  return near(got.real(), expected.real(), bound) && near(got.imag(), expected.imag(), bound);
}

template <class E>
struct Problem {
  const Set& set;
  const MatrixProduct& loops = set.get<ProductKernels>()[dtype_of<E>];
  std::ptrdiff_t m, n, k;
  Matrix<E> a, b;
  static constexpr std::ptrdiff_t parts = Parts<E>::count;
  static constexpr std::ptrdiff_t gap = 5;  // elements between rows of c

  // c, of rows that lie n + gap apart, from `start` in all of it.
  std::vector<E> run(bool pack_a, bool pack_b, bool add, E start) const {
    using T = typename Parts<E>::Real;
    std::vector<E> c(at(m * (n + gap)), start);
    ProductBlock p{};
    p.m = m, p.n = n * parts, p.k = k * parts;
    const std::ptrdiff_t panels = (m + loops.rows - 1) / loops.rows;
    p.height = (m + panels - 1) / panels;
    p.a = a.factor().data;
    p.a_row = a.row_stride * parts, p.a_step = parts == 1 ? a.column_stride : 1, p.a_panel = p.height * p.a_row;
    p.b = b.factor().data;
    p.b_step = b.row_stride, p.b_panel = loops.columns;
    p.c = c.data();
    p.c_row = (n + gap) * parts;
    p.add = add;
    constexpr auto lines = static_cast<std::ptrdiff_t>(128 / sizeof(T));
    // Lanes after the last column are arbitrary. They are NaN here, to detect sums that include them.
    std::vector<T> memory_a(at((m + loops.rows) * (p.k + lines)), std::numeric_limits<T>::quiet_NaN()),
        memory_b(at((p.n + loops.columns) * p.k), std::numeric_limits<T>::quiet_NaN());
    if (pack_a) loops.pack_a(a.factor(), memory_a.data(), p);
    if (pack_b) loops.pack_b(b.factor(), memory_b.data(), p);
    loops.run(p);
    return c;
  }
  bool reads_a() const { return parts == 1 || a.column_stride == 1; }
  bool reads_b() const { return parts == 1 && b.column_stride == 1 && (loops.reads_tails || n % loops.lanes == 0); }
};

// The number of elements that differ from the chain of multiply-adds, or between the rows from their old values.
template <class E>
std::ptrdiff_t wrong(const Problem<E>& p, const std::vector<E>& c, bool add, E start) {
  const std::string_view isa = p.set.isa;
  const bool fused = isa == "avx2" || isa == "avx512" || isa == "neon64";
  using T = typename Parts<E>::Real;
  std::ptrdiff_t count = 0;
  for (std::ptrdiff_t i = 0; i < p.m; ++i) {
    for (std::ptrdiff_t j = 0; j < p.n; ++j) {
      E expected = chain(fused, p.a, p.b, i, j, p.k);
      if (add) expected = start + expected;
      const E got = c[at(i * (p.n + p.gap) + j)];
      // The scalar set is compiled with the machine's instructions: its compiler may fuse.
      const long double slack =
          isa == "scalar" ? std::numeric_limits<T>::epsilon() * static_cast<long double>(2 * p.k + 2) : 0;
      count += !near(got, expected, slack);
    }
    for (std::ptrdiff_t j = p.n; j < p.n + p.gap; ++j) count += c[at(i * (p.n + p.gap) + j)] != start;
  }
  return count;
}

template <class E>
int check_all_forms(const Set& set, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, Strides a, Strides b) {
  std::mt19937 random(static_cast<unsigned>(m * 7919 + n * 31 + k));
  const Problem<E> p{
      .set = set, .m = m, .n = n, .k = k, .a = drawn<E>(m, k, a, random), .b = drawn<E>(k, n, b, random)};
  int forms = 0;
  for (const bool pack_a : {false, true})
    for (const bool pack_b : {false, true})
      for (const bool add : {false, true}) {
        if ((!pack_a && !p.reads_a()) || (!pack_b && !p.reads_b())) continue;
        INFO(set.isa << ", " << sizeof(E) << " bytes, " << m << " x " << k << " x " << n << ", strides "
                     << static_cast<int>(a) << ", " << static_cast<int>(b) << ", packed " << pack_a << pack_b
                     << ", add " << add);
        CHECK(wrong(p, p.run(pack_a, pack_b, add, E(7)), add, E(7)) == 0);
        ++forms;
      }
  return forms;
}

template <class E>
void check_set(const Set& set) {
  constexpr std::ptrdiff_t extents[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 28, 29, 31, 32, 33, 48, 70};
  int forms = 0;
  for (const std::ptrdiff_t m : extents)
    for (const std::ptrdiff_t n : extents) forms += check_all_forms<E>(set, m, n, 5, Strides::rows, Strides::rows);
  for (const std::ptrdiff_t k : extents)
    for (const std::ptrdiff_t n : {3, 16, 33}) {
      forms += check_all_forms<E>(set, 15, n, k, Strides::rows, Strides::columns);
      forms += check_all_forms<E>(set, n, 15, k, Strides::columns, Strides::rows);
    }
  for (const Strides a : all_strides)
    for (const Strides b : all_strides)
      for (const auto& [m, n, k] : {std::tuple(3, 3, 3), {6, 6, 6}, {29, 37, 18}})
        forms += check_all_forms<E>(set, m, n, k, a, b);
  forms += check_all_forms<E>(set, 150, 200, 256 / Parts<E>::count, Strides::wide_rows, Strides::columns);
  CHECK(forms > 2000);
}

}  // namespace

TEMPLATE_TEST_CASE("each element of a product in tiles is one chain of multiply-adds along k", "[once]", float, double,
                   std::complex<float>, std::complex<double>) {
  for (const Set* set : supported_sets()) check_set<TestType>(*set);
}

TEMPLATE_TEST_CASE("products in tiles are those of long double sums", "", float, double) {
  using T = TestType;
  std::mt19937 random(1);
  for (const Set* set : supported_sets()) {
    const Problem<T> p{.set = *set,
                       .m = 31,
                       .n = 45,
                       .k = 200,
                       .a = drawn<T>(31, 200, Strides::rows, random),
                       .b = drawn<T>(200, 45, Strides::columns, random)};
    const std::vector<T> c = p.run(true, true, false, T(0));
    int far = 0;
    for (std::ptrdiff_t i = 0; i < p.m; ++i)
      for (std::ptrdiff_t j = 0; j < p.n; ++j) {
        long double sum = 0, magnitude = 0;
        for (std::ptrdiff_t l = 0; l < p.k; ++l) {
          const long double product = static_cast<long double>(p.a(i, l)) * p.b(l, j);
          sum += product;
          magnitude += std::abs(product);
        }
        far += !near(c[at(i * (p.n + p.gap) + j)], sum, 8 * magnitude * std::numeric_limits<T>::epsilon());
      }
    INFO(set->isa);
    CHECK(far == 0);
  }
}

TEMPLATE_TEST_CASE("products in tiles: NaN and infinity reach only their rows and columns", "", float, double) {
  using T = TestType;
  std::mt19937 random(2);
  for (const Set* set : supported_sets())
    for (const T special : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
      Problem<T> p{.set = *set,
                   .m = 20,
                   .n = 21,
                   .k = 9,
                   .a = drawn<T>(20, 9, Strides::rows, random),
                   .b = drawn<T>(9, 21, Strides::columns, random)};
      p.a.memory[at(17 * 9 + 4)] = special;  // row 17
      p.b.memory[at(20 * 9 + 3)] = special;  // column 20
      const std::vector<T> c = p.run(false, true, false, T(0));
      int wrong_place = 0;
      for (std::ptrdiff_t i = 0; i < p.m; ++i)
        for (std::ptrdiff_t j = 0; j < p.n; ++j)
          wrong_place += std::isfinite(c[at(i * (p.n + p.gap) + j)]) == (i == 17 || j == 20);
      INFO(set->isa);
      CHECK(wrong_place == 0);
    }
}
