// Rules of ops beyond a single cotangent of a result with all operands followed: cotangents added to earlier ones,
// sweeps of many cotangents, operands without a gradient, derivatives of derivatives.
#include <cmath>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/ops/normal.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "loops/tuning.hpp"
#include "ops/apply/pointwise.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Values = std::vector<double>;

Tensor ramp(const Shape& shape, double low = -1, double high = 2) {
  return reshape(linspace(low, high, shape.elements()), shape);
}

// Relative to the largest element of b.
double apart(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(abs(a - b)).item() / std::max(1.0, max(abs(b)).item());
}

// One gradient per row: the expected result of a batched pass.
template <class F>
Tensor rows_of(const F& f, const Tensor& x) {
  const std::int64_t size = f(x).size();
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < size; ++i)
    rows.push_back(grad([&](const Tensor& at) { return reshape(f(at), {-1})[i]; })(x));
  Shape shape = f(x).shape();
  for (const std::int64_t extent : x.shape()) shape.push_back(extent);
  return reshape(stack(rows), shape);
}

template <class F>
void jacobian_is_rows(const F& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  CHECK(apart(*tape.jacobian(y, x), rows_of(f, x)) < 1e-13);
}

}  // namespace

TEST_CASE("batched cotangents: products with vectors of which one operand has a gradient") {
  const Tensor v = ramp({3}), w = ramp({3, 4}, 0.5, 2), batch = ramp({2, 3, 4}, -2, 1),
               stack_of = ramp({2, 5, 3}, -1, 1);
  jacobian_is_rows([&](const Tensor& x) { return matmul(x, w); }, v);
  jacobian_is_rows([&](const Tensor& x) { return matmul(v, x); }, w);
  jacobian_is_rows([&](const Tensor& x) { return matmul(transpose(x), v); }, w);
  jacobian_is_rows([&](const Tensor& x) { return matmul(transpose(w), x); }, v);
  jacobian_is_rows([&](const Tensor& x) { return matmul(cumsum(x, 0), batch); }, v);
  jacobian_is_rows([&](const Tensor& x) { return matmul(stack_of, cumsum(x, 0)); }, v);
  jacobian_is_rows([&](const Tensor& x) { return matmul(batch, x, {.transpose_a = true}); }, v);
}

TEST_CASE("batched cotangents: broadcasting along axes that an operand lacks") {
  const Tensor x = ramp({3}), w = ramp({3, 3}, -1, 1), z = ramp({2, 3});
  jacobian_is_rows([&](const Tensor& a) { return matmul(w, a) * z; }, x);
  jacobian_is_rows([&](const Tensor& a) { return stack({exp(a), a * a}, 0) + z; }, x);
  jacobian_is_rows([&](const Tensor& a) { return stack({exp(a), a * a}, 1); }, x);
  jacobian_is_rows([&](const Tensor& a) { return sum(reshape(a, {3, 1}) * w, 1); }, x);
}

TEST_CASE("products with a vector add to earlier cotangents and sum over batches") {
  const Tensor v = ramp({3}), a = ramp({3, 3}, 0, 1), b = ramp({3, 3}, 1, 3), c = ramp({3}, 2, 4);
  const Tensor g = grad([&](const Tensor& x) { return sum(matmul(x, a) * c + matmul(x, b)); })(v);
  CHECK(apart(g, matmul(a, c) + sum(b, 1)) < 1e-14);
  const Tensor h = grad([&](const Tensor& x) { return sum(matmul(a, x) * c + matmul(b, x)); })(v);
  CHECK(apart(h, matmul(c, a) + sum(b, 0)) < 1e-14);
  // A batch of matrices, transposed, by one vector: the cotangent is summed over the batch.
  const Tensor batch = ramp({2, 3, 4}, -2, 1);
  CHECK(apart(grad([&](const Tensor& x) { return sum(matmul(batch, x, {.transpose_a = true})); })(v),
              sum(batch, {0, 2})) < 1e-14);
}

