// elementwise with random functions. The body is a program of pointwise statements on one element: text is the name of
// a lane function, and its meaning that of the op of the same name.
#include <map>
#include <reel/elementwise.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Lane;
using reel::LaneMask;
using reel::Tensor;
using Strings = std::vector<std::string>;

// clang-format off
// Unqualified calls, so that the functions of lanes are found by argument-dependent lookup.
#define REEL_UNARY_1(name) {#name, [](const Lane& x) { return name(x); }},
#define REEL_UNARY_2(name)
#define REEL_UNARY_3(name)
#define REEL_UNARY(name, arity) REEL_UNARY_##arity(name)
using Unary = Lane (*)(const Lane&);
const std::map<std::string, Unary>& unary() {
  static const std::map<std::string, Unary> map = {REEL_POINTWISE_FUNCTIONS(REEL_UNARY)
                                                  REEL_NORMAL_FUNCTIONS(REEL_UNARY)};
  return map;
}

/// Lanes that may be numbers: f(x, y) for what each is.
template <class F>
Lane with(const F& f, const Lane* x, double a, const Lane* y, double b) {
  if (x && y) return f(*x, *y);
  return x ? f(*x, b) : f(a, *y);
}
#define REEL_BINARY_1(name)
#define REEL_BINARY_2(name)                                                                                   \
  {#name, [](const Lane* x, double a, const Lane* y, double b) {                                              \
     return with([](const auto& p, const auto& q) { return name(p, q); }, x, a, y, b);                        \
   }},
#define REEL_BINARY_3(name)
#define REEL_BINARY(name, arity) REEL_BINARY_##arity(name)
using Binary = Lane (*)(const Lane*, double, const Lane*, double);
const std::map<std::string, Binary>& binary() {
  static const std::map<std::string, Binary> map = {REEL_POINTWISE_FUNCTIONS(REEL_BINARY)
                                                   REEL_NORMAL_FUNCTIONS(REEL_BINARY)};
  return map;
}
// clang-format on
#define REEL_TEST(name)                                            \
  {                                                                \
#name, [](const Lane& x, const Lane& y) { return name(x, y); } \
  }
using Test = LaneMask (*)(const Lane&, const Lane&);
const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> map = {REEL_TEST(equal),   REEL_TEST(not_equal),
                                                  REEL_TEST(less),    REEL_TEST(less_equal),
                                                  REEL_TEST(greater), REEL_TEST(greater_equal)};
  return map;
}

/// What the function does with its lanes.
std::vector<Lane> run_lanes(const Program& body, const std::vector<Lane>& given) {
  std::vector<Lane> lanes(static_cast<std::size_t>(body.values()));
  std::vector<LaneMask> masks(lanes.size());
  std::vector<bool> is_mask(lanes.size());
  std::size_t next = 0;
  for (const Statement& s : body.statements) {
    const auto at = static_cast<std::size_t>(s.first);
    const auto lane = [&](std::size_t i) {
      return s.args[i].kind == Arg::value ? &lanes[static_cast<std::size_t>(s.args[i].index)] : nullptr;
    };
    const auto mask = [&](std::size_t i) { return masks[static_cast<std::size_t>(s.args[i].index)]; };
    const auto number = [&](std::size_t i) { return s.args[i].number; };
    const std::string& name = s.op->name;
    if (s.role == Role::parameter) {
      lanes[at] = given[next++];
    } else if (name == "logit") {
      lanes[at] = logit(clip(*lane(0), 0.1, 0.9));  // which the program's text calls logit(x, 0.1)
    } else if (const auto u = unary().find(name); u != unary().end()) {
      lanes[at] = u->second(*lane(0));
    } else if (const auto b = binary().find(name); b != binary().end()) {
      lanes[at] = b->second(lane(0), number(0), lane(1), number(1));
    } else if (const auto t = tests().find(name); t != tests().end()) {
      masks[at] = t->second(*lane(0), *lane(1));
    } else if (name == "clip") {
      if (lane(1) && lane(2))
        lanes[at] = clip(*lane(0), *lane(1), *lane(2));
      else
        lanes[at] = lane(1)   ? clip(*lane(0), *lane(1), number(2))
                    : lane(2) ? clip(*lane(0), number(1), *lane(2))
                              : clip(*lane(0), number(1), number(2));
    } else if (name == "where") {
      const auto operand = [&](std::size_t i) {
        return lane(i) ? reel::detail::LaneOperand(*lane(i)) : reel::detail::LaneOperand(number(i));
      };
      lanes[at] = where(mask(0), operand(1), operand(2));
    } else if (name == "logical_and") {
      masks[at] = logical_and(mask(0), mask(1));
    } else if (name == "logical_or") {
      masks[at] = logical_or(mask(0), mask(1));
    } else if (name == "logical_xor") {
      masks[at] = logical_xor(mask(0), mask(1));
    } else if (name == "logical_not") {
      masks[at] = logical_not(mask(0));
    } else {
      masks[at] = name == "isnan" ? isnan(*lane(0)) : name == "isinf" ? isinf(*lane(0)) : isfinite(*lane(0));
    }
  }
  std::vector<Lane> out;
  for (const int o : body.outputs) out.push_back(lanes[static_cast<std::size_t>(o)]);
  return out;
}

