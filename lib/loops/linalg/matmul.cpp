// Products: one call of BLAS per tile, dot and matrix-vector forms where an extent is 1, plain loops for integers.
#include "loops/linalg/matmul.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "kernels/blas.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

using kernels::Transposed;

constexpr std::int64_t largest = std::numeric_limits<int>::max();
// Multiplications that are worth another thread (about 35 microseconds), and elements of a matrix-vector product.
constexpr std::int64_t split_products = std::int64_t{1} << 22;
constexpr std::int64_t split_elements = std::int64_t{1} << 19;
constexpr std::int64_t dot_piece = std::int64_t{1} << 14;
// Tiles below this width cost BLAS speed; only the first division goes below it.
constexpr std::int64_t full_tile = 512, narrow_tile = 64;

// Products of extents without overflow: what is this large is divided as far as it can be anyway.
constexpr std::int64_t saturating(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

struct Tiling {
  std::int64_t rows, columns, down, across;
  std::int64_t count() const { return down * across; }
};

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Tiling tiling(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (n == 1 || m == 1) {  // memory-bound: rows of the matrix that is read, in pieces
    const std::int64_t length = std::max(m, n);
    const std::int64_t pieces =
        std::clamp<std::int64_t>(saturating(length, k) / split_elements, 1, ceil_divide(length, narrow_tile));
    const std::int64_t piece = ceil_divide(ceil_divide(length, pieces), narrow_tile) * narrow_tile;
    if (pieces == 1) return {m, n, 1, 1};
    return n == 1 ? Tiling{piece, 1, ceil_divide(m, piece), 1} : Tiling{1, piece, 1, ceil_divide(n, piece)};
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

// Sums of products are added by halves: the tree that the length alone determines.
constexpr std::int64_t first_half(std::int64_t n) { return ceil_divide(ceil_divide(n, 2), dot_piece) * dot_piece; }

template <class T>
T dot_alone(std::int64_t n, const T* x, std::int64_t stride_x, const T* y, std::int64_t stride_y) {
  if (n <= dot_piece) return kernels::dot<T>(n, x, stride_x, y, stride_y);
  const std::int64_t half = first_half(n);
  return dot_alone(half, x, stride_x, y, stride_y) +
         dot_alone(n - half, x + half * stride_x, stride_x, y + half * stride_y, stride_y);
}

// The branches of the tree that threads take, of at most `most` elements each; then their sums, added as the tree says.
struct Branch {
  std::int64_t first, count;
};
void cut(Branch b, std::int64_t most, std::vector<Branch>& branches) {
  if (b.count <= most) return branches.push_back(b);
  const std::int64_t half = first_half(b.count);
  cut({b.first, half}, most, branches);
  cut({b.first + half, b.count - half}, most, branches);
}
template <class T>
T joined(std::int64_t count, std::int64_t most, const T*& sums) {
  if (count <= most) return *sums++;
  const std::int64_t half = first_half(count);
  const T front = joined(half, most, sums);
  return front + joined(count - half, most, sums);
}

template <class T>
T dot(std::int64_t n, const T* x, std::int64_t stride_x, const T* y, std::int64_t stride_y) {
  if (n < split_elements) return dot_alone(n, x, stride_x, y, stride_y);
  kernels::prepare_blas();
  const std::int64_t most = std::max(split_elements / 4, n / 64);
  std::vector<Branch> branches;
  cut({0, n}, most, branches);
  std::vector<T> sums(branches.size());
  parallel_for(static_cast<std::int64_t>(branches.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Branch& b = branches[static_cast<std::size_t>(i)];
      sums[static_cast<std::size_t>(i)] =
          dot_alone(b.count, x + b.first * stride_x, stride_x, y + b.first * stride_y, stride_y);
    }
  });
  const T* at = sums.data();
  return joined(n, most, at);
}

// One tile of one product: rows [i, i + rows), columns [j, j + columns) of c, whose rows lie `width` apart.
template <class T>
struct Product {
  std::int64_t k, width;
  MatrixLayout a, b;
  Into into;
  std::int64_t row_a, column_a, row_b, column_b;  // strides

  void operator()(const T* from_a, const T* from_b, T* c, std::int64_t i, std::int64_t j, std::int64_t rows,
                  std::int64_t columns) const {
    from_a += i * row_a;
    from_b += j * column_b;
    c += i * width + j;
    const T beta = into == Into::add ? 1 : 0;
    if (rows == 1 && columns == 1) {
      const T product = dot(k, from_a, column_a, from_b, row_b);
      *c = into == Into::add ? *c + product : product;
    } else if (columns == 1 && width == 1) {
      static_cast<void>(kernels::gemv<T>(kernels::transposed_if(a.transposed), a.transposed ? k : rows,
                                         a.transposed ? rows : k, 1, from_a, a.leading, from_b, row_b, beta, c, 1));
    } else if (rows == 1) {
      static_cast<void>(kernels::gemv<T>(kernels::transposed_if(!b.transposed), b.transposed ? columns : k,
                                         b.transposed ? k : columns, 1, from_b, b.leading, from_a, column_a, beta, c,
                                         1));
    } else {
      static_cast<void>(kernels::gemm<T>(kernels::transposed_if(a.transposed), kernels::transposed_if(b.transposed),
                                         rows, columns, k, 1, from_a, a.leading, from_b, b.leading, beta, c, width));
    }
  }
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

template <class T>
void floating(const Shape& batch, std::int64_t count, const Factor& a, const Factor& b, T* out, Into into) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const MatrixLayout la = layout(a), lb = layout(b);
  if (std::max({m, n, k, la.leading, lb.leading}) > largest)
    fail<ValueError>("matmul", "an extent or stride beyond 2^31 - 1 is more than BLAS takes: {} x {} x {}", m, k, n);
  const T *from_a = reinterpret_cast<const T*>(a.data), *from_b = reinterpret_cast<const T*>(b.data);
  // Along an extent of 1 a stride may be anything: BLAS wants it positive.
  const auto positive = [](std::int64_t stride) { return std::max<std::int64_t>(1, stride); };
  const Product<T> product{
      k, n, la, lb, into, a.row_stride, positive(a.column_stride), positive(b.row_stride), b.column_stride};
  const Tiling tiles = tiling(m, n, k);
  if (count == 1 && tiles.count() == 1) return product(from_a, from_b, out, 0, 0, m, n);
  kernels::prepare_blas();
  const std::int64_t work = saturating(saturating(tiles.rows, tiles.columns), k) + 1;
  const std::int64_t grain = tiles.count() > 1 ? 1 : std::max<std::int64_t>(1, split_products / 2 / work);
  parallel_for(count * tiles.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = begin / tiles.count(), tile = begin % tiles.count();
    Batches batches(batch, a, b, at);
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t i = tile / tiles.across * tiles.rows, j = tile % tiles.across * tiles.columns;
      product(from_a + batches.offset_a, from_b + batches.offset_b, out + at * m * n, i, j, std::min(tiles.rows, m - i),
              std::min(tiles.columns, n - j));
      if (++tile == tiles.count()) {
        tile = 0;
        ++at;
        batches.next();
      }
    }
  });
}

