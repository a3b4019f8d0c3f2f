// Programs over the pointwise table, run block by block: each instruction is one kernel call on buffers in the
// first-level cache, so that a program of any length is one pass over memory.
#pragma once
#include <atomic>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

#include "loops/program/chain.hpp"
#include "loops/program/graph.hpp"
#include "loops/range_function.hpp"

namespace reel::loops {

class ScalarCode;

/// What a run does with an output: write it; add it to the array, with the bits of a separate addition, but without the
/// intermediate array; or sum it, with the bits of reduce(), from elements of which one run (reduce/reduce.hpp) is in
/// memory at a time.
enum class Write : std::uint8_t { place, sum, total };

/// Computes an input of a program. It may call `then` for ranges of that input's elements as soon as they are computed:
/// whole multiples of `row`, which together are all elements. Returns whether it did.
struct Producer {
  bool (*compute)(const void* context, const RangeFunction* then);
  const void* context;
  std::int64_t row;
};

/// A graph without unused nodes, as steps on places: inputs, outputs, constants, and registers of one block each, as
/// few as lifetimes allow. A step writes an output in place.
class Code {
 public:
  explicit Code(const Graph& graph);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code();
  /// Without unused nodes at the end; selects by comparisons are choices.
  const Graph& graph() const noexcept { return graph_; }

  /// out[k] = output k, unless writes[k] says otherwise. If out[k] has one element and `shape` has more, out[k] is the
  /// sum of the elements, in an order of its own unless it is a total. All tensors have one dtype, float32 or float64.
  /// Inputs broadcast to `shape`, with any strides; an input that no output needs may be null. Outputs are contiguous
  /// and do not overlap, except that last_output() may have the memory of an input. Another output may if nodes that
  /// read the input come before it, and one that is not chained (chain.hpp) between them. Bits do not depend on the
  /// number of threads. A contiguous input of this shape may be computed by `producer`, part by part.
  void run(DType dtype, const Shape& shape, std::span<const Tensor* const> in, std::span<const double> parameters,
           std::span<const Tensor> out, std::span<const Write> writes = {}, const Producer* producer = nullptr) const;
  /// Whether an output depends on input i.
  bool uses(std::size_t i) const { return inputs_[i] != Use::none; }
  /// The output that the last step computes, which may have the memory of any input; -1 if others are copied later.
  std::int32_t last_output() const;

 private:
  friend struct Run;
  // Comparisons and selections cannot repeat an operand of stride 0: they need its elements in memory.
  enum class Use : std::uint8_t { none, any_stride, elements };
  struct Step {
    Node node;                // operands are places; the last place stands for none
    std::int32_t to;          // a place
    std::uint32_t operands;   // number of the node's operands that are passed
    kernels::Loop loop[2];    // for float32, float64
    std::int32_t chain = -1;  // the chain that the step is
    void run(std::size_t type, std::int64_t n, const kernels::Strided* place) const;
  };
  struct Chain {
    std::vector<std::int32_t> places;  // of the operands; -1: memory for an intermediate value
    std::vector<kernels::ChainInstruction> code;
    std::vector<Step> members;  // the same, a loop for each, on operands instead of places: for what the code leaves
    void run(std::size_t type, std::int64_t n, kernels::Strided* operand) const;
  };
  struct Constant {
    Node node;
    std::int32_t filled;  // the register filled with it, -1 if none is needed
  };
  struct Copy {
    std::int32_t from;  // a place
    std::size_t output;
  };
  class Allocation;
  void run_step(const Step& step, std::size_t type, std::int64_t n, const kernels::Strided* place) const;
  void write_constants(DType dtype, std::span<const double> parameters, double* to) const;
  const ScalarCode& scalar_code(DType dtype) const;
  void run_scalar(DType dtype, std::span<const Tensor* const> in, std::span<const double> parameters,
                  std::span<const Tensor> out, std::span<const Write> writes) const;
  bool run_short(DType dtype, const Shape& shape, std::int64_t size, std::span<const Tensor* const> in,
                 std::span<const double> parameters, std::span<const Tensor> out) const;

  std::vector<Use> inputs_;
  std::size_t outputs_ = 0, registers_ = 0;
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::vector<Chain> chains_;
  std::vector<Copy> copies_;
  Graph graph_;
  mutable std::atomic<const ScalarCode*> scalar_code_[2] =
      {};  // for float32, float64; made by the first run that needs it
};

}  // namespace reel::loops
