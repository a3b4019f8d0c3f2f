// The op table: derivatives. Reverse and forward mode are transposes of each other, <v, J t> = <J^T v, t>, over shape
// and stride patterns, and both agree with central differences. The same holds for the gradient function, whose own
// derivative is symmetric. Jacobians whose rows are computed together equal those computed row by row, for the gradient
// function too.
#include <cmath>
#include <cstdlib>

#include "catch.hpp"
#include "gradient/gradient.hpp"
#include "op_cases.hpp"
#include "solve/rows.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using support::Difference, support::Dot, support::Function, support::gradient_of, support::difference, support::inner,
    support::Layout, support::moved, support::pull, support::push, support::Tensors;

namespace {

// Whether two scalar products agree to rounding, as they do for a transpose.
bool agree(const Dot& a, const Dot& b, double slack) {
  return std::abs(a.value - b.value) <= 1e-12L * static_cast<long double>(slack) * a.scale;
}

struct Case {
  std::string what;
  Function f;
  Tensors x;
  double slack;
};

// The Jacobians of f's only result at x, all rows together or one after another. Both are differentiable functions.
Tensors jacobian_together(const Function& f, const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x)[0];
  tape.stop();
  Tensors all;
  for (const Gradient& g : tape.jacobian(y, x, {.unconnected_gradients = UnconnectedGradients::zero}))
    all.push_back(g.dense());
  return all;
}
Tensors jacobian_by_rows(const Function& f, const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x)[0];
  tape.stop();
  std::vector<Tensors> rows(x.size());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Tensor seed = reshape(one_hot(i, y.size(), y.dtype()), y.shape());
    const std::vector<Gradient> row =
        tape.gradient(y, x, {.output_gradients = seed, .unconnected_gradients = UnconnectedGradients::zero});
    for (std::size_t k = 0; k < x.size(); ++k) rows[k].push_back(row[k].dense());
  }
  Tensors all;
  for (std::size_t k = 0; k < x.size(); ++k) {
    Shape shape = y.shape();
    for (std::int64_t extent : x[k].shape()) shape.push_back(extent);
    all.push_back(shape.elements() == 0 ? zeros(shape, x[k].dtype()) : reshape(stack(rows[k]), shape));
  }
  return all;
}

void check_equal(const char* what, const Tensors& together, const Tensors& by_rows, double slack) {
  REQUIRE(together.size() == by_rows.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    REQUIRE(together[i].shape() == by_rows[i].shape());
    REQUIRE(together[i].dtype() == by_rows[i].dtype());
  }
  const Difference d = difference(together, by_rows);
  INFO(what << ": error " << d.error << " of " << d.size);
  CHECK(d.error <= 1e-13 * slack * (1 + d.size));
}

// First order, fused and recorded; second order, by one row and by all of them.
void check_jacobian(const Case& c, support::Random& random) {
  INFO(c.what);
  const Tensors together = jacobian_together(c.f, c.x);
  check_equal("Jacobian", together, jacobian_by_rows(c.f, c.x), c.slack);
  {
    GradientTape outer;
    outer.watch(c.x);
    check_equal("recorded", jacobian_together(c.f, c.x), together, c.slack);
  }
  const Tensors v = random.like(together);
  const Function by_together = [&](const Tensors& x) { return jacobian_together(c.f, x); };
  const Function by_rows = [&](const Tensors& x) { return jacobian_by_rows(c.f, x); };
  check_equal("its product", pull(by_together, c.x, v), pull(by_rows, c.x, v), c.slack);
  if (together[0].size() <= 16)
    check_equal("its Jacobian", jacobian_together(by_together, c.x), jacobian_by_rows(by_rows, c.x), c.slack);
}

