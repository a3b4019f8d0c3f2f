// Reductions, scans and normalisations along axes. Sums are pairwise in a fixed order, so results do not depend on the
// number of threads. Axes default to all. keepdims leaves reduced axes with extent 1. float16 and bfloat16 compute in
// float32 and are rounded once, at the end. Complex numbers have sum, prod, mean, cumsum, cumprod; var, std and norm,
// which are real (norm is that of abs(x)); others throw TypeError.
#pragma once
#include <concepts>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Sum. boolean, uint8 and int32 are summed in int64. No elements: 0. Gradient: g, broadcast.
Tensor sum(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Mean, floating. No elements: NaN, with tangent 0. Gradient: g divided by the count, broadcast.
Tensor mean(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Product. boolean, uint8 and int32 are multiplied in int64. No elements: 1. Gradient: g times the product of the
/// other elements, exact even if some are zero.
Tensor prod(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Largest (smallest) element; NaN if one is NaN. ValueError for no elements, unless the result is empty. Gradient:
/// shared equally among ties; to a NaN if there is one. max(x, 0) is along axis 0: of two operands, maximum(x, 0).
Tensor max(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Index of the first largest (smallest) element along `axis`, int64. A NaN counts as largest and as smallest. No
/// gradient.
Tensor argmax(const Operand& x, std::int64_t axis, bool keepdims = false);
Tensor argmin(const Operand& x, std::int64_t axis, bool keepdims = false);
/// Whether any element is, or all are, nonzero. Boolean; no gradient.
Tensor any(const Operand& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// Variance, floating: sum((x - mean)^2) / (n - ddof); NaN where n <= ddof. Gradient: 2 g (x - mean) / (n - ddof).
Tensor var(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
/// Standard deviation, without overflow. Gradient: g (x - mean) / ((n - ddof) std); 0 where std is 0, to every order,
/// so that std^2 has the Hessian 0 there: write var.
Tensor std(const Operand& x, const Axes& axes = {}, double ddof = 0, bool keepdims = false);
template <std::same_as<bool> T>
Tensor var(const Operand&, const Axes&, T) = delete;  // keepdims is the fourth argument
template <std::same_as<bool> T>
Tensor std(const Operand&, const Axes&, T) = delete;  // keepdims is the fourth argument
/// (sum |x|^p)^(1/p), without overflow. p may be infinity (largest |x|) or 0 (number of nonzero elements). Gradient, as
/// PyTorch's: 0 at 0; for p = infinity shared among ties. At 0 it is 0 to every order, so that norm(x)^2 has the
/// Hessian 0 there, not 2, and kernels such as exp(-norm(x - y)^2) lose theirs where x = y: write sum(square(x)).
Tensor norm(const Operand& x, double p = 2, const Axes& axes = {}, bool keepdims = false);
/// log(sum(exp(x))), without overflow; -inf for a row of -inf. Gradient: g softmax(x); equal shares for a row of -inf.
Tensor logsumexp(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// exp(x - logsumexp(x)) along `axis`. Gradient: z (g - sum(g z)). Where an element of z is near 1, its own loses the
/// digits of 1 - z; so do second derivatives of logsumexp.
Tensor softmax(const Operand& x, std::int64_t axis = -1);
/// x - logsumexp(x) along `axis`, accurate near 0. Gradient: g - exp(z) sum(g).
Tensor log_softmax(const Operand& x, std::int64_t axis = -1);
/// Cumulative sum along `axis`. With `exclusive` each sum excludes its own element. With `reverse` it runs from the
/// end. Gradient: the same of g in the other direction.
Tensor cumsum(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);
/// Cumulative product along `axis`. The gradient is exact even if elements are zero.
Tensor cumprod(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);

}  // namespace reel
