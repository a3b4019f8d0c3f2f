// Gradient: none with its reason, a tensor, or slices.
#include "gradient/gradient.hpp"

#include <ostream>

#include "core/fail.hpp"

namespace reel {

// Indices if the gradient is slices, else the reason for having none.
struct Gradient::Extra {
  Tensor indices;
  Shape dense_shape;
  autodiff::Reason reason;

  static void* operator new(std::size_t bytes) { return detail::allocate(bytes); }
  static void operator delete(void* p, std::size_t bytes) noexcept { detail::deallocate(p, bytes); }
};

Gradient::Gradient(IndexedSlices s) : value_(std::move(s.values)) {
  if (!value_.defined() || !s.indices.defined())
    fail<ValueError>("Gradient", "IndexedSlices with empty values or indices");
  extra_ = new Extra{std::move(s.indices), s.dense_shape, {}};
}
Gradient::Gradient(const Gradient& other)
    : value_(other.value_), extra_(other.extra_ ? new Extra(*other.extra_) : nullptr) {}
void Gradient::drop() noexcept { delete std::exchange(extra_, nullptr); }

Operand::Operand(const Gradient& x, const char* file, int line)
    : tensor_(&held_), kind_(detail::OperandKind::lvalue), line_(line), file_(file) {
  const tape::OpScope scope(*this);
  held_ = x.dense();
}

Tensor Gradient::dense() const {
  if (!value_.defined()) fail<ValueError>("Gradient", "there is no gradient to read: {}", why_none());
  return extra_ ? slices().dense() : value_;
}

IndexedSlices Gradient::slices() const {
  if (!value_.defined()) fail<ValueError>("Gradient", "there are no slices to read: {}", why_none());
  if (!extra_) fail<TypeError>("Gradient", "it is a tensor, not IndexedSlices; use dense()");
  return {value_, extra_->indices, extra_->dense_shape};
}

WhyNone Gradient::reason() const noexcept {
  return extra_ && !value_.defined() ? extra_->reason.why : WhyNone::unknown;
}

std::string Gradient::why_none() const {
  if (value_.defined()) return {};
  return extra_ ? autodiff::describe(extra_->reason)
                : "this Gradient is empty: it was default-constructed, or moved from";
}

Gradient GradientAccess::none(autodiff::Reason reason) {
  Gradient g;
  g.extra_ = new Gradient::Extra{{}, {}, std::move(reason)};
  return g;
}

std::string to_string(const Gradient& g) {
  if (!g) return "none (" + g.why_none() + ")";
  if (!g.is_slices()) return to_string(*g);
  const IndexedSlices s = g.slices();
  return "IndexedSlices of " + to_string(s.dense_shape) + ": rows " + to_string(s.indices) + ", values " +
         to_string(s.values);
}
std::ostream& operator<<(std::ostream& out, const Gradient& g) { return out << to_string(g); }

namespace autodiff {

std::string describe(const Reason& r) {
  const auto op = [&](const char* place) {
    if (r.op.empty()) return std::string("an op");
    if (r.index < 0) return r.op;
    return fmt::format("{} ({} {} on the tape{})", r.op, place, r.index, tape::to_string(r.site, ", called at "));
  };
  const auto at = [&] { return op("op"); };
  // Where a path ends, the op itself is not on the tape.
  const auto end = [&] { return op("before op"); };
  switch (r.why) {
    case WhyNone::never_watched:
      if (!r.op.empty())
        return fmt::format("variable '{}' is not watched by itself; call tape.watch(v) before it is read", r.op);
      return "the tape never watched the source; call tape.watch(x) before it is used";
    case WhyNone::not_connected:
      if (r.op.empty()) return "the target does not depend on the source";
      return fmt::format("no recorded path leads from the source to the target; the tape saw paths end at {}", end());
    case WhyNone::target_unwatched:
      return "nothing that the tape watches leads to the target";
    case WhyNone::integer_dtype:
      if (r.op.empty()) return "integers and booleans are constants to a tape; cast to a floating dtype";
      return fmt::format("the path ends at {}, whose result is an integer or a boolean", end());
    case WhyNone::stop_gradient:
      return fmt::format("the path ends at {}", end());
    case WhyNone::paused:
      return fmt::format("the path ends at {}, which ran while the tape was paused", end());
    case WhyNone::other_thread:
      return "it was made on another thread; a tape records only the ops of its own thread";
    case WhyNone::used_tape:
      return "the tape was used already; make it persistent to use it again";
    case WhyNone::read_before_tape:
      return fmt::format("variable '{}' was not read while the tape recorded; a value read before is not watched",
                         r.op);
    case WhyNone::not_differentiable:
      return fmt::format("{} is registered as not differentiable", at());
    case WhyNone::unknown:
      break;
  }
  return fmt::format("the gradient function of {} returned none", at());
}

}  // namespace autodiff

}  // namespace reel
