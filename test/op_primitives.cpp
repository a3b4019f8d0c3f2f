// The op table: the contract of a primitive. evaluate gives the outputs that infer announces. Evaluating again with the
// attributes of a call gives the same bits, at its inputs and at others. Derivatives read only what `keeps` names.
#include <algorithm>
#include <cstring>
#include <reel/elementwise.hpp>
#include <reel/ops/indexing.hpp>
#include <set>

#include "catch.hpp"
#include "op_cases.hpp"
#include "op_operands.hpp"
#include "support/bits.hpp"
#include "support/calls.hpp"
#include "support/warnings.hpp"
#include "tape/tape.hpp"

using namespace reel;
using support::bytes_of, support::same_bits, support::pointers, support::laid_out_all;
using support::Layout, support::Listening, support::Recorded, support::Tensors;

namespace {

using Function = std::function<Tensor(const Tensors&)>;

// Evaluates the primitive of `call` at the inputs of another call. Residuals are computed if the call computed them.
Tensors evaluate_again(const Recorded& call, const Tensors& inputs) {
  bool residuals = call.primitive->residuals > 0;
  for (std::size_t k = call.outputs.size() - call.primitive->residuals; k < call.outputs.size(); ++k)
    residuals = residuals && call.outputs[k].defined();
  Tensors again(call.outputs.size());
  const auto in = pointers(inputs);
  ops::evaluate(*call.primitive, in, call.attributes, again, residuals);
  return again;
}

void check_infer(const std::string& what, const Recorded& call) {
  const auto in = pointers(call.inputs);
  ops::Metas metas;
  call.primitive->infer({in, call.attributes}, metas);
  INFO(what << ": " << call.primitive->rule.name);
  REQUIRE(metas.size() == call.outputs.size());
  for (std::size_t k = 0; k < metas.size(); ++k) {
    const Tensor& y = call.outputs[k];
    if (!y.defined()) {  // only residuals may be left out
      CHECK(k >= metas.size() - call.primitive->residuals);
      continue;
    }
    CHECK(y.dtype() == metas[k].dtype);
    CHECK(y.shape() == metas[k].shape);
    const bool is_view = detail::block(y)->flags & detail::view_flag;
    CHECK(is_view == (metas[k].view_of >= 0));
    if (is_view && metas[k].view_of >= 0) CHECK(y.strides() == metas[k].strides);
  }
}

void check_again(const std::string& what, const Recorded& call, const Recorded& at) {
  const Tensors again = evaluate_again(call, at.inputs);
  for (std::size_t k = 0; k < again.size(); ++k) {
    INFO(what << ": output " << k << " of " << call.primitive->rule.name << ", evaluated again");
    CHECK(same_bits(again[k], at.outputs[k]));
  }
}

// The value of f, and its gradients for a cotangent of ones.
void run(const Function& f, const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  const auto pause = tape.stop_recording();
  if (is_differentiable(y.dtype())) static_cast<void>(tape.gradient(y, x));
}

bool alike(const Recorded& a, const Recorded& b) {
  if (a.primitive != b.primitive || a.attributes != b.attributes || a.inputs.size() != b.inputs.size()) return false;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (a.inputs[i].shape() != b.inputs[i].shape() || a.inputs[i].dtype() != b.inputs[i].dtype()) return false;
  return true;
}

struct Tally {
  std::set<std::string> primitives, refusing;
  int again = 0, elsewhere = 0, poisoned = 0;
};

// A primitive that throws for some values declares it. The others evaluate any real numbers.
void check_refusals(const std::string& what, const Function& f, const Tensors& x, Tally& tally) {
  std::vector<Recorded> calls;
  {
    const Listening listening(calls);
    run(f, x);
  }
  for (const Recorded& call : calls)
    for (const double value : {std::nan(""), 0.0, -1e30}) {
      Tensors inputs;
      for (const Tensor& one : call.inputs)
        inputs.push_back(is_differentiable(one.dtype()) ? full(one.shape(), value, one.dtype()) : one);
      bool refused = false;
      try {
        evaluate_again(call, inputs);
      } catch (const Error&) {
        refused = true;
      }
      INFO(what << ": " << call.primitive->rule.name << " of " << value);
      if (refused) CHECK((call.primitive->effects & ops::may_throw) != 0);
      if (refused) tally.refusing.insert(call.primitive->rule.name);
    }
}

// f at x, and at other inputs of the same shapes.
void check_calls(const std::string& what, const Function& f, const Tensors& x, const Tensors& others, Tally& tally) {
  std::vector<Recorded> calls, elsewhere;
  try {
    {
      const Listening listening(calls);
      run(f, x);
    }
    const Listening listening(elsewhere);
    run(f, others);
  } catch (const Error&) {  // the op refuses this dtype or these values; calls before it are checked
  }
  for (const Recorded& call : calls) {
    tally.primitives.insert(call.primitive->rule.name);
    check_infer(what, call);
    check_again(what, call, call);
    ++tally.again;
  }
  for (std::size_t i = 0; i < calls.size() && i < elsewhere.size(); ++i)
    if (alike(calls[i], elsewhere[i])) {
      check_again(what + " at other inputs", calls[i], elsewhere[i]);
      ++tally.elsewhere;
    }
}

// ---- What derivatives read

// The memory of a tensor's elements: that of its base, for a view.
const detail::Block* memory_of(const Tensor& x) {
  const detail::Block* b = detail::block(x);
  return b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
}

std::set<const detail::Block*> kept_by(const GradientTape& tape) {
  std::set<const detail::Block*> kept;
  const tape::Tape& t = GradientTapeAccess::get(tape);
  for (tape::Arena::Cursor at = t.entries.end(); const tape::Entry* e = t.entries.step_back(at);)
    for (std::uint32_t i = 0; i < e->saved; ++i)
      if (e->values()[i].defined()) kept.insert(memory_of(e->values()[i]));
  return kept;
}

// Overwrites every element that is not kept with ones in all bits, which is NaN or -1.
int poison(const std::vector<Recorded>& calls, const Tensors& x, const std::set<const detail::Block*>& kept) {
  std::set<const detail::Block*> memory;
  for (const Tensor& one : x) memory.insert(memory_of(one));
  for (const Recorded& call : calls)
    for (const Tensors* list : {&call.inputs, &call.outputs})
      for (const Tensor& one : *list)
        if (one.defined()) memory.insert(memory_of(one));
  int count = 0;
  for (const detail::Block* b : memory) {
    if (kept.contains(b) || b->flags & detail::borrowed_flag) continue;
    std::memset(b->data, b->dtype == DType::boolean ? 1 : 0xff,
                static_cast<std::size_t>(b->size) * item_size(b->dtype));
    ++count;
  }
  return count;
}

std::vector<std::vector<std::byte>> gradients(const Function& f, const Tensors& given, bool poisoned, Tally& tally) {
  Tensors x;
  for (const Tensor& one : given) x.push_back(from_data(one.to_vector<double>(), one.shape()));
  std::vector<Recorded> calls;
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  try {
    const Listening listening(calls);
    y = f(x);
  } catch (const Error&) {  // does not take float64
    return {};
  }
  if (!is_differentiable(y.dtype())) return {};
  const Tensor ones = ones_like(y);
  if (poisoned) tally.poisoned += poison(calls, x, kept_by(tape));
  std::vector<std::vector<std::byte>> bytes;
  for (const Gradient& g : tape.gradient(y, x, {.output_gradients = ones}))
    bytes.push_back(g ? bytes_of(*g) : std::vector<std::byte>());
  return bytes;
}

void check_keeps(const std::string& what, const Function& f, const Tensors& x, Tally& tally) {
  const auto expected = gradients(f, x, false, tally), seen = gradients(f, x, true, tally);
  INFO(what << ": its gradient reads what is not kept");
  CHECK(expected == seen);
}

// ---- Over the table

constexpr DType dtypes[] = {DType::int32, DType::float16, DType::float32, DType::float64, DType::complex128};

void check(const std::string& name, const Function& f, const Tensors& x, const Tensors& others, Tally& tally) {
  for (const DType d : dtypes)
    check_calls(name + " of " + reel::name(d), f, support::cast_all(x, d), support::cast_all(others, d), tally);
  for (const Layout layout : support::layouts)
    check_calls(name + ", " + support::name(layout), f, laid_out_all(x, layout), laid_out_all(others, layout), tally);
  check_keeps(name, f, x, tally);
  check_refusals(name, f, x, tally);
}

Tally check_table(std::span<const cases::Shaped> rows, std::size_t primitives) {
  WarningLog quiet;
  Tally tally;
  for (const cases::Shaped& row : rows)
    support::for_drawn_operands(row, [&](const Tensors& x, const Tensors& others) {
      check(
          row.name, [&](const Tensors& p) { return row.call(p); }, x, others, tally);
    });
  CHECK(tally.primitives.size() >= primitives);
  CHECK(tally.again > 10 * static_cast<int>(rows.size()));
  CHECK(tally.elsewhere > 5 * static_cast<int>(rows.size()));
  CHECK(tally.poisoned > static_cast<int>(rows.size()));
  return tally;
}

}  // namespace

