// Matrix products, divided into tiles of the result. A tile is computed by the library's kernels or by BLAS; where an
// extent is 1, by dot or matrix-vector products. Integers use plain loops. Sums are divided so that their rounding
// errors are bounded for any number of terms.
#include "loops/product/matmul.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <reel/runtime.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "core/visit.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/product/by_blas.hpp"
#include "loops/product/symmetric.hpp"
#include "loops/tuning.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {
namespace {

constexpr std::int64_t largest = std::numeric_limits<int>::max();
// Multiplications per task of a matrix product, about 35 us on one thread. Measured by `bench/run --filter matmul`.
constexpr std::int64_t split_products = std::int64_t{1} << 22;
// Rows and columns of a tile. BLAS is slower on tiles below full_tile; only the first division goes below it, to
// multiples of narrow_tile. Those of narrow_range divide the rows of matrix-vector products.
constexpr std::int64_t full_tile = 512, narrow_tile = 16, narrow_range = 64;
// Rows of a result that a program reads after the product has written them: they share the second-level cache.
constexpr std::int64_t rows_bytes = tuning::l2_bytes / 2;

// Products of extents, saturating: at this size everything is divided as far as possible anyway.
constexpr std::int64_t saturating(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

struct Tiling {
  std::int64_t rows, columns;  // of a tile
  std::int64_t down, across;   // number of tiles along each axis of the result
  std::int64_t count() const { return down * across; }
};

Tiling tiling(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (n == 1 || m == 1) {  // memory-bound: rows of the matrix that is read, in ranges
    const std::int64_t length = std::max(m, n);
    const std::int64_t ranges =
        std::clamp<std::int64_t>(saturating(length, k) / split_elements, 1, ceil_divide(length, narrow_range));
    const std::int64_t range = ceil_divide(ceil_divide(length, ranges), narrow_range) * narrow_range;
    if (ranges == 1) return {m, n, 1, 1};
    return n == 1 ? Tiling{range, 1, ceil_divide(m, range), 1} : Tiling{1, range, 1, ceil_divide(n, range)};
  }
  Tiling t{m, n, 1, 1};
  const std::int64_t work = saturating(saturating(m, n), k);
  if (work < split_products) return t;
  while (saturating(saturating(t.rows, t.columns), k) >= split_products / 2) {
    std::int64_t& larger = t.rows >= t.columns ? t.rows : t.columns;
    const std::int64_t half = ceil_divide(ceil_divide(larger, 2), narrow_tile) * narrow_tile;
    if (half >= larger || (half < full_tile && t.count() > 1)) break;
    larger = half;
    t.down = ceil_divide(m, t.rows);
    t.across = ceil_divide(n, t.columns);
  }
  return t;
}

// The kernels compute every tile with the same bits, so these tiles may depend on the number of threads: as many as
// there are threads, more of batches and large products so that threads finish at about the same time. One thread packs
// each factor once.
Tiling tiling_for_threads(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k) {
  Tiling t{m, n, 1, 1};
  const auto work = [&] { return saturating(saturating(t.rows, t.columns), k); };
  std::int64_t wanted = num_threads();
  if (wanted == 1) return t;
  if (count > 1 || work() >= tuning::product_large) wanted *= 4;
  while (saturating(count, t.count()) < wanted && work() >= tuning::product_split) {
    std::int64_t& larger = t.rows >= t.columns ? t.rows : t.columns;
    const std::int64_t half = ceil_divide(ceil_divide(larger, 2), narrow_tile) * narrow_tile;
    if (half >= larger) break;
    larger = half;
    t.down = ceil_divide(m, t.rows);
    t.across = ceil_divide(n, t.columns);
  }
  return t;
}

// Rows of tiles that are still in the second-level cache when they are complete.
void keep_in_cache(Tiling& t, std::int64_t m, std::int64_t row_bytes) {
  const std::int64_t rows = std::max(rows_bytes / row_bytes / narrow_tile, std::int64_t{4}) * narrow_tile;
  if (t.rows <= rows) return;
  t.rows = ceil_divide(ceil_divide(m, ceil_divide(m, rows)), narrow_tile) * narrow_tile;
  t.down = ceil_divide(m, t.rows);
}

// The number of tiles per task. `split`: multiplications of two tasks.
std::int64_t grain_of(const Tiling& tiles, std::int64_t k, std::int64_t split) {
  const std::int64_t work = saturating(saturating(tiles.rows, tiles.columns), k) + 1;
  return tiles.count() > 1 ? 1 : std::max<std::int64_t>(1, split / 2 / work);
}

// out = a b for each batch, contiguous; Into::add: out + a b. `then`, if not null, is called for complete rows.
struct Product {
  DType dtype;
  const Shape& batch;
  std::int64_t count;  // of the batch
  const Factor &a, &b;
  std::byte* out;
  Into into;
  const RangeFunction* then = nullptr;
};

// Calls `then` when all tiles of some rows are computed: unless there are fewer such rows than threads, or so short
// ones that the calls would take longer than they save.
class CompleteRows {
 public:
  CompleteRows(const Product& p, const Tiling& tiles)
      : p_(p),
        tiles_(tiles),
        called_(p.then && rows_of_tiles() >= most_threads() && tiles.rows * p.b.columns >= least_elements),
        left_(static_cast<std::size_t>(called_ ? rows_of_tiles() : 0)) {
    for (auto& left : left_) left.store(tiles.across, std::memory_order_relaxed);
  }
  bool called() const { return called_; }
  // Rows [i, i + rows) of one tile of product `at` are computed.
  void add(std::int64_t at, std::int64_t i, std::int64_t rows) {
    if (!called_) return;
    auto& left = left_[static_cast<std::size_t>(at * tiles_.down + i / tiles_.rows)];
    if (left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::int64_t width = p_.b.columns, begin = (at * p_.a.rows + i) * width;
    (*p_.then)(begin, begin + rows * width);
  }

 private:
  static constexpr std::int64_t least_elements = 2048;
  std::int64_t rows_of_tiles() const { return p_.count * tiles_.down; }
  static std::int64_t most_threads() { return std::max(num_threads(), 2); }
  const Product& p_;
  const Tiling& tiles_;
  bool called_;
  detail::List<std::atomic<std::int64_t>> left_;  // tiles to be computed, for each row of tiles
};

// The positions of consecutive matrices of both factors.
class Batches {
 public:
  Batches(const Shape& batch, const Factor& a, const Factor& b, std::int64_t at) : batch_(batch), a_(a), b_(b) {
    for (int d = batch.rank() - 1; d >= 0; --d) {
      const std::int64_t i = at % batch.data()[d];
      at /= batch.data()[d];
      index_[d] = i;
      offset_a += i * a.batch_strides.data()[d];
      offset_b += i * b.batch_strides.data()[d];
    }
  }
  void next() {
    for (int d = batch_.rank() - 1; d >= 0; --d) {
      const std::int64_t step_a = a_.batch_strides.data()[d], step_b = b_.batch_strides.data()[d];
      offset_a += step_a;
      offset_b += step_b;
      if (++index_[d] < batch_.data()[d]) return;
      offset_a -= step_a * index_[d];
      offset_b -= step_b * index_[d];
      index_[d] = 0;
    }
  }
  std::int64_t offset_a = 0, offset_b = 0;

 private:
  const Shape& batch_;
  const Factor &a_, &b_;
  std::int64_t index_[max_rank];
};

// Calls f(a, b, c, i, j, rows, columns) for each tile of each product: rows [i, i + rows), columns [j, j + columns) of
// c; a, b and c point to the first elements of the matrices. Returns whether p.then was called.
template <class F>
bool for_each_tile(const Product& p, const Tiling& tiles, std::int64_t grain, const F& f) {
  const std::int64_t m = p.a.rows, n = p.b.columns, size = static_cast<std::int64_t>(item_size(p.dtype));
  if (p.count == 1 && tiles.count() == 1) {
    f(p.a.data, p.b.data, p.out, 0, 0, m, n);
    return false;
  }
  CompleteRows complete(p, tiles);
  parallel_for(p.count * tiles.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = begin / tiles.count(), tile = begin % tiles.count();
    Batches batches(p.batch, p.a, p.b, at);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = tile / tiles.across * tiles.rows, j = tile % tiles.across * tiles.columns;
      const std::int64_t rows = std::min(tiles.rows, m - i);
      f(p.a.data + batches.offset_a * size, p.b.data + batches.offset_b * size, p.out + at * m * n * size, i, j, rows,
        std::min(tiles.columns, n - j));
      complete.add(at, i, rows);
      if (++tile == tiles.count()) {
        tile = 0;
        ++at;
        batches.next();
      }
    }
  });
  return complete.called();
}

template <class T>
bool by_blas(const Product& p) {
  const Factor &a = p.a, &b = p.b;
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const MatrixLayout la = layout(a), lb = layout(b);
  if (std::max({m, n, k, la.leading, lb.leading}) > largest)
    fail<ValueError>("matmul", "an extent or stride beyond 2^31 - 1 is more than BLAS takes: {} x {} x {}", m, k, n);
  // The stride of an axis of extent 1 may be anything; BLAS requires a positive one.
  const auto positive = [](std::int64_t stride) { return std::max<std::int64_t>(1, stride); };
  const BlasProduct<T> product{
      k, n, la, lb, a.row_stride, positive(a.column_stride), positive(b.row_stride), b.column_stride};
  kernels::prepare_blas();
  const Tiling tiles = tiling(m, n, k);
  if constexpr (kernels::has_lapack)
    if (p.count == 1 && p.into == Into::overwrite && is_gram(a, b)) {
      const T *from_a = reinterpret_cast<const T*>(a.data), *from_b = reinterpret_cast<const T*>(b.data);
      T* const c = reinterpret_cast<T*>(p.out);
      symmetric_product(
          c, m, std::min(tiles.rows, tiles.columns), 1,
          [&](auto i, auto j, auto rows, auto columns) { product(from_a, from_b, c, i, j, rows, columns); },
          [&](auto i, auto rows, T* to) { product.triangle(from_a, i, rows, to); });
      return false;
    }
  return for_each_tile(p, tiles, grain_of(tiles, k, split_products),
                       [&](const std::byte* from_a, const std::byte* from_b, std::byte* out, std::int64_t i,
                           std::int64_t j, std::int64_t rows, std::int64_t columns) {
                         product(reinterpret_cast<const T*>(from_a), reinterpret_cast<const T*>(from_b),
                                 reinterpret_cast<T*>(out), i, j, rows, columns);
                       });
}

bool by_tiles(const Product& p) {
  const Factor &a = p.a, &b = p.b;
  if (p.count == 1 && p.into == Into::overwrite && multiply_gram(p.dtype, a, b, p.out)) return false;
  const std::int64_t m = a.rows, n = b.columns, size = static_cast<std::int64_t>(item_size(p.dtype));
  Tiling tiles = tiling_for_threads(p.count, m, n, a.columns);
  if (p.then) keep_in_cache(tiles, m, n * size);
  const std::int64_t grain = grain_of(tiles, a.columns, tuning::product_split);
  const TiledProduct product(p.dtype, a, b, n, p.into);
  const auto one = [&](const std::byte* from_a, const std::byte* from_b, std::byte* out, std::int64_t i, std::int64_t j,
                       std::int64_t rows, std::int64_t columns, std::byte* memory) {
    product(from_a + i * a.row_stride * size, from_b + j * b.column_stride * size, out + (i * n + j) * size, rows,
            columns, memory);
  };
  const std::int64_t bytes = product.bytes(tiles.rows, tiles.columns);
  if (bytes <= tuning::product_stack_bytes) {
    return for_each_tile(p, tiles, grain,
                         [&](const std::byte* from_a, const std::byte* from_b, std::byte* out, std::int64_t i,
                             std::int64_t j, std::int64_t rows, std::int64_t columns) {
                           alignas(64) std::byte memory[tuning::product_stack_bytes];
                           one(from_a, from_b, out, i, j, rows, columns, memory);
                         });
  }
  Workspaces workspaces(ceil_divide(p.count * tiles.count(), grain), bytes);
  return for_each_tile(
      p, tiles, grain,
      [&](const std::byte* from_a, const std::byte* from_b, std::byte* out, std::int64_t i, std::int64_t j,
          std::int64_t rows, std::int64_t columns) {
        workspaces.use([&](std::byte* memory) { one(from_a, from_b, out, i, j, rows, columns, memory); });
      });
}

// Integers wrap (unsigned arithmetic); booleans combine by and, or. The tasks are the rows of all batches.
template <class T>
void integral(const Product& p) {
  const Factor &a = p.a, &b = p.b;
  T* const out = reinterpret_cast<T*>(p.out);
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const T *from_a = reinterpret_cast<const T*>(a.data), *from_b = reinterpret_cast<const T*>(b.data);
  const std::int64_t grain = std::max<std::int64_t>(1, split_products / 16 / (saturating(n, k) + 1));
  parallel_for(p.count * m, grain, [&](std::int64_t begin, std::int64_t end) {
    Batches batches(p.batch, a, b, begin / m);
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = from_a + batches.offset_a + row % m * a.row_stride;
      T* c = out + row * n;
      std::fill_n(c, n, T{0});
      for (std::int64_t l = 0; l < k; ++l) {
        const T factor = x[l * a.column_stride];
        const T* y = from_b + batches.offset_b + l * b.row_stride;
        for (std::int64_t j = 0; j < n; ++j) {
          if constexpr (std::is_same_v<T, bool>)
            c[j] = c[j] || (factor && y[j * b.column_stride]);
          else
            c[j] = static_cast<T>(c[j] + factor * y[j * b.column_stride]);
        }
      }
      if ((row + 1) % m == 0) batches.next();
    }
  });
}

