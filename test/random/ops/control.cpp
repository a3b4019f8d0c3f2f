// Functions as operands: cond, switch_case, while_loop, scan, checkpoint, custom_gradient, grad_pass_through,
// record_operation. Each has a body: a program of its own, whose parameters are the arguments, then the values that the
// function captures.
#include <algorithm>
#include <cmath>
#include <reel/switch.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Gradient;
using reel::Tensor;
using Tensors = std::vector<Tensor>;
using Strings = std::vector<std::string>;

bool wild(const Array& a) {
  return std::any_of(a.data.begin(), a.data.end(), [](const Num& n) { return !(std::fabs(n.re.v[0]) <= 1e4L); });
}
bool finite(const Array& a) {
  return std::all_of(a.data.begin(), a.data.end(), [](const Num& n) { return std::isfinite(n.re.v[0]); });
}
/// The outputs of the body for the given arrays. Values that are not finite must not be read: a rule that drops one
/// would multiply zero by infinity.
Arrays outputs_of(const Program& body, const Arrays& given) {
  Arrays values, out;
  interpret(body, given, values);
  wild_in_bodies = wild_in_bodies || std::any_of(values.begin(), values.end(), wild);
  for (const Statement& s : body.statements)
    for (const Arg& a : s.args)
      if (a.kind == Arg::value && !finite(values[static_cast<std::size_t>(a.index)])) throw Unfit();
  for (const int o : body.outputs) out.push_back(values[static_cast<std::size_t>(o)]);
  return out;
}
Arrays copies(const Inputs& in, std::size_t from = 0) {
  Arrays a;
  for (std::size_t i = from; i < in.size(); ++i) a.push_back(*in[i]);
  return a;
}
Tensors joined(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A body of some statements on arguments like those; its outputs are not chosen.
bool make_body(Maker& m, const Arrays& like, Program& body, Maker& inner, int statements) {
  inner.depth = m.depth + 1, inner.kinks = m.kinks, inner.complex = false, inner.halves = false, inner.main = m.main;
  inner.limit = 16;
  for (const Array& a : like) {
    Statement s;
    s.op = &op("input");
    s.role = Role::parameter;
    s.dtype = a.dtype, s.shape = a.shape;
    for (const Num& n : a.data) s.data.push_back(static_cast<double>(n.re.v[0]));
    if (!inner.add(std::move(s))) return false;
  }
  const std::size_t wanted = body.statements.size() + static_cast<std::size_t>(statements);
  for (int tries = 0; tries < 40 && body.statements.size() < wanted; ++tries) inner.try_random(true);
  return body.statements.size() > like.size();
}
/// The last floating value that the body made, of the given shape and dtype if there is one such.
int last_like(const Maker& inner, std::size_t parameters, const Array* like) {
  for (int k = static_cast<int>(const_cast<Maker&>(inner).values().size()) - 1; k >= static_cast<int>(parameters);
       --k) {
    const Array& a = inner.at(k);
    if (like ? a.dtype == like->dtype && a.shape == like->shape : is_real_floating(a.dtype)) return k;
  }
  return -1;
}
/// A value like `like`, made from the values of the body: the wanted one summed, broadcast, cast and made tame.
int forced(Maker& inner, std::size_t parameters, const Array& like) {
  int k = last_like(inner, parameters, &like);
  if (k < 0) {
    k = last_like(inner, parameters, nullptr);
    if (k < 0) return -1;
    if (inner.at(k).dtype != like.dtype)
      k = inner.emit("cast", {Maker::arg(k)}, {static_cast<std::int64_t>(like.dtype)});
    if (k < 0) return -1;
    k = inner.emit("sum", {Maker::arg(k)}, {0, 1});
    if (k < 0) return -1;
    k = inner.emit("broadcast_to", {Maker::arg(k)}, like.shape);
    if (k < 0) return -1;
  }
  if (inner.chance(0.5)) k = inner.emit("tanh", {Maker::arg(k)});
  return k;
}
/// Arguments of a function: real floating values. The first `explicit_ones` are passed, the others captured.
bool choose_arguments(Maker& m, Statement& s, int count, int captured, int max_size = 8) {
  for (int i = 0; i < count + captured; ++i) {
    const int x =
        m.pick([&](const Array& a) { return is_real_floating(a.dtype) && a.size() <= max_size && a.size() > 0; });
    if (x < 0) return false;
    s.args.push_back(Maker::arg(x));
  }
  return true;
}
Arrays arrays_of(const Maker& m, const Statement& s, std::size_t from = 0) {
  Arrays a;
  for (std::size_t i = from; i < s.args.size(); ++i) a.push_back(m.at(s.args[i].index));
  return a;
}
std::string list(const Strings& a, std::size_t from, std::size_t to) {
  std::string r = "std::vector<Tensor>{";
  for (std::size_t i = from; i < to; ++i) r += (i > from ? ", " : "") + a[i];
  return r + "}";
}
// A lambda of a vector, to which its captures are appended.
std::string lambda(const Statement& s, std::size_t body, const std::string& parameter, const Strings& a,
                   std::size_t captured) {
  std::string r = "[=](" + parameter + " p) {\n    std::vector<Tensor> x(p.begin(), p.end());\n";
  for (std::size_t i = captured; i < a.size(); ++i) r += "    x.push_back(" + a[i] + ");\n";
  return r + text_of(s.bodies[body], "    ") + "  }";
}
const std::string vector = "const std::vector<Tensor>&";

// The branch of the first operand: of cond a predicate, of switch_case an index, which may be out of range.
std::size_t branch_of(bool several, const Inputs& in) {
  const auto value = static_cast<double>((*in[0])[0].re.v[0]);
  if (!several) return value != 0 ? 0 : 1;
  return static_cast<std::size_t>(std::clamp(value, 0., 2.));
}

// ints[0]: arguments that are passed. args: predicate or index, arguments, captured.
void add_branches(std::vector<Op>& t, bool several) {
  Op o;
  o.name = several ? "switch_case" : "cond";
  o.weight = 2;
  o.make = [several](Maker& m, Statement& s) {
    if (m.depth > 1) return false;
    s.ints = {1 + m.below(2)};
    const int p = several ? m.integers({}, -1, 3) : m.integers({}, 0, 1);
    if (p < 0) return false;
    s.args = {Maker::arg(p)};
    if (!choose_arguments(m, s, static_cast<int>(s.ints[0]), m.below(2))) return false;
    const Arrays like = arrays_of(m, s, 1);
    s.bodies.resize(several ? 3 : 2);
    for (Program& body : s.bodies) {
      Maker inner(m.random(), body);
      if (!make_body(m, like, body, inner, 1 + m.below(3))) return false;
      const int k = last_like(inner, like.size(), nullptr);
      if (k < 0) return false;
      body.outputs = {k};
    }
    return true;
  };
  o.eval = [several](const Statement& s, const Inputs& in, Arrays& out) {
    out = outputs_of(s.bodies[branch_of(several, in)], copies(in, 1));
  };
  o.call = [several](const Statement& s, const Operands& a, Tensors& out) {
    const Tensors all = a.tensors(1);
    const auto n = static_cast<std::ptrdiff_t>(s.ints[0]);
    const Tensors passed(all.begin(), all.begin() + n), captured(all.begin() + n, all.end());
    const auto branch = [&](std::size_t k) {
      return [body = s.bodies[k], captured](const Tensors& x) { return execute(body, joined(x, captured)); };
    };
    out = several ? reel::switch_case(a.tensor(0), std::tuple(branch(0), branch(1), branch(2)), passed)
                  : reel::cond(a.tensor(0), branch(0), branch(1), passed);
  };
  o.text = [several](const Statement& s, const Strings& a) {
    const auto n = static_cast<std::size_t>(s.ints[0]) + 1;
    std::string branches = lambda(s, 0, vector, a, n);
    for (std::size_t k = 1; k < s.bodies.size(); ++k) branches += ", " + lambda(s, k, vector, a, n);
    return (several ? "switch_case(" + a[0] + ", std::tuple(" + branches + ")" : "cond(" + a[0] + ", " + branches) +
           ", " + list(a, 1, n) + ")[0]";
  };
  t.push_back(std::move(o));
}

// checkpoint(f)(x), grad_pass_through(f)(x), custom_gradient with the identity of f's derivative or with a rule of its
// own, record_operation. ints[0]: arguments that are passed.
void add_checkpoint(std::vector<Op>& t) {
  Op o;
  o.name = "checkpoint";
  o.weight = 2;
  o.make = [](Maker& m, Statement& s) {
    if (m.depth > 1) return false;
    s.ints = {1 + m.below(2)};
    if (!choose_arguments(m, s, static_cast<int>(s.ints[0]), m.below(2))) return false;
    s.bodies.resize(1);
    Maker inner(m.random(), s.bodies[0]);
    if (!make_body(m, arrays_of(m, s), s.bodies[0], inner, 1 + m.below(4))) return false;
    const int k = last_like(inner, s.args.size(), nullptr);
    if (k < 0) return false;
    s.bodies[0].outputs = {k};
    if (m.chance(0.3)) s.bodies[0].outputs.push_back(last_like(inner, 0, nullptr));
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) { out = outputs_of(s.bodies[0], copies(in)); };
  o.call = [](const Statement& s, const Operands& a, Tensors& out) {
    const Tensors all = a.tensors();
    const auto n = static_cast<std::ptrdiff_t>(s.ints[0]);
    const Tensors passed(all.begin(), all.begin() + n), captured(all.begin() + n, all.end());
    out = reel::checkpoint(
        [body = s.bodies[0], captured](const Tensors& x) { return execute(body, joined(x, captured)); })(passed);
  };
  o.text = [](const Statement& s, const Strings& a) {
    const auto n = static_cast<std::size_t>(s.ints[0]);
    return "checkpoint(" + lambda(s, 0, vector, a, n) + ")(" + list(a, 0, n) + ")" + (s.results == 1 ? "[0]" : "");
  };
  t.push_back(std::move(o));
}

// y = f(x) with the derivative of a * x (reals[0]) and b * x^2 / 2 (reals[1]): dy (a + b x). ints[0]: how: 0
// custom_gradient with a forward rule, 1 grad_pass_through (a = 1, b = 0), 2 record_operation, 3 custom_gradient whose
// rule is the registry's.
void add_rules(std::vector<Op>& t) {
  for (const std::string name : {"custom_gradient", "grad_pass_through", "record_operation"}) {
    Op o;
    o.name = name;
    o.body = true;
    o.make = [name](Maker& m, Statement& s) {
      if (m.depth > 2) return false;
      const int x = m.pick([](const Array& a) { return is_real_floating(a.dtype); });
      if (x < 0) return false;
      s.args = {Maker::arg(x)};
      s.reals = {0.25 * static_cast<double>(m.between(-4, 4)), 0.25 * static_cast<double>(m.between(-4, 4))};
      if (name == "grad_pass_through") s.reals = {1, 0};
      s.ints = {m.below(5)};  // what the value is
      return true;
    };
    o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      round_like(x.dtype);
      Array y(x.dtype, x.shape);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const Jet& v = x[i].re;
        // f' = a + b x; the value is another's: floor, 2 x, x - 1 or x.
        Series f;
        f.c[1] = s.reals[0] + s.reals[1] * v.v[0], f.c[2] = s.reals[1] / 2;
        const Jet c = v.value();
        Jet value = c;
        if (s.ints[0] == 1) value = c * Jet(2);
        if (s.ints[0] == 2) value = c - Jet(1);
        if (s.ints[0] == 3) value = c * c;
        Jet r = chain(v, f, 4);
        r.v[0] = value.v[0], r.e[0] = value.e[0];
        y[i] = r;
      }
      out.push_back(std::move(y));
    };
    o.call = [name](const Statement& s, const Operands& operands, Tensors& out) {
      const double a = s.reals[0], b = s.reals[1];
      const auto value = [k = s.ints[0]](const Tensor& x) {
        return k == 1 ? x * 2 : k == 2 ? x - 1 : k == 3 ? reel::square(x) : reel::identity(x);
      };
      const Tensor x = operands.tensor(0);
      if (name == "grad_pass_through") {
        out.push_back(reel::grad_pass_through(value)(x));
      } else if (name == "custom_gradient") {
        const auto f = [=](const Tensor& v) {
          return std::pair(value(v), [=](const Tensor& dy) { return dy * (a + b * v); });
        };
        out.push_back(reel::custom_gradient(f, [=](const auto& primals, const auto& tangents) {
          return std::get<0>(tangents) * (a + b * std::get<0>(primals));
        })(x));
      } else {
        Tensor y;
        {
          // The elements are copied on the host, so that tapes do not see it.
          const Tensor v = value(reel::stop_gradient(x));
          y = v.dtype() == DType::float64 ? reel::from_data(v.to_vector(), v.shape()) : Tensor();
          if (!y.defined())
            y = reel::cast(reel::from_data(reel::cast(v, DType::float64).to_vector(), v.shape()), v.dtype());
        }
        const Tensor inputs[] = {x}, outputs[] = {y};
        reel::record_operation(
            "random_operation", inputs, outputs,
            [=](std::span<const Gradient> dy) {
              return std::vector<Gradient>{dy[0] ? Gradient(*dy[0] * (a + b * x)) : Gradient()};
            },
            [=](std::span<const Tensor> dx) { return Tensors{dx[0].defined() ? dx[0] * (a + b * x) : Tensor()}; });
        out.push_back(y);
      }
    };
    o.text = [name](const Statement& s, const Strings& a) {
      return name + " /* value " + std::to_string(s.ints[0]) + ", dy (" + std::to_string(s.reals[0]) + " + " +
             std::to_string(s.reals[1]) + " x) */ (" + a[0] + ")";
    };
    t.push_back(std::move(o));
  }
}

