"""Writes grid_values.hpp: SciPy's B-splines, values on grids and at coordinates, PyTorch's samples of images, and images
at other sizes by JAX's definition, which PyTorch's and Pillow's results are compared with.

Usage: make_grid_values.py > grid_values.hpp, with SciPy 1.10, NumPy 1.24 and PyTorch 1.13 and
Pillow 9.4. The tests read the stored file alone.
"""
import mpmath
import numpy
import torch
from PIL import Image
from scipy.interpolate import BSpline, RegularGridInterpolator
from scipy.ndimage import map_coordinates

braces = lambda values: "{" + ", ".join(repr(float(v)) for v in numpy.ravel(values)) + "}"
numbers = numpy.random.RandomState(14)

print("""// Made by make_grid_values.py. Not to be edited.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

struct BSplineValue {
  int degree;
  std::vector<double> knots, coefficients, points;
  std::vector<double> values, first, second, integrals;  // at the points; integrals from 0.5 on
};
struct RegularGridValue {
  const char* method;
  std::vector<std::vector<double>> axes;
  std::vector<double> values, points;  // [n_1, ..., n_d, 2]; [points, d]
  std::vector<double> inside, beyond;  // [points, 2]: NaN, and the outermost polynomials outside
};
struct MapValue {
  int order;
  const char* border;
  std::vector<std::int64_t> shape;
  std::vector<double> array, coordinates, values;  // coordinates [d, positions]; the fill value is -1.5
};
struct SampleValue {
  const char* method;
  const char* padding;
  bool align_corners;
  std::vector<std::int64_t> shape, grid_shape;
  std::vector<double> images, grid, values, to_images, to_grid;  // gradients of the sum of squares
};
struct AffineGridValue {
  bool align_corners;
  std::vector<std::int64_t> size;
  std::vector<double> theta, grid;
};
struct ResizeValue {
  int method;  // of reel::ResizeMethod
  bool antialias, align_corners;
  double cubic;
  std::vector<std::int64_t> shape, size;
  std::vector<double> x, y;
};

// clang-format off
inline const std::vector<BSplineValue> b_spline_values = {""")
SPLINES = [
    (0, [0, 1, 2.5, 4]),
    (1, [0, 1, 2.5, 3, 4]),
    (2, [-1, 0, 0.5, 2, 3, 4.5, 5]),
    (3, [0, 0, 0, 0, 1, 2.5, 3, 3, 4, 4, 4, 4]),
    (3, [-1, 0, 0.5, 2, 3, 4.5, 5, 6]),
    (5, [0, 0, 0, 0, 0, 0, 1.5, 2, 3, 4, 4, 4, 4, 4, 4]),
]
for degree, knots in SPLINES:
    f = BSpline(numpy.array(knots, float), numpy.round(numbers.uniform(-2, 2, len(knots) - degree - 1), 3), degree)
    points = [knots[0] - 0.75, knots[degree], 0.875, 2.5, 3, 3.25, knots[-degree - 1], knots[-1] + 0.5]
    rows = [f(points)] + [f(points, k) if k <= degree else 0 * numpy.array(points) for k in (1, 2)]
    rows.append([f.antiderivative()(p) - f.antiderivative()(0.5) for p in points])
    print(f"    {{{degree}, {braces(knots)}, {braces(f.c)}, {braces(points)},\n     " + ", ".join(map(braces, rows)) + "},")
