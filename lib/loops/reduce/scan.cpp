// Many columns: row after row. Few columns, and rows of the last axis: a few at a time, each by itself.
#include "loops/reduce/scan.hpp"

#include <algorithm>
#include <cstring>

#include "core/visit.hpp"
#include "kernels/baseline/copy.hpp"
#include "kernels/baseline/scan.hpp"
#include "kernels/simd/complex.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"

namespace reel::loops {

namespace {

// A contiguous tensor as [outer, n, inner].
struct Extents {
  std::int64_t outer = 1, n, inner = 1;
  Extents(const Shape& shape, int axis) : n(shape[axis]) {
    for (int d = 0; d < axis; ++d) outer *= shape[d];
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

// Calls body(o, first, count) for strips of columns of each outer index, in parallel if that is worth it.
template <class Body>
void for_strips(const Extents& e, std::int64_t strip, const Body& body) {
  const std::int64_t width = std::min(strip, e.inner), strips = (e.inner - 1) / width + 1;
  parallel_for(e.outer * strips, std::max<std::int64_t>(1, parallel_threshold / (e.n * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t) {
                   const std::int64_t first = t % strips * width;
                   body(t / strips, first, std::min(width, e.inner - first));
                 }
               });
}

// ---- cumsum, cumprod

// Measured by `bench/run --filter cumsum`.
constexpr std::int64_t least_scan_columns = 8;  // a cache line of float64; fewer columns are scanned one by one
constexpr std::int64_t strip_columns = 512;     // columns per task: 2 to 4 KiB of a row, and the sums stay in L1

kernels::Scan kernel_of(ScanFunction f, DType d) {
  return f == ScanFunction::cumsum ? kernels::cumsum(d) : kernels::cumprod(d);
}

Tensor identity_of(ScanFunction f, DType d) {
  const Tensor x = TensorAccess::adopt(detail::new_block(d, nullptr, 0));
  if (f == ScanFunction::cumsum)
    fill_zero(x);
  else
    fill_one(x);
  return x;
}

struct Scan {
  kernels::Scan along;    // along columns
  kernels::Loop combine;  // of two rows
  Extents e;
  bool exclusive;
  std::int64_t bytes;                // per element
  std::int64_t x_step, x_start;      // bytes between rows of x in scan order, and offset of the first
  std::int64_t out_step, out_start;  // the same for the result
  const std::byte *x, *identity;     // identity: null unless exclusive
  std::byte* out;

  std::int64_t matrix(std::int64_t o, std::int64_t first) const { return (o * e.n * e.inner + first) * bytes; }
};

// `count` columns from this one on, whose elements are `apart` from those of the one before.
void scan_columns(const Scan& s, std::int64_t o, std::int64_t first, std::int64_t count, std::int64_t apart) {
  const std::int64_t stride = s.out_step / s.bytes, skip = s.exclusive ? 1 : 0, column = s.matrix(o, first);
  std::byte* const out = s.out + column + s.out_start;
  if (s.exclusive) kernels::fill(s.identity, out, apart, count, static_cast<std::size_t>(s.bytes));
  s.along({s.x + column + s.out_start, stride}, out + skip * s.out_step, stride, s.e.n - skip, count, apart);
}

void scan_rows(const Scan& s, std::int64_t o, std::int64_t first, std::int64_t count) {
  std::byte* out = s.out + s.matrix(o, first) + s.out_start;
  const std::byte* row = s.x + s.matrix(o, first) + s.x_start;
  if (s.exclusive) {
    kernels::fill(s.identity, out, 1, count, static_cast<std::size_t>(s.bytes));
  } else {
    std::memcpy(out, row, static_cast<std::size_t>(count * s.bytes));
    row += s.x_step;
  }
  for (std::int64_t i = 1; i < s.e.n; ++i, row += s.x_step, out += s.out_step) {
    const kernels::Strided both[] = {{out, 1}, {row, 1}};
    s.combine(both, out + s.out_step, count);
  }
}

// Whether x is contiguous rows along the first axis with any stride, such as x broadcast along that axis.
bool has_rows(const detail::Block* x, int axis) {
  std::int64_t dense = 1;
  for (int d = x->rank; --d > axis; dense *= x->extents()[d])
    if (x->extents()[d] != 1 && x->strides()[d] != dense) return false;
  return axis == 0;
}

// ---- linear recurrence

// Several columns at a time: each step of a column waits for the one before it.
template <class T, int Columns>
void recur_columns(std::int64_t n, std::int64_t step, std::int64_t apart, const T* factor, const T* term, T* sum) {
  T carry[Columns];
  for (int c = 0; c < Columns; ++c) sum[c * apart] = carry[c] = term[c * apart];
  for (std::int64_t i = 1; i < n; ++i, factor += step) {
    term += step;
    sum += step;
    for (int c = 0; c < Columns; ++c) sum[c * apart] = carry[c] = term[c * apart] + factor[c * apart] * carry[c];
  }
}

template <class T>
void recur(const Extents& e, const T* a, const T* b, T* s, bool after, bool reverse) {
  constexpr std::int64_t recur_strip = 256, together = 4;  // columns per task, and in registers at a time
  const std::int64_t step = reverse ? -e.inner : e.inner, start = reverse ? (1 - e.n) * step : 0;
  const std::int64_t skip = after ? 0 : step;  // to the first factor
  if (e.inner == 1)
    return parallel_for(e.outer, std::max<std::int64_t>(1, parallel_threshold / e.n),
                        [=](std::int64_t column, std::int64_t end) {
                          for (; column + together <= end; column += together) {
                            const std::int64_t at = column * e.n + start;
                            recur_columns<T, together>(e.n, step, e.n, a + at + skip, b + at, s + at);
                          }
                          for (; column < end; ++column) {
                            const std::int64_t at = column * e.n + start;
                            recur_columns<T, 1>(e.n, step, e.n, a + at + skip, b + at, s + at);
                          }
                        });
  for_strips(e, recur_strip, [=](std::int64_t o, std::int64_t first, std::int64_t count) {
    const std::int64_t at = o * e.n * e.inner + start + first;
    std::copy_n(b + at, count, s + at);
    const T *factor = a + at + skip, *term = b + at;
    T* sum = s + at;
    for (std::int64_t i = 1; i < e.n; ++i, factor += step) {
      term += step;
      sum += step;
      for (std::int64_t c = 0; c < count; ++c) sum[c] = term[c] + factor[c] * sum[c - step];
    }
  });
}

}  // namespace

bool has_scan(ScanFunction f, DType d) noexcept { return kernel_of(f, d) != nullptr; }

void scan(ScanFunction f, const Tensor& strided, int axis, bool exclusive, bool reverse, const Tensor& out) {
  if (out.size() == 0) return;
  const DType d = out.dtype();
  const Extents e(strided.shape(), axis);
  const bool in_place = e.inner >= least_scan_columns && has_rows(detail::block(strided), axis);
  Tensor packed;
  const Tensor& x = in_place ? strided : contiguous(strided, packed);
  const Tensor identity = exclusive ? identity_of(f, d) : Tensor();
  const std::size_t at = f == ScanFunction::cumsum ? kernels::index_of<"add">() : kernels::index_of<"multiply">();
  const auto bytes = static_cast<std::int64_t>(item_size(d));
  const std::int64_t apart = e.inner * bytes, x_apart = in_place ? detail::block(x)->strides()[axis] * bytes : apart;
  const auto step = [&](std::int64_t each) { return reverse ? -each : each; };
  const auto start = [&](std::int64_t each) { return reverse ? (e.n - 1) * each : 0; };
  const Scan s{kernel_of(f, d),
               kernels::pointwise(at, d).value,
               e,
               exclusive,
               bytes,
               step(x_apart),
               start(x_apart),
               step(apart),
               start(apart),
               detail::mutable_data<std::byte>(x),
               exclusive ? detail::mutable_data<std::byte>(identity) : nullptr,
               detail::mutable_data<std::byte>(out)};
  if (e.inner == 1)
    return parallel_for(e.outer, std::max<std::int64_t>(1, parallel_threshold / e.n),
                        [&](std::int64_t row, std::int64_t end) { scan_columns(s, row, 0, end - row, e.n); });
  for_strips(e, strip_columns, [&](std::int64_t o, std::int64_t first, std::int64_t count) {
    if (e.inner < least_scan_columns)
      scan_columns(s, o, first, count, 1);
    else
      scan_rows(s, o, first, count);
  });
}

void linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse, const Tensor& out) {
  if (out.size() == 0) return;
  const Extents e(out.shape(), axis);
  const Tensor factors = contiguous(a), terms = contiguous(b);
  const auto run = [&]<class T>(T* to) {
    recur(e, detail::mutable_data<const T>(factors), detail::mutable_data<const T>(terms), to, after, reverse);
  };
  visit_among<float, double, complex64, complex128>(out.dtype(), [&]<class T>() {
    if constexpr (is_complex(dtype_of<T>))
      run(detail::mutable_data<kernels::Complex<decltype(T::re)>>(out));
    else
      run(detail::mutable_data<T>(out));
  });
}

}  // namespace reel::loops
