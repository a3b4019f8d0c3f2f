// What the views of a tape share.
#pragma once
#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// Calls f(entry, index) in recording order.
template <class F>
void for_each_entry(const tape::Tape& t, F f) {
  std::int64_t index = 0;
  const tape::Arena::Cursor end = t.entries.end();
  for (tape::Arena::Cursor at; const tape::Entry* e = t.entries.step_forward(at, end); ++index) f(*e, index);
}

/// Bytes of the values that the entry's rule keeps.
std::int64_t saved_bytes(const tape::Entry& e);
/// The slots that the targets depend on, the targets included; all slots if there are no targets. ValueError for an
/// empty target; `who` is named in it.
std::vector<bool> behind(const char* who, const tape::Tape& t, const detail::List<Target>* targets);
/// Whether a result of the entry is among the slots.
bool makes_any(const tape::Entry& e, const std::vector<bool>& slots);

}  // namespace reel::autodiff
