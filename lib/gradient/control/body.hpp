// Bodies of loops, branches and checkpoints in functions that are traced.
#pragma once
#include <algorithm>
#include <memory>
#include <reel/ops/shape.hpp>

#include "gradient/control/composite.hpp"
#include "gradient/control/deferred.hpp"
#include "gradient/control/effects.hpp"
#include "gradient/programs/traced.hpp"
#include "ops/apply/operation.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

inline void add_all(Tensors& to, TensorSpan more) { to.insert(to.end(), more.begin(), more.end()); }

inline bool same_shapes(TensorSpan a, TensorSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape() && x.dtype() == y.dtype(); });
}

/// A part of a call's inputs: those with these numbers.
template <class List = Tensors>
List chosen(TensorSpan inputs, std::span<const std::size_t> numbers) {
  List some;
  for (const std::size_t i : numbers) some.push_back(inputs[i]);
  return some;
}

inline std::vector<Source> from(std::span<const Source> list, std::size_t number) {
  return {list.begin() + std::ptrdiff_t(number), list.end()};
}

inline std::vector<bool> followed_of(TensorSpan list) {
  std::vector<bool> followed;
  for (const Tensor& x : list) followed.push_back(tape::active() && tape::followed(x));
  return followed;
}

/// A function traced inside an enclosing trace, as a part of a deferred call.
class Body {
 public:
  Body(const char* name, detail::FlatFunction f, TensorSpan examples)
      : traced_(std::make_shared<Traced>(name, std::move(f), examples, std::span<const Source>(),
                                         program::Trace::current())) {}
  Traced& traced() const { return *traced_; }
  BodyEffects effects() const { return BodyEffects(*traced_); }
  Tensors results() const { return traced_->results(); }
  bool may_throw() const {
    const auto& list = traced_->program().instructions;
    return std::any_of(list.begin(), list.end(), [](const program::Instruction& i) { return i.may_throw(); });
  }
  /// Adds what it reads to that of the call.
  void add_to(Reads& reads) { reads_ = reads.add(traced_->reads()); }
  /// Among the reads of the call, the numbers of its own.
  std::span<const std::size_t> reads() const noexcept { return reads_; }
  /// Adds captured tensors that a tape of the trace follows to `captured`.
  void reveal(Tensors& captured) const {
    for (const Tensor& x : traced_->captured()) {
      program::Trace::current()->note(x);
      if (tape::active() && tape::followed(x) &&
          std::none_of(captured.begin(), captured.end(), [&](const Tensor& c) { return c.id() == x.id(); }))
        captured.push_back(x);
    }
  }
  /// `read`: the values of the call's reads.
  Tensors operator()(TensorSpan arguments, TensorSpan read) const {
    const detail::List<Tensor> list = traced_->call(contiguous_all(arguments), chosen(read, reads_));
    return {list.begin(), list.end()};
  }
  /// [result * inputs() + argument]: whether a derivative leads from the argument to the result. Arguments are those of
  /// the body, then its reads.
  const std::vector<bool>& connected() const { return traced_->connected(); }
  std::size_t inputs() const { return traced_->program().arguments.size(); }
  /// The number of a read of the call among its own; none if it does not read it.
  std::size_t own_read(std::size_t number) const {
    const auto at = std::find(reads_.begin(), reads_.end(), number);
    return at == reads_.end() ? none : static_cast<std::size_t>(at - reads_.begin());
  }
  static constexpr std::size_t none = ~std::size_t{0};

 private:
  std::shared_ptr<Traced> traced_;
  std::vector<std::size_t> reads_;
};

inline void add_part(Deferred& d, const char* name, const Body& body) {
  if (const auto& program = body.traced().without_passes()) d.parts.push_back({name, program});
}

inline std::vector<Deferred::Like> kinds_of(TensorSpan list) {
  std::vector<Deferred::Like> kinds;
  for (const Tensor& x : list) kinds.push_back({x.dtype(), x.shape()});
  return kinds;
}

}  // namespace reel::autodiff
