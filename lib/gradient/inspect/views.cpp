// Views of a tape: its contents by op, as a graph, and as the plan of its replay.
#include "gradient/inspect/views.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "core/fail.hpp"

namespace reel {

namespace autodiff {

namespace {

using tape::Arena, tape::Entry, tape::no_slot, tape::Tape;

std::int64_t bytes_of(const detail::Block& b) { return b.size * static_cast<std::int64_t>(item_size(b.dtype)); }
std::int64_t bytes_of(const tape::Meta& m) {
  return m.shape().elements() * static_cast<std::int64_t>(item_size(m.dtype));
}

// Calls f(entry, index) in the reverse of recording order.
template <class F>
void for_each_entry_back(const Tape& t, F f) {
  std::int64_t index = t.entries.count();
  for (Arena::Cursor at = t.entries.end(); const Entry* e = t.entries.step_back(at);) f(*e, --index);
}

}  // namespace

std::int64_t saved_bytes(const Entry& e) {
  std::int64_t bytes = 0;
  for (std::uint32_t i = 0; i < e.saved; ++i)
    if (const detail::Block* b = e.block(i)) bytes += bytes_of(*b);
  return bytes;
}

bool makes_any(const Entry& e, const std::vector<bool>& slots) {
  for (std::uint32_t k = 0; k < e.outputs; ++k)
    if (slots[e.output(k)]) return true;
  return false;
}

std::vector<bool> behind(const char* who, const Tape& t, const detail::List<Target>* targets) {
  std::vector<bool> shown(t.slots.size(), targets == nullptr);
  if (!targets) return shown;
  for (const Target& y : *targets) {
    if (!y.tensor().defined()) fail<ValueError>(who, "a target is empty (default-constructed or moved from)");
    if (const std::uint32_t s = slot_of(t, y); s != no_slot) shown[s] = true;
  }
  for_each_entry_back(t, [&](const Entry& e, std::int64_t) {
    const bool any = makes_any(e, shown);
    for (std::uint32_t i = 0; any && i < e.inputs; ++i)
      if (e.input(i) != no_slot) shown[e.input(i)] = true;
  });
  return shown;
}

namespace {

// ---- the graph

std::string escape(std::string_view text) {
  std::string s;
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s;
}

std::string line(const tape::Site& site) { return site.file ? "\\n" + escape(to_string(site)) : std::string(); }

std::string dot(const Tape& t, const detail::List<Target>* targets) {
  const std::vector<bool> shown = behind("GradientTape.to_dot", t, targets);
  const std::vector<std::string> names = tape::slot_names(t);
  std::vector<std::string> maker(t.slots.size());  // the node that produced the tensor of each slot
  std::string nodes, edges, ends;
  const auto edge = [&](std::uint32_t slot, const std::string& to) {
    const tape::Meta& m = *t.slots[slot].meta;
    return fmt::format("  {} -> {} [label=\"{} {}\"];\n", maker[slot], to, name(m.dtype), to_string(m.shape()));
  };
  for (std::uint32_t s = 0; s < t.slots.size(); ++s)
    if (t.slots[s].source && shown[s]) {
      maker[s] = fmt::format("source{}", s);
      nodes += fmt::format("  {} [label=\"{}\", shape=ellipse, style=filled, fillcolor=lightblue];\n", maker[s],
                           escape(names[s]));
    }
  for_each_entry(t, [&](const Entry& e, std::int64_t index) {
    if (!makes_any(e, shown)) return;
    const std::string node = fmt::format("op{}", index);
    nodes += fmt::format("  {} [label=\"{}\\n{} bytes saved{}\"];\n", node, escape(e.rule->name), saved_bytes(e),
                         line(t.site_of(e)));
    for (std::uint32_t i = 0; i < e.inputs; ++i)
      if (e.input(i) != no_slot) edges += edge(e.input(i), node);
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (maker[e.output(k)].empty())
        maker[e.output(k)] = node;
      else
        edges += fmt::format("  {} -> {} [style=dashed];\n", node, maker[e.output(k)]);  // a watched result
  });
  if (targets)
    for (std::size_t i = 0; i < targets->size(); ++i)
      if (const std::uint32_t s = slot_of(t, (*targets)[i]); s != no_slot) {
        ends += fmt::format("  target{} [label=\"target {}\", shape=doublecircle];\n", i, i);
        ends += edge(s, fmt::format("target{}", i));
      }
  return "digraph tape {\n  node [shape=box];\n" + nodes + edges + ends + "}\n";
}

// ---- the plan

// Walks like replay, counting bytes instead of computing gradients.
class Plan {
 public:
  Plan(const Tape& t, std::span<const Target> targets, std::span<const Source> sources, const GradientOptions& o)
      : tape_(t), fed_(t.slots.size()), stopped_(t.slots.size()), requested_(t.slots.size()), cells_(t.slots.size()) {
    for (const Source& s : sources)
      if (const std::uint32_t slot = slot_of(t, s); slot != no_slot) fed_[slot] = requested_[slot] = true;
    for (const Source& s : o.stop_gradients.list())
      if (const std::uint32_t slot = slot_of(t, s); slot != no_slot) stopped_[slot] = true;
    for_each_entry(t, [&](const Entry& e, std::int64_t) {
      bool any = false;
      for (std::uint32_t i = 0; i < e.inputs; ++i) any = any || (e.input(i) != no_slot && fed_[e.input(i)]);
      for (std::uint32_t k = 0; any && k < e.outputs; ++k)
        if (!stopped_[e.output(k)]) fed_[e.output(k)] = true;
    });
    for (const Target& y : targets)
      if (const std::uint32_t slot = slot_of(t, y); slot != no_slot) arrive(slot);
    count_saved();
  }

