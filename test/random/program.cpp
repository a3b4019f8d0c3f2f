// Programs: interpretation, execution by the library, dtypes and indices.
#include "program.hpp"

#include <complex>
#include <stdexcept>

namespace random_programs {

const std::vector<Op>& ops() {
  static const std::vector<Op> table = [] {
    std::vector<Op> t;
    const auto input = [](const Statement& s, const Inputs&, Arrays& out) { out = {array_of(s)}; };
    t.push_back({"input", [](Maker&, Statement&) { return false; }, input, {}, {}, 0, false});
    add_pointwise(t);
    add_complex(t);
    add_reductions(t);
    add_shapes(t);
    add_indexing(t);
    add_linear_algebra(t);
    add_networks(t);
    add_convolution(t);
    add_losses(t);
    add_sequences(t);
    add_distributions(t);
    add_control(t);
    add_lanes(t);
    add_sorting(t);
    add_special_functions(t);
    add_updates(t);
    add_arranging(t);
    add_number_parts(t);
    add_matrix_products(t);
    add_matrix_functions(t);
    add_structured_systems(t);
    add_statistics(t);
    add_windows(t);
    add_transforms(t);
    add_signals(t);
    add_interpolation(t);
    add_rotations(t);
    add_solutions(t);
    return t;
  }();
  return table;
}
const Op& op(const std::string& name) {
  for (const Op& o : ops())
    if (o.name == name) return o;
  throw std::logic_error("no op " + name);
}

void round_like(DType dtype) {
  switch (dtype) {
    case DType::float16:
      Jet::unit = 0x1p-11, Jet::precision = 11;
      return;
    case DType::bfloat16:
      Jet::unit = 0x1p-8, Jet::precision = 8;
      return;
    case DType::float32:
    case DType::complex64:
      Jet::unit = 0x1p-24, Jet::precision = 24;
      return;
    default:
      Jet::unit = 0x1p-53, Jet::precision = 53;
  }
}

// NumPy's table with two exceptions: an integer with a floating dtype gives that dtype; float16 with bfloat16 gives
// float32.
DType promoted(DType a, DType b) {
  if (a > b) std::swap(a, b);
  if (a == b) return a;
  if (a == DType::float16 && b == DType::bfloat16) return DType::float32;
  if (b == DType::complex64 && a == DType::float64) return DType::complex128;
  return b;
}
DType promoted(const Inputs& in) {
  const auto category = [](DType d) {
    return d == DType::boolean ? 0 : reel::is_integer(d) ? 1 : is_real_floating(d) ? 2 : 3;
  };
  bool any = false;
  DType d = DType::boolean;
  for (const Array* x : in)
    if (!x->weak) d = any ? promoted(d, x->dtype) : x->dtype, any = true;
  for (const Array* x : in)
    if (x->weak && (!any || category(x->dtype) > category(d))) d = x->dtype, any = true;
  return d;
}
DType floating_of(DType d) { return d < DType::float16 ? DType::float64 : d; }

std::vector<const Statement*> Program::inputs(Role role) const {
  std::vector<const Statement*> list;
  for (const Statement& s : statements)
    if (s.role == role) list.push_back(&s);
  return list;
}

Array array_of(const Statement& input) {
  Array x(input.dtype, input.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i)
    x.data[i] = Num(Jet(input.data[i]), Jet(input.imaginary.empty() ? 0 : input.imaginary[i]));
  return x;
}

void evaluate(const Statement& s, Arrays& values) {
  Inputs in;
  std::vector<Array> weak(s.args.size());
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const Arg& a = s.args[i];
    if (a.kind == Arg::value) {
      in.push_back(&values[static_cast<std::size_t>(a.index)]);
      continue;
    }
    weak[i] = Array(a.kind == Arg::weak_floating  ? DType::float64
                    : a.kind == Arg::weak_integer ? DType::int64
                                                  : DType::boolean,
                    {});
    weak[i].data[0] = Num(static_cast<Real>(a.number));
    weak[i].weak = true;
    in.push_back(&weak[i]);
  }
  Arrays out;
  const DType dtype = promoted(in);
  if (dtype == DType::uint8)  // the library refuses a number that the dtype cannot hold
    for (const Array* x : in)
      if (x->weak && (*x)[0].re.v[0] < 0) throw Unfit();
  round_like(dtype);
  s.op->eval(s, in, out);
  for (Array& x : out) values.push_back(std::move(x));
}

void interpret(const Program& p, const std::vector<Array>& given, Arrays& values) {
  values.clear();
  std::size_t next = 0;
  for (const Statement& s : p.statements) {
    if (s.role == Role::source || s.role == Role::parameter)
      values.push_back(given[next++]);
    else
      evaluate(s, values);
  }
}

namespace {
template <class T, class F>
reel::Tensor from(const Statement& s, const F& convert) {
  std::vector<T> v;
  for (std::size_t i = 0; i < s.data.size(); ++i) v.push_back(convert(i));
  return reel::from_data(v, reel::Shape(s.shape));
}
reel::Tensor contiguous_tensor(const Statement& s) {
  const auto as = [&]<class T>(T) { return from<T>(s, [&](std::size_t i) { return static_cast<T>(s.data[i]); }); };
  switch (s.dtype) {
    case DType::boolean:
      return reel::cast(as(std::uint8_t()), DType::boolean);
    case DType::uint8:
      return as(std::uint8_t());
    case DType::int32:
      return as(std::int32_t());
    case DType::int64:
      return as(std::int64_t());
    case DType::float16:
      return from<reel::float16>(s, [&](std::size_t i) { return reel::float16(static_cast<float>(s.data[i])); });
    case DType::bfloat16:
      return from<reel::bfloat16>(s, [&](std::size_t i) { return reel::bfloat16(static_cast<float>(s.data[i])); });
    case DType::float32:
      return as(float());
    case DType::float64:
      return as(double());
    case DType::complex64:
      return from<std::complex<float>>(s, [&](std::size_t i) {
        return std::complex<float>(static_cast<float>(s.data[i]), static_cast<float>(s.imaginary[i]));
      });
    default:
      return from<std::complex<double>>(s,
                                        [&](std::size_t i) { return std::complex<double>(s.data[i], s.imaginary[i]); });
  }
}
}  // namespace

