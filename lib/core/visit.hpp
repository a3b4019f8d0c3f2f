// The one switch over dtypes.
#pragma once
#include <reel/tensor.hpp>
#include <utility>

namespace reel {

/// Calls f.template operator()<T>() for the element type T of dtype d: visit(d, [&]<class T>() { ... }). A boolean is a
/// bool of one byte. `d` must be a dtype of the enumeration.
template <class F>
decltype(auto) visit(DType d, F&& f) {
  switch (d) {
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::uint8:
      return f.template operator()<std::uint8_t>();
    case DType::int32:
      return f.template operator()<std::int32_t>();
    case DType::int64:
      return f.template operator()<std::int64_t>();
    case DType::float16:
      return f.template operator()<float16>();
    case DType::bfloat16:
      return f.template operator()<bfloat16>();
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::complex64:
      return f.template operator()<complex64>();
    case DType::complex128:
      break;
  }
  return f.template operator()<complex128>();
}

}  // namespace reel
