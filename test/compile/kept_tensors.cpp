// Tensors that a traced function stores outside of itself: every use after the trace is an error that names what made
// them.
#include <cstdio>
#include <functional>
#include <reel/compile.hpp>
#include <reel/control.hpp>
#include <reel/custom.hpp>
#include <reel/dlpack.hpp>
#include <reel/eigen.hpp>
#include <reel/elementwise.hpp>
#include <reel/forward.hpp>
#include <reel/io.hpp>
#include <reel/optim.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <reel/testing.hpp>
#include <reel/xtensor.hpp>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::same_bits;

namespace {

struct Use {
  const char* name;
  std::function<void()> run;
};

// Tensors of shape [3], of a matrix, and indices.
struct Kept {
  Tensor x, matrix, indices;
  int line = 0;
  Kept() {
    compile([this](const Tensor& a) {
      line = __LINE__ + 1;
      x = tanh(a), matrix = a * reshape(a, {3, 1}), indices = cast(a, DType::int64);
      return a * 2.;
    })(support::ramp({3}));
  }
};

Tensor squares(const Tensor& x) { return x * x; }
Tensor sum_of_squares(const Tensor& x) { return sum(x * x); }

template <class Optimizer>
std::function<void()> steps(Optimizer optimizer, const Variable& v, const Gradient& g) {
  return [=]() mutable { optimizer.step(std::vector<Gradient>{g}, std::vector<Variable>{v}); };
}

void check_all(const std::vector<Use>& uses, const std::string& expected) {
  for (const Use& use : uses) {
    INFO(use.name);
    CHECK_THROWS_AS(use.run(), TraceError);
    CHECK_THROWS_WITH(use.run(), Catch::Contains(expected));
  }
}

std::string made_by(const Kept& kept, const char* op) {
  return std::string("was made while f was traced, by ") + op + " (kept_tensors.cpp:" + std::to_string(kept.line) +
         "); return it from f";
}

}  // namespace

TEST_CASE("a tensor kept from a trace is refused by ops, variables and optimisers, which keep their values") {
  const Kept kept;
  const Tensor& k = kept.x;
  const Tensor x = support::ramp({3}), rows = from_data(std::vector<std::int64_t>{0, 1, 2});
  const Variable v(x, "v");
  const Gradient dense(k), slices(IndexedSlices{k, rows, {3}});
  std::vector<Use> uses = {
      {"add", [&] { k + x; }},
      {"x += kept",
       [&] {
         Tensor y = x * 1.;
         y += k;
       }},
      {"kept += x",
       [&] {
         Tensor y = k;
         y += x;
       }},
      {"identity", [&] { identity(k); }},
      {"reshape",
       [&] {
         reshape(k, {3, 1});
       }},
      {"slice", [&] { k[0]; }},
      {"stack",
       [&] {
         stack({k, x});
       }},
      {"elementwise", [&] { elementwise([](auto a, auto b) { return a * b; }, k, x); }},
      {"where", [&] { where(x > 0., k, x); }},
      {"Variable", [&] { Variable u(k); }},
      {"assign", [&] { v.assign(k); }},
      {"assign_add", [&] { v.assign_add(k); }},
      {"assign_sub", [&] { v.assign_sub(k); }},
      {"assign_add of a gradient", [&] { v.assign_add(dense); }},
      {"assign_sub of slices", [&] { v.assign_sub(slices); }},
      {"IndexedSlices.dense",
       [&] {
         IndexedSlices{k, rows, {3}}.dense();
       }},
      {"clip_by_global_norm", [&] { clip_by_global_norm(std::vector<Gradient>{dense}, 1.); }},
  };
  for (const Gradient& g : {dense, slices}) {
    uses.push_back({"SGD", steps(SGD(), v, g)});
    uses.push_back({"SGD with momentum", steps(SGD({.momentum = .9}), v, g)});
    uses.push_back({"Adam", steps(Adam(), v, g)});
    uses.push_back({"AdamW", steps(AdamW(), v, g)});
    uses.push_back({"RMSProp", steps(RMSProp(), v, g)});
    uses.push_back({"Adagrad", steps(Adagrad(), v, g)});
    uses.push_back({"Lion", steps(Lion(), v, g)});
  }
  check_all(uses, made_by(kept, "tanh"));
  check_all({{"gather", [&] { gather(x, kept.indices); }},
             {"assign_sub of slices",
              [&] {
                v.assign_sub(Gradient(IndexedSlices{x, kept.indices, {3}}));
              }},
             {"Adam", steps(Adam(), v, Gradient(IndexedSlices{x, kept.indices, {3}}))}},
            made_by(kept, "cast"));
  CHECK(same_bits(v.read(), x));
}

