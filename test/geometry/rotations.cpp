// Rotations and motions: curves with four derivatives in 50 digits, at the identity, around it and at half a turn;
// identities between the functions, dtypes and errors. Every shape and layout is checked by the op table.
#include <cmath>
#include <functional>
#include <reel/compile.hpp>
#include <reel/geometry.hpp>
#include <reel/linalg.hpp>
#include <string>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "rotation_values.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

using Curve = std::function<Tensor(const Tensor&)>;

Curve curve_of(const RotationValue& v) {
  const Tensor start = from_data(v.start), direction = from_data(v.direction);
  const std::string kind = v.kind;
  if (kind == "so3_exp") return [=](const Tensor& t) { return reshape(so3_exp(start + t * direction), {9}); };
  if (kind == "se3_exp") return [=](const Tensor& t) { return reshape(se3_exp(start + t * direction), {16}); };
  return [=](const Tensor& t) { return so3_log(matmul(reshape(start, {3, 3}), so3_exp(t * direction))); };
}
Tensor angle(const Tensor& w) { return norm(w, 2, -1); }

}  // namespace

TEST_CASE("rotations and motions along curves: values and four derivatives in 50 digits, in both modes") {
  for (const RotationValue& v : rotation_values) {
    std::string text = v.kind;
    for (const double x : v.start) text += " " + std::to_string(x);
    Curve reverse = curve_of(v), forward = reverse;
    for (std::size_t order = 0; order < v.derivatives.size(); ++order) {
      INFO(text << ", derivative " << order);
      const Tensor expected = from_data(v.derivatives[order]);
      const double tolerance = 2e-15 * std::pow(8.0, static_cast<double>(order)) * std::max(1.0, largest(expected));
      CHECK(largest(reverse(scalar(0.0)) - expected) < tolerance);
      CHECK(largest(forward(scalar(0.0)) - expected) < tolerance);
      reverse = [f = reverse](const Tensor& t) { return jacobian(f)(t); };
      forward = [f = forward](const Tensor& t) { return jvp(f, t, {1.0}).second; };
    }
  }
}

TEST_CASE("gradients at the identity and at half a turn are finite") {
  const Tensor zero = zeros({3}), v = tensor({1, 2, 3});
  const auto turned = [&](const Tensor& w) { return sum(matmul(so3_exp(w), v) * tensor({3, -1, 2})); };
  // (v x g) with g the cotangent, and the Hessian (v g^T + g v^T) / 2 - (v . g) 1.
  CHECK(grad(turned)(zero).to_vector() == std::vector<double>{7, 7, -7});
  CHECK(hessian(turned)(zero).to_vector() == std::vector<double>{-4, 2.5, 5.5, 2.5, -9, 0.5, 5.5, 0.5, -1});
  const auto back = [](const Tensor& w) { return so3_log(so3_exp(w)); };
  CHECK(largest(jacobian(back)(zero) - eye(3)) == 0);
  CHECK(largest(jacobian([](const Tensor& x) { return se3_log(se3_exp(x)); })(zeros({6})) - eye(6)) == 0);
  for (const double turn : {1e-8, 1e-3, 1.0, 3.0, 3.1415}) {
    INFO("turn " << turn);
    const Tensor w = turn * tensor({2, -1, 2}) / 3;
    CHECK(largest(back(w) - w) < 1e-14);
    CHECK(largest(jacobian(back)(w) - eye(3)) < 1e-13);
    CHECK(largest(jacobian(jacobian(back))(w)) < 1e-11);
    const Tensor x = concatenate({tensor({1, -2, 0.5}), w});
    CHECK(largest(se3_log(se3_exp(x)) - x) < 1e-13);
    CHECK(largest(jacobian([](const Tensor& y) { return se3_log(se3_exp(y)); })(x) - eye(6)) < 1e-12);
  }
}

