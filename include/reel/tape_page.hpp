// A tape as a page for a browser. <reel/reel.hpp> does not include it.
#pragma once
#include <reel/api.hpp>
#include <reel/tape.hpp>

namespace REEL_API reel {

namespace detail {
std::string tape_page(const GradientTape& tape, const List<Target>* targets);
}

/// The tape as one HTML page, which needs no other file and no network: write the string to a file and open it. It
/// shows the graph, as GradientTape::to_dot() does, and a table of ops, sources and targets that can be sorted and
/// filtered: shapes, the bytes that each rule keeps, the line that called each op (set_source_locations) and times.
/// Times are known while a ChromeTraceGuard of this thread lives: of each op, and of its rule in all replays so far.
/// The graph is drawn in parts of 300 nodes; pages of 10^5 entries open in seconds and take 200 bytes an entry. Uses up
/// nothing. TapeError if the tape is used up or belongs to another thread.
inline std::string tape_page(const GradientTape& tape) { return detail::tape_page(tape, nullptr); }
/// The same of what the targets depend on.
template <Tree T>
std::string tape_page(const GradientTape& tape, const T& targets) {
  detail::List<Target> list;
  for_each_leaf(targets, [&](const auto& leaf) { list.emplace_back(leaf); });
  return detail::tape_page(tape, &list);
}

}  // namespace reel
