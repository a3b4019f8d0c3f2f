// Programs on single elements: a graph as code of the interpreter of kernels/scalars.hpp, in which common pairs of
// operations are one instruction. The bits are those of the graph's operations one by one.
#pragma once
#include <reel/tensor.hpp>
#include <span>
#include <vector>

#include "kernels/scalars.hpp"
#include "loops/program/graph.hpp"

namespace reel::loops {

/// A graph for one element of one dtype, float32 or float64, on the instruction set that is active.
class ScalarCode {
 public:
  ScalarCode(const Graph& graph, DType dtype);
  /// Bytes of the file that a run works on. It begins with the inputs, then the outputs, in order and without gaps.
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t first_output() const noexcept { return first_output_; }
  /// The inputs are in the file already. It is aligned to 8 bytes.
  void run(std::byte* file, std::span<const double> parameters) const;

 private:
  class Translation;
  struct Parameter {
    std::uint32_t place;
    std::int32_t index;
  };
  std::vector<std::uint32_t> code_;
  std::vector<std::byte> constants_;
  std::vector<Parameter> parameters_;
  std::size_t first_output_ = 0, first_constant_ = 0, bytes_ = 0;
  const kernels::ScalarEngine* engine_;
  DType dtype_;
};

/// Memory for the file of a run, on the stack if it is small.
class ScalarFile {
 public:
  explicit ScalarFile(std::size_t bytes);
  std::byte* data() noexcept { return data_; }

 private:
  alignas(16) std::byte here_[4096];
  Tensor more_;
  std::byte* data_;
};

/// A graph whose inputs are elements of arrays, and whose outputs are the elements of other arrays. The graph holds
/// literals, no parameters.
class ScalarProgram {
 public:
  /// An element of array `array`, `offset` elements behind its first one.
  struct Element {
    std::uint32_t array;
    std::int64_t offset;
  };
  /// Outputs are all elements of one array after the other, in order.
  ScalarProgram(Graph graph, std::vector<Element> inputs, std::vector<std::int64_t> output_sizes, DType dtype);
  const Graph& graph() const noexcept { return graph_; }
  const std::vector<Element>& inputs() const noexcept { return inputs_; }
  const std::vector<std::int64_t>& output_sizes() const noexcept { return output_sizes_; }
  /// Outputs are contiguous, booleans where they are masks. They may overlap inputs.
  void run(std::span<const Tensor* const> in, std::span<const Tensor> out) const;

 private:
  // Elements that follow one another in an array and in the file.
  struct Range {
    std::uint32_t array;
    std::ptrdiff_t from;
    std::size_t to, bytes;
  };
  Graph graph_;
  std::vector<Element> inputs_;
  std::vector<std::int64_t> output_sizes_;
  void copy_masks(const std::byte* from, const Tensor& out) const;
  ScalarCode code_;
  std::size_t width_;  // bytes of a number
  std::vector<Range> reads_;
};

}  // namespace reel::loops
