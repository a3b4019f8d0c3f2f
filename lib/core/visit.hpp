// The one switch over dtypes.
#pragma once
#include <cassert>
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

/// The same for a dtype that the caller knows to be that of T or of one of the Others.
template <class T, class... Others, class F>
decltype(auto) visit_among(DType d, F&& f) {
  if constexpr (sizeof...(Others) > 0) {
    if (d != dtype_of<T>) return visit_among<Others...>(d, std::forward<F>(f));
  } else {
    assert(d == dtype_of<T>);
  }
  return f.template operator()<T>();
}

}  // namespace reel