// Whether the batch is a single product with more rows: b is the same for each matrix, and the matrices of a follow one
// another. `all` is then the factor with the rows of all batches.
bool stacks(const Shape& batch, const Factor& a, const Factor& b, Factor& all) {
  all = a;
  std::int64_t step = saturating(a.rows, a.row_stride);
  for (int d = batch.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = batch.data()[d], stride = a.batch_strides.data()[d];
    if (extent == 1) continue;
    if (all.rows == 1) all.row_stride = step = stride;  // a single row has no meaningful stride
    if (b.batch_strides.data()[d] != 0 || stride != step) return false;
    all.rows *= extent;
    step *= extent;
  }
  return true;
}

bool multiply_any(const Product& p) {
  bool called = false;
  visit(p.dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>)
      called = by_blas<T>(p);
    else if constexpr (std::is_same_v<T, bool>)
      integral<T>(p);
    else if constexpr (std::is_integral_v<T>)
      integral<std::make_unsigned_t<T>>(p);
    else
      fail<TypeError>("matmul", "products of {} are not available; cast to float32 or float64", p.dtype);
  });
  return called;
}

}  // namespace

MatrixLayout layout(const Factor& f) {
  const bool one_row = f.rows <= 1, one_column = f.columns <= 1;
  if ((one_column || f.column_stride == 1) && (one_row || f.row_stride >= std::max<std::int64_t>(1, f.columns)))
    return {true, false, one_row ? std::max<std::int64_t>(1, f.columns) : f.row_stride};
  if ((one_row || f.row_stride == 1) && (one_column || f.column_stride >= std::max<std::int64_t>(1, f.rows)))
    return {true, true, one_column ? std::max<std::int64_t>(1, f.rows) : f.column_stride};
  return {false, false, 0};
}

