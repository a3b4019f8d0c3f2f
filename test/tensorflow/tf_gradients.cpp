// What TensorFlow's gradients_test.py checks of gradients, hessians and slices, with its inputs and numbers, in the
// order of the file. The tape that records a graph takes its place.
#include <cmath>
#include <reel/gradients.hpp>

#include "catch.hpp"
#include "support/warnings.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;

TEST_CASE("gradients: GradientsTest.testGradients") {
  const Tensor in = ones({32, 100}), w = ones({100, 10}), b = ones({10});
  GradientTape tape;
  tape.watch(std::tuple(in, w, b));
  const Tensor h = matmul(in, w) + b;
  const auto g = gradients(h, w);
  REQUIRE(g.size() == 1);
  CHECK((*g[0]).shape() == w.shape());
  CHECK(numbers(g[0]) == List(1000, 32));
}

TEST_CASE("gradients: GradientsTest.testUnusedOutput") {
  const Tensor w = ones({2, 2}), x = ones({2, 2});
  GradientTape tape;
  tape.watch(w);
  const Tensor c = sum(split(matmul(w, x), 2, 0)[1]);
  CHECK(numbers(gradients(c, {w})[0]) == List{0, 0, 2, 2});
}

TEST_CASE("gradients: GradientsTest.testColocateGradientsWithGateGradients") {
  const Tensor x = ones({1, 1}), y = ones({1, 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor z = sum(x + y);
  CHECK(numbers(gradients(z, {x}, {.gate_gradients = true})[0]) == List{1});
}

TEST_CASE("gradients: GradientsTest.testBoundaryStop") {
  const Tensor c = scalar(1.0);
  GradientTape tape;
  tape.watch(c);
  const Tensor in[] = {c}, out[] = {scalar(1.0)};
  record_operation("beyond_the_boundary", in, out);  // has no gradient: LookupError if it were differentiated
  const Tensor x = out[0], z = x + 1.0 + 1;
  CHECK(each_number(gradients(z, {x})) == List{1});
}

TEST_CASE("gradients: GradientsTest.testBoundaryContinue") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * 2.0, z = y * 3.0;
  CHECK(each_number(gradients(z, {x, y})) == List{6, 3});
}

TEST_CASE(
    "gradients: S99: GradientsTest.testAggregationMethodAccumulateN, GradientsTest.testAggregationMethodAddN, "
    "GradientsTest.testAggregationMethodTree") {
  for (const auto method : {AggregationMethod::accumulate_n, AggregationMethod::add_n, AggregationMethod::tree}) {
    const Tensor x = scalar(1.0);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = x * 2.0, z = y + y + y + y + y + y + y + y + y + y;
    CHECK(each_number(gradients(z, {x, y}, {.aggregation_method = method})) == List{20, 10});
  }
}

// TensorFlow's strings: here integers are the tensors that carry no gradient.
TEST_CASE(
    "gradients: GradientsTest.testNoGradientForStringOutputs, "
    "GradientsTest.testNoGradientForStringOutputsWithOpNamespace") {
  for (const char* name : {"TestIntegerOutput", "Namespace>TestIntegerOutput"}) {
    GradientRegistry::add(name, [](const RecordedOp&, std::span<const Gradient> g) {
      CHECK((*g[0]).dtype() == DType::float32);
      CHECK_FALSE(g[1]);
      return std::vector<Gradient>{g[0]};
    });
    const Tensor c = scalar(1.f);
    GradientTape tape;
    tape.watch(c);
    const Tensor in[] = {c}, out[] = {scalar(1.f), scalar(7)};
    record_operation(name, in, out);
    const Tensor z = out[0] * 2.0, w = z * 3.0;
    CHECK(number(gradients(z, {c})[0]) == 2);
    CHECK(number(gradients(w, {c})[0]) == 6);
    GradientRegistry::remove(name);
  }
}

TEST_CASE("gradients: GradientsTest.testSingletonIndexedSlices") {
  const Tensor x = tensor({1.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x);
  const IndexedSlices given{tensor({2.0}), tensor<int>({0}), {1}};
  const Gradient g = gradients(y, x, {.output_gradients = given})[0];
  REQUIRE(g.is_slices());
  CHECK(g.slices().values.to_vector() == List{2});
  CHECK(g.slices().indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{0});
}

TEST_CASE("gradients: GradientsTest.testNonDifferentiableSwitchInWhileLoop") {
  const Tensor v = scalar(2.5);
  GradientTape tape;
  tape.watch(v);
  Tensor a = scalar(0);
  std::vector<Tensor> written;
  for (int i = 0; i < 4; ++i) {
    a += cast(v, DType::int32);
    written.push_back(a);
  }
  CHECK(written[3].item<int>() == 8);
  CHECK_FALSE(gradients(written[3], v)[0]);
}

TEST_CASE("gradients: GradientsTest.testVariableReadValueGradient, GradientsTest.testVariableAsGraphElementGradient") {
  const Variable v(scalar(100.0));
  GradientTape tape;
  CHECK(number(gradients(v.read(), v)[0]) == 1);
  CHECK(number(gradients(v, v)[0]) == 1);
}

TEST_CASE("gradients: GradientsTest.testVariableDefaultGrad") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Variable v(full({}, 100.0, dtype));
    GradientTape tape;
    const Gradient g = gradients(scalar(0.f), v, {.unconnected_gradients = UnconnectedGradients::zero})[0];
    CHECK((*g).dtype() == dtype);
    CHECK((*g).item() == 0);
  }
}