  ReplayPlan run() {
    plan_.peak_bytes = live_;
    for_each_entry_back(tape_, [&](const Entry& e, std::int64_t index) {
      if (reached(e)) call(e, index);
      live_ -= released_after(index);
    });
    return std::move(plan_);
  }

 private:
  std::int64_t size(std::uint32_t slot) const { return bytes_of(*tape_.slots[slot].meta); }

  void arrive(std::uint32_t slot) {
    if (cells_[slot]) return;
    cells_[slot] = true;
    live_ += size(slot);
  }

  bool reached(const Entry& e) const {
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (const std::uint32_t s = e.output(k); cells_[s] && !stopped_[s] && fed_[s]) return true;
    return false;
  }

  void call(const Entry& e, std::int64_t index) {
    std::int64_t made = 0, missing = 0;
    bool any = false;
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (!cells_[e.output(k)] && !e.rule->accepts_none) missing += size(e.output(k));
    for (std::uint32_t i = 0; i < e.inputs; ++i)
      if (e.input(i) != no_slot && fed_[e.input(i)]) {
        made += size(e.input(i));
        any = true;
      }
    if (any) {
      const std::int64_t now = live_ + missing + made;
      plan_.peak_bytes = std::max(plan_.peak_bytes, now);
      plan_.entries.push_back({e.rule->name, index, made, released_after(index), now});
      for (std::uint32_t i = 0; i < e.inputs; ++i)
        if (e.input(i) != no_slot && fed_[e.input(i)]) arrive(e.input(i));
    }
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (const std::uint32_t s = e.output(k); cells_[s] && !requested_[s]) {
        cells_[s] = false;
        live_ -= size(s);
      }
  }

  // Blocks that only tapes hold, with the first entry that saves each, which is the last to be replayed.
  void count_saved() {
    for_each_entry(tape_, [&](const Entry& e, std::int64_t index) {
      for (std::uint32_t i = 0; i < e.saved; ++i) {
        const detail::Block* b = e.block(i);
        if (!b || b->flags & (detail::view_flag | detail::borrowed_flag)) continue;
        if (!detail::only_saved(b)) continue;
        if (counted_.insert(b).second) {
          live_ += bytes_of(*b);
          released_[index] += bytes_of(*b);
        }
      }
    });
  }
  std::int64_t released_after(std::int64_t index) const {
    if (tape_.options.persistent) return 0;
    const auto found = released_.find(index);
    return found == released_.end() ? 0 : found->second;
  }

  const Tape& tape_;
  std::vector<bool> fed_, stopped_, requested_, cells_;
  std::set<const detail::Block*> counted_;
  std::map<std::int64_t, std::int64_t> released_;  // released bytes by entry
  std::int64_t live_ = 0;
  ReplayPlan plan_;
};

}  // namespace

}  // namespace autodiff

using autodiff::for_each_entry;

TapeStats GradientTape::stats() const {
  TapeStats s;
  s.entries = tape::state(tape_).entries.count();
  s.entry_bytes = tape::state(tape_).entries.bytes() +
                  static_cast<std::int64_t>(tape::state(tape_).slots.size() * sizeof(tape::Slot));
  std::map<std::string_view, OpStats> ops;
  for_each_entry(tape::state(tape_), [&](const tape::Entry& e, std::int64_t) {
    OpStats& op = ops[e.rule->name];
    ++op.entries;
    op.saved_bytes += autodiff::saved_bytes(e);
    for (std::uint32_t i = 0; i < e.saved; ++i) s.saved_tensors += e.block(i) != nullptr;
  });
  for (auto& [name, op] : ops) {
    s.saved_bytes += op.saved_bytes;
    op.name = name;
    s.by_op.push_back(std::move(op));
  }
  std::stable_sort(s.by_op.begin(), s.by_op.end(),
                   [](const OpStats& a, const OpStats& b) { return a.saved_bytes > b.saved_bytes; });
  return s;
}

std::string GradientTape::dot_of(const detail::List<Target>* targets) const {
  return autodiff::dot(tape::state(tape_), targets);
}

ReplayPlan GradientTape::plan_all(std::span<const Target> targets, std::span<const Source> sources,
                                  const GradientOptions& options) const {
  autodiff::check("GradientTape.plan", tape::state(tape_), targets, sources, options);
  return autodiff::Plan(tape::state(tape_), targets, sources, options).run();
}

std::ostream& operator<<(std::ostream& out, const TapeStats& stats) {
  out << stats.entries << " entries of " << stats.entry_bytes << " bytes, " << stats.saved_tensors
      << " saved tensors of " << stats.saved_bytes << " bytes";
  for (const OpStats& op : stats.by_op)
    out << '\n' << op.name << ": " << op.entries << " entries, " << op.saved_bytes << " bytes saved";
  return out;
}

std::ostream& operator<<(std::ostream& out, const ReplayPlan& plan) { return out << to_string(plan); }
std::string to_string(const ReplayPlan& plan) {
  std::string text;
  for (const PlannedEntry& e : plan.entries)
    text += fmt::format("{} (op {} on the tape): {} bytes of gradients, {} live, {} released after it\n", e.name,
                        e.index, e.gradient_bytes, e.live_bytes, e.released_bytes);
  return text + fmt::format("peak: {} bytes", plan.peak_bytes);
}

}  // namespace reel
