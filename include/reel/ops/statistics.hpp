// Statistics: reductions that ignore NaN, averages, covariances, distances, and normalisations with masks, weights and
// limits. Results are floating; integers give float64. float16 and bfloat16 compute in float32 and are rounded once.
// Derivatives exist to every order, in both modes; g is the cotangent.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// sum, prod, mean, max, min, var and std (<reel/ops/reduce.hpp>) of the elements that are not NaN. If all elements are
/// NaN: 0, 1, and for the others NaN with gradient 0. Gradient: 0 at NaN. Real dtypes. Integers have no NaN and are
/// reduced as there.
Tensor nansum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanprod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmax(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmin(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// These are NaN with gradient 0 also where at most ddof elements are not NaN. nanstd has derivatives 0 where it is 0,
/// to every order: for squares write nanvar.
Tensor nanvar(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
Tensor nanstd(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);

/// sum(x w) / sum(w) along the axes. The weights broadcast to the shape of x (ShapeError), or are a vector along the
/// only axis given. Gradients: g w / sum(w) for x, g (x - average) / sum(w) for the weights.
Tensor average(const Operand& x, const Operand& weights, const Axes& axes = {}, bool keepdims = false);
/// max - min. Gradient: that of max minus that of min.
Tensor ptp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// The covariance matrix [..., v, v] of v variables, the rows of x [..., v, n], over n observations. It is divided by n
/// - ddof, and NaN unless that is positive. A vector is one variable, whose variance has rank 0. For complex x it is
/// that of x conj(x)^T. Rows are centred first, and their products have the rounding errors of matmul, however long
/// they are. Gradient of a real x: (g + g^T) (x - mean) / (n - ddof).
Tensor cov(const Operand& x, double ddof = 1);
/// The correlation matrix: covariances of rows scaled to length 1, so that its diagonal is 1 to rounding. NaN for a
/// constant row. Real dtypes.
Tensor corrcoef(const Operand& x);

/// softmax over the elements where the mask is true; the result is 0 elsewhere, and in rows without a true element. The
/// mask broadcasts to x (ShapeError). Gradient: that of softmax; 0 where the mask is false, even if x is NaN there.
Tensor masked_softmax(const Operand& x, const Operand& mask, std::int64_t axis = -1);
/// log|s| and the sign of s.
struct SignedLog {
  Tensor log, sign;
};
/// log|s| for s = sum(b exp(x)) along the axes, without overflow; -inf where s is 0. b broadcasts with x. Where b is 0,
/// x may be infinite. Gradient: b exp(x) / s to x, exp(x) / s to b; none for the sign.
SignedLog weighted_logsumexp(const Operand& x, const Operand& b, const Axes& axes = {}, bool keepdims = false);
/// x, scaled down to norm `limit` along the axes where its norm exceeds that (TensorFlow's clip_by_norm).
/// Differentiable by both operands. Where the norm equals the limit, the derivative is the mean of those of both sides.
Tensor clip_by_norm(const Operand& x, const Operand& limit, const Axes& axes = {});

/// The distances [..., n, m] norm(x[i] - y[j], p) between the rows of x [..., n, d] and y [..., m, d]. Leading axes
/// broadcast. Computed from differences, without overflow. p is positive or infinity (ValueError). float32 and float64.
/// Gradient: that of norm, 0 at distance 0, to every order: a kernel such as exp(-cdist(x, y)^2) has mixed second
/// derivatives 0 there, not 2. For p = 2 write sum(square(expand_dims(x, -2) - expand_dims(y, -3)), -1) for the square.
Tensor cdist(const Operand& x, const Operand& y, double p = 2);
/// The distances [n (n - 1) / 2] between the rows i < j of x [n, d], in row-major order of (i, j) (SciPy's pdist).
/// Dtypes, errors and gradient are those of cdist, which is 0 to every order at distance 0.
Tensor pdist(const Operand& x, double p = 2);

/// The nondecreasing (nonincreasing) sequence along the last axis that is nearest to x in the sense of least squares.
/// It consists of blocks that are the means of x there, by pooling adjacent violators (Barlow et al. 1972). The result
/// is meaningless for a row that contains NaN. float32 and float64. Gradient: the mean of g over each block. Blocks of
/// equal means are not merged.
Tensor isotonic_regression(const Operand& x, bool increasing = true);

}  // namespace reel