reel::Tensor tensor_of(const Statement& s) {
  reel::Tensor x = contiguous_tensor(s);
  if (s.layout == Layout::transposed) return reel::transpose(reel::contiguous(reel::transpose(x)));
  if (s.layout == Layout::flipped) return reel::flip(reel::contiguous(reel::flip(x)));
  if (s.layout == Layout::strided && x.rank() > 0) {
    const reel::Tensor wide = reel::repeat(x, 2, -1);
    std::vector<reel::SliceItem> items(static_cast<std::size_t>(x.rank()));
    items.back() = reel::range_from(1, 2);
    return reel::slice(wide, items);
  }
  return x;
}

reel::Operand Operands::operator[](std::size_t i) const {
  const Arg& a = s_.args[i];
  if (a.kind == Arg::weak_floating) return reel::Operand(a.number);
  if (a.kind == Arg::weak_integer) return reel::Operand(static_cast<std::int64_t>(a.number));
  if (a.kind == Arg::weak_boolean) return reel::Operand(a.number != 0);
  const auto k = static_cast<std::size_t>(a.index);
  if (variables_[k]) return reel::Operand(*variables_[k]);
  if (a.moved) return reel::Operand(std::move(values_[k]));
  return reel::Operand(values_[k]);
}
reel::Tensor Operands::tensor(std::size_t i) const {
  const auto k = static_cast<std::size_t>(s_.args[i].index);
  return variables_[k] ? variables_[k]->read() : values_[k];
}
std::vector<reel::Tensor> Operands::tensors(std::size_t from) const {
  std::vector<reel::Tensor> list;
  for (std::size_t i = from; i < size(); ++i) list.push_back(tensor(i));
  return list;
}

std::vector<reel::Tensor> execute(const Program& p, std::span<const reel::Tensor> given,
                                  std::span<const reel::Variable> variables) {
  std::vector<reel::Tensor> values;
  std::vector<reel::Variable> held(variables.begin(), variables.end());
  std::vector<reel::Variable*> places(static_cast<std::size_t>(p.values()));
  std::size_t next = 0, variable = 0;
  for (const Statement& s : p.statements) {
    if (s.role == Role::constant) {
      values.push_back(tensor_of(s));
    } else if (s.role != Role::none) {
      if (s.role == Role::source && variable < held.size()) {
        places[values.size()] = &held[variable++];
        values.emplace_back();
        ++next;
      } else {
        values.push_back(given[next++]);
      }
    } else {
      std::vector<reel::Tensor> out;
      s.op->call(s, Operands(s, values, places), out);
      for (auto& y : out) values.push_back(std::move(y));
    }
  }
  std::vector<reel::Tensor> outputs;
  for (const int o : p.outputs) {
    const auto k = static_cast<std::size_t>(o);
    outputs.push_back(places[k] ? places[k]->read() : values[k]);
  }
  return outputs;
}

std::vector<bool> dependent(const Program& p) {
  static const std::vector<std::string> cuts = {"stop_gradient", "zeros_like", "ones_like", "full_like", "one_hot"};
  std::vector<bool> r;
  Arrays values;
  std::vector<Array> x;
  for (const Statement* s : p.inputs(Role::source)) x.push_back(array_of(*s));
  Jet::count = 1;
  interpret(p, x, values);
  for (const Statement& s : p.statements) {
    bool any = s.role == Role::source;
    for (const Arg& a : s.args) any = any || (a.kind == Arg::value && r[static_cast<std::size_t>(a.index)]);
    for (const std::string& name : cuts) any = any && s.op->name != name;
    for (int k = 0; k < s.results; ++k) r.push_back(any && reel::is_differentiable(values[r.size()].dtype));
  }
  return r;
}

void count_ops(const Program& p, std::vector<std::int64_t>& counts) {
  counts.resize(ops().size());
  for (const Statement& s : p.statements) {
    ++counts[static_cast<std::size_t>(s.op - ops().data())];
    for (const Program& body : s.bodies) count_ops(body, counts);
  }
}

Extents broadcast_shapes(const Extents& a, const Extents& b) {
  Extents r(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < r.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) throw Unfit();
    r[r.size() - 1 - i] = x == 1 ? y : x;
  }
  return r;
}
Extents indices_of(const Extents& shape, std::int64_t position) {
  Extents r(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) r[i] = position % shape[i], position /= shape[i];
  return r;
}
std::int64_t position_of(const Extents& shape, const Extents& indices) {
  std::int64_t p = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) p = p * shape[i] + indices[i];
  return p;
}
std::int64_t broadcast_index(const Extents& from, const Extents& to, std::int64_t index) {
  const Extents at = indices_of(to, index);
  std::int64_t p = 0;
  for (std::size_t i = 0; i < from.size(); ++i) p = p * from[i] + (from[i] == 1 ? 0 : at[at.size() - from.size() + i]);
  return p;
}

}  // namespace random_programs
