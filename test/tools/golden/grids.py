"""B-splines, values on grids, images at other sizes, morphology, structured matrices and first weights."""
import math

import mpmath
import numpy
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import torch
import torch.nn.functional as F
from record import Draw, L, N, T, mp, positive


def agree(a, b, error=1e-13):
    assert numpy.allclose(a, b, error, error), (a, b)


def b_splines():
    knots, points = [-1.0, 0, 0.5, 2, 3, 4.5, 5, 6, 7, 8], [2.25, 3.0625, 4.625]

    def basis(x, k, j, degree):
        """Of de Boor's recurrence; x is in [k[3], k[n])."""
        if degree == 0:
            return ((k[j] <= x) & (x < k[j + 1])).double()
        left = (x - k[j]) / (k[j + degree] - k[j]) * basis(x, k, j, degree - 1)
        return left + (k[j + degree + 1] - x) / (k[j + degree + 1] - k[j + 1]) * basis(x, k, j + 1, degree - 1)

    for degree in (1, 2, 3):
        spline = lambda x, k, c: sum(c[j] * basis(x, k, j, degree) for j in range(len(k) - degree - 1))
        coefficients = numpy.array([1.0, -0.5, 2, 0.75, -1.25, 3, 0.25, -2])[:9 - degree]
        agree(scipy.interpolate.BSpline(knots, coefficients, degree)(points), spline(*map(torch.tensor, (points, knots, coefficients))))
        T(f"b_spline {degree}", spline, points, knots, coefficients)
    made = lambda c: scipy.interpolate.BSpline(knots, c, 3)
    L("b_spline second", lambda c: made(c)(points, 2), (6,))
    L("b_spline integral", lambda c: made(c).integrate(2, 4.875), (6,))


def regular_grids():
    axes = [0.0, 1, 2.5, 4], [-2.0, -1.5, 0, 1, 4]
    points = numpy.array([[0.75, -1.75], [1.25, 2.0], [3.5, -0.25]])

    def linear(x, a, b, v):
        total = 0
        cells = [(torch.searchsorted(k.detach(), x[:, d].detach().contiguous()) - 1, k) for d, k in enumerate((a, b))]
        for corner in (0, 1), (1, 1), (0, 0), (1, 0):
            weight = 1
            for d, (i, k) in enumerate(cells):
                t = (x[:, d] - k[i]) / (k[i + 1] - k[i])
                weight = weight * (t if corner[d] else 1 - t)
            total = total + weight[:, None] * v[cells[0][0] + corner[0], cells[1][0] + corner[1]]
        return total

    interpolator = lambda v, method: scipy.interpolate.RegularGridInterpolator(axes, v, method)(points)
    values = numpy.round(numpy.random.RandomState(3).uniform(-2, 2, (4, 5, 2)) * 32) / 32
    agree(interpolator(values, "linear"), linear(*map(torch.tensor, (points, *axes, values))))
    T("regular_grid linear", linear, points, *axes, values)
    L("regular_grid nearest", lambda v: interpolator(v, "nearest"), (4, 5))
    L("regular_grid cubic", lambda v: interpolator(v, "cubic"), (4, 5))


def folded(i, n, border):
    """The element that a border puts at index i, or none."""
    if border == "constant":
        return i if 0 <= i < n else None
    if border == "nearest":
        return min(max(i, 0), n - 1)
    if border == "grid-wrap":
        return i % n
    period = 2 * n - 2 if border == "mirror" else 2 * n
    i %= period
    return i if i < n else period - i - (border == "reflect")


def cubic(t):
    return torch.where(t < 1, 2 / 3 - t * t + t ** 3 / 2, (2 - t).clamp(min=0) ** 3 / 6)


def mapped(x, at, order, border):
    """SciPy's map_coordinates. Coefficients of cubic B-splines solve the conditions that the values are interpolated."""
    if order == 3:
        for axis, n in enumerate(x.shape):
            system = torch.zeros(n, n)
            for i in range(n):
                for step, weight in ((-1, 1), (0, 4), (1, 1)):
                    system[i, folded(i + step, n, "mirror" if border == "constant" else border)] += weight / 6
            x = torch.tensordot(torch.linalg.inv(system), x, ([1], [axis])).movedim(0, axis)
    rows = []
    for p in at.T:
        total = 0
        starts = [math.floor(c) - (order == 3) for c in p.detach()]
        for corner in numpy.ndindex(*[order + 1] * len(p)):
            place = [folded(s + k, n, "mirror" if order == 3 and border == "constant" else border) for s, k, n in zip(starts, corner, x.shape)]
            if None in place:
                continue
            weight = 1
            for c, s, k in zip(p, starts, corner):
                distance = (c - (s + k)).abs()
                weight = weight * (cubic(distance) if order == 3 else 1 - distance)
            total = total + weight * x[tuple(place)]
        rows.append(total + 0 * p.sum())
    return torch.stack(rows)


