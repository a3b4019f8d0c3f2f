// select, choose and piecewise: elements taken from one of several tensors or functions.
#include <algorithm>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>

#include "ops/engine.hpp"
#include "ops/index/indices.hpp"

namespace reel {

Tensor select(std::span<const Tensor> conditions, std::span<const Tensor> choices, const Operand& otherwise) {
  const tape::OpScope scope(otherwise);
  if (conditions.empty() || conditions.size() != choices.size())
    fail<ValueError>("select", "there are {} conditions and {} choices; pass one choice for each condition",
                     conditions.size(), choices.size());
  ops::CommonDType common;
  common.add("select", otherwise);
  for (const Tensor& x : choices) common.add("select", x);
  Tensor y = ops::to_tensor("select", otherwise, common.dtype(), "otherwise");
  Shape shape = y.shape();
  for (const std::span<const Tensor> all : {conditions, choices})
    for (const Tensor& x : all) shape = ops::broadcast_shapes("select", shape, ops::to_tensor("select", x).shape());
  for (std::size_t k = conditions.size(); k-- > 0;)
    y = where(ops::to_mask("select", conditions[k], "a condition"), choices[k], y);
  return y;
}
Tensor select(std::initializer_list<Tensor> conditions, std::initializer_list<Tensor> choices,
              const Operand& otherwise) {
  return select(std::span(conditions.begin(), conditions.size()), std::span(choices.begin(), choices.size()),
                otherwise);
}

Tensor choose(const Operand& operand, std::span<const Tensor> choices, IndexMode mode) {
  const tape::OpScope scope(operand);
  if (choices.empty()) fail<ValueError>("choose", "there are no choices; pass at least one");
  const Tensor indices = ops::to_tensor("choose", operand, "indices");
  const auto count = static_cast<std::int64_t>(choices.size());
  const Tensor numbers = ops::positions_in("choose", indices, count, mode);
  Shape shape = numbers.shape();
  for (const Tensor& x : choices)
    shape = ops::broadcast_shapes("choose", shape, ops::to_tensor("choose", x, "choice").shape());
  ops::require_rank("choose", shape.rank() + 1);
  detail::List<Tensor> all;
  for (const Tensor& x : choices) all.push_back(broadcast_to(x, shape));
  return take_along_axis(stack(all, 0), expand_dims(broadcast_to(numbers, shape), 0), 0)[0];
}
Tensor choose(const Operand& indices, std::initializer_list<Tensor> choices, IndexMode mode) {
  return choose(indices, std::span(choices.begin(), choices.size()), mode);
}

namespace ops {
namespace {

// The values of a piece at the elements of x where a mask is true, as a vector. An empty handle if there are none.
Tensor piece_at(const Tensor& x, const Tensor& mask, const Piece& piece) {
  constexpr const char* op = "piecewise";
  if (mask.shape() != x.shape())
    fail<ShapeError>(op, "a condition has shape {}, x {}; they must be equal", mask.shape(), x.shape());
  if (!piece) fail<ValueError>(op, "a piece is empty; pass a function");
  const Tensor part = named(op, [&] { return boolean_mask(x, mask); });
  if (part.size() == 0) return {};
  const Tensor y = to_tensor(op, piece(part), "the value of a piece");
  if (y.rank() != 0 && y.shape() != part.shape())
    fail<ShapeError>(op, "a piece gave shape {} for elements of shape {}; it must give as many, or a scalar", y.shape(),
                     part.shape());
  return broadcast_to(y, part.shape());
}

}  // namespace
}  // namespace ops

Tensor piecewise(const Operand& operand, std::initializer_list<Tensor> conditions, std::initializer_list<Piece> pieces,
                 const Operand& otherwise) {
  const tape::OpScope scope(operand);
  constexpr const char* op = "piecewise";
  const Tensor x = ops::to_tensor(op, operand);
  if (conditions.size() != pieces.size())
    fail<ValueError>(op, "there are {} conditions and {} pieces; pass one piece for each condition", conditions.size(),
                     pieces.size());
  ops::CommonDType common;
  common.add(op, otherwise);
  detail::List<Tensor> values;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    values.push_back(ops::piece_at(x, ops::to_mask(op, conditions.begin()[k], "a condition"), pieces.begin()[k]));
    if (values.back().defined()) common.add(op, values.back());
  }
  const DType dtype = common.dtype();
  Tensor y = broadcast_to(ops::to_tensor(op, otherwise, dtype, "otherwise"), x.shape());
  for (std::size_t k = 0; k < pieces.size(); ++k)
    if (values[k].defined()) y = masked_scatter(y, conditions.begin()[k], values[k]);
  return y;
}

}  // namespace reel