// ints: steps, memory budget. args: the loop variable(s) (ints[2] of them), captured.
void add_while(std::vector<Op>& t) {
  Op o;
  o.name = "while_loop";
  o.weight = 2;
  o.make = [](Maker& m, Statement& s) {
    if (m.depth > 0) return false;
    s.ints = {m.below(5), m.chance(0.5) ? 0 : m.between(1, 400), 1 + m.below(2)};
    if (!choose_arguments(m, s, static_cast<int>(s.ints[2]), m.below(3), 6)) return false;
    s.bodies.resize(1);
    Maker inner(m.random(), s.bodies[0]);
    if (!make_body(m, arrays_of(m, s), s.bodies[0], inner, 1 + m.below(3))) return false;
    for (int k = 0; k < s.ints[2]; ++k) {
      const int r = forced(inner, s.args.size(), m.at(s.args[static_cast<std::size_t>(k)].index));
      if (r < 0) return false;
      s.bodies[0].outputs.push_back(r);
    }
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    Arrays state = copies(in);
    const auto n = static_cast<std::size_t>(s.ints[2]);
    for (std::int64_t i = 0; i < s.ints[0]; ++i) {
      Arrays next = outputs_of(s.bodies[0], state);
      for (std::size_t k = 0; k < n; ++k) state[k] = next[k];
    }
    out.assign(state.begin(), state.begin() + static_cast<std::ptrdiff_t>(n));
  };
  o.call = [](const Statement& s, const Operands& a, Tensors& out) {
    const Tensors all = a.tensors();
    const auto n = static_cast<std::ptrdiff_t>(s.ints[2]);
    const Tensors captured(all.begin() + n, all.end());
    Tensors state(all.begin(), all.begin() + n);
    state.push_back(reel::scalar(0.));
    const double steps = static_cast<double>(s.ints[0]);
    Tensors last = reel::while_loop([steps](const Tensors& x) { return x.back() < steps; },
                                    [body = s.bodies[0], captured](const Tensors& x) {
                                      Tensors given(x.begin(), x.end() - 1);
                                      Tensors next = execute(body, joined(given, captured));
                                      next.push_back(x.back() + 1);
                                      return next;
                                    },
                                    state, {.memory_budget = s.ints[1]});
    last.pop_back();
    out = std::move(last);
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "while_loop /* steps " + std::to_string(s.ints[0]) + ", memory_budget " + std::to_string(s.ints[1]) +
           " */ (" + lambda(s, 0, vector, a, static_cast<std::size_t>(s.ints[2])) + ", " +
           list(a, 0, static_cast<std::size_t>(s.ints[2])) + ")" + (s.results == 1 ? "[0]" : "");
  };
  t.push_back(std::move(o));
}

