// Normalisation to mean 0 and variance 1: of rows, and of the channels of a batch. All tensors of a call have one
// dtype, float32 or float64, and at least one element. Operands have any strides; results are contiguous and share no
// memory with them.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The cotangents that a vjp computes: those whose handle is not empty.
struct NormalizeCotangents {
  Tensor x, scale, offset;
};

/// out = (x - mean) / sqrt(variance + epsilon) * scale + offset for each row of x [..., n]. scale and offset are [n],
/// or both empty handles: 1 and 0.
void normalize_rows(const Tensor& x, double epsilon, const Tensor& scale, const Tensor& offset, const Tensor& out);
/// Its vjp. g has the shape of x, or a further leading axis, which all results then have too.
void normalize_rows_vjp(const Tensor& g, const Tensor& x, double epsilon, const Tensor& scale,
                        const NormalizeCotangents& out);

/// out: x [outer, channels, inner], normalised in rows of channels / groups times inner elements, times scale plus
/// offset, [channels] each.
void normalize_groups(const Tensor& x, std::int64_t groups, double epsilon, const Tensor& scale, const Tensor& offset,
                      const Tensor& out);
/// Its vjp. g has the shape of x, or a further leading axis, which all results then have too.
void normalize_groups_vjp(const Tensor& g, const Tensor& x, std::int64_t groups, double epsilon, const Tensor& scale,
                          const NormalizeCotangents& out);

// A batch x is [outer, channels, inner] or [outer, channels]; values per channel are [channels].

/// Mean and variance of each channel.
void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance);
/// inverse = 1 / sqrt(variance + epsilon), also where the variance of x is beyond the range of the dtype.
void inverse_deviation(const Tensor& x, const Tensor& mean, const Tensor& variance, double epsilon,
                       const Tensor& inverse);
/// out = (x - mean) * (scale * inverse) + offset.
void normalize_channels(const Tensor& x, const Tensor& mean, const Tensor& inverse, const Tensor& scale,
                        const Tensor& offset, const Tensor& out);
/// The vjp of all three together, as a function of x, scale and offset. g has the elements of x, once or once per
/// cotangent of a batch; so do the results.
void normalize_channels_vjp(const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& inverse,
                            const Tensor& scale, const NormalizeCotangents& out);

}  // namespace reel::loops
