// Values and operands of programs.
#include "program/program.hpp"

#include <algorithm>

namespace reel::program {

Tensor laid_out(const Tensor& base, std::int64_t offset, const Tensor& like) {
  const detail::Block* b = detail::block(like);
  return TensorAccess::adopt(detail::new_placed(detail::block(base), offset, b->dtype, b->shape(),
                                                {b->strides(), static_cast<std::size_t>(b->rank)}));
}

Index Program::add_value(Value::Origin origin, Tensor tensor) {
  values.push_back({origin, std::move(tensor)});
  return static_cast<Index>(values.size() - 1);
}

namespace {

bool same_layout(const detail::Block* a, const detail::Block* b) noexcept {
  return a->dtype == b->dtype && a->rank == b->rank &&
         std::equal(a->extents(), a->extents() + 2 * a->rank, b->extents());
}

}  // namespace

Index Program::operand(Index value, const Tensor& view) {
  const detail::Block *all = detail::block(values[value].tensor), *part = detail::block(view);
  const std::int64_t offset = part->data - all->data;
  for (Index o = values[value].operands; o != nothing; o = operands[o].next)
    if (operands[o].offset == offset && same_layout(detail::block(operands[o].tensor), part)) return o;
  const bool whole = offset == 0 && same_layout(all, part);
  operands.push_back({value, view, offset, whole, values[value].operands});
  return values[value].operands = static_cast<Index>(operands.size() - 1);
}

std::vector<Index> Program::count_uses() const {
  std::vector<Index> uses(values.size());
  for (const Instruction& i : instructions)
    for (const Index o : i.inputs)
      if (o != nothing) ++uses[operands[o].value];
  for (const Index o : results) ++uses[operands[o].value];
  return uses;
}

}  // namespace reel::program