TEST_CASE("gradients: GradientsTest.testDependentYs") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x), y1 = square(y), y2 = square(y1);
  CHECK(each_number(gradients({y, y2}, x)) == List{17502});
  CHECK(each_number(gradients(y + y2, x)) == List{17502});
  const Tensor z = identity(y), z2 = identity(y2);
  CHECK(each_number(gradients({z, z2}, x)) == List{17502});
}

TEST_CASE("gradients: GradientsTest.testPartialDerivatives") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x, z = x + y;
  CHECK(each_number(gradients(z, {x, y})) == List{3, 1});
  CHECK(each_number(gradients(z, {x, y}, {.stop_gradients = {x, y}})) == List{1, 1});
}

namespace {

// a, b(a), c(a, b), d(b, c), each a sum of products with constant matrices; those in `stopped` behind stop_gradient.
// The tape follows all four, as what they are then.
std::array<Tensor, 4> chain(GradientTape& tape, unsigned stopped) {
  Generator generator(7);
  std::array<Tensor, 4> made;
  const auto make = [&](unsigned which, std::initializer_list<unsigned> from) {
    Tensor y = random_uniform(generator, {3, 3});
    for (const unsigned i : from) y += matmul(random_uniform(generator, {3, 3}), made[i]);
    made[which] = stopped >> which & 1 ? stop_gradient(y) : y;
    tape.watch(made[which]);
  };
  make(0, {});
  make(1, {0});
  make(2, {0, 1});
  make(3, {1, 2});
  return made;
}

}  // namespace

TEST_CASE("gradients: S105: GradientsTest.testStopGradients") {
  constexpr unsigned subsets = 16;
  for (unsigned constants = 0; constants < subsets; ++constants)
    for (unsigned sources = 0; sources < subsets; ++sources) {
      const auto gradients_of = [&](unsigned stopped_ahead, unsigned stopped_afterwards) {
        GradientTape tape;
        const std::array<Tensor, 4> made = chain(tape, stopped_ahead);
        std::vector<Tensor> xs, stops;
        for (unsigned i = 0; i < 4; ++i) {
          if (sources >> i & 1) xs.push_back(made[i]);
          if (stopped_afterwards >> i & 1) stops.push_back(made[i]);
        }
        List result;
        for (const Gradient& g :
             gradients(made[3], xs, {.unconnected_gradients = UnconnectedGradients::zero, .stop_gradients = stops}))
          for (const double v : numbers(g)) result.push_back(v);
        return result;
      };
      CHECK(gradients_of(constants, 0) == gradients_of(0, constants));
    }
}

TEST_CASE(
    "gradients: GradientsTest.testUnconnectedGradientsNoneUnconnectedGradients, "
    "GradientsTest.testUnconnectedGradientsZerosUnconnectedGradients") {
  const Tensor x = ones({2, 2}), y = full({3, 1}, 3.0);
  GradientTape tape;
  tape.watch(std::pair(x, y));
  CHECK_FALSE(gradients(y, {x}, {.unconnected_gradients = UnconnectedGradients::none})[0]);
  const Tensor zero = *gradients(y, {x}, {.unconnected_gradients = UnconnectedGradients::zero})[0];
  CHECK(zero.shape() == Shape{2, 2});
  CHECK(zero.to_vector() == List{0, 0, 0, 0});
}