// args: carry, xs, captured. ints: memory budget. Results: the last carry and the stacked outputs.
void add_scan(std::vector<Op>& t) {
  Op o;
  o.name = "scan";
  o.weight = 2;
  o.make = [](Maker& m, Statement& s) {
    if (m.depth > 0) return false;
    s.ints = {m.chance(0.5) ? 0 : m.between(1, 400)};
    if (!choose_arguments(m, s, 1, 0, 6)) return false;
    const int xs = m.pick(
        [](const Array& a) { return is_real_floating(a.dtype) && a.rank() > 0 && a.size() > 0 && a.size() < 16; });
    if (xs < 0) return false;
    s.args.push_back(Maker::arg(xs));
    if (!choose_arguments(m, s, 0, m.below(2), 6)) return false;
    Arrays like = arrays_of(m, s);
    Array row(like[1].dtype, Extents(like[1].shape.begin() + 1, like[1].shape.end()));
    for (std::int64_t i = 0; i < row.size(); ++i) row[i] = like[1][i];
    like[1] = row;
    s.bodies.resize(1);
    Maker inner(m.random(), s.bodies[0]);
    if (!make_body(m, like, s.bodies[0], inner, 1 + m.below(4))) return false;
    const int carry = forced(inner, like.size(), like[0]), y = last_like(inner, like.size(), nullptr);
    if (carry < 0 || y < 0) return false;
    s.bodies[0].outputs = {carry, y};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    Arrays state = copies(in);
    const Array xs = state[1];
    const std::int64_t n = xs.shape[0];
    Array stacked;
    for (std::int64_t i = 0; i < n; ++i) {
      Array row(xs.dtype, Extents(xs.shape.begin() + 1, xs.shape.end()));
      for (std::int64_t k = 0; k < row.size(); ++k) row[k] = xs[i * row.size() + k];
      state[1] = row;
      const Arrays next = outputs_of(s.bodies[0], state);
      state[0] = next[0];
      if (i == 0) {
        Extents shape = next[1].shape;
        shape.insert(shape.begin(), n);
        stacked = Array(next[1].dtype, shape);
      }
      for (std::int64_t k = 0; k < next[1].size(); ++k) stacked[i * next[1].size() + k] = next[1][k];
    }
    out = {state[0], stacked};
  };
  o.call = [](const Statement& s, const Operands& a, Tensors& out) {
    const Tensors all = a.tensors();
    const Tensors captured(all.begin() + 2, all.end());
    auto [last, ys] = reel::scan(
        [body = s.bodies[0], captured](const Tensor& carry, const Tensor& x) {
          Tensors r = execute(body, joined({carry, x}, captured));
          return std::pair(r[0], r[1]);
        },
        all[0], all[1], {.memory_budget = s.ints[0]});
    out = {last, ys};
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "scan /* memory_budget " + std::to_string(s.ints[0]) + " */ (" + lambda(s, 0, "carry, x:", a, 2) + ", " +
           a[0] + ", " + a[1] + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_control(std::vector<Op>& t) {
  add_branches(t, false);
  add_branches(t, true);
  add_checkpoint(t);
  add_rules(t);
  add_while(t);
  add_scan(t);
}

}  // namespace random_programs
