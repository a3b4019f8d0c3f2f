// Three nested loops around the kernel: over columns of c and, inside, along k, so that a block of b is packed once and
// stays in the second-level cache; innermost over rows of c, for which a block of a is packed. Factors are read in
// place if packing costs more than it gains: blocks that are read once or twice, or fit the first-level cache.
#include "loops/product/tiled_product.hpp"

#include <algorithm>
#include <string_view>

#include "core/block.hpp"
#include "kernels/blas.hpp"
#include "kernels/dispatch.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {
namespace {

// The number of consecutive products of real numbers that are summed before the sum is added to the earlier ones. It is
// part of the order of every sum, and no tuning.
constexpr std::int64_t sum_length = 256;

// The length of equal parts of n, at most `most`.
constexpr std::int64_t even_piece(std::int64_t n, std::int64_t most) {
  return n <= most ? n : ceil_divide(n, ceil_divide(n, most));
}

std::int64_t parts_of(DType dtype) { return is_complex(dtype) ? 2 : 1; }

}  // namespace

TiledProduct::TiledProduct(DType dtype, const Factor& a, const Factor& b, std::int64_t width, Into into)
    : loops_(kernels::active<kernels::ProductKernels>()[dtype]),
      parts_(parts_of(dtype)),
      size_(static_cast<std::int64_t>(item_size(dtype)) / parts_),
      k_(a.columns),
      block_k_(std::min(k_, sum_length / parts_)),
      a_{nullptr, a.row_stride, a.column_stride},
      b_{nullptr, b.row_stride, b.column_stride},
      width_(width),
      add_(into != Into::overwrite),
      negate_(into == Into::subtract) {}

bool TiledProduct::can_add(DType dtype, std::int64_t k) { return k * parts_of(dtype) <= sum_length; }

TiledProduct::Blocks TiledProduct::largest_blocks() const {
  // A division takes longer than a small product.
  constexpr std::int64_t rows_of_float = tuning::product_a_bytes / sum_length / 4,
                         columns_of_float = tuning::product_b_bytes / sum_length / 4;
  const int twice = size_ == 8;
  return {rows_of_float >> twice, columns_of_float >> twice >> (parts_ - 1)};
}

bool TiledProduct::packs_a(std::int64_t columns) const {
  if (parts_ > 1) return a_.column_stride != 1;
  if (columns <= loops_.columns * tuning::product_direct_panels) return false;
  constexpr std::int64_t page_bytes = 4096;  // rows at such distances share the sets of a first-level cache
  if (a_.column_stride == 1) return a_.row_stride * size_ % page_bytes == 0;
  return a_.row_stride != 1 || block_k_ * a_.column_stride * size_ > tuning::product_a_bytes;
}

bool TiledProduct::packs_b(std::int64_t rows, std::int64_t columns) const {
  if (parts_ > 1 || b_.column_stride != 1) return true;
  if (!loops_.reads_tails && columns % loops_.lanes != 0) return true;
  return rows > loops_.rows * tuning::product_direct_panels && block_k_ * b_.row_stride * size_ > tuning::l1_bytes;
}

std::int64_t TiledProduct::bytes_a(std::int64_t rows) const {
  const std::int64_t padded = block_k_ * parts_ + 2 * tuning::cache_line_bytes / size_;
  return (rows + loops_.rows) * padded * size_;
}
std::int64_t TiledProduct::bytes_b(std::int64_t columns) const {
  return (columns * parts_ + loops_.columns - 1) * block_k_ * parts_ * size_;
}

std::int64_t TiledProduct::bytes(std::int64_t rows, std::int64_t columns) const {
  const Blocks most = largest_blocks();
  const bool pack_b = packs_b(rows, columns) || !loops_.reads_tails;  // a block with fewer columns may have a tail
  return (packs_a(columns) ? bytes_a(std::min(rows, most.rows)) : 0) +
         (pack_b ? bytes_b(std::min(columns, most.columns)) : 0);
}

std::int64_t TiledProduct::most_bytes(std::int64_t rows, std::int64_t columns) const {
  const Blocks most = largest_blocks();
  return bytes_a(std::min(rows, most.rows)) + bytes_b(std::min(columns, most.columns));
}

void TiledProduct::operator()(const std::byte* a, const std::byte* b, std::byte* c, std::int64_t rows,
                              std::int64_t columns, std::byte* memory) const {
  const std::int64_t item = size_ * parts_;  // bytes
  const Blocks largest = largest_blocks();
  const Blocks most{even_piece(rows, largest.rows), even_piece(columns, largest.columns)};
  // A block with fewer columns may have a tail where the whole has none.
  const bool tails = !loops_.reads_tails && most.columns < columns;
  const bool pack_a = packs_a(columns), pack_b = tails || packs_b(rows, columns);
  std::byte* const memory_a = memory + (pack_b ? bytes_b(most.columns) : 0);
  kernels::ProductBlock p;
  p.height = even_piece(std::min(rows, most.rows), loops_.rows);
  p.c_row = width_ * parts_;
  for (std::int64_t j = 0; j < columns; j += most.columns) {
    p.n = std::min(most.columns, columns - j) * parts_;
    for (std::int64_t k = 0; k < k_; k += block_k_) {
      p.k = std::min(block_k_, k_ - k) * parts_;
      p.add = add_ || k > 0;
      p.negate = negate_;
      p.b = b + (k * b_.row_stride + j * b_.column_stride) * item;
      p.b_step = b_.row_stride;
      p.b_panel = loops_.columns;
      if (pack_b) loops_.pack_b({p.b, b_.row_stride, b_.column_stride}, memory, p);
      for (std::int64_t i = 0; i < rows; i += most.rows) {
        p.m = std::min(most.rows, rows - i);
        p.a = a + (i * a_.row_stride + k * a_.column_stride) * item;
        p.a_row = a_.row_stride * parts_;
        p.a_step = parts_ == 1 ? a_.column_stride : 1;
        p.a_panel = p.height * p.a_row;
        if (pack_a) loops_.pack_a({p.a, a_.row_stride, a_.column_stride}, memory_a, p);
        p.c = c + (i * width_ + j) * item;
        loops_.run(p);
      }
    }
  }
}

