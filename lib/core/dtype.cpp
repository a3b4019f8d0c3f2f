// Dtypes: names and promotion.
#include <ostream>
#include <reel/dtype.hpp>

#include "core/fail.hpp"

namespace reel {

const char* name(DType d) noexcept {
  constexpr const char* names[] = {"boolean",  "uint8",   "int32",   "int64",     "float16",
                                   "bfloat16", "float32", "float64", "complex64", "complex128"};
  return d <= DType::complex128 ? names[static_cast<std::size_t>(d)] : "unknown";
}

void detail::fail_dtype(const char* op, DType d) {
  fail<TypeError>(op, "DType({}) is none of the ten dtypes; name one, as DType::float64", static_cast<int>(d));
}

std::ostream& operator<<(std::ostream& out, DType d) { return out << name(d); }

DType promote(DType a, DType b) {
  for (const DType d : {a, b})
    if (d > DType::complex128) [[unlikely]]
      detail::fail_dtype("promote", d);
  // clang-format off
  using enum DType;
  constexpr DType table[10][10] = {
    //            boolean     uint8       int32       int64       float16     bfloat16    float32     float64     complex64   complex128
    /*boolean*/  {boolean,    uint8,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*uint8*/    {uint8,      uint8,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*int32*/    {int32,      int32,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*int64*/    {int64,      int64,      int64,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*float16*/  {float16,    float16,    float16,    float16,    float16,    float32,    float32,    float64,    complex64,  complex128},
    /*bfloat16*/ {bfloat16,   bfloat16,   bfloat16,   bfloat16,   float32,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*float32*/  {float32,    float32,    float32,    float32,    float32,    float32,    float32,    float64,    complex64,  complex128},
    /*float64*/  {float64,    float64,    float64,    float64,    float64,    float64,    float64,    float64,    complex128, complex128},
    /*complex64*/{complex64,  complex64,  complex64,  complex64,  complex64,  complex64,  complex64,  complex128, complex64,  complex128},
    /*complex128*/{complex128,complex128, complex128, complex128, complex128, complex128, complex128, complex128, complex128, complex128},
  };
  // clang-format on
  return table[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

}  // namespace reel
