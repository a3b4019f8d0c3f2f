// CompileOptions::check: whether a function still computes what it did when it was traced.
#pragma once
#include <map>
#include <reel/compile.hpp>
#include <string>

#include "ops/apply/effect.hpp"
#include "program/program.hpp"

namespace reel::detail {

/// While it lives, variables that are assigned and generators that are drawn from are copies.
class Beside final : public ops::EffectHandler {
 public:
  Beside() : EffectHandler(ops::reads_variables | ops::writes_variables | ops::advances_generator) {}
  void perform(const ops::Effect& effect) override;
  struct Assigned {
    Variable variable;
    Tensor value;
    bool written = false;
  };
  /// What was read and assigned, in the order of the variables' construction.
  const std::map<std::uint64_t, Assigned>& values() const noexcept { return values_; }

 private:
  Tensor& value_of(const Variable& v);
  std::map<std::uint64_t, Assigned> values_;  // by id
  std::map<const Generator*, std::uint64_t> positions_;
};

/// What f computes at arguments laid out like these, as it is traced, without passes.
program::Program traced_program(const char* owner, const FlatFunction& f, std::span<const Tensor> arguments);

/// The first operation that differs, in words; empty if none does.
std::string first_difference(const program::Program& before, const program::Program& now);

bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace reel::detail
