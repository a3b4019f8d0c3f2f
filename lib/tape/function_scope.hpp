// Functions with a rule of their own that can be differentiated twice: the tapes record the function's ops, and an
// entry for the whole function takes the place of the ops that made its results.
#pragma once
#include <vector>

#include "tape/tape.hpp"

namespace reel::tape {

/// Whether a derivative of a derivative of what is recorded now can be asked for: several tapes, or a tape and an
/// accumulator, or a persistent tape record, or a function is traced. A tape that a Capture fills counts as one that is
/// not persistent: for second derivatives its function runs again. But it records gradients that tapes in the function
/// take.
bool may_differentiate_twice() noexcept;

/// From its construction to record() the active tapes record the ops of a function. Accumulators keep them as entries.
class FunctionScope {
 public:
  FunctionScope();
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;
  ~FunctionScope();
  /// Records the function as one entry. Its outputs, made by the function or not followed yet, are followed as outputs
  /// of this entry alone, also where later ops of the function read them. Accumulators take their tangents along all
  /// entries. A tape that was made since does not record it. `over_reverse` is the attribute that tells a jvp whether a
  /// tape inside recorded the function too: it is set for each entry. Strong guarantee for tapes.
  void record(const Rule& rule, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs,
              std::span<std::int64_t> attributes, std::size_t over_reverse);

 private:
  struct Member {
    Tape* tape;
    std::uint32_t serial, generation;
    Arena::Cursor begin;  // of the function's entries
    bool defers;
  };
  Member* find(const Tape& tape) noexcept;
  void take_tangents(const Rule& rule);
  std::vector<Member> members_;  // the innermost first
};

}  // namespace reel::tape