TEST_CASE("matmul's error for a vector suggests no transpose") {
  CHECK_THROWS_WITH(matmul(ones({3}), ones({1, 4})), !Contains("did you mean"));
  CHECK_THROWS_WITH(matmul(ones({2, 1}), ones({5})), !Contains("did you mean"));
  CHECK_THROWS_WITH(matmul(ones({3}), ones({4, 3})), Contains("did you mean transpose(b)?"));
}

TEST_CASE("large broadcast and complex operands used twice: their cotangents are added") {
  const std::int64_t n = ops::in_place_elements_min;
  const Tensor wide = ramp({2, n}, 0.5, 1), other = ramp({2, n}, 1, 2), x = ramp({n}, 0, 1);
  const Tensor g = grad([&](const Tensor& a) { return sum(a * wide + a * other * wide); })(x);
  CHECK(apart(g, sum(wide + other * wide, 0)) < 1e-13);
  const Tensor z = make_complex(ramp({n}, 0, 1), ramp({n}, 1, 2)), p = make_complex(ramp({n}, 1, 3), ramp({n}, -2, 0)),
               q = make_complex(ramp({n}, -1, 0), ramp({n}, 2, 5));
  GradientTape tape;
  tape.watch(z);
  const Tensor y = sum(real(z * p + z * q));
  const Tensor of_z = *tape.gradient(y, z);
  CHECK(apart(real(of_z), real(p + q)) < 1e-15);
  CHECK(apart(imag(of_z), imag(conj(p + q))) < 1e-15);
}

TEST_CASE("an op of three operands whose last has no gradient reads its cotangent twice") {
  const Tensor x = ramp({4}, 1, 2), y = ramp({4}, 3, 5), c = ramp({4});
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const Tensor loss = sum(square(fma(x, y, c)));
  const auto g = tape.gradient(loss, {x, y});
  const Tensor twice = 2.0 * (x * y + c);
  CHECK(apart(*g[0], twice * y) < 1e-14);
  CHECK(apart(*g[1], twice * x) < 1e-14);
}

TEST_CASE("the derivative of clip, itself recorded, compares with both bounds") {
  const Tensor x = tensor({-2.0, 0.5, 3.0}), c = tensor({0.1, 0.1, 0.1});
  const auto slope = [&](const Tensor& weight) {
    return grad([&](const Tensor& a) { return sum(clip(a, -1.0, 1.0) * weight); })(x);
  };
  GradientTape tape;
  tape.watch(c);
  const Tensor g = slope(c);
  CHECK(g.to_vector() == Values{0, 0.1, 0});
  CHECK((*tape.gradient(g, c)).to_vector() == Values{0, 1, 0});
  // If low > high the result is high, also for x below it.
  const auto by_upper =
      grad<2>([](const Tensor& a, const Tensor& low, const Tensor& high) { return sum(clip(a, low, high)); });
  CHECK(by_upper(x, full({3}, 2.0), full({3}, 1.0)).to_vector() == Values{1, 1, 1});
}

TEST_CASE("0 to the power 0: first derivatives are zero, and second ones in either order") {
  const auto f = [](const Tensor& p) { return power(p[0], p[1]); };
  CHECK(grad(f)(zeros({2})).to_vector() == Values{0, 0});
  CHECK(hessian(f)(zeros({2})).to_vector() == Values{0, 0, 0, 0});
  const auto by_base = [](const Tensor& p) { return grad([&](const Tensor& x) { return power(x, p[1]); })(p[0]); };
  CHECK(grad(by_base)(zeros({2})).to_vector() == Values{0, 0});
  CHECK(hessian(by_base)(zeros({2})).to_vector() == Values{0, 0, 0, 0});
}

TEST_CASE("the derivatives of the angle of 0 are 0, without intermediate NaN") {
  const Tensor x = zeros({2});
  const auto f = [](const Tensor& a) { return sum(angle(make_complex(a, a * 2.0))); };
  const AnomalyGuard guard;
  CHECK(grad([&](const Tensor& a) { return sum(grad(f)(a) * a); })(x).to_vector() == Values{0, 0});
}

