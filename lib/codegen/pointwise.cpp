// C forms of the pointwise table. In a form $x, $y and $w are the operands, $0, $1, ... constants of their dtype, and
// @f a function: a helper (csource/functions.hpp) or one of libm.
#include "codegen/pointwise.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/fail.hpp"
#include "kernels/table.hpp"
#include "ops/elementwise/program.hpp"

namespace reel::codegen {

namespace {

namespace table = kernels::table;
using csource::Writer, loops::Node, loops::Opcode;

constexpr auto names = std::apply([](const auto&... d) { return std::array{d.name...}; }, table::definitions);

struct Form {
  std::string_view name, floating;
  std::string_view integer = {};  // computed in uint64_t or as int64_t, then cast back; empty if the op has none
  std::string_view natural = {};  // of uint8, where compilers warn of that for signed integers
};

constexpr std::array forms{
    Form{"add", "$x + $y", "#x + #y"},
    Form{"subtract", "$x - $y", "#x - #y"},
    Form{"multiply", "$x * $y", "#x * #y"},
    Form{"divide", "$x / $y"},
    Form{"negative", "-$x", "0 - #x"},
    Form{"square", "$x * $x", "#x * #x"},
    Form{"squared_difference", "($x - $y) * ($x - $y)", "(#x - #y) * (#x - #y)"},
    Form{"reciprocal", "$1 / $x"},
    Form{"abs", "@fabs($x)", "$x < 0 ? 0 - #x : #x", "$x"},
    Form{"sign", "$x > $0 ? $1 : $x < $0 ? -$1 : $x", "($x > 0) - ($x < 0)", "$x > 0"},
    Form{"copysign", "@copysign($x, $y != $y ? $0 : $y)"},
    Form{"maximum", "$x > $y || $x != $x ? $x : $y", "$x > $y ? $x : $y"},
    Form{"minimum", "$x < $y || $x != $x ? $x : $y", "$x < $y ? $x : $y"},
    Form{"clip", "($x > $y || $x != $x ? $x : $y) < $w || $x != $x || $y != $y ? ($x > $y || $x != $x ? $x : $y) : $w",
         "($x > $y ? $x : $y) < $w ? ($x > $y ? $x : $y) : $w"},
    Form{"fma", "@fma($x, $y, $w)"},
    Form{"lerp", "@lerp($x, $y, $w)"},
    Form{"floor", "@floor($x)", "$x"},
    Form{"ceil", "@ceil($x)", "$x"},
    Form{"round", "@rint($x)", "$x"},
    Form{"trunc", "@trunc($x)", "$x"},
    Form{"frac", "$x - @trunc($x)"},
    Form{"floor_divide", "@floor_divide($x, $y)", "@floor_divide_integer($x, $y)"},
    Form{"mod", "@mod($x, $y)", "@mod_integer($x, $y)"},
    Form{"power", "@pow($x, $y)", "@power_integer($x, $y)"},
    Form{"sqrt", "@sqrt($x)"},
    Form{"rsqrt", "$1 / @sqrt($x)"},
    Form{"cbrt", "@cbrt($x)"},
    Form{"hypot", "@hypot($x, $y)"},
    Form{"exp", "@exp($x)"},
    Form{"exp2", "@exp2($x)"},
    Form{"expm1", "@expm1($x)"},
    Form{"log", "@log($x)"},
    Form{"log2", "@log2($x)"},
    Form{"log10", "@log10($x)"},
    Form{"log1p", "@log1p($x)"},
    Form{"logit", "@logit($x)"},
    Form{"kl_div", "@kl_div($x, $y)"},
    Form{"logaddexp", "@logaddexp($x, $y)"},
    Form{"erf", "@erf($x)"},
    Form{"erfc", "@erfc($x)"},
    Form{"lgamma", "@lgamma($x)"},
    Form{"digamma", "@digamma($x)"},
    Form{"polygamma", "@polygamma($x, $y)"},
    Form{"erfcx", "@erfcx($x)"},
    Form{"erfcx_derivative", "@erfcx_derivative($x, $y)"},
    Form{"ndtr", "@ndtr($x)"},
    Form{"log_ndtr", "@log_ndtr($x)"},
    Form{"erfinv", "@erfinv($x)"},
    Form{"erfcinv", "@erfcinv($x)"},
    Form{"ndtri", "@ndtri($x)"},
    Form{"sin", "@sin($x)"},
    Form{"cos", "@cos($x)"},
    Form{"tan", "@tan($x)"},
    Form{"arcsin", "@asin($x)"},
    Form{"arccos", "@acos($x)"},
    Form{"arctan", "@atan($x)"},
    Form{"arctan2", "@atan2($x, $y)"},
    Form{"deg2rad", "$x * ~0.017453292519943295769"},
    Form{"rad2deg", "$x * ~57.295779513082320877"},
    Form{"sinh", "@sinh($x)"},
    Form{"cosh", "@cosh($x)"},
    Form{"tanh", "@tanh($x)"},
    Form{"arcsinh", "@asinh($x)"},
    Form{"arccosh", "@acosh($x)"},
    Form{"arctanh", "@atanh($x)"},
    Form{"relu", "$x <= $0 ? $0 : $x", "$x <= 0 ? 0 : $x"},
    Form{"relu6", "$x >= $6 ? $6 : $x <= $0 ? $0 : $x"},
    Form{"hard_sigmoid", "$x >= $3 ? $1 : $x <= -$3 ? $0 : ($x + $3) / $6"},
    Form{"hard_swish", "$x >= $3 ? $x : $x <= -$3 ? $0 : $x * ($x + $3) / $6"},
    Form{"hardshrink", "@fabs($x) <= $y ? $0 : $x"},
    Form{"leaky_relu", "$x > $0 ? $x : $y * $x"},
    Form{"elu", "$x > $0 ? $x : $y * @expm1($x)"},
    Form{"selu", "$x > $0 ? ~1.05070098735548049342 * $x : ~1.75809934084737685994 * @expm1($x)"},
    Form{"gelu", "@gelu($x)"},
    Form{"silu", "@silu($x)"},
    Form{"sigmoid", "@sigmoid($x)"},
    Form{"softplus", "@softplus($x)"},
    Form{"softsign", "@softsign($x)"},
    Form{"sigmoid_cross_entropy", "$x * ($x > $0 ? $1 - $y : -$y) + @softplus(-@fabs($x))"},
    Form{"logistic", "@sigmoid($x)"},
};

const Form& form_of(std::size_t definition) {
  const auto at = std::find_if(forms.begin(), forms.end(), [&](const Form& f) { return f.name == names[definition]; });
  if (at == forms.end()) detail::fail<TypeError>("generate_c", "{} has no form in C", names[definition]);
  return *at;
}

// The text with operands, constants and functions inserted.
std::string expand(Writer& w, std::string_view form, DType d, std::span<const std::string> x) {
  std::string text;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = form[i];
    const auto operand = [&] { return x[form[i] == 'x' ? 0 : form[i] == 'y' ? 1 : 2]; };
    if (c == '$' && form[i + 1] >= '0' && form[i + 1] <= '9') {
      text += csource::literal(static_cast<double>(form[++i] - '0'), d);
    } else if (c == '$') {
      ++i;
      text += operand();
    } else if (c == '#') {
      ++i;
      text += fmt::format("({})({})", d == DType::int64 ? "uint64_t" : "uint32_t", operand());
    } else if (c == '~') {  // a constant, up to the next blank
      const std::size_t end = std::min(form.find(' ', i), form.size());
      text += csource::literal(std::stod(std::string(form.substr(i + 1, end - i - 1))), d);
      i = end - 1;
    } else if (c == '@') {
      const std::size_t end = form.find('(', i);
      text += w.function_name(std::string(form.substr(i + 1, end - i - 1)), d);
      i = end - 1;
    } else {
      text += c;
    }
  }
  return text;
}

// add and maximum are or, multiply and minimum are and.
std::string boolean_value(std::size_t definition, std::span<const std::string> x) {
  const std::string_view name = names[definition];
  const bool is_or = name == "add" || name == "maximum";
  return fmt::format("(uint8_t)({} {} {})", x[0], is_or ? '|' : '&', x[1]);
}

}  // namespace

