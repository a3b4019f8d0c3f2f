// Ops whose references stand with the rows of op cases, in ../op_cases/references: the interpreter computes them with
// jets. What is left to say here is how a statement is drawn and how it calls the library.
#pragma once
#include <string>
#include <type_traits>
#include <vector>

#include "../op_cases/naive.hpp"
#include "program.hpp"
#include "ranged.hpp"

namespace random_programs {

using cases::ArrayOf, cases::ArraysOf;
using Ints = std::vector<std::int64_t>;

// Between arrays of the interpreter and arrays of references: of the real parts, or of complex numbers.
template <class N>
ArrayOf<N> operand_of(const Array& x) {
  ArrayOf<N> y{x.shape, {}};
  for (const Num& n : x.data)
    if constexpr (std::is_same_v<N, Num>)
      y.values.push_back(n);
    else
      y.values.push_back(n.re);
  return y;
}
template <class N>
Array array_of(const ArrayOf<N>& x, DType d) {
  Array y(d, x.shape);
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = Num(x.values[i]);
  return y;
}

/// How a statement calls the library: an expression of operands x[k], numbers i[k] and r[k] of the statement, and its
/// text, in which they are replaced.
struct Call {
  void (*run)(const Statement& s, const Operands& x, std::vector<reel::Tensor>& out);
  const char* text;
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

/// An op whose result is reference(operands, statement), an array over N or several, in the dtype that dtype(operands)
/// returns. It sets the rounding unit.
template <class N, class Reference>
Op row_op(std::string name, std::function<bool(Maker&, Statement&)> make, DType (*dtype)(const Inputs&),
          Reference reference, Call call, Traits traits = {}) {
  Op o;
  o.name = std::move(name);
  o.make = std::move(make);
  o.eval = [=](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = dtype(in);
    std::vector<ArrayOf<N>> x;
    for (const Array* one : in) x.push_back(operand_of<N>(*one));
    const auto y = reference(ArraysOf<N>(x), s);
    if constexpr (requires { y.shape; })
      out.push_back(array_of(y, d));
    else
      for (const auto& one : y) out.push_back(array_of(one, d));
  };
  o.call = [run = call.run](const Statement& s, const Operands& x, std::vector<reel::Tensor>& out) { run(s, x, out); };
  o.text = [text = call.text](const Statement& s, const std::vector<std::string>& names) {
    return text_of(text, s, names);
  };
  o.weight = traits.weight;
  o.body = traits.body;
  return o;
}

}  // namespace random_programs
