// Functions of whole rows: the softmax family, the losses made of it, layer_norm, batch_norm.
#include "kernels/compiled/parts.hpp"
#include "kernels/reduction/normalise.hpp"
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
          .softmax_product = {&Functions::softmax_product, &Across::softmax_product},
          .log_softmax_product = {&Functions::log_softmax_product, &Across::log_softmax_product},
          .logsumexp_product = {&Functions::logsumexp_product, &Across::logsumexp_product},
          .cross_entropy = &Functions::cross_entropy,
          .cross_entropy_product = &Functions::cross_entropy_product,
          .cross_entropy_labels_product = &Functions::cross_entropy_labels_product,
          .sparse_cross_entropy = &Functions::sparse_cross_entropy,
          .sparse_cross_entropy_product = &Functions::sparse_cross_entropy_product,
          .layer_norm = &Norm::layer_norm,
          .layer_norm_product = &Norm::layer_norm_product,
          .column_sums = &Norm::column_sums,
          .sum = &Norm::row_sum,
          .squares = &Norm::row_squares,
          .products = &Norm::row_products,
          .scale = &Norm::row_scale,
          .scale_product = &Norm::row_scale_product};
}

}  // namespace

void enter_rows(Set& set) {
  enter<float>(set.rows[index(DType::float32)]);
  enter<double>(set.rows[index(DType::float64)]);
}

}  // namespace reel::kernels
