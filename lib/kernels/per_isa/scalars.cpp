// The interpreter of programs on single numbers. Each instruction ends with the jump to the next one: by its label,
// where the compiler has labels as values (GCC, Clang), otherwise by a switch.
#include "kernels/scalars.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/isa.hpp"
#include "kernels/loop.hpp"

namespace reel::kernels {

namespace {

// Rounding functions of the kernels are instructions there, and the compiler makes them of std::floor and the like.
constexpr bool rounds =
    instruction_set == InstructionSet::avx512 || instruction_set == InstructionSet::avx2 || is_scalar;
// A maximum of the kernels is the second operand if the two are equal.
constexpr bool orders = instruction_set != InstructionSet::neon64;

struct SubtractFrom {
  template <class T>
  T operator()(T x, T y) const {
    return y - x;
  }
};

template <class T>
T fused(T x, T y, T w) {
  if constexpr (has_fma)
    return std::fma(x, y, w);
  else
    return x * y + w;  // not called
}

using MaskWord = std::uint32_t;

// Calls a loop on one element of each operand.
template <std::size_t Operands>
[[gnu::always_inline]] inline void call(const std::uint32_t* code, std::byte* file, Strided* in) {
  Loop loop;
  std::memcpy(&loop, code + 1, sizeof loop);
  for (std::size_t k = 0; k < Operands; ++k) in[k].data = file + code[3 + k];
  loop(in, file + code[3 + Operands], 1);
}

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define REEL_OP(name) op_##name:
#define REEL_NEXT(words) \
  code += words;         \
  goto* next(base, *code)
inline const void* next(const char* base, std::uint32_t label) { return base + static_cast<std::int32_t>(label); }
#else
#define REEL_OP(name) case static_cast<std::uint32_t>(ScalarOp::name):
#define REEL_NEXT(words) \
  code += words;         \
  continue
#endif
#define REEL_UNARY(name, ...)  \
  REEL_OP(name) {              \
    const T x = number(1);     \
    number(2) = (__VA_ARGS__); \
    REEL_NEXT(3);              \
  }
#define REEL_BINARY(name, ...)            \
  REEL_OP(name) {                         \
    const T x = number(1), y = number(2); \
    number(3) = (__VA_ARGS__);            \
    REEL_NEXT(4);                         \
  }
#define REEL_PAIR(name, First, Second)                   \
  REEL_OP(name) {                                        \
    const T x = number(1), y = number(2), w = number(3); \
    number(4) = Second{}(First{}(x, y), w);              \
    REEL_NEXT(5);                                        \
  }                                                      \
  REEL_OP(name##_kept) {                                 \
    const T x = number(1), y = number(2), w = number(3); \
    const T first = First{}(x, y);                       \
    number(4) = first;                                   \
    number(5) = Second{}(first, w);                      \
    REEL_NEXT(6);                                        \
  }
#define REEL_PAIRS(name, First)                        \
  REEL_PAIR(name##_add, First, std::plus<>)            \
  REEL_PAIR(name##_subtract, First, std::minus<>)      \
  REEL_PAIR(name##_subtract_from, First, SubtractFrom) \
  REEL_PAIR(name##_multiply, First, std::multiplies<>)
#define REEL_CHOOSE(name, condition)                                    \
  REEL_OP(name) {                                                       \
    const T a = number(1), b = number(2), x = number(3), y = number(4); \
    number(5) = (a condition b) ? x : y;                                \
    REEL_NEXT(6);                                                       \
  }
#define REEL_COMPARE(name, ...)           \
  REEL_OP(name) {                         \
    const T x = number(1), y = number(2); \
    mask(3) = (__VA_ARGS__);              \
    REEL_NEXT(4);                         \
  }
#define REEL_PREDICATE(name, ...) \
  REEL_OP(name) {                 \
    const T x = number(1);        \
    mask(2) = (__VA_ARGS__);      \
    REEL_NEXT(3);                 \
  }
#define REEL_LOGICAL(name, op)    \
  REEL_OP(name) {                 \
    mask(3) = mask(1) op mask(2); \
    REEL_NEXT(4);                 \
  }
#define REEL_CALL(operands)         \
  REEL_OP(call##operands) {         \
    call<operands>(code, file, in); \
    REEL_NEXT(4 + operands);        \
  }

// Runs the code; without code, returns the labels.
template <class T>
[[gnu::noinline]] const std::int32_t* interpret(const std::uint32_t* code, std::byte* file) {
#if defined(__GNUC__)
  const char* const base = static_cast<const char*>(&&op_end);
#define REEL_LABEL(name) \
  static_cast<std::int32_t>(static_cast<const char*>(&&op_##name) - static_cast<const char*>(&&op_end)),
#else
#define REEL_LABEL(name) static_cast<std::int32_t>(ScalarOp::name),
#endif
  static const std::int32_t labels[] = {REEL_SCALAR_OPS(REEL_LABEL)};
#undef REEL_LABEL
  if (!code) return labels;
  const auto number = [&](std::size_t k) -> T& { return *reinterpret_cast<T*>(file + code[k]); };
  const auto mask = [&](std::size_t k) -> MaskWord& { return *reinterpret_cast<MaskWord*>(file + code[k]); };
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Strided in[5] = {};
#if defined(__GNUC__)
  goto* next(base, *code);
#else
  for (;;) switch (*code) {
#endif
  REEL_OP(end) { return nullptr; }
  REEL_UNARY(copy, x)
  REEL_BINARY(add, x + y)
  REEL_BINARY(subtract, x - y)
  REEL_BINARY(multiply, x * y)
  REEL_BINARY(divide, x / y)
  REEL_UNARY(negative, -x)
  REEL_UNARY(absolute, std::abs(x))
  REEL_UNARY(square_root, std::sqrt(x))
  REEL_UNARY(sign, x > 0 ? T(1) : x < 0 ? T(-1) : x)
  REEL_UNARY(round_down, std::floor(x))
  REEL_UNARY(round_up, std::ceil(x))
  REEL_UNARY(truncate, std::trunc(x))
  REEL_BINARY(greater, x != x || x > y ? x : y)
  REEL_BINARY(lesser, x != x || x < y ? x : y)
  REEL_OP(fused) {
    const T x = number(1), y = number(2), w = number(3);
    number(4) = fused(x, y, w);
    REEL_NEXT(5);
  }
  REEL_PAIRS(add, std::plus<>)
  REEL_PAIRS(subtract, std::minus<>)
  REEL_PAIRS(multiply, std::multiplies<>)
  REEL_CHOOSE(choose_equal, ==)
  REEL_CHOOSE(choose_less, <)
  REEL_CHOOSE(choose_less_equal, <=)
  REEL_COMPARE(is_equal, x == y)
  REEL_COMPARE(is_not_equal, x != y)
  REEL_COMPARE(is_less, x < y)
  REEL_COMPARE(is_less_equal, x <= y)
  REEL_COMPARE(is_greater, x > y)
  REEL_COMPARE(is_greater_equal, x >= y)
  REEL_PREDICATE(is_nan, x != x)
  REEL_PREDICATE(is_inf, std::abs(x) == infinity)
  REEL_PREDICATE(is_finite, std::abs(x) < infinity)
  REEL_LOGICAL(conjunction, &)
  REEL_LOGICAL(disjunction, |)
  REEL_LOGICAL(exclusive, ^)
  REEL_OP(negation) {
    mask(2) = mask(1) ^ 1;
    REEL_NEXT(3);
  }
  REEL_OP(select) {
    const T x = number(2), y = number(3);
    number(4) = mask(1) != 0 ? x : y;
    REEL_NEXT(5);
  }
  REEL_CALL(1)
  REEL_CALL(2)
  REEL_CALL(3)
  REEL_CALL(4)
  REEL_CALL(5)
#if !defined(__GNUC__)
}
#endif
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

template <class T>
ScalarEngine engine() {
  return {interpret<T>(nullptr, nullptr),
          [](const std::uint32_t* code, std::byte* file) { static_cast<void>(interpret<T>(code, file)); }};
}

}  // namespace

const void* scalars_kernels() {
  static const ScalarEngines engines{
      {engine<float>(), engine<double>()}, rounds, orders, has_fma, {chain_of_floats(), chain_of_doubles()}};
  return &engines;
}

}  // namespace reel::kernels
