// Bodies of loops, branches and checkpoints in functions that are traced, and the deferred calls that run them.
#pragma once
#include "gradient/control/deferred_call.hpp"
#include "gradient/control/effects.hpp"
#include "gradient/programs/derivative.hpp"
#include "gradient/programs/traced_function.hpp"

namespace reel::autodiff {

/// Whether dtypes and shapes are equal.
bool same_kinds(TensorSpan a, TensorSpan b);
/// For each tensor, whether an active tape follows it.
std::vector<bool> followed_of(TensorSpan list);
/// A part of a call's inputs: those with these numbers.
Tensors select_tensors(TensorSpan inputs, std::span<const std::size_t> numbers);

/// A function traced inside an enclosing trace, as a part of a deferred call.
class Body {
 public:
  Body(const char* name, detail::FlatFunction f, TensorSpan examples)
      : traced_(std::make_shared<Traced>(name, std::move(f), examples, std::span<const Source>(),
                                         program::Trace::current())) {}
  Traced& traced() const { return *traced_; }
  Tensors results() const { return traced_->results(); }
  bool may_throw() const;
  /// Makes part of what it reads what only the rules of its custom gradients read, where tapes of the trace may ask for
  /// derivatives. `followed`: of its arguments.
  void read_for_rules(std::vector<bool> followed);
  /// Adds what it reads to that of the call.
  void add_to(Reads& reads) { reads_ = reads.add(traced_->reads()); }
  /// Among the reads of the call, the numbers of its own.
  std::span<const std::size_t> reads() const noexcept { return reads_; }
  /// Adds captured tensors that a tape of the trace follows to `captured`.
  void reveal(Tensors& captured) const;
  /// `read`: the values of the call's reads.
  Tensors operator()(TensorSpan arguments, TensorSpan read) const;
  /// Its gradient, if a tape may ask for one: of all results, by all sources. TraceError if it reads what neither the
  /// function nor its gradient functions read before.
  void set_pullback(std::shared_ptr<const Pullback> p);
  const Pullback* pullback() const noexcept { return pullback_.get(); }
  /// The captured tensors that a tape followed then.
  TensorSpan captured() const noexcept { return captured_; }
  /// The number of its arguments and reads.
  std::size_t inputs() const { return traced_->program().arguments.size(); }
  std::size_t arguments() const { return inputs() - reads_.size(); }
  /// Whether a derivative leads from this argument or read to the result.
  bool leads(std::size_t result, std::size_t input) const { return traced_->connected()(result, input); }

 private:
  std::shared_ptr<Traced> traced_;
  std::vector<std::size_t> reads_;
  std::shared_ptr<const Pullback> pullback_;
  Tensors captured_;
};

inline BodyEffects effects_of(std::span<const Body> bodies) {
  BodyEffects all;
  for (const Body& body : bodies) all.add(body.traced());
  return all;
}

/// A deferred call that runs bodies. Its inputs: `own` ones, the first of which are the arguments of the bodies; what
/// bodies read; captured tensors.
class BodyCall : public Deferred {
 public:
  /// The values of what bodies read, in the current trace.
  Tensors read_values() const { return reads_.values(true); }
  /// Applies the call to its own inputs.
  Tensors operator()(TensorSpan own) const { return call_deferred(*this, joined({own, read_values()})); }

 protected:
  /// Outputs are results of each of the first `giving` bodies. `names`: of the bodies.
  BodyCall(const char* called, std::vector<Body> bodies, const char* const* names, std::size_t giving, std::size_t own);
  /// Sets what is known when all derivatives have been traced.
  void set_connections();
  TensorSpan read(TensorSpan x) const { return x.subspan(own_, reads_.size()); }
  /// For each argument and read of the body, whether a tape follows it.
  std::vector<bool> followed_sources(const Body& body, const std::vector<bool>& arguments) const;
  /// The number of an input among the sources of the body: its arguments, its reads, captured tensors; none if it is
  /// no source.
  std::size_t source_of(const Body& body, std::size_t input) const;
  static constexpr std::size_t none = ~std::size_t{0};

  std::vector<Body> bodies_;
  std::size_t giving_, own_;
  Reads reads_;
  std::size_t early_reads_;  // of bodies; the others are read by derivatives
};

}  // namespace reel::autodiff