Factor factor(const Tensor& x, int batch_rank, bool column_vector) {
  const reel::detail::Block* block = reel::detail::block(x);
  const std::int64_t *extents = block->extents(), *strides = block->strides();
  Factor f;
  f.data = block->data;
  if (block->rank == 1) {
    f.rows = column_vector ? extents[0] : 1;
    f.columns = column_vector ? 1 : extents[0];
    f.row_stride = column_vector ? strides[0] : std::max<std::int64_t>(1, extents[0]);
    f.column_stride = column_vector ? 1 : strides[0];
  } else {
    const int r = block->rank;
    f.rows = extents[r - 2];
    f.columns = extents[r - 1];
    f.row_stride = strides[r - 2];
    f.column_stride = strides[r - 1];
  }
  const int own = std::max(0, block->rank - 2);
  for (int d = 0; d < batch_rank; ++d) {
    const int from = d - (batch_rank - own);
    f.batch_strides.push_back(from < 0 || extents[from] == 1 ? 0 : strides[from]);
  }
  return f;
}

namespace {

// x with a new axis of extent 1 and stride 0.
Tensor first_of(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape[axis] = 1;
  return TensorAccess::adopt(reel::detail::new_view(reel::detail::block(x), 0, shape, x.strides()));
}

// A view with the last two axes exchanged.
Tensor swapped(const Tensor& x) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[-1], shape[-2]);
  std::swap(strides[-1], strides[-2]);
  return TensorAccess::adopt(reel::detail::new_view(reel::detail::block(x), 0, shape, strides));
}

