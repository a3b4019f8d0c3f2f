// Bodies of loops, branches and checkpoints in functions that are traced.
#pragma once
#include <algorithm>
#include <memory>
#include <reel/ops/shape.hpp>

#include "gradient/programs/deferred.hpp"
#include "gradient/programs/effects.hpp"
#include "gradient/programs/traced.hpp"
#include "ops/apply/operation.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;

inline void add_all(Tensors& to, TensorSpan more) { to.insert(to.end(), more.begin(), more.end()); }

inline Tensors contiguous_all(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(contiguous(x));
  return all;
}

/// Abstract tensors of these dtypes and shapes, row-major.
inline Tensors abstract_like(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(ops::abstract(x.dtype(), x.shape()));
  return all;
}

inline bool same_shapes(TensorSpan a, TensorSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape() && x.dtype() == y.dtype(); });
}

/// A function traced inside an enclosing trace. The values of the enclosing trace that it reads become further
/// arguments: they are adopted.
class Body {
 public:
  Body(const char* name, detail::FlatFunction f, TensorSpan examples)
      : traced_(std::make_shared<Traced>(name, std::move(f), examples, TensorSpan(), program::Trace::current())) {}
  Traced& traced() const { return *traced_; }
  BodyEffects effects() const { return BodyEffects(*traced_); }
  Tensors results() const { return traced_->results(); }
  std::size_t adopted() const { return traced_->adopted().size(); }
  bool may_throw() const {
    const auto& list = traced_->program().instructions;
    return std::any_of(list.begin(), list.end(), [](const program::Instruction& i) { return i.may_throw(); });
  }
  /// Appends adopted values to the arguments of the deferred call, and captured tensors that a tape of the trace
  /// follows to `captured`; tells the tapes which variables the body reads. `own`: the arguments that the body has
  /// itself. Returns for each of `own`, then of the adopted values, whether a tape follows it.
  std::vector<bool> reveal(TensorSpan own, Tensors& arguments, Tensors& captured) const {
    const std::size_t first = arguments.size();
    std::vector<bool> followed = followed_of(own);
    add_all(arguments, traced_->adopted());
    program::Trace& trace = *program::Trace::current();
    for (const Tensor& x : traced_->captured()) {
      trace.note(x);
      if (tape::active() && tape::followed(x) &&
          std::none_of(captured.begin(), captured.end(), [&](const Tensor& c) { return c.id() == x.id(); }))
        captured.push_back(x);
    }
    for (std::size_t k = 0; k < traced_->enclosing_variables().size(); ++k) {
      const Tensor value = trace.read(traced_->enclosing_variables()[k]);
      for (std::size_t i = first; i < arguments.size(); ++i)
        if (arguments[i].id() == traced_->enclosing_values()[k].id()) arguments[i] = value;
    }
    for (const bool is : followed_of(TensorSpan(arguments).subspan(first))) followed.push_back(is);
    return followed;
  }
  Tensors operator()(TensorSpan arguments, TensorSpan adopted) const {
    const detail::List<Tensor> list = traced_->call(contiguous_all(arguments), adopted);
    return {list.begin(), list.end()};
  }
  /// [result * inputs() + argument]: whether a derivative leads from the argument to the result. Arguments are those of
  /// the body, then the adopted values.
  const std::vector<bool>& connected() const { return traced_->connected(); }
  std::size_t inputs() const { return traced_->program().arguments.size(); }

 private:
  static std::vector<bool> followed_of(TensorSpan list) {
    std::vector<bool> followed;
    for (const Tensor& x : list) followed.push_back(tape::active() && tape::followed(x));
    return followed;
  }

  std::shared_ptr<Traced> traced_;
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
