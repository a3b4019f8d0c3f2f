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
  const bool whole = offset == 0 && same_layout(all, part);
  if (whole && values[value].whole != nothing) return values[value].whole;
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
  const std::uint64_t key = (value * spread) ^ static_cast<std::uint64_t>(offset);
  if (!whole)
    for (auto [at, end] = views.equal_range(key); at != end; ++at) {
      const Operand& o = operands[at->second];
      if (o.value == value && o.offset == offset && same_layout(detail::block(o.tensor), part)) return at->second;
    }
  const auto made = static_cast<Index>(operands.size());
  operands.push_back({value, view, offset, whole, values[value].operands});
  if (whole)
    values[value].whole = made;
  else
    views.emplace(key, made);
  return values[value].operands = made;
}

std::vector<Index> Program::count_uses() const {
  std::vector<Index> uses(values.size());
  for (const Instruction& i : instructions)
    for (const Index o : i.inputs)
      if (o != nothing) ++uses[operands[o].value];
  for (const Index o : results) ++uses[operands[o].value];
  return uses;
}

void Program::make_constant(Index value, const Tensor& x) {
  Value& v = values[value];
  v.origin = Value::Origin::constant;
  v.tensor = x;
  for (Index o = v.operands; o != nothing; o = operands[o].next)
    operands[o].tensor = operands[o].whole ? x : laid_out(x, operands[o].offset, operands[o].tensor);
}

}  // namespace reel::program
