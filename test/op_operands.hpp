// Operands of the rows of the op table.
#pragma once
#include <vector>

#include "op_cases.hpp"
#include "support/derivatives.hpp"

namespace support {

/// Draws two sets of operands for each list of shapes of the row, and calls use(x, others).
template <class Use>
void for_drawn_operands(const cases::Shaped& row, const Use& use) {
  for (const std::vector<reel::Shape>& shapes : cases::shapes_of(row)) {
    Random random(row.name);
    Tensors x, others;
    for (Tensors* list : {&x, &others})
      for (const reel::Shape& s : shapes) {
        const reel::Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
        list->push_back(row.prepare ? row.prepare(drawn, list->size()) : drawn);
      }
    use(x, others);
  }
}

/// The operands in another dtype: whole numbers unless it is floating.
inline Tensors cast_all(const Tensors& x, reel::DType d) {
  Tensors result;
  for (const reel::Tensor& one : x) result.push_back(cast(is_differentiable(d) ? one : trunc(one), d));
  return result;
}

/// The operands in another layout.
inline Tensors laid_out_all(const Tensors& x, Layout layout) {
  Tensors views;
  for (const reel::Tensor& one : x) views.push_back(laid_out(one, layout));
  return views;
}

}  // namespace support
