// Ops whose references stand with the rows of op cases, in folders called references: the interpreter computes them
// with jets. What is left to say here is how a statement is drawn and how it calls the library.
#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "../op_cases/naive.hpp"
#include "functions.hpp"
#include "program.hpp"
#include "ranged.hpp"

namespace random_programs {

using cases::ArrayOf, cases::ArraysOf;
using Ints = std::vector<std::int64_t>;

/// How a statement calls the library: an expression of operands x[k], numbers i[k] and r[k] of the statement, and its
/// text, in which they are replaced.
struct Call {
  void (*run)(const Statement& s, const Operands& x, std::vector<reel::Tensor>& out) = nullptr;
  const char* text = nullptr;
};
inline void append(std::vector<reel::Tensor>& out, reel::Tensor y) { out.push_back(std::move(y)); }
inline void append(std::vector<reel::Tensor>& out, const std::vector<reel::Tensor>& y) {
  out.insert(out.end(), y.begin(), y.end());
}
#define REEL_CALL(...)                                                                           \
  random_programs::Call {                                                                        \
    []([[maybe_unused]] const Statement& s, const Operands& x, std::vector<reel::Tensor>& out) { \
      [[maybe_unused]] const auto& i = s.ints;                                                   \
      [[maybe_unused]] const auto& r = s.reals;                                                  \
      append(out, __VA_ARGS__);                                                                  \
    },                                                                                           \
        #__VA_ARGS__                                                                             \
  }
/// The text of a call: with the operands' names and the numbers, and behind it those that it does not name.
std::string text_of(const char* call, const Statement& s, const std::vector<std::string>& names);

struct Traits {
  double weight = 1;
  bool body = false;
};

template <class N>
using Reference = std::function<ArrayOf<N>(ArraysOf<N>, const Statement&)>;
template <class N>
using References = std::function<std::vector<ArrayOf<N>>(ArraysOf<N>, const Statement&)>;
using Make = std::function<bool(Maker&, Statement&)>;
/// An op whose result is reference(operands, statement), an array over N or several, in the dtype that dtype(operands)
/// returns. It sets the rounding unit.
template <class N>
Op op_of(std::string name, Make make, DType (*dtype)(const Inputs&), References<N> reference, Call call,
         const Traits& traits);
template <class N>
References<N> several(Reference<N> one);

/// A function as a pointer, so that the compiler wraps one type and not every lambda's.
template <class R, class... Args, class F>
auto pointer_or(F f) {
  if constexpr (std::is_convertible_v<F, R (*)(Args...)>)
    return static_cast<R (*)(Args...)>(f);
  else
    return f;
}
template <class N, class F>
Op row_op(std::string name, const auto& make, DType (*dtype)(const Inputs&), const F& reference, Call call,
          Traits traits = {}) {
  Make making = pointer_or<bool, Maker&, Statement&>(make);
  using Result = decltype(reference(ArraysOf<N>(), std::declval<const Statement&>()));
  auto compute = pointer_or<Result, ArraysOf<N>, const Statement&>(reference);
  if constexpr (std::is_same_v<Result, ArrayOf<N>>)
    return op_of<N>(std::move(name), std::move(making), dtype, several<N>(std::move(compute)), call, traits);
  else
    return op_of<N>(std::move(name), std::move(making), dtype, References<N>(std::move(compute)), call, traits);
}

}  // namespace random_programs
