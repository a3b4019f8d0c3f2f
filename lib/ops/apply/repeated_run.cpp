#include "ops/apply/repeated_run.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "tape/variable.hpp"

namespace reel::ops {

FrozenReads::FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values)
    : EffectHandler(reads_variables | writes_variables) {
  values_.reserve(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) values_.emplace_back(variables[i].id(), values[i]);
  std::stable_sort(values_.begin(), values_.end(), [](const auto& a, const auto& b) { return b.first > a.first; });
}

Tensor* FrozenReads::find(const Variable& variable) noexcept {
  const auto at = std::lower_bound(values_.begin(), values_.end(), variable.id(),
                                   [](const auto& entry, std::uint64_t id) { return id > entry.first; });
  return at != values_.end() && at->first == variable.id() ? &at->second : nullptr;
}

void FrozenReads::perform(const Effect& e) {
  for (const Variable& v : e.variables) {
    Tensor* value = find(v);
    if (!value) continue;
    if (e.primitive.effects & writes_variables)
      fail<TapeError>(e.primitive.rule.name,
                      "variable '{}' is assigned by a function that also reads it and is run again for its derivative "
                      "(recompute_grad, while_loop, scan); return the new value instead",
                      v.name());
    VariableAccess::on_read(v, *value);
    e.outputs[0] = *value;
    return;
  }
  pass_on(e);
}

void AssignedBefore::perform(const Effect& e) {
  const auto is_read = [&](const Variable& v) { return reads_.find(v) != nullptr; };
  const bool assigns = e.primitive.effects & writes_variables && e.outputs.empty();
  if (!assigns || std::any_of(e.variables.begin(), e.variables.end(), is_read)) pass_on(e);
}

void DrawsScope::perform(const Effect& e) {
  if (mode_ == Mode::note) {
    if (log_.size() == log_.capacity()) log_.reserve(2 * log_.size() + 1);
    pass_on(e);
    log_.push_back({static_cast<std::uint64_t>(e.attributes[0]), static_cast<std::uint64_t>(e.attributes[1])});
    return;
  }
  if (next_ == log_.size())
    fail<ValueError>("random", "a function that is run again for its derivative draws more random numbers than before");
  draw_at(e, log_[next_].seed, log_[next_].first);
  ++next_;
}

}  // namespace reel::ops