TEST_CASE("gradients: GradientsTest.testUnconnectedGradientsZeroConnectedGradients") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  CHECK(each_number(gradients(x * 3.0, {x}, {.unconnected_gradients = UnconnectedGradients::zero})) == List{3});
}

TEST_CASE("gradients: S104: GradientsTest.testUnknownUnconnectedGradientsValueGiven") {
  const Tensor x = scalar(1.0), y = scalar(1.0);
  GradientTape tape;
  tape.watch(std::pair(x, y));
  CHECK_THROWS_AS(gradients(y, {x}, {.unconnected_gradients = UnconnectedGradients(9)}), ValueError);
  CHECK_THROWS_WITH(gradients(y, {x}, {.unconnected_gradients = UnconnectedGradients(9)}),
                    Contains("Unknown value for unconnected_gradients: 9"));
}

namespace {
// An op of two inputs and two outputs, each the copy of its input.
std::array<Tensor, 2> identity_n(const Tensor& a, const Tensor& b) {
  const Tensor in[] = {a, b}, out[] = {from_data(a.to_vector(), a.shape()), from_data(b.to_vector(), b.shape())};
  record_operation("identity_n", in, out, [](std::span<const Gradient> g) { return std::vector(g.begin(), g.end()); });
  return {out[0], out[1]};
}
}  // namespace

TEST_CASE(
    "gradients: GradientsTest.testUnconnectedOpWithMultipleOutputs, "
    "GradientsTest.testUnconnectedOpWithMultipleOutputsStopGradient") {
  const Tensor a = scalar(1.0), b = scalar(1.0);
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const auto [c, d] = identity_n(a, b);
  const Tensor e = identity(c), f = stop_gradient(c) + d;
  for (const auto& [target, source] : {std::pair(e, d), std::pair(f, c)}) {
    CHECK_FALSE(gradients(target, source)[0]);
    CHECK(number(gradients(target, source, {.unconnected_gradients = UnconnectedGradients::zero})[0]) == 0);
  }
}

TEST_CASE("gradients: GradientsTest.testOptimizeIdentityN") {
  const Tensor a = scalar(1.0), b = scalar(1.0);
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const auto [c, d] = identity_n(a, b);
  CHECK_FALSE(gradients(d, a)[0]);
  CHECK_FALSE(gradients(c, b)[0]);
  CHECK(number(gradients(c, a)[0]) == 1);
  CHECK(number(gradients(d, b)[0]) == 1);
}

namespace {
const auto x_squared_plus_b = [](const Tensor& x, const Tensor& b) { return x * x + b; };
}

TEST_CASE("gradients: FunctionGradientsTest.testFunctionGradientsBasic") {
  const Tensor x = tensor({2.0}), b = tensor({1.0});
  GradientTape tape;
  tape.watch(std::pair(x, b));
  CHECK(each_number(gradients(x_squared_plus_b(x, b), {x, b})) == List{4, 1});
}

TEST_CASE("gradients: FunctionGradientsTest.testFunctionGradientsComposition") {
  const Tensor x = tensor({2.0}), b1 = tensor({1.0}), b2 = tensor({1.0});
  GradientTape tape;
  tape.watch(std::tuple(x, b1, b2));
  CHECK(each_number(gradients(x_squared_plus_b(x_squared_plus_b(x, b1), b2), {x, b1})) == List{40, 10});
}

TEST_CASE("gradients: FunctionGradientsTest.testFunctionGradientWithRegistration") {
  GradientRegistry::add("XSquarePlusB", [](const RecordedOp& op, std::span<const Gradient> g) {
    const Tensor three = *g[0] * 3.0;
    return std::vector<Gradient>{three * op.inputs[0] * 2.0, three};
  });
  const Tensor x = tensor({2.0}), b = tensor({1.0});
  GradientTape tape;
  tape.watch(std::pair(x, b));
  const Tensor in[] = {x, b}, out[] = {tensor({5.0})};
  record_operation("XSquarePlusB", in, out);
  CHECK(each_number(gradients(out[0], {x, b})) == List{4 * 3, 1 * 3});
  GradientRegistry::remove("XSquarePlusB");
}