// Integers: unsigned arithmetic wraps; boolean: or of ands. The rows of all batches are the tasks.
template <class T>
void integral(const Shape& batch, std::int64_t count, const Factor& a, const Factor& b, T* out) {
  const std::int64_t m = a.rows, n = b.columns, k = a.columns;
  const T *from_a = reinterpret_cast<const T*>(a.data), *from_b = reinterpret_cast<const T*>(b.data);
  const std::int64_t grain = std::max<std::int64_t>(1, split_products / 16 / (saturating(n, k) + 1));
  parallel_for(count * m, grain, [&](std::int64_t begin, std::int64_t end) {
    Batches batches(batch, a, b, begin / m);
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = from_a + batches.offset_a + row % m * a.row_stride;
      T* c = out + row * n;
      std::fill_n(c, n, T{0});
      for (std::int64_t p = 0; p < k; ++p) {
        const T factor = x[p * a.column_stride];
        const T* y = from_b + batches.offset_b + p * b.row_stride;
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

// Whether one product with all the rows of all batches does: b the same for each, a's matrices one below the other.
// They are `all` then.
bool stacks(const Shape& batch, const Factor& a, const Factor& b, Factor& all) {
  all = a;
  std::int64_t step = saturating(a.rows, a.row_stride);
  for (int d = batch.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = batch.data()[d], stride = a.batch_strides.data()[d];
    if (extent == 1) continue;
    if (all.rows == 1) all.row_stride = step = stride;  // the stride of a single row says nothing
    if (b.batch_strides.data()[d] != 0 || stride != step) return false;
    all.rows *= extent;
    step *= extent;
  }
  return all.row_stride > 0 && layout(all).readable;
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

void matmul(DType dtype, const Shape& batch, const Factor& a, const Factor& b, std::byte* out, Into into) {
  const std::int64_t count = batch.elements(), m = a.rows, n = b.columns;
  if (count == 0 || m == 0 || n == 0) return;
  if (a.columns == 0) {
    if (into == Into::add) return;
    std::fill_n(out, static_cast<std::size_t>(count * m * n) * item_size(dtype), std::byte{0});
    return;
  }
  if (Factor all; count > 1 && stacks(batch, a, b, all)) return matmul(dtype, {}, all, b, out, into);
  switch (dtype) {
    case DType::float32:
      return floating(batch, count, a, b, reinterpret_cast<float*>(out), into);
    case DType::float64:
      return floating(batch, count, a, b, reinterpret_cast<double*>(out), into);
    case DType::boolean:
      return integral(batch, count, a, b, reinterpret_cast<bool*>(out));
    case DType::uint8:
      return integral(batch, count, a, b, reinterpret_cast<std::uint8_t*>(out));
    case DType::int32:
      return integral(batch, count, a, b, reinterpret_cast<std::uint32_t*>(out));
    case DType::int64:
      return integral(batch, count, a, b, reinterpret_cast<std::uint64_t*>(out));
    default:
      fail<TypeError>("matmul", "products of {} are not available; cast to float32 or float64", dtype);
  }
}

namespace {

// x with extent 1 along an axis of stride 0.
Tensor first_of(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape[axis] = 1;
  return TensorAccess::adopt(reel::detail::new_view(reel::detail::block(x), 0, shape, x.strides()));
}

// A view with the last two axes swapped.
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
  if (out.size() > 0) pointwise(kernels::active().pointwise(kernels::index_of<Name>(), dtype).value, in, out);
}

// The batch axes of the product `out`.
Shape batch_of(const Tensor& out, int rank_a, int rank_b) {
  if (rank_a <= 2 && rank_b <= 2) return {};
  Shape batch = out.shape();
  if (rank_a > 1) batch.pop_back();
  if (rank_b > 1) batch.pop_back();
  return batch;
}

}  // namespace

void matmul(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into) {
  const int rank_a = reel::detail::block(a)->rank, rank_b = reel::detail::block(b)->rank;
  const DType dtype = reel::detail::block(out)->dtype;
  const Shape batch = batch_of(out, rank_a, rank_b);
  Factor fa = factor(a, batch.rank(), false), fb = factor(b, batch.rank(), true);
  if (transposes.a) fa = fa.transposed();
  if (transposes.b) fb = fb.transposed();
  const bool any = fa.rows > 0 && fa.columns > 0 && fb.columns > 0;  // the strides of nothing say nothing
  const bool equal_rows = fa.rows > 1 && fa.row_stride == 0, equal_columns = fb.columns > 1 && fb.column_stride == 0;
  if (any && (equal_rows || equal_columns)) {
    Shape shape = out.shape();
    shape[equal_rows && rank_b > 1 ? -2 : -1] = 1;
    const Tensor once = reel::detail::empty(dtype, shape);
    matmul(equal_rows ? first_of(a, transposes.a ? -1 : -2) : a, equal_rows ? b : first_of(b, transposes.b ? -2 : -1),
           transposes, once);
    return into == Into::add ? combine<"add">(out, once, out) : copy(once, out);
  }
  // A column times a row, written once; BLAS would clear the result first.
  if (fa.columns == 1 && rank_a > 1 && rank_b > 1 && into == Into::overwrite && is_floating(dtype))
    return combine<"multiply">(transposes.a ? swapped(a) : a, transposes.b ? swapped(b) : b, out);
  if (any && is_floating(dtype)) {
    const bool reads_a = layout(fa).readable, reads_b = layout(fb).readable;
    if (!reads_a || !reads_b)
      return matmul(reads_a ? a : contiguous(a), reads_b ? b : contiguous(b), transposes, out, into);
  }
  matmul(dtype, batch, fa, fb, reel::detail::block(out)->data, into);
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
