// Dropping entries whose results nobody can reach: a tape that is recorded on for long does not grow with what is gone.
#include <algorithm>

#include "tape/tape.hpp"

namespace reel::tape {

// Not recursive, and needs no order of destruction: what is unreachable is found by one walk backwards, which drops
// what an entry keeps when it meets it, since that may be all that keeps results further back. A result that is not
// dead is unreachable when its owners are the values that its own entry saved: entries further on that read it are gone
// by then, or it is needed. One that another tape keeps too may be handed out again by that tape's rules.
void sweep(Tape& t) {
  t.references.give_back();
  detail::List<char> needed(t.slots.size());
  const auto reachable = [&t](const Entry& e, std::uint32_t slot) {
    const Slot& s = t.slots[slot];
    if (s.source) return true;
    if (s.dead) return false;
    std::uint32_t own = 0;
    const detail::Block* block = nullptr;
    for (std::uint32_t i = 0; i < e.saved; ++i)
      if (const detail::Block* b = e.block(i); b && b->id == s.id) {
        ++own;
        block = b;
      }
    return !block || detail::owners(block) != own;
  };
  const Arena::Place end = t.entries.end();
  std::size_t kept = 0;
  detail::List<char> keep(static_cast<std::size_t>(t.entries.count()));
  std::size_t index = keep.size();
  for (Arena::Place at = end; Entry* e = t.entries.step_back(at);) {
    bool live = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k) live = live || needed[e->output(k)] || reachable(*e, e->output(k));
    keep[--index] = live;
    if (!live) {
      release(*e);
      continue;
    }
    ++kept;
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (e->input(i) != no_slot) needed[e->input(i)] = true;
  }
  // Where nothing was to be dropped the next sweep may wait longer.
  t.sweep_at = std::max(first_sweep, (kept == keep.size() ? 4 : 2) * static_cast<std::int64_t>(kept));
  if (kept == keep.size()) return;
  t.free_slots.reserve(t.slots.size());
  Arena compact;
  index = 0;
  for (Arena::Place at; const Entry* e = t.entries.step_forward(at, end);)
    if (keep[index++]) {
      compact.reserve(e->bytes);
      Entry* copy = compact.add(e->bytes);
      const std::uint32_t previous = copy->previous;
      std::copy_n(reinterpret_cast<const std::byte*>(e), e->bytes, reinterpret_cast<std::byte*>(copy));
      copy->previous = previous;
    }
  std::vector<bool> dropped(t.slots.size());
  index = 0;
  for (Arena::Place at; const Entry* e = t.entries.step_forward(at, end);)
    if (!keep[index++])
      for (std::uint32_t k = 0; k < e->outputs; ++k) dropped[e->output(k)] = true;
  IdMap ids = t.by_id.filtered([&](std::uint64_t, std::uint32_t slot) { return !dropped[slot]; });
  // Nothing throws from here on.
  t.by_id = std::move(ids);
  index = 0;
  for (Arena::Place at; const Entry* e = t.entries.step_forward(at, end);)
    if (!keep[index++])
      for (std::uint32_t k = 0; k < e->outputs; ++k) {
        t.slots[e->output(k)] = {};
        t.free_slots.push_back(e->output(k));
      }
  t.entries.swap(compact);
}

}  // namespace reel::tape