TEST_CASE("forward mode: tangents have the broadcast shape, whichever operand has a tangent") {
  const Tensor row = ramp({3}), matrix = ramp({2, 3});
  const auto shape_of = [&](const auto& f) { return jvp(f, row, ones({3})).second.shape(); };
  CHECK(shape_of([&](const Tensor& a) { return make_complex(a, matrix); }) == Shape{2, 3});
  CHECK(shape_of([&](const Tensor& a) { return make_complex(matrix, a); }) == Shape{2, 3});
  CHECK(shape_of([&](const Tensor& a) { return matrix + a; }) == Shape{2, 3});
  CHECK(shape_of([&](const Tensor& a) { return a * matrix; }) == Shape{2, 3});
  const Tensor empty = zeros({0, 3});
  for (const auto f : {+[](const Tensor& a) { return var(a, 0); }, +[](const Tensor& a) { return reel::std(a, 0); }}) {
    CHECK(jvp(f, empty, empty).second.to_vector() == Values{0, 0, 0});
    const ForwardAccumulator accumulator(empty, empty);
    CHECK(accumulator.jvp(f(empty)));
  }
}

TEST_CASE("slices as cotangents of gather: other axes are dense, and indices are checked") {
  const Tensor x = ramp({3, 4}), columns = tensor<std::int64_t>({3, 1, 1}), rows = tensor<std::int64_t>({2, 0});
  const auto f = [&](const Tensor& a) { return sum(square(gather(gather(a, columns, 1), rows))); };
  Values expected(12);
  for (const int row : {2, 0})
    for (const int column : {3, 1, 1})
      expected[static_cast<std::size_t>(4 * row + column)] += 2 * x[row][column].item();
  CHECK(apart(grad(f)(x), from_data(expected, {3, 4})) < 1e-15);
  const auto of_rows = [&](std::int64_t row) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = gather(x, rows);
    const Tensor out[] = {ones({2, 4})};
    record_operation("picks", {&y, 1}, out, [row](std::span<const Gradient>) {
      return std::vector<Gradient>{IndexedSlices{ones({1, 4}), tensor<std::int64_t>({row}), {2, 4}}};
    });
    return (*tape.gradient(out[0], x)).to_vector();
  };
  CHECK(of_rows(0) == Values{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(of_rows(-2) == of_rows(0));
  CHECK_THROWS_WITH(of_rows(2), Contains("axis 0, of extent 2"));
}

TEST_CASE("slices that drop or add an axis keep the steps of the others") {
  const Tensor x = ramp({3, 7}, 0, 20);
  const auto row = [](const Tensor& a) { return slice(a, {1, range(1, 7, 2)}); };
  CHECK(row(x).to_vector() == Values{8, 10, 12});
  CHECK(slice(x, {newaxis, range(0, 3, 2), 3}).to_vector() == Values{3, 17});
  jacobian_is_rows(row, x);
}

TEST_CASE("second derivatives of take_along_axis along an axis that is not the first") {
  const Tensor x = ramp({2, 3}), positions = tensor<std::int64_t>({{2, 0}, {1, 1}});
  const auto f = [&](const Tensor& a) {
    const Tensor taken = take_along_axis(a, positions, 1);
    return sum(taken * taken * taken);
  };
  Values diagonal(6);
  for (const auto& [row, column] : {std::pair(0, 2), {0, 0}, {1, 1}, {1, 1}})
    diagonal[static_cast<std::size_t>(3 * row + column)] += 6 * x[row][column].item();
  CHECK(apart(reshape(hessian(f)(x), {6, 6}), diag(from_data(diagonal))) < 1e-14);
}

TEST_CASE("third derivatives of functions of a determinant, in sweeps of many cotangents") {
  const Tensor a = tensor({{2., 1., -1.}, {0.5, 3., 1.}, {1., -2., 1.5}});
  const auto squared = [](const Tensor& m) { return square(det(m)); };
  const auto by_rows = [](const auto& f) {
    return [f](const Tensor& m) {
      GradientTape tape({.persistent = true});
      tape.watch(m);
      return *tape.jacobian(f(m), m);
    };
  };
  const Tensor third = by_rows(by_rows(by_rows(squared)))(a);
  // Central differences of second derivatives, which are polynomials of degree 4 in an element.
  const Tensor directions = reshape(eye(9), {9, 3, 3});
  for (std::int64_t i = 0; i < 9; ++i) {
    const double h = 0.01;
    const Tensor step = directions[i] * h;
    const auto second = [&](double times) { return hessian(squared)(a + step * times); };
    const Tensor slope = (8.0 * (second(1) - second(-1)) - (second(2) - second(-2))) / (12 * h);
    CHECK(apart(slice(reshape(third, {81, 9}), {reel::all, i}), reshape(slope, {81})) < 1e-9);
  }
}

TEST_CASE("a directional derivative of a determinant along a direction that depends on the matrix") {
  const Tensor a = tensor({{2., 1., 0.5}, {0.5, 3., -1.}, {1., 0., 1.5}});
  // The derivative of det along a a is det'(a)[a a] = det(a) tr(a).
  const auto pushed = [](const Tensor& m) {
    return jvp([](const Tensor& p) { return det(p); }, m, matmul(m, m)).second;
  };
  const auto closed = [](const Tensor& m) { return det(m) * trace(m); };
  const auto two = [](const auto& f) { return [f](const Tensor& m) { return f(m) * tensor({1., 2.}); }; };
  const auto by_rows = [](const auto& f) {
    return [f](const Tensor& m) {
      GradientTape tape({.persistent = true});
      tape.watch(m);
      return *tape.jacobian(f(m), m);
    };
  };
  CHECK(apart(pushed(a), closed(a)) < 1e-14);
  CHECK(apart(by_rows(two(pushed))(a), by_rows(two(closed))(a)) < 1e-13);
  CHECK(apart(by_rows(by_rows(two(pushed)))(a), by_rows(by_rows(two(closed)))(a)) < 1e-13);
}

TEST_CASE("a second directional derivative of a determinant, and its derivatives") {
  const Tensor a = tensor({{2., 1., 0.5}, {0.5, 3., -1.}, {1., 0., 1.5}});
  const auto along = [](const auto& f) { return [f](const Tensor& m) { return jvp(f, m, matmul(m, m)).second; }; };
  const auto pushed = along(along([](const Tensor& m) { return det(m); }));
  const auto closed = [](const Tensor& m) { return det(m) * (square(trace(m)) + trace(matmul(m, m))); };
  CHECK(apart(pushed(a), closed(a)) < 1e-13);
  CHECK(apart(grad(pushed)(a), grad(closed)(a)) < 1e-12);
  CHECK(apart(hessian(pushed)(a), hessian(closed)(a)) < 1e-12);
}

TEST_CASE("derivatives of determinants with respect to a cotangent and a tangent shared by rows of a Jacobian") {
  // Matrices of two rows have a formula of their own.
  const Tensor a = tensor({{2., 1., 0.5}, {0.5, 3., -1.}, {1., 0., 1.5}}),
               second = hessian([](const Tensor&m) { return det(m); })(a);
  const auto rows = [](const auto& f, const Tensor& x) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    return *tape.jacobian(f(x), x);
  };
  const auto by_cotangent = [&](const Tensor& s) {
    return rows(
        [&](const Tensor& m) {
          GradientTape tape;
          tape.watch(m);
          return *tape.gradient(stack({det(m), trace(m)}), m, {.output_gradients = s});
        },
        a);
  };
  CHECK(apart(rows(by_cotangent, tensor({3., 5.})), stack({second, zeros_like(second)}, -1)) < 1e-14);
  const auto by_tangent = [&](const Tensor& t) {
    return rows(
        [&](const Tensor& m) {
          return jvp([](const Tensor& p) { return det(p); }, m, t).second * tensor({1., 2.});
        },
        a);
  };
  CHECK(apart(rows(by_tangent, ones({3, 3})), stack({second, 2.0 * second})) < 1e-14);
}

