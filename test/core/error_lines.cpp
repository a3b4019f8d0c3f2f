// An error names the line that called the op, if the op can know it, and the function that the user called.
#include <cmath>
#include <exception>
#include <reel/elementwise.hpp>
#include <reel/linalg/products.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/scans.hpp>
#include <reel/optim.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <thread>

#include "catch.hpp"
#include "tape/observe/observe.hpp"

using namespace reel;
using Catch::Contains, Catch::StartsWith;

namespace {

// The message of the Error that f throws; empty if none.
template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}
std::string at(int line) { return std::string(" (") + __FILE__ + ":" + std::to_string(line) + ")"; }
bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

using List = std::vector<Tensor>;

struct Failing {
  const char* name;
  Tensor (*call)(const Tensor& empty, const Tensor& x);
  int line;
};
#define FAILING(NAME, ...)                               \
  {                                                      \
    NAME,                                                \
        [](const Tensor& e, const Tensor& x) -> Tensor { \
          static_cast<void>(e), static_cast<void>(x);    \
          return __VA_ARGS__;                            \
        },                                               \
        __LINE__                                         \
  }
// clang-format off
const Failing failing[] = {
  FAILING("add", e + x), FAILING("subtract", x - ones({50})), FAILING("power", power(tensor<int>({2}), -1)),
  FAILING("floor_divide", floor_divide(tensor<int>({2}), 0)), FAILING("mod", tensor<int>({2}) % 0),
  FAILING("elu", elu(x, -1.0)), FAILING("abs", abs(e)), FAILING("exp", exp(e)), FAILING("clip", clip(x, e, x)),
  FAILING("less", e < x), FAILING("logical_and", logical_and(e, x)), FAILING("isnan", isnan(e)), FAILING("where", where(e, x, x)),
  FAILING("real", real(e)), FAILING("make_complex", make_complex(e, x)), FAILING("angle", angle(e)),
  FAILING("sum", sum(x, 7)), FAILING("mean", mean(e)), FAILING("max", max(e)), FAILING("argmax", argmax(x, 9)), FAILING("any", any(e)),
  FAILING("var", var(e)), FAILING("norm", norm(e)), FAILING("logsumexp", logsumexp(e)), FAILING("softmax", softmax(x, 9)),
  FAILING("cumsum", cumsum(x, 9)), FAILING("cumprod", cumprod(e, 0)),
  FAILING("reshape", reshape(x, {7})), FAILING("transpose", transpose(x, {0, 0})), FAILING("squeeze", squeeze(x, 0)),
  FAILING("expand_dims", expand_dims(x, 9)), FAILING("broadcast_to", broadcast_to(x, {7})), FAILING("flip", flip(x, 9)),
  FAILING("roll", roll(x, 1, 9)), FAILING("tile", tile(e, {2})), FAILING("repeat", repeat(x, 1, 9)), FAILING("split", split(x, 5)[0]),
  FAILING("unstack", unstack(x, 9)[0]), FAILING("pad", pad(x, {-1}, {0})), FAILING("contiguous", contiguous(e)), FAILING("cast", cast(e, DType::float32)),
  FAILING("identity", identity(e)), FAILING("stop_gradient", stop_gradient(e)),
  FAILING("slice", slice(x, {7})), FAILING("slice", x[7]), FAILING("slice", x(7)), FAILING("gather", gather(x, 9)),
  FAILING("take_along_axis", take_along_axis(x, tensor<int>({9, 9}), 0)), FAILING("scatter_add", scatter_add(x, tensor<int>({9}), ones({1}))),
  FAILING("diag", diag(e)), FAILING("diagonal", diagonal(x)), FAILING("tril", tril(x)), FAILING("trace", trace(x)), FAILING("one_hot", one_hot(x, 2)),
  FAILING("matmul", matmul(x, ones({3, 3}))), FAILING("dot", dot(x, ones({3}))), FAILING("outer", outer(e, x)), FAILING("tensordot", tensordot(x, ones({3}), 1)),
  FAILING("cholesky", cholesky(x)), FAILING("solve", solve(zeros({2, 2}), x)), FAILING("inverse", inverse(zeros({2, 2}))), FAILING("det", det(x)),
  FAILING("slogdet", slogdet(x).sign), FAILING("triangular_solve", triangular_solve(zeros({2, 2}), x)),
  FAILING("zeros_like", zeros_like(e)), FAILING("full", full({2}, ones({2}))),
  FAILING("conv2d", conv2d(x, x)), FAILING("softmax_cross_entropy", softmax_cross_entropy(x, ones({3}))),
  FAILING("layer_norm", layer_norm(x, {.axes = 9})), FAILING("max_pool2d", max_pool2d(x, {2, 2})),
  // Of lists, whose elements do not know the line.
  FAILING("concatenate", concatenate({x, e})), FAILING("stack", stack({x, e})), FAILING("einsum", einsum("ii", {x})),
  FAILING("block_diag", block_diag({x})), FAILING("meshgrid", meshgrid({x, e})[0]), FAILING("hstack", hstack({x, e})),
  FAILING("vstack", vstack({x, e})), FAILING("dstack", dstack({x, e})), FAILING("column_stack", column_stack({x, e})),
  FAILING("block", block({{x, e}})), FAILING("broadcast_arrays", broadcast_arrays({x, e})[0]), FAILING("multi_dot", multi_dot({x, e})),
  FAILING("concatenate", concatenate(List{x, e})), FAILING("stack", stack(List{x, e}, 1)), FAILING("einsum", einsum("ii", List{x})),
  FAILING("block_diag", block_diag(List{x})), FAILING("meshgrid", meshgrid(List{x, e}, true)[0]), FAILING("hstack", hstack(List{x, e})),
  FAILING("vstack", vstack(List{x, e})), FAILING("dstack", dstack(List{x, e})), FAILING("column_stack", column_stack(List{x, e})),
  FAILING("block", block(std::vector<List>{{x, e}})), FAILING("broadcast_arrays", broadcast_arrays(List{x, e})[0]),
  FAILING("multi_dot", multi_dot(List{x, e})), FAILING("select", select({greater(x, 0), e}, {x, x})), FAILING("choose", choose(0, {x, e})),
  FAILING("associative_scan", associative_scan([](const List& a, const List&) { return a; }, {x, e})[0]),
};
// clang-format on

}  // namespace