// The derivatives of x -> J^T v for many cotangents together, which are not rows of an identity, against one after
// another. This calls each rule at second order with a leading axis. By x, and by v, which for a linear op is the only
// variable.
void check_gradient_rows(const Case& c, const Tensors& v, support::Random& random) {
  GradientTape tape({.persistent = true});
  Tensors by = c.x;
  by.insert(by.end(), v.begin(), v.end());
  tape.watch(by);
  Tensors targets;
  for (const Tensor& g : pull(c.f, c.x, v)) targets.push_back(g * random.tensor(g.shape(), 0.5, 1.5));
  tape.stop();
  const std::vector<Source> sources(by.begin(), by.end());
  for (const Tensor& target : targets) {
    const std::int64_t count = target.size();
    if (count == 0) continue;
    const auto together = autodiff::replay_rows("test", GradientTapeAccess::get(tape), target, sources,
                                                UnconnectedGradients::zero, count);
    REQUIRE(together.size() == by.size());
    for (const std::int64_t row : {std::int64_t{0}, count / 3, count - 1}) {
      const Tensor seed = reshape(one_hot(row, count, target.dtype()), target.shape());
      const std::vector<Gradient> alone =
          tape.gradient(target, by, {.output_gradients = seed, .unconnected_gradients = UnconnectedGradients::zero});
      for (std::size_t k = 0; k < by.size(); ++k) {
        INFO("row " << row << " of " << count << ", operand " << k);
        check_equal("gradient of the gradient", {together[k].dense()[row]}, {alone[k].dense()}, c.slack);
      }
    }
  }
}

// The derivative of x -> J^T v by one operand or by v, when an outer tape follows nothing else. A rule may run as a
// fused kernel only if no tape follows what it reads.
void check_one_followed(const Case& c, const Tensors& v, support::Random& random) {
  Tensors by = c.x;
  by.insert(by.end(), v.begin(), v.end());
  const Tensors s = random.like(c.x);
  const auto gradients = [&](const Tensors& followed) {
    GradientTape tape;
    tape.watch(followed);
    const Tensors targets = pull(c.f, c.x, v);
    Tensors all;
    for (const Gradient& g :
         tape.gradient(targets, followed, {.output_gradients = s, .unconnected_gradients = UnconnectedGradients::zero}))
      all.push_back(g.dense());
    return all;
  };
  const Tensors together = gradients(by);
  for (std::size_t k = 0; k < by.size(); ++k) {
    INFO("operand " << k << " alone is followed");
    check_equal("gradient of the gradient", gradients({by[k]}), {together[k]}, c.slack);
  }
}

// The derivative of a Jacobian whose rows were computed together while an outer tape recorded equals that of rows
// computed one after another.
void check_gradient_of_jacobian(const Case& c, support::Random& random) {
  const Tensor y0 = c.f(c.x)[0];
  if (y0.size() == 0 || y0.size() > 12) return;
  Tensors weights;
  for (const Tensor& x : c.x) {
    Shape shape{y0.size()};
    for (const std::int64_t extent : x.shape()) shape.push_back(extent);
    weights.push_back(random.tensor(shape));
  }
  const auto gradients = [&](bool together) {
    GradientTape outer, tape({.persistent = true});
    outer.watch(c.x);
    tape.watch(c.x);
    const Tensor y = c.f(c.x)[0];
    tape.stop();
    Tensor total = scalar(0.0);
    for (std::size_t k = 0; k < c.x.size(); ++k)
      if (together) {
        const Gradient j = tape.jacobian(y, c.x[k], {.unconnected_gradients = UnconnectedGradients::zero});
        total = total + sum(reshape(*j, weights[k].shape()) * weights[k]);
      } else {
        for (std::int64_t row = 0; row < y.size(); ++row) {
          const Tensor seed = reshape(one_hot(scalar(row), y.size(), y.dtype()), y.shape());
          const Gradient g =
              tape.gradient(y, c.x[k], {.output_gradients = seed, .unconnected_gradients = UnconnectedGradients::zero});
          total = total + sum(g.dense() * weights[k][row]);
        }
      }
    Tensors all;
    for (const Gradient& g : outer.gradient(total, c.x, {.unconnected_gradients = UnconnectedGradients::zero}))
      all.push_back(g.dense());
    return all;
  };
  check_equal("gradient of the Jacobian", gradients(true), gradients(false), 2 * c.slack);
}

// The same tensor as a view of longer memory.
Tensor inside(const Tensor& x, support::Random& random) {
  if (x.rank() == 0 || x.dtype() != DType::float64) return x;
  return slice(concatenate({x, random.tensor(x.shape())}), {range(0, x.shape()[0])});
}

