#include "interpreter.hpp"

#include <cmath>

namespace random_state {

using reel::DType;
using reel::GradientTape;
using reel::IndexedSlices;
using reel::LoopOptions;
using reel::scalar;
using reel::Shape;
using reel::sin;
using reel::sum;

Tensor numbers(const Shape& shape, int salt) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  std::vector<double> list;
  for (std::int64_t i = 0; i < size; ++i) list.push_back(std::sin(1.7 * static_cast<double>(i) + 2.3 * salt + 0.4));
  return reel::from_data(list, shape);
}

Tensor direction(int level, int source, const Shape& shape) { return numbers(shape, 100 + 40 * level + source); }

Environment::Environment(const Program& p, Way w) : program(&p), way(w) {
  for (int i = 0; i <= trainables; ++i)
    variables.emplace_back(0.7 * numbers({p.n}, 11 + i), "w" + std::to_string(i), i < trainables);
  variables.emplace_back(0.7 * numbers({4, p.n}, 15), "table");
  captured = numbers({p.n}, 16);
}

Tensor Scope::at(int id) const {
  const auto found = values.find(id);
  return found == values.end() ? values.begin()->second : found->second;
}

namespace {

using reel::GradientOptions;
const GradientOptions zeros{.unconnected_gradients = reel::UnconnectedGradients::zero};

// Runs a block of one result.
Tensor one(const Block& b, const Scope& s, const Tensors& x) { return run(b, s, x).front(); }

Tensor expression(const Statement& s, const Scope& scope) {
  const Tensor a = scope.at(s.in[0]), b = scope.at(s.in[1]);
  switch (s.style) {
    case 0:
      return a + b;
    case 1:
      return a - 0.5 * b;
    case 2:
      return a * b;
    case 3:
      return sin(a);
    case 4:
      return reel::tanh(a + 0.2);
    case 5:
      return reel::exp(-reel::square(a));
    case 6:
      return reel::sigmoid(a) * b;
    case 7:
      return a * (0.3 * sum(b));
    case 8:
      return reel::flip(a);
    case 9:
      return 0.5 * a + 0.3;
    case 10:
      return reel::cumsum(a, 0);
    case 11:
      return reel::sqrt(1 + reel::square(a));
    case 12:
      return reel::matmul(numbers({a.size(), a.size()}, 3), a);
    case 13:
      return reel::roll(a, 1, 0);
    default:
      return a / (1 + reel::square(b));
  }
}

// What an assignment or a step left in the variable: for the log, or from it.
void logged(const Environment& e, int position, const reel::Callback<void()>& change) {
  ++e.assigns;
  const Variable& v = e.variables[static_cast<std::size_t>(position)];
  if (e.log && e.log->replay) {
    const std::size_t k = e.log->next++;
    if (k >= e.log->variables.size() || e.log->variables[k] != position) throw OtherBranch();
    Tensor value = e.log->values[k];
    if (v.trainable()) value = value + e.shift * direction(e.direction, 10 + position, value.shape());
    return v.assign(value);
  }
  change();
  if (!e.log) return;
  e.log->variables.push_back(position);
  e.log->values.push_back(v.read());
}

Tensor assign(const Statement& s, const Scope& scope) {
  const Environment& e = *scope.environment;
  const int position = s.variables[0];
  const Variable& v = e.variables[static_cast<std::size_t>(position)];
  const Tensor x = scope.at(s.in[0]);
  logged(e, position, [&] {
    if (position == table) {
      const IndexedSlices rows{reel::stack({0.1 * sin(x), 0.2 * x}), reel::tensor<std::int64_t>({2, s.style}),
                               v.shape()};
      return s.style ? v.assign_sub(reel::Gradient(rows)) : v.assign_add(reel::Gradient(rows));
    }
    if (s.style == 0) return v.assign(0.8 * sin(x));
    if (s.style == 1) return v.assign_add(0.1 * sin(x));
    v.assign_sub(0.1 * sin(x));
  });
  return x;
}

Tensor draw(const Statement& s, const Scope& scope) {
  const Shape shape{scope.environment->program->n};
  if (s.style == 2) {
    Generator local(7);
    return reel::random_uniform(local, shape) + reel::random_normal(local, shape);
  }
  return s.style ? reel::random_normal(*scope.generator, shape) : reel::random_uniform(*scope.generator, shape);
}

Tensor gather(const Statement& s, const Scope& scope) {
  const Variable& v = scope.environment->variables[table];
  if (s.style == 1) {
    const Tensor x = scope.at(s.in[0]);
    return sum(reel::gather(v, reel::cast(2 + 1.9 * sin(3 * x), DType::int64)), 0);
  }
  return sum(reel::gather(v, reel::tensor<std::int64_t>({1, 3, 1})), 0);
}

Tensor loss_of(const Tensor& y) { return sum(y * y * 0.5 + y); }

// A tape inside: the gradient of a block, by its argument or by a variable. trips 1: by a tensor of its own, because in
// a body an argument and a captured tensor are the same one only in the first run.
Tensor tape_gradient(const Statement& s, const Scope& scope) {
  const Tensor x = s.trips ? 1.0 * scope.at(s.in[0]) : scope.at(s.in[0]);
  const Block& b = s.blocks[0];
  GradientTape tape({.persistent = s.style == 1 || s.style == 2});
  tape.watch(x);
  if (s.style == 2) {
    loss_of(one(b, scope, {x}));
    tape.reset();
    tape.watch(x);
  }
  Tensor y = one(b, scope, {x});
  if (s.style == 3) {
    const auto pause = tape.stop_recording();
    y = y * one(b, scope, {x});
  }
  if (s.style == 4) {
    tape.stop();
    y = y * sin(x);
    tape.resume();
  }
  const Tensor loss = loss_of(y);
  if (!s.variables.empty()) {
    const Variable& v = scope.environment->variables[static_cast<std::size_t>(s.variables[0])];
    return tape.gradient(loss, v, zeros).dense();
  }
  Tensor g = tape.gradient(loss, x, zeros);
  if (s.style == 1) g = g + tape.gradient(sum(sin(y)), x, zeros);
  return g;
}

Tensor derivative(const Statement& s, const Scope& scope) {
  const Tensor x = scope.at(s.in[0]), v = scope.at(s.in[1]);
  const auto f = [&b = s.blocks[0], scope](const Tensor& t) { return loss_of(one(b, scope, {t})); };
  const auto whole = [&b = s.blocks[0], scope](const Tensor& t) { return one(b, scope, {t}); };
  switch (s.style) {
    case 6:
      return reel::grad(f)(x);
    case 7:
      return reel::hvp(f)(x, v);
    case 8:
      return reel::jvp(whole, x, v).second;
    case 9: {
      const auto [value, g] = reel::value_and_grad(f)(x);
      return g * value;
    }
    default:
      return reel::linearize(whole, x).second(v);
  }
}

template <class O>
void step_by(O& optimizer, const Statement& s, const Environment& e, const std::vector<reel::Gradient>& g) {
  std::vector<Variable> variables;
  for (const int v : s.variables) variables.push_back(e.variables[static_cast<std::size_t>(v)]);
  optimizer.step(g, variables);
}

void step_by_number(int number, Optimizers& o, const Statement& s, const Environment& e,
                    const std::vector<reel::Gradient>& g) {
  switch (number) {
    case 0:
      return step_by(o.sgd, s, e, g);
    case 1:
      return step_by(o.momentum, s, e, g);
    case 2:
      return step_by(o.nesterov, s, e, g);
    case 3:
      return step_by(o.adam, s, e, g);
    case 4:
      return step_by(o.adamw, s, e, g);
    case 5:
      return step_by(o.rmsprop, s, e, g);
    default:
      return step_by(o.adagrad, s, e, g);
  }
}

// style: the optimiser, + 8 for a local object, + 16 with gradients clipped
Tensor step(const Statement& s, const Scope& scope) {
  const Environment& e = *scope.environment;
  std::vector<Variable> variables;
  for (const int v : s.variables) variables.push_back(e.variables[static_cast<std::size_t>(v)]);
  GradientTape tape;
  const Tensor y = one(s.blocks[0], scope, {scope.at(s.in[0])});
  reel::GradientOptions options;
  const bool bodies = has_bodies(s.blocks[0]);
  if (bodies) options.unconnected_gradients = reel::UnconnectedGradients::zero;
  std::vector<reel::Gradient> g = tape.gradient(loss_of(y), variables, options);
  for (reel::Gradient& one : g)  // optimisers with state leave rows alone that slices do not name
    if (bodies) one = reel::Gradient(one.dense());
  if (s.style & 16) g = reel::clip_by_global_norm(g, 0.5).gradients;
  bool stepped = false;
  const auto change = [&] {
    if (std::exchange(stepped, true)) return;
    if (s.style & 8) {
      Optimizers local;
      step_by_number(s.style % 8, local, s, e, g);
      step_by_number(s.style % 8, local, s, e, g);
    } else {
      step_by_number(s.style % 8, e.stepped, s, e, g);
    }
  };
  for (const int v : s.variables) logged(e, v, change);
  return y;
}

LoopOptions options_of(const Statement& s, const Scope& scope) {
  LoopOptions o{.memory_budget = s.budget};
  o.compiled = s.compiled && scope.environment->way >= Way::parts;
  return o;
}
bool plain(const Scope& scope) { return scope.environment->way == Way::plain; }
Tensor total(const Tensors& list) {
  Tensor y = list[0];
  for (std::size_t i = 1; i < list.size(); ++i) y = y + list[i];
  return y;
}
Tensors initial(const Statement& s, const Scope& scope) {
  Tensors list;
  for (const int id : s.in) list.push_back(scope.at(id));
  return list;
}
Tensors without_last(Tensors list) {
  list.pop_back();
  return list;
}

// style 0: counts trips in a loop variable; 1: by the data
Tensor while_loop(const Statement& s, const Scope& scope) {
  const Block& b = s.blocks[0];
  Tensors state = initial(s, scope);
  LoopOptions options = options_of(s, scope);
  if (s.style == 0) {
    state.push_back(scalar(0.0));
    const auto condition = [trips = s.trips](const Tensors& x) { return x.back() < double(trips) - 0.5; };
    const auto body = [&b, scope](const Tensors& x) {
      Tensors next = run(b, scope, without_last(x));
      next.push_back(x.back() + 1);
      return next;
    };
    if (plain(scope))
      for (int i = 0; i < s.trips; ++i) state = body(state);
    else
      state = reel::while_loop(condition, body, state, options);
    return total(without_last(state));
  }
  const auto condition = [](const Tensors& x) { return sum(reel::square(x[0])) > 0.05; };
  const auto body = [&b, scope](const Tensors& x) {
    Tensors next = run(b, scope, x);
    for (Tensor& t : next) t = 0.6 * t;
    return next;
  };
  options.max_iterations = s.trips;
  if (plain(scope)) {
    for (Tensor& x : state) x = 1.0 * x;  // the results of a loop are tensors of their own, also without steps
    for (int i = 0; i < s.trips && bool(condition(state)); ++i) state = body(state);
  } else {
    state = reel::while_loop(condition, body, state, options);
  }
  return total(state);
}

Tensors counted(const Block& b, const Scope& scope, const Tensor& i, Tensors x) {
  x.push_back(reel::zeros_like(x[0]) + 0.1 * reel::cast(i, DType::float64));
  return run(b, scope, x);
}
Tensor fori_loop(const Statement& s, const Scope& scope) {
  const Block& b = s.blocks[0];
  Tensors state = initial(s, scope);
  if (plain(scope)) {
    for (int i = 1; i < 1 + s.trips; ++i) state = counted(b, scope, scalar(std::int64_t{i}), state);
    return total(state);
  }
  const LoopOptions options = options_of(s, scope);
  if (s.kind == Kind::fori_tensor)
    return total(reel::fori_loop(
        1, 1 + s.trips, [&b, scope](const Tensor& i, const Tensors& x) { return counted(b, scope, i, x); }, state,
        options));
  return total(reel::fori_loop(
      1, 1 + s.trips, [&b, scope](std::int64_t i, const Tensors& x) { return counted(b, scope, scalar(i), x); }, state,
      options));
}

// style 0: over a stack of values; 1: over the rows of the table
Tensor scan(const Statement& s, const Scope& scope) {
  const Block& b = s.blocks[0];
  Tensor xs = s.style ? scope.environment->variables[table].read() : Tensor();
  if (!s.style) {
    Tensors rows;
    for (int i = 0; i < s.trips; ++i)
      rows.push_back((1 - 0.2 * i) * scope.at(s.in[1 + static_cast<std::size_t>(i) % (s.in.size() - 1)]));
    xs = reel::stack(rows);
  }
  const auto f = [&b, scope](const Tensor& carry, const Tensor& x) {
    Tensors both = run(b, scope, {carry, x});
    return std::pair(both[0], both[1]);
  };
  Tensor carry = scope.at(s.in[0]);
  if (plain(scope)) {
    Tensors ys;
    for (std::int64_t i = 0; i < xs.shape()[0]; ++i) {
      auto [next, y] = f(carry, xs[i]);
      carry = next;
      ys.push_back(y);
    }
    return carry + sum(reel::stack(ys), 0);
  }
  const auto [last, ys] = reel::scan(f, carry, xs, options_of(s, scope));
  return last + sum(ys, 0);
}

Tensor branch(const Statement& s, const Scope& scope) {
  const Tensor x = scope.at(s.in[0]), y = scope.at(s.in[1]);
  const auto of = [&](std::size_t k) {
    return [&b = s.blocks[k % s.blocks.size()], scope](const Tensor& p, const Tensor& q) {
      return one(b, scope, {p, q});
    };
  };
  if (s.kind == Kind::cond) {
    const Tensor predicate = sum(x) > 0.1;
    const bool known = s.style == 1;
    if (plain(scope)) return (known ? s.trips % 2 == 0 : bool(predicate)) ? of(0)(x, y) : of(1)(x, y);
    if (known) return reel::cond(s.trips % 2 == 0, of(0), of(1), x, y);
    return reel::cond(predicate, of(0), of(1), x, y);
  }
  const Tensor index = reel::cast(1.5 + 1.4 * sin(3 * sum(x)), DType::int64);
  if (plain(scope)) return of(static_cast<std::size_t>(index.item<std::int64_t>()))(x, y);
  return reel::switch_case(index, std::tuple(of(0), of(1), of(2)), x, y);
}

Tensor recomputed(const Statement& s, const Scope& scope) {
  const Tensor x = scope.at(s.in[0]), y = scope.at(s.in[1]);
  const auto f = [&b = s.blocks[0], scope](const Tensor& p, const Tensor& q) { return one(b, scope, {p, q}); };
  if (plain(scope)) return f(x, y);
  return s.style ? reel::checkpoint(f)(x, y) : reel::recompute_grad(f)(x, y);
}

// sin(x) x, or with a variable sin(x) w x. style 0: the rule captures intermediates; 1: it uses the argument; 2: reads
// a variable; 3: runs a block again
Tensor custom(const Statement& s, const Scope& scope) {
  const Tensor x = scope.at(s.in[0]);
  const auto jvp = [](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
    const Tensor& v = std::get<0>(p);
    return (reel::cos(v) * v + sin(v)) * std::get<0>(t);
  };
  if (s.style == 3) {
    const Scope empty{scope.environment, scope.generator, {}};  // what a block captured would be a constant of the rule
    const auto f = [&b = s.blocks[0], empty](const Tensor& v) { return one(b, empty, {v}); };
    if (plain(scope)) return f(x);
    const auto with_rule = [f](const Tensor& v) {
      return std::pair(f(v), [f, v](const Tensor& dy) { return reel::make_vjp(f)(v).second(dy); });
    };
    const auto forward = [f](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
      return reel::jvp(f, std::get<0>(p), std::get<0>(t)).second;
    };
    return reel::custom_gradient(with_rule, forward)(x);
  }
  if (s.style == 2) {
    const Variable& w = scope.environment->variables[static_cast<std::size_t>(s.variables[0])];
    if (plain(scope)) return sin(x) * w * x;
    return reel::custom_gradient([w](const Tensor& v) {
      const Tensor at = w.read();
      const auto rule = [v, at](const Tensor& dy, std::span<const Variable> variables) {  // none if no tape follows w
        return std::pair((reel::cos(v) * v + sin(v)) * at * dy,
                         std::vector<reel::Gradient>(variables.size(), sin(v) * v * dy));
      };
      return std::pair(sin(v) * at * v, rule);
    })(x);
  }
  if (plain(scope)) return sin(x) * x;
  if (s.style == 1)
    return reel::custom_gradient(
        [](const Tensor& v) {
          return std::pair(sin(v) * v, [v](const Tensor& dy) { return (reel::cos(v) * v + sin(v)) * dy; });
        },
        jvp)(x);
  return reel::custom_gradient(
      [](const Tensor& v) {
        const Tensor sine = sin(v), cosine = reel::cos(v);
        return std::pair(sine * v, [v, sine, cosine](const Tensor& dy) { return (cosine * v + sine) * dy; });
      },
      jvp)(x);
}

Tensor called(const Statement& s, const Scope& scope) {
  const Piece piece{&s.blocks[0], scope.environment, scope.values};
  Tensor x = scope.at(s.in[0]);
  if (plain(scope)) {
    for (int i = 0; i < s.trips; ++i) x = piece(x);
    return x;
  }
  if (scope.environment->way == Way::recorded) {  // a compiled function gets tensors of its own
    for (int i = 0; i < s.trips; ++i) x = piece(reel::identity(x));
    return x;
  }
  const auto f = reel::compile(piece);
  for (int i = 0; i < s.trips; ++i) x = f(x);
  return x;
}

Tensor run(const Statement& s, const Scope& scope) {
  switch (s.kind) {
    case Kind::expression:
      return expression(s, scope);
    case Kind::read: {
      const Variable& v = scope.environment->variables[static_cast<std::size_t>(s.variables[0])];
      return s.style ? Tensor(1.0 * v) : v.read();
    }
    case Kind::assign:
      return assign(s, scope);
    case Kind::draw:
      return draw(s, scope);
    case Kind::gather:
      return gather(s, scope);
    case Kind::tape:
      return s.style < 6 ? tape_gradient(s, scope) : derivative(s, scope);
    case Kind::step:
      return step(s, scope);
    case Kind::while_loop:
      return while_loop(s, scope);
    case Kind::fori_tensor:
    case Kind::fori_number:
      return fori_loop(s, scope);
    case Kind::scan:
      return scan(s, scope);
    case Kind::cond:
    case Kind::switch_case:
      return branch(s, scope);
    case Kind::checkpoint:
      return recomputed(s, scope);
    case Kind::custom:
      return custom(s, scope);
    case Kind::compiled:
      return called(s, scope);
    case Kind::repeat:
      break;
  }
  Tensors state = initial(s, scope);
  for (int i = 0; i < s.trips; ++i) state = run(s.blocks[0], scope, state);
  return total(state);
}

}  // namespace

Tensors run(const Block& b, Scope scope, const Tensors& x) {
  for (std::size_t i = 0; i < b.parameters.size() && i < x.size(); ++i)
    scope.values.insert_or_assign(b.parameters[i], x[i]);
  for (const Statement& s : b.statements) scope.values.insert_or_assign(s.id, run(s, scope));
  Tensors results;
  for (const int id : b.results) results.push_back(scope.at(id));
  return results;
}

Tensor Piece::operator()(const Tensor& x) const {
  return run(*block, Scope{environment, &environment->unused, values}, {x}).front();
}

}  // namespace random_state
