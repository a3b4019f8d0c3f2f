// The public ops of one and of two tensors, for hostile_arguments.cpp.
#pragma once
#include <functional>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/ops/windows.hpp>
#include <reel/reel.hpp>
#include <vector>

namespace {

using namespace reel;

// The name of an op and its call with tensors.
struct Unary {
  const char* name;
  std::function<void(const Tensor&)> f;
};
#define REEL_OP(op)                     \
  {                                     \
#op, [](const Tensor& x) { op(x); } \
  }

std::vector<Unary> unary_ops() {
  return {REEL_OP(negative),
          REEL_OP(square),
          REEL_OP(abs),
          REEL_OP(sign),
          REEL_OP(reciprocal),
          REEL_OP(sqrt),
          REEL_OP(rsqrt),
          REEL_OP(cbrt),
          REEL_OP(exp),
          REEL_OP(exp2),
          REEL_OP(expm1),
          REEL_OP(log),
          REEL_OP(log2),
          REEL_OP(log10),
          REEL_OP(log1p),
          REEL_OP(sin),
          REEL_OP(cos),
          REEL_OP(tan),
          REEL_OP(arcsin),
          REEL_OP(arccos),
          REEL_OP(arctan),
          REEL_OP(sinh),
          REEL_OP(cosh),
          REEL_OP(tanh),
          REEL_OP(arcsinh),
          REEL_OP(arccosh),
          REEL_OP(arctanh),
          REEL_OP(bitwise_not),
          {"frexp", [](const Tensor& x) { reel::frexp(x); }},
          REEL_OP(glu),
          REEL_OP(erf),
          REEL_OP(erfc),
          REEL_OP(lgamma),
          REEL_OP(digamma),
          REEL_OP(sigmoid),
          REEL_OP(softplus),
          REEL_OP(relu),
          REEL_OP(leaky_relu),
          REEL_OP(elu),
          REEL_OP(selu),
          REEL_OP(gelu),
          REEL_OP(silu),
          REEL_OP(softsign),
          REEL_OP(floor),
          REEL_OP(ceil),
          REEL_OP(round),
          REEL_OP(trunc),
          REEL_OP(real),
          REEL_OP(imag),
          REEL_OP(conj),
          REEL_OP(angle),
          REEL_OP(logical_not),
          REEL_OP(isnan),
          REEL_OP(isinf),
          REEL_OP(isfinite),
          REEL_OP(sum),
          REEL_OP(mean),
          REEL_OP(prod),
          REEL_OP(max),
          REEL_OP(min),
          REEL_OP(any),
          REEL_OP(all),
          REEL_OP(var),
          {"std", [](const Tensor& x) { reel::std(x); }},
          REEL_OP(norm),
          REEL_OP(logsumexp),
          REEL_OP(softmax),
          REEL_OP(log_softmax),
          REEL_OP(transpose),
          REEL_OP(squeeze),
          REEL_OP(flip),
          REEL_OP(contiguous),
          REEL_OP(identity),
          REEL_OP(diag),
          REEL_OP(diagonal),
          REEL_OP(tril),
          REEL_OP(triu),
          REEL_OP(trace),
          REEL_OP(cholesky),
          REEL_OP(inverse),
          REEL_OP(det),
          REEL_OP(slogdet),
          REEL_OP(stop_gradient),
          REEL_OP(zeros_like),
          REEL_OP(ones_like),
          REEL_OP(unstack),
          REEL_OP(layer_norm),
          REEL_OP(sort),
          REEL_OP(argsort),
          REEL_OP(median),
          REEL_OP(nanmedian),
          REEL_OP(unique),
          REEL_OP(nonzero),
          REEL_OP(flatten),
          REEL_OP(rot90),
          REEL_OP(diag_embed),
          REEL_OP(circulant)};
}
#undef REEL_OP

struct Binary {
  const char* name;
  std::function<void(const Tensor&, const Tensor&)> f;
};
#define REEL_OP(op)                                         \
  {                                                         \
#op, [](const Tensor& x, const Tensor& y) { op(x, y); } \
  }
std::vector<Binary> binary_ops() {
  return {
      REEL_OP(add),
      REEL_OP(subtract),
      REEL_OP(multiply),
      REEL_OP(divide),
      REEL_OP(power),
      REEL_OP(floor_divide),
      REEL_OP(mod),
      REEL_OP(squared_difference),
      REEL_OP(logaddexp),
      REEL_OP(arctan2),
      REEL_OP(hypot),
      REEL_OP(polygamma),
      REEL_OP(maximum),
      REEL_OP(minimum),
      REEL_OP(make_complex),
      REEL_OP(equal),
      REEL_OP(not_equal),
      REEL_OP(less),
      REEL_OP(less_equal),
      REEL_OP(greater),
      REEL_OP(greater_equal),
      REEL_OP(logical_and),
      REEL_OP(logical_or),
      REEL_OP(logical_xor),
      REEL_OP(array_equal),
      REEL_OP(gather),
      REEL_OP(matmul),
      REEL_OP(dot),
      REEL_OP(outer),
      REEL_OP(solve),
      REEL_OP(triangular_solve),
      REEL_OP(conv2d),
      REEL_OP(conv2d_transpose),
      REEL_OP(softmax_cross_entropy),
      REEL_OP(sparse_softmax_cross_entropy),
      REEL_OP(sigmoid_cross_entropy),
      REEL_OP(binary_cross_entropy),
      REEL_OP(kl_divergence),
      REEL_OP(huber),
      REEL_OP(rms_norm),
      REEL_OP(searchsorted),
      REEL_OP(digitize),
      REEL_OP(quantile),
      REEL_OP(percentile),
      REEL_OP(take),
      REEL_OP(toeplitz),
      REEL_OP(hankel),
      REEL_OP(set_diagonal),
      {"block_diag",
       [](const Tensor& x, const Tensor& y) {
         block_diag({x, y});
       }},
      {"meshgrid",
       [](const Tensor& x, const Tensor& y) {
         meshgrid({x, y});
       }},
      REEL_OP(boolean_mask),
      REEL_OP(embedding),
      {"repeat", [](const Tensor& x, const Tensor& counts) { repeat(x, counts, 0); }},
      {"reverse_sequence", [](const Tensor& x, const Tensor& lengths) { reverse_sequence(x, lengths, 1); }},
      REEL_OP(average),
      REEL_OP(cdist),
      REEL_OP(bitwise_and),
      REEL_OP(bitwise_or),
      REEL_OP(bitwise_xor),
      REEL_OP(left_shift),
      REEL_OP(right_shift),
      {"ldexp", [](const Tensor& x, const Tensor& n) { reel::ldexp(x, n); }},
      REEL_OP(polar),
      REEL_OP(masked_softmax),
      REEL_OP(weighted_logsumexp),
      REEL_OP(clip_by_norm),
      {"index", [](const Tensor& x, const Tensor& i) { index(x, {i}); }},
      {"index_update", [](const Tensor& x, const Tensor& v) { index_update(x, {0}, v); }},
      {"index_multiply", [](const Tensor& x, const Tensor& v) { index_multiply(x, {zeros({2}, DType::int64)}, v); }},
      {"index_max", [](const Tensor& x, const Tensor& i) { index_max(x, {i}, x); }},
      {"slice_update", [](const Tensor& x, const Tensor& v) { slice_update(x, {0}, v); }},
      {"segment_sum", [](const Tensor& x, const Tensor& ids) { segment_sum(x, ids, 2); }},
      {"segment_prod", [](const Tensor& x, const Tensor& ids) { segment_prod(x, ids, 2); }},
      {"segment_max", [](const Tensor& x, const Tensor& ids) { segment_max(x, ids, 2); }},
      {"bincount", [](const Tensor& x, const Tensor& w) { bincount(x, 4, w); }},
      {"masked_fill", [](const Tensor& x, const Tensor& mask) { masked_fill(x, mask, 1); }},
      {"compress", [](const Tensor& c, const Tensor& x) { compress(c, x, 0); }},
      {"put", [](const Tensor& x, const Tensor& i) { put(x, i, 1); }},
      {"put_along_axis", [](const Tensor& x, const Tensor& i) { put_along_axis(x, i, 1, 0); }},
      {"scatter_reduce", [](const Tensor& x, const Tensor& i) { scatter_reduce(x, i, 1, 0, Reduction::prod); }}};
}
#undef REEL_OP

}  // namespace