print("""};

inline const std::vector<RegularGridValue> regular_grid_values = {""")
GRIDS = [
    [[-1, 0.5, 2, 3.25]],
    [[0, 1, 2.5, 4, 4.5], [-2, -1.5, 0, 1, 4]],
    [[0, 1, 3, 4], [0, 0.5, 2, 3, 5], [-1, 0, 1.5, 2]],
]
for method in "nearest", "linear", "cubic":
    for axes in GRIDS:
        axes = [numpy.array(a, float) for a in axes]
        values = numpy.round(numbers.uniform(-2, 2, [*map(len, axes), 2]), 3)
        low, high = [a[0] for a in axes], [a[-1] for a in axes]
        inner = numpy.round(numbers.uniform(low, high, (5, len(axes))), 3)
        outer = numpy.array([numpy.array(high) + 0.25, numpy.array(low) - 0.5])
        points = numpy.concatenate([inner, [low, high], outer])
        # SciPy's cubic splines take one value at a time.
        def result(fill):
            make = lambda v: RegularGridInterpolator(axes, v, method, bounds_error=False, fill_value=fill)
            return numpy.stack([make(values[..., k])(points) for k in range(2)], -1)
        grid = "{" + ", ".join(map(braces, axes)) + "}"
        print(f'    {{"{method}", {grid}, {braces(values)}, {braces(points)},')
        print("     " + ", ".join(map(braces, (result(numpy.nan), result(None)))).replace("nan", "NAN") + "},")
print("""};

inline const std::vector<MapValue> map_values = {""")
integers = lambda values: "{" + ", ".join(map(str, values)) + "}"
rounded = lambda low, high, shape: numpy.round(numbers.uniform(low, high, shape), 3)

def mapped(x, at, order, border):
    if order == 3 and border == "nearest":  # beyond its padding of 12 elements, SciPy's values are off by 1e-7
        at = numpy.clip(at, -12, numpy.array(x.shape)[:, None] + 11)
    if order < 3 or border != "reflect":
        return map_coordinates(x, at, order=order, mode=border, cval=-1.5)
    # The spline of SciPy's filter misses the values: by 4e-4 for 2 elements, 1e-6 for 5.
    for k, n in enumerate(x.shape):
        system = (4 * numpy.eye(n) + numpy.eye(n, k=1) + numpy.eye(n, k=-1)) / 6
        system[0, 0] = system[-1, -1] = 5 / 6
        x = numpy.moveaxis(numpy.tensordot(numpy.linalg.inv(system), x, (1, k)), 0, k)
    return map_coordinates(x, at, order=order, mode=border, prefilter=False)

LINE = [-12.7, -6.2, -5, -1.25, -0.75, -0.5, 0, 0.3, 1, 2.6, 3.999, 4, 4.4, 4.6, 5.25, 8, 9.1, 23.4]
for order in 0, 1, 3:
    for border in "constant", "nearest", "reflect", "mirror", "wrap", "grid-constant", "grid-wrap":
        for shape in [5], [2], [4, 3]:
            x = rounded(-2, 2, shape)
            at = numpy.array([LINE]) if len(shape) == 1 else rounded(-3, 6, (2, 6))
            y = mapped(x, at, order, border)
            print(f'    {{{order}, "{border}", {integers(shape)}, {braces(x)},\n     {braces(at)}, {braces(y)}}},')
print("""};

inline const std::vector<SampleValue> sample_values = {""")
yes = lambda flag: "true" if flag else "false"
for method in "nearest", "bilinear", "bicubic":
    for padding in "zeros", "border", "reflection":
        for align in False, True:
            for shape, grid_shape in ((2, 1, 3, 4), (2, 2, 2, 2)), ((1, 1, 2, 3, 2), (1, 1, 2, 2, 3)):
                if method == "bicubic" and len(shape) == 5:
                    continue
                x = torch.tensor(rounded(-2, 2, shape), requires_grad=True)
                grid = torch.tensor(rounded(-1.8, 1.8, grid_shape), requires_grad=True)
                y = torch.nn.functional.grid_sample(x, grid, method, padding, align)
                (y * y).sum().backward()
                print(f'    {{"{method}", "{padding}", {yes(align)}, {integers(shape)}, {integers(grid_shape)},')
                print("     " + ", ".join(braces(v.detach().numpy()) for v in (x, grid, y, x.grad, grid.grad)) + "},")
