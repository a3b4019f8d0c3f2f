// Programs and plans as C++: a file that runs op by op, or with an argument compiled.
#include <algorithm>
#include <set>

#include "program.hpp"

namespace random_state {

namespace {

std::string number(std::int64_t x) { return std::to_string(x); }
std::string variable(int position) { return position == table ? "table" : "w" + number(position); }
std::string variables(const std::vector<int>& list) {
  std::string t = "std::vector<Variable>{";
  for (const int v : list) t += (t.back() == '{' ? "" : ", ") + variable(v);
  return t + "}";
}
const char* const optimizer_names[] = {"SGD", "SGD", "SGD", "Adam", "AdamW", "RMSProp", "Adagrad"};
std::string optimizer(int k) {
  const std::string more = k == 1 ? ", .momentum = 0.5" : k == 2 ? ", .momentum = 0.5, .nesterov = true" : "";
  const std::string epsilon = k > 2 ? ", .epsilon = 0.1" : "";
  return std::string(optimizer_names[k]) + " o" + number(k) + "({.learning_rate = 0.1" + more + epsilon + "})";
}

class Printer {
 public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string code(const Plan& plan) {
    std::string body = function();
    std::string t =
        "#include <cmath>\n#include <iostream>\n#include <reel/compile.hpp>\n#include <reel/optim.hpp>\n"
        "#include <reel/reel.hpp>\n#include <reel/switch.hpp>\nusing namespace reel;\n"
        "using Tensors = std::vector<Tensor>;\n"
        "Tensor numbers(const Shape& shape, int salt) {\n"
        "  return reel::sin(reshape(1.7 * arange(zeros(shape).size()) + (2.3 * salt + 0.4), shape));\n}\n";
    for (int i = 0; i <= trainables; ++i)
      if (used_.count(i))
        t += "Variable w" + number(i) + "(0.7 * numbers({" + number(p_.n) + "}, " + number(11 + i) + "), \"w" +
             number(i) + (i < trainables ? "\");\n" : "\", false);\n");
    if (used_.count(table)) t += "Variable table(0.7 * numbers({4, " + number(p_.n) + "}, 15), \"table\");\n";
    for (const int k : optimizers_) t += optimizer(k) + ";\n";
    t += "Tensor captured = numbers({" + number(p_.n) + "}, 16);\n";
    return t + body + levels(plan);
  }

 private:
  std::string function() {
    std::string t = "Tensors f(const Tensors& x, Generator& g) {\n";
    std::set<int> scope{captured};
    for (std::size_t i = 0; i < p_.body.parameters.size(); ++i)
      t += "  Tensor v" + number(p_.body.parameters[i]) + " = x[" + number(static_cast<std::int64_t>(i)) + "];\n";
    in_ = "  ";
    t += statements(p_.body, scope);
    return t + "  return " + list(p_.body.results, scope) + ";\n}\n";
  }
  std::string name(int id, const std::set<int>& scope) const {
    if (!scope.count(id)) id = *scope.begin();
    return id == captured ? "captured" : "v" + number(id);
  }
  std::string list(const std::vector<int>& ids, const std::set<int>& scope) const {
    std::string t = "Tensors{";
    for (const int id : ids) t += (t.back() == '{' ? "" : ", ") + name(id, scope);
    return t + "}";
  }
  std::string statements(const Block& b, std::set<int>& scope) {
    for (const int id : b.parameters) scope.insert(id);
    std::string t;
    for (const Statement& s : b.statements) {
      t += statement(s, scope);
      scope.insert(s.id);
    }
    return t;
  }
  // A lambda with tensors as parameters, or a list of them.
  enum class Takes { tensors, list };
  std::string lambda(const Block& b, std::set<int> scope, Takes takes, const std::string& returns) {
    std::string t = "[=, &g](";
    if (takes == Takes::list)
      t += "const Tensors& x";
    else
      for (std::size_t i = 0; i < b.parameters.size(); ++i)
        t += std::string(i ? ", " : "") + "const Tensor& v" + number(b.parameters[i]);
    t += ") {\n";
    const std::string before = in_;
    in_ += "  ";
    if (takes == Takes::list)
      for (std::size_t i = 0; i < b.parameters.size(); ++i)
        t += in_ + "Tensor v" + number(b.parameters[i]) + " = x[" + number(static_cast<std::int64_t>(i)) + "];\n";
    t += statements(b, scope);
    t += in_ + "return " + result(b, scope, returns) + ";\n";
    in_ = before;
    return t + in_ + "}";
  }
  std::string result(const Block& b, const std::set<int>& scope, const std::string& returns) const {
    if (returns == "list") return list(b.results, scope);
    const std::string y = name(b.results[0], scope);
    if (returns == "loss") return "loss(" + y + ")";
    if (returns == "pair") return "std::pair(" + y + ", " + name(b.results[1], scope) + ")";
    if (returns == "counted") return list(b.results, scope);
    return y;
  }

