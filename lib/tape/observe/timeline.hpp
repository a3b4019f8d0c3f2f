// What of the Chrome trace others use: the rules that it sees, and the times of entries while it is being made.
#pragma once
#include <unordered_map>

#include "tape/observe/observe.hpp"

namespace reel::tape {

/// A rule begins or ends on this thread: `result` is the id of the first result of its entry, `frame` the frame of its
/// scope. Call them while times are watched.
void open_rule(const Frame* frame, std::uint64_t result) noexcept;
void close_rule(const Frame* frame) noexcept;
/// Adds the event of a rule's vjp, as add_event does.
void add_rule_event(const char* name, std::int64_t start, const Site& site, std::span<const Tensor* const> inputs,
                    std::span<const Tensor* const> outputs) noexcept;

/// Nanoseconds that an op took, and its rule in all replays.
struct Times {
  std::int64_t forward = 0, backward = 0;
};
/// What the trace of this thread (ChromeTraceGuard) has so far, by the id of an op's first result.
std::unordered_map<std::uint64_t, Times> traced_times();

/// The text as a JSON string. `<` is escaped too, so that it may stand in an HTML script element.
std::string in_quotes(std::string_view text);

}  // namespace reel::tape