print("""};

inline const std::vector<AffineGridValue> affine_grid_values = {""")
for size in (2, 1, 2, 3), (1, 1, 1, 4), (1, 2, 2, 1, 3):
    for align in False, True:
        theta = rounded(-2, 2, (size[0], len(size) - 2, len(size) - 1))
        grid = torch.nn.functional.affine_grid(torch.tensor(theta), size, align)
        print(f"    {{{yes(align)}, {integers(size)}, {braces(theta)}, {braces(grid.numpy())}}},")
print("""};

inline const std::vector<ResizeValue> resize_values = {""")


def kernel(method, cubic, x):
    """As jax.image's, with an exact sinc."""
    if method == 0:
        raise ValueError
    if method == 1:
        return max(mpmath.mpf(0), 1 - x)
    if method == 2:
        a = mpmath.mpf(cubic)
        if x >= 2:
            return mpmath.mpf(0)
        return ((a + 2) * x - (a + 3)) * x * x + 1 if x < 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    radius = 3 if method == 3 else 5
    return mpmath.sincpi(x) * mpmath.sincpi(x / radius) if x <= radius else mpmath.mpf(0)


def weights(method, antialias, align, cubic, n, m):
    """[m, n], as jax.image's compute_weight_mat."""
    result = numpy.zeros((m, n))
    for i in range(m):
        if align:
            step = mpmath.mpf(n - 1) / (m - 1) if m > 1 else mpmath.mpf(0)
            place = i * step
        else:
            step = mpmath.mpf(n) / m
            place = (i + mpmath.mpf(1) / 2) * step - mpmath.mpf(1) / 2
        if method == 0:
            result[i, int(mpmath.floor(place + mpmath.mpf(1) / 2))] = 1
            continue
        scale = max(step, 1) if antialias else 1
        row = [kernel(method, cubic, abs(place - j) / scale) for j in range(n)]
        result[i] = [float(v / sum(row)) for v in row]
    return result


def resized(x, size, *how):
    for k, m in enumerate(size):
        if m != x.shape[k]:
            x = numpy.moveaxis(numpy.tensordot(weights(*how, x.shape[k], m), x, (1, k)), 0, k)
    return x


def compare_with_peers():
    x = numbers.uniform(-2, 2, (9, 7))
    for size in (4, 5), (20, 3), (13, 17):
        for align in False, True:
            for antialias in False, True:
                for method, name in (1, "bilinear"), (2, "bicubic"):
                    if antialias and align or name == "bicubic" and not antialias:
                        continue  # PyTorch's antialias aligns no corners; without it, its cubic repeats the border
                    y = torch.nn.functional.interpolate(torch.tensor(x)[None, None], size, mode=name, align_corners=align,
                                                        antialias=antialias)[0, 0].numpy()
                    error = abs(y - resized(x, size, method, antialias, align, -0.5)).max()
                    assert error < 1e-13, (size, align, antialias, name, error)
        y = torch.nn.functional.interpolate(torch.tensor(x)[None, None], size, mode="nearest-exact")[0, 0].numpy()
        assert (y == resized(x, size, 0, False, False, 0)).all()
        for method, name in (1, Image.BILINEAR), (2, Image.BICUBIC), (3, Image.LANCZOS):
            y = numpy.array(Image.fromarray(x.astype(numpy.float32)).resize(size[::-1], name))
            assert abs(y - resized(x, size, method, True, False, -0.5)).max() < 2e-6


compare_with_peers()
for method in range(5):
    for antialias, align, cubic in (True, False, -0.5), (False, False, -0.75), (True, True, -0.5):
        for shape, size in ([6], [4]), ([3], [7]), ([1], [3]), ([5], [1]), ([2, 4, 3], [3, 2, 3]), ([2, 3, 4], [1, 5, 2]):
            x = rounded(-2, 2, shape)
            y = resized(x, size, method, antialias, align, cubic)
            print(f"    {{{method}, {yes(antialias)}, {yes(align)}, {cubic}, {integers(shape)}, {integers(size)}, {braces(x)},")
            print(f"     {braces(y)}}},")
print("};")
print("// clang-format on")