std::string pointwise_value(Writer& w, std::size_t definition, DType d, std::span<const std::string> x) {
  const Form& form = form_of(definition);
  w.count_flops(1);
  if (d == DType::float32 || d == DType::float64) return expand(w, form.floating, d, x);
  if (d == DType::boolean) return boolean_value(definition, x);
  if (form.integer.empty()) detail::fail<TypeError>("generate_c", "{} has no form in C for {}", form.name, d);
  return fmt::format("({})({})", csource::type_of(d),
                     expand(w, d == DType::uint8 && !form.natural.empty() ? form.natural : form.integer, d, x));
}

std::string pointwise_derivative(Writer& w, std::size_t definition, std::size_t k, DType d,
                                 std::span<const std::string> x, const KnownNodes& known) {
  std::vector<std::string> inputs(x.begin(), x.end());
  inputs.resize(loops::node_operands);
  return write_graph(w, ops::formula_of(definition, k), d, inputs, {}, known)[0];
}

namespace {

// The truth of a comparison, a predicate or a connective.
std::string condition(const Node& node, std::span<const std::string> x) {
  if (node.opcode == Opcode::comparison) return csource::comparison(node.function, x[0], x[1]);
  if (node.opcode == Opcode::predicate) {
    constexpr const char* tests[] = {"isnan", "isinf", "isfinite"};
    return fmt::format("{}({}) != 0", tests[node.function], x[0]);
  }
  return x.size() == 1 ? "!" + x[0] : csource::connection(node.function, x[0], x[1]);
}

}  // namespace