TEST_CASE("an error message ends with the line that called the op") {
  const Tensor x = tensor({1, 2});
  for (const auto& [name, call, line] : failing) {
    CAPTURE(name);
    const std::string text = message([fails = call, &x] { static_cast<void>(fails({}, x)); });
    CHECK(ends_with(text, at(line)));
    CHECK(text.find(".cpp:") == text.rfind(".cpp:"));  // once
    CHECK(tape::watching() == 0);
  }
}

TEST_CASE("an op that calls another op reports the line of the user's call") {
  const Tensor x = cast(tensor({{1, 2}, {3, 4}}), DType::float16);
  // The op calls itself in float32.
  const std::string text = message([&] { static_cast<void>(layer_norm(x, {.axes = {0, 7}})); });
  CHECK(ends_with(text, at(__LINE__ - 1)));
}

TEST_CASE("an error message without a known line has no suffix") {
  CHECK_THROWS_WITH(Shape{1}.erase(4), Catch::EndsWith("of rank 1"));
  CHECK(message([&] { static_cast<void>(Gradient().dense()); }).find(".cpp") == std::string::npos);
  // Ops that the library calls name no file of the library.
  SGD sgd;
  const Variable w(ones({2}));
  const std::string text = message([&] { sgd.step(std::vector{ones({3})}, {w}); });
  CHECK(text.find(".cpp") == std::string::npos);
  CHECK_FALSE(text.empty());
}

