// Tensor: the queries that its block answers, and the errors of abstract tensors, which have no elements.
#include <reel/tensor.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "core/thread.hpp"

namespace reel {

namespace {
const detail::Block& checked(const Tensor& x) {
  if (!x.defined()) fail<ValueError>("tensor", "this handle is empty (default-constructed or moved from)");
  return *detail::block(x);
}
}  // namespace

Shape Tensor::shape() const { return checked(*this).shape(); }
Shape Tensor::strides() const {
  const detail::Block& b = checked(*this);
  return {b.strides(), b.rank};
}
DType Tensor::dtype() const { return checked(*this).dtype; }
int Tensor::rank() const { return checked(*this).rank; }
std::int64_t Tensor::size() const { return checked(*this).size; }
std::uint64_t Tensor::id() const { return checked(*this).id; }
bool Tensor::is_contiguous() const { return checked(*this).contiguous(); }

namespace detail {

namespace {

// ", by tanh (model.cpp:12)", as far as it is known.
std::string by_maker(const Maker& m) {
  if (!m.op) return {};
  if (!m.file) return fmt::format(", by {}", m.op);
  const std::string_view file = m.file;
  return fmt::format(", by {} ({}:{})", m.op, file.substr(file.rfind('/') + 1), m.line);
}

}  // namespace

const Maker& maker_of(const Block* b) noexcept {
  const Block* root = b->flags & view_flag ? static_cast<const Block*>(b->base) : b;
  return *reinterpret_cast<const Maker*>(root->strides() + root->rank);
}

void fail_abstract(std::string_view op, const Block* b) {
  if (this_thread.state->tracer)
    fail<TraceError>(op,
                     "the tensor, {} {}, has no value while the function that computes it is traced; choose with "
                     "where, cond or while_loop, or compute what is read before the traced function",
                     b->dtype, b->shape());
  fail<TraceError>(op,
                   "the tensor, {} {}, was made while f was traced{}; return it from f, the function that was traced",
                   b->dtype, b->shape(), by_maker(maker_of(b)));
}

void fail_foreign(std::string_view op, const Block* b) {
  fail<TraceError>(op,
                   "an operand, {} {}, was made while another function was traced{}, and belongs to another trace; use "
                   "it only inside the function that made it, or return it from there",
                   b->dtype, b->shape(), by_maker(maker_of(b)));
}

void fail_unless_traced(std::string_view op, const Block* b) {
  if (!this_thread.state->tracer) fail_abstract(op, b);
}

}  // namespace detail

}  // namespace reel
