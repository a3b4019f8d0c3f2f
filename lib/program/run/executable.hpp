// Programs made ready to run: memory planned, operands laid out, as often as wanted and by several threads at once.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "program/program.hpp"
#include "program/run/plan.hpp"

namespace reel::program {

class Executable {
 public:
  /// Plans the memory of a program, which passes may have rewritten.
  explicit Executable(Program program);
  ~Executable();
  /// The results at these arguments, of the dtypes, shapes and strides that were traced. Bits are those of the
  /// function run op by op. No tape records it.
  void run(std::span<const Tensor> arguments, std::span<Tensor> results) const;

  /// Runs by one thread on memory that it names: see session.hpp.
  class Session;

  const Program& program() const noexcept { return program_; }
  /// Of the memory that results of a session's run lie in, and where a value lies there; -1 where it does not.
  std::int64_t fresh_bytes() const noexcept { return fresh_bytes_; }
  std::int64_t fresh_offset(Index value) const noexcept { return fresh_offset_[value]; }
  /// Of the memory that a run needs besides its results.
  std::int64_t bytes() const noexcept { return plan_.bytes; }

 private:
  struct Frame;
  struct Places;
  class Lease;
  struct Step {
    const Instruction* instruction;
    std::uint32_t first_input;   // in Frame::inputs
    std::uint32_t first_output;  // in Frame::outputs
    bool makes_token;
    std::unique_ptr<const ops::Metas> metas;
  };
  /// Where a run finds a value that is not in the arena: among its arguments or in memory of its own.
  struct Origin {
    bool argument;
    std::size_t number;
  };
  std::unique_ptr<Frame> new_frame() const;
  std::unique_ptr<Places> new_places() const;
  void bind(Frame& frame, std::span<const Tensor> arguments) const;
  void execute(const Step& step, Frame& frame) const;
  void hand_over_token(const Step& step, Frame& frame) const;
  void forget_tokens(Frame& frame) const noexcept;

  Program program_;
  Plan plan_;
  std::vector<Step> steps_;
  std::vector<Origin> origin_;                    // of each value
  std::vector<Index> outputs_;                    // values, of all steps
  std::vector<Index> bound_;                      // operands that each run lays anew: of arguments and of what escapes
  std::vector<Index> fresh_;                      // values that each run takes memory for
  std::vector<std::int64_t> fresh_offset_;        // of each value: where it lies in the memory of a session's run
  std::int64_t fresh_bytes_ = 0;                  // of that memory
  std::vector<std::uint32_t> made_;               // places in Frame::outputs that a run fills
  mutable std::atomic<Frame*> latest_ = nullptr;  // that no run uses, and was used last: taken without the mutex
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;   // others that no run uses
  mutable std::size_t frame_count_ = 0;                  // used or not
  mutable std::vector<std::unique_ptr<Places>> places_;  // that no session uses
  mutable std::size_t places_count_ = 0;                 // used or not
};

}  // namespace reel::program