TEST_CASE("second derivatives by the scale of a normalisation of constants") {
  const Tensor x = ramp({4, 3}) * ramp({4, 3}), scale = tensor({0.5, 2., 1.}), offset = zeros({3});
  const auto check = [&](const auto& normalised) {
    const Tensor y = normalised(ones({3}));
    const auto f = [&](const Tensor& s) { return sum(square(normalised(s))); };
    CHECK(apart(hessian(f)(scale), diag(2.0 * sum(square(y), 0))) < 1e-13);
  };
  check([&](const Tensor& s) { return layer_norm(x, s, offset); });
  check([&](const Tensor& s) { return batch_norm(x, s, offset).y; });
}

TEST_CASE("constant rows are normalised to zeros, also in the recorded derivative") {
  const Tensor x = full({1, 3}, 0.1), c = tensor({{1., 2., 4.}});
  REQUIRE((x - mean(x)).to_vector()[0] != 0);  // the mean is rounded
  // With y = 0 the derivative is exactly (c - mean(c)) / sqrt(epsilon).
  const auto f = [&](const Tensor& weight) {
    return grad([&](const Tensor& a) { return sum(layer_norm(a, {.epsilon = 1e-40}) * weight); })(x);
  };
  GradientTape tape;
  tape.watch(c);
  const Tensor g = f(c);
  CHECK(apart(g * 1e-20, c - mean(c)) < 1e-14);
}

