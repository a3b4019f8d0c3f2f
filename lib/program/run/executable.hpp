// Programs ready to run: with planned memory and prepared operands. Any number of runs, by several threads at once.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "program/program.hpp"
#include "program/run/plan.hpp"

namespace reel::program {

class Executable {
 public:
  /// Plans the memory of a program. Passes may have rewritten it.
  explicit Executable(Program program);
  ~Executable();
  /// The results at these arguments, which have the traced dtypes, shapes and strides. The bits are those of the
  /// function run op by op. Not recorded.
  void run(std::span<const Tensor> arguments, std::span<Tensor> results) const;
  /// A frame, the state of a run, that a caller keeps from one run to the next, for runs of this object alone.
  class KeptFrame;
  /// The same as run(), without handles of its own: the arguments have other owners during the run.
  void run_borrowing(std::span<const Tensor> arguments, std::span<Tensor> results, KeptFrame* kept = nullptr) const;

  /// run_borrowing() with arguments that lie apart: each is read in place, and must not be assigned during the run.
  /// False, with nothing run, if the frame is new or a run binds a part of an argument. `results` are empty handles.
  bool run_again(std::span<const Tensor* const> arguments, std::span<Tensor> results, KeptFrame& kept) const;

  /// Runs of one thread in memory that the caller provides: session.hpp.
  class Session;

  const Program& program() const noexcept { return program_; }
  /// Makes sessions place these results, which outlive their runs, apart from the others. Before the first session.
  void set_apart(std::span<const std::size_t> results);
  bool is_apart(Index value) const noexcept { return apart_[value]; }
  /// Whether a run reads the argument.
  bool reads_argument(std::size_t k) const noexcept;
  /// Bytes of the memory that holds the results of a session's run, or of those apart, and the offset of a value there;
  /// -1 if it has none.
  std::int64_t fresh_bytes(bool apart = false) const noexcept { return fresh_bytes_[apart]; }
  std::int64_t fresh_offset(Index value) const noexcept { return fresh_offset_[value]; }
  /// Bytes that a run needs besides its results.
  std::int64_t bytes() const noexcept { return plan_.bytes; }

 private:
  struct Frame;
  struct SessionFrame;
  class Lease;
  struct Step {
    const Instruction* instruction;
    std::uint32_t first_input;   // in Frame::inputs
    std::uint32_t first_output;  // in Frame::outputs
    bool makes_token;
    std::unique_ptr<const ops::Metas> metas;
  };
  /// Where a run finds a value outside the arena: among its arguments, or in Frame::outputs.
  struct Origin {
    bool argument;
    std::size_t number;
  };
  /// An operand that each run binds, and whether it is an argument as it stands, whose handle may be borrowed.
  struct Bound {
    Index operand;
    bool borrowed;
  };
  /// Where a run finds a result: in Frame::outputs, or else in Frame::operands.
  struct Result {
    std::uint32_t number;
    bool output, constant;
    bool moved;  // nobody else reads that handle
  };
  std::unique_ptr<Frame> new_frame() const;
  std::unique_ptr<SessionFrame> new_session_frame() const;
  void find_results();
  void find_bound();
  void place_fresh();
  void allocate_fresh(Frame& frame) const;
  void bind(Frame& frame, std::span<const Tensor> arguments, bool borrows) const;
  void unbind(Frame& frame, bool borrows) const noexcept;
  void take_results(Frame& frame, std::span<Tensor> results) const;
  void run_bound(std::span<const Tensor> arguments, std::span<Tensor> results, bool borrows, KeptFrame* kept) const;
  void execute(const Step& step, Frame& frame) const;
  void execute_all(Frame& frame) const;
  void hand_over_token(const Step& step, Frame& frame) const;
  void forget_tokens(Frame& frame) const noexcept;

  Program program_;
  Plan plan_;
  std::vector<Step> steps_;
  bool makes_tokens_ = false;   // some step
  std::vector<Origin> origin_;  // for each value
  std::vector<Index> outputs_;  // values, for all steps
  std::vector<Bound> bound_;    // operands of arguments, and of values that outlive the run
  bool bound_whole_ = true;     // all of them are borrowed
  std::vector<bool> reads_argument_;
  std::vector<Result> results_;
  std::vector<std::uint32_t> made_;               // indices in Frame::outputs that a run fills
  std::vector<std::uint32_t> fresh_;              // those of them that it allocates before the first instruction
  std::vector<std::int64_t> fresh_offset_;        // for each value, its offset in the memory of a session's run
  std::vector<bool> apart_;                       // for each value: its offset is in the memory of results apart
  std::int64_t fresh_bytes_[2] = {0, 0};          // of that memory, and of results apart
  mutable std::atomic<Frame*> latest_ = nullptr;  // an idle frame, the one used last: taken without the mutex
  mutable std::atomic<SessionFrame*> latest_session_ = nullptr;  // the same for sessions
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;                 // other idle frames
  mutable std::size_t frame_count_ = 0;                                // idle or in use
  mutable std::vector<std::unique_ptr<SessionFrame>> session_frames_;  // of other idle sessions
  mutable std::size_t session_frame_count_ = 0;                        // idle or in use
};

class Executable::KeptFrame {
 public:
  KeptFrame() noexcept = default;
  KeptFrame(const KeptFrame&) = delete;
  KeptFrame& operator=(const KeptFrame&) = delete;
  ~KeptFrame() { reset(); }
  /// Drops the frame, for runs of another object.
  void reset() noexcept;

 private:
  friend class Executable;
  Frame* frame_ = nullptr;
};

}  // namespace reel::program