TEST_CASE("a tensor kept from a trace is refused by tapes, accumulators, wrappers and loops") {
  const Kept kept;
  const Tensor& k = kept.x;
  const Tensor x = support::ramp({3}), one = ones({3});
  const auto on_tape = [&](const auto& ask) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * x;
    ask(tape, y);
  };
  const auto custom =
      custom_gradient([&](const Tensor& a) { return std::pair(a * 2., [&](const Tensor&) { return k; }); },
                      [&](const std::tuple<Tensor>&, const std::tuple<Tensor>&) { return k; });
  const auto more = [](const Tensor& z) { return sum(z) < 30.; };
  const auto next = [](const Tensor& z) { return z + 1.; };
  const auto add = [](const Tensor& c, const Tensor& e) { return std::pair(c + e, c); };
  check_all(
      {{"output_gradients", [&] { on_tape([&](auto& t, auto& y) { t.gradient(y, x, {.output_gradients = k}); }); }},
       {"target", [&] { on_tape([&](auto& t, auto&) { t.gradient(k, x); }); }},
       {"source", [&] { on_tape([&](auto& t, auto& y) { t.gradient(y, k); }); }},
       {"ForwardAccumulator, tangent", [&] { ForwardAccumulator(x, k); }},
       {"ForwardAccumulator, primal", [&] { ForwardAccumulator(k, x); }},
       {"jvp, tangent", [&] { jvp(squares, x, k); }},
       {"jvp, primal", [&] { jvp(squares, k, x); }},
       {"linearize", [&] { linearize(squares, x).second(k); }},
       {"make_vjp", [&] { make_vjp(squares)(x).second(k); }},
       {"grad", [&] { grad(sum_of_squares)(k); }},
       {"hvp, point", [&] { hvp(sum_of_squares)(k, x); }},
       {"hvp, direction", [&] { hvp(sum_of_squares)(x, k); }},
       {"hessian", [&] { hessian(sum_of_squares)(k); }},
       {"jacobian", [&] { jacobian(squares)(k); }},
       {"check_gradients", [&] { check_gradients(sum_of_squares, k); }},
       {"a user's vjp", [&] { grad([&](const Tensor& a) { return sum(custom(a)); })(x); }},
       {"a user's jvp", [&] { jvp(custom, x, one); }},
       {"while_loop", [&] { while_loop(more, next, k); }},
       {"while_loop, compiled", [&] { while_loop(more, next, k, {.compiled = true}); }},
       {"scan", [&] { scan(add, scalar(0.), k); }},
       {"scan, compiled", [&] { scan(add, scalar(0.), k, {.compiled = true}); }},
       {"checkpoint", [&] { checkpoint(squares)(k); }},
       {"lbfgs", [&] { lbfgs(sum_of_squares, k); }},
       {"levenberg_marquardt", [&] { levenberg_marquardt(squares, k); }}},
      made_by(kept, "tanh"));
}

TEST_CASE("a tensor kept from a trace is refused where its elements are read") {
  const Kept kept;
  const Tensor& k = kept.x;
  const std::string file = "kept_tensor_written";
  check_all({{"data", [&] { k.data<double>(); }},
             {"item", [&] { k.item(); }},
             {"to_vector", [&] { k.to_vector(); }},
             {"bool", [&] { static_cast<void>(bool(k)); }},
             {"to_string", [&] { to_string(k); }},
             {"<<", [&] { std::ostringstream() << Gradient(k); }},
             {"array_equal", [&] { array_equal(k, k); }},
             {"allclose", [&] { allclose(k, k); }},
             {"as_eigen_vector", [&] { as_eigen_vector<double>(k); }},
             {"as_xtensor", [&] { as_xtensor<double>(k); }},
             {"to_dlpack", [&] { to_dlpack(k); }},
             {"save_npy", [&] { save_npy(file, k); }},
             {"save_npz",
              [&] {
                save_npz(file, {{"k", k}});
              }}},
            made_by(kept, "tanh"));
  check_all({{"to_csr", [&] { to_csr(kept.matrix); }}}, made_by(kept, "multiply"));
  CHECK(std::fopen(file.c_str(), "r") == nullptr);
}

TEST_CASE("a tensor kept from a trace is refused by compiled functions and on other threads") {
  const Kept kept;
  const Tensor& k = kept.x;
  const Tensor x = support::ramp({3});
  const Variable v(x, "v");
  const auto doubled = compile([](const Tensor& a) { return a * 2.; });
  const auto of_list = compile([](const std::vector<Tensor>& a) { return a[0] * 2.; });
  doubled(x), of_list(std::vector{x});  // a program exists
  check_all({{"argument", [&] { doubled(k); }}, {"leaf of an argument", [&] { of_list(std::vector{k}); }}},
            made_by(kept, "tanh"));
  check_all({{"captured", [&] { compile([&](const Tensor& a) { return a * k; })(x); }},
             {"assigned", [&] { compile([&](const Tensor& a) { return v.assign(k), a * 2.; })(x); }},
             {"added", [&] { compile([&](const Tensor& a) { return v.assign_add(k), a * 2.; })(x); }},
             {"returned", [&] { compile([&](const Tensor&) { return k; })(x); }}},
            "was made while another function was traced, by tanh");
  Tensor inside;
  std::string text;
  compile([&](const Tensor& a) {
    inside = a + 1.;
    std::thread([&] {
      try {
        v.assign_add(inside);
      } catch (const TraceError& e) {
        text = e.what();
      }
    }).join();
    return inside;
  })(x);
  CHECK_THAT(text, Catch::Contains("was made while f was traced, by add"));
  CHECK(same_bits(v.read(), x));
}
