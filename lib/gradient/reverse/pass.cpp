// The two walks of a reverse pass.
#include "gradient/reverse/pass.hpp"

#include <algorithm>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "ops/apply/operation.hpp"

namespace reel::autodiff {

using tape::Arena, tape::Entry, tape::no_slot, tape::Rule, tape::Tape;

namespace {

const char* name_of(AggregationMethod method) noexcept {
  return method == AggregationMethod::tree           ? "tree"
         : method == AggregationMethod::accumulate_n ? "accumulate_n"
                                                     : "add_n";
}

// Stacks the rows of a Jacobian: zeros for rows that are none; none if all are.
Gradient stack_rows(const Gradients& rows, const Shape& shape, DType dtype) {
  if (std::none_of(rows.begin(), rows.end(), [](const Gradient& row) { return bool(row); })) return rows.front();
  detail::List<Tensor> parts;
  for (const Gradient& row : rows) parts.push_back(row ? row.dense() : zeros(shape, dtype));
  return stack(parts);
}

// Checks the gradients of a rule against the inputs: a user's rule always, the library's in debug builds.
[[gnu::noinline]] void verify(const tape::Record& r, std::span<const Gradient> dx) {
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const Gradient& d = dx[i];
    if (!r.wanted(i) || !d) continue;
    detail::require_known(r.name(), GradientAccess::value(d));
    const DType dtype = d.is_slices() ? d.slices().values.dtype() : d.dense().dtype();
    if (dtype != r.dtype(i))
      fail<ValueError>(r.name(), "Gradient type {} generated for op {} does not match input type {}", dtype, r.name(),
                       r.dtype(i));
    const Shape shape = d.is_slices() ? d.slices().dense_shape : d.dense().shape();
    if (shape != r.batched(r.shape(i)))
      fail<ShapeError>(
          r.name(),
          "Incompatible shapes between op input and calculated input gradient.  Forward operation: {}.  Input "
          "index: {}. Original input shape: {}.  Calculated input gradient shape: {}",
          r.name(), i, r.batched(r.shape(i)), shape);
  }
}

// Never destroyed: a static object may replay in its destructor.
union Undestroyed {
  constexpr Undestroyed() noexcept : space() {}
  ~Undestroyed() {}
  VSpace space;
};
constinit const Undestroyed default_hooks;
}  // namespace
const VSpace& default_space() noexcept { return default_hooks.space; }

Pass::Pass(Tape& t, const VSpace* space, AggregationMethod method)
    : tape_(t), space_(space ? *space : default_space()), sums_(space, space_, method), method_(name_of(method)) {
  flags_.resize(t.slots.size());
  cotangents_.resize(t.slots.size());
  end_ = t.entries.end();
  if (tape::watching() & tape::watch_lines) [[unlikely]]
    lines_ = std::make_unique<tape::ReplayLines>(t);
}

#ifndef NDEBUG
bool Pass::blank() const {
  return std::all_of(cotangents_.begin(), cotangents_.end(), GradientAccess::blank) && sums_.idle();
}
#endif

void Pass::forwards() {
  std::uint8_t* flags = flags_.data();
  tape_.entries.for_each([flags](const Entry& e) {
    unsigned any = 0;
    for (std::uint32_t i = 0; i < e.inputs; ++i)
      if (e.input(i) != no_slot) any |= flags[e.input(i)];
    if (!(any & varied)) return;
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (std::uint8_t& f = flags[e.output(k)]; !(f & stopped)) f |= varied;
  });
}

void Pass::mark_all_varied() {
  for (std::uint8_t& f : flags_) f |= varied;
}

