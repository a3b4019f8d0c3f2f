// Rows of a few elements: split into columns, and filled with one element each. From AVX2 on, filled rows are
// permutations of vectors. Other loops have the number of elements per row as a compile-time constant, so that the
// compiler generates vector shuffles.
#include "kernels/short_rows.hpp"

#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace reel::kernels {

namespace {

template <class T, std::ptrdiff_t Count>
void split(const void* from, std::ptrdiff_t n, void* to, std::ptrdiff_t apart) {
  const T* __restrict rows = static_cast<const T*>(from);
  T* __restrict columns = static_cast<T*>(to);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t k = 0; k < Count; ++k) columns[k * apart + i] = rows[i * Count + k];
}

// The rare case.
template <class T>
[[gnu::cold, gnu::noinline]] void repeat_one_by_one(const T* x, std::ptrdiff_t stride, std::ptrdiff_t elements,
                                                    std::ptrdiff_t n, T* rows) {
  for (std::ptrdiff_t i = 0; i < n; ++i, x += stride, rows += elements)
    for (std::ptrdiff_t k = 0; k < elements; ++k) rows[k] = *x;
}

#ifdef __AVX2__

#ifdef __AVX512BW__
constexpr std::ptrdiff_t words = 16;  // of a vector, 32 bits each
__m512i load(const void* p) { return _mm512_loadu_si512(p); }
void store_permuted(__m512i x, const std::uint8_t* order, void* to) {
  const __m512i index = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(order)));
  _mm512_storeu_si512(to, _mm512_permutexvar_epi32(index, x));
}
#else
constexpr std::ptrdiff_t words = 8;
__m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
void store_permuted(__m256i x, const std::uint8_t* order, void* to) {
  const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(order)));
  _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(x, index));
}
#endif

// The first order of rows of n elements, which have n orders.
constexpr std::size_t first_order(std::size_t n) { return n * (n - 1) / 2 - 1; }
using Orders = std::array<std::uint8_t[words], first_order(short_row_max + 1)>;
// The words of a vector of elements that the words of each vector of rows are.
template <class T>
constexpr Orders permutation_orders() {
  Orders orders{};
  constexpr std::size_t width = words, per_element = sizeof(T) / 4;
  for (std::size_t n = short_row_min; n <= short_row_max; ++n)
    for (std::size_t i = 0; i < n * width; ++i)
      orders[first_order(n) + i / width][i % width] =
          static_cast<std::uint8_t>(i / per_element / n * per_element + i % per_element);
  return orders;
}

template <class T>
void repeat(const void* from, std::ptrdiff_t stride, std::ptrdiff_t elements, std::ptrdiff_t n, void* to) {
  static constexpr Orders orders = permutation_orders<T>();
  constexpr std::ptrdiff_t lanes = words * 4 / static_cast<std::ptrdiff_t>(sizeof(T));
  const T* x = static_cast<const T*>(from);
  T* rows = static_cast<T*>(to);
  if (stride == 1)
    for (; n >= lanes; n -= lanes, x += lanes) {
      const auto some = load(x);
      const std::uint8_t* order = orders[first_order(static_cast<std::size_t>(elements))];
      for (std::ptrdiff_t k = 0; k < elements; ++k, order += words, rows += lanes) store_permuted(some, order, rows);
    }
  repeat_one_by_one(x, stride, elements, n, rows);
}

#else

template <class T, std::ptrdiff_t Count>
void repeat(const T* __restrict x, std::ptrdiff_t n, T* __restrict rows) {
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t k = 0; k < Count; ++k) rows[i * Count + k] = x[i];
}
// Whole vectors, whose ends the next row overwrites.
template <class T>
void repeat_longer(const T* x, std::ptrdiff_t elements, std::ptrdiff_t n, T* rows) {
  constexpr std::ptrdiff_t width = 16;
  static_assert(short_row_max <= width);
  const T* const end = rows + n * elements;
  for (; end - rows >= width; --n, ++x, rows += elements)
    for (std::ptrdiff_t k = 0; k < width; ++k) rows[k] = *x;
  repeat_one_by_one(x, 1, elements, n, rows);
}

template <class T>
void repeat(const void* from, std::ptrdiff_t stride, std::ptrdiff_t elements, std::ptrdiff_t n, void* to) {
  static constexpr void (*constant[])(const T* x, std::ptrdiff_t n, T* rows) = {
      &repeat<T, 2>, &repeat<T, 3>, &repeat<T, 4>, &repeat<T, 5>, &repeat<T, 6>, &repeat<T, 7>, &repeat<T, 8>};
  const T* x = static_cast<const T*>(from);
  T* rows = static_cast<T*>(to);
  if (stride != 1) return repeat_one_by_one(x, stride, elements, n, rows);
  const std::ptrdiff_t at = elements - short_row_min;
  if (at < std::ssize(constant)) return constant[at](x, n, rows);
  repeat_longer(x, elements, n, rows);
}

#endif

template <class T, std::size_t... I>
void enter_split(ShortRows& table, std::index_sequence<I...>) {
  ((table.split[sizeof(T) == 8][I] = &split<T, short_row_min + static_cast<std::ptrdiff_t>(I)>), ...);
}
template <class T>
void enter(ShortRows& table) {
  enter_split<T>(table, std::make_index_sequence<std::size(ShortRows().split[0])>());
  table.repeat[sizeof(T) == 8] = &repeat<T>;
}

}  // namespace

const void* short_rows_kernels() {
  static ShortRows table;
  enter<std::uint32_t>(table);
  enter<std::uint64_t>(table);
  return &table;
}

}  // namespace reel::kernels