bool multiply_small(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into) {
  constexpr std::int64_t most_products = std::int64_t{1} << 15, most_extent = std::int64_t{1} << 12;
  static_assert(most_products < tuning::product_split);
  const detail::Block *x = detail::block(a), *y = detail::block(b), *z = detail::block(out);
  if (x->rank != 2 || y->rank != 2) return false;
  const auto matrix = [](const detail::Block* block, int first) {
    const std::int64_t *extents = block->extents(), *strides = block->strides();
    return Factor{block->data, extents[first], extents[1 - first], strides[first], strides[1 - first], {}};
  };
  const Factor fa = matrix(x, transposes.a), fb = matrix(y, transposes.b);
  const std::int64_t m = fa.rows, n = fb.columns, k = fa.columns;
  if (std::min({m, n, k}) < 2 || std::max({m, n, k}) > most_extent || m * n * k > most_products) return false;
  if (fa.row_stride == 0 || fb.column_stride == 0 || !is_tiled(z->dtype, m, n, k)) return false;
  if (into == Into::add && !TiledProduct::can_add(z->dtype, k)) return false;
  const TiledProduct product(z->dtype, fa, fb, n, into);
  if (product.bytes(m, n) > tuning::product_stack_bytes) return false;
  alignas(64) std::byte memory[tuning::product_stack_bytes];
  product(fa.data, fb.data, z->data, m, n, memory);
  return true;
}

// ---- Choice of the product

namespace {

// The classes of shapes for which one of the two products is faster. The choice depends on nothing else, so that a
// product has the same bits in every form: eager, compiled, or as part of a derivative.
enum class ShapeClass : std::uint8_t { shallow, narrow, low, small, middle, deep, large };
ShapeClass class_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  // Multiplications, and elements of c. Measured against BLAS; rows "matmul".
  constexpr std::int64_t large_volume = 1 << 24, small_volume = 1 << 15, tiny_volume = 1 << 9, wide_area = 1 << 15,
                         deep_least = 16, deep_most = 128;  // rows and columns of c
  std::int64_t area, volume;
  if (__builtin_mul_overflow(m, n, &area) || __builtin_mul_overflow(area, k, &volume)) return ShapeClass::large;
  if (volume > large_volume)
    return std::min(m, n) >= deep_least && std::max(m, n) <= deep_most ? ShapeClass::deep : ShapeClass::large;
  if (volume <= tiny_volume) return ShapeClass::small;  // a call of BLAS takes longer, and may lock
  if (n < 8 && k > 16) return ShapeClass::narrow;       // most lanes of a vector would be idle
  if (m < 4 && k > 8) return ShapeClass::low;           // too few sums at a time to hide the latency of multiply-adds
  if (k < 32 && area >= wide_area) return ShapeClass::shallow;  // dominated by writing c
  return volume <= small_volume ? ShapeClass::small : ShapeClass::middle;
}

using Classes = unsigned;  // a bit per class
template <class... C>
constexpr Classes classes(C... c) {
  return ((1u << static_cast<unsigned>(c)) | ...);
}

// From measurements of these kernels and OpenBLAS 0.3.21, with the core type that fits the instruction set, of a
// product and the two of its gradients, on an Intel Xeon (Sapphire Rapids) and an AMD EPYC (Zen 4): bench/README.md,
// "Matrix products". Cases that were not measured are left to BLAS.
struct TiledClasses {
  std::string_view isa;
  DType dtype;
  Classes by_vendor[3];  // the classes that these kernels compute, by Vendor
};
using enum ShapeClass;
constexpr TiledClasses tiled_classes[] = {
    {"avx512", DType::float32, {classes(small, middle, deep), classes(shallow, small, middle), classes(small)}},
    {"avx512", DType::float64, {classes(small, middle, deep), classes(shallow, small, middle), classes(small)}},
    {"avx2",
     DType::float32,
     {classes(narrow, low, small, middle), classes(shallow, low, small, middle), classes(small)}},
    {"avx2",
     DType::float64,
     {classes(narrow, low, small, middle), classes(shallow, narrow, low, small, middle), classes(small)}},
};

}  // namespace

bool is_tiled(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (is_complex(dtype)) return true;
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  if (!kernels::has_lapack) return m != 1 || n != 1;
  if (m == 1 || n == 1) return false;
  const auto vendor = static_cast<std::size_t>(kernels::tables());
  const std::string_view isa = kernels::active().isa;
  const ShapeClass shape = class_of(m, n, k);
  for (const TiledClasses& choice : tiled_classes)
    if (choice.dtype == dtype && choice.isa == isa) return choice.by_vendor[vendor] & classes(shape);
  return false;
}

}  // namespace reel::loops
