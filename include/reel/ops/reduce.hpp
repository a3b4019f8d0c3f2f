// Reductions, scans and normalisations along axes. Sums are pairwise in a fixed order: the result does not depend on
// the number of threads. Axes default to all; keepdims leaves reduced axes with extent 1. float16 and bfloat16 compute
// in float32 and are rounded once, at the end. Complex numbers have sum, prod, mean, cumsum, cumprod, var and std,
// which are real, and norm (of abs(x)); TypeError elsewhere.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// Sum; of boolean, uint8 and int32 in int64. 0 of nothing. Gradient: the cotangent, broadcast.
Tensor sum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Mean, floating; NaN of nothing, with tangent 0. Gradient: the cotangent over the count, broadcast.
Tensor mean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Product; of boolean, uint8 and int32 in int64. 1 of nothing. Gradient: g times the product of the others, exact
/// with zeros among them.
Tensor prod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Largest element, NaN if one is; ValueError of nothing, unless the result is empty. Gradient: shared equally among
/// the ties; to the NaN.
Tensor max(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Index of the first largest (smallest) element along `axis`, int64; a NaN counts as such. No gradient.
Tensor argmax(const Operand& x, std::int64_t axis, bool keepdims = false);
Tensor argmin(const Operand& x, std::int64_t axis, bool keepdims = false);
/// Whether any, all elements are not zero. Boolean; no gradient.
Tensor any(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Variance, floating: sum((x - mean)^2) / (n - ddof); NaN where n <= ddof. Gradient: 2 g (x - mean) / (n - ddof).
Tensor var(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
/// Standard deviation. Gradient: g (x - mean) / ((n - ddof) std), 0 where std is 0.
Tensor std(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
/// (sum |x|^p)^(1/p), without overflow; p may be infinity (largest |x|) or 0 (count of non-zeros). Gradient: as
/// PyTorch's: 0 at 0; for infinity shared among the ties.
Tensor norm(const Operand& x, double p = 2, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))), without overflow; -inf for a row of -inf. Gradient: g softmax(x); equal shares for a row of -inf.
Tensor logsumexp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// exp(x - logsumexp(x)) along `axis`. Gradient: z (g - sum(g z)).
Tensor softmax(const Operand& x, std::int64_t axis = -1);
/// x - logsumexp(x) along `axis`, accurate near 0. Gradient: g - exp(z) sum(g).
Tensor log_softmax(const Operand& x, std::int64_t axis = -1);
/// Running sum along `axis`: of the elements up to (with exclusive: before) each; from the end with reverse.
Tensor cumsum(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);
/// Running product along `axis`. Gradient exact with zeros among the elements.
Tensor cumprod(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);

}  // namespace reel
