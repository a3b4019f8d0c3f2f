// generate_c: a traced function as a header and a source of C.
#include <fmt/format.h>

#include <algorithm>
#include <reel/codegen.hpp>
#include <reel/ops/shape.hpp>

#include "codegen/program.hpp"
#include "core/fail.hpp"
#include "program/passes/passes.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"

namespace reel::codegen {

namespace {

constexpr const char* who = "generate_c";
using csource::Array, csource::Workspace, csource::Writer;

// A parameter of the generated function.
struct Parameter {
  std::string name;
  DType dtype;
  Shape shape;
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string shown(const Shape& shape) {
  std::string text = "[";
  for (int d = 0; d < shape.rank(); ++d) text += fmt::format("{}{}", d ? ", " : "", shape.begin()[d]);
  return text + "]";
}

// Names of the file's own that a parameter may not have.
bool is_own_name(const std::string& name, const std::string& function) {
  const bool is_workspace = std::any_of(Workspace::types.begin(), Workspace::types.end(),
                                        [&](DType d) { return name == Workspace::pointer(d); });
  return is_workspace || name == "workspace" || name == function || name.starts_with(function + "_");
}

class Generation {
 public:
  Generation(const detail::FlatFunction& f, std::span<const Tensor> arguments, const CodegenOptions& options)
      : options_(options), arguments_(arguments) {
    if (!csource::is_name(options.name))
      detail::fail<ValueError>(who, "name is '{}'; it must be an identifier and no keyword of C or C++", options.name);
    trace(f);
    inputs_ = parameters("inputs", options.inputs, 'x');
    outputs_ = parameters("outputs", options.outputs, 'y');
    check_names();
  }

  CSource make() {
    Writer w(options_.name, names_);
    write_body(w);
    if (w.workspace().bytes() > static_cast<std::int64_t>(options_.max_workspace))
      detail::fail<ValueError>(who, "the function needs {} bytes of workspace, and max_workspace is {}",
                               w.workspace().bytes(), options_.max_workspace);
    const CodegenStats stats{w.statements(), w.flops(), w.workspace().bytes(), w.constant_bytes()};
    return {options_.name, header(w), text(w), stats};
  }

 private:
  void trace(const detail::FlatFunction& f) {
    program::Trace trace(who);
    trace.keep_parts();
    std::vector<Tensor> abstract;
    for (const Tensor& x : arguments_) {
      if (!x.defined()) detail::fail<ValueError>(who, "an argument holds an empty tensor");
      rows_.push_back(x);
      abstract.push_back(trace.argument(detail::block(x)->contiguous() ? x : rows_.back() = dense(x)));
    }
    const std::vector<Tensor> results = f(abstract);
    if (!trace.assigned().empty() || !trace.reads().empty())
      detail::fail<TraceError>(who,
                               "the function reads or assigns variable '{}'; take its value as an argument, and "
                               "return the new one",
                               trace.reads().empty() ? trace.assigned()[0].name() : trace.reads()[0].variable().name());
    program_ = trace.finish(results);
    program::simplify(program_);
  }
  static Tensor dense(const Tensor& x) {
    const program::Untraced computing;
    return contiguous(x);
  }

  std::vector<Parameter> parameters(const char* kind, const std::vector<std::string>& names, char letter) {
    const bool are_inputs = letter == 'x';
    const std::size_t count = are_inputs ? program_.arguments.size() : program_.results.size();
    if (!names.empty() && names.size() != count)
      detail::fail<ValueError>(who, "{} has {} names, and the function has {}", kind, names.size(), count);
    std::vector<Parameter> list;
    for (std::size_t k = 0; k < count; ++k) {
      const Tensor& x =
          are_inputs ? program_.values[program_.arguments[k]].tensor : program_.operands[program_.results[k]].tensor;
      list.push_back({names.empty() ? fmt::format("{}{}", letter, k) : names[k], x.dtype(), x.shape()});
      if (!csource::type_of(x.dtype()))
        detail::fail<TypeError>(who, "{} is {}, which has no type in C; cast it to float32 or float64",
                                list.back().name, x.dtype());
      constexpr std::int64_t most_elements = std::int64_t{1} << 31;  // positions are int32_t
      if (x.size() >= most_elements) detail::fail<ValueError>(who, "{} has {} elements", list.back().name, x.size());
    }
    return list;
  }