Pass::Largest Pass::largest(std::uint32_t target) const {
  Largest w;
  std::vector<char> reached(flags_.size());
  const auto reach = [&](std::uint32_t slot) {
    if (reached[slot] || !(flags_[slot] & varied)) return;
    reached[slot] = 1;
    const Shape shape = tape_.slots[slot].meta->shape();
    w = {std::max(w.elements, shape.elements()), std::max(w.rank, shape.rank())};
  };
  if (target != no_slot) reach(target);
  for (Arena::Cursor at = end_; const Entry* e = tape_.entries.step_back(at);) {
    bool any = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k) any |= reached[e->output(k)] != 0;
    if (!any) continue;
    w.elements = std::max(w.elements, e->rule->inner_elements);
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (e->input(i) != no_slot) reach(e->input(i));
  }
  return w;
}

bool Pass::has_cotangent(const Entry& e) const {
  for (std::uint32_t k = 0; k < e.outputs; ++k) {
    const std::uint32_t s = e.output(k);
    if (cotangents_[s] && !(flags_[s] & stopped) && flags_[s] & varied) return true;
  }
  return false;
}

void Pass::propagate_reason(const Entry& e) {
  const Reason* reason = nullptr;
  for (std::uint32_t k = 0; k < e.outputs && !reason; ++k) reason = blocked_by(e.output(k));
  if (!reason) return;
  const Reason copy = *reason;
  for (std::uint32_t i = 0; i < e.inputs; ++i)
    if (e.input(i) != no_slot && flags_[e.input(i)] & varied) blocked_.emplace(e.input(i), copy);
}

// Calls the rule, or its override.
[[gnu::always_inline]] inline void Pass::call_rule(const tape::Record& record, const Entry& e, const Override* replaced,
                                                   std::span<const Tensor> g, std::span<Gradient> dx) {
  {
    const tape::RuleScope scope(tape_, e);
    if (replaced) [[unlikely]]
      call_override(*replaced, record, e, g, dx);
    else
      e.rule->vjp(record, g, dx);
    if (tape::watching()) [[unlikely]]
      observe_vjp(record, g, dx);
  }
  if (lines_) [[unlikely]]
    lines_->rule_ran(record, e, g, dx);
  if (e.rule->user || replaced) [[unlikely]]
    verify(record, dx);
}

[[gnu::noinline]] void Pass::make_room(const Entry& e) {
  constexpr std::uint32_t usual_inputs = 4;  // of nearly all entries: one allocation for them
  const std::uint32_t inputs = std::max(e.inputs, usual_inputs);
  wanted_.resize(std::max<std::size_t>(wanted_.size(), inputs));
  dx_.grow(inputs);
}

[[gnu::noinline]] bool Pass::call_slices_rule(const tape::Record& record, const Entry& e) {
  if (!cotangents_[e.output(0)].is_slices() || find_override(e.rule->name)) return false;
  Gradient d = e.rule->slices(record, cotangents_[e.output(0)].slices());
  if (!d) return false;
  if (tape::watching()) [[unlikely]]
    observe_vjp(record, {}, {&d, 1});
  add_to(e.input(0), std::move(d));
  return true;
}

// The cotangent that a rule gets for an output with slices or without a cotangent.
[[gnu::noinline]] Tensor Pass::densify(const tape::Record& record, const Entry& e, std::uint32_t k) {
  const std::uint32_t s = e.output(k);
  if (cotangents_[s] && !(flags_[s] & stopped)) return cotangents_[s].dense();
  if (e.rule->accepts_none || !is_differentiable(record.output_dtype(k))) return {};
  return space_.zeros(record.batched(record.output_shape(k)), record.output_dtype(k));
}

// A rule gave none for an input that asked for a gradient.
[[gnu::noinline]] void Pass::note_none(const tape::Record& record, const Entry& e, std::uint32_t i,
                                       const Gradient& none) {
  blocked_.emplace(e.input(i), Reason{none.reason(), e.rule->name, index_, record.site()});
}