TEST_CASE("reductions, scans and normalisations: primitives evaluate again") { check_table(cases::reductions(), 35); }
TEST_CASE("shape and index ops: primitives evaluate again") { check_table(cases::movements(), 36); }
TEST_CASE("ops of headers of their own: primitives evaluate again") {
  for (const cases::Family& family : cases::families()) {
    INFO(family.name);
    check_table(family.rows(), 12);
  }
}
TEST_CASE("linear algebra: primitives evaluate again") {
  const Tally tally = check_table(cases::linear_algebra(), 24);
  CHECK(tally.refusing == std::set<std::string>{"cholesky", "inverse", "solve", "triangular_solve"});
}
TEST_CASE("normalisations and losses: primitives evaluate again") { check_table(cases::networks(), 27); }

TEST_CASE("primitives that refuse integers, classes or real numbers declare it") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}), at = cast(tensor({1.0, 0.0}), DType::int64);
  std::vector<Recorded> calls;
  Generator generator(1);
  {
    const Listening listening(calls);
    static_cast<void>(gather(x, at - 1));
    static_cast<void>(sparse_softmax_cross_entropy(x, at));
    static_cast<void>(cast(x, DType::int32));
    static_cast<void>(random_categorical(generator, x, 3));
  }
  std::set<std::string> refusing;
  for (const Recorded& call : calls)
    if (call.primitive->effects & ops::may_throw) refusing.insert(call.primitive->rule.name);
  CHECK(refusing == std::set<std::string>{"cast", "positions", "random_categorical", "sparse_softmax_cross_entropy"});
}

