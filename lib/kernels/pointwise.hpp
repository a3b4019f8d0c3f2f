// The loops of the pointwise ops, table.hpp.
#pragma once
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// The loops of an op of table.hpp. value reads in[0..arity). derivative[k], of operand k, gets g, x, y, w, z. It reads
// g and what the definition names; the other pointers may be null. Derivatives that are g itself or zero have no loop.
struct Pointwise {
  Loop value;
  Loop derivative[3];
};
inline constexpr std::size_t definition_capacity = 96;

struct PointwiseKernels {
  static constexpr KernelFamily family = KernelFamily::pointwise;
  Pointwise op[definition_capacity][dtype_count];  // by index_of<"name">(), table.hpp
  // x shifted to the left (0), or to the right (1), by n bits; all bits are shifted out where n is negative or at least
  // their number. int32, int64.
  Loop shift[2][dtype_count];

  const Pointwise& of(std::size_t at, DType d) const { return op[at][index(d)]; }
};

/// The loops of the set in use.
inline const Pointwise& pointwise(std::size_t at, DType d) { return active<PointwiseKernels>().of(at, d); }

}  // namespace reel::kernels
