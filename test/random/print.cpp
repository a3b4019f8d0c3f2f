// Programs as C++ source.
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "check/modes.hpp"
#include "rows.hpp"

namespace random_programs {

std::string braces(const std::vector<std::int64_t>& list) {
  std::string r = "{";
  for (std::size_t i = 0; i < list.size(); ++i) r += (i ? ", " : "") + std::to_string(list[i]);
  return r + "}";
}
const char* cpp_name(DType d) {
  static const char* const names[] = {
      "bool",     "unsigned char", "int",    "std::int64_t",        "float16",
      "bfloat16", "float",         "double", "std::complex<float>", "std::complex<double>"};
  return names[static_cast<int>(d)];
}

namespace {
std::string number(double x) {
  std::ostringstream out;
  out.precision(17);
  out << x;
  return out.str();
}
std::string input_text(const Statement& s) {
  std::string list;
  for (std::size_t i = 0; i < s.data.size(); ++i) {
    const std::string value = number(s.data[i]);
    list += i ? ", " : "";
    list += reel::is_complex(s.dtype) ? "{" + value + ", " + number(s.imaginary[i]) + "}" : value;
  }
  const bool complex = reel::is_complex(s.dtype);
  std::string r = "from_data(std::vector<" + std::string(complex ? "std::complex<double>" : "double") + ">{" + list +
                  "}, Shape" + braces(s.shape) + ")";
  if (s.dtype != DType::float64 && s.dtype != DType::complex128)
    r = "cast(" + r + ", DType::" + reel::name(s.dtype) + ")";
  if (s.layout == Layout::transposed) r = "transpose(contiguous(transpose(" + r + ")))";
  if (s.layout == Layout::flipped) r = "flip(contiguous(flip(" + r + ")))";
  if (s.layout == Layout::strided && !s.shape.empty())
    r = "slice(repeat(" + r + ", 2, -1), {ellipsis, range_from(1, 2)})";
  return r;
}
}  // namespace

std::string text_of(const char* call, const Statement& s, const std::vector<std::string>& names) {
  static constexpr std::string_view slots[] = {"reel::", "x.tensors()", "x.tensor(", "s.text", "x[", "i[", "r[", "i"};
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const std::string all = call;
  std::string text;
  bool ints = s.ints.empty(), reals = s.reals.empty();  // named
  for (std::size_t at = 0; at < all.size();) {
    const auto* const slot = std::ranges::find_if(slots, [&](std::string_view one) {
      return all.compare(at, one.size(), one) == 0 && (at == 0 || !in_name(all[at - 1])) &&
             (one != "i" || !in_name(all[at + 1]));
    });
    const bool indexed = slot != std::end(slots) && (slot->back() == '[' || slot->back() == '(');
    if (slot == std::end(slots) || (indexed && !std::isdigit(static_cast<unsigned char>(all[at + slot->size()])))) {
      text += all[at++];
      continue;
    }
    const std::size_t begin = at, k = indexed ? std::stoul(all.substr(at + slot->size())) : 0;
    at = indexed ? all.find_first_of("])", at) + 1 : at + slot->size();
    if (*slot == "x[" || *slot == "x.tensor(") text += k < names.size() ? names[k] : all.substr(begin, at - begin);
    if (*slot == "x.tensors()")
      for (std::size_t n = 0; n < names.size(); ++n)
        text += (n ? ", " : "{") + names[n] + (n + 1 < names.size() ? "" : "}");
    if (*slot == "i[") text += std::to_string(s.ints[k]), ints = true;
    if (*slot == "r[") text += number(s.reals[k]), reals = true;
    if (*slot == "i") text += braces(s.ints), ints = true;
    if (*slot == "s.text") text += '"' + s.text + '"', ints = true;
  }
  if (!ints) text += " /* i: " + braces(s.ints) + " */";
  for (std::size_t k = 0; k < s.reals.size() && !reals; ++k)
    text += (k ? ", " : " /* r: ") + number(s.reals[k]) + (k + 1 == s.reals.size() ? " */" : "");
  return text;
}

std::string text_of(const Program& p, const std::string& indent) {
  std::string r;
  int parameter = 0;
  for (const Statement& s : p.statements) {
    std::vector<std::string> args;
    for (const Arg& a : s.args) {
      std::string text = "v" + std::to_string(a.index);
      if (a.kind == Arg::weak_floating)
        text = number(a.number) + (a.number == static_cast<double>(static_cast<int>(a.number)) ? "." : "");
      if (a.kind == Arg::weak_integer) text = std::to_string(static_cast<int>(a.number));
      if (a.kind == Arg::weak_boolean) text = a.number != 0 ? "true" : "false";
      args.push_back(a.moved ? "std::move(" + text + ")" : text);
    }
    std::string call = s.op->name + "(";
    for (std::size_t i = 0; i < args.size(); ++i) call += (i ? ", " : "") + args[i];
    call += ")";
    if (s.op->text) call = s.op->text(s, args);
    if (s.role == Role::parameter) call = "x[" + std::to_string(parameter++) + "]";
    if (s.role == Role::source || s.role == Role::constant) call = input_text(s);
    const std::string name =
        s.results == 1 ? "Tensor v" + std::to_string(s.first) : "std::vector<Tensor> r" + std::to_string(s.first);
    r += indent + name + " = " + call + ";" + (s.role == Role::source ? "  // source" : "") + "\n";
    for (int k = 0; s.results > 1 && k < s.results; ++k)
      r += indent + "Tensor v" + std::to_string(s.first + k) + " = r" + std::to_string(s.first) + "[" +
           std::to_string(k) + "];\n";
  }
  r += indent + "return std::vector<Tensor>{";
  for (std::size_t i = 0; i < p.outputs.size(); ++i) r += (i ? ", v" : "v") + std::to_string(p.outputs[i]);
  return r + "};\n";
}

}  // namespace random_programs