// Runs each form of elementwise: with separate arguments, with a row of them, and as a function object, whose second
// call uses the trace of the first.
void run_elementwise(const Program& body, const std::vector<Tensor>& x, std::vector<Tensor>& out) {
  const auto row = [&](std::span<const Lane> lanes) { return run_lanes(body, {lanes.begin(), lanes.end()}); };
  const auto each = [&](const auto&... lane) { return run_lanes(body, {lane...}); };
  const auto call = [&](const auto& f) {
    return x.size() == 1 ? f(x[0]) : x.size() == 2 ? f(x[0], x[1]) : f(x[0], x[1], x[2]);
  };
  std::vector<Tensor> results;
  switch (body.statements.size() % 4) {
    case 0:
      results = reel::elementwise(row, x);
      break;
    case 1: {
      const auto f = reel::elementwise(row);
      results = f(x);
      results = f(x);
      break;
    }
    case 2: {
      const auto f = reel::elementwise(each);
      results = call(f);
      results = call(f);
      break;
    }
    default:
      results = call([&](const auto&... one) { return reel::elementwise(each, one...); });
  }
  out.insert(out.end(), results.begin(), results.end());
}

// A random statement on scalars of the body.
bool add_lane(Maker& m) {
  const auto lane = [&] { return m.pick([](const Array& a) { return is_real_floating(a.dtype); }); };
  const auto boolean = [&] { return m.pick([](const Array& a) { return a.dtype == DType::boolean; }); };
  const auto random_of = [&](const auto& map) {
    auto it = map.begin();
    std::advance(it, m.below(static_cast<int>(map.size())));
    return it->first;
  };
  const auto operand = [&] {
    return m.chance(0.2) ? Maker::weak(0.25 * static_cast<double>(m.between(1, 8))) : Maker::arg(lane());
  };
  const int kind = m.below(10);
  const int a = lane(), c = boolean();
  if (kind < 5) return m.emit(random_of(unary()), {Maker::arg(a)}) >= 0;
  if (kind < 8) {
    const std::string name = random_of(binary());
    if (name == "polygamma") return m.emit(name, {Maker::weak(static_cast<double>(m.below(3))), Maker::arg(a)}) >= 0;
    return m.chance(0.85) || name == "elu"
               ? m.emit(name, {Maker::arg(a), operand()}) >= 0
               : m.emit(name, {Maker::weak(0.25 * static_cast<double>(m.between(1, 8))), Maker::arg(a)}) >= 0;
  }
  if (kind == 8) {
    if (m.chance(0.3)) return m.emit("clip", {Maker::arg(a), Maker::weak(-0.5), operand()}) >= 0;
    if (m.chance(0.5)) return m.emit(random_of(tests()), {Maker::arg(a), Maker::arg(lane())}) >= 0;
    static const std::vector<std::string> names = {"isnan", "isinf", "isfinite"};
    return m.emit(m.choose(names), {Maker::arg(a)}) >= 0;
  }
  if (c < 0) return false;
  if (m.chance(0.7)) return m.emit("where", {Maker::arg(c), Maker::arg(a), operand()}) >= 0;
  static const std::vector<std::string> names = {"logical_and", "logical_or", "logical_xor"};
  return m.chance(0.3) ? m.emit("logical_not", {Maker::arg(c)}) >= 0
                       : m.emit(m.choose(names), {Maker::arg(c), Maker::arg(boolean())}) >= 0;
}

