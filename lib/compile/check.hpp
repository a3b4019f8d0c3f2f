// CompileOptions::check: whether a function still computes what it did when it was traced.
#pragma once
#include <map>
#include <reel/compile.hpp>
#include <string>

#include "ops/apply/effect.hpp"
#include "program/program.hpp"

namespace reel::detail {

/// While it lives, assigns and draws of this thread go to copies of the variables and generators, and compiled
/// functions are called as they are, as in a trace.
class Beside final : public ops::EffectHandler {
 public:
  Beside() : EffectHandler(ops::reads_variables | ops::writes_variables | ops::advances_generator | mark) {}
  /// Whether one lives on this thread.
  static bool any() noexcept { return ops::handled(mark); }
  void perform(const ops::Effect& effect) override;
  struct Assigned {
    Variable variable;
    Tensor value;
    bool written = false;
  };
  /// The values read and assigned, in the order in which the variables were constructed.
  const std::map<std::uint64_t, Assigned>& values() const noexcept { return values_; }

 private:
  static constexpr unsigned mark = 1u << 31;  // no kind of effects
  Tensor& value_of(const Variable& v);
  std::map<std::uint64_t, Assigned> values_;  // by id
  std::map<const Generator*, std::uint64_t> positions_;
};

/// The program of f for arguments of these dtypes, shapes and strides, before any pass.
program::Program traced_program(const char* owner, const FlatFunction& f, std::span<const Tensor> arguments);

/// Describes the first operation that differs; empty if none does.
std::string first_difference(const program::Program& before, const program::Program& now);

}  // namespace reel::detail
