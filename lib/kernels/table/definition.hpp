// The definition of a pointwise op: its name, the dtypes it exists for, its value, and a derivative for each operand. A
// derivative is g times the partial derivative, and lists what it reads. Definitions are generic lambdas. Called with a
// Vec they become the vjp kernels; called with a Lane they become the program that an outer tape records. This header
// includes neither type.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace reel::kernels::table {

// What a derivative reads besides g: the operands x, y, w and the result z. A tape saves nothing else.
enum Reads : unsigned { none = 0, x = 1, y = 2, w = 4, z = 8 };
constexpr Reads operator|(Reads a, Reads b) {
  return static_cast<Reads>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// The dtypes that the value exists for. Derivatives exist only for the floating ones.
enum class Domain {
  floating,  // an integer operand is cast to a floating dtype first
  numbers,   // integers too, modulo 2^n
  all        // booleans too: + is or, * is and
};

template <std::size_t N>
struct FixedString {
  char text[N];
  constexpr FixedString(const char (&t)[N]) { std::copy_n(t, N, text); }
  constexpr operator std::string_view() const { return {text, N - 1}; }
};

// Three derivatives without a function: g itself, zero (but connected), and none (unconnected).
struct Identity {};
struct Zero {};
struct Unconnected {};

// g times the value that is read. Where g is one, the derivative is that value itself.
struct Times {
  template <class G, class V>
  [[gnu::always_inline]] constexpr auto operator()(const G& g, const V& read) const {
    return g * read;
  }
};

template <Reads R, class F>
struct Derivative {
  static constexpr Reads reads = R;
  static constexpr bool is_identity = std::is_same_v<F, Identity>;
  static constexpr bool is_zero = std::is_same_v<F, Zero>;
  static constexpr bool is_unconnected = std::is_same_v<F, Unconnected>;
  static constexpr bool is_times = std::is_same_v<F, Times>;
  static constexpr bool has_function = !is_identity && !is_zero && !is_unconnected;
  F function;
};
template <Reads R, class F>
constexpr Derivative<R, F> d(F function) {
  return {function};
}
template <Reads R>
inline constexpr Derivative<R, Times> times{};
inline constexpr Derivative<none, Identity> same{};
inline constexpr Derivative<none, Zero> zero{};
inline constexpr Derivative<none, Unconnected> unconnected{};

// derivative(g, x, y, w, z): calls the function with what it reads. The other arguments are ignored.
template <Reads R, class F, class G, class X, class Y, class W, class Z>
constexpr auto apply(const Derivative<R, F>& derivative, const G& g, const X& a, const Y& b, const W& c,
                     const Z& result) {
  const auto chosen = [](auto use, const auto& value) {
    if constexpr (use.value)
      return std::tie(value);
    else
      return std::tuple<>();
  };
  return std::apply(derivative.function, std::tuple_cat(std::tie(g), chosen(std::bool_constant<(R & x) != 0>(), a),
                                                        chosen(std::bool_constant<(R & y) != 0>(), b),
                                                        chosen(std::bool_constant<(R & w) != 0>(), c),
                                                        chosen(std::bool_constant<(R & z) != 0>(), result)));
}

template <FixedString Name, Domain D, class F, class... P>
struct Definition {
  static constexpr std::string_view name = Name;
  static constexpr Domain domain = D;
  static constexpr std::size_t arity = sizeof...(P);
  F value;
  std::tuple<P...> derivatives;  // of each operand in turn
};
template <FixedString Name, Domain D = Domain::floating, class F, class... P>
constexpr Definition<Name, D, F, P...> op(F value, P... derivatives) {
  return {value, {derivatives...}};
}
inline constexpr Domain floating = Domain::floating, numbers = Domain::numbers, all = Domain::all;

}  // namespace reel::kernels::table