  void check_names() {
    for (const auto* list : {&inputs_, &outputs_})
      for (const Parameter& p : *list) {
        if (!csource::is_name(p.name))
          detail::fail<ValueError>(who,
                                   "'{}' is no name of a parameter: it must be an identifier and no keyword of C "
                                   "or C++",
                                   p.name);
        if (is_own_name(p.name, options_.name) || !names_.insert(p.name).second)
          detail::fail<ValueError>(who, "the name '{}' occurs twice, or is one of the generated code", p.name);
      }
  }

  std::string type_of(const Parameter& p, bool is_input) const {
    return fmt::format("{}{} *", is_input ? "const " : "", csource::type_of(p.dtype));
  }

  void write_body(Writer& w) {
    const std::string restricted = options_.name + "_restrict";
    std::vector<Array> arguments, targets;
    for (const Parameter& p : inputs_) {
      w.declare(p.name, type_of(p, true) + restricted);
      arguments.push_back(csource::dense_array(p.name, p.dtype, p.shape));
    }
    for (const Parameter& p : outputs_) {
      w.declare(p.name, type_of(p, false) + restricted);
      targets.push_back(csource::dense_array(p.name, p.dtype, p.shape));
    }
    for (const DType d : Workspace::types)
      w.declare(Workspace::pointer(d), fmt::format("{} *{}", csource::type_of(d), restricted));
    write_program(w, program_, arguments, targets).release(w);
  }

  // ---- The files

  std::string list_of(const std::vector<Parameter>& list) const {
    std::string text;
    for (const Parameter& p : list)
      text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", p.name, csource::type_of(p.dtype), shown(p.shape));
    return text.empty() ? "none" : text;
  }

  std::string prototype(const char* restricted) const {
    std::string text = fmt::format("int {}(", options_.name);
    for (const Parameter& p : inputs_) text += fmt::format("{}{}{}, ", type_of(p, true), restricted, p.name);
    for (const Parameter& p : outputs_) text += fmt::format("{}{}{}, ", type_of(p, false), restricted, p.name);
    return text + "void *workspace)";
  }

  std::string header(const Writer& w) const {
    const std::string guard = upper(options_.name) + "_H", bytes = upper(options_.name) + "_WORKSPACE";
    return fmt::format(
        "/* {0}.h, generated by reel. Arrays are dense and row-major; outputs do not overlap inputs.\n"
        "   Inputs: {1}.\n   Outputs: {2}.\n   Workspace: {3} bytes, aligned to 8. */\n"
        "#ifndef {4}\n#define {4}\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
        "#define {5} {3}\n/* Returns 0, or the number of the operation that refuses its operands. */\n{6};\n"
        "/* What it says; \"\" for 0. */\nconst char *{0}_error(int number);\n\n"
        "#ifdef __cplusplus\n}}\n#endif\n#endif\n",
        options_.name, list_of(inputs_), list_of(outputs_), w.workspace().bytes(), guard, bytes, prototype(""));
  }

  // Pointers to the regions of the workspace, and mention of parameters that nothing reads.
  std::string regions(const Writer& w) const {
    std::string text;
    std::int64_t at = 0;
    for (const DType d : Workspace::types) {
      const std::int64_t words = w.workspace().words(d);
      if (words == 0) continue;
      text += fmt::format("  {0} *{1}_restrict const {2} = ({0} *)((char *)workspace + {3});\n", csource::type_of(d),
                          options_.name, Workspace::pointer(d), 8 * at);
      at += words;
    }
    std::set<std::string, std::less<>> used;
    csource::for_each_identifier(w.body(), [&](std::string_view name) { used.emplace(name); });
    if (text.empty()) text = "  (void)workspace;\n";
    for (const auto* list : {&inputs_, &outputs_})
      for (const Parameter& p : *list)
        if (!used.contains(p.name)) text += fmt::format("  (void){};\n", p.name);
    return text;
  }

