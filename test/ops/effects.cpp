// Reads and assigns of variables and draws as effects: what handlers see of them; performing or evaluating one again
// gives the same bits; handlers that pass everything on change nothing.
#include <reel/debug.hpp>
#include <reel/reel.hpp>

#include "../catch.hpp"
#include "support/bits.hpp"
#include "support/calls.hpp"

using namespace reel;
using support::pointers, support::same_bits, support::Sandbox;

namespace {

// A performed effect, with handles to everything that it read and returned.
struct Noted {
  const ops::Primitive* primitive;
  std::vector<Variable> variables;
  std::vector<Tensor> before, after;  // values of the variables
  std::vector<Tensor> inputs, outputs;
  std::vector<std::int64_t> attributes;
  std::uint64_t position = 0;  // of the generator, before
};

std::vector<Tensor> values(std::span<const Variable> variables) {
  std::vector<Tensor> list;
  for (const Variable& v : variables) list.push_back(VariableAccess::read(v));
  return list;
}

// Records every effect and passes it on.
class Notes final : public ops::EffectHandler {
 public:
  explicit Notes(unsigned kinds = support::all_effects) : EffectHandler(kinds) {}
  void perform(const ops::Effect& e) override {
    Noted n{&e.primitive, {e.variables.begin(), e.variables.end()}, values(e.variables), {}, {}, {}, {}};
    for (const Tensor* x : e.inputs) n.inputs.push_back(*x);
    if (e.generator) n.position = e.generator->position();
    pass_on(e);
    n.after = values(e.variables);
    n.outputs.assign(e.outputs.begin(), e.outputs.end());
    n.attributes.assign(e.attributes.begin(), e.attributes.end());
    list.push_back(std::move(n));
  }
  std::vector<Noted> list;
};

// Reads, assigns in every way, and draws. Returns what it read and drew.
std::vector<Tensor> run(const Variable& v, const Variable& table, Generator& generator) {
  std::vector<Tensor> seen;
  const DType d = v.dtype();
  seen.push_back(v);
  v.assign(full({3}, 2.0, d));
  v.assign_add(cast(tensor({1.0, 2.0, 3.0}), d));
  seen.push_back(v.read() * 2);
  v.assign_sub(cast(transpose(tensor({{1.0, 1.0}, {2.0, 5.0}, {3.0, 1.0}})), d)(1));
  v.assign_sub(Gradient(full({3}, 0.5, d)));
  const IndexedSlices slices{
      cast(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), d), cast(tensor({2.0, 0.0, 2.0}), DType::int64), {4, 2}};
  table.assign_add(Gradient(slices));
  seen.push_back(random_normal(generator, {5}));
  table.assign_sub(Gradient(slices));
  table.assign_sub(Gradient(slices));
  seen.push_back(table);
  seen.push_back(random_permutation(generator, 4));
  return seen;
}
constexpr DType dtypes[] = {DType::int64,   DType::float16, DType::bfloat16,
                            DType::float32, DType::float64, DType::complex128};
Tensor start(DType d) { return cast(tensor({3.0, -1.0, 0.5}), d); }
Tensor start_of_table(DType d) { return cast(reshape(arange(8), {4, 2}), d); }

}  // namespace

TEST_CASE("a handler gets reads, assigns and draws in their order, with variables and generators") {
  const Variable v(start(DType::float32), "v"), table(start_of_table(DType::float32), "table");
  Generator generator(3);
  const Notes notes;
  run(v, table, generator);
  std::vector<std::string> seen;
  for (const Noted& n : notes.list) {
    seen.push_back(n.primitive->rule.name);
    for (const Variable& one : n.variables) seen.back() += " " + one.name();
    const unsigned kinds = n.primitive->effects;
    const std::string name = n.primitive->rule.name;
    CHECK(((kinds & ops::advances_generator) != 0) == name.starts_with("random"));
    CHECK(((kinds & ops::writes_variables) != 0) == name.starts_with("Variable.assign"));
    CHECK(((kinds & ops::reads_variables) != 0) == (name == "Variable.read" || name.starts_with("Variable.assign_")));
  }
  CHECK(seen == std::vector<std::string>{"Variable.read v", "Variable.assign v", "Variable.assign_add v",
                                         "Variable.read v", "Variable.assign_sub v", "Variable.assign_sub v",
                                         "Variable.assign_add table", "random_normal", "Variable.assign_sub table",
                                         "Variable.assign_sub table", "Variable.read table", "random_permutation"});
}

