// generate_c: a traced function as a header and a source of C.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <reel/codegen.hpp>
#include <reel/ops/shape.hpp>

#include "codegen/program.hpp"
#include "core/fail.hpp"
#include "program/passes/passes.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"
#include "tape/variable.hpp"

namespace reel::codegen {

namespace {

constexpr const char* who = "generate_c";
using csource::Array, csource::Workspace, csource::Writer;

// A parameter of the generated function, or a member of its state.
struct Parameter {
  std::string name;
  DType dtype;
  Shape shape;
};

// A variable, or the position of a generator, in the state of the generated function.
struct Member {
  Parameter is;
  Tensor initial;
  bool assigned;
  std::string pointer() const { return "state_" + is.name; }
};

// The text as an identifier; empty if it has none.
std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (valid || (!name.empty() && name.back() != '_')) name += valid ? c : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

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

bool is_name_of_state(const std::string& name) { return name == "state" || name.starts_with("state_"); }

class Generation {
 public:
  Generation(const detail::FlatFunction& f, std::span<const Tensor> arguments, const CodegenOptions& options,
             const detail::LeafNames& leaves)
      : options_(options), arguments_(arguments), leaves_(leaves) {
    if (!csource::is_name(options.name))
      detail::fail<ValueError>(who, "name is '{}'; it must be an identifier and no keyword of C or C++", options.name);
    trace(f);
    inputs_ = parameters("inputs", options.inputs, inputs_, leaves.inputs, 'x');
    outputs_ = parameters("outputs", options.outputs, outputs_, leaves.outputs, 'y');
    name_members();
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
    trace.compose();
    std::vector<Tensor> abstract;
    for (const Tensor& x : arguments_) {
      if (!x.defined()) detail::fail<ValueError>(who, "an argument holds an empty tensor");
      rows_.push_back(x);
      abstract.push_back(trace.argument(detail::block(x)->contiguous() ? x : rows_.back() = dense(x)));
    }
    std::vector<Tensor> results = f(abstract);
    for (const Tensor& y : results) outputs_.push_back({{}, y.dtype(), y.shape()});
    add_arguments(trace.last_streams(), results);
    add_variables(trace, results);
    program_ = trace.finish(results);
    program::simplify(program_);
  }
  static Tensor dense(const Tensor& x) {
    const program::Untraced computing;
    return contiguous(x);
  }

  // Arguments are inputs, or generators, whose positions behind their last draws become results.
  void add_arguments(const std::vector<Tensor>& streams, std::vector<Tensor>& results) {
    std::size_t stream = 0;
    for (std::size_t k = 0; k < arguments_.size(); ++k) {
      const Tensor& x = rows_[k];
      const bool is_stream = std::find(leaves_.streams.begin(), leaves_.streams.end(), k) != leaves_.streams.end();
      member_of_.push_back(is_stream ? static_cast<std::ptrdiff_t>(members_.size()) : -1);
      if (!is_stream) {
        inputs_.push_back({{}, x.dtype(), x.shape()});
        continue;
      }
      assigned_.push_back(members_.size());
      members_.push_back({{"generator", x.dtype(), x.shape()}, x, true});
      results.push_back(streams[stream++]);
    }
  }

  // The variables that the function reads are further arguments of the program, those that it assigns further results.
  void add_variables(program::Trace& trace, std::vector<Tensor>& results) {
    const std::vector<Variable> assigned = trace.assigned();
    std::map<std::uint64_t, std::size_t> members;  // by id
    const auto add = [&](const Variable& v, bool assigns) {
      const auto [at, added] = members.try_emplace(v.id(), members_.size());
      if (added) {
        const program::Untraced computing;
        const Tensor value = contiguous(VariableAccess::read(v));
        const auto leaf = std::find_if(leaves_.variables.begin(), leaves_.variables.end(),
                                       [&](const auto& one) { return one.first == v.id(); });
        const std::string name =
            identifier(v.name().empty() && leaf != leaves_.variables.end() ? leaf->second : v.name());
        if (!csource::type_of(v.dtype()))
          detail::fail<TypeError>(who, "variable '{}' is {}, which has no type in C; cast it to float32 or float64",
                                  v.name(), v.dtype());
        members_.push_back({{csource::is_name(name) ? name : "variable", v.dtype(), v.shape()}, value, false});
      }
      members_[at->second].assigned |= assigns;
      return at->second;
    };
    for (const Source& s : trace.reads()) {
      member_of_.push_back(static_cast<std::ptrdiff_t>(add(s.variable(), false)));
      rows_.push_back(members_[static_cast<std::size_t>(member_of_.back())].initial);
    }
    for (const Variable& v : assigned) assigned_.push_back(add(v, true));
    const std::vector<Tensor> values = trace.assigned_values();
    results.insert(results.end(), values.begin(), values.end());
  }