// Offers a rule the sums of its inputs' cotangents, to add to in place: tape::SumOffer.
struct Pass::SumOwner {
  Pass& pass;
  const Entry& entry;
  Gradient& cotangent(std::size_t i) const { return pass.cotangents_[entry.input(static_cast<std::uint32_t>(i))]; }
  static bool exists(void* self, std::size_t i) {
    const Gradient& cotangent = static_cast<SumOwner*>(self)->cotangent(i);
    return cotangent && !cotangent.is_slices();
  }
  // Whether an earlier input of the entry is the same tensor: its cotangent is added before.
  bool follows_same(std::size_t i) const {
    const auto slot = [this](std::size_t k) { return entry.input(static_cast<std::uint32_t>(k)); };
    for (std::size_t k = 0; k < i; ++k)
      if (slot(k) == slot(i)) return true;
    return false;
  }
  static Tensor take(void* self, std::size_t i) {
    if (tape::active() || tape::watching() || ops::Tracer::current() || !exists(self, i)) return {};
    if (static_cast<SumOwner*>(self)->follows_same(i)) return {};
    Tensor& sum = GradientAccess::value(static_cast<SumOwner*>(self)->cotangent(i));
    if (!detail::reusable(detail::block(sum))) return {};
    detail::renew(detail::block(sum));
    return std::move(sum);
  }
};

// What a rule gets for an output. The last reader of a cotangent takes it over, so that a rule may write into it.
[[gnu::always_inline]] inline Tensor Pass::take_cotangent(const tape::Record& record, const Entry& e, std::uint32_t k) {
  const std::uint32_t s = e.output(k);
  Gradient& cotangent = cotangents_[s];
  if (!cotangent || cotangent.is_slices() || flags_[s] & stopped) [[unlikely]]
    return densify(record, e, k);
  if (flags_[s] & requested) [[unlikely]]
    return GradientAccess::value(cotangent);
  return std::move(GradientAccess::value(cotangent));
}

// Frees the cotangent of an output whose entry has been replayed.
[[gnu::always_inline]] inline void Pass::release_cotangent(std::uint32_t slot) {
  if (Gradient& cotangent = cotangents_[slot]; !(flags_[slot] & requested) && !GradientAccess::blank(cotangent))
    cotangent = {};
}

template <bool Simple>
[[gnu::always_inline]] inline void Pass::call(const Entry& e) {
  const std::uint32_t inputs = e.inputs, outputs = Simple ? 1 : e.outputs;
  if (inputs > dx_.size()) [[unlikely]]
    make_room(e);
  static_assert(sizeof(bool) == sizeof(char));
  bool* wanted = reinterpret_cast<bool*>(wanted_.data());
  bool any = false;
  for (std::uint32_t i = 0; i < inputs; ++i) any |= wanted[i] = e.input(i) != no_slot && flags_[e.input(i)] & varied;
  tape::Record record(tape_, e, wanted, Simple ? 0 : batch_, identity_rows_);
  for (std::uint32_t k = 0; k < outputs; ++k) {
    const bool dense = (Simple || !e.rule->slices) && (densifies_results_ || !(flags_[e.output(k)] & requested));
    if (Simple)
      sums_.finalize(cotangents_[e.output(k)], dense);
    else
      finalize_slot(e.output(k), dense);
  }
  if (any && (Simple || !(e.rule->slices && call_slices_rule(record, e)))) {
    detail::ShortList<Tensor, Simple ? 1 : 4> g(outputs);
    for (std::uint32_t k = 0; k < outputs; ++k) g[k] = take_cotangent(record, e, k);
    SumOwner owner{*this, e};
    const std::span<Gradient> dx = dx_.blank(inputs);
    if constexpr (Simple) {
      if (sums_.in_place()) record.offer_sums({&SumOwner::take, &owner, &SumOwner::exists});
      e.rule->vjp(record, g, dx);
    } else if (const Override* replaced = find_override(e.rule->name); batch_ && (!e.rule->batched || replaced)) {
      call_rule_for_each({tape_, e, wanted}, e, replaced, g, dx);
    } else {
      if (!replaced && sums_.in_place()) record.offer_sums({&SumOwner::take, &owner, &SumOwner::exists});
      call_rule(record, e, replaced, g, dx);
    }
#ifndef NDEBUG
    verify(record, dx);
#endif
    for (std::uint32_t i = 0; i < inputs; ++i) {
      Gradient d = dx_.take(i);
      if (wanted[i] && d) [[likely]]
        Simple ? add(cotangents_[e.input(i)], std::move(d)) : add_to(e.input(i), std::move(d));
      else if (wanted[i]) [[unlikely]]
        note_none(record, e, i, d);
    }
  }
  for (std::uint32_t k = 0; k < outputs; ++k) release_cotangent(e.output(k));
}
[[gnu::noinline]] void Pass::call_any(const Entry& e) { call<false>(e); }