TEST_CASE("the gradient of logsumexp's weights with respect to its result only") {
  const Tensor x = tensor({0.5, -1., 2.});
  GradientTape outer;
  GradientTape inner;
  inner.watch(x);
  const Tensor z = logsumexp(x);
  outer.watch(z);
  const Tensor weights = *inner.gradient(z, x);
  CHECK(apart(weights, softmax(x)) < 1e-15);
  CHECK((*outer.gradient(weights, z)).item() == Approx(-1).epsilon(1e-15));
  GradientTape again;
  again.watch(x);
  const Tensor y = logsumexp(x);
  const ForwardAccumulator accumulator(y, ones({}));
  const Tensor pushed = *again.gradient(y, x);
  CHECK(apart(*accumulator.jvp(pushed), -softmax(x)) < 1e-15);
}

TEST_CASE("elementwise: an operand of two elements that is broadcast is summed to two") {
  const Tensor x = ramp({2}, 1, 2), y = ramp({3, 2}, 2, 5);
  const auto f = [](const Tensor& a, const Tensor& b) {
    return sum(elementwise([](auto p, auto q) { return p * p * q; }, a, b));
  };
  CHECK(apart(grad<0>(f)(x, y), 2.0 * x * sum(y, 0)) < 1e-15);
  CHECK(apart(grad<0>(f)(ones({1}), y), 2.0 * reshape(sum(y), {1})) < 1e-15);
}

TEST_CASE("compiled derivatives of broadcast operands: every dtype, and products without elements") {
  const auto f = [](const Tensor& a, const Tensor& b) {
    return grad<0>([](const Tensor& p, const Tensor& q) { return sum(p * q * q); })(a, b);
  };
  const auto compiled = compile(f);
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    CAPTURE(name(d));
    const Tensor x = cast(ramp({3}), d), y = cast(ramp({2, 3}, 1, 2), d);
    CHECK(array_equal(compiled(x, y), f(x, y)));
  }
  CHECK(compiled(ones({1, 3}), zeros({0, 3})).to_vector() == Values{0, 0, 0});
  CHECK(f(ones({1, 3}), zeros({0, 3})).to_vector() == Values{0, 0, 0});
}

TEST_CASE("an outer tape that follows the cotangent alone changes no bit of the gradient") {
  constexpr Tensor (*functions[])(const Operand&) = {sigmoid, silu,   gelu,   softplus,  tanh, arctan,
                                                     arcsinh, erfinv, ndtri,  log_ndtr,  selu, rsqrt,
                                                     sqrt,    cbrt,   square, reciprocal};
  const Tensor x = linspace(0.01, 0.99, 50), v = linspace(1, 2, 50);
  const auto gradient = [&](auto f) {
    GradientTape tape;
    tape.watch(x);
    return (*tape.gradient(f(x), x, {.output_gradients = v})).to_vector();
  };
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    INFO("function " << i);
    const std::vector<double> alone = gradient(functions[i]);
    GradientTape outer;
    outer.watch(v);
    const std::vector<double> observed = gradient(functions[i]);
    CHECK(observed == alone);
  }
}