  // Names that the caller gives, those of leaves of a tree, or numbered ones.
  std::vector<Parameter> parameters(const char* kind, const std::vector<std::string>& names,
                                    std::vector<Parameter> list, const detail::List<std::string>& leaves, char letter) {
    if (!names.empty() && names.size() != list.size())
      detail::fail<ValueError>(who, "{} has {} names, and the function has {}", kind, names.size(), list.size());
    for (std::size_t k = 0; k < list.size(); ++k) {
      Parameter& p = list[k];
      const std::string leaf = k < leaves.size() ? identifier(leaves[k]) : std::string();
      const std::string second = fmt::format("{}_{}", letter, leaf);
      const auto is_free = [&](const std::string& name) {
        return csource::is_name(name) && !is_own_name(name, options_.name) && !is_name_of_state(name) &&
               !names_.contains(name);
      };
      p.name = !names.empty() ? names[k] : is_free(leaf) ? leaf : fmt::format("{}{}", letter, k);
      if (names.empty() && csource::is_name(leaf) && p.name != leaf && is_free(second)) p.name = second;
      check_name(p.name);
      if (!csource::type_of(p.dtype))
        detail::fail<TypeError>(who, "{} is {}, which has no type in C; cast it to float32 or float64", p.name,
                                p.dtype);
      constexpr std::int64_t most_elements = std::int64_t{1} << 31;  // positions are int32_t
      if (p.shape.elements() >= most_elements)
        detail::fail<ValueError>(who, "{} has {} elements", p.name, p.shape.elements());
    }
    return list;
  }

  void check_name(const std::string& name) {
    if (!csource::is_name(name))
      detail::fail<ValueError>(
          who, "'{}' is no name of a parameter: it must be an identifier and no keyword of C or C++", name);
    if (is_own_name(name, options_.name) || !names_.insert(name).second)
      detail::fail<ValueError>(who, "the name '{}' occurs twice, or is one of the generated code", name);
  }

  // Members of one name are numbered from the second on.
  void name_members() {
    if (members_.empty()) return;
    std::set<std::string> own;
    for (Member& m : members_) {
      const std::string stem = m.is.name;
      for (int k = 2; !own.insert(m.is.name).second; ++k) m.is.name = fmt::format("{}_{}", stem, k);
      check_name(m.pointer());
    }
    check_name("state");
  }