[[gnu::noinline]] void Pass::call_rule_for_each(const tape::Record& record, const Entry& e, const Override* replaced,
                                                std::span<const Tensor> g, std::span<Gradient> dx) {
  std::vector<Gradients> rows(e.inputs);
  RuleResults row;
  row.grow(e.inputs);
  for (std::int64_t b = 0; b < batch_; ++b) {
    std::vector<Tensor> of_row(e.outputs);
    for (std::size_t k = 0; k < of_row.size(); ++k)
      if (g[k].defined()) of_row[k] = g[k][b];
    call_rule(record, e, replaced, of_row, row.blank(e.inputs));
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (Gradient d = row.take(i); record.wanted(i)) rows[i].push_back(std::move(d));
  }
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (record.wanted(i)) dx[i] = stack_rows(rows[i], record.shape(i), record.dtype(i));
}

void Pass::sweep_back(bool use_up, std::int64_t batch, tape::IdentityRows identity_rows) {
  batch_ = batch;
  identity_rows_ = identity_rows;
  Arena::Cursor at = end_;
  index_ = tape_.entries.count();
  if (use_up) tape_.references.give_back();
  const bool simple = !batch && tape_.borrowed.empty();
  while (Entry* e = tape_.entries.step_back(at)) {
    --index_;
    const Rule& rule = *e->rule;
    if (has_cotangent(*e)) {
      if (simple && e->outputs == 1 && !rule.user && !rule.slices && !overrides() && !tape::watching()) [[likely]]
        call<true>(*e);
      else
        call_any(*e);
    } else if (!blocked_.empty()) [[unlikely]] {
      propagate_reason(*e);
    }
    if (use_up) {
      tape::release(*e, [this](detail::Block* b, std::size_t place) { released_.drop(b, place); });
      tape_.entries.release_after(at);
    }
  }
  released_.flush();
}

// A cotangent is complete behind the first entry that reads its slot.
[[gnu::cold]] void Pass::sweep_back(bool use_up, const Callback<void(std::uint32_t)>& final) {
  detail::List<std::int64_t> first_reader;
  first_reader.resize(flags_.size());
  Arena::Cursor at;
  for (index_ = 0; const Entry* e = tape_.entries.step_forward(at, end_);) {
    ++index_;  // from 1: 0 is a slot that no entry reads
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (e->input(i) != no_slot && !first_reader[e->input(i)]) first_reader[e->input(i)] = index_;
  }
  if (use_up) tape_.references.give_back();
  for (at = end_; Entry* e = tape_.entries.step_back(at);) {
    const std::int64_t number = index_--;
    if (has_cotangent(*e))
      call_any(*e);
    else if (!blocked_.empty())
      propagate_reason(*e);
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (const std::uint32_t slot = e->input(i);
          slot != no_slot && flags_[slot] & requested && first_reader[slot] == number) {
        first_reader[slot] = 0;  // an entry may read it twice
        finalize_slot(slot);
        final(slot);
      }
    if (use_up) {
      tape::release(*e, [this](detail::Block* b, std::size_t place) { released_.drop(b, place); });
      tape_.entries.release_after(at);
    }
  }
  released_.flush();
}

}  // namespace reel::autodiff