TEST_CASE("handlers that pass on all effects change nothing") {
  for (const DType d : dtypes) {
    CAPTURE(d);
    const Variable v(start(d)), table(start_of_table(d)), w(start(d)), other_table(start_of_table(d));
    Generator generator(3), same(3);
    const std::vector<Tensor> plain = run(v, table, generator);
    std::vector<Tensor> handled;
    {
      const Notes outer;
      const Notes inner(ops::writes_variables);
      handled = run(w, other_table, same);
      CHECK(outer.list.size() == 12);
      CHECK(inner.list.size() == 7);
    }
    REQUIRE(plain.size() == handled.size());
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(same_bits(plain[i], handled[i]));
    CHECK(same_bits(v, w));
    CHECK(same_bits(table, other_table));
    CHECK(generator.position() == same.position());
    CHECK_FALSE(ops::handled(support::all_effects));
  }
}

TEST_CASE("effects can be evaluated and performed again, with the same bits") {
  for (const DType d : dtypes) {
    CAPTURE(d);
    const Variable v(start(d)), table(start_of_table(d));
    Generator generator(3);
    std::vector<Noted> list;
    {
      Notes notes;
      run(v, table, generator);
      list = std::move(notes.list);
    }
    CHECK(list.size() > 5);
    for (const Noted& n : list) {
      const ops::Primitive& p = *n.primitive;
      const bool reads = p.effects & ops::reads_variables, writes = p.effects & ops::writes_variables;
      INFO(p.rule.name);
      std::vector<Tensor> inputs;
      if (reads) inputs = n.before;
      inputs.insert(inputs.end(), n.inputs.begin(), n.inputs.end());
      Tensor y;
      ops::evaluate(p, pointers(inputs), n.attributes, {&y, 1}, false);
      CHECK(same_bits(y, writes ? n.after[0] : n.outputs[0]));
      for (std::size_t k = 0; k < n.variables.size(); ++k) n.variables[k].assign(n.before[k]);
      Generator at(3);
      at.take(n.position);
      std::vector<Tensor> outputs(n.outputs.size());
      std::vector<std::int64_t> attributes = n.attributes;
      const auto others = pointers(n.inputs);
      ops::perform({.primitive = p,
                    .inputs = others,
                    .attributes = attributes,
                    .variables = n.variables,
                    .generator = p.effects & ops::advances_generator ? &at : nullptr,
                    .outputs = outputs});
      for (std::size_t k = 0; k < n.variables.size(); ++k) CHECK(same_bits(n.variables[k], n.after[k]));
      for (std::size_t k = 0; k < outputs.size(); ++k) CHECK(same_bits(outputs[k], n.outputs[k]));
      CHECK(attributes == n.attributes);
    }
  }
}

TEST_CASE("a handler may replace effects: variables and generators are unchanged") {
  for (const DType d : dtypes) {
    CAPTURE(d);
    const Variable v(start(d)), table(start_of_table(d)), w(start(d)), other_table(start_of_table(d));
    Generator generator(3), same(5);
    std::vector<Tensor> kept_away;
    {
      const Sandbox sandbox;
      kept_away = run(v, table, generator);
    }
    CHECK(same_bits(v, start(d)));
    CHECK(same_bits(table, start_of_table(d)));
    CHECK(generator.position() == 0);
    const std::vector<Tensor> plain = run(w, other_table, same);
    for (std::size_t i = 0; i < 4; ++i) CHECK(same_bits(plain[i], kept_away[i]));
  }
}

