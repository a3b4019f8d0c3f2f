// The program that this thread is making: what a function of Lanes calls is added to it, equal nodes once.
#pragma once
#include <reel/elementwise.hpp>
#include <span>
#include <vector>

#include "ops/elementwise/program.hpp"

namespace reel {

struct LaneAccess {
  template <class T>
  static T make(std::uint32_t trace, std::int32_t node) noexcept {
    T lane;
    lane.trace_ = trace;
    lane.node_ = node;
    return lane;
  }
  static std::uint32_t trace(const auto& lane) noexcept { return lane.trace_; }
  static std::int32_t node(const auto& lane) noexcept { return lane.node_; }
};

}  // namespace reel

namespace reel::ops {

/// What a function added to its trace, call by call, and the program that this made. A function that does the same
/// again is recognised by it: each call is compared with the one noted here, nothing is built.
struct Log {
  std::int32_t inputs = 0;
  std::vector<loops::Node> calls;
  std::vector<std::int32_t> results;  // of each call, the node's index
  std::vector<std::int32_t> outputs;
  Shared program;
};

/// Between begin() and end(), the lanes that it makes may be used, and those of the trace before it may not.
class Trace {
 public:
  /// What becomes of a number: a parameter, so that the program does not depend on it, or part of the program.
  enum class Numbers : std::uint8_t { parameters, literals };
  explicit Trace(Numbers numbers) noexcept : numbers_(numbers) {}
  /// Begun.
  Trace(std::size_t inputs, Numbers numbers) : Trace(numbers) { begin(inputs, nullptr, false); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { end(); }
  /// With the log of a call that is expected to be repeated, if there is one; `logs`: keeps a log of its own.
  void begin(std::size_t inputs, const Log* expected, bool logs);
  void end() noexcept;
  /// What becomes of the numbers from here on.
  void set_numbers(Numbers numbers) noexcept { numbers_ = numbers; }
  /// The trace of a lane. ValueError if it is not the newest of this thread.
  static Trace& of(std::uint32_t serial);

  /// The node's index.
  std::int32_t add(const loops::Node& node) {
    if (expected_) {
      if (at_ < expected_->calls.size() && expected_->calls[at_] == node) return expected_->results[at_++];
      leave_log();
    }
    return add_new(node);
  }
  std::int32_t number(double value);
  std::int32_t operand(const detail::LaneOperand& x);
  /// The node of a lane of this trace. ValueError for any other.
  std::int32_t node(const Lane& x) const;
  Lane lane(std::int32_t node) const noexcept { return LaneAccess::make<Lane>(serial_, node); }
  LaneMask mask(std::int32_t node) const noexcept { return LaneAccess::make<LaneMask>(serial_, node); }

  /// The expected program, if the calls and the outputs are those of its log.
  const Program* repeated(std::span<const Lane> outputs) const;
  /// The program, which is not that of the log.
  loops::Graph& graph() {
    if (expected_) leave_log();
    return graph_;
  }
  /// What this call can be recognised by when it is repeated, but for the program.
  Log take_log();
  const std::vector<double>& parameters() const noexcept { return parameters_; }

 private:
  std::int32_t add_new(const loops::Node& node);
  std::int32_t intern(const loops::Node& node);
  void build(std::int32_t inputs);
  void leave_log();
  void grow();

  const Log* expected_ = nullptr;  // as long as nothing differs from it
  std::size_t at_ = 0;             // in its calls
  loops::Graph graph_;
  Log log_;
  std::vector<double> parameters_;
  std::vector<std::int32_t> table_;  // by hash; -1 is free
  std::uint32_t serial_ = 0;         // 0: not begun
  Numbers numbers_;
  bool logs_ = false;
  Trace* below_ = nullptr;
};

std::uint64_t hash(const loops::Node& node) noexcept;

}  // namespace reel::ops