  std::string type_of(const Parameter& p, bool is_input) const {
    return fmt::format("{}{} *", is_input ? "const " : "", csource::type_of(p.dtype));
  }
  bool assigns() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.assigned; });
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
    std::vector<Array> members;
    for (const Member& m : members_) {
      w.declare(m.pointer(), type_of(m.is, !m.assigned) + restricted);
      members.push_back(csource::dense_array(m.pointer(), m.is.dtype, m.is.shape));
    }
    std::vector<Array> all;
    for (std::size_t k = 0, input = 0; k < member_of_.size(); ++k)
      all.push_back(member_of_[k] < 0 ? arguments[input++] : members[static_cast<std::size_t>(member_of_[k])]);
    Written written = write_program(w, program_, all, targets);
    // Members change when nothing can be refused any more.
    std::vector<Array> changed;
    for (const std::size_t m : assigned_) changed.push_back(members[m]);
    w.assign_all({written.results.begin() + static_cast<std::ptrdiff_t>(targets.size()), written.results.end()},
                 changed);
    w.free_temporaries();
    written.release(w);
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
    if (!members_.empty())
      text += fmt::format("{}struct {}_state *{}state, ", assigns() ? "" : "const ", options_.name, restricted);
    return text + "void *workspace)";
  }

  // The struct of variables and positions of generators, and its value when the function was generated.
  std::string state_type() const {
    if (members_.empty()) return {};
    std::string text = fmt::format("/* Variables{}. */\nstruct {}_state {{\n",
                                   assigns() ? "; those that are assigned change unless "
                                               "an operation refuses"
                                             : "",
                                   options_.name);
    for (const Member& m : members_)
      text += fmt::format("  {} {}[{}]; /* {}{}{} */\n", csource::type_of(m.is.dtype), m.is.name,
                          std::max<std::int64_t>(1, m.is.shape.elements()), shown(m.is.shape),
                          leaves_.streams.empty() || !m.is.name.starts_with("generator") ? "" : " seed and position",
                          m.assigned ? ", assigned" : "");
    return text + fmt::format(
                      "}};\n/* Their values when the function was generated. */\n"
                      "extern const struct {0}_state {0}_initial;\n\n",
                      options_.name);
  }
  std::string initial_state() const {
    if (members_.empty()) return {};
    std::string text;
    for (const Member& m : members_)
      text += fmt::format("{}  {{{}}}", text.empty() ? "" : ",\n", initialiser(m.initial));
    return fmt::format("const struct {0}_state {0}_initial = {{\n{1}}};\n\n", options_.name, text);
  }

  // Arrays of the patterns of sparse results: their declarations, or their definitions.
  std::string patterns(bool defines) const {
    std::string text;
    for (const detail::LeafNames::Pattern& p : leaves_.patterns) {
      const std::string& name = outputs_[p.output].name;
      if (!defines)
        text += fmt::format("/* Pattern of {} in compressed sparse rows, {} x {}. */\n", name, p.shape[0], p.shape[1]);
      for (const bool starts : {true, false}) {
        const program::Untraced computing;
        const Tensor list = cast(starts ? p.row_starts : p.columns, DType::int32);
        text += fmt::format("{}const int32_t {}_{}_{}[{}]", defines ? "" : "extern ", options_.name, name,
                            starts ? "row_starts" : "columns", std::max<std::int64_t>(1, list.size()));
        text += defines ? fmt::format(" = {{{}}};\n", initialiser(list)) : ";\n";
      }
    }
    return text + (text.empty() ? "" : "\n");
  }

  std::string header(const Writer& w) const {
    const std::string guard = upper(options_.name) + "_H", bytes = upper(options_.name) + "_WORKSPACE";
    return fmt::format(
        "/* {0}.h, generated by reel. Arrays are dense and row-major; outputs do not overlap inputs.\n"
        "   Inputs: {1}.\n   Outputs: {2}.\n   Workspace: {3} bytes, aligned to 8. */\n"
        "#ifndef {4}\n#define {4}\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
        "{7}#define {5} {3}\n/* Returns 0, or the number of the operation that refuses its operands. */\n{6};\n"
        "/* What it says; \"\" for 0. */\nconst char *{0}_error(int number);\n\n"
        "#ifdef __cplusplus\n}}\n#endif\n#endif\n",
        options_.name, list_of(inputs_), list_of(outputs_), w.workspace().bytes(), guard, bytes, prototype(""),
        state_type() + patterns(false));
  }

  // Pointers to the regions of the workspace, and mention of parameters that nothing reads.
  std::string regions(const Writer& w) const {
    std::set<std::string, std::less<>> used;
    csource::for_each_identifier(w.body(), [&](std::string_view name) { used.emplace(name); });
    std::string text;
    std::int64_t at = 0;
    for (const DType d : Workspace::types) {
      const std::int64_t words = w.workspace().words(d);
      if (words == 0 || !used.contains(Workspace::pointer(d))) {
        at += words;
        continue;
      }
      text += fmt::format("  {0} *{1}_restrict const {2} = ({0} *)((char *)workspace + {3});\n", csource::type_of(d),
                          options_.name, Workspace::pointer(d), 8 * at);
      at += words;
    }
    const bool has_regions = !text.empty();
    if (!has_regions) text = "  (void)workspace;\n";
    for (const Member& m : members_)
      text += used.contains(m.pointer())
                  ? fmt::format("  {}{}_restrict const {} = state->{};\n", type_of(m.is, !m.assigned), options_.name,
                                m.pointer(), m.is.name)
                  : std::string();
    if (!members_.empty()) text += "  (void)state;\n";
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
    std::string rest =
        constants + (constants.empty() ? "" : "\n") + initial_state() + patterns(true) + w.helpers() + w.functions();
    rest += fmt::format("{} {{\n{}{}  return 0;\n}}\n\n", prototype((restricted + " ").c_str()), regions(w), w.body());
    rest += errors(w);
    if (options_.check) rest += check();
    return text.append(csource::special_values(rest)) + rest;
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
    std::size_t input = 0;
    for (std::size_t k = 0; k < member_of_.size(); ++k) {
      if (member_of_[k] >= 0) continue;
      data += fmt::format("  static const {} in{}[] = {{{}}};\n", csource::type_of(inputs_[input].dtype), input,
                          initialiser(rows_[k]));
      call += fmt::format("in{}, ", input++);
    }
    const auto compare = [&](const Parameter& p, const std::string& got, const Tensor& right) {
      const std::size_t k = static_cast<std::size_t>(std::count(comparisons.begin(), comparisons.end(), '@'));
      data += fmt::format("  static const {} right{}[] = {{{}}};\n", csource::type_of(p.dtype), k, initialiser(right));
      comparisons += fmt::format(
          "  for (largest = 0.0, i = 0; i < {1}; ++i) /* @{0} */\n"
          "    if (isfinite((double)right{0}[i]) && fabs((double)right{0}[i]) > largest)\n"
          "      largest = fabs((double)right{0}[i]);\n"
          "  for (i = 0; i < {1}; ++i) {{\n"
          "    const double x = (double){4}[i], y = (double)right{0}[i];\n"
          "    if (!(fabs(x - y) <= {2} * (1.0 + largest)) && !(isinf(x) && isinf(y) && (x > 0.0) == (y > 0.0)) && "
          "!(x != x && y != y))\n      return {3};\n  }}\n",
          k, right.size(), p.dtype == DType::float32 ? "1e-5" : "1e-12", k + 2, got);
    };
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      data += fmt::format("  static {} out{}[{}];\n", csource::type_of(outputs_[k].dtype), k,
                          std::max<std::int64_t>(1, results[k].size()));
      call += fmt::format("out{}, ", k);
      compare(outputs_[k], fmt::format("out{}", k), results[k]);
    }
    if (!members_.empty()) {
      data += fmt::format("  struct {0}_state state = {0}_initial;\n", options_.name);
      call += "&state, ";
    }
    for (std::size_t k = 0; k < assigned_.size(); ++k) {
      const Parameter& p = members_[assigned_[k]].is;
      compare(p, "state." + p.name, results[outputs_.size() + k]);
    }
    return fmt::format(
        "\nint main(void) {{\n{0}  static double work[{1}_WORKSPACE / 8 + 1];\n  double largest;\n  int i;\n"
        "  (void)largest;\n  (void)i;\n  if ({2}({3}work) != 0) return 1;\n{4}  return 0;\n}}\n",
        data, upper(options_.name), options_.name, call, comparisons);
  }

  const CodegenOptions& options_;
  std::span<const Tensor> arguments_;
  const detail::LeafNames& leaves_;
  std::vector<Tensor> rows_;  // the arguments of the program, row-major
  program::Program program_;
  std::vector<Parameter> inputs_, outputs_;
  std::vector<Member> members_;
  std::vector<std::ptrdiff_t> member_of_;  // for each argument of the program, or -1
  std::vector<std::size_t> assigned_;      // the members that the results behind the outputs are assigned to
  std::set<std::string> names_;
};

}  // namespace

}  // namespace reel::codegen

namespace reel::detail {

CSource source_of(const FlatFunction& f, std::span<const Tensor> arguments, const CodegenOptions& options,
                  const LeafNames& leaves) {
  return codegen::Generation(f, arguments, options, leaves).make();
}

}  // namespace reel::detail
