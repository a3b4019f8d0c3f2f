// Statistics: reductions that leave NaN out, averages, covariances, distances, and normalisations with masks, weights
// and limits. Floating results, of integers float64; halves compute in float32 and are rounded once.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// Reductions of the elements that are not NaN, as sum, prod, mean, max, min, var and std reduce all: see
/// <reel/ops/reduce.hpp>. Of nothing else but NaN: 0, 1, and NaN with gradient 0. Gradient: 0 at NaN. Real dtypes; of
/// integers, which have no NaN, just those.
Tensor nansum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanprod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmin(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// NaN with gradient 0 too where no more than ddof elements are left.
Tensor nanvar(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
Tensor nanstd(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);

/// sum(x w) / sum(w) along the axes. The weights have the shape of x, or broadcast to it (ShapeError), or are a vector
/// along the one axis that is given.
Tensor average(const Operand& x, const Operand& weights, const Axes& axes = {}, bool keepdims = false);
/// max - min.
Tensor ptp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// The covariances [..., v, v] of variables, the rows of x [..., v, n], over n observations: divided by n - ddof, NaN
/// unless that is positive. A vector is one variable, whose variance has rank 0. Complex: x conj(x)^T.
Tensor cov(const Operand& x, double ddof = 1);
/// Correlations: covariances of rows of length 1, so that those of a variable with itself are 1 to rounding. NaN for
/// constants. Real.
Tensor corrcoef(const Operand& x);

/// softmax of the elements where the mask, which broadcasts to x (ShapeError), is true; 0 elsewhere, and everywhere in
/// a row without any. Gradient: that of softmax, 0 where the mask is false, whatever is there.
Tensor masked_softmax(const Operand& x, const Operand& mask, std::int64_t axis = -1);
/// log|s| and the sign of s.
struct SignedLog {
  Tensor log, sign;
};
/// log|s| for s = sum(b exp(x)) along the axes, without overflow; -inf where s is 0. b broadcasts with x. Where b is 0,
/// x may be infinite. Gradient: b exp(x) / s to x, exp(x) / s to b; none for the sign.
SignedLog weighted_logsumexp(const Operand& x, const Operand& b, const Axes& axes = {}, bool keepdims = false);
/// x, scaled down along the axes to a norm of `limit` where that is exceeded (TensorFlow's clip_by_norm).
/// Differentiable in both; at the limit half of the slopes of both sides.
Tensor clip_by_norm(const Operand& x, const Operand& limit, const Axes& axes = {});

/// The distances [..., n, m] norm(x[i] - y[j], p) of the rows of x [..., n, d] and y [..., m, d], whose leading axes
/// broadcast: made of differences, without overflow. p is positive or infinity (ValueError). float32 and float64.
/// Gradient: as norm's, 0 at distance 0.
Tensor cdist(const Operand& x, const Operand& y, double p = 2);
/// The distances [n (n - 1) / 2] of the rows i < j of x [n, d], row by row (SciPy's pdist).
Tensor pdist(const Operand& x, double p = 2);

/// The nondecreasing (nonincreasing) sequence along the last axis that is nearest to x by squares: blocks of means, by
/// pooling adjacent violators (Barlow et al. 1972); NaN in a row makes no sense of it. float32 and float64. Gradient:
/// the mean of the cotangents of each block; blocks of equal means stay apart.
Tensor isotonic_regression(const Operand& x, bool increasing = true);

}  // namespace reel