// A rule may add to cotangents of its operands from later uses in place.
void check_added(const Case& c, support::Random& random) {
  const Function with_later_uses = [&](const Tensors& x) {
    Tensors all = c.f(x);
    for (const Tensor& one : x) all.push_back(one * 2);
    return all;
  };
  Tensors v = random.like(with_later_uses(c.x));
  for (Tensor& one : v) one = inside(one, random);
  const auto later = v.end() - static_cast<std::ptrdiff_t>(c.x.size());
  Tensors expected = pull(c.f, c.x, Tensors(v.begin(), later));
  for (std::size_t k = 0; k < c.x.size(); ++k) expected[k] = expected[k] + 2 * later[static_cast<std::ptrdiff_t>(k)];
  check_equal("added", pull(with_later_uses, c.x, v), expected, c.slack);

  const Tensor y = c.f(c.x)[0];
  if (y.dtype() != c.x[0].dtype() || y.size() > 24) return;
  const Function as_one = [&](const Tensors& x) {
    Tensors flat;
    for (const Tensor& one : with_later_uses(x)) flat.push_back(reshape(one, {one.size()}));
    return Tensors{concatenate(flat)};
  };
  const Tensors jacobian = jacobian_by_rows(c.f, c.x), together = jacobian_together(as_one, c.x);
  for (std::size_t k = 0; k < c.x.size(); ++k) {
    Shape rows = c.x[k].shape();
    rows.insert(0, y.size());
    check_equal("rows added", {slice(together[k], {range(0, y.size())})}, {reshape(jacobian[k], rows)}, c.slack);
  }
}

void check_transposed(const Function& f, const Tensors& x, double slack, support::Random& random) {
  const Tensors t = random.like(x), jt = push(f, x, t), v = random.like(jt);
  const Dot forward = inner(v, jt), reverse = inner(pull(f, x, v), t);
  INFO("<v, J t> = " << static_cast<double>(forward.value) << ", <J^T v, t> = " << static_cast<double>(reverse.value)
                     << ", scale " << static_cast<double>(forward.scale));
  CHECK(agree(forward, reverse, slack));
}

// (x, v) -> J^T v, where x are the first operands.
Function gradient_by_all(const Function& f, std::size_t count) {
  return [f, count](const Tensors& xv) {
    const auto middle = xv.begin() + static_cast<std::ptrdiff_t>(count);
    return pull(f, Tensors(xv.begin(), middle), Tensors(middle, xv.end()));
  };
}

// Whether the table runs once more, under sanitizers or as on another machine. The fourth order and
// most layouts take minutes there, and reach no code of their own.
bool runs_again() {
#ifdef REEL_TEST_SANITIZED
  return true;
#else
  return std::getenv("REEL_TEST_OTHER_MACHINE") != nullptr;
#endif
}

const int highest_order = runs_again() ? 3 : 4;

// f, its gradient as a function of x and of the cotangents, the gradient of that, and so on. The modes are transposes
// for all operands together and for each alone. Many cotangents of third order are computed together.
void check_higher_orders(const Case& c, int orders, support::Random& random) {
  INFO(c.what);
  Function f = c.f;
  Tensors x = c.x;
  for (int order = 1; order <= orders; ++order) {
    INFO("order " << order);
    const double slack = 2 * order * c.slack;
    check_transposed(f, x, slack, random);
    for (std::size_t k = 0; k < x.size(); ++k) {
      INFO("by operand " << k);
      const Function of_one = [&](const Tensors& one) {
        Tensors all = x;
        all[k] = one[0];
        return f(all);
      };
      check_transposed(of_one, {x[k]}, slack, random);
    }
    const Tensors v = random.like(f(x));
    if (order == 2) check_gradient_rows({c.what + ", its gradient", f, x, slack}, v, random);
    f = gradient_by_all(f, x.size());
    x.insert(x.end(), v.begin(), v.end());
  }
}

