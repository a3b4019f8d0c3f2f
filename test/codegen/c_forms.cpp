// generate_c: every row of the op table, its value and its gradient, against the same function run here.
#include <cstdlib>
#include <iostream>
#include <set>

#include "catch.hpp"
#include "op_cases.hpp"
#include "op_operands.hpp"
#include "support/generated_c.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::Tensors;

namespace {

using Function = std::function<Tensors(const Tensors&)>;

// The value, and gradients for a cotangent of varied elements.
Tensors value_and_gradients(const std::function<Tensor(const Tensors&)>& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  Tensors results{y};
  if (!is_differentiable(y.dtype()) || is_complex(y.dtype())) return results;
  const Tensor weights = cast(cos(arange(y.size())), y.dtype());
  for (const Gradient& g : tape.gradient(sum(y * reshape(weights, y.shape())), x))
    if (g) results.push_back(g.dense());
  return results;
}

// The Jacobian by reverse mode: cotangents with a leading axis.
Tensors value_and_jacobians(const std::function<Tensor(const Tensors&)>& f, const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  Tensors results{y};
  if (!is_differentiable(y.dtype()) || is_complex(y.dtype())) return results;
  for (const Tensor& one : x)
    if (is_differentiable(one.dtype()) && !is_complex(one.dtype()))
      if (const Gradient g = tape.jacobian(y, one)) results.push_back(g.dense());
  return results;
}

// One function of the file.
struct Case {
  std::string name;
  Tensors inputs, right;
  std::size_t number;
};

struct Cases {
  support::GeneratedC file;
  std::vector<Case> list;
  std::set<std::string> refused;  // names of ops
  std::vector<std::string> reasons;

  void add(const std::string& name, const Function& f, const Tensors& x) {
    Tensors right;
    try {
      right = f(x);
    } catch (const Error&) {  // the op does not take these operands
      return;
    }
    try {
      const auto flat = [&f](const std::vector<Tensor>& operands) { return f(operands); };
      const CSource c = generate_c(flat, {.name = file.next_name()}, x);
      list.push_back({name, x, right, file.add(c, x, right)});
    } catch (const Error& e) {
      refused.insert(name);
      reasons.push_back(name + ": " + e.what());
    }
  }
  void check() {
    const char* compiler = std::getenv("REEL_TEST_CC");
    const std::string said = file.load(std::string(compiler ? compiler : "gcc") +
                                       " -O0 -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror");
    INFO(said.substr(0, 4000));
    REQUIRE(said.empty());
    for (const Case& c : list) check(c);
  }
  void check(const Case& c) const {
    int status = 0;
    const Tensors got = file.call(c.number, c.inputs, status);
    INFO(c.name << " (" << c.number << ")");
    CHECK(status == 0);
    for (std::size_t k = 0; k < got.size(); ++k) {
      const Tensor y = cast(got[k], DType::float64), right = cast(c.right[k], DType::float64);
      if (y.size() == 0) continue;
      const double unit = got[k].dtype() == DType::float32 ? 1e-5 : 1e-12;
      const Tensor finite = isfinite(right);
      const double largest = std::max(1.0, max(where(finite, abs(right), 0.)).item<double>());
      const Tensor wrong = where(finite, abs(y - right) > unit * largest,
                                 logical_not(logical_or(equal(y, right), logical_and(isnan(y), isnan(right)))));
      INFO("result " << k << ": " << y << "\nright: " << right);
      CHECK(!any(wrong).item<bool>());
    }
  }
};

}  // namespace

TEST_CASE("generate_c: every row of the op table", "[once]") {
  const WarningLog quiet;
  Cases cases;
  const auto derivatives = std::getenv("REEL_TEST_JACOBIANS") ? value_and_jacobians : value_and_gradients;
  for (const cases::Pointwise& row : cases::pointwise()) {
    support::Random random(row.name);
    Tensors x;
    for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor({2, 3}, row.domain[i].low, row.domain[i].high));
    cases.add(
        row.name, [&](const Tensors& p) { return derivatives([&](const Tensors& q) { return row.call(q); }, p); }, x);
  }
  for (const std::span<const cases::Shaped> table : cases::shaped_tables())
    for (const cases::Shaped& row : table) {
      if (!cases::selected(row.name) || (row.flags & cases::by_values)) continue;
      bool first = true;
      support::for_drawn_operands(row, [&](const Tensors& x, const Tensors&) {
        if (std::exchange(first, false))
          cases.add(
              row.name, [&](const Tensors& p) { return derivatives([&](const Tensors& q) { return row.call(q); }, p); },
              x);
      });
    }
  if (std::getenv("REEL_TEST_REASONS"))
    for (const std::string& reason : cases.reasons) std::cout << reason << "\n";
  for (const char* const name : {"pad", "overlap_add", "block_diag", "scatter_reduce", "index_multiply", "segment_max",
                                 "segment_sum", "segment_mean", "cummax", "cummin", "logcumsumexp", "bincount",
                                 "nonzero", "argpartition", "quantile", "lu_factor"}) {
    INFO(name);
    CHECK_FALSE(cases.refused.contains(name));
  }
  CHECK((std::getenv("REEL_OP_CASES") || cases.list.size() > 650));  // most ops have a form in C
  cases.check();
}