  std::string errors(const Writer& w) const {
    std::string list;
    for (const std::string& one : w.refusals()) {
      list += ",\n    \"";
      for (const char c : one) list += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      list += "\"";
    }
    return fmt::format(
        "const char *{0}_error(int number) {{\n  static const char *const texts[] = {{\n    \"\"{1}}};\n"
        "  return number >= 0 && number <= {2} ? texts[number] : \"\";\n}}\n",
        options_.name, list, w.refusals().size());
  }

  std::string text(const Writer& w) const {
    const std::string restricted = options_.name + "_restrict";
    std::string text = fmt::format(
        "/* {0}.c, generated by reel. */\n#include \"{0}.h\"\n\n#include <math.h>\n#include <string.h>\n\n"
        "#if !defined(__cplusplus)\n#define {1} restrict\n#elif defined(__GNUC__)\n#define {1} __restrict\n#else\n"
        "#define {1}\n#endif\n\n",
        options_.name, restricted);
    const std::string constants = w.constants();
    text += constants + (constants.empty() ? "" : "\n") + w.helpers() + w.functions();
    text += fmt::format("{} {{\n{}{}  return 0;\n}}\n\n", prototype((restricted + " ").c_str()), regions(w), w.body());
    text += errors(w);
    if (options_.check) text += check();
    return text;
  }

  // ---- The smoke test

  static std::string initialiser(const Tensor& x) {
    const std::vector<std::string> list = csource::elements_of(x);
    return list.empty() ? "0" : fmt::format("{}", fmt::join(list, ", "));
  }

  std::string check() const {
    std::vector<Tensor> results(program_.results.size());
    {
      const program::Untraced computing;
      program::Executable(program_).run(rows_, results);
      for (Tensor& y : results) y = contiguous(y);
    }
    std::string data, call, comparisons;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      data += fmt::format("  static const {} in{}[] = {{{}}};\n", csource::type_of(inputs_[k].dtype), k,
                          initialiser(rows_[k]));
      call += fmt::format("in{}, ", k);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const std::int64_t size = results[k].size();
      const char* const type = csource::type_of(outputs_[k].dtype);
      data += fmt::format("  static const {} right{}[] = {{{}}};\n", type, k, initialiser(results[k]));
      data += fmt::format("  static {} out{}[{}];\n", type, k, std::max<std::int64_t>(1, size));
      call += fmt::format("out{}, ", k);
      comparisons += fmt::format(
          "  for (largest = 0.0, i = 0; i < {1}; ++i)\n"
          "    if (fabs((double)right{0}[i]) > largest) largest = fabs((double)right{0}[i]);\n"
          "  for (i = 0; i < {1}; ++i)\n"
          "    if (fabs((double)out{0}[i] - (double)right{0}[i]) > {2} * (1.0 + largest)) return {3};\n",
          k, size, outputs_[k].dtype == DType::float32 ? "1e-5" : "1e-12", k + 2);
    }
    return fmt::format(
        "\nint main(void) {{\n{0}  static double work[{1}_WORKSPACE / 8 + 1];\n  double largest;\n  int i;\n"
        "  (void)largest;\n  (void)i;\n  if ({2}({3}work) != 0) return 1;\n{4}  return 0;\n}}\n",
        data, upper(options_.name), options_.name, call, comparisons);
  }

  const CodegenOptions& options_;
  std::span<const Tensor> arguments_;
  std::vector<Tensor> rows_;  // the arguments, row-major
  program::Program program_;
  std::vector<Parameter> inputs_, outputs_;
  std::set<std::string> names_;
};

}  // namespace

}  // namespace reel::codegen

namespace reel::detail {

CSource source_of(const FlatFunction& f, std::span<const Tensor> arguments, const CodegenOptions& options) {
  return codegen::Generation(f, arguments, options).make();
}

}  // namespace reel::detail
