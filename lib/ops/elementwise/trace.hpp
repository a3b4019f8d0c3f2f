// The program that this thread is tracing: calls of functions of Lanes add nodes to it; equal nodes are added once.
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

/// The calls of a traced function, and the resulting program. A function that repeats its calls is recognised: each
/// call is compared with the log, and no graph is built.
struct Log {
  std::int32_t inputs = 0;
  std::vector<loops::Node> calls;
  std::vector<std::int32_t> results;  // for each call the node's index
  std::vector<std::int32_t> outputs;
  Shared program;
};

/// Between begin() and end() its lanes may be used, and lanes of an outer trace may not.
class Trace {
 public:
  /// What becomes of a number: a parameter, so that the program does not depend on it, or a literal of the program.
  enum class Numbers : std::uint8_t { parameters, literals };
  explicit Trace(Numbers numbers) noexcept : numbers_(numbers) {}
  /// Starts a trace.
  Trace(std::size_t inputs, Numbers numbers) : Trace(numbers) { begin(inputs, nullptr, false); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() { end(); }
  /// Starts it with the log of a call that is expected to repeat, if there is one; `logs`: writes a log of its own.
  void begin(std::size_t inputs, const Log* expected, bool logs);
  void end() noexcept;
  /// What becomes of numbers from here on.
  void set_numbers(Numbers numbers) noexcept { numbers_ = numbers; }
  /// The trace of a lane. ValueError if it is not the innermost one of this thread.
  static Trace& of(std::uint32_t serial);

  /// The index of the lane's node.
  std::int32_t add(const loops::Node& node) {
    if (expected_) {
      if (at_ < expected_->calls.size() && expected_->calls[at_] == node) return expected_->results[at_++];
      leave_log();
    }
    return add_new(node);
  }
  std::int32_t number(double value);
  std::int32_t operand(const detail::LaneOperand& x);
  /// The node of a lane of this trace. ValueError for other lanes.
  std::int32_t node(const Lane& x) const;
  Lane lane(std::int32_t node) const noexcept { return LaneAccess::make<Lane>(serial_, node); }
  LaneMask mask(std::int32_t node) const noexcept { return LaneAccess::make<LaneMask>(serial_, node); }

  /// The program of the expected log, if calls and outputs agree with it.
  const Program* repeated(std::span<const Lane> outputs) const;
  /// The traced program, if they do not.
  loops::Graph& graph() {
    if (expected_) leave_log();
    return graph_;
  }
  /// The log of this call, without its program.
  Log take_log();
  const std::vector<double>& parameters() const noexcept { return parameters_; }

 private:
  std::int32_t add_new(const loops::Node& node);
  std::int32_t intern(const loops::Node& node);
  void build(std::int32_t inputs);
  void leave_log();
  void grow();

  const Log* expected_ = nullptr;  // null as soon as a call differs from it
  std::size_t at_ = 0;             // index of the next call in it
  loops::Graph graph_;
  Log log_;
  std::vector<double> parameters_;
  std::vector<std::int32_t> table_;  // by hash; -1 is free
  std::uint32_t serial_ = 0;         // 0: not started
  Numbers numbers_;
  bool logs_ = false;
  Trace* below_ = nullptr;
};

std::uint64_t hash(const loops::Node& node) noexcept;

}  // namespace reel::ops
