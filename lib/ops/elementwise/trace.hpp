// The program that this thread is making: what a function of Lanes calls is added to it, equal nodes once.
#pragma once
#include <reel/elementwise.hpp>
#include <vector>

#include "loops/program/program.hpp"

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

/// While it lives, the lanes that it makes may be used, and those of the trace before it may not.
class Trace {
 public:
  /// What becomes of a number: a parameter, so that the program does not depend on it, or part of the program.
  enum class Numbers : std::uint8_t { parameters, literals };
  Trace(std::size_t inputs, Numbers numbers);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace();
  /// The trace of a lane. ValueError if it is not the newest of this thread.
  static Trace& of(std::uint32_t serial);

  /// The node's index.
  std::int32_t add(const loops::Node& node);
  std::int32_t number(double value);
  std::int32_t operand(const detail::LaneOperand& x);
  /// The node of a lane of this trace. ValueError for any other.
  std::int32_t node(const Lane& x) const;
  Lane lane(std::int32_t node) const noexcept { return LaneAccess::make<Lane>(serial_, node); }
  LaneMask mask(std::int32_t node) const noexcept { return LaneAccess::make<LaneMask>(serial_, node); }

  loops::Graph& graph() noexcept { return graph_; }
  const std::vector<double>& parameters() const noexcept { return parameters_; }

 private:
  void grow();

  loops::Graph graph_;
  std::vector<double> parameters_;
  std::vector<std::int32_t> table_;  // by hash; -1 is free
  std::uint32_t serial_;
  Numbers numbers_;
  Trace* below_;
};

std::uint64_t hash(const loops::Node& node) noexcept;

}  // namespace reel::ops
