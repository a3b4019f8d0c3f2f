// Functions of whole rows: the softmax family, the losses made of it, layer_norm, batch_norm.
#include "kernels/rows.hpp"

#include "kernels/reduction/normalize.hpp"
#include "kernels/reduction/softmax.hpp"

namespace reel::kernels {

namespace {

template <VecElement T>
void enter(Rows& rows) {
  using Functions = RowFunctions<T>;
  using Across = RowFunctions<T, true>;
  using Norm = NormFunctions<T>;
  rows = {.softmax = {&Functions::softmax, &Across::softmax},
          .log_softmax = {&Functions::log_softmax, &Across::log_softmax},
          .logsumexp = {&Functions::logsumexp, &Across::logsumexp},
          .softmax_vjp = {&Functions::softmax_vjp, &Across::softmax_vjp},
          .log_softmax_vjp = {&Functions::log_softmax_vjp, &Across::log_softmax_vjp},
          .logsumexp_vjp = {&Functions::logsumexp_vjp, &Across::logsumexp_vjp},
          .cross_entropy = &Functions::cross_entropy,
          .cross_entropy_vjp = &Functions::cross_entropy_vjp,
          .cross_entropy_labels_vjp = &Functions::cross_entropy_labels_vjp,
          .sparse_cross_entropy = &Functions::sparse_cross_entropy,
          .sparse_cross_entropy_vjp = &Functions::sparse_cross_entropy_vjp,
          .layer_norm = &Norm::layer_norm,
          .layer_norm_vjp = &Norm::layer_norm_vjp,
          .column_sums = &Norm::column_sums,
          .sum = &Norm::row_sum,
          .squares = &Norm::row_squares,
          .products = &Norm::row_products,
          .scale = &Norm::row_scale,
          .scale_vjp = &Norm::row_scale_vjp};
}

}  // namespace

const void* rows_kernels() {
  static RowKernels all;
  enter<float>(all[DType::float32]);
  enter<double>(all[DType::float64]);
  return &all;
}

}  // namespace reel::kernels
