// Conversion of tensors to C++ values: to the dtype's own type, or one that the dtype promotes to; never narrowed.
#include "loops/make/transfer.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace {

const char* cpp_type(DType d) {
  constexpr const char* names[] = {
      "bool",           "std::uint8_t", "int",    "std::int64_t",        "reel::float16",
      "reel::bfloat16", "float",        "double", "std::complex<float>", "std::complex<double>"};
  return names[static_cast<std::size_t>(d)];
}

}  // namespace

namespace detail {

const void* strided_data(const Tensor& x, DType wanted) {
  ops::require_elements("data", x);
  const Block* b = block(x);
  if (b->dtype != wanted)
    fail<TypeError>("data", "the tensor is {}, not {}; read it as data<{}>(), or cast(x, DType::{}) first", b->dtype,
                    wanted, cpp_type(b->dtype), wanted);
  return loops::first_element(x);
}

const void* contiguous_data(const Tensor& x, DType wanted) {
  const void* data = strided_data(x, wanted);
  const Block* b = block(x);
  if (!b->contiguous())
    fail<ValueError>("data", "the tensor, of shape {} and strides {}, is not contiguous; call contiguous(x) first",
                     b->shape(), Shape(b->strides(), b->rank));
  return data;
}

const void* contiguous_data(const Tensor& x, DType wanted, CallLine at) {
  return naming_line(at, [&] { return contiguous_data(x, wanted); });
}

void copy_out(const Tensor& x, DType wanted, void* out, bool single) {
  const char* op = single ? "item" : "to_vector";
  ops::require_elements(op, x);
  const Block* b = block(x);
  if (single && b->size != 1)
    fail<ShapeError>(op, "the tensor has shape {}, so {} elements; item() needs exactly one", b->shape(), b->size);
  if (b->dtype != wanted && promote(b->dtype, wanted) != wanted)
    fail<TypeError>(op, "{} elements do not fit {}; use {}<{}>(), or cast(x, DType::{}) first", b->dtype, wanted, op,
                    cpp_type(b->dtype), wanted);
  loops::copy_out(x, wanted, out);
}

void copy_out(const Tensor& x, DType wanted, void* out, bool single, CallLine at) {
  naming_line(at, [&] { copy_out(x, wanted, out, single); });
}

}  // namespace detail

Tensor::operator bool() const {
  ops::require_elements("bool", *this);
  const detail::Block* b = detail::block(*this);
  if (b->size != 1)
    fail<ShapeError>(
        "bool", "the truth of a tensor of shape {} is ambiguous; use any(x) or all(x), and maximum(x, y) for std::max",
        b->shape());
  std::uint8_t truth = 0;
  loops::copy_out(*this, DType::boolean, &truth);
  return truth != 0;
}

}  // namespace reel
