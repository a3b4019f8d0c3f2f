// Bags of embeddings: rows of a table, gathered and reduced by segments.
#include <reel/nn/embedding.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "nn/last_axis.hpp"
#include "ops/index/indices.hpp"

namespace reel {
namespace ops {
namespace {

constexpr const char* bag_name = "embedding_bag";

Tensor integers(const Operand& operand, const char* name, int rank, const char* axes) {
  const Tensor x = to_tensor(bag_name, operand, name);
  if (!is_integer(x.dtype())) fail<TypeError>(bag_name, "{} are {}; they must be integers", name, x.dtype());
  if (x.rank() != rank) fail<ShapeError>(bag_name, "{} have shape {}; they must be {}", name, x.shape(), axes);
  return cast_to(x, DType::int64);
}

// The rows with their factors.
Tensor weighted_rows(const Tensor& rows, const Tensor& ids, const EmbeddingBagOptions& options) {
  const Tensor& weights = options.weights;
  if (!weights.defined()) return rows;
  if (options.mode != BagMode::sum)
    fail<ValueError>(bag_name, "weights are given, which only the mode sum has; leave them empty");
  if (weights.shape() != ids.shape())
    fail<ShapeError>(bag_name, "weights have shape {} and ids {}; each id needs one", weights.shape(), ids.shape());
  if (is_complex(weights.dtype())) fail<TypeError>(bag_name, "weights are {}; they must be real", weights.dtype());
  Shape shape{ids.size()};
  for (int d = 1; d < rows.rank(); ++d) shape.push_back(1);
  return rows * reshape(cast_to(weights, rows.dtype()), shape);
}

// -1, an id of no segment, for elements that are padding.
Tensor bags_without_padding(const Tensor& bags, const Tensor& ids, const std::optional<std::int64_t>& padding,
                            std::int64_t n) {
  if (!padding) return bags;
  if (*padding < -n || *padding >= n)
    fail<IndexError>(bag_name, "padding_id {} is out of range for a table of {} rows", *padding, n);
  const std::int64_t id = *padding < 0 ? *padding + n : *padding;
  return where(logical_or(equal(ids, id), equal(ids, id - n)), -1, bags);
}

// Element k of `ids`, of any shape, belongs to bag `of`[k] of `count`.
Tensor bags_of(const Tensor& table, const Tensor& ids, const Tensor& of, std::int64_t count, DType result,
               const EmbeddingBagOptions& options) {
  if (options.mode > BagMode::max) fail<ValueError>(bag_name, "unknown mode {}", static_cast<int>(options.mode));
  const Tensor flat = reshape(ids, {ids.size()}),
               bags = bags_without_padding(of, flat, options.padding_id, table.shape()[0]);
  const Tensor taken = gather_at(table, check_indices(bag_name, flat, 0, table.shape()[0]), 0);
  const Tensor rows = weighted_rows(taken, ids, options);
  Tensor y;
  if (options.mode == BagMode::sum) {
    y = segment_sum(rows, bags, count);
  } else if (options.mode == BagMode::mean) {
    y = segment_mean(rows, bags, count);
  } else {
    Shape per_bag{count};
    for (int d = 1; d < rows.rank(); ++d) per_bag.push_back(1);
    const Tensor members = segment_sum(ones_like(bags), bags, count);
    y = where(reshape(equal(members, 0), per_bag), 0, segment_max(rows, bags, count));
  }
  return cast_to(y, result);
}

PromotedOperand table_of(const Operand& operand) {
  PromotedOperand table = promote_operand(bag_name, operand, Accept::floating);
  if (table.x.rank() < 1) fail<ShapeError>(bag_name, "the table has rank 0; it must be [rows, ...]");
  return table;
}

}  // namespace
}  // namespace ops

Tensor embedding_bag(const Operand& table, const Operand& ids_operand, const EmbeddingBagOptions& options) {
  const tape::OpScope scope(table);
  const auto [rows, result] = ops::table_of(table);
  const Tensor ids = ops::integers(ids_operand, "ids", 2, "[bags, length]; with offsets they may be a vector");
  const Shape s = ids.shape();
  const Tensor bags = reshape(broadcast_to(reshape(arange(s[0]), {s[0], 1}), s), {ids.size()});
  return ops::bags_of(rows, ids, bags, s[0], result, options);
}

Tensor embedding_bag(const Operand& table, const Operand& ids_operand, const Operand& offsets,
                     const EmbeddingBagOptions& options) {
  const tape::OpScope scope(table);
  const auto [rows, result] = ops::table_of(table);
  const Tensor ids = ops::integers(ids_operand, "ids", 1, "a vector beside offsets"),
               starts = ops::integers(offsets, "offsets", 1, "a vector");
  const std::int64_t m = ids.size();
  const Tensor begun = cumsum(ops::counts_of(ops::bag_name, "offsets", starts, m + 1), 0);
  const Tensor bags = slice(begun, {range(0, m)}) - 1;
  return ops::bags_of(rows, ids, bags, starts.size(), result, options);
}

}  // namespace reel
