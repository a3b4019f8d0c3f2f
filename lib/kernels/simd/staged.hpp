// Strided operands for loops that support contiguous ones only: gathered block by block into L1. One copy per
// instruction set serves all loops, so that no loop is compiled for rare strides.
#pragma once
#include <cstring>

#include "kernels/loop.hpp"

namespace reel::kernels {

// How a loop reads and writes: bytes per element of each operand, 0 for operands that it does not read.
struct Layout {
  std::size_t operands;
  std::size_t bytes[5];
  std::size_t out_bytes;
  bool repeats;  // the loop can repeat an operand of stride 0 itself
};

template <std::size_t Bytes>
[[gnu::always_inline]] inline void move_elements(const char* from, std::ptrdiff_t stride, char* to,
                                                 std::ptrdiff_t to_stride, std::ptrdiff_t n) {
  const std::ptrdiff_t step = stride * static_cast<std::ptrdiff_t>(Bytes),
                       to_step = to_stride * static_cast<std::ptrdiff_t>(Bytes);
  for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * step, Bytes);
}

[[gnu::noinline]] inline void gather(const void* from, std::ptrdiff_t stride, void* to, std::ptrdiff_t n,
                                     std::size_t bytes) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  switch (bytes) {
    case 1:
      return move_elements<1>(source, stride, target, 1, n);
    case 2:
      return move_elements<2>(source, stride, target, 1, n);
    case 4:
      return move_elements<4>(source, stride, target, 1, n);
    case 8:
      return move_elements<8>(source, stride, target, 1, n);
    default:
      return move_elements<16>(source, stride, target, 1, n);
  }
}

// Whether the loop supports every stride as it is.
[[gnu::always_inline]] inline bool direct(const Layout& layout, const Strided* in) {
  for (std::size_t k = 0; k < layout.operands; ++k)
    if (layout.bytes[k] != 0 && in[k].stride != 1 && !(layout.repeats && in[k].stride == 0)) return false;
  return true;
}

[[gnu::noinline]] inline void staged(Loop loop, const Layout& layout, const Strided* in, void* out, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t block = 128;  // elements: five of 16 bytes take 10 KiB of L1
  alignas(64) char buffer[5][block * 16];
  Strided block_in[5] = {};
  char* target = static_cast<char*>(out);
  for (std::size_t k = 0; k < layout.operands; ++k) {
    if (layout.bytes[k] == 0) continue;
    block_in[k] = in[k];
    if (in[k].stride == 1 || (layout.repeats && in[k].stride == 0)) continue;
    block_in[k] = {buffer[k], 1};
    if (in[k].stride == 0) gather(in[k].data, 0, buffer[k], n < block ? n : block, layout.bytes[k]);
  }
  for (std::ptrdiff_t i = 0; i < n; i += block) {
    const std::ptrdiff_t count = n - i < block ? n - i : block;
    for (std::size_t k = 0; k < layout.operands; ++k) {
      if (layout.bytes[k] == 0 || in[k].stride == 0) continue;
      const char* source =
          static_cast<const char*>(in[k].data) + i * in[k].stride * static_cast<std::ptrdiff_t>(layout.bytes[k]);
      if (in[k].stride == 1)
        block_in[k].data = source;
      else
        gather(source, in[k].stride, buffer[k], count, layout.bytes[k]);
    }
    loop(block_in, target, count);
    target += count * static_cast<std::ptrdiff_t>(layout.out_bytes);
  }
}

}  // namespace reel::kernels
