// Sweeps drop entries whose results cannot be reached, so that a tape does not grow with results that are gone.
#include <algorithm>

#include "tape/tape.hpp"

namespace reel::tape {

namespace {

// Whether anything but the entry itself holds its result in this slot. A result that another tape keeps too counts as
// held: rules of that tape may return it again.
bool reachable(const Tape& t, const Entry& e, std::uint32_t slot) {
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
}

}  // namespace

// Not recursive: one walk backwards releases what an entry saved when it is dropped, which may make earlier results
// unreachable. A result whose only owners are values saved by its own entry is unreachable: later entries that read it
// are dropped by then, or it is needed.
std::size_t find_live(Tape& t, detail::List<char>& keep) {
  detail::List<char> needed(t.slots.size());
  std::size_t kept = 0, index = keep.size();
  for (Arena::Cursor at = t.entries.end(); Entry* e = t.entries.step_back(at);) {
    bool live = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k)
      live = live || needed[e->output(k)] || reachable(t, *e, e->output(k));
    keep[--index] = live;
    if (!live) {
      release(*e);
      continue;
    }
    ++kept;
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (e->input(i) != no_slot) needed[e->input(i)] = true;
  }
  return kept;
}

namespace {

// Calls f(entry) for the entries whose flag is `value`.
template <class F>
void for_entries(const Arena& entries, const detail::List<char>& flags, bool value, const F& f) {
  std::size_t index = 0;
  const Arena::Cursor end = entries.end();
  for (Arena::Cursor at; const Entry* e = entries.step_forward(at, end);)
    if ((flags[index++] != 0) == value) f(*e);
}

}  // namespace

void sweep(Tape& t) {
  t.references.give_back();
  detail::List<char> keep(static_cast<std::size_t>(t.entries.count()));
  const std::size_t kept = find_live(t, keep);
  // If nothing was dropped, the next sweep may wait longer.
  t.sweep_at = std::max(first_sweep, (kept == keep.size() ? 4 : 2) * static_cast<std::int64_t>(kept));
  if (kept == keep.size()) return;
  t.free_slots.reserve(t.slots.size());
  Arena compact;
  for_entries(t.entries, keep, true, [&](const Entry& e) {
    compact.reserve(e.bytes);
    Entry* copy = compact.add(e.bytes);
    const std::uint32_t previous = copy->previous;
    std::copy_n(reinterpret_cast<const std::byte*>(&e), e.bytes, reinterpret_cast<std::byte*>(copy));
    copy->previous = previous;
  });
  std::vector<bool> dropped(t.slots.size());
  for_entries(t.entries, keep, false, [&](const Entry& e) {
    for (std::uint32_t k = 0; k < e.outputs; ++k) dropped[e.output(k)] = true;
  });
  IdMap ids = t.by_id.filtered([&](std::uint64_t, std::uint32_t slot) { return !dropped[slot]; });
  // Nothing throws from here on.
  ++t.generation;
  t.by_id = std::move(ids);
  for_entries(t.entries, keep, false, [&](const Entry& e) {
    for (std::uint32_t k = 0; k < e.outputs; ++k) {
      t.slots[e.output(k)] = {};
      t.free_slots.push_back(e.output(k));
    }
  });
  t.entries.swap(compact);
  // Which entries are a replay's is not known; results of replays are what programs discard.
  t.replay_entries = std::max<std::int64_t>(0, t.replay_entries - static_cast<std::int64_t>(keep.size() - kept));
}

}  // namespace reel::tape
