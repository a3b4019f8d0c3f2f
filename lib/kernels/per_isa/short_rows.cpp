// Rows of a few elements: split into columns, and filled with one element each. The number of elements per row is a
// compile-time constant in each loop, so that the compiler generates vector shuffles.
#include "kernels/short_rows.hpp"

#include <cstdint>
#include <iterator>
#include <utility>

namespace reel::kernels {

namespace {

template <class T, std::ptrdiff_t Count>
void split(const void* from, std::ptrdiff_t n, void* to, std::ptrdiff_t apart) {
  const T* __restrict rows = static_cast<const T*>(from);
  T* __restrict columns = static_cast<T*>(to);
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t k = 0; k < Count; ++k) columns[k * apart + i] = rows[i * Count + k];
}

template <class T, std::ptrdiff_t Count>
void repeat(const void* from, std::ptrdiff_t stride, std::ptrdiff_t n, void* to) {
  const T* __restrict x = static_cast<const T*>(from);
  T* __restrict rows = static_cast<T*>(to);
  if (stride == 1) {
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t k = 0; k < Count; ++k) rows[i * Count + k] = x[i];
    return;
  }
  for (std::ptrdiff_t i = 0; i < n; ++i, x += stride, rows += Count) {
    asm("" : "+r"(x));  // no vectors for the rare case
    for (std::ptrdiff_t k = 0; k < Count; ++k) rows[k] = *x;
  }
}

template <class T, std::size_t... I>
void enter_split(ShortRows& table, std::index_sequence<I...>) {
  ((table.split[sizeof(T) == 8][I] = &split<T, short_row_min + static_cast<std::ptrdiff_t>(I)>), ...);
}
template <class T, std::size_t... I>
void enter_repeat(ShortRows& table, std::index_sequence<I...>) {
  ((table.repeat[sizeof(T) == 8][I] = &repeat<T, short_row_min + static_cast<std::ptrdiff_t>(I)>), ...);
}
template <class T>
void enter(ShortRows& table) {
  enter_split<T>(table, std::make_index_sequence<std::size(ShortRows().split[0])>());
  enter_repeat<T>(table, std::make_index_sequence<std::size(ShortRows().repeat[0])>());
}

}  // namespace

const void* short_rows_kernels() {
  static ShortRows table;
  enter<std::uint32_t>(table);
  enter<std::uint64_t>(table);
  return &table;
}

}  // namespace reel::kernels
