// Statements, loops, functions and the constants they read.
#include "csource/writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/block.hpp"
#include "csource/functions.hpp"

namespace reel::csource {

namespace {

constexpr std::int64_t partial_sums = 8;
constexpr std::int64_t fewest_for_partial_sums = 2 * partial_sums;

bool is_real(DType d) { return d == DType::float32 || d == DType::float64; }

// Whether an assignment to y may change x.
bool may_overlap(const Array& x, const Array& y) {
  if (x.name != y.name) return false;
  if (x.single || !x.offset.is_constant() || !y.offset.is_constant()) return true;
  const std::int64_t at = x.offset.constant() - y.offset.constant();
  return at >= 0 && at < std::max<std::int64_t>(1, y.size());
}

}  // namespace

Writer::Writer(std::string prefix, std::set<std::string> taken)
    : prefix_(std::move(prefix)), taken_(std::move(taken)), frames_(1) {}

// ---- Text

void Writer::line(const std::string& text) {
  frames_.back().text += std::string(2 * (blocks_.size() + 1 - frames_.back().base), ' ') + text + "\n";
}

void Writer::statement(const std::string& text) {
  ++statements_;
  if (listed_ && !text.starts_with("(void)")) listed_->others = true;
  line(text + ";");
}

void Writer::open(const std::string& head) {
  if (listed_) listed_->others = true;
  line(head.empty() ? "{" : head + " {");
  blocks_.push_back(multiplicity_);
}

void Writer::close() {
  multiplicity_ = blocks_.back();
  blocks_.pop_back();
  line("}");
}

void Writer::reopen(const std::string& head) {
  multiplicity_ = blocks_.back();
  blocks_.pop_back();
  line("} " + head + " {");
  blocks_.push_back(multiplicity_);
}

void Writer::close_to(std::size_t depth) {
  while (blocks_.size() > depth) close();
}

std::string Writer::new_name(const std::string& stem) {
  std::string name;
  do {
    name = fmt::format("{}{}", stem, ++names_);
  } while (taken_.contains(name));
  return name;
}

void Writer::declare(const std::string& name, const std::string& type) {
  declared_[name] = {type, frames_.size() - 1, declared_.size()};
}

void Writer::define(const std::string& name, DType d, const char* type, const std::string& value, bool truth) {
  ++statements_;
  line(fmt::format("const {} {} = {};", type, name, value));
  declare(name, type);
  if (!listed_) return;
  listed_->list.push_back({name, value, d, truth, calls_ != listed_calls_});
  listed_calls_ = calls_;
}

std::string Writer::let(DType d, const std::string& value) {
  std::string name = new_name("t");
  define(name, d, type_of(d), d == DType::boolean ? fmt::format("(uint8_t)({})", value) : value, false);
  return name;
}

std::string Writer::let_truth(const std::string& condition) {
  std::string name = new_name("t");
  define(name, DType::int32, "int", condition, true);
  return name;
}

std::string Writer::variable(DType d, const std::string& value) {
  std::string name = new_name("v");
  statement(fmt::format("{} {} = {}", type_of(d), name, value));
  declare(name, type_of(d));
  return name;
}

std::string Writer::index_variable(const std::string& value) {
  std::string name = new_name("n");
  statement(fmt::format("int32_t {} = {}", name, value));
  declare(name, "int32_t");
  return name;
}

std::string Writer::local_array(DType d, std::int64_t length) {
  std::string name = new_name("s");
  statement(fmt::format("{} {}[{}] = {{0}}", type_of(d), name, length));
  declare(name, fmt::format("{} *", type_of(d)));
  return name;
}

std::string Writer::index_name() const {
  constexpr std::string_view letters = "ijklmn";
  std::string name =
      blocks_.size() < letters.size() ? std::string(1, letters[blocks_.size()]) : fmt::format("i{}", blocks_.size());
  while (taken_.contains(name)) name += '_';
  return name;
}

Index Writer::loop(std::int64_t extent) {
  if (extent == 1) return Index(0);
  const Index i = loop(Index(0), Index(extent));
  multiplicity_ *= static_cast<double>(extent);
  return i;
}

Index Writer::loop(const Index& first, const Index& bound, int step) {
  std::string i = index_name();
  if (step > 0)
    open(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", i, first.text(), bound.text()));
  else
    open(fmt::format("for (int32_t {0} = {1}; {0} > {2}; --{0})", i, first.text(), bound.text()));
  declare(i, "int32_t");
  return Index(std::move(i));
}

std::vector<Index> Writer::loops(const Shape& shape) {
  std::vector<Index> at;
  for (const std::int64_t extent : shape) at.push_back(loop(extent));
  return at;
}

void Writer::refuse_if(const std::string& condition, const std::string& why) {
  const std::string text = instruction_.name + ": " + why;
  auto at = std::find(refusals_.begin(), refusals_.end(), text);
  if (at == refusals_.end()) at = refusals_.insert(at, text);
  if (listed_) listed_->others = true;
  line(fmt::format("if ({}) return {};", condition, at - refusals_.begin() + 1));
  ++statements_;
  frames_.back().refuses = true;
}

// ---- Calls

std::string Writer::helper(const std::string& name) {
  const auto add = [this](const auto& self, const std::string& one) -> void {
    if (std::find(helpers_.begin(), helpers_.end(), one) != helpers_.end()) return;
    for (const std::string& other : helpers_called_by(one)) self(self, other);
    helpers_.push_back(one);
  };
  add(add, name);
  return prefix_ + "_" + name;
}

std::string Writer::helpers() const {
  std::string text;
  for (const std::string& name : helpers_) text += helper_text(name, prefix_) + "\n";
  return text;
}

std::string Writer::function_name(const std::string& function, DType d) {
  constexpr std::string_view instructions[] = {"fabs", "sqrt", "floor", "ceil", "trunc", "rint", "fma", "copysign"};
  if (std::find(std::begin(instructions), std::end(instructions), function) == std::end(instructions))
    calls_ += multiplicity_;
  const bool narrow = d == DType::float32;
  if (!is_helper(function)) return function + (narrow ? "f" : "");
  return (narrow ? "(float)" : "") + helper(function);
}

// ---- Elements

Array Writer::temporary(DType dtype, const Shape& shape) {
  return temporaries_.emplace_back(workspace_.take(dtype, shape));
}

void Writer::free_temporaries(std::size_t but) {
  for (; temporaries_.size() > but; temporaries_.pop_back()) workspace_.give_back(temporaries_.back());
}

std::string Writer::convert(const std::string& x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::boolean) return fmt::format("(uint8_t)({} != 0)", x);
  return fmt::format("({})({})", type_of(to), x);
}

void Writer::store(const Array& y, std::span<const Index> at, const std::string& value) {
  statement(fmt::format("{} = {}", y.at(at), value));
}

void Writer::accumulate(const Array& y, std::span<const Index> at, const std::string& value) {
  add_to(y.at(at), y.dtype, value);
}

// Integers modulo 2^n; booleans by or.
void Writer::add_to(const std::string& to, DType d, const std::string& x) {
  count_flops(1);
  if (is_real(d)) return statement(fmt::format("{} += {}", to, x));
  if (d == DType::boolean) return statement(fmt::format("{0} = (uint8_t)({0} | {1})", to, x));
  const char* const wide = d == DType::int64 ? "uint64_t" : "uint32_t";
  statement(fmt::format("{0} = ({1})(({2}){0} + ({2})({3}))", to, type_of(d), wide, x));
}

void Writer::copy(const Array& from, const Array& to) {
  if (to.size() == 0) return;
  Array both[] = {to, from.shape == to.shape ? from : broadcast(from, to.shape)};
  if (both[0].dense() && both[1].dense() && from.dtype == to.dtype && to.size() > 1) {
    statement(
        fmt::format("memcpy({}, {}, {} * sizeof({}))", to.address(), from.address(), to.size(), type_of(to.dtype)));
    return;
  }
  Shape shape = to.shape;
  merge_axes(shape, both);
  const Blocks nest(*this);
  const std::vector<Index> at = loops(shape);
  store(both[0], at, convert(both[1].at(at), from.dtype, to.dtype));
}

std::string Writer::combine(char op, DType d, const std::string& x, const std::string& y) {
  if (is_real(d)) return fmt::format("{} {} {}", x, op, y);
  if (d == DType::boolean) return fmt::format("({} {} {})", x, op == '+' ? '|' : '&', y);
  const char* const wide = d == DType::int64 ? "uint64_t" : "uint32_t";
  return fmt::format("({0}){1} {3} ({0}){2}", wide, x, y, op);
}

Array Writer::dense(const Array& x) {
  if (x.single || x.dense()) return x;
  Array y = temporary(x.dtype, x.shape);
  copy(x, y);
  return y;
}

Array Writer::in_memory(const Array& x) {
  if (!x.single) return dense(x);
  Array y = temporary(x.dtype, x.shape);
  copy(x, y);
  return y;
}

void Writer::add(const Array& from, const Array& to) {
  if (to.size() == 0) return;
  Array both[] = {to, from.shape == to.shape ? from : broadcast(from, to.shape)};
  Shape shape = to.shape;
  merge_axes(shape, both);
  const Blocks nest(*this);
  const std::vector<Index> at = loops(shape);
  accumulate(both[0], at, both[1].at(at));
}

void Writer::fill(const Array& to, const std::string& value) {
  if (to.size() == 0) return;
  Array y[] = {to};
  Shape shape = to.shape;
  merge_axes(shape, y);
  const Blocks nest(*this);
  store(y[0], loops(shape), value);
}

void Writer::assign_all(std::vector<Array> from, std::span<const Array> to) {
  for (std::size_t k = 0; k < to.size(); ++k) {
    bool changes = false;
    for (std::size_t j = 0; j < to.size(); ++j)
      changes |= !same_place(from[j], to[j]) && !same_place(from[k], to[k]) && may_overlap(from[k], to[j]);
    if (!changes) continue;
    if (from[k].size() == 1) {
      from[k] = csource::single_value(let(from[k].dtype, from[k].value()), from[k].dtype, from[k].shape);
    } else {
      const Array kept = temporary(from[k].dtype, from[k].shape);
      copy(from[k], kept);
      from[k] = kept;
    }
  }
  for (std::size_t k = 0; k < to.size(); ++k)
    if (!same_place(from[k], to[k]) || from[k].strides != to[k].strides) copy(from[k], to[k]);
}

std::string Writer::sum(DType d, const Shape& over, const Term& term) {
  const auto add = [&](const std::string& to, const std::string& x) { add_to(to, d, x); };
  const std::int64_t last = over.empty() ? 1 : *(over.end() - 1);
  if (last < fewest_for_partial_sums) {
    const std::string all = variable(d, zero(d));
    const Blocks nest(*this);
    add(all, term(loops(over)));
    return all;
  }
  const std::string s = local_array(d, partial_sums);
  {
    const Blocks nest(*this);
    std::vector<Index> at = loops(Shape(over.data(), over.size() - 1));
    const std::int64_t whole = last / partial_sums * partial_sums;
    at.emplace_back();
    {
      const Blocks inner(*this);
      const std::string i = index_name();
      open(fmt::format("for (int32_t {0} = 0; {0} < {1}; {0} += {2})", i, whole, partial_sums));
      repeat(static_cast<double>(whole));
      declare(i, "int32_t");
      const Index k = loop(Index(0), Index(partial_sums));
      at.back() = Index(i) + k;
      add(fmt::format("{}[{}]", s, k.text()), term(at));
    }
    if (whole < last) {
      const Index i = loop(Index(whole), Index(last));
      repeat(static_cast<double>(last - whole));
      at.back() = i;
      add(fmt::format("{}[{}]", s, (i - Index(whole)).text()), term(at));
    }
  }
  if (!is_real(d)) {
    const std::string all = variable(d, "0");
    const Blocks nest(*this);
    add(all, fmt::format("{}[{}]", s, loop(partial_sums).text()));
    return all;
  }
  return let(d, fmt::format("(({0}[0] + {0}[1]) + ({0}[2] + {0}[3])) + (({0}[4] + {0}[5]) + ({0}[6] + {0}[7]))", s));
}

// Rows of b are added to rows of y, so that the innermost loop is along memory; columns are sums along the inner axis.
void Writer::product(const Array& a, const Array& b, const Array& y, bool adds) {
  const std::int64_t rows = y.shape.begin()[0], columns = y.shape.begin()[1], inner = a.shape.begin()[1];
  count_flops(rows * columns * inner);  // the multiplications; sums count themselves
  if (columns == 1 || inner == 1 || b.strides.begin()[1] != 1) {
    const Blocks nest(*this);
    const std::vector<Index> at = loops(y.shape);
    const std::string s = sum(y.dtype, {inner}, [&](std::span<const Index> k) {
      const Index left[] = {at[0], k[0]}, right[] = {k[0], at[1]};
      return multiply(y.dtype, a.at(left), b.at(right));
    });
    return adds ? accumulate(y, at, s) : store(y, at, s);
  }
  const Blocks nest(*this);
  const Index i = loop(rows);
  if (!adds) {
    const Blocks first(*this);
    const Index at[] = {i, loop(columns)};
    store(y, at, zero(y.dtype));
  }
  const Index k = loop(inner), left[] = {i, k};
  const std::string factor = let(y.dtype, a.at(left));
  const Index j = loop(columns), right[] = {k, j}, at[] = {i, j};
  accumulate(y, at, multiply(y.dtype, factor, b.at(right)));
}

std::vector<Array> Writer::parts(std::span<const Array> arrays, int inner) {
  Shape outer;  // to which the leading axes of all broadcast
  for (const Array& x : arrays) {
    const int lead = x.rank() - inner;
    while (outer.rank() < lead) outer.insert(0, 1);
    for (int d = 0; d < lead; ++d)
      if (const std::int64_t extent = x.shape.begin()[d]; extent != 1) outer.begin()[outer.rank() - lead + d] = extent;
  }
  const std::vector<Index> at = loops(outer);
  std::vector<Array> list;
  for (const Array& x : arrays) {
    const int lead = x.rank() - inner, before = outer.rank() - lead;
    Array part = x;
    part.shape = Shape(x.shape.begin() + lead, static_cast<std::size_t>(inner));
    part.strides = Shape(x.strides.begin() + lead, static_cast<std::size_t>(inner));
    for (int d = 0; d < lead; ++d)
      if (x.shape.begin()[d] != 1 && !x.single)
        part.offset.add(at[static_cast<std::size_t>(before) + static_cast<std::size_t>(d)], x.strides.begin()[d]);
    list.push_back(std::move(part));
  }
  return list;
}

void Writer::batched_product(const Array& a, const Array& b, const Array& y) {
  if (y.size() == 0) return;
  const Blocks nest(*this);
  const Array all[] = {a, b, y};
  const std::vector<Array> part = parts(all, 2);
  product(part[0], part[1], part[2]);
}

std::vector<std::string> elements_of(const Tensor& x) {
  std::vector<std::string> list;
  const auto add = [&]<class T>(const T* data) {
    for (std::int64_t i = 0; i < x.size(); ++i)
      if constexpr (std::is_floating_point_v<T>)
        list.push_back(literal(static_cast<double>(data[i]), x.dtype()));
      else
        list.push_back(literal(static_cast<std::int64_t>(data[i]), x.dtype()));
  };
  const std::byte* data = detail::block(x)->data;
  switch (x.dtype()) {
    case DType::boolean:
    case DType::uint8:
      add(reinterpret_cast<const std::uint8_t*>(data));
      break;
    case DType::int32:
      add(reinterpret_cast<const std::int32_t*>(data));
      break;
    case DType::int64:
      add(reinterpret_cast<const std::int64_t*>(data));
      break;
    case DType::float32:
      add(reinterpret_cast<const float*>(data));
      break;
    default:
      add(reinterpret_cast<const double*>(data));
  }
  return list;
}

Array Writer::constant(const Tensor& x) {
  const std::vector<std::string> list = elements_of(x);
  if (list.empty()) return single_value("0", x.dtype(), x.shape());
  if (std::all_of(list.begin(), list.end(), [&](const std::string& one) { return one == list[0]; }))
    return single_value(list[0], x.dtype(), x.shape());
  std::string text;
  constexpr std::size_t most_per_line = 6;
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : i % most_per_line ? ", " : ",\n  ") + list[i];
  Array& known = known_constants_[type_of(x.dtype()) + text];
  if (known.name.empty()) {
    known.name = fmt::format("{}_c{}", prefix_, known_constants_.size());
    constant_bytes_ += x.size() * static_cast<std::int64_t>(item_size(x.dtype()));
    constants_.emplace_back(known.name, fmt::format("static const {} {}[{}] = {{\n  {}}};\n", type_of(x.dtype()),
                                                    known.name, list.size(), text));
  }
  return dense_array(known.name, x.dtype(), x.shape());
}

