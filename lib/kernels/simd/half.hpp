// Loops over float16 and bfloat16: those of float, block by block. Operands are widened into a buffer in L1, which is
// exact, and results are rounded once.
#pragma once
#include "kernels/half.hpp"
#include "kernels/loop.hpp"

namespace reel::kernels {

// Bit k of `reads`: the loop reads operand k.
template <class Half>
[[gnu::noinline]] void through_float(Loop loop, unsigned reads, const Strided* in, void* out, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t block = 256;  // elements: all operands take 6 KiB of L1
  constexpr std::size_t operands = 5;
  alignas(64) float wide[operands][block], result[block];
  Strided operand[operands] = {};
  for (std::size_t k = 0; k < operands; ++k)
    if ((reads >> k & 1u) != 0) operand[k] = {wide[k], in[k].stride == 0 ? 0 : 1};
  auto* target = static_cast<Half*>(out);
  for (std::ptrdiff_t i = 0; i < n; i += block) {
    const std::ptrdiff_t count = n - i < block ? n - i : block;
    for (std::size_t k = 0; k < operands; ++k) {
      if ((reads >> k & 1u) == 0) continue;
      const auto* source = static_cast<const Half*>(in[k].data) + i * in[k].stride;
      if (in[k].stride == 1)
        for (std::ptrdiff_t j = 0; j < count; ++j) wide[k][j] = source[j].number();
      else
        for (std::ptrdiff_t j = 0; j < (in[k].stride == 0 ? 1 : count); ++j)
          wide[k][j] = source[j * in[k].stride].number();
    }
    loop(operand, result, count);
    for (std::ptrdiff_t j = 0; j < count; ++j) target[i + j] = Half::from(result[j]);
  }
}

}  // namespace reel::kernels