TEST_CASE("indices that are positions already are not copied") {
  const Tensor x = tensor({1.0, 2.0, 3.0}), at = cast(tensor({2.0, 0.0, 1.0}), DType::int64);
  const auto copies = [&](const Tensor& indices) {
    std::vector<Recorded> calls;
    {
      const Listening listening(calls);
      static_cast<void>(gather(x, indices));
      static_cast<void>(segment_sum(x, indices, 3));
    }
    return std::count_if(calls.begin(), calls.end(), [](const Recorded& call) {
      const std::string_view name = call.primitive->rule.name;
      return name == "positions" || name == "segments";
    });
  };
  CHECK(copies(at) == 0);
  CHECK(copies(at - 1) == 2);
  CHECK(copies(flip(at)) == 2);
  CHECK(copies(cast(at, DType::int32)) == 2);
}

TEST_CASE("pointwise ops: derivatives read only what a tape keeps") {
  WarningLog quiet;
  Tally tally;
  for (const cases::Pointwise& row : cases::pointwise()) {
    support::Random random(row.name);
    Tensors x;
    for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor({3, 5}, row.domain[i].low, row.domain[i].high));
    check_keeps(
        row.name, [&](const Tensors& p) { return row.call(p); }, x, tally);
  }
  CHECK(tally.poisoned > static_cast<int>(cases::pointwise().size()) / 2);
}

TEST_CASE("draws: the position in the stream is an attribute of the primitive") {
  std::vector<Recorded> calls;
  {
    const Listening listening(calls);
    Generator generator(7);
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}})
      for (const DType d : {DType::float32, DType::float64}) {
        static_cast<void>(random_uniform(generator, shape, -1, 3, d));
        static_cast<void>(random_normal(generator, shape, 1, 2, d));
        static_cast<void>(random_truncated_normal(generator, shape, 1, 2, d));
        static_cast<void>(random_bernoulli(generator, shape, 0.3));
      }
    static_cast<void>(random_categorical(generator, tensor({.1, .2, .3}), 50));
    static_cast<void>(random_integers(generator, {50}, -7, 9));
    static_cast<void>(random_permutation(generator, 50));
  }
  std::set<std::string> names;
  for (const Recorded& call : calls) {
    names.insert(call.primitive->rule.name);
    check_infer("a draw", call);
    check_again("a draw", call, call);
  }
  for (const char* name : {"random_uniform", "random_normal", "random_truncated_normal", "random_bernoulli",
                           "random_categorical", "random_integers", "random_permutation"}) {
    INFO(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("elementwise: programs evaluate again, at other inputs too") {
  const Function f = [](const Tensors& x) {
    return elementwise([](auto a, auto b) { return where(a > 0.5, exp(a * b), a - floor(b)); }, x[0], x[1]);
  };
  support::Random random("elementwise");
  Tally tally;
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{40, 50}}) {
    const Tensors x{random.tensor(shape), random.tensor({})}, others{random.tensor(shape), random.tensor({})};
    check_calls("elementwise", f, x, others, tally);
    check_keeps("elementwise", f, x, tally);
  }
  CHECK(tally.again >= 3);
  CHECK(tally.elsewhere >= 3);
}