std::string Writer::constants() const {
  std::set<std::string, std::less<>> read;
  for (const std::string* text : {&functions_, &body()})
    for_each_identifier(*text, [&](std::string_view name) { read.emplace(name); });
  std::string text;
  for (const auto& [name, definition] : constants_)
    if (read.contains(name)) text += definition;
  return text;
}

// ---- Functions

void Writer::open_function() { frames_.push_back({.base = blocks_.size()}); }

// Variables of enclosing functions that it names become its parameters.
void Writer::close_function() {
  const std::size_t own = frames_.size() - 1;
  const Frame frame = std::move(frames_.back());
  frames_.pop_back();
  std::map<std::size_t, std::string> needed;  // by order of declaration
  for_each_identifier(frame.text, [&](std::string_view name) {
    const auto at = declared_.find(std::string(name));
    if (at != declared_.end() && at->second.frame < own) needed[at->second.order] = at->first;
  });
  std::string parameters, arguments;
  for (const auto& [order, name] : needed) {
    const std::string& type = declared_[name].type;
    parameters += fmt::format("{}{}{}{}", parameters.empty() ? "" : ", ", type, type.ends_with('*') ? "" : " ", name);
    arguments += (arguments.empty() ? "" : ", ") + name;
  }
  const std::string name = fmt::format("{}_{}", prefix_, ++functions_made_);
  functions_ += fmt::format("static {} {}({}) {{\n{}{}}}\n\n", frame.refuses ? "int" : "void", name,
                            parameters.empty() ? "void" : parameters, frame.text, frame.refuses ? "  return 0;\n" : "");
  const std::string call = fmt::format("{}({})", name, arguments);
  if (!frame.refuses) return statement(call);
  frames_.back().refuses = true;
  const std::string code = new_name("code");
  statement(fmt::format("const int {} = {}", code, call));
  line(fmt::format("if ({0} != 0) return {0};", code));
}

}  // namespace reel::csource
