// Programs made ready to run: memory planned, operands laid out, as often as wanted and by several threads at once.
#pragma once
#include <memory>
#include <mutex>

#include "program/plan.hpp"
#include "program/program.hpp"

namespace reel::program {

class Executable {
 public:
  /// Plans the memory of a program, which passes may have rewritten.
  explicit Executable(Program program);
  ~Executable();
  /// The results at these arguments, of the dtypes, shapes and strides that were traced. Bits are those of the
  /// function run op by op. No tape records it.
  void run(std::span<const Tensor> arguments, std::span<Tensor> results) const;

  const Program& program() const noexcept { return program_; }
  /// Of the memory that a run needs besides its results.
  std::int64_t bytes() const noexcept { return plan_.bytes; }

 private:
  struct Frame;
  class Lease;
  struct Step {
    const Instruction* instruction;
    std::uint32_t first_input;   // in Frame::inputs
    std::uint32_t first_output;  // in Frame::outputs
    std::unique_ptr<const ops::Metas> metas;
  };
  /// Where a run finds a value that is not in the arena: among its arguments or in memory of its own.
  struct Origin {
    bool argument;
    std::size_t number;
  };
  std::unique_ptr<Frame> new_frame() const;
  void bind(Frame& frame, std::span<const Tensor> arguments) const;
  void execute(const Step& step, Frame& frame) const;

  Program program_;
  Plan plan_;
  std::vector<Step> steps_;
  std::vector<Origin> origin_;       // of each value
  std::vector<Index> outputs_;       // values, of all steps
  std::vector<Index> bound_;         // operands that each run lays anew: of arguments and of what escapes
  std::vector<Index> fresh_;         // values that each run takes memory for
  std::vector<std::uint32_t> made_;  // places in Frame::outputs that a run fills
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;  // that no run uses
  mutable std::size_t frame_count_ = 0;                 // used or not
};

}  // namespace reel::program