TEST_CASE("an assign writes into the memory of the value unless another handle shares it") {
  for (const bool held : {false, true}) {
    const Variable v(zeros({4})), table(zeros({4, 2}));
    const Gradient rows = IndexedSlices{ones({1, 2}), cast(tensor({1.0}), DType::int64), {4, 2}};
    v.assign_add(ones({4}));  // from here on the value is the variable's own
    table.assign_add(rows);
    const auto memory = [](const Variable& x) { return detail::block(x.read())->data; };
    const std::byte *of_v = memory(v), *of_table = memory(table);
    std::vector<Tensor> holders;
    if (held) holders = {v, table};
    const std::uint64_t ids[] = {v.read().id(), table.read().id()};
    v.assign_sub(full({4}, 3.0));
    table.assign_sub(rows);
    CHECK(v.read().id() != ids[0]);  // a tape that watched the old value does not follow the new one
    CHECK(table.read().id() != ids[1]);
    CHECK((memory(v) == of_v) == !held);
    CHECK((memory(table) == of_table) == !held);
    CHECK(array_equal(v, full({4}, -2.0)));
    CHECK(array_equal(table, zeros({4, 2})));
    if (held) CHECK(array_equal(holders[0], ones({4})));
    if (held) CHECK(holders[1](1, 0).item() == 1);
  }
}

TEST_CASE("running a function again that assigns a variable it reads is an error") {
  const Variable v(full({2}, 3.0), "v"), other(zeros({}), "other");
  const Tensor x = ones({2});
  const auto gradient_of = [&](auto assign) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = recompute_grad([&](const Tensor& u) {
      const Tensor z = u * v;
      assign();
      return z;
    })(x);
    return *tape.gradient(y, x);
  };
  CHECK(array_equal(gradient_of([&] { other.assign_add(scalar(1.0)); }), full({2}, 3.0)));
  CHECK(other.read().item() == 1);  // assigned by the first run alone
  CHECK_THROWS_AS(gradient_of([&] { v.assign(zeros({2})); }), TapeError);
  v.assign(full({2}, 3.0));
  CHECK_THROWS_AS(gradient_of([&] { v.assign_sub(ones({2})); }), TapeError);
  CHECK(array_equal(v, full({2}, 2.0)));
}

TEST_CASE("an effect that fails changes nothing") {
  const Variable v(full({2}, 1.0)), flags(full({2}, 1.0, DType::boolean));
  Generator generator(1);
  CHECK_THROWS_AS(v.assign(ones({3})), ShapeError);
  CHECK_THROWS_AS(v.assign(Tensor()), ValueError);
  CHECK_THROWS_AS(v.assign_add(ones({2}, DType::float32)), TypeError);
  CHECK_THROWS_AS(v.assign_sub(Gradient()), ValueError);
  CHECK_THROWS_AS(v.assign_sub(Gradient(IndexedSlices{ones({1}), cast(tensor({2.0}), DType::int64), {2}})), IndexError);
  CHECK_THROWS_AS(random_categorical(generator, tensor({0.0, std::nan("")}), 2), ValueError);
  CHECK(generator.position() == 0);
  {
    const AnomalyGuard guard;
    CHECK_THROWS_AS(v.assign_add(full({2}, INFINITY)), ValueError);
  }
  CHECK(array_equal(v, ones({2})));
  for (const bool held : {false, true})
    for (std::int64_t n = 0;; ++n) {
      const Variable x(zeros({4, 2}));
      const Gradient rows = IndexedSlices{ones({2, 2}), cast(tensor({3.0, 3.0}), DType::int64), {4, 2}};
      x.assign_add(ones({4, 2}));
      const Tensor holder = held ? x.read() : Tensor();
      bool failed = false;
      detail::fail_allocation_after(n);
      try {
        x.assign_add(rows);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      detail::fail_allocation_after(-1);
      INFO("allocation " << n);
      CHECK(x.read()(3, 1).item() == (failed ? 1 : 3));
      if (held) CHECK(array_equal(holder, ones({4, 2})));
      if (!failed) break;
    }
}