TEST_CASE("gradients: S119: FunctionGradientsTest.testFunctionGradientWithGradFuncAndRegistration") {
  const auto gradient = [](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; };
  GradientRegistry::add("defined_twice", gradient);
  CHECK_THROWS_AS(GradientRegistry::add("defined_twice", gradient), ValueError);
  // An op recorded with a gradient of its own does not ask the registry.
  const Tensor x = scalar(1.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  record_operation("defined_twice", {&x, 1}, {&y, 1}, [](auto) { return std::vector<Gradient>{scalar(9.0)}; });
  CHECK(number(gradients(y, x)[0]) == 9);
  GradientRegistry::remove("defined_twice");
}

TEST_CASE("gradients: FunctionGradientsTest.testGradientWrtCaptured") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const auto f = [&] { return *gradients(x * 2.0, x)[0]; };
  CHECK(f().item() == 2);
}

TEST_CASE("gradients: FunctionGradientsTest.testGradientOfCaptured") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * 2.0;
  const auto f = [=] { return *gradients(y, x)[0]; };
  CHECK(f().item() == 2);
}

TEST_CASE("gradients: FunctionGradientsTest.testCapturedResourceVariable") {
  const Variable v(scalar(1.0), "v");
  GradientTape tape;
  const auto f = [&] { return *gradients(v * 2.0, v)[0]; };
  CHECK(f().item() == 2);
}

TEST_CASE("gradients: FunctionGradientsTest.testCapturedNested") {
  const Tensor x1 = scalar(1.0), x2 = scalar(2.0);
  GradientTape tape;
  tape.watch(std::pair(x1, x2));
  const Tensor x3 = x1 * x2;
  const auto outer = [&] {
    const Tensor outer1 = identity(x1);
    const auto inner = [&] { return gradients({identity(outer1), identity(x2), identity(x3), x1}, {x1, x2}); };
    return inner();
  };
  // 1 + none + 2 + 1, and none + 1 + 1 + none.
  CHECK(each_number(outer()) == List{4, 2});
}

TEST_CASE("gradients: FunctionGradientsTest.testCapturedFromFunction") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const auto outer = [&] {
    const Tensor y = x * 2.0;
    const auto inner = [&] { return *gradients(y * 3.0, y)[0]; };
    return inner();
  };
  CHECK(outer().item() == 3);
}

TEST_CASE("gradients: FunctionGradientsTest.testCapturedEagerTensors") {
  const Tensor c = scalar(2.0), x = scalar(10.0);
  GradientTape tape;
  tape.watch(x);
  const auto f = [&] {
    const Tensor y = x * c, z = c * y;
    return *gradients(z, x)[0];
  };
  CHECK(f().item() == 4);
}

TEST_CASE("gradients: StopGradientTest.testStopGradient") {
  const Tensor in = ones({100, 32});
  GradientTape tape;
  tape.watch(in);
  CHECK_FALSE(gradients(stop_gradient(in), in)[0]);
}

namespace {
Tensor matrix4() {
  return tensor({{0.5, -1.25, 2., 0.75}, {3., -0.5, 1., 0.25}, {-2., 1.5, 0., 4.}, {1., -3., 2.5, -0.75}});
}
// x^T A x.
Tensor quadratic(const Tensor& x, const Tensor& a) { return sum(expand_dims(x, 1) * a * expand_dims(x, 0)); }
double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(abs(a - b)).item();
}
}  // namespace

TEST_CASE("gradients: HessianVectorProductTest.testHessianVectorProduct") {
  const Tensor a = matrix4(), x = tensor({{0.3}, {-1.2}, {0.8}, {2.1}}), v = tensor({{1.}, {-2.}, {0.5}, {0.25}});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = matmul(transpose(x), matmul(a, x));
  const auto product = hessian_vector_product(y, {x}, {v});
  REQUIRE(product.size() == 1);
  CHECK(distance(*product[0], matmul(a + transpose(a), v)) < 1e-13);
}

TEST_CASE("gradients: HessianTest.testHessian1D") {
  const Tensor a = matrix4(), x = tensor({0.3, -1.2, 0.8, 2.1});
  GradientTape tape;
  tape.watch(x);
  CHECK(distance(*hessians(quadratic(x, a), x)[0], a + transpose(a)) < 1e-13);
}