  std::string statement(const Statement& s, const std::set<int>& scope) {
    for (const int v : s.variables) used_.insert(v);
    const std::string v = "Tensor v" + number(s.id) + " = ";
    const std::string a = s.in.empty() ? "" : name(s.in[0], scope), b = s.in.size() < 2 ? a : name(s.in[1], scope);
    switch (s.kind) {
      case Kind::expression:
        return in_ + v + expression(s.style, a, b) + ";\n";
      case Kind::read:
        return in_ + v + (s.style ? "1.0 * " + variable(s.variables[0]) : variable(s.variables[0]) + ".read()") + ";\n";
      case Kind::assign:
        return in_ + assign(s, a) + ";\n" + in_ + v + a + ";\n";
      case Kind::draw:
        return in_ + v + (s.style ? "random_normal" : "random_uniform") + "(g, {" + number(p_.n) + "});\n";
      case Kind::gather:
        used_.insert(table);
        return in_ + v + "sum(gather(table, " +
               (s.style ? "cast(2 + 1.9 * sin(3 * " + a + "), DType::int64)" : "tensor<std::int64_t>({1, 3, 1})") +
               "), 0);\n";
      case Kind::tape:
        return s.style < 6 ? tape(s, scope, a) : derivative(s, scope, a, b);
      case Kind::step:
        return step(s, scope, a);
      default:
        return control(s, scope, a, b);
    }
  }
  static std::string expression(int style, const std::string& a, const std::string& b) {
    switch (style) {
      case 0:
        return a + " + " + b;
      case 1:
        return a + " - 0.5 * " + b;
      case 2:
        return a + " * " + b;
      case 3:
        return "sin(" + a + ")";
      case 4:
        return "tanh(" + a + " + 0.2)";
      case 5:
        return "exp(-square(" + a + "))";
      case 6:
        return "sigmoid(" + a + ") * " + b;
      case 7:
        return a + " * (0.3 * sum(" + b + "))";
      case 8:
        return "flip(" + a + ")";
      case 9:
        return "0.5 * " + a + " + 0.3";
      case 10:
        return "cumsum(" + a + ", 0)";
      case 11:
        return "sqrt(1 + square(" + a + "))";
      case 12:
        return "matmul(numbers({" + a + ".size(), " + a + ".size()}, 3), " + a + ")";
      case 13:
        return "roll(" + a + ", 1, 0)";
      default:
        return a + " / (1 + square(" + b + "))";
    }
  }
  static std::string assign(const Statement& s, const std::string& a) {
    const std::string v = variable(s.variables[0]);
    if (s.variables[0] == table)
      return v + (s.style ? ".assign_sub" : ".assign_add") + "(Gradient(IndexedSlices{stack({0.1 * sin(" + a +
             "), 0.2 * " + a + "}), tensor<std::int64_t>({2, " + number(s.style) + "}), table.shape()}))";
    if (s.style == 0) return v + ".assign(0.8 * sin(" + a + "))";
    return v + (s.style == 1 ? ".assign_add" : ".assign_sub") + "(0.1 * sin(" + a + "))";
  }
  // Statements of the block, for its argument, and the name of its result.
  std::string inlined(const Block& b, std::set<int> scope, const std::string& a, std::string& y) {
    std::string t = in_ + "Tensor v" + number(b.parameters[0]) + " = " + a + ";\n" + statements(b, scope);
    y = name(b.results[0], scope);
    return t;
  }
  std::string tape(const Statement& s, const std::set<int>& scope, std::string a) {
    const std::string id = number(s.id);
    std::string t;
    if (s.trips) {
      t = in_ + "const Tensor x" + id + " = 1.0 * " + a + ";\n";
      a = "x" + id;
    }
    const std::string persistent = s.style == 1 || s.style == 2 ? "({.persistent = true})" : "";
    t += in_ + "const auto f" + id + " = " + lambda(s.blocks[0], scope, Takes::tensors, "") + ";\n";
    t += in_ + "GradientTape t" + id + persistent + ";\n" + in_ + "t" + id + ".watch(" + a + ");\n";
    if (s.style == 2) t += in_ + "loss(f" + id + "(" + a + ")), t" + id + ".reset(), t" + id + ".watch(" + a + ");\n";
    t += in_ + "Tensor y" + id + " = f" + id + "(" + a + ");\n";
    if (s.style == 3)
      t += in_ + "{\n" + in_ + "  const auto pause = t" + id + ".stop_recording();\n" + in_ + "  y" + id + " = y" + id +
           " * f" + id + "(" + a + ");\n" + in_ + "}\n";
    if (s.style == 4)
      t += in_ + "t" + id + ".stop(), y" + id + " = y" + id + " * sin(" + a + "), t" + id + ".resume();\n";
    const std::string by = s.variables.empty() ? a : variable(s.variables[0]);
    t += in_ + "Tensor v" + id + " = t" + id + ".gradient(loss(y" + id + "), " + by + ", zero).dense();\n";
    if (s.style == 1)
      t += in_ + "v" + id + " = v" + id + " + t" + id + ".gradient(sum(sin(y" + id + ")), " + a + ", zero).dense();\n";
    return t;
  }
  std::string derivative(const Statement& s, const std::set<int>& scope, const std::string& a, const std::string& b) {
    const bool loss = s.style == 6 || s.style == 7 || s.style == 9;
    const std::string id = number(s.id), f = "f" + id, v = in_ + "Tensor v" + id + " = ";
    const std::string t =
        in_ + "const auto " + f + " = " + lambda(s.blocks[0], scope, Takes::tensors, loss ? "loss" : "") + ";\n";
    if (s.style == 6) return t + v + "grad(" + f + ")(" + a + ");\n";
    if (s.style == 7) return t + v + "hvp(" + f + ")(" + a + ", " + b + ");\n";
    if (s.style == 8) return t + v + "jvp(" + f + ", " + a + ", " + b + ").second;\n";
    if (s.style == 9)
      return t + in_ + "const auto p" + id + " = value_and_grad(" + f + ")(" + a + ");\n" + v + "p" + id +
             ".second * p" + id + ".first;\n";
    return t + v + "linearize(" + f + ", " + a + ").second(" + b + ");\n";
  }
  std::string step(const Statement& s, const std::set<int>& scope, const std::string& a) {
    const std::string id = number(s.id), vs = variables(s.variables);
    const int k = s.style % 8;
    if (!(s.style & 8)) optimizers_.insert(k);
    std::string y, t = in_ + "GradientTape t" + id + ";\n" + inlined(s.blocks[0], scope, a, y);
    t += in_ + "std::vector<Gradient> d" + id + " = t" + id + ".gradient(loss(" + y + "), " + vs +
         (has_bodies(s.blocks[0]) ? ", zero" : "") + ");\n";
    if (has_bodies(s.blocks[0])) t += in_ + "for (Gradient& g : d" + id + ") g = Gradient(g.dense());\n";
    if (s.style & 16) t += in_ + "d" + id + " = clip_by_global_norm(d" + id + ", 0.5).gradients;\n";
    if (s.style & 8)
      t += in_ + "{\n" + in_ + "  " + optimizer(k) + ";\n" + in_ + "  for (int i = 0; i < 2; ++i) o" + number(k) +
           ".step(d" + id + ", " + vs + ");\n" + in_ + "}\n";
    else
      t += in_ + "o" + number(k) + ".step(d" + id + ", " + vs + ");\n";
    return t + in_ + "Tensor v" + id + " = " + y + ";\n";
  }
  static std::string options(const Statement& s) {
    std::string t;
    if (s.budget) t += ".memory_budget = " + number(s.budget);
    if (s.kind == Kind::while_loop && s.style == 1)
      t += (t.empty() ? "" : ", ") + std::string(".max_iterations = ") + number(s.trips);
    if (s.compiled) t += (t.empty() ? "" : ", ") + std::string(".compiled = true");
    return t.empty() ? "" : ", LoopOptions{" + t + "}";
  }
  std::string sum_of(const std::string& r, std::size_t count) const {
    return count > 1 ? r + "[0] + " + r + "[1]" : r + "[0]";
  }
  std::string control(const Statement& s, const std::set<int>& scope, const std::string& a, const std::string& b) {
    const std::string id = number(s.id), v = in_ + "Tensor v" + id + " = ", r = "r" + id;
    std::vector<int> in;
    for (const int i : s.in) in.push_back(scope.count(i) ? i : *scope.begin());
    const std::string state = s.in.empty() ? "" : list(in, scope), sum = v + sum_of(r, s.in.size()) + ";\n";
    const auto tensors = [&](std::size_t k) { return lambda(s.blocks[k], scope, Takes::tensors, ""); };
    switch (s.kind) {
      case Kind::while_loop:
        return loop(s, scope, state) + sum;
      case Kind::fori_tensor:
      case Kind::fori_number:
        return fori(s, scope, state) + sum;
      case Kind::scan:
        return scan(s, scope, a) + v + r + ".first + sum(" + r + ".second, 0);\n";
      case Kind::cond:
        return v + "cond(" + (s.style == 1 ? (s.trips % 2 ? "false" : "true") : "sum(" + a + ") > 0.1") + ", " +
               tensors(0) + ", " + tensors(1) + ", " + a + ", " + b + ");\n";
      case Kind::switch_case:
        return v + "switch_case(cast(1.5 + 1.4 * sin(3 * sum(" + a + ")), DType::int64), std::tuple(" + tensors(0) +
               ", " + tensors(1) + ", " + tensors(2) + "), " + a + ", " + b + ");\n";
      case Kind::checkpoint:
        return v + (s.style ? "checkpoint" : "recompute_grad") + "(" + tensors(0) + ")(" + a + ", " + b + ");\n";
      case Kind::custom:
        return custom(s, a);
      case Kind::compiled:
        return in_ + "Tensor v" + id + " = " + a + ";\n" + in_ + "const auto f" + id + " = compile(" + tensors(0) +
               ");\n" + in_ + "for (int i = 0; i < " + number(s.trips) + "; ++i) v" + id + " = f" + id + "(v" + id +
               ");\n";
      default:
        return in_ + "Tensors " + r + " = " + state + ";\n" + in_ + "for (int i = 0; i < " + number(s.trips) +
               "; ++i) " + r + " = " + lambda(s.blocks[0], scope, Takes::list, "list") + "(" + r + ");\n" + sum;
    }
  }
  std::string loop(const Statement& s, const std::set<int>& scope, const std::string& state) {
    const std::string id = number(s.id), f = "f" + id;
    std::string t = in_ + "const auto " + f + " = " + lambda(s.blocks[0], scope, Takes::list, "list") + ";\n";
    if (s.style == 1)
      return t + in_ + "const auto r" + id +
             " = while_loop([](const Tensors& x) { return sum(square(x[0])) > 0.05; }, [=](const Tensors& x) {\n" +
             in_ + "  Tensors y = " + f + "(x);\n" + in_ + "  for (Tensor& e : y) e = 0.6 * e;\n" + in_ +
             "  return y;\n" + in_ + "}, " + state + options(s) + ");\n";
    return t + in_ + "const auto r" + id + " = while_loop([](const Tensors& x) { return x.back() < " + number(s.trips) +
           " - 0.5; }, [=](const Tensors& x) {\n" + in_ + "  Tensors y = " + f + "(x);\n" + in_ +
           "  y.push_back(x.back() + 1);\n" + in_ + "  return y;\n" + in_ + "}, " + state.substr(0, state.size() - 1) +
           ", scalar(0.0)}" + options(s) + ");\n";
  }
  std::string fori(const Statement& s, const std::set<int>& scope, const std::string& state) {
    const bool counter = s.kind == Kind::fori_tensor;
    const std::string id = number(s.id), f = "f" + id;
    return in_ + "const auto " + f + " = " + lambda(s.blocks[0], scope, Takes::list, "list") + ";\n" + in_ +
           "const auto r" + id + " = fori_loop(1, " + number(1 + s.trips) + ", [=](" +
           (counter ? "const Tensor& i" : "std::int64_t i") + ", Tensors x) {\n" + in_ +
           "  x.push_back(zeros_like(x[0]) + 0.1 * " + (counter ? "cast(i, DType::float64)" : "double(i)") + ");\n" +
           in_ + "  return " + f + "(x);\n" + in_ + "}, " + state + options(s) + ");\n";
  }
  std::string scan(const Statement& s, const std::set<int>& scope, const std::string& a) {
    std::string xs = "table.read()";
    if (s.style) {
      used_.insert(table);
    } else {
      xs = "stack({";
      for (int i = 0; i < s.trips; ++i)
        xs += (i ? ", " + number(10 - 2 * i) + " / 10. * " : "") +
              name(s.in[1 + static_cast<std::size_t>(i) % (s.in.size() - 1)], scope);
      xs += "})";
    }
    return in_ + "const auto r" + number(s.id) + " = scan(" + lambda(s.blocks[0], scope, Takes::tensors, "pair") +
           ", " + a + ", " + xs + options(s) + ");\n";
  }
  std::string custom(const Statement& s, const std::string& a) {
    const std::string v = in_ + "Tensor v" + number(s.id) + " = ";
    const std::string jvp =
        "[](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {\n" + in_ +
        "  return (cos(std::get<0>(p)) * std::get<0>(p) + sin(std::get<0>(p))) * std::get<0>(t);\n" + in_ + "}";
    if (s.style == 0)
      return v + "custom_gradient([](const Tensor& p) {\n" + in_ + "  const Tensor s = sin(p), c = cos(p);\n" + in_ +
             "  return std::pair(s * p, [p, s, c](const Tensor& dy) { return (c * p + s) * dy; });\n" + in_ + "}, " +
             jvp + ")(" + a + ");\n";
    if (s.style == 1)
      return v + "custom_gradient([](const Tensor& p) {\n" + in_ +
             "  return std::pair(sin(p) * p, [p](const Tensor& dy) { return (cos(p) * p + sin(p)) * dy; });\n" + in_ +
             "}, " + jvp + ")(" + a + ");\n";
    if (s.style == 2)
      return v + "custom_gradient([](const Tensor& p) {\n" + in_ + "  const Tensor w = " + variable(s.variables[0]) +
             ".read();\n" + in_ +
             "  return std::pair(sin(p) * w * p, [p, w](const Tensor& dy, std::span<const Variable> vs) {\n" + in_ +
             "    return std::pair((cos(p) * p + sin(p)) * w * dy, std::vector<Gradient>(vs.size(), sin(p) * p * "
             "dy));\n" +
             in_ + "  });\n" + in_ + "})(" + a + ");\n";
    const std::string f = "f" + number(s.id);
    return in_ + "const auto " + f + " = " + lambda(s.blocks[0], {}, Takes::tensors, "") + ";\n" + v +
           "custom_gradient([=](const Tensor& p) {\n" + in_ + "  return std::pair(" + f +
           "(p), [=](const Tensor& dy) { return make_vjp(" + f + ")(p).second(dy); });\n" + in_ +
           "}, [=](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) { return jvp(" + f +
           ", std::get<0>(p), std::get<0>(t)).second; })(" + a + ");\n";
  }