// First and second order, both modes, at x.
void check_modes(const Case& c, support::Random& random) {
  INFO(c.what);
  const Tensors y = c.f(c.x), v = random.like(y), t = random.like(c.x);
  const Tensors jt = push(c.f, c.x, t), vj = pull(c.f, c.x, v);
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    REQUIRE(vj[i].shape() == c.x[i].shape());
    REQUIRE(vj[i].dtype() == c.x[i].dtype());
  }
  REQUIRE(jt[0].shape() == y[0].shape());
  REQUIRE(jt[0].dtype() == y[0].dtype());
  const Dot forward = inner(v, jt), reverse = inner(vj, t);
  INFO("<v, J t> = " << static_cast<double>(forward.value) << ", <J^T v, t> = " << static_cast<double>(reverse.value)
                     << ", scale " << static_cast<double>(forward.scale));
  CHECK(agree(forward, reverse, c.slack));

  // With an outer tape the same rule is recorded op by op instead of run as a fused kernel.
  Tensors recorded;
  {
    GradientTape outer;
    outer.watch(c.x);
    recorded = pull(c.f, c.x, v);
  }
  const Difference d = difference(recorded, vj);
  INFO("recorded against fused: " << d.error << " of " << d.size);
  CHECK(d.error <= 1e-13 * c.slack * (1 + d.size));

  for (std::size_t k = 0; c.x.size() > 1 && k < c.x.size(); ++k) {
    GradientTape outer;
    outer.watch(c.x);
    GradientTape tape;
    tape.watch(c.x[k]);
    const Tensors targets = c.f(c.x);
    const Gradient alone = tape.gradient(targets, c.x[k], {.output_gradients = v});
    INFO("by operand " << k << " alone");
    check_equal("recorded", {alone ? alone.dense() : zeros_like(c.x[k])}, {vj[k]}, c.slack);
  }

  const Function g = gradient_of(c.f, v);
  const Tensors s = random.like(c.x);
  const Tensors ht = push(g, c.x, t), sh = pull(g, c.x, s), hs = push(g, c.x, s);
  const Dot second = inner(s, ht), transposed = inner(sh, t), mirrored = inner(t, hs);
  INFO("<s, H t> = " << static_cast<double>(second.value) << ", <H^T s, t> = " << static_cast<double>(transposed.value)
                     << ", <t, H s> = " << static_cast<double>(mirrored.value) << ", scale "
                     << static_cast<double>(second.scale));
  CHECK(agree(second, transposed, 2 * c.slack));
  CHECK(agree(second, mirrored, 2 * c.slack));
  check_jacobian(c, random);
  check_gradient_rows(c, v, random);
  check_one_followed(c, v, random);
  check_added(c, random);
  check_gradient_of_jacobian(c, random);
}

// The tangent of f, of its gradient, and of the gradient of that, against central differences.
void check_differences(const Case& c, support::Random& random) {
  INFO(c.what);
  constexpr double h = 1e-5;
  const Tensors t = random.like(c.x), v = random.like(c.f(c.x));
  const Function gradient = gradient_of(c.f, v);
  for (const Function& f : {c.f, gradient, gradient_of(gradient, random.like(c.x))}) {
    const Tensors tangent = push(f, c.x, t);
    const Tensors above = f(moved(c.x, h, t)), below = f(moved(c.x, -h, t));
    Tensors slope;
    for (std::size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * h));
    const Difference d = difference(tangent, slope);
    INFO("error " << d.error << " of " << d.size);
    CHECK(d.error <= 1e-7 * c.slack * (1 + d.size));
  }
}

// The combinations of shapes for the operands of a pointwise op.
std::vector<std::vector<Shape>> patterns(int arity) {
  const std::vector<Shape> alone = {{}, {1}, {37}, {3, 4}, {2, 3, 4}, {0}, {2, 0, 3}};
  const std::vector<std::vector<Shape>> pairs = {{{}, {5}},        {{5}, {}},          {{3, 4}, {4}}, {{4}, {3, 4}},
                                                 {{3, 1}, {1, 4}}, {{1}, {2, 3}},      {{1, 1}, {3}}, {{0}, {1}},
                                                 {{1}, {0, 1}},    {{2, 1, 4}, {3, 1}}};
  std::vector<std::vector<Shape>> all;
  for (const Shape& s : alone) all.emplace_back(static_cast<std::size_t>(arity), s);
  if (arity == 2) all.insert(all.end(), pairs.begin(), pairs.end());
  if (arity == 3)
    for (const auto& p : pairs) {
      all.push_back({p[0], p[1], p[1]});
      all.push_back({p[1], p[0], p[1]});
      all.push_back({p[1], p[1], p[0]});
    }
  return all;
}

bool differentiable(unsigned flags) { return !(flags & (cases::boolean_result | cases::constant)); }

std::string text(const std::vector<Shape>& shapes) {
  std::string all;
  for (const Shape& s : shapes) all += to_string(s);
  return all;
}