TEST_CASE("errors of assignments to variables name the caller's line") {
  const Variable v(ones({2}), "v");
  CHECK(ends_with(message([&] { v.assign(ones({3})); }), at(__LINE__)));
  CHECK(ends_with(message([&] { v.assign_add(ones({3})); }), at(__LINE__)));
  CHECK(ends_with(message([&] { v.assign_sub(Tensor()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { v.assign_add(Gradient()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { v.assign_sub(Gradient(ones({3}))); }), at(__LINE__)));
}

TEST_CASE("errors of reads of elements name the caller's line") {
  const Tensor x = tensor({1, 2}), empty;
  CHECK(ends_with(message([&] { static_cast<void>(x.item()); }), "item() needs exactly one" + at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(x[0].item<int>()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(empty.item()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(x.to_vector<float>()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(x.to_vector<bool>()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(x.data<float>()); }), at(__LINE__)));
  const Tensor crossed = transpose(ones({2, 3}));
  CHECK(ends_with(message([&] { static_cast<void>(crossed.data<double>()); }), at(__LINE__)));
}

TEST_CASE("errors of gradients of a tape name the caller's line") {
  const Tensor x = tensor({1, 2}), empty;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x * x);
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient(empty, x)); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient(Gradient(), x)); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient(empty, {x})); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient({y, empty}, x)); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient({y, empty}, {x})); }), at(__LINE__)));
  const GradientOptions two{.output_gradients = {x, x}};
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient(y, x, two)); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.jacobian(empty, x)); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.jacobian(empty, {x})); }), at(__LINE__)));
  static_cast<void>(tape.gradient(y, x));
  const std::string twice = message([&] { static_cast<void>(tape.gradient(y, x)); });
  CHECK(ends_with(twice, at(__LINE__ - 1)));
  CHECK(twice.find(".cpp:") == twice.rfind(".cpp:"));
}