  std::string level(int k, const Level& l) {
    const std::string n = number(k), below = "level" + number(k - 1);
    std::vector<std::string> sources, directions;
    std::vector<int> vs;
    const std::string shape = "{" + number(p_.n) + "}";
    const auto salt = [&](int source) { return number(100 + 40 * k + source); };
    if (l.sources & by_arguments)
      for (int i = 0; i < p_.arguments - (p_.twice ? 1 : 0); ++i)
        sources.push_back("x[" + number(i) + "]"), directions.push_back("numbers(" + shape + ", " + salt(i) + ")");
    if (l.sources & by_captured)
      sources.push_back("captured"), directions.push_back("numbers(" + shape + ", " + salt(30) + ")");
    const std::size_t tensors = sources.size();
    if (l.sources & by_variables)
      for (const int v : {0, 1, table})
        if (used_.count(v)) {
          vs.push_back(v);
          directions.push_back("numbers(" + (v == table ? "{4, " + number(p_.n) + "}" : shape) + ", " + salt(10 + v) +
                               ")");
        }
    std::string list = "std::tuple(Tensors{";
    for (std::size_t i = 0; i < tensors; ++i) list += (i ? ", " : "") + sources[i];
    list += "}, " + variables(vs) + ")";
    std::string t = "  const auto level" + n + " = [=](const Tensors& x, Generator& g) {\n";
    if (l.forward) {
      t += "    const ForwardAccumulator forward(" + list + ", Tensors{";
      for (std::size_t i = 0; i < directions.size(); ++i) t += (i ? ", " : "") + directions[i];
      return t + "});\n    return forward.jvp(" + below + "(x, g), UnconnectedGradients::zero).dense();\n  };\n";
    }
    if (l.style == 2 && l.sources == by_arguments && !p_.twice) {
      t += "    const Tensors d = grad([&](const Tensors& t) { return " + below + "(t, g); })(x);\n    return ";
      for (std::size_t i = 0; i < directions.size(); ++i)
        t += (i ? " + " : "") + ("sum(d[" + number(static_cast<std::int64_t>(i)) + "] * " + directions[i] + ")");
      return t + ";\n  };\n";
    }
    t += "    GradientTape tape;\n    tape.watch(Tensors{";
    for (std::size_t i = 0; i < tensors; ++i) t += (i ? ", " : "") + sources[i];
    t += "});\n    const Tensor y = " + below + "(x, g);\n    const auto d = tape.gradient(y, " + list +
         ", zero);\n    return ";
    for (std::size_t i = 0; i < directions.size(); ++i)
      t += (i ? " + " : "") +
           ("sum(std::get<" + number(i >= tensors) + ">(d)[" +
            number(static_cast<std::int64_t>(i < tensors ? i : i - tensors)) + "] * " + directions[i] + ")");
    return t + (directions.empty() ? "scalar(0.0)" : "") + ";\n  };\n";
  }
  std::string levels(const Plan& plan) {
    std::string t = "Tensor level_0(const Tensors& x, Generator& g) {\n  const Tensors y = f(x, g);\n  return ";
    for (std::size_t i = 0; i < p_.body.results.size(); ++i) {
      const std::string y = "y[" + number(static_cast<std::int64_t>(i)) + "]";
      t += (i ? " + " : "") + ("sum(numbers(" + y + ".shape(), " + number(61 + static_cast<std::int64_t>(i)) + ") * " +
                               y + " + 0.3 * square(" + y + "))");
    }
    t += ";\n}\nint main(int argc, char**) {\n  Generator generator(5);\n  const auto level0 = [](const Tensors& x, "
         "Generator& g) { return level_0(x, g); };\n";
    const int size = static_cast<int>(plan.levels.size());
    for (int k = 1; k <= plan.inside; ++k) t += level(k, plan.levels[static_cast<std::size_t>(k - 1)]);
    const std::string inside = "level" + number(plan.inside);
    t += "  const auto run = [&](const auto& " + (plan.inside == size ? "level" + number(size) : inside) + ") {\n";
    std::string outside;
    for (int k = plan.inside + 1; k <= size; ++k) outside += level(k, plan.levels[static_cast<std::size_t>(k - 1)]);
    t += outside + "    for (int call = 0; call < 3; ++call) {\n      const Tensor first = numbers({" + number(p_.n) +
         "}, " + number(1 + static_cast<std::int64_t>(p_.seed % 7)) + " + 17 * call);\n      std::cout << level" +
         number(size) + "(Tensors{first";
    for (int i = 1; i < p_.arguments; ++i)
      t += p_.twice && i + 1 == p_.arguments
               ? std::string(", first")
               : ", numbers({" + number(p_.n) + "}, " + number(1 + 5 * i + static_cast<std::int64_t>(p_.seed % 7)) +
                     " + 17 * call)";
    t += "}, generator) << '\\n'";
    t += ";\n";
    for (const int v : used_) t += "      std::cout << \"  \" << " + variable(v) + " << '\\n';\n";
    t += "    }\n  };\n";
    if (plan.way == Way::whole)
      return t + "  if (argc > 1)\n    run(compile(" + inside +
             (plan.native  ? ", {.native = true}"
              : plan.check ? ", {.check = 3}"
                           : "") +
             "));\n  else\n    run(" + inside + ");\n}\n";
    return t + "  run(" + inside + ");\n}\n";
  }

