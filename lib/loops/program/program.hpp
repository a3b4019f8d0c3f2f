// Programs over the pointwise table, run block by block: each instruction is one call of a kernel on buffers that stay
// in the first cache, so that a program of any length is one pass over memory.
#pragma once
#include <array>
#include <bit>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace reel::loops {

/// What a node is. A parameter is a number that each run is given, a literal one that the program fixes.
enum class Opcode : std::uint8_t {
  input,
  parameter,
  literal,
  value,
  derivative,
  comparison,
  predicate,
  logical,
  select
};

/// The most operands of a node: g, x, y, w, z.
inline constexpr std::size_t node_operands = 5;

/// One instruction. Its operands are earlier nodes, in the order in which its kernel reads them; -1 is none.
/// Comparisons, predicates and logic give masks: booleans, which only logic and the condition of a select read.
struct Node {
  Opcode opcode;
  std::uint8_t operand = 0;    // derivative: the operand that it differentiates by
  std::uint16_t function = 0;  // the index in the pointwise table, the Comparison, the Predicate or the Logical
  std::int32_t in[node_operands] = {-1, -1, -1, -1,
                                    -1};  // input, parameter: its index first; literal: the bits of its double

  friend bool operator==(const Node& a, const Node& b) noexcept {
    using Words = std::array<std::uint64_t, 3>;
    const auto x = std::bit_cast<Words>(a), y = std::bit_cast<Words>(b);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2])) == 0;
  }
};
Node literal(double value);
double literal_value(const Node& node);

/// What becomes of an output: it is written where it is to be; added to what is there, with the bits of an addition of
/// its own, but what is added is never in memory; or its sum is, with the bits of reduce(), from elements that are
/// in memory a run (reduce/reduce.hpp) at a time.
enum class Write : std::uint8_t { place, sum, total };

struct Graph {
  std::int32_t inputs = 0;  // the first nodes, in order
  std::vector<Node> nodes;
  std::vector<std::int32_t> outputs;  // lanes, not masks
};

/// A graph without its unused nodes, as steps on places: inputs, outputs, constants, and registers of one block each,
/// as few as lifetimes allow. An output is written in place by the step that computes it.
class Code {
 public:
  explicit Code(const Graph& graph);

  /// out[k] = output k, unless writes[k] says otherwise; or, where out[k] has one element and `shape` more, the sum of
  /// its elements in an order of its own, but for a total. The dtype is float32 or float64, of all tensors. Inputs
  /// broadcast to `shape`, with any strides; one that no output needs may be null. Outputs are contiguous and overlap
  /// nothing, but one may lie in the very memory of an input that no step reads after it is computed. Bits do not
  /// depend on the number of threads.
  void run(DType dtype, const Shape& shape, std::span<const Tensor* const> in, std::span<const double> parameters,
           std::span<const Tensor> out, std::span<const Write> writes = {}) const;
  /// Whether an output depends on input i.
  bool uses(std::size_t i) const { return inputs_[i] != Use::none; }

 private:
  friend struct Run;
  // Comparisons and selections cannot repeat an operand of stride 0; they need its elements.
  enum class Use : std::uint8_t { none, any_stride, elements };
  struct Step {
    Node node;               // its operands are places; the last place of all stands for none
    std::int32_t to;         // a place
    std::uint32_t operands;  // how many of the node's to hand over
    kernels::Loop loop[2];   // of float32, float64
  };
  struct Constant {
    Node node;
    std::int32_t filled;  // the place of a register full of it, -1 if none is needed
  };
  struct Copy {
    std::int32_t from;  // a place
    std::size_t output;
  };
  class Allocation;

  std::vector<Use> inputs_;
  std::size_t outputs_ = 0, registers_ = 0;
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::vector<Copy> copies_;
};

}  // namespace reel::loops
