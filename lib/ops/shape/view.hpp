// Views: other shapes and strides over the same data. Nothing here is recorded unless it says so.
#pragma once
#include <array>
#include <reel/ops/shape.hpp>

#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

/// concatenate() in the name of another op. Recorded.
Tensor join(const char* op, std::span<const Tensor> parts, std::int64_t axis);

/// The halves of x along an axis with an even extent: split() without a list on the heap. Recorded.
std::array<Tensor, 2> halves_of(const Tensor& x, int axis);

/// A new tensor over x's data, `offset` elements in.
inline Tensor view(const Tensor& x, std::int64_t offset, const Shape& shape, const Shape& strides) {
  return TensorAccess::adopt(detail::new_view(detail::block(x), offset, shape, strides));
}

/// The elements [start, start + count) along `axis`.
Tensor section(const Tensor& x, int axis, std::int64_t start, std::int64_t count);

/// Strides of x's elements in another shape of the same size. False if no strides give that order.
bool strides_for(const detail::Block& x, const Shape& shape, Shape& strides);

/// x in another shape of the same size: a view if the strides allow it, otherwise a copy. Always a new tensor.
Tensor reshaped(const Tensor& x, const Shape& shape);

/// As reshaped(), but only a view: an empty handle where that is impossible.
Tensor reshape_view(const Tensor& x, const Shape& shape);

/// x broadcast to `shape`, with stride 0 along repeated axes.
Tensor broadcast_view(const Tensor& x, const Shape& shape);

/// Announces an output that is a view of all of input i.
inline void add_alias(Metas& out, const Call& call, std::size_t i) {
  const detail::Block& x = *detail::block(call.input(i));
  out.add_view(i, x.dtype, 0, x.shape(), Shape(x.strides(), x.rank));
}

/// Passes a cotangent or tangent through unchanged.
inline Tensor unchanged(const tape::Record&, const Tensor& g) { return g; }

/// The rule of an op that changes the shape but not the order of the elements.
inline Tensor to_input_shape(const tape::Record& r, const Tensor& g) { return reshape(g, r.batched(r.shape(0))); }
inline Tensor to_output_shape(const tape::Record& r, const Tensor& t) { return reshape(t, r.output_shape()); }

/// a b, for extents. ShapeError if it exceeds int64.
inline std::int64_t multiply_extents(const char* op, std::int64_t a, std::int64_t b) {
  std::int64_t y;
  if (__builtin_mul_overflow(a, b, &y)) fail<ShapeError>(op, "{} times {} exceeds the largest extent", a, b);
  return y;
}

inline Shape attribute_shape(std::span<const std::int64_t> a) { return {a.data(), a.size()}; }

}  // namespace reel::ops