  const Program& p_;
  std::string in_;
  std::set<int> used_, optimizers_;
};

}  // namespace

std::string text_of(const Plan& plan) {
  static const char* const ways[] = {"plain", "op by op", "compiled parts", "compiled"};
  std::string t = ways[static_cast<int>(plan.way)];
  if (plan.check) t += ", check";
  t += ", levels:";
  for (int i = 0; i < static_cast<int>(plan.levels.size()); ++i) {
    const Level& l = plan.levels[static_cast<std::size_t>(i)];
    if (plan.way == Way::whole && plan.inside == i) t += " |";
    t += std::string(" ") + (l.forward ? "F" : "R") + number(l.style) + (l.sources & by_arguments ? "a" : "") +
         (l.sources & by_variables ? "v" : "") + (l.sources & by_captured ? "c" : "");
  }
  return t;
}

std::string text_of(const Program& p, const Plan& plan) {
  std::string t = Printer(p).code(plan);
  const std::string before = "using Tensors = std::vector<Tensor>;\n";
  t.insert(t.find(before) + before.size(),
           "const GradientOptions zero{.unconnected_gradients = UnconnectedGradients::zero};\n"
           "Tensor loss(const Tensor& y) { return sum(y * y * 0.5 + y); }\n");
  return t;
}

}  // namespace random_state