TEST_CASE("rotations, quaternions and matrices agree") {
  support::Random random("rotations");
  const Tensor p = random.tensor({50, 4}), q = random.tensor({50, 4}), v = random.tensor({50, 3}),
               w = 3 * random.tensor({50, 3});
  const Tensor r = so3_exp(w);
  CHECK(largest(matmul(r, r, {.transpose_b = true}) - eye(3)) < 3e-15);
  CHECK(largest(det(r) - 1) < 2e-15);
  const Tensor hat = reshape(
      matmul(w, tensor({{0, 0, 0, 0, 0, -1, 0, 1, 0}, {0, 0, 1, 0, 0, 0, -1, 0, 0}, {0, -1, 0, 1, 0, 0, 0, 0, 0}})),
      {50, 3, 3});
  CHECK(largest(r - expm(hat)) < 2e-14);
  CHECK(largest(so3_exp(so3_log(r)) - r) < 3e-15);
  CHECK(max(angle(so3_log(r))).item() <= 3.1415926535897936);
  const Tensor unit = p / norm(p, 2, -1, true);
  const Tensor signs = where(less(slice(unit, {all, range(0, 1)}), 0), -1.0, 1.0);
  CHECK(largest(matrix_to_quaternion(quaternion_to_matrix(p)) - signs * unit) < 2e-15);
  CHECK(largest(quaternion_to_matrix(matrix_to_quaternion(r)) - r) < 2e-15);
  CHECK(largest(quaternion_rotate(p, quaternion_rotate(q, v)) - quaternion_rotate(quaternion_multiply(p, q), v)) <
        1e-14);
  CHECK(largest(quaternion_rotate(quaternion_conjugate(p), quaternion_rotate(p, v)) - v) < 2e-15);
  CHECK(quaternion_multiply(tensor({1, 2, 3, 4}), tensor({5, 6, 7, 8})).to_vector() ==
        std::vector<double>{-60, 12, 30, 24});
  const Tensor m = se3_exp(concatenate({v, w}, -1));
  CHECK(largest(se3_exp(se3_log(m)) - m) < 2e-14);
  CHECK(slice(m, {7, 3}).to_vector() == std::vector<double>{0, 0, 0, 1});
  // Covers all four cases of Shepperd's method.
  for (const Tensor& one : {tensor({0.9, 0.1, 0.2, 0.3}), tensor({0.1, 0.9, -0.2, 0.3}), tensor({0.1, 0.2, 0.9, -0.3}),
                            tensor({0.1, -0.3, 0.2, 0.9})})
    CHECK(largest(matrix_to_quaternion(quaternion_to_matrix(one)) - one / norm(one)) < 1e-15);
}

TEST_CASE("rotations: dtypes, errors, traces") {
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    CHECK(so3_exp(ones({3}, d)).dtype() == d);
    CHECK(quaternion_multiply(ones({4}, d), ones({4}, d)).dtype() == d);
  }
  CHECK(so3_exp(arange(3)).dtype() == DType::float64);
  CHECK(quaternion_rotate(ones({4}, DType::float32), ones({3})).dtype() == DType::float64);
  CHECK(so3_exp(zeros({0, 3})).shape() == Shape{0, 3, 3});
  CHECK(se3_log(zeros({0, 4, 4})).shape() == Shape{0, 6});
  CHECK(std::isnan(sum(quaternion_to_matrix(zeros({4}))).item()));
  // Quaternions whose squared norm overflows or underflows.
  const Tensor q = tensor({1., -2., 0.5, 3.}), v = tensor({0.3, 1., -2.});
  const auto turned = [&](const Tensor& by) { return quaternion_rotate(by, v); };
  for (const double size : {0x1p600, 0x1p-600}) {
    CHECK(array_equal(turned(q * size), turned(q)));
    CHECK(max(abs(jacobian(turned)(q * size) * size - jacobian(turned)(q))).item() < 1e-14);
  }
  CHECK(std::isnan(sum(so3_exp(full({3}, std::nan("")))).item()));
  CHECK_THROWS_WITH(so3_exp(ones({4})), Contains("so3_exp: w is [4]"));
  CHECK_THROWS_AS(so3_exp(1.0), ShapeError);
  CHECK_THROWS_WITH(so3_log(ones({3})), Contains("so3_log: r is [3]; its last axes must have 3 elements each"));
  CHECK_THROWS_AS(se3_exp(ones({3})), ShapeError);
  CHECK_THROWS_AS(se3_log(ones({3, 3})), ShapeError);
  CHECK_THROWS_AS(matrix_to_quaternion(ones({3, 4})), ShapeError);
  CHECK_THROWS_WITH(quaternion_multiply(ones({4}), ones({3})), Contains("quaternion_multiply: q is [3]"));
  CHECK_THROWS_WITH(quaternion_multiply(ones({2, 4}), ones({3, 4})), Contains("quaternion_multiply: "));
  CHECK_THROWS_WITH(quaternion_rotate(ones({2, 4}), ones({3, 3})), Contains("quaternion_rotate: "));
  CHECK_THROWS_AS(quaternion_conjugate(ones({3})), ShapeError);
  CHECK_THROWS_AS(quaternion_rotate(ones({4}), ones({4})), ShapeError);
  CHECK_THROWS_AS(quaternion_to_matrix(make_complex(ones({4}), ones({4}))), TypeError);
  const auto traced = compile([](const Tensor& x) { return se3_log(se3_exp(x)); });
  const Tensor x = tensor({{1, 2, 3, 0.3, -0.2, 0.5}, {0, 0, 0, 0, 0, 0}});
  CHECK(array_equal(traced(x), se3_log(se3_exp(x))));
}