def coordinates():
    x = numpy.round(numpy.random.RandomState(5).uniform(-2, 2, (4, 5)) * 32) / 32
    inside, beyond = numpy.array([[0.75, 2.25, 1.5], [3.25, 1.125, 0.625]]), numpy.array([[-0.75, 3.25, 5.5], [4.375, -1.125, 6.625]])
    for order, border, at in ((1, "constant", inside), (1, "nearest", beyond), (1, "reflect", beyond), (1, "grid-wrap", beyond),
                              (3, "constant", inside), (3, "mirror", beyond), (3, "grid-wrap", beyond)):
        agree(scipy.ndimage.map_coordinates(x, at, order=order, mode=border), mapped(torch.tensor(x), torch.tensor(at), order, border), 1e-12)
        T(f"map_coordinates {order} {border.replace('-', ' ')}", lambda x, at: mapped(x, at, order, border), x, at)
    L("map_coordinates 0", lambda x: scipy.ndimage.map_coordinates(x, beyond, order=0, mode="mirror"), (4, 5))


def sampled(x, grid, method, padding, align):
    """F.grid_sample of images, by products that have second derivatives."""
    extents, results = x.shape[2:], []
    for image, places in zip(x, grid.reshape(len(x), -1, 2)):
        for p in places:
            places_of = []
            for c, n in zip(p.flip(0), extents):
                c = (c + 1) / 2 * (n - 1) if align else ((c + 1) * n - 1) / 2
                low, high = (0, n - 1) if align else (-0.5, n - 0.5)
                if padding == "reflection" and method == "bilinear":
                    c = (c - low).abs() % (2 * (high - low))
                    c = torch.where(c > high - low, 2 * (high - low) - c, c) + low
                if padding != "zeros" and method == "bilinear":
                    c = c.clamp(0, n - 1)
                places_of.append(c)
            starts = [math.floor(c) - (method == "bicubic") for c in places_of]
            total = 0 * (image[:, 0, 0] + p.sum())
            for corner in numpy.ndindex(*[4 if method == "bicubic" else 2] * 2):
                at, weight = [], 1
                for c, s, k, n in zip(places_of, starts, corner, extents):
                    i, d = s + k, (c - (s + k)).abs()
                    a = -0.75
                    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                    weight = weight * (torch.where(d < 1, near, far) if method == "bicubic" else 1 - d)
                    if padding == "border":
                        i = min(max(i, 0), n - 1)
                    if padding == "reflection":
                        i = folded(i, n, "mirror" if align else "reflect")
                    at.append(i if 0 <= i < n else None)
                if None not in at:
                    total = total + weight * image[:, at[0], at[1]]
            results.append(total)
    return torch.stack(results).reshape(len(x), -1, x.shape[1]).transpose(1, 2).reshape(x.shape[0], x.shape[1], *grid.shape[1:-1])


def images():
    numbers = numpy.random.RandomState(9)
    for method in "bilinear", "bicubic":
        for padding in "zeros", "border", "reflection":
            for align in False, True:
                x, grid = (numpy.round(numbers.uniform(-2, 2, shape) * 64 + 0.3) / 64 for shape in ((2, 1, 3, 4), (2, 2, 1, 2)))
                grid = grid * 0.75
                peer = F.grid_sample(torch.tensor(x), torch.tensor(grid), method, padding, align)
                agree(peer, sampled(torch.tensor(x), torch.tensor(grid), method, padding, align))
                T(f"grid_sample {method} {padding}{' aligned' * align}", lambda x, g: sampled(x, g, method, padding, align), x, grid)
    x, grid = (numpy.round(numbers.uniform(-1, 1, shape) * 64) / 64 for shape in ((1, 1, 2, 3, 2), (1, 1, 2, 2, 3)))
    # Of volumes and of the nearest element PyTorch has first derivatives.
    T("grid_sample volumes", lambda x, g: F.grid_sample(x, g, "bilinear", "border", True), x, grid, order=1)
    T("grid_sample nearest", lambda x, g: F.grid_sample(x, g, "nearest", "zeros", False), x, grid, order=1, at_kink=True)
    for align in False, True:
        T(f"affine_grid{' aligned' * align}", lambda t: F.affine_grid(t, (2, 1, 2, 3), align), (2, 2, 3))
        T(f"affine_grid volumes{' aligned' * align}", lambda t: F.affine_grid(t, (1, 1, 2, 1, 3), align), (1, 3, 4))


