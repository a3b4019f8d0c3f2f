// Rows of B-splines, values on grids, images at other sizes, morphology, structured matrices and first weights.
#include <reel/fft.hpp>
#include <reel/geometry.hpp>
#include <reel/image.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>

#include "../golden/rows.hpp"

using namespace reel;

namespace golden {

namespace {

Tensor ids() { return reshape(from_data(std::vector<std::int64_t>{2, 0, 1, 1}), {2, 2}); }
Tensor other_ids() { return reshape(from_data(std::vector<std::int64_t>{2, 0, 1, 3}), {2, 2}); }
Tensor spline_knots() { return tensor({-1, 0, 0.5, 2, 3, 4.5, 5, 6, 7, 8}); }
Tensor grid_points() { return tensor({{0.75, -1.75}, {1.25, 2.0}, {3.5, -0.25}}); }
Tensor on_grid(GridMethod method, const Tensor& values) {
  return regular_grid({tensor({0, 1, 2.5, 4}), tensor({-2, -1.5, 0, 1, 4})}, values, grid_points(), {.method = method});
}
Tensor map(const Tensors& x, int order, Border border) {
  return map_coordinates(x[0], x[1], {.order = order, .border = border});
}
Tensor sample(const Tensors& x, GridMethod method, GridPadding padding, bool align = false) {
  return grid_sample(x[0], x[1], {.method = method, .padding = padding, .align_corners = align});
}
Tensor sized(const Tensor& x, ResizeMethod method, bool antialias) {
  return resize(x, {4, 7}, {.method = method, .antialias = antialias});
}
Tensor chosen_places() { return reshape(tensor({0.125, 0.75, 0.5, 0.375}), {1, 2, 2}); }
const Morphology2dOptions same = {.stride = {2, 1}, .padding = Padding::same, .dilation = {1, 2}};

using Weights = Tensor (*)(Generator&, const Shape&, DType);
// Mean, second and fourth moment and largest element in units of the standard deviation that is stated.
template <Weights draw>
Tensor moments(const Shape& shape, const Tensor& variance) {
  Generator generator(3);
  const Tensor z = draw(generator, shape, DType::float64) / sqrt(variance(0));
  return stack({mean(z), mean(square(z)), mean(square(square(z))), max(abs(z))});
}
template <Weights draw>
Tensors dense(const Tensors& x) {
  return {moments<draw>({300, 200}, x[0])};
}
template <Weights draw>
Tensors filters(const Tensors& x) {
  return {moments<draw>({20, 30, 3, 5}, x[0])};
}

Tensor rows_of(const Tensor& q) { return matmul(q, q, {.transpose_b = true}); }
Tensor orthogonal_of(const Shape& shape) {
  Generator generator(5);
  return reshape(orthogonal(generator, shape, 1.5), {shape[0], -1});
}
// Of the elements of matrices of Haar's measure: mean, mean square, mean fourth power, mean of x^2 y^2 for two elements
// of a column, mean of x y for two of a row.
Tensor orthogonal_moments() {
  Generator generator(6);
  std::vector<Tensor> drawn;
  for (int i = 0; i < 4000; ++i) drawn.push_back(orthogonal(generator, {3, 3}));
  const Tensor q = stack(drawn), x = q(all, 0, 0), y = q(all, 1, 0);
  return stack({mean(q), mean(square(q)), mean(square(square(q))), mean(square(x * y)), mean(x * q(all, 0, 1))});
}

}  // namespace

const std::vector<Row> grid_rows = {
    // clang-format off
    {"dilation2d"}, {"erosion2d"}, {"tridiagonal_matmul"}, {"banded_triangular_solve"}, {"householder_product"},
    {"quaternion_conjugate"},
    // clang-format on
    REEL_ROW("b_spline 1", b_spline(x[1], x[2], 1)(x[0])),
    REEL_ROW("b_spline 2", b_spline(x[1], x[2], 2)(x[0])),
    REEL_ROW("b_spline 3", b_spline(x[1], x[2], 3)(x[0])),
    REEL_ROW("b_spline second", b_spline(spline_knots(), x[0])(tensor({2.25, 3.0625, 4.625}), 2)),
    REEL_ROW("b_spline integral", b_spline(spline_knots(), x[0]).integral(2, 4.875)),
    REEL_ROW("regular_grid linear", regular_grid({x[1], x[2]}, x[3], x[0])),
    REEL_ROW("regular_grid nearest", on_grid(GridMethod::nearest, x[0])),
    REEL_ROW("regular_grid cubic", on_grid(GridMethod::cubic, x[0])),
    REEL_ROW("map_coordinates 0", map_coordinates(x[0], tensor({{-0.75, 3.25, 5.5}, {4.375, -1.125, 6.625}}),
                                                  {.order = 0, .border = Border::mirror})),
    REEL_ROW("map_coordinates 1 constant", map(x, 1, Border::constant)),
    REEL_ROW("map_coordinates 1 nearest", map(x, 1, Border::nearest)),
    REEL_ROW("map_coordinates 1 reflect", map(x, 1, Border::reflect)),
    REEL_ROW("map_coordinates 1 grid wrap", map(x, 1, Border::grid_wrap)),
    REEL_ROW("map_coordinates 3 constant", map(x, 3, Border::constant)),
    REEL_ROW("map_coordinates 3 mirror", map(x, 3, Border::mirror)),
    REEL_ROW("map_coordinates 3 grid wrap", map(x, 3, Border::grid_wrap)),
    REEL_ROW("grid_sample bilinear zeros", sample(x, GridMethod::linear, GridPadding::zeros)),
    REEL_ROW("grid_sample bilinear zeros aligned", sample(x, GridMethod::linear, GridPadding::zeros, true)),
    REEL_ROW("grid_sample bilinear border", sample(x, GridMethod::linear, GridPadding::border)),
    REEL_ROW("grid_sample bilinear border aligned", sample(x, GridMethod::linear, GridPadding::border, true)),
    REEL_ROW("grid_sample bilinear reflection", sample(x, GridMethod::linear, GridPadding::reflection)),
    REEL_ROW("grid_sample bilinear reflection aligned", sample(x, GridMethod::linear, GridPadding::reflection, true)),
    REEL_ROW("grid_sample bicubic zeros", sample(x, GridMethod::cubic, GridPadding::zeros)),
    REEL_ROW("grid_sample bicubic zeros aligned", sample(x, GridMethod::cubic, GridPadding::zeros, true)),
    REEL_ROW("grid_sample bicubic border", sample(x, GridMethod::cubic, GridPadding::border)),
    REEL_ROW("grid_sample bicubic border aligned", sample(x, GridMethod::cubic, GridPadding::border, true)),
    REEL_ROW("grid_sample bicubic reflection", sample(x, GridMethod::cubic, GridPadding::reflection)),
    REEL_ROW("grid_sample bicubic reflection aligned", sample(x, GridMethod::cubic, GridPadding::reflection, true)),
    REEL_ROW("grid_sample volumes", sample(x, GridMethod::linear, GridPadding::border, true)),
    REEL_ROW("grid_sample nearest", sample(x, GridMethod::nearest, GridPadding::zeros)),
    REEL_ROW("affine_grid", affine_grid(x[0], {2, 1, 2, 3})),
    REEL_ROW("affine_grid aligned", affine_grid(x[0], {2, 1, 2, 3}, true)),
    REEL_ROW("affine_grid volumes", affine_grid(x[0], {1, 1, 2, 1, 3})),
    REEL_ROW("affine_grid volumes aligned", affine_grid(x[0], {1, 1, 2, 1, 3}, true)),
    REEL_ROW("resize linear", sized(x[0], ResizeMethod::linear, false)),
    REEL_ROW("resize linear antialias", sized(x[0], ResizeMethod::linear, true)),
    REEL_ROW("resize cubic", sized(x[0], ResizeMethod::cubic, false)),
    REEL_ROW("resize cubic antialias", sized(x[0], ResizeMethod::cubic, true)),
    REEL_ROW("resize lanczos3", sized(x[0], ResizeMethod::lanczos3, false)),
    REEL_ROW("resize lanczos3 antialias", sized(x[0], ResizeMethod::lanczos3, true)),
    REEL_ROW("resize lanczos5", sized(x[0], ResizeMethod::lanczos5, false)),
    REEL_ROW("resize lanczos5 antialias", sized(x[0], ResizeMethod::lanczos5, true)),
    REEL_ROW("resize linear aligned", resize(x[0], {5, 2}, {.antialias = false, .align_corners = true})),
    REEL_ROW("resize volumes", resize(x[0], {3, 2, 4}, {.antialias = false, .align_corners = true})),
    REEL_ROW("resize line", resize(x[0], {7}, {.antialias = false, .align_corners = true})),
    REEL_ROW("resize nearest", resize(x[0], {5, 2}, {.method = ResizeMethod::nearest})),
    REEL_ROW("dilation2d same", dilation2d(x[0], x[1], same)),
    REEL_ROW("erosion2d same", erosion2d(x[0], x[1], same)),
    REEL_ROW("fractional_max_pool2d", fractional_max_pool2d(x[0], {2, 2}, {2, 3}, chosen_places())),
    REEL_ROW("fractional_avg_pool2d", fractional_avg_pool2d(x[0], {2, 2}, {2, 3}, chosen_places())),
    REEL_ROW("embedding_bag sum", embedding_bag(x[0], ids(), {.mode = BagMode::sum, .weights = x[1]})),
    REEL_ROW("embedding_bag mean", embedding_bag(x[0], other_ids())),
    REEL_ROW("embedding_bag max", embedding_bag(x[0], other_ids(), {.mode = BagMode::max})),
    REEL_ROW("banded_triangular_solve upper", banded_triangular_solve(x[0], x[1], {.lower = false})),
    REEL_ROW("banded_cholesky", banded_cholesky(x[0] * tensor({{1.0}, {0.5}, {0.5}}) + tensor({{6.0}, {0.0}, {0.0}}))),
    REEL_ROW("banded_cholesky scipy", banded_cholesky(x[0])),
    REEL_ROW("fftfreq 5", fftfreq(5, 0.25)),
    REEL_ROW("fftfreq 6", fftfreq(6, 0.25)),
    REEL_ROW("rfftfreq 5", rfftfreq(5, 0.25)),
    REEL_ROW("rfftfreq 6", rfftfreq(6, 0.25)),
    {"glorot_uniform", dense<glorot_uniform>, 0.02},
    {"glorot_normal", dense<glorot_normal>, 0.02},
    {"he_uniform", dense<he_uniform>, 0.02},
    {"he_normal", dense<he_normal>, 0.02},
    {"glorot_uniform filters", filters<glorot_uniform>, 0.02},
    {"glorot_normal filters", filters<glorot_normal>, 0.02},
    {"he_uniform filters", filters<he_uniform>, 0.02},
    {"he_normal filters", filters<he_normal>, 0.02},
    REEL_ROW("orthogonal rows", rows_of(orthogonal_of({3, 2, 4}))),
    REEL_ROW("orthogonal columns", rows_of(transpose(orthogonal_of({7, 3})))),
    {"orthogonal moments", [](const Tensors&) -> Tensors { return {orthogonal_moments()}; }, 0.04},
};

}  // namespace golden
