// Ops from references over any numbers.
#include "rows.hpp"

namespace random_programs {

namespace {

// Between arrays of the interpreter and arrays of references: of the real parts, or of complex numbers.
template <class N>
ArrayOf<N> operand_of(const Array& x) {
  ArrayOf<N> y{x.shape, {}};
  y.values.reserve(x.data.size());
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

}  // namespace

template <class N>
Op op_of(std::string name, Make make, DType (*dtype)(const Inputs&), References<N> reference, Call call,
         const Traits& traits) {
  Op o;
  o.name = std::move(name);
  o.make = std::move(make);
  o.eval = [dtype, reference = std::move(reference)](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = dtype(in);
    std::vector<ArrayOf<N>> x;
    for (const Array* one : in) x.push_back(operand_of<N>(*one));
    for (const ArrayOf<N>& y : reference(ArraysOf<N>(x), s)) out.push_back(array_of(y, d));
  };
  if (call.run) o.call = call.run;
  if (call.text)
    o.text = [text = call.text](const Statement& s, const std::vector<std::string>& names) {
      return text_of(text, s, names);
    };
  o.weight = traits.weight;
  o.body = traits.body;
  return o;
}
template <class N>
References<N> several(Reference<N> one) {
  return [one = std::move(one)](ArraysOf<N> x, const Statement& s) { return std::vector<ArrayOf<N>>{one(x, s)}; };
}
template Op op_of<Jet>(std::string, Make, DType (*)(const Inputs&), References<Jet>, Call, const Traits&);
template Op op_of<Num>(std::string, Make, DType (*)(const Inputs&), References<Num>, Call, const Traits&);
template References<Jet> several<Jet>(Reference<Jet>);
template References<Num> several<Num>(Reference<Num>);

}  // namespace random_programs