def kernel(method, x):
    """As jax.image's, with an exact sinc."""
    if method == "linear":
        return max(mpmath.mpf(0), 1 - x)
    if method == "cubic":
        a = mpmath.mpf(-0.5)
        return mpmath.mpf(0) if x >= 2 else ((a + 2) * x - (a + 3)) * x * x + 1 if x < 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    radius = int(method[-1])
    return mpmath.sincpi(x) * mpmath.sincpi(x / radius) if x <= radius else mpmath.mpf(0)


def resizing(method, antialias, n, m):
    """The weights [m, n], as of jax.image's compute_weight_mat."""
    step = mpmath.mpf(n) / m
    rows = []
    for i in range(m):
        place = (i + mpmath.mpf(1) / 2) * step - mpmath.mpf(1) / 2
        row = [kernel(method, abs(place - j) / (max(step, 1) if antialias else 1)) for j in range(n)]
        rows.append([float(v / sum(row)) for v in row])
    return torch.tensor(rows)


def sizes():
    for method in "linear", "cubic", "lanczos3", "lanczos5":
        for antialias in True, False:
            resized = lambda x: resizing(method, antialias, 6, 4) @ x @ resizing(method, antialias, 5, 7).T
            x = numpy.random.RandomState(1).uniform(-2, 2, (6, 5))
            if method == "linear" or method == "cubic" and antialias:
                agree(F.interpolate(torch.tensor(x)[None, None], (4, 7), mode=f"bi{method}", antialias=antialias)[0, 0], resized(torch.tensor(x)))
            T(f"resize {method}{' antialias' * antialias}", resized, (6, 5))
    over = lambda mode, size: lambda x: F.interpolate(x[None, None], size, mode=mode, align_corners=True)[0, 0]
    T("resize linear aligned", over("bilinear", (5, 2)), (3, 4))
    T("resize volumes", over("trilinear", (3, 2, 4)), (2, 3, 2))
    T("resize line", over("linear", 7), (4,))
    T("resize nearest", lambda x: F.interpolate(x[None, None], (5, 2), mode="nearest-exact")[0, 0], (3, 4))