template <kernels::table::FixedString Name>
void combine(const Tensor& x, const Tensor& y, const Tensor& out) {
  const Tensor* const in[] = {&x, &y};
  const DType dtype = reel::detail::block(out)->dtype;
  if (out.size() > 0) pointwise(kernels::pointwise(kernels::index_of<Name>(), dtype).value, in, out);
}

// The batch axes of the product `out`.
Shape batch_of(const Tensor& out, int rank_a, int rank_b) {
  if (rank_a <= 2 && rank_b <= 2) return {};
  Shape batch = out.shape();
  if (rank_a > 1) batch.pop_back();
  if (rank_b > 1) batch.pop_back();
  return batch;
}

bool equal_rows(const Factor& a) { return a.rows > 1 && a.row_stride == 0; }
bool equal_columns(const Factor& b) { return b.columns > 1 && b.column_stride == 0; }

// The product of factors one of which repeats a single row or column: it is multiplied once.
void multiply_once(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, bool rows) {
  Shape shape = out.shape();
  shape[rows && reel::detail::block(b)->rank > 1 ? -2 : -1] = 1;
  const Tensor once = reel::detail::empty(reel::detail::block(out)->dtype, shape);
  matmul(rows ? first_of(a, transposes.a ? -1 : -2) : a, rows ? b : first_of(b, transposes.b ? -2 : -1), transposes,
         once);
  copy(once, out);
}

