// Special functions of up to four arguments with their partial derivatives of every order, element by element, in long
// double: compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

namespace reel::kernels::special {

/// Name, number of arguments, and how many of these, the last ones, are whole numbers without a derivative.
// clang-format off
#define REEL_SPECIAL_FUNCTIONS(F) \
  F(gamma, 1, 0) F(rgamma, 1, 0) F(betaln, 2, 0) F(beta, 2, 0) F(poch, 2, 0) \
  F(gammainc, 2, 0) F(gammaincc, 2, 0) F(betainc, 3, 0) F(betaincc, 3, 0) \
  F(gammaincinv, 2, 0) F(gammainccinv, 2, 0) F(betaincinv, 3, 0)
// clang-format on

enum class Function : std::uint8_t {
#define REEL_ENUMERATOR(name, arguments, constants) name,
  REEL_SPECIAL_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};
struct Signature {
  const char* name;
  std::uint8_t arguments, constants;
};
inline constexpr Signature signatures[] = {
#define REEL_SIGNATURE(name, arguments, constants) {#name, arguments, constants},
    REEL_SPECIAL_FUNCTIONS(REEL_SIGNATURE)
#undef REEL_SIGNATURE
};
constexpr const Signature& signature(Function f) { return signatures[static_cast<std::size_t>(f)]; }
inline constexpr std::size_t arguments_max = 4;
/// A derivative has the product of all orders plus 1 below this bound.
inline constexpr int coefficients_max = 64;

/// out[i] = f(in[0][i], in[1][i], ...), so often differentiated by each argument; float32 or float64. The inverses have
/// no derivatives here. out and in are contiguous and apart.
void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
