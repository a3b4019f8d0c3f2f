// The reverse pass. In two walks over the entries, without recursion: forwards, to find what the sources feed;
// backwards, to call the rules of what a gradient reaches.
//
//   cells[slot] holds the gradient that has arrived for a slot so far. Targets seed their cells. Backwards, an entry
//   whose outputs have gradients hands them to its rule, and the rule's results are added to the cells of its inputs.
//   Since recording order is a topological order, a cell is complete when its entry is met. The terms of a cell arrive
//   in the reverse order of recording; Sums adds them.
//
// A batched sweep carries the cotangents of many rows of a Jacobian at once, as a leading axis of every cell. A rule
// that does not take such cotangents is called once for each, and its results are stacked: for that entry alone.
#pragma once
#include <algorithm>
#include <cassert>
#include <memory>
#include <unordered_map>

#include "gradient/gradient.hpp"
#include "gradient/reverse/sums.hpp"

namespace reel::autodiff {

/// Where a rule puts the cotangents of an entry's inputs. They are read by taking them, so that every rule finds blank
/// storage: an input that a rule leaves out cannot inherit what the rule before it gave.
class RuleResults {
 public:
  std::size_t size() const noexcept { return list_.size(); }
  void grow(std::size_t size) {
    if (list_.size() < size) list_.resize(size);
  }
  /// For a rule to write to; grow first.
  std::span<Gradient> blank(std::size_t count) noexcept {
    assert(std::all_of(list_.begin(), list_.end(), GradientAccess::blank));
    return {list_.data(), count};
  }
  Gradient take(std::size_t i) noexcept { return std::move(list_[i]); }

 private:
  Gradients list_;
};

enum Flag : std::uint8_t { fed = 1, stopped = 2, requested = 4 };

/// The hooks of a tape that was given none.
const VSpace& default_space() noexcept;

/// The two walks, and what lives between them.
class Pass {
 public:
  Pass(tape::Tape& t, const VSpace* space, AggregationMethod method);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  /// Whether no cotangent is left from a run before.
  bool blank() const;

  bool is_fed(std::uint32_t slot) const { return flags_[slot] & fed; }
  void flag(std::uint32_t slot, Flag f) { flags_[slot] = static_cast<std::uint8_t>(flags_[slot] | f); }
  Gradient& cell(std::uint32_t slot) { return cells_[slot]; }
  // Why no gradient came through to the slot; null when no rule kept one back.
  const Reason* kept_back(std::uint32_t slot) const {
    const auto found = cuts_.find(slot);
    return found == cuts_.end() ? nullptr : &found->second;
  }

  void add(Gradient& cell, Gradient&& g) { sums_.add(cell, std::move(g)); }
  void finish(Gradient& cell) { sums_.finish(cell); }
  // The same for the cell of a slot.
  void add_to(std::uint32_t slot, Gradient&& g) {
    if (lines_) [[unlikely]]
      lines_->arrived(slot);
    add(cells_[slot], std::move(g));
  }
  void finish_slot(std::uint32_t slot) {
    finish(cells_[slot]);
    if (lines_ && cells_[slot]) [[unlikely]]
      lines_->complete(slot, tape_.slots[slot].meta->shape(), method_);
  }

  // Flags what the sources feed.
  void forwards();
  // The same where they are all that the tape watches, and nothing is stopped: whatever it follows.
  void feed_all();

  // The largest of what lies between the sources and the target: it decides how many cotangents are carried at once.
  struct Widest {
    std::int64_t elements = 1;
    int rank = 0;
  };
  Widest widest(std::uint32_t target) const;

  // Calls the rules. With a batch, cells hold that many cotangents.
  void backwards(bool use_up, std::int64_t batch, tape::Units units);

 private:
  struct Owner;
  bool reached(const tape::Entry& e) const;

  // No gradient reaches the entry: if a rule kept it back, its inputs get none for the same reason.
  void pass_on_reason(const tape::Entry& e);

  // Hands the gradients of an entry's outputs to its rule, and what the rule gives to its inputs. Plain: knows more.
  template <bool Plain>
  void call(const tape::Entry& e);
  void call_any(const tape::Entry& e);

  void make_room(const tape::Entry& e);
  bool pull_slices(const tape::Record& record, const tape::Entry& e);
  Tensor densified(const tape::Record& record, const tape::Entry& e, std::uint32_t k);
  void note_none(const tape::Record& record, const tape::Entry& e, std::uint32_t i, const Gradient& none);

  // The rule, or what replaces it.
  void pull(const tape::Record& record, const tape::Entry& e, const Override* replaced, std::span<const Tensor> g,
            std::span<Gradient> dx);

  // The same for each cotangent of a batch.
  void pull_each(const tape::Record& record, const tape::Entry& e, const Override* replaced, std::span<const Tensor> g,
                 std::span<Gradient> dx);

  tape::Tape& tape_;
  const VSpace& space_;
  Sums sums_;
  const char* method_;
  detail::List<std::uint8_t> flags_;
  tape::Returns returns_;
  Gradients cells_;
  tape::Arena::Place end_;
  std::int64_t batch_ = 0;
  tape::Units units_;
  // Of the entry at hand; no shorter than those before it needed.
  detail::List<char> wanted_;
  RuleResults dx_;
  std::int64_t index_ = 0;  // of the entry on the tape
  std::unordered_map<std::uint32_t, Reason> cuts_;
  std::unique_ptr<tape::ReplayLines> lines_;  // while tracing
};

}  // namespace reel::autodiff
