// Tensors that file tests write: every dtype, in several layouts.
#pragma once
#include <reel/io.hpp>
#include <reel/reel.hpp>
#include <string>

#include "../catch.hpp"
#include "support/bits.hpp"
#include "temporary_folder.hpp"

namespace samples {

inline const reel::DType dtypes[] = {
    reel::DType::boolean,  reel::DType::uint8,   reel::DType::int32,   reel::DType::int64,     reel::DType::float16,
    reel::DType::bfloat16, reel::DType::float32, reel::DType::float64, reel::DType::complex64, reel::DType::complex128};

/// 0, 1, 2, ... [2, 3] of the dtype; imaginary parts are the negatives.
inline reel::Tensor numbers(reel::DType dtype) {
  const reel::Tensor x = reel::reshape(reel::arange(6.), {2, 3});
  return is_complex(dtype) ? cast(reel::make_complex(x, -x), dtype) : cast(x, dtype);
}

/// Every dtype: plain, transposed, of rank 0, empty.
inline reel::NamedTensors all() {
  reel::NamedTensors tensors;
  for (const reel::DType dtype : dtypes) {
    const reel::Tensor x = numbers(dtype);
    const std::string name = reel::name(dtype);
    tensors[name] = x;
    tensors[name + ".transposed"] = transpose(x);
    tensors[name + ".number"] = x[1][1];
    tensors[name + ".empty"] = reel::zeros({0, 2}, dtype);
  }
  return tensors;
}

inline void require_same(const reel::NamedTensors& found, const reel::NamedTensors& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (const auto& [name, x] : wanted) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    const reel::Tensor& y = found.at(name);
    CHECK(y.dtype() == x.dtype());
    REQUIRE(y.shape() == x.shape());
    CHECK(array_equal(y, x));
  }
}

/// The error message of read() for these bytes as a file; empty if it accepts them.
template <class F>
std::string refusal(const std::string& bytes, F read) {
  const support::TemporaryFolder folder;
  support::write_bytes(folder / "file", bytes);
  try {
    read(folder / "file");
  } catch (const reel::IoError& error) {
    return error.what();
  }
  return {};
}

}  // namespace samples