TEST_CASE("gradients: HessianTest.testHessian1D_multi") {
  std::vector<Tensor> a, x, y;
  GradientTape tape;
  for (int i = 0; i < 3; ++i) {
    a.push_back(roll(matrix4(), i, 1));
    x.push_back(tensor({0.3, -1.2, 0.8, 2.1}) + i);
    tape.watch(x.back());
    y.push_back(quadratic(x.back(), a.back()));
  }
  const auto h = hessians(y, x);
  REQUIRE(h.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(distance(*h[i], a[i] + transpose(a[i])) < 1e-13);
}

// TensorFlow refuses targets that are not scalar. Here they are summed (S128), and a sum has no curvature (C15).
TEST_CASE("gradients: HessianTest.testHessianInvalidDimension") {
  const Tensor x = ones({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor h = *hessians(x, x)[0];
  CHECK(h.shape() == Shape{3, 2, 3, 2});
  CHECK(h.to_vector() == List(36, 0));
  CHECK_THROWS_AS(hessians(Tensor(), x), ValueError);
}

TEST_CASE("gradients: HessianTest.testHessian2D_square_matrix, HessianTest.testHessian2D_non_square_matrix") {
  for (const std::int64_t n : {3, 4}) {
    const std::int64_t m = 3;
    const Tensor x = reshape(linspace(-1.3, 2.2, m * n), {m, n});
    GradientTape tape;
    tape.watch(x);
    const Tensor h = *hessians(sum(matmul(transpose(x), x) * 0.5), x)[0];
    CHECK(h.shape() == Shape{m, n, m, n});
    // A block of ones for each row with itself.
    const Tensor blocks = reshape(eye(m), {m, 1, m, 1}) * ones({m, n, m, n});
    CHECK(distance(h, blocks) < 1e-14);
  }
}

namespace {
IndexedSlices all_rows(const Tensor& x, DType indices) { return {x, cast(arange(x.shape()[0]), indices), x.shape()}; }
}  // namespace

TEST_CASE(
    "gradients: IndexedSlicesToTensorTest.testIndexedSlicesToTensor, IndexedSlicesToTensorTest.testInt64Indices") {
  Generator generator(5);
  const Tensor x = random_uniform(generator, {4, 4, 4, 4});
  for (const DType indices : {DType::int32, DType::int64}) {
    const IndexedSlices s = all_rows(x, indices);
    CHECK(s.dense_shape == x.shape());
    CHECK(array_equal(s.dense() * 1.0, x));
    CHECK(array_equal(*Gradient(s), x));
  }
}

TEST_CASE("gradients: IndexedSlicesToTensorTest.testIndexedSlicesToTensorList") {
  Generator generator(5);
  std::vector<Tensor> dense, from_slices;
  for (int i = 0; i < 3; ++i) {
    dense.push_back(random_uniform(generator, {4, 4, 4, 4}));
    from_slices.push_back(*Gradient(all_rows(dense.back(), DType::int64)));
  }
  CHECK(array_equal(stack(dense), stack(from_slices)));
}

// A shape that is not known warns there; here every shape is known.
TEST_CASE("gradients: S114: IndexedSlicesToTensorTest.testWarnings") {
  WarningLog log;
  const Tensor none_of_them = zeros({0}, DType::int32);
  static_cast<void>(IndexedSlices{zeros({0, 4, 4, 4}), none_of_them, {4, 4, 4, 4}}.dense());
  CHECK(log.texts.empty());
  // The index is out of range, so that nothing is allocated after the warning.
  const IndexedSlices large{zeros({1, 100, 100, 100}, DType::float32), tensor<int>({100}), {100, 100, 100, 100}};
  CHECK_THROWS_AS(large.dense(), IndexError);
  REQUIRE(log.texts.size() == 1);
  CHECK_THAT(log.texts[0], Contains("with 100000000 elements. This may consume a large amount of memory."));
}

TEST_CASE("gradients: S81, C7: OnlyRealGradientsTest.testRealOnly") {
  const Tensor x = scalar(complex64(7, 3));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x);
  CHECK_THROWS_AS(gradients(y, x), TypeError);
  CHECK_THROWS_WITH(gradients(y, x), Contains("Gradients of complex tensors must set grad_ys (y.dtype = complex64)"));
}

TEST_CASE("gradients: ResourceCondTest.testBasic, CustomGradientTest.testRVGradientsDynamicCond") {
  const Variable gamma(tensor({0.25, 0.5, 0.75}));
  const Tensor inputs = ones({3});
  for (const bool training : {true, false}) {
    GradientTape tape;
    const Tensor output = training ? inputs + gamma : inputs;
    const Gradient g = gradients(output, {gamma})[0];
    CHECK(static_cast<bool>(g) == training);
    CHECK(numbers(gradients(training ? gamma * 2 : gamma * 3, {gamma})[0]) == List(3, training ? 2 : 3));
  }
}