// out = out + a b in the bits of a product and a sum.
void add_afterwards(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out) {
  const Tensor product = reel::detail::empty(reel::detail::block(out)->dtype, out.shape());
  matmul(a, b, transposes, product);
  combine<"add">(out, product, out);
}

// Computes a product that takes no kernel of matrix products: one without terms, one with equal rows or columns, one of
// a column by a row. Returns whether it is such a product.
bool multiply_without_kernel(const Tensor& a, const Tensor& b, const Factor& fa, const Factor& fb,
                             Transposes transposes, const Tensor& out) {
  const reel::detail::Block* const block = reel::detail::block(out);
  if (fa.columns == 0) {
    std::fill_n(block->data, static_cast<std::size_t>(block->size) * item_size(block->dtype), std::byte{0});
    return true;
  }
  if (equal_rows(fa) || equal_columns(fb)) {
    multiply_once(a, b, transposes, out, equal_rows(fa));
    return true;
  }
  // A column times a row is written once; BLAS would clear the result first.
  const bool matrices = reel::detail::block(a)->rank > 1 && reel::detail::block(b)->rank > 1;
  if (fa.columns == 1 && matrices && is_floating(block->dtype)) {
    combine<"multiply">(transposes.a ? swapped(a) : a, transposes.b ? swapped(b) : b, out);
    return true;
  }
  return false;
}

