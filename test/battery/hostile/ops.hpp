// The public ops of one tensor, for hostile_arguments.cpp.
#pragma once
#include <functional>
#include <reel/fft.hpp>
#include <reel/fft/signal.hpp>
#include <reel/geometry.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/nn/losses.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/ops/windows.hpp>
#include <reel/reel.hpp>
#include <reel/solve/integrate.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>
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

// clang-format off
std::vector<Unary> unary_ops() {
  return {
      REEL_OP(bitwise_not), REEL_OP(fft), REEL_OP(ifft), REEL_OP(rfft), REEL_OP(irfft), REEL_OP(hfft), REEL_OP(ihfft), REEL_OP(fftn), REEL_OP(ifftn),
      REEL_OP(rfftn), REEL_OP(irfftn), REEL_OP(fft2), REEL_OP(ifft2), REEL_OP(rfft2), REEL_OP(irfft2), REEL_OP(fftshift), REEL_OP(ifftshift),
      REEL_OP(dct), REEL_OP(idct), REEL_OP(dst), REEL_OP(idst), REEL_OP(hadamard), REEL_OP(unwrap), REEL_OP(detrend), REEL_OP(gamma),
      REEL_OP(rgamma), REEL_OP(as_real), REEL_OP(as_complex), {"frexp", [](const Tensor& x) { reel::frexp(x); }}, REEL_OP(glu), REEL_OP(leaky_relu),
      REEL_OP(elu), REEL_OP(real), REEL_OP(imag), REEL_OP(conj), REEL_OP(angle), REEL_OP(sum), REEL_OP(mean), REEL_OP(prod), REEL_OP(max),
      REEL_OP(min), REEL_OP(any), REEL_OP(all), REEL_OP(var), {"std", [](const Tensor& x) { reel::std(x); }}, REEL_OP(norm), REEL_OP(logsumexp),
      REEL_OP(softmax), REEL_OP(log_softmax), REEL_OP(transpose), REEL_OP(squeeze), REEL_OP(flip), REEL_OP(contiguous), REEL_OP(identity),
      REEL_OP(diag), REEL_OP(diagonal), REEL_OP(tril), REEL_OP(triu), REEL_OP(trace), REEL_OP(cholesky), REEL_OP(banded_cholesky), REEL_OP(inverse),
      REEL_OP(det), REEL_OP(slogdet), REEL_OP(qr), {"qr", [](const Tensor& x) { reel::qr(x, QrMode::complete); }}, REEL_OP(lq),
      {"eigh", [](const Tensor& x) { reel::eigh(x); }}, REEL_OP(eigvalsh), REEL_OP(eig), REEL_OP(eigvals), REEL_OP(svd),
      {"svd", [](const Tensor& x) { reel::svd(x, {.full = true}); }}, REEL_OP(svdvals), REEL_OP(lu), REEL_OP(lu_factor),
      {"lu_solve", [](const Tensor& x) { reel::lu_solve(reel::lu_factor(eye(3)), x); }}, REEL_OP(pinv), REEL_OP(cholesky_inverse),
      REEL_OP(stop_gradient), REEL_OP(zeros_like), REEL_OP(ones_like), REEL_OP(unstack), REEL_OP(layer_norm), REEL_OP(sort), REEL_OP(argsort),
      REEL_OP(median), REEL_OP(nanmedian), REEL_OP(unique), REEL_OP(nonzero), REEL_OP(flatten), REEL_OP(matrix_transpose), REEL_OP(ediff1d),
      REEL_OP(gammasgn), REEL_OP(rot90), REEL_OP(diag_embed), REEL_OP(circulant), REEL_OP(matrix_norm), REEL_OP(l2_loss), REEL_OP(simpson),
      REEL_OP(so3_exp), REEL_OP(so3_log), REEL_OP(se3_exp), REEL_OP(se3_log), REEL_OP(quaternion_conjugate), REEL_OP(quaternion_to_matrix),
      REEL_OP(matrix_to_quaternion), {"PiecewiseCubic", [](const Tensor& x) { pchip(arange(4), arange(4))(x); }}, REEL_OP(l2_normalize),
      REEL_OP(instance_norm), REEL_OP(local_response_norm), {"adaptive_avg_pool1d", [](const Tensor& x) { adaptive_avg_pool1d(x, 2); }},
      {"adaptive_max_pool1d", [](const Tensor& x) { adaptive_max_pool1d(x, 2); }},
      {"adaptive_avg_pool2d", [](const Tensor& x) { adaptive_avg_pool2d(x, {2, 3}); }},
      {"adaptive_max_pool2d", [](const Tensor& x) { adaptive_max_pool2d(x, {2, 3}); }},
      {"adaptive_avg_pool3d", [](const Tensor& x) { adaptive_avg_pool3d(x, {2, 3, 1}); }},
      {"adaptive_max_pool3d", [](const Tensor& x) { adaptive_max_pool3d(x, {2, 3, 1}); }},
      {"lp_pool1d", [](const Tensor& x) { lp_pool1d(x, 2, 2, 1); }},
      {"max_pool2d_with_indices", [](const Tensor& x) { max_pool2d_with_indices(x, {2, 1}); }},
      {"lp_pool2d", [](const Tensor& x) { lp_pool2d(x, 3, {1, 2}); }}, {"lp_pool3d", [](const Tensor& x) { lp_pool3d(x, 3, {1, 2, 1}); }},
      {"max_pool1d_with_indices", [](const Tensor& x) { max_pool1d_with_indices(x, 2); }},
      {"max_pool3d_with_indices", [](const Tensor& x) { max_pool3d_with_indices(x, {2, 1, 2}); }},
      {"dropout", [](const Tensor& x) { Generator generator(1); dropout(x, 0.5, generator); }},
      {"group_norm", [](const Tensor& x) { group_norm(x, 2); }}, {"max_pool1d", [](const Tensor& x) { max_pool1d(x, 2); }},
      {"avg_pool1d", [](const Tensor& x) { avg_pool1d(x, 2); }}, {"max_pool3d", [](const Tensor& x) { max_pool3d(x, {2, 2, 1}); }},
      {"avg_pool3d", [](const Tensor& x) { avg_pool3d(x, {2, 2, 1}); }}, REEL_OP(expm), REEL_OP(sqrtm), REEL_OP(logm), REEL_OP(tensorinv),
      REEL_OP(pdist), {"pdist", [](const Tensor& x) { GradientTape tape; if (x.defined() && is_differentiable(x.dtype())) tape.watch(x); pdist(x, -1); }},
      {"matrix_power", [](const Tensor& x) { matrix_power(x, 3); }}, {"matrix_norm", [](const Tensor& x) { matrix_norm(x, MatrixNorm::one); }},
      {"matrix_norm", [](const Tensor& x) { matrix_norm(x, MatrixNorm::spectral); }},
      {"matrix_norm", [](const Tensor& x) { matrix_norm(x, MatrixNorm::nuclear); }}, REEL_OP(cond),
      {"cond", [](const Tensor& x) { cond(x, MatrixNorm::infinity); }},
  };
}
// clang-format on
#undef REEL_OP

}  // namespace
