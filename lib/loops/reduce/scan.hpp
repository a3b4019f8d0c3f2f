// Cumulative sums and products, and linear recurrences, along an axis. With `reverse` they run from the last index to
// the first, and "before" means the next larger index.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

enum class ScanFunction : std::uint8_t { cumsum, cumprod };
/// Whether there is a kernel: for numbers of at least 32 bits.
bool has_scan(ScanFunction f, DType d) noexcept;
/// out[i] = x[0] to x[i] combined in order; with `exclusive`, x[0] to x[i - 1], beginning with the identity. x has any
/// strides; `out` is contiguous, of its shape and dtype, and shares no memory with it.
void scan(ScanFunction f, const Tensor& x, int axis, bool exclusive, bool reverse, const Tensor& out);

/// Whether linear_recurrence() exists for d: not for integers, float16 and bfloat16.
constexpr bool has_recurrence(DType d) noexcept { return d >= DType::float32; }
/// out[i] = b[i] + a[i] out[i - 1], or, with `after`, b[i] + a[i - 1] out[i - 1]; out[-1] is 0. a, b and `out` have one
/// shape and dtype; `out` is contiguous and shares no memory with them.
void linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse, const Tensor& out);

}  // namespace reel::loops