Array scalar_of(DType d, const Num& n) {
  Array a(d, {});
  a[0] = n;
  return a;
}

}  // namespace

void add_lanes(std::vector<Op>& t) {
  Op o;
  o.name = "elementwise";
  o.weight = 8;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 3);
    if (x < 0 || m.at(x).size() == 0 || m.at(x).dtype < DType::float32) return false;
    s.args = {Maker::arg(x)};
    for (int n = m.below(3); n > 0; --n) s.args.push_back(m.beside(x, false));
    DType d = DType::boolean;
    for (const Arg& a : s.args) {
      const DType e = m.at(a.index).dtype;
      if (e == DType::float16 || e == DType::bfloat16 || reel::is_complex(e)) return false;
      d = promoted(d, e);
    }
    d = floating_of(d);
    // It is made for the first elements; for others the interpreter may find it unfit.
    s.bodies.resize(1);
    Maker inner(m.random(), s.bodies[0]);
    inner.depth = m.depth + 1, inner.kinks = m.kinks;
    for (const Arg& a : s.args) {
      const Array& v = m.at(a.index);
      if (v.size() == 0) return false;
      Statement p;
      p.op = &op("input");
      p.role = Role::parameter;
      p.dtype = d;
      p.data = {static_cast<double>(v[m.below(static_cast<int>(v.size()))].re.v[0])};
      if (!inner.add(std::move(p))) return false;
    }
    const int wanted = 1 + m.below(7);
    for (int k = 0, tries = 0; k < wanted && tries < 60; ++tries) k += add_lane(inner);
    std::vector<int> lanes;
    for (int k = static_cast<int>(s.args.size()); k < static_cast<int>(inner.values().size()); ++k)
      if (inner.at(k).dtype == d) lanes.push_back(k);
    if (lanes.empty()) return false;
    s.bodies[0].outputs = {lanes.back()};
    while (m.chance(0.2) && s.bodies[0].outputs.size() < 3) s.bodies[0].outputs.push_back(m.choose(lanes));
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    Extents shape;
    for (const Array* x : in) shape = broadcast_shapes(shape, x->shape);
    const DType d = floating_of(promoted(in));
    for (std::size_t k = 0; k < s.bodies[0].outputs.size(); ++k) out.push_back(Array(d, shape));
    Arrays values;
    for (std::int64_t i = 0; i < elements(shape); ++i) {
      std::vector<Array> given;
      for (const Array* x : in) {
        Num n = (*x)[broadcast_index(x->shape, shape, i)];
        round_like(d);
        given.push_back(scalar_of(d, x->dtype > d ? n : Num(rounded(n.re, 0))));
      }
      interpret(s.bodies[0], given, values);
      for (const Array& v : values)
        for (const Num& n : v.data)
          if (!(std::fabs(n.re.v[0]) < 100)) throw Unfit();
      for (std::size_t k = 0; k < out.size(); ++k)
        out[k][i] = values[static_cast<std::size_t>(s.bodies[0].outputs[k])][0];
    }
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    std::vector<Tensor> x;
    for (std::size_t i = 0; i < a.size(); ++i) x.push_back(a.tensor(i));
    run_elementwise(s.bodies[0], x, out);
  };
  o.text = [](const Statement& s, const Strings& a) {
    std::string parameters, operands;
    for (std::size_t i = 0; i < a.size(); ++i)
      parameters += (i ? ", auto x" : "auto x") + std::to_string(i), operands += ", " + a[i];
    return "elementwise([](" + parameters + ") {  // on lanes\n" + text_of(s.bodies[0], "    ") + "  }" + operands +
           ")";
  };
  t.push_back(std::move(o));
}

}  // namespace random_programs