// Computes p, whose result is `out`. A sum of more than undivided_terms terms is that of its halves. Returns whether
// p.then was called.
bool compute_in_halves(const Product& p, const Tensor& out, bool (*compute)(const Product&)) {
  const std::int64_t k = p.a.columns, size = static_cast<std::int64_t>(item_size(p.dtype));
  const bool rounds = is_floating(p.dtype) || is_complex(p.dtype), is_dot = p.a.rows == 1 && p.b.columns == 1;
  if (k <= undivided_terms || !rounds || is_dot) return compute(p);
  const std::int64_t half = first_half(k, undivided_terms);
  Factor a = p.a, b = p.b;
  a.columns = b.rows = half;
  compute_in_halves({p.dtype, p.batch, p.count, a, b, p.out, p.into}, out, compute);
  a.columns = b.rows = k - half;
  a.data += half * a.column_stride * size;
  b.data += half * b.row_stride * size;
  const Tensor rest = reel::detail::empty(p.dtype, out.shape());
  compute_in_halves({p.dtype, p.batch, p.count, a, b, reel::detail::block(rest)->data, p.into}, rest, compute);
  combine<"add">(out, rest, out);
  return false;
}

// Returns whether `then` was called for all rows of the product.
bool multiply(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into,
              const RangeFunction* then) {
  const int rank_a = reel::detail::block(a)->rank, rank_b = reel::detail::block(b)->rank;
  const DType dtype = reel::detail::block(out)->dtype;
  const Shape batch = batch_of(out, rank_a, rank_b), one_product;
  Factor fa = factor(a, batch.rank(), false), fb = factor(b, batch.rank(), true);
  if (transposes.a) fa = fa.transposed();
  if (transposes.b) fb = fb.transposed();
  const std::int64_t count = batch.elements();
  if (count == 0 || fa.rows == 0 || fb.columns == 0) return false;
  if (into == Into::add &&
      (!adds_complete_sums(dtype, fa.rows, fb.columns, fa.columns) || equal_rows(fa) || equal_columns(fb))) {
    add_afterwards(a, b, transposes, out);
    return false;
  }
  if (multiply_without_kernel(a, b, fa, fb, transposes, out)) return false;
  std::byte* const to = reel::detail::block(out)->data;
  Factor all;
  bool stacked = count > 1 && stacks(batch, fa, fb, all);
  const bool tiled = is_tiled(dtype, stacked ? all.rows : fa.rows, fb.columns, fa.columns);
  if (!tiled && is_floating(dtype)) {
    const bool reads_a = layout(fa).readable, reads_b = layout(fb).readable;
    if (!reads_a || !reads_b)
      return multiply(reads_a ? a : contiguous(a), reads_b ? b : contiguous(b), transposes, out, into, then);
  }
  stacked = stacked && (tiled || (all.row_stride > 0 && layout(all).readable));
  return compute_in_halves(
      {dtype, stacked ? one_product : batch, stacked ? 1 : count, stacked ? all : fa, fb, to, into, then}, out,
      tiled ? &by_tiles : &multiply_any);
}

}  // namespace

void matmul(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into) {
  static_cast<void>(multiply_small(a, b, transposes, out, into) || multiply(a, b, transposes, out, into, nullptr));
}

void add_matmul(const Tensor& x, const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out) {
  if (reel::detail::block(out)->data != reel::detail::block(x)->data) copy(x, out);
  matmul(a, b, transposes, out, Into::add);
}

// A product of one term is written by a multiplication, which keeps the sign of a zero.
bool adds_complete_sums(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  return k > 1 && is_tiled(dtype, m, n, k) && TiledProduct::can_add(dtype, k);
}

bool matmul_then(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out,
                 const RangeFunction* then) {
  return multiply(a, b, transposes, out, Into::overwrite, then);
}

std::int64_t broadcast_index(std::int64_t i, const Shape& batch, const Shape& own) {
  std::int64_t index = 0, step = 1;
  for (int d = batch.rank() - 1, o = own.rank() - 1; o >= 0; --d, --o) {
    const std::int64_t extent = own.data()[o];
    if (extent > 1) index += i % batch.data()[d] * step;
    step *= extent;
    i /= batch.data()[d];
  }
  return index;
}

}  // namespace reel::loops
