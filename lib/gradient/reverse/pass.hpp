// The reverse pass: two walks over the entries, without recursion.
// 1. Forwards: marks the slots that are varied, that is, depend on a source.
// 2. Backwards: calls the rule of each entry whose outputs have cotangents, and adds the results to the cotangents of
// the entry's inputs.
// cotangents[slot] is the sum of the terms that have arrived for a slot so far; it starts with the targets' seeds.
// Recording order is a topological order, so a slot's cotangent is complete when its entry is reached. Terms arrive in
// the reverse order of recording.
// A batched pass carries the cotangents of many rows of a Jacobian at once, as a leading axis of every cotangent. A
// rule that does not support this is called once per row, and its results are stacked.
#pragma once
#include <algorithm>
#include <cassert>
#include <memory>
#include <reel/callback.hpp>
#include <unordered_map>

#include "gradient/gradient.hpp"
#include "gradient/reverse/sums.hpp"

namespace reel::autodiff {

/// Where a rule puts the cotangents of an entry's inputs. Reading takes them out, so that every rule finds empty
/// handles: an input that a rule leaves out cannot inherit the result of the rule before it.
class RuleResults {
 public:
  std::size_t size() const noexcept { return list_.size(); }
  void grow(std::size_t size) {
    if (list_.size() < size) list_.resize(size);
  }
  /// The storage that a rule writes to; call grow() first.
  std::span<Gradient> blank(std::size_t count) noexcept {
    assert(std::all_of(list_.begin(), list_.end(), GradientAccess::blank));
    return {list_.data(), count};
  }
  Gradient take(std::size_t i) noexcept { return std::move(list_[i]); }

 private:
  Gradients list_;
};

enum Flag : std::uint8_t { varied = 1, stopped = 2, requested = 4 };

/// The default hooks of a tape.
const VSpace& default_space() noexcept;

/// The two walks and their shared state.
class Pass {
 public:
  Pass(tape::Tape& t, const VSpace* space, AggregationMethod method);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

#ifndef NDEBUG
  /// Whether no cotangent is left over from an earlier run.
  bool blank() const;
#endif

  /// Requested cotangents may be tensors where slices are expected.
  void densify_results() { densifies_results_ = true; }
  bool densifies_results() const { return densifies_results_; }

  bool is_varied(std::uint32_t slot) const { return flags_[slot] & varied; }
  void flag(std::uint32_t slot, Flag f) { flags_[slot] = static_cast<std::uint8_t>(flags_[slot] | f); }
  Gradient& cotangent(std::uint32_t slot) { return cotangents_[slot]; }
  // The rule that returned none on the path to the slot; null if no rule did.
  const Reason* blocked_by(std::uint32_t slot) const {
    const auto found = blocked_.find(slot);
    return found == blocked_.end() ? nullptr : &found->second;
  }

  void add(Gradient& cotangent, Gradient&& g) { sums_.add(cotangent, std::move(g)); }
  void finalize(Gradient& cotangent) { sums_.finalize(cotangent); }
  // The same for the cotangent of a slot.
  void add_to(std::uint32_t slot, Gradient&& g) {
    if (lines_) [[unlikely]]
      lines_->arrived(slot);
    add(cotangents_[slot], std::move(g));
  }
  void finalize_slot(std::uint32_t slot, bool dense = false) {
    sums_.finalize(cotangents_[slot], dense);
    if (lines_ && cotangents_[slot]) [[unlikely]]
      lines_->complete(slot, tape_.slots[slot].meta->shape(), method_);
  }

  // The first walk.
  void forwards();
  // The first walk if the sources are all that the tape watches and nothing is stopped: every followed slot is varied.
  void mark_all_varied();

  // The size of the largest tensor between the sources and the target: it determines the number of rows per pass.
  struct Largest {
    std::int64_t elements = 1;
    int rank = 0;
  };
  Largest largest(std::uint32_t target) const;

  // The second walk. With a batch, each cotangent has that many rows along a leading axis.
  void sweep_back(bool use_up, std::int64_t batch, tape::IdentityRows identity_rows);

  // The same without a batch: final(slot) is called when the cotangent of a requested slot is complete. Slots that no
  // entry reads are left out.
  void sweep_back(bool use_up, const Callback<void(std::uint32_t)>& final);

 private:
  struct SumOwner;
  bool has_cotangent(const tape::Entry& e) const;

  // For an entry without a cotangent: if a rule returned none, its inputs have none for the same reason.
  void propagate_reason(const tape::Entry& e);

  // Hands the cotangents of an entry's outputs to its rule, and the results to its inputs. Simple: one output, a
  // built-in rule, nothing observing: the common case, without branches.
  template <bool Simple>
  void call(const tape::Entry& e);
  void call_any(const tape::Entry& e);

  void make_room(const tape::Entry& e);
  bool call_slices_rule(const tape::Record& record, const tape::Entry& e);
  Tensor densify(const tape::Record& record, const tape::Entry& e, std::uint32_t k);
  Tensor take_cotangent(const tape::Record& record, const tape::Entry& e, std::uint32_t k);
  void release_cotangent(std::uint32_t slot);
  void note_none(const tape::Record& record, const tape::Entry& e, std::uint32_t i, const Gradient& none);

  // Calls the rule, or its override.
  void call_rule(const tape::Record& record, const tape::Entry& e, const Override* replaced, std::span<const Tensor> g,
                 std::span<Gradient> dx);

  // Calls it once for each row of a batch.
  void call_rule_for_each(const tape::Record& record, const tape::Entry& e, const Override* replaced,
                          std::span<const Tensor> g, std::span<Gradient> dx);

  tape::Tape& tape_;
  const VSpace& space_;
  Sums sums_;
  const char* method_;
  bool densifies_results_ = false;
  detail::List<std::uint8_t> flags_;
  tape::DeferredRelease released_;
  Gradients cotangents_;
  tape::Arena::Cursor end_;
  std::int64_t batch_ = 0;
  tape::IdentityRows identity_rows_;
  // For the current entry; they only grow.
  detail::List<char> wanted_;
  RuleResults dx_;
  std::int64_t index_ = 0;  // of the current entry on the tape
  std::unordered_map<std::uint32_t, Reason> blocked_;
  std::unique_ptr<tape::ReplayLines> lines_;  // set while tracing
};

}  // namespace reel::autodiff