void check_shaped(std::span<const cases::Shaped> rows) {
  for (const cases::Shaped& row : rows) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    const Function f = [&](const Tensors& x) { return Tensors{row.call(x)}; };
    bool first = true;
    for (const std::vector<Shape>& shapes : shapes_of(row)) {
      Tensors x;
      for (const Shape& s : shapes) {
        const Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
        x.push_back(row.prepare ? row.prepare(drawn, x.size()) : drawn);
      }
      for (Layout layout : support::layouts) {
        if (layout == Layout::broadcast) continue;  // it makes ties and singular matrices
        // test/op_tapes.cpp has the stepped one.
        if (runs_again() && layout != Layout::contiguous && layout != Layout::flipped) continue;
        Tensors views;
        for (const Tensor& one : x) views.push_back(laid_out(one, layout));
        check_modes({std::string(row.name) + " of " + text(shapes) + " " + name(layout), f, views, row.slack}, random);
      }
      check_higher_orders({std::string(row.name) + " of " + text(shapes), f, x, row.slack},
                          first ? highest_order : highest_order - 1, random);
      if (std::exchange(first, false) && row.slack < 1e5)
        check_differences({std::string(row.name) + " of " + text(shapes), f, x, row.slack}, random);
    }
  }
}

Tensors in_dtype(const Tensors& x, DType dtype) {
  Tensors all;
  for (const Tensor& one : x) all.push_back(cast(one, dtype));
  return all;
}

// First and second derivatives of f in every mixture of the modes, for cotangents v and tangents t and s. Each has the
// dtype of its operand or of the result.
std::vector<Tensors> derivatives(const Function& f, const Tensors& x, const Tensors& v, const Tensors& t,
                                 const Tensors& s) {
  const Function gradient = gradient_of(f, v), tangent = [&](const Tensors&a) { return push(f, a, t); };
  const std::vector<Tensors> by_operand = {pull(f, x, v), push(gradient, x, s), pull(gradient, x, s),
                                           pull(tangent, x, v)},
                             by_result = {push(f, x, t), push(tangent, x, s)};
  for (const Tensors& all : by_operand)
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].dtype() == x[i].dtype());
  for (const Tensors& all : by_result) CHECK(all[0].dtype() == v[0].dtype());
  std::vector<Tensors> every = by_operand;
  every.insert(every.end(), by_result.begin(), by_result.end());
  return every;
}

// float32 has derivatives of that dtype, which are those of float64 but for rounding.
void check_narrow(std::span<const cases::Shaped> rows) {
  for (const cases::Shaped& row : rows) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    const Function f = [&](const Tensors& x) { return Tensors{row.call(x)}; };
    const std::vector<Shape> shapes = shapes_of(row)[0];
    Tensors narrow;
    for (const Shape& s : shapes) {
      const Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
      narrow.push_back(cast(row.prepare ? row.prepare(drawn, narrow.size()) : drawn, DType::float32));
    }
    const Tensors wide = in_dtype(narrow, DType::float64), y = f(narrow);
    const Tensors t = in_dtype(random.like(narrow), DType::float32), s = in_dtype(random.like(narrow), DType::float32);
    const Tensors v = in_dtype(random.like(y), y[0].dtype());
    INFO(row.name);
    const std::vector<Tensors> got = derivatives(f, narrow, v, t, s);
    const std::vector<Tensors> expected =
        derivatives(f, wide, in_dtype(v, f(wide)[0].dtype()), in_dtype(t, DType::float64), in_dtype(s, DType::float64));
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Difference d = difference(got[k], expected[k]);
      INFO("derivative " << k << ": error " << d.error << " of " << d.size);
      CHECK(d.error <= 2e-5 * row.slack * (1 + d.size));
    }
  }
}

}  // namespace

TEST_CASE("pointwise ops: the modes are transposes, to second order, in every shape and stride pattern") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    const Function f = [&](const Tensors& x) { return Tensors{row.call(x)}; };
    for (const std::vector<Shape>& shapes : patterns(row.arity))
      for (Layout layout : support::layouts) {
        Tensors x;
        for (std::size_t i = 0; i < shapes.size(); ++i)
          x.push_back(laid_out(random.tensor(shapes[i], row.domain[i].low, row.domain[i].high), layout));
        check_modes({std::string(row.name) + " of " + text(shapes) + " " + name(layout), f, x, 1}, random);
      }
  }
}

TEST_CASE("pointwise ops: derivatives of orders up to 3 against central differences") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    constexpr std::size_t count = 9;
    std::vector<std::vector<double>> values(static_cast<std::size_t>(row.arity), std::vector<double>(count));
    for (std::size_t k = 0; k < count; ++k) {
      double operands[3] = {};
      do
        for (int i = 0; i < row.arity; ++i) operands[i] = random.uniform(row.domain[i].low, row.domain[i].high);
      while (row.smooth && !row.smooth(operands));
      for (std::size_t i = 0; i < values.size(); ++i) values[i][k] = operands[i];
    }
    Tensors x;
    for (const auto& v : values) x.push_back(from_data(v));
    const Case c{row.name, [&](const Tensors& p) { return Tensors{row.call(p)}; }, x, 1};
    check_differences(c, random);
    check_higher_orders(c, 3, random);
  }
}

