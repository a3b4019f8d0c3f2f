// Bodies: what they read, and which inputs of a call their derivatives lead to.
#include "gradient/control/body.hpp"

#include <algorithm>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "ops/apply/operation.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

namespace {

// The index of a tensor in the list; its length if it is not there.
std::size_t find(TensorSpan list, const Tensor& x) {
  const auto same = [&](const Tensor& y) { return y.id() == x.id(); };
  return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), same) - list.begin());
}

}  // namespace

bool same_kinds(TensorSpan a, TensorSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape() && x.dtype() == y.dtype(); });
}

std::vector<bool> followed_of(TensorSpan list) {
  std::vector<bool> followed;
  for (const Tensor& x : list) followed.push_back(tape::active() && tape::followed(x));
  return followed;
}

Tensors select_tensors(TensorSpan inputs, std::span<const std::size_t> numbers) {
  Tensors some;
  for (const std::size_t i : numbers) some.push_back(inputs[i]);
  return some;
}

bool Body::may_throw() const {
  const auto& list = traced_->program().instructions;
  return std::any_of(list.begin(), list.end(), [](const program::Instruction& i) { return i.may_throw(); });
}

void Body::read_for_rules(std::vector<bool> followed) {
  if (!traced_->has_rules() || !any_tape()) return;
  Reads own;
  own.add(traced_->reads());
  for (const bool is : followed_of(own.values(true))) followed.push_back(is);
  const std::vector<Source> more = traced_->read_by_rules(followed);
  if (!more.empty()) traced_ = traced_->reading(more);
}

void Body::set_pullback(std::shared_ptr<const Pullback> p) {
  if (p && !p->late_reads.empty())
    detail::fail<TraceError>("gradient",
                             "the derivative of a body reads a variable that the body and its gradient functions did "
                             "not read when they ran before; a traced function reads the same at each run");
  pullback_ = std::move(p);
  captured_ = traced_->followed_captured();
}

void Body::reveal(Tensors& captured) const {
  for (const Tensor& x : traced_->captured()) {
    program::Trace::current()->note(x);
    if (tape::active() && tape::followed(x) && find(captured, x) == captured.size()) captured.push_back(x);
  }
}

Tensors Body::operator()(TensorSpan arguments, TensorSpan read) const {
  const detail::List<Tensor> list = traced_->call(contiguous_all(arguments), select_tensors(read, reads_));
  return {list.begin(), list.end()};
}

BodyCall::BodyCall(const char* called, std::vector<Body> bodies, const char* const* names, std::size_t giving,
                   std::size_t own)
    : Deferred(called), bodies_(std::move(bodies)), giving_(giving), own_(own) {
  for (Body& body : bodies_) {
    body.add_to(reads_);
    may_throw = may_throw || body.may_throw();
    has_rules = has_rules || body.traced().has_rules();
    derives = derives || body.traced().derives();
    if (const auto& program = body.traced().without_passes()) parts.push_back({names[&body - bodies_.data()], program});
  }
  early_reads_ = reads_.size();
}

std::vector<bool> BodyCall::followed_sources(const Body& body, const std::vector<bool>& followed) const {
  std::vector<bool> all(followed);
  for (const bool is : followed_of(select_tensors(read_values(), body.reads()))) all.push_back(is);
  return all;
}

std::size_t BodyCall::source_of(const Body& body, std::size_t input) const {
  const auto or_none = [](std::size_t first, std::size_t number, std::size_t count) {
    return number == count ? none : first + number;
  };
  if (input < body.arguments()) return input;
  if (input < own_) return none;
  if (input < own_ + reads_.size()) {
    const auto number = std::find(body.reads().begin(), body.reads().end(), input - own_) - body.reads().begin();
    return or_none(body.arguments(), static_cast<std::size_t>(number), body.reads().size());
  }
  const Tensor& x = captured[input - own_ - reads_.size()];
  return or_none(body.inputs(), find(body.captured(), x), body.captured().size());
}

// Whether a derivative leads to a captured tensor is not known, so it is assumed.
void BodyCall::set_connections() {
  arguments = own_ + reads_.size();
  late.clear();
  for (const Source& s : reads_.list().subspan(early_reads_)) late.push_back(s);
  connected = Connections(outputs.size(), inputs());
  const auto leads = [&](std::size_t k, std::size_t i) {
    if (has_rules || i >= arguments) return true;
    return std::any_of(bodies_.begin(), bodies_.begin() + static_cast<std::ptrdiff_t>(giving_), [&](const Body& body) {
      const std::size_t source = source_of(body, i);
      return source != none && body.leads(k, source);
    });
  };
  for (std::size_t k = 0; k < outputs.size(); ++k)
    for (std::size_t i = 0; i < inputs(); ++i)
      if (leads(k, i)) connected.set(k, i);
}

}  // namespace reel::autodiff
