// Programs as C++ source.
#include <regex>
#include <sstream>

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
  static const std::regex slot(R"(([xir])\[(\d+)\]|x\.tensor\((\d+)\)|reel::)");
  const std::string from = call;
  std::string text;
  auto last = from.begin();
  std::size_t ints = 0, reals = 0;
  for (std::sregex_iterator found(from.begin(), from.end(), slot), end; found != end; ++found) {
    const std::smatch& m = *found;
    text.append(last, m[0].first);
    last = m[0].second;
    if (m[0] == "reel::") continue;
    const std::size_t k = std::stoul(m[2].matched ? m[2] : m[3]);
    if (m[1] == "i")
      text += std::to_string(s.ints[k]), ++ints;
    else if (m[1] == "r")
      text += number(s.reals[k]), ++reals;
    else
      text += k < names.size() ? names[k] : m.str();
  }
  text.append(last, from.end());
  if (ints == 0 && !s.ints.empty()) text += " /* i: " + braces(s.ints) + " */";
  if (reals == 0)
    for (std::size_t k = 0; k < s.reals.size(); ++k)
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