def greatest(x, w, stride=(1, 1), dilation=(1, 1), same=False):
    """TensorFlow's dilation2d, channel by channel."""
    k = [(n - 1) * d + 1 for n, d in zip(w.shape[1:], dilation)]
    out = [-(-n // s) if same else (n - e) // s + 1 for n, e, s in zip(x.shape[2:], k, stride)]
    before = [max((o - 1) * s + e - n, 0) // 2 if same else 0 for o, s, e, n in zip(out, stride, k, x.shape[2:])]
    rows = []
    for i, j in numpy.ndindex(*out):
        terms = []
        for a, b in numpy.ndindex(*w.shape[1:]):
            p, q = i * stride[0] + a * dilation[0] - before[0], j * stride[1] + b * dilation[1] - before[1]
            if 0 <= p < x.shape[2] and 0 <= q < x.shape[3]:
                terms.append(x[:, :, p, q] + w[:, a, b])
        rows.append(torch.stack(terms).max(0)[0])
    return torch.stack(rows, -1).reshape(*x.shape[:2], *out)


def morphology():
    eroded = lambda x, w, *how, **named: -greatest(-x, w.flip(1, 2), *how, **named)
    x, w = numpy.random.RandomState(2).uniform(-2, 2, (4, 5)), numpy.random.RandomState(3).uniform(-1, 1, (3, 3))
    outside = {"mode": "constant", "cval": -numpy.inf}
    agree(scipy.ndimage.grey_dilation(x, structure=w[::-1, ::-1], **outside), greatest(torch.tensor(x)[None, None], torch.tensor(w)[None], same=True)[0, 0])
    outside = {"mode": "constant", "cval": numpy.inf}
    agree(scipy.ndimage.grey_erosion(x, structure=w[::-1, ::-1], **outside), eroded(torch.tensor(x)[None, None], torch.tensor(w)[None], same=True)[0, 0])
    for name, f in {"dilation2d": greatest, "erosion2d": eroded}.items():
        T(name, f, (1, 2, 4, 3), (2, 2, 2))
        T(f"{name} same", lambda x, w: f(x, w, (2, 1), (1, 2), True), (1, 1, 4, 5), (1, 3, 2))
    T("dilation2d/first of equals", lambda x, w: (x[:, :, :, :1] + w[:, :, :1]), [[[[1.0, 1.0]]]], [[[2.0, 2.0]]], at_kink=True)
    samples = torch.tensor([[[0.125, 0.75], [0.5, 0.375]]])
    T("fractional_max_pool2d", lambda x: F.fractional_max_pool2d(x, (2, 2), (2, 3), _random_samples=samples), (1, 2, 5, 6), order=1)

    def mean(x, u):
        starts = lambda n, m, u: [math.floor((i + u) * (n - 2) / (m - 1)) - math.floor(u * (n - 2) / (m - 1)) if i < m - 1 else n - 2 for i in range(m)]
        return torch.stack([torch.stack([torch.stack([x[0, c, p:p + 2, q:q + 2].mean() for q in starts(6, 3, u[c][0])])
                                         for p in starts(5, 2, u[c][1])]) for c in range(2)])[None]

    T("fractional_avg_pool2d", lambda x: mean(x, samples[0].tolist()), (1, 2, 5, 6))
    ids, bags = torch.tensor([[2, 0], [1, 1]]), lambda mode, **o: lambda t: F.embedding_bag(torch.tensor([[2, 0], [1, 3]]), t, mode=mode, **o)
    T("embedding_bag sum", lambda t, w: F.embedding_bag(ids, t, mode="sum", per_sample_weights=w), (3, 2), (2, 2), order=1)
    T("embedding_bag sum/definition", lambda t, w: torch.stack([w[0, 0] * t[2] + w[0, 1] * t[0], (w[1, 0] + w[1, 1]) * t[1]]), (3, 2), (2, 2))
    T("embedding_bag mean", bags("mean"), (4, 2), order=1)
    T("embedding_bag max", bags("max"), (4, 2), order=1)


def structured():
    tridiagonal = lambda l, d, u: torch.diag(l, -1) + torch.diag(d) + torch.diag(u, 1)
    T("tridiagonal_matmul", lambda l, d, u, x: tridiagonal(l, d, u) @ x, (3,), (4,), (3,), (4, 2))
    lower = lambda b: torch.diag(b[0]) + torch.diag(b[1][:3], -1) + torch.diag(b[2][:2], -2)
    upper = lambda b: torch.diag(b[1]) + torch.diag(b[0][1:], 1)
    T("banded_triangular_solve", lambda b, x: torch.linalg.solve_triangular(lower(b), x, upper=False), positive(3, 4), (4, 2))
    T("banded_triangular_solve upper", lambda b, x: torch.linalg.solve_triangular(upper(b), x, upper=True), positive(2, 4), (4, 1))

    def factor(b):
        l = torch.linalg.cholesky((lower(b) + lower(b).T) / 2 + 6 * torch.eye(4))
        return torch.stack([l.diagonal(), F.pad(l.diagonal(-1), (0, 1)), F.pad(l.diagonal(-2), (0, 2))])

    T("banded_cholesky", factor, (3, 4))
    N("banded_cholesky scipy", lambda b: scipy.linalg.cholesky_banded(b, lower=True), [[4.0, 5, 3, 6], [1, -0.5, 0.75, 0], [0.25, 1, 0, 0]])
    T("householder_product", torch.linalg.householder_product, (4, 3), (2,))
    T("householder_product/complex", torch.linalg.householder_product, Draw((3, 2), -1, 1, True), Draw(2, -1, 1, True))
    for n in (5, 6):
        N(f"fftfreq {n}", lambda: numpy.fft.fftfreq(n, 0.25))
        N(f"rfftfreq {n}", lambda: numpy.fft.rfftfreq(n, 0.25))
    T("quaternion_conjugate", lambda q: q * torch.tensor([1.0, -1, -1, -1]), (4,))


def first_weights():
    """Mean, variance, fourth moment and range of the distributions that Glorot, He and TensorFlow state, in units of the standard
    deviation; of uniform orthogonal matrices those of one coordinate on a sphere."""
    uniform = [0, 1, 9 / 5, math.sqrt(3)]
    moment = lambda k: mp.quad(lambda t: t ** k * mp.npdf(t), [-2, 2]) / mp.quad(mp.npdf, [-2, 2])
    truncated = [0, 1, moment(4) / moment(2) ** 2, 2 / mp.sqrt(moment(2))]
    for name, moments in {"uniform": uniform, "normal": truncated}.items():
        moments = numpy.array(moments, float)
        # Matrices [300, 200], and filters [20, 30, 3, 5] of 450 inputs and 300 outputs.
        for author, dense, filters in ("glorot", 2 / 500, 2 / 750), ("he", 2 / 300, 2 / 450):
            N(f"{author}_{name}", lambda _: moments, [dense])
            N(f"{author}_{name} filters", lambda _: moments, [filters])
    N("orthogonal rows", lambda: 2.25 * numpy.eye(3))
    N("orthogonal columns", lambda: 2.25 * numpy.eye(3))
    n = 3
    N("orthogonal moments", lambda: numpy.array([0, 1 / n, 3 / (n * (n + 2)), 1 / (n * (n + 2)), 0]))


def add():
    b_splines()
    regular_grids()
    coordinates()
    images()
    sizes()
    morphology()
    structured()
    first_weights()