TEST_CASE("errors of a tape's other calls name the caller's line") {
  const Tensor x = tensor({1, 2}), empty;
  const Variable v(ones({2}));
  GradientTape tape;
  CHECK(ends_with(message([&] { tape.resume(); }), at(__LINE__)));
  CHECK(ends_with(message([&] { static_cast<void>(tape.batch_jacobian(empty, x)); }), at(__LINE__)));
  tape.stop();
  CHECK(ends_with(message([&] { auto pause = tape.stop_recording(); }), at(__LINE__)));
  tape.resume();
  tape.watch(x);
  static_cast<void>(tape.gradient(sum(x * x), x));
  CHECK(ends_with(message([&] { tape.watch(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { tape.watch(v); }), at(__LINE__)));
  CHECK(ends_with(message([&] { tape.watch(std::vector{x, x}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { tape.watch({x, v}); }), at(__LINE__)));
  std::string elsewhere;
  std::thread([&] { elsewhere = message([&] { tape.stop(); }); }).join();
  CHECK(ends_with(elsewhere, at(__LINE__ - 1)));
}

TEST_CASE("errors of gradients, hessians and their products name the caller's line") {
  const Tensor x = tensor({1, 2}), empty;
  CHECK(ends_with(message([&] { gradients(x, x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hessians(x, x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hessian_vector_product(x, x, x); }), at(__LINE__)));
  GradientTape tape;
  tape.watch(x);
  CHECK(ends_with(message([&] { gradients(empty, x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients(tape, empty, x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hessians(tape, empty, x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hessian_vector_product(tape, x, x, {x, x}); }), at(__LINE__)));
}

TEST_CASE("errors of wrapped functions name the line that wraps, those of an op in the function its own") {
  const auto f = [](const Tensor& v) { return v * v; };
  const Tensor x = tensor({1, 2}), integers = tensor<int>({1, 2});
  CHECK(ends_with(message([&] { value_and_grad(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { grad(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { grad<0>(f)(integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hessian(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { jacobian(f)(integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { batch_jacobian(f)(integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { grad(f, {1})(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { value_and_grad(f, {"x"}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { make_vjp(f)(Tensor()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { hvp([](const Tensor& v) { return sum(v * v); })(x, {x, x}); }), at(__LINE__)));
  const auto pull = make_vjp(f)(x).second;
  CHECK(ends_with(message([&] { pull(ones({3})); }), at(__LINE__)));
  const auto push = linearize(f, x).second;
  CHECK(ends_with(message([&] { push(ones({3})); }), at(__LINE__)));
  const auto wrong = [](const Tensor& v) { return sum(v + ones({3})); };
  const int line = __LINE__ - 1;
  CHECK(ends_with(message([&] { grad(wrong)(x); }), at(line)));
  const std::string within = message([&] { sparse_hessian(f, ones({2})); });  // wraps f in a header
  CHECK(within.find(".hpp:") == std::string::npos);
  CHECK_FALSE(within.empty());
}

TEST_CASE("errors of fits name the caller's line, those of an op in the residuals its own") {
  const auto f = [](const Tensor& v) { return v * v - 1; };
  const Tensor x = tensor({1, 2}), integers = tensor<int>({1, 2});
  const LevenbergMarquardtOptions options;
  CHECK(ends_with(message([&] { levenberg_marquardt(f, integers); }), at(__LINE__)));
  MinimizerState state, other;
  static_cast<void>(lbfgs([](const Tensor& v) { return sum(v * v); }, x, {.state = &other}));
  CHECK(ends_with(message([&] { levenberg_marquardt(f, integers, options, state); }), at(__LINE__)));
  CHECK(ends_with(message([&] { levenberg_marquardt(f, x, options, other); }), at(__LINE__)));
  const auto of_list = [](const std::vector<Tensor>& v) { return v[0] * v[0]; };
  CHECK(ends_with(message([&] { levenberg_marquardt(of_list, std::vector{zeros({0})}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { levenberg_marquardt(of_list, std::vector{x}, options, &other); }), at(__LINE__)));
  const SparseJacobian sparse = sparse_jacobian(f, x);
  CHECK(ends_with(message([&] { levenberg_marquardt(f, sparse, integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { levenberg_marquardt(f, sparse, x, options, {}, other); }), at(__LINE__)));
  const auto wrong = [](const Tensor& v) { return v + ones({3}); };
  const int line = __LINE__ - 1;
  CHECK(ends_with(message([&] { levenberg_marquardt(wrong, x); }), at(line)));
  CHECK(ends_with(message([&] { newton_cg([](const Tensor& v) { return v; }, x); }), at(__LINE__)));
}

TEST_CASE("errors of jvp and linearize name the caller's line") {
  const auto f = [](const auto&... v) { return (v * ...); };
  const Tensor x = tensor({1, 2}), integers = tensor<int>({1, 2}), three = ones({3});
  CHECK(ends_with(message([&] { jvp(f, x, three); }), at(__LINE__)));
  CHECK(ends_with(message([&] { jvp(f, std::tuple(x, x), {x, three}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { linearize(f, integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { linearize(f, x, integers); }), at(__LINE__)));
  CHECK(ends_with(message([&] { linearize(f, x, x, integers); }), at(__LINE__)));
  const auto linear = linearize(f, x, x, x, x).second;  // more arguments
  CHECK(ends_with(message([&] { linear({x, x, x, three}); }), at(__LINE__)));
}

TEST_CASE("errors of functions with TensorFlow's names name the line that wraps") {
  const Tensor x = tensor({1, 2});
  const auto f = [](const Tensor& v) { return v * v; };
  const auto nothing = [](const Tensor&) { return Tensor(); };
  const auto with_aux = [](const Tensor& v) { return std::pair(v * v, 1); };
  CHECK(ends_with(message([&] { implicit_value_and_grad(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { implicit_grad(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { implicit_grad(with_aux, has_aux)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { implicit_value_and_gradients(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { implicit_gradients(with_aux, has_aux)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { implicit_val_and_grad(f)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function(nothing)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function<0>(f)(x, dy(ones({3}))); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function(with_aux, has_aux)(x, dy({x, x})); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function(f, {1})(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function(f, {"x"}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gradients_function(with_aux, {1}, has_aux)(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { value_and_gradients_function(f)(Tensor()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { value_and_gradients_function(f, {1})(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { val_and_grad_function(f, {1})(x); }), at(__LINE__)));
  CHECK(ends_with(message([&] { val_and_grad_function(with_aux, has_aux)(Tensor()); }), at(__LINE__)));
  CHECK(ends_with(message([&] { make_vjp(f, {"x"}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { make_vjp(f, {1})(x); }), at(__LINE__)));
}

TEST_CASE("an op in a gradient function names its own line, not that of the gradient") {
  const Tensor x = tensor({1, 2});
  const int line = __LINE__ + 2;
  const auto f = custom_gradient(
      [](const Tensor& v) { return std::pair(v * 2.0, [](const Tensor& g) { return g + ones({3}); }); });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  CHECK(ends_with(message([&] { static_cast<void>(tape.gradient(y, x)); }), at(line)));
}

TEST_CASE("errors of minimisers name the caller's line, those of an op in the function its own") {
  using Start = std::vector<Tensor>;
  const Start start{tensor({1, 2})}, nan{tensor({std::nan("")})};
  const auto f = [](const Start& p) { return sum(square(p[0])); };
  const auto residuals = [](const Start& p) { return p[0] - 1.0; };
  CHECK(ends_with(message([&] { lbfgs(f, start, {.history = -1}); }), at(__LINE__)));
  CHECK(ends_with(message([&] { lbfgs(f, nan); }), at(__LINE__)));
  CHECK(ends_with(message([&] { nonlinear_cg(f, nan); }), at(__LINE__)));
  CHECK(ends_with(message([&] { projected_lbfgs(f, start, Start{ones({3})}, start); }), at(__LINE__)));
  CHECK(ends_with(message([&] { newton_cg(f, nan); }), at(__LINE__)));
  CHECK(ends_with(message([&] { newton_cg(residuals, start); }), at(__LINE__)));
  CHECK(ends_with(message([&] { gauss_newton(residuals, nan); }), at(__LINE__)));
  const auto wrong = [](const Start& p) { return sum(p[0] + ones({3})); };
  const int line = __LINE__ - 1;
  CHECK(ends_with(message([&] { lbfgs(wrong, start); }), at(line)));
}

TEST_CASE("an error about an axis names the shape and the range") {
  const Tensor x = ones({2, 3});
  const auto says = [](const std::string& text, const auto& f) { CHECK_THAT(message(f), StartsWith(text)); };
  says("sum: axis 2 is out of range for shape [2, 3]: it must be from -2 to 1", [&] { static_cast<void>(sum(x, 2)); });
  says("softmax: axis -3 is out of range for shape [2, 3]:", [&] { static_cast<void>(softmax(x, -3)); });
  says("sum: axis -1 is named twice in [1, -1], for shape [2, 3]", [&] { static_cast<void>(sum(x, {1, -1})); });
  says("expand_dims: axis 3 is out of range for shape [2, 3]: it must be from -3 to 2",
       [&] { static_cast<void>(expand_dims(x, 3)); });
  says("max: axis 0 is out of range: shape [] has too few axes", [&] { static_cast<void>(max(scalar(1.0), 0)); });
  says("concatenate: axis 2 is out of range for shape [2, 3]:", [&] { static_cast<void>(concatenate({x, x}, 2)); });
  says("transpose: [0, 0] is not a permutation of the axes of shape [2, 3]:", [&] {
    static_cast<void>(transpose(x, {0, 0}));
  });
}

TEST_CASE("AnomalyGuard names the caller's line of assign_add once") {
  const Variable v(ones({2}), "v");
  const AnomalyGuard guard;
  const std::string text = message([&] { v.assign_add(full({2}, std::nan(""))); });
  CHECK_THAT(text, Contains(std::string("; called at ") + __FILE__ + ":" + std::to_string(__LINE__ - 1)));
  CHECK(text.find(".cpp:") == text.rfind(".cpp:"));
  const std::string by_gradient = message([&] { v.assign_sub(Gradient(full({2}, std::nan("")))); });
  CHECK_THAT(by_gradient, Contains(std::string("; called at ") + __FILE__ + ":" + std::to_string(__LINE__ - 1)));
  CHECK(message([] { static_cast<void>(log(zeros({2}))); }).find("lib/") == std::string::npos);
}

TEST_CASE("copies of an error keep the line on other threads and after later ops") {
  const Tensor x = tensor({1, 2});
  const int line = __LINE__ + 3;
  std::exception_ptr kept;
  try {
    static_cast<void>(x + ones({3}));
  } catch (const Error& e) {
    const Error copy = e;
    Error other("other");
    other = copy;
    CHECK(std::string(other.what()) == e.what());
    static_cast<void>(x + x);  // an op while the error lives
    CHECK(ends_with(e.what(), at(line)));
    CHECK(ends_with(copy.what(), at(line)));
    kept = std::current_exception();
  }
  CHECK_THROWS_WITH(x * ones({5}), Contains("[5]"));
  std::thread([&] {
    try {
      std::rethrow_exception(std::exchange(kept, nullptr));
    } catch (const Error& e) {
      CHECK(ends_with(e.what(), at(line)));
    }
  }).join();
  // An error that was caught does not affect the message of a later op.
  CHECK(ends_with(message([&] { static_cast<void>(x + ones({4})); }), at(__LINE__)));
}

TEST_CASE("an op in a destructor during unwinding does not change the line of the error") {
  struct AtEnd {
    Tensor x;
    ~AtEnd() { static_cast<void>(x * x); }
  };
  const Tensor x = tensor({1, 2});
  const std::string text = message([&] {
    const AtEnd end{x};
    static_cast<void>(x + ones({3}));
  });
  CHECK(ends_with(text, at(__LINE__ - 2)));
}

TEST_CASE("an exception of an elementwise function names the line that threw") {
  const Tensor x = tensor({1, 2});
  const int line = __LINE__ + 2;
  const std::string text =
      message([&] { static_cast<void>(elementwise([&](auto a) { return a + (x + ones({3})).item(); }, x)); });
  CHECK(ends_with(text, at(line)));
}

TEST_CASE("errors name the public function that the user called") {
  const Tensor x = tensor({1, 2});
  const auto square_sum = [](const Tensor& a) { return sum(a * a); };
  const auto twice = [](const Tensor& a) { return a * 2.0; };
  const auto nothing = [](const Tensor&) { return Tensor(); };
  const Tensor ints = tensor<int>({1});
  const auto says = [](const char* name, const auto& f) {
    CAPTURE(name);
    CHECK_THAT(message(f), StartsWith(std::string(name) + ":"));
  };
  says("jvp", [&] { jvp(twice, x, {x, x}); });
  says("jvp", [&] { jvp(twice, x, ones({3})); });
  says("jvp", [&] { jvp(twice, ints, ints); });
  says("jvp", [&] { jvp(twice, x, Gradient()); });
  says("jvp", [&] { jvp(twice, Tensor(), x); });
  says("jvp", [&] { jvp(nothing, x, x); });
  says("ForwardAccumulator", [&] { ForwardAccumulator(x, ones({3})); });
  says("linearize", [&] { linearize(twice, x).second(ones({3})); });
  says("linearize", [&] { linearize(nothing, x); });
  says("linearize", [&] { linearize(twice, ints); });
  says("make_vjp", [&] { make_vjp(twice)(x).second({x, x}); });
  says("make_vjp", [&] { make_vjp(twice)(x).second(ones({3})); });
  says("make_vjp", [&] { make_vjp(twice)(x).second(Gradient()); });
  says("make_vjp", [&] { make_vjp(twice)(Tensor()); });
  says("make_vjp", [&] { make_vjp(nothing)(x); });
  says("make_vjp", [&] { make_vjp(twice, Parameters{3})(x); });
  CHECK_THAT(message([&] {
               const auto [y, vjp] = make_vjp(twice, {.persistent = false})(x);
               static_cast<void>(vjp());
               static_cast<void>(vjp());
             }),
             StartsWith("make_vjp can only be called once: "));
  says("value_and_grad", [&] { value_and_grad(twice)(x); });
  says("value_and_grad", [&] { value_and_grad(square_sum)(Tensor()); });
  says("grad", [&] { grad(nothing)(x); });
  says("grad", [&] { grad(square_sum)(ints); });
  says("grad", [&] { grad(twice, Parameters{0})(x); });
  says("jacobian", [&] { jacobian(nothing)(x); });
  says("jacobian", [&] { jacobian(twice)(ints); });
  says("batch_jacobian", [&] { batch_jacobian(square_sum)(x); });
  says("batch_jacobian", [&] { batch_jacobian(nothing)(x); });
  says("batch_jacobian", [&] { batch_jacobian(twice)(ints); });
  says("hessian", [&] { hessian(twice)(x); });
  says("hvp", [&] { hvp(square_sum)(x, {x, x}); });
  says("hvp", [&] { hvp(square_sum)(x, ones({3})); });
  says("hvp", [&] { hvp(twice)(x, x); });
  says("gradients_function", [&] { gradients_function(twice)(x, dy({x, x})); });
  says("gradients_function", [&] { gradients_function(twice)(x, dy(ones({3}))); });
  says("value_and_gradients_function", [&] { value_and_gradients_function(nothing)(x); });
  says("value_and_gradients_function", [&] { value_and_gradients_function(twice)(x, dy(ones({3}))); });
  says("implicit_grad", [&] { implicit_grad([&] { return x; })(); });
  says("gradients", [&] { gradients(x, x); });
  says("hessians", [&] { hessians(x, x); });
  says("hessian_vector_product", [&] { hessian_vector_product(x, x, x); });
  says("checkpoint", [&] { checkpoint(nothing)(x); });
  says("recompute_grad", [&] { recompute_grad(nothing)(x); });
  says("grad_pass_through", [&] { grad_pass_through(nothing)(x); });
  says("grad_pass_through", [&] { grad_pass_through([](const Tensor& a) { return sum(a); })(x); });
  says("custom_gradient", [&] {
    custom_gradient([](const Tensor&) { return std::pair(Tensor(), [](const Tensor& g) { return g; }); })(x);
  });
  says("cond", [&] { cond(true, nothing, nothing, x); });
  says("cond", [&] { cond(x, twice, twice, x); });
  const auto go_on = [](const Tensor&) { return true; };
  says("while_loop", [&] { while_loop(go_on, nothing, x); });
  says("while_loop", [&] { while_loop([&](const Tensor&) { return x; }, twice, x); });
  says("while_loop", [&] {
    while_loop(
        go_on, [&](const Tensor&) { return ints; }, x);
  });
  says("fori_loop", [&] {
    fori_loop(
        2, [&](std::int64_t, const Tensor&) { return ints; }, x);
  });
  says("fori_loop", [&] {
    fori_loop(
        2, [&](std::int64_t, const Tensor&) { return Tensor(); }, x);
  });
  says("scan", [&] { scan([](const Tensor& c, const Tensor&) { return std::pair(c, Tensor()); }, x, x); });
  says("scan", [&] { scan([](const Tensor& c, const Tensor&) { return std::pair(c, c); }, x, scalar(1.0)); });
}