TEST_CASE("pointwise ops: float32 has float32 derivatives, close to those of float64") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    Tensors narrow, wide;
    for (int i = 0; i < row.arity; ++i) {
      narrow.push_back(cast(random.tensor({37}, row.domain[i].low, row.domain[i].high), DType::float32));
      wide.push_back(cast(narrow.back(), DType::float64));
    }
    const Function f = [&](const Tensors& x) { return Tensors{row.call(x)}; };
    const Tensor v = cast(random.tensor({37}), DType::float32);
    const Tensors got = pull(f, narrow, {v}), expected = pull(f, wide, {cast(v, DType::float64)});
    INFO(row.name);
    for (const Tensor& g : got) CHECK(g.dtype() == DType::float32);
    const Difference d = difference(got, expected);
    CHECK(d.error <= 2e-5 * (1 + d.size));
    for (const Tensor& dy : push(f, narrow, narrow)) CHECK(dy.dtype() == DType::float32);
  }
}

TEST_CASE("reductions, scans and normalisations: derivatives") { check_shaped(cases::reductions()); }
TEST_CASE("shape and index ops: derivatives") { check_shaped(cases::movements()); }
TEST_CASE("ops of headers of their own: derivatives") {
  for (const cases::Family& family : cases::families()) check_shaped(family.rows());
}
TEST_CASE("linear algebra: derivatives") { check_shaped(cases::linear_algebra()); }
TEST_CASE("ops that take a function: derivatives") { check_shaped(cases::solutions()); }
TEST_CASE("normalisations and losses: derivatives") { check_shaped(cases::networks()); }

TEST_CASE("ops of arrays: float32 has float32 derivatives, close to those of float64") {
  for (const auto& rows : cases::shaped_tables()) check_narrow(rows);
  check_narrow(cases::solutions());
}

// Cotangents [40, 30] with strides of zero, and a dense one that begins with the same elements.
Tensors repeating(DType dtype) {
  const Shape shape{40, 30};
  const Tensor numbers = cast(arange(1.0, 1201.0), dtype);
  Tensors all;
  for (const double value : {1.0, 2.0, 0.0, -0.5}) all.push_back(broadcast_to(cast(scalar(value), dtype), shape));
  all.push_back(broadcast_to(reshape(slice(numbers, {range(0, 40)}), {40, 1}), shape));
  all.push_back(broadcast_to(slice(numbers, {range(0, 30)}), shape));
  all.push_back(reshape(numbers, shape));
  return all;
}

// A broadcast cotangent of ones has its own code path.
TEST_CASE("pointwise ops: cotangents that repeat elements are those of an array that holds each") {
  const Shape shape{40, 30};
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (!differentiable(row.flags)) continue;
    support::Random random(row.name);
    for (const DType dtype : {DType::float64, DType::float32}) {
      Tensors x;
      for (int i = 0; i < row.arity; ++i)
        x.push_back(cast(random.tensor(shape, row.domain[i].low, row.domain[i].high), dtype));
      const Function f = [&](const Tensors& p) { return Tensors{row.call(p)}; };
      for (const Tensor& v : repeating(dtype)) {
        const std::vector<double> elements = cast(v, DType::float64).to_vector();
        INFO(row.name << ", cotangent " << elements[0] << ' ' << elements[1] << " ... " << elements.back());
        const Tensors got = pull(f, x, {v}), expected = pull(f, x, {cast(from_data(elements, shape), dtype)});
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(array_equal(got[i], expected[i]));
      }
    }
  }
}

TEST_CASE("many cotangents of a large product that broadcasts are those of one after another") {
  support::Random random("large");
  const Tensor a = random.tensor({200, 300});
  for (const Shape& shape : {Shape{300}, Shape{1, 300}, Shape{200, 1}, Shape{1}, Shape{}}) {
    const Tensors x{random.tensor(shape)};
    const Function f = [&](const Tensors& p) {
      const Tensor y = a * sin(p[0]);
      return Tensors{stack({sum(y), sum(y * a), sum(y * y)})};
    };
    INFO(to_string(shape));
    check_equal("Jacobian", jacobian_together(f, x), jacobian_by_rows(f, x), 1000);
  }
}
