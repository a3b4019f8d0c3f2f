// Special functions of up to three arguments with their partial derivatives of every order, element by element, in long
// double: compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

namespace reel::kernels::special {

enum class Function : std::uint8_t {
  gamma,
  rgamma,
  betaln,
  beta,
  poch,
  gammainc,
  gammaincc,
  betainc,
  betaincc,
  gammaincinv,
  gammainccinv,
  betaincinv,
};
inline constexpr std::size_t arguments_max = 3;
/// A derivative has the product of all orders plus 1 below this bound.
inline constexpr int coefficients_max = 64;

/// out[i] = f(in[0][i], in[1][i], ...), so often differentiated by each argument; float32 or float64. The inverses have
/// no derivatives here. out and in are contiguous and apart.
void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
