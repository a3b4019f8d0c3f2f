// Functions that have several kernels: the enumerations that kernels, loops and ops share.
#pragma once
#include <cstdint>

namespace reel::kernels {

/// Two operands of one dtype; the result is boolean.
enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
/// A test of one floating-point or complex number.
enum class Predicate : std::uint8_t { isnan, isinf, isfinite };
/// Functions of booleans: one operand for the negation, otherwise two.
enum class Logical : std::uint8_t { conjunction, disjunction, exclusive, negation };
/// Functions of the bits of integers, and of booleans except for shifts: one operand for the complement, otherwise two.
enum class BitFunction : std::uint8_t { conjunction, disjunction, exclusive, complement, left, right };
/// max and min of booleans are any and all.
enum class ReduceFunction : std::uint8_t { sum, prod, max, min };

}  // namespace reel::kernels
