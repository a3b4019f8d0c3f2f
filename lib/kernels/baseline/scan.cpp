// Cumulative sums and products: sequential chains of operations, for which no instruction set is faster than another.
#include "kernels/baseline/scan.hpp"

#include "kernels/simd/complex.hpp"
#include "kernels/simd/integer.hpp"

namespace reel::kernels {

namespace {

struct Plus {
  template <class E>
  E operator()(E a, E b) const {
    return a + b;
  }
};
struct Times {
  template <class E>
  E operator()(E a, E b) const {
    return a * b;
  }
};

template <std::ptrdiff_t Columns, class Operation, class E>
void scan_columns(const E* in, std::ptrdiff_t in_stride, E* out, std::ptrdiff_t out_stride, std::ptrdiff_t n,
                  std::ptrdiff_t apart) {
  E totals[Columns];
  for (std::ptrdiff_t c = 0; c < Columns; ++c) out[c * apart] = totals[c] = in[c * apart];
  for (std::ptrdiff_t i = 1; i < n; ++i) {
    in += in_stride;
    out += out_stride;
    for (std::ptrdiff_t c = 0; c < Columns; ++c) out[c * apart] = totals[c] = Operation{}(totals[c], in[c * apart]);
  }
}

// Four columns at a time: each operation waits for the one before it in its column.
template <class E, class Operation>
void scan(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::ptrdiff_t columns,
          std::ptrdiff_t apart) {
  if (n < 1) return;
  const E* p = static_cast<const E*>(in.data);
  E* o = static_cast<E*>(out);
  std::ptrdiff_t c = 0;
  for (; c + 4 <= columns; c += 4)
    scan_columns<4, Operation>(p + c * apart, in.stride, o + c * apart, out_stride, n, apart);
  for (; c < columns; ++c) scan_columns<1, Operation>(p + c * apart, in.stride, o + c * apart, out_stride, n, apart);
}

template <class Operation>
Scan scan_of(DType t) {
  switch (t) {
    case DType::uint8:
      return &scan<Integer<std::uint8_t>, Operation>;
    case DType::int32:
      return &scan<Integer<std::int32_t>, Operation>;
    case DType::int64:
      return &scan<Integer<std::int64_t>, Operation>;
    case DType::float32:
      return &scan<float, Operation>;
    case DType::float64:
      return &scan<double, Operation>;
    default:
      return nullptr;
  }
}

}  // namespace

Scan cumsum(DType t) {
  if (t == DType::complex64) return &scan<Complex<float>, Plus>;
  if (t == DType::complex128) return &scan<Complex<double>, Plus>;
  return scan_of<Plus>(t);
}
Scan cumprod(DType t) {
  if (t == DType::complex64) return &scan<Complex<float>, Times>;
  if (t == DType::complex128) return &scan<Complex<double>, Times>;
  return scan_of<Times>(t);
}

}  // namespace reel::kernels
