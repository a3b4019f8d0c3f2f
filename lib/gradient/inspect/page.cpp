// The page of a tape: its nodes as JSON, in recording order, between the two parts of the page's text.
//   {"entries": 2, "nodes": [
//   {"name": "w", "results": ["float64 [3]"]},
//   {"name": "exp", "inputs": [0], "op": 0, "bytes": 24, "line": "model.cpp:7", "forward": 810, "backward": 1220,
//    "results": ["float64 [3]"]},
//   {"name": "target 0", "inputs": [1]}]}
// A node is a source, which has neither "op" nor "inputs", an op, or a target. Inputs are numbers of nodes, -1 for a
// tensor that the tape does not follow. Times are in nanoseconds.
#include <reel/tape_page.hpp>

#include "core/fail.hpp"
#include "gradient/inspect/page_text.hpp"
#include "gradient/inspect/views.hpp"
#include "tape/observe/timeline.hpp"

namespace reel {

namespace autodiff {

namespace {

using tape::Entry, tape::in_quotes, tape::no_slot, tape::Tape;

class PageData {
 public:
  PageData(const Tape& t, const detail::List<Target>* targets)
      : tape_(t),
        shown_(behind("tape_page", t, targets)),
        names_(tape::slot_names(t)),
        times_(tape::traced_times()),
        maker_(t.slots.size(), -1) {
    for_each_entry(t, [&](const Entry& e, std::int64_t index) {
      if (makes_any(e, shown_)) add_op(e, index);
    });
    for (std::uint32_t s = 0; s < t.slots.size(); ++s)  // sources that no op reads
      if (t.slots[s].source && shown_[s]) node_of(s);
    for (std::size_t i = 0; targets && i < targets->size(); ++i)
      if (const std::uint32_t s = slot_of(t, (*targets)[i]); s != no_slot) {
        const std::int64_t made = node_of(s);
        begin(fmt::format("target {}", i));
        text_ += fmt::format(", \"inputs\": [{}]}}", made);
      }
  }

  std::string text() && { return fmt::format("{{\"entries\": {}, \"nodes\": [{}]}}", tape_.entries.count(), text_); }

 private:
  void begin(std::string_view name) {
    text_ += fmt::format("{}\n{{\"name\": {}", count_++ ? "," : "", in_quotes(name));
  }
  void number(const char* key, std::int64_t value) { text_ += fmt::format(", \"{}\": {}", key, value); }
  void results(const std::uint32_t* slots, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      const tape::Meta& m = *tape_.slots[slots[k]].meta;
      text_ += fmt::format("{}\"{} {}\"", k ? ", " : ", \"results\": [", name(m.dtype), to_string(m.shape()));
    }
    text_ += "]}";
  }

  // The node that made the tensor of the slot; a source is added where it is first asked for.
  std::int64_t node_of(std::uint32_t slot) {
    if (maker_[slot] < 0) {
      maker_[slot] = count_;
      begin(names_[slot]);
      results(&slot, 1);
    }
    return maker_[slot];
  }

  void add_op(const Entry& e, std::int64_t index) {
    std::string inputs;
    for (std::uint32_t i = 0; i < e.inputs; ++i)
      inputs += fmt::format("{}{}", i ? ", " : "", e.input(i) == no_slot ? -1 : node_of(e.input(i)));
    for (std::uint32_t k = 0; k < e.outputs; ++k) maker_[e.output(k)] = count_;
    begin(e.rule->name);
    text_ += fmt::format(", \"inputs\": [{}]", inputs);
    number("op", index);
    number("bytes", saved_bytes(e));
    if (const tape::Site site = tape_.site_of(e); site.file)
      text_ += fmt::format(", \"line\": {}", in_quotes(to_string(site)));
    if (const auto timed = times_.find(tape_.slots[e.output(0)].id); timed != times_.end()) {
      if (timed->second.forward) number("forward", timed->second.forward);
      if (timed->second.backward) number("backward", timed->second.backward);
    }
    results(e.slots() + e.inputs, e.outputs);
  }

  const Tape& tape_;
  const std::vector<bool> shown_;
  const std::vector<std::string> names_;
  const std::unordered_map<std::uint64_t, tape::Times> times_;
  std::vector<std::int64_t> maker_;  // the node of each slot
  std::int64_t count_ = 0;
  std::string text_;
};

}  // namespace

}  // namespace autodiff

std::string detail::tape_page(const GradientTape& tape, const List<Target>* targets) {
  const tape::Tape& t = GradientTapeAccess::get(tape);
  check_thread(t, "tape_page");
  if (t.used)
    fail<TapeError>("tape_page",
                    "the tape was used up and holds no entries; write the page before the gradient, or make the tape "
                    "persistent (TapeOptions.persistent)");
  std::string page(autodiff::page_text);
  return page.replace(page.find(autodiff::page_data), autodiff::page_data.size(),
                      autodiff::PageData(t, targets).text());
}

}  // namespace reel