std::vector<bool> needed_nodes(const loops::Graph& graph, const KnownNodes& known) {
  std::vector<bool> needed(graph.nodes.size()), computed(graph.nodes.size());
  for (const auto& one : known) computed[one.first] = true;
  for (const std::int32_t o : graph.outputs) needed[static_cast<std::size_t>(o)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    if (needed[i] && !computed[i] && graph.nodes[i].opcode >= Opcode::value)
      for (const std::int32_t x : graph.nodes[i].in)
        if (x >= 0) needed[static_cast<std::size_t>(x)] = true;
  return needed;
}

std::vector<std::string> write_graph(Writer& w, const loops::Graph& graph, DType d, std::span<const std::string> inputs,
                                     std::span<const double> parameters, const KnownNodes& known) {
  std::vector<std::string> value(graph.nodes.size());
  for (const auto& [node, name] : known) value[node] = name;
  const std::vector<bool> needed = needed_nodes(graph, known);
  std::vector<bool> reads(inputs.size()), used(graph.nodes.size());
  for (const std::int32_t o : graph.outputs) used[static_cast<std::size_t>(o)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!needed[i] || !value[i].empty()) continue;
    std::vector<std::string> x;
    if (node.opcode >= Opcode::value)
      for (const std::int32_t operand : node.in) {
        x.push_back(operand < 0 ? std::string() : value[static_cast<std::size_t>(operand)]);
        if (operand >= 0) used[static_cast<std::size_t>(operand)] = true;
      }
    if (node.opcode != Opcode::derivative)
      while (!x.empty() && x.back().empty()) x.pop_back();
    const auto index = static_cast<std::size_t>(node.in[0]);
    switch (node.opcode) {
      case Opcode::input:
        value[i] = inputs[index];
        reads[index] = true;
        break;
      case Opcode::parameter:
        value[i] = csource::literal(parameters[index], d);
        break;
      case Opcode::literal:
        value[i] = csource::literal(loops::literal_value(node), d);
        break;
      case Opcode::value:
        value[i] = w.let(d, pointwise_value(w, node.function, d, x));
        break;
      case Opcode::derivative:
        value[i] = pointwise_derivative(w, node.function, node.operand, d, x);
        break;
      case Opcode::select:
        value[i] = w.let(d, fmt::format("{} ? {} : {}", x[0], x[1], x[2]));
        break;
      default:
        value[i] = w.let_truth(condition(node, x));
    }
  }
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (!reads[k] && csource::is_name(inputs[k])) w.statement("(void)" + inputs[k]);  // which keeps compilers silent
  for (const auto& [node, name] : known)
    if (!used[node] && csource::is_name(name)) w.statement("(void)" + name);
  std::vector<std::string> outputs;
  for (const std::int32_t o : graph.outputs) outputs.push_back(value[static_cast<std::size_t>(o)]);
  return outputs;
}

std::string refused_operands(std::size_t definition, DType d, std::span<const std::string> x, std::string& why) {
  const std::string_view name = names[definition];
  const bool integer = is_integer(d);
  if (integer && (name == "floor_divide" || name == "mod")) {
    why = "an integer is divided by zero";
    return x[1] + " == 0";
  }
  if (integer && name == "power" && d != DType::uint8) {
    why = "an integer has a negative integer exponent";
    return x[1] + " < 0";
  }
  if (name == "elu") {
    why = "alpha is negative";
    return x[1] + " < 0";
  }
  return {};
}

}  // namespace reel::codegen
