"""Functions of elements, reductions, scans, indexing, sorting and arranging."""
import numpy
import torch
import torch.nn.functional as F
from record import Draw, E, L, M, N, T, cplx, mp, positive

nan, inf = float("nan"), float("inf")
GENERIC = [-1.75, -0.625, 0.3125, 1.1875]
WIDE = [-8.0, -0.625, 2.0 ** -20, 0.3125, 5.0, 30.0]


# Second derivatives that are differences: p (1 - p) of a probability near 1, and (1 - x^2 / r^2) / r.
ROUGH = ("softplus", "log_sigmoid", "mish")


def smooth():
    """Where cancellation is a danger the points reach into the tails."""
    half, two = mp.mpf(1) / 2, mp.mpf(2)
    erf_tail = lambda x: mp.erfc(x)
    ndtr = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2
    rows = {
        "sqrt": (mp.sqrt, [2.0 ** -60, 0.3125, 2e9]), "rsqrt": (lambda x: 1 / mp.sqrt(x), [2.0 ** -60, 0.3125, 2e9]),
        "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [-5.5, 2.0 ** -30, 7.0]), "exp": (mp.exp, [-40.0, -0.625, 2.0 ** -20, 30.0]),
        "exp2": (lambda x: two ** x, [-40.5, 0.3125, 9.25]), "exp10": (lambda x: mp.mpf(10) ** x, [-4.5, 0.3125, 2.25]),
        "expm1": (mp.expm1, [-30.0, -0.625, 2.0 ** -30, 5.5]), "log": (mp.log, [2.0 ** -60, 0.3125, 1 + 2.0 ** -20, 2e9]),
        "log2": (lambda x: mp.log(x) / mp.log(2), [0.3125, 1 + 2.0 ** -20, 2e9]), "log10": (mp.log10, [0.3125, 1 + 2.0 ** -20, 2e9]),
        "log1p": (mp.log1p, [-0.96875, 2.0 ** -30, 5.5]), "log1mexp": (lambda x: mp.log(-mp.expm1(-x)), [2.0 ** -30, 0.3125, 40.0]),
        "sin": (mp.sin, GENERIC + [1e5]), "cos": (mp.cos, GENERIC + [1e5]), "tan": (mp.tan, GENERIC), "sinc": (mp.sincpi, [2.0 ** -30, 0.3125, 7.125]),
        "arcsin": (mp.asin, [-0.96875, 2.0 ** -30, 0.3125]), "arccos": (mp.acos, [-0.96875, 2.0 ** -30, 0.3125]), "arctan": (mp.atan, WIDE),
        "sinh": (mp.sinh, WIDE), "cosh": (mp.cosh, WIDE), "arcsinh": (mp.asinh, [-2e9, 2.0 ** -30, 0.3125, 5.0]),
        "arccosh": (mp.acosh, [1 + 2.0 ** -10, 1.5, 2e9]), "arctanh": (mp.atanh, [-0.96875, 2.0 ** -30, 0.3125]),
        "erf": (mp.erf, [-3.5, 2.0 ** -30, 0.3125, 2.0]), "erfc": (mp.erfc, [-3.5, 0.3125, 9.0, 25.0]),
        "erfcx": (lambda x: mp.exp(x * x) * erf_tail(x), [-3.5, 0.3125, 9.0, 1e4, 1e8]), "erfinv": (mp.erfinv, [-0.96875, 2.0 ** -30, 0.3125]),
        "ndtr": (ndtr, [-30.0, -3.5, 0.3125, 5.0]), "log_ndtr": (lambda x: mp.log(ndtr(x)), [-1000.0, -100.0, -3.5, 0.3125, 5.0]),
        "lgamma": (mp.loggamma, [2.0 ** -30, 0.3125, 1.75, 300.5]), "digamma": (mp.digamma, [2.0 ** -20, 0.3125, 1.75, 300.5]),
        "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), [-40.0, -0.625, 2.0]), "softplus": (lambda x: mp.log1p(mp.exp(x)), [-40.0, -0.625, 2.0, 30.0]),
        "log_sigmoid": (lambda x: -mp.log1p(mp.exp(-x)), [-40.0, -0.625, 2.0, 30.0]), "logit": (lambda x: mp.log(x / (1 - x)), [2.0 ** -30, 0.3125, 0.96875]),
        "silu": (lambda x: x / (1 + mp.exp(-x)), [-30.0, -0.625, 2.0, 5.5]), "gelu": (lambda x: x * ndtr(x), [-9.0, -0.625, 2.0, 5.5]),
        "mish": (lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), [-30.0, -0.625, 2.0, 5.5]), "entr": (lambda x: -x * mp.log(x), [2.0 ** -30, 0.3125, 5.5]),
        "gelu_tanh": (lambda x: x * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x ** 3))) / 2, [-3.5, -0.625, 2.0]),
        "softsign": (lambda x: x / (1 + abs(x)), GENERIC), "reciprocal": (lambda x: 1 / x, GENERIC), "square": (lambda x: x * x, GENERIC),
    }
    for name, (f, points) in rows.items():
        E(name, f, numpy.array(points), rough_second=name in ROUGH)
    E("ndtri", lambda p: mp.findroot(lambda z: mp.erfc(-z / mp.sqrt(2)) / 2 - p, mp.mpf(0), tol=1e-120), [0.03125, 0.3125, 0.75])
    x, y = [-1.75, 0.625, 2.5], [0.375, 1.25, 3.0]
    E("power", lambda a, b: a ** b, y, x)
    E("arctan2", mp.atan2, x, [0.375, -1.25, 3.0])
    E("hypot", lambda a, b: mp.sqrt(a * a + b * b), x, [2.0 ** -40, 1.25, 3e5], rough_second=True)
    E("logaddexp", lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), [-40.0, 0.625, 9.0], y, rough_second=True)
    E("logaddexp2", lambda a, b: mp.log(two ** a + two ** b) / mp.log(2), [-40.0, 0.625, 9.0], y, rough_second=True)
    E("xlogy", lambda a, b: a * mp.log(b), x, y)
    E("xlog1py", lambda a, b: a * mp.log1p(b), x, [0.375, 2.0 ** -30, -0.5])
    E("rel_entr", lambda a, b: a * mp.log(a / b), [0.5, 2.0, 3.5], y)
    E("kl_div", lambda a, b: a * mp.log(a / b) - a + b, [0.5, 2.0, 3.5], y)
    E("lerp", lambda a, b, t: a + t * (b - a), x, y, [0.25, 0.75, 1.5])
    E("fma", lambda a, b, c: a * b + c, x, y, [0.25, 0.75, 1.5])
    E("polygamma", lambda q: mp.polygamma(2, q), [0.3125, 1.75, 30.5])


def kinks():
    """PyTorch at the points where a derivative jumps."""
    around = [-1.0, -0.0, 0.0, 0.5, 1.0]
    rows = {
        "relu": (F.relu, around), "abs": (torch.abs, around), "relu6": (F.relu6, [-1.0, 0, 3, 6, 7]), "hard_tanh": (F.hardtanh, [-2.0, -1, 0, 1, 2]),
        "hard_sigmoid": (lambda x: (x + 3).clamp(0, 6) / 6, [-4.0, -2, 0, 2, 4]), "hard_swish": (F.hardswish, [-4.0, -2, 0, 2, 4]), "softshrink": (F.softshrink, [-1.0, -0.5, 0, 0.5, 1]),
        "hardshrink": (F.hardshrink, [-1.0, -0.5, 0, 0.5, 1]), "elu": (F.elu, [-1.0, 0.5]), "selu": (F.selu, [-1.0, 0.5]), "celu": (F.celu, [-1.0, 0.5]),
        "leaky_relu": (F.leaky_relu, [-1.0, 0.5]), "frac": (torch.frac, [-1.75, 0.25, 2.5]), "threshold": (lambda x: F.threshold(x, 0.5, 7), around),
        "sign": (torch.sign, around), "floor": (torch.floor, GENERIC), "round": (torch.round, [-1.5, 0.5, 1.5, 2.5]), "trunc": (torch.trunc, GENERIC),
        "nan_to_num": (lambda x: torch.nan_to_num(x, 2.0), [nan, 1.0, -3.0]), "deg2rad": (torch.deg2rad, GENERIC), "rad2deg": (torch.rad2deg, GENERIC),
        "clip": (lambda x: x.clamp(-1, 1), [-2.0, -0.5, 2]), "tanh": (torch.tanh, GENERIC),
    }
    for name, (f, points) in rows.items():
        T(name, f, points, at_kink=True)
    T("maximum", torch.maximum, [1.0, 2, 3], [2.0, 2, 1], at_kink=True)
    T("minimum", torch.minimum, [1.0, 2, 3], [2.0, 2, 1], at_kink=True)
    T("fmax", torch.fmax, [nan, 1.0, 3], [2.0, nan, 1], at_kink=True)
    T("fmin", torch.fmin, [nan, 1.0, 3], [2.0, nan, 1], at_kink=True)
    T("fmod", torch.fmod, [-7.5, 7.5, 3], [2.0, -2, 1.25], at_kink=True)
    T("mod", torch.remainder, [-7.5, 7.5, 3], [2.0, -2, 1.25], at_kink=True)
    T("copysign", torch.copysign, [-1.5, 0.0, 3], [2.0, 1, -0.0], at_kink=True, order=1)
    T("xlogy/zero", torch.xlogy, [0.0, 0, 2], [1.5, 3, 0.5], at_kink=True)
    T("where", lambda c, x, y: torch.where(c, x, y), [True, False, True], [1.0, 2, 3], [4.0, 5, 6])
    T("hypot/zero", torch.hypot, [0.0, 3], [2.0, 4], at_kink=True)


def complex_forms():
    for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
                 "log2", "log10", "reciprocal", "square", "abs", "angle", "real", "imag", "conj"):
        T(f"{name}/complex", lambda z: getattr(torch, name)(z) + 0, cplx(3))
    T("expm1/complex", lambda z: torch.exp(z) - 1, cplx(3))  # PyTorch 1.13 has no complex expm1 and log1p
    T("log1p/complex", lambda z: torch.log(z + 1), cplx(3))
    T("sign/complex", torch.sgn, cplx(3))
    T("power/complex", torch.pow, cplx(2), cplx(2))
    T("divide/complex", torch.div, cplx(2), cplx(2))
    T("make_complex", torch.complex, (3,), (3,))
    T("polar", torch.polar, positive(3), (3,))
    T("as_real", torch.view_as_real, cplx(3))
    T("as_complex", torch.view_as_complex, (3, 2))
    T("sum/complex", lambda z: z.sum(0), cplx(2, 2))
    T("prod", lambda z: z.prod(0), cplx(3, 2))
    T("cumprod/complex", lambda z: z.cumprod(0), cplx(3))
    T("mean/complex", lambda z: z.mean(0), cplx(2, 2))
    T("norm 2/complex", lambda z: torch.linalg.vector_norm(z, 2, 0), cplx(3, 2))
    T("abs/complex zero", torch.abs, numpy.zeros(1, complex), order=1, at_kink=True)


def reductions():
    x = (3, 2)
    ties = [[1.0, 4], [3, 4], [3, -2]]
    T("sum", lambda t: t.sum(0), x)
    T("mean", lambda t: t.mean(0), x)
    T("prod/real", lambda t: t.prod(0), x)
    T("prod/zeros", lambda t: t.prod(0), [[0.0, 0], [3, 0], [-2, 5]], at_kink=True)
    T("max", lambda t: t.amax(0), ties, at_kink=True)
    T("min", lambda t: t.amin(0), [[1.0, 4], [1, -2], [3, -2]], at_kink=True)
    T("var", lambda t: t.var(0), x)
    T("std", lambda t: t.std(0), x)
    for p in (1, 2, 3, 0.5, inf):
        T(f"norm {p}", lambda t: torch.linalg.vector_norm(t, p, 0), x)
    T("norm 2/zero", lambda t: torch.linalg.vector_norm(t, 2, 0), numpy.zeros((2, 1)), order=1, at_kink=True)
    T("norm inf/ties", lambda t: torch.linalg.vector_norm(t, inf, 0), [[3.0], [-3], [1]], order=1, at_kink=True)
    T("logsumexp", lambda t: t.logsumexp(0), x)
    T("logsumexp/far apart", lambda t: t.logsumexp(0), [[1000.0, -1], [0, -2]], at_kink=True)
    T("softmax", lambda t: t.softmax(0), x)
    T("log_softmax", lambda t: t.log_softmax(0), x)
    T("cumsum", lambda t: t.cumsum(0), x)
    T("cumprod", lambda t: t.cumprod(0), [[2.0, 0], [0, 3], [-1.5, 0]], at_kink=True)
    T("cummax", lambda t: t.cummax(0)[0], ties, at_kink=True)
    T("cummin", lambda t: t.cummin(0)[0], ties, at_kink=True)
    T("logcumsumexp", lambda t: t.logcumsumexp(0), x)
    T("diff", lambda t: t.diff(n=2, dim=0), (4, 2))
    T("ediff1d", lambda t: t.reshape(-1).diff(), (2, 2))
    T("gradient_along", lambda t: torch.gradient(t, spacing=0.5, dim=0)[0], (4, 2))
    T("gradient_along 2", lambda t, p: torch.gradient(t, spacing=(p,), edge_order=2)[0], (4,), [0.0, 0.5, 2, 3])
    T("associative_scan", lambda t: torch.stack([t[0], t[1] @ t[0], t[2] @ t[1] @ t[0]]), (3, 2, 2))
    T("trapezoid", lambda y, s: torch.trapezoid(y, s), (2, 4), [0.0, 0.5, 2, 3])
    T("cumulative_trapezoid", lambda y, s: torch.cumulative_trapezoid(y, s), (2, 4), [0.0, 0.5, 2, 3])


def statistics():
    gaps = [[nan, 2.0, 4], [1.5, nan, -3], [0.5, 7, nan]]
    T("nansum", lambda t: t.nansum(0), gaps, at_kink=True, order=1)
    T("nanmean", lambda t: t.nanmean(0), gaps, at_kink=True, order=1)
    T("nanmedian", lambda t: torch.nanquantile(t, 0.5, 0), gaps, at_kink=True, order=1)
    T("cov", torch.cov, (2, 4))
    T("cov/complex", torch.cov, cplx(2, 3))
    T("corrcoef", torch.corrcoef, (3, 4))
    T("average", lambda t, w: (t * w).sum(0) / w.sum(0), (3, 2), positive(3, 2))
    T("ptp", lambda t: t.amax(0) - t.amin(0), (3, 2))
    T("masked_softmax", lambda t, m: t.masked_fill(~m, -inf).softmax(-1), (2, 3), [[True, False, True], [False, True, True]])
    T("weighted_logsumexp", lambda t, b: (b * t.exp()).sum(0).abs().log(), (3, 2), [[1.0, -2], [0.5, 3], [2, -4]])
    T("clip_by_norm", lambda t: t * (1.5 / torch.linalg.vector_norm(t)).clamp(max=1), (4,))
    for p in (1.0, 2.0, 3.0, inf):
        T(f"cdist {p:g}", lambda a, b: torch.cdist(a, b, p), (3, 2), (2, 2), order=1)
        T(f"pdist {p:g}", lambda a: torch.pdist(a, p), (3, 2), order=1)
    T("cdist 2/coincident", torch.cdist, [[1.0, 2], [3, 4]], [[1.0, 2]], order=1, at_kink=True)
    T("sort", lambda t: t.sort(dim=0, stable=True)[0], [3.0, 1, 3, -2, 1], at_kink=True)
    T("sort descending", lambda t: t.sort(0, True)[0], (5,))
    T("top_k", lambda t: t.topk(2, 0)[0], (5, 2))
    T("kth_value", lambda t: t.kthvalue(2, 0)[0], (5, 2))
    N("argsort", lambda t: numpy.argsort(t, kind="stable"), [3.0, 1, nan, 3, -2, 1])
    N("searchsorted", lambda s, t: numpy.searchsorted(s, t), [1.0, 2, 2, 5], [0.0, 2, 3, 9, nan], at_kink=True)
    N("digitize", lambda t, s: numpy.digitize(t, s, right=True), [0.0, 2, 3, 9], [1.0, 2, 2, 5], at_kink=True)
    N("unique", lambda t: numpy.unique(t, return_index=True, return_inverse=True, return_counts=True), [3.0, 1, 3, -2, 1], at_kink=True)
    T("median", lambda t: t.quantile(0.5, 0), (4, 2), order=1)
    for method in ("linear", "lower", "higher", "nearest", "midpoint"):
        T(f"quantile {method}", lambda t: t.quantile(torch.tensor([0.3, 0.8]), 0, interpolation=method), (5,), order=1)
    for method in ("hazen", "weibull", "median_unbiased"):
        N(f"quantile {method}", lambda t: numpy.quantile(t, [0.3, 0.8], method=method), (5,))
    T("quantile q", lambda t, q: t.quantile(q, 0), (5,), [0.3125, 0.8125], order=1)
    T("percentile", lambda t: t.quantile(torch.tensor([0.3, 0.8]), 0), (5, 2), order=1)


def indexing():
    i, j = torch.tensor([0, 2, 0]), torch.tensor([1, 0, 1])
    x, v = (3, 2), (3,)
    T("index", lambda t: t[i, j], x)
    T("index_update", lambda t, v: t.index_put((torch.tensor([0, 2, 1]), j), v), x, v)
    T("index_add", lambda t, v: t.index_put((i, j), v, accumulate=True), x, v)
    flat = i * 2 + j
    for name, how in {"multiply": "prod", "max": "amax", "min": "amin"}.items():
        T(f"index_{name}", lambda t, v: t.reshape(-1).scatter_reduce(0, flat, v, how).reshape(3, 2), x, v, order=1)
    T("slice_update", lambda t, v: t.slice_scatter(v, 0, 0, 2, 1), x, (2, 2))
    T("slice_add", lambda t, v: torch.cat([t[:2] + v, t[2:]]), x, (2, 2))
    along = torch.tensor([[0, 2], [1, 0]])
    T("put_along_axis", lambda t, v: t.scatter(0, along, v), x, (2, 2))
    T("scatter_add_along_axis", lambda t, v: t.scatter_add(0, torch.tensor([[0, 2], [0, 2]]), v), x, (2, 2))
    T("take_along_axis", lambda t: t.gather(0, along), x)
    for how, name in {"sum": "sum", "mean": "mean", "prod": "prod", "amax": "max", "amin": "min"}.items():
        for self in (True, False):
            T(f"scatter_reduce {name}{'' if self else ' alone'}", lambda t, v: t.scatter_reduce(0, torch.tensor([0, 2, 0]), v, how, include_self=self), v, [2.0, 3, 2],
              order=1, at_kink=True)
    T("scatter_reduce prod zeros", lambda t, v: t.scatter_reduce(0, torch.tensor([0, 0, 1]), v, "prod"), [0.0, 2, 3], [2.0, 0, 0], order=1, at_kink=True)
    T("take", lambda t: t.take(torch.tensor([5, 0, 0])), x)
    T("put", lambda t, v: t.put(torch.tensor([5, 0, 1]), v), x, v)
    T("masked_fill", lambda t, m: t.masked_fill(m, 7), [nan, 2.0, 3], [True, False, True], at_kink=True)
    T("masked_scatter", lambda t, m, v: t.masked_scatter(m, v), [1.0, 2, 3], [True, False, True], v)
    T("select", lambda c, d, a, b: torch.where(c, a, torch.where(d, b, torch.zeros(3))), [True, False, False], [True, True, False], v, v)
    T("boolean_mask", lambda t, m: t[m], x, [True, False, True])
    T("compress", lambda t: t[:, [1]], x)
    T("embedding", lambda t: F.embedding(torch.tensor([2, 0, 2, 1]), t, padding_idx=1), x)
    T("bincount", lambda w: torch.zeros(4).index_add(0, torch.tensor([0, 2, 2]), w), v)
    ids = torch.tensor([0, 2, 0, 2, 0])
    T("segment_sum", lambda t: torch.zeros(4).index_add(0, ids, t), (5,))
    for name, how in {"mean": "mean", "prod": "prod"}.items():
        T(f"segment_{name}", lambda t: torch.zeros(3).scatter_reduce(0, ids, t, how, include_self=False)[[0, 2]], (5,), order=1)
    for name, how in {"max": "amax", "min": "amin"}.items():
        T(f"segment_{name}", lambda t: torch.zeros(3).scatter_reduce(0, ids, t, how, include_self=False)[[0, 2]], [2.0, 1, 2, -1, 2], order=1, at_kink=True)
    T("segment_prod/zeros", lambda t: torch.stack([t[0] * t[2] * t[4], t[1] * t[3]]), [0.0, 0, 2, 0, 3], at_kink=True)
    bags = lambda mode: lambda t: F.embedding_bag(torch.tensor([2, 0, 2]), t, torch.tensor([0, 2]), mode=mode)
    T("sparse_segment_sum", bags("sum"), x)
    T("sparse_segment_mean", bags("mean"), x)


def arranging():
    x = (2, 3)
    T("diag_embed", lambda t: torch.diag_embed(t, 1), x)
    T("set_diagonal", lambda t, v: torch.diagonal_scatter(t, v, 1), (3, 3), (2,))
    T("band_part", lambda t: t.triu(-1).tril(1), (4, 4))
    T("block_diag", torch.block_diag, (2, 2), (1, 3))
    T("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="xy"), (2,), (3,))
    T("toeplitz", lambda c, r: torch.stack([torch.stack([c[i - j] if i >= j else r[j - i] for j in range(3)]) for i in range(3)]), (3,), (3,))
    T("circulant", lambda c: torch.stack([c.roll(j) for j in range(3)], 1), (3,))
    T("hankel", lambda c, r: torch.stack([torch.cat([c, r[1:]])[i:i + 3] for i in range(3)]), (3,), (3,))
    T("vander", lambda t: torch.stack([t ** k for k in (3, 2, 1, 0)], -1), (3,))  # torch.vander has no second derivative
    T("linspace", lambda a, b: a + (b - a) * torch.linspace(0, 1, 4), (), ())
    T("rot90", lambda t: torch.rot90(t, 1), x)
    T("hstack", lambda a, b: torch.hstack([a, b]), x, x)
    T("vstack", lambda a, b: torch.vstack([a, b]), (3,), (3,))
    T("dstack", lambda a, b: torch.dstack([a, b]), (3,), (3,))
    T("column_stack", lambda a, b: torch.column_stack([a, b]), (3,), (3,))
    T("array_split", lambda t: torch.tensor_split(t, 2, 1), x)
    T("repeat", lambda t: t.repeat_interleave(torch.tensor([2, 0, 1]), 1), x)
    T("roll", lambda t: t.roll(2, 1), x)
    T("tile", lambda t: t.tile(2, 2), (2, 2))
    T("flip", lambda t: t.flip(0), x)
    T("reverse_sequence", lambda t: torch.stack([t[0].flip(0), torch.cat([t[1, :2].flip(0), t[1, 2:]])]), x)
    for mode, how in {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}.items():
        T(f"pad {mode}", lambda t: F.pad(t[None, None], (2, 1, 1, 1), mode=how)[0, 0], (3, 3))
    place = torch.tensor(numpy.pad(numpy.arange(6).reshape(2, 3), ((2, 1), (1, 2)), mode="symmetric"))
    T("pad symmetric", lambda t: t.reshape(-1)[place], x)
    T("sliding_window", lambda t: t.unfold(-1, 2, 1), (2, 4))
    T("overlap_add", lambda t: torch.cat([t[0, :1], t[0, 1:] + t[1, :1], t[1, 1:]]), (2, 2))
    T("pixel_shuffle", lambda t: F.pixel_shuffle(t, 2), (4, 1, 2))
    T("pixel_unshuffle", lambda t: F.pixel_unshuffle(t, 2), (1, 2, 4))
    T("channel_shuffle", lambda t: t.reshape(2, 2, 1, 2).transpose(0, 1).reshape(4, 1, 2), (4, 1, 2))
    T("glu", lambda t: F.glu(t, -1), (2, 4))
    T("ldexp", lambda t: torch.ldexp(t, torch.tensor([3, -2])), (2,))


def plain():
    """What has few ways to be wrong: names, axes and orders."""
    x, v = (2, 3), [1.5, -2.25, 4.0]
    for name in ("add", "subtract", "multiply", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor"):
        T(name, getattr(torch, "eq" if name == "equal" else name), [1.0, 0, nan], [2.0, 0, 1], order=1, at_kink=True)
    T("negative", torch.neg, x)
    T("squared_difference", lambda a, b: (a - b) ** 2, x, x)
    T("xdivy", torch.div, v, [0.5, 2.0, -4])
    T("floor_divide", lambda a, b: torch.div(a, b, rounding_mode="floor"), v, [0.5, 2.0, -4], at_kink=True)
    T("ceil", torch.ceil, v, at_kink=True)
    for name in ("isnan", "isinf", "isfinite", "logical_not"):
        T(name, getattr(torch, name), [1.0, nan, inf, 0], order=0)
    for name in ("argmax", "argmin"):
        N(name, lambda t: getattr(numpy, name)(t, 1), [[1.0, 3, 3], [1, nan, 0]])
    for name in ("any", "all"):
        N(name, lambda t: getattr(numpy, name)(t, 1), [[True, False], [True, True], [False, False]])
    T("transpose", lambda t: t.permute(2, 0, 1), (1, 2, 3))
    T("moveaxis", lambda t: t.moveaxis(0, 2), (1, 2, 3))
    T("squeeze", lambda t: t.squeeze(0), (1, 3))
    T("expand_dims", lambda t: t.unsqueeze(1), (3,))
    T("broadcast_to", lambda t: t.expand(2, 3), (3,))
    T("concatenate", lambda a, b: torch.cat([a, b], 1), x, (2, 1))
    T("stack", lambda a, b: torch.stack([a, b], 1), (3,), (3,))
    T("split", lambda t: t.split(1, 0), x)
    T("split_sizes", lambda t: t.split([1, 2], 1), x)
    T("unstack", lambda t: t.unbind(1), x)
    T("gather", lambda t: t[:, torch.tensor([2, 0, 2])], x)
    T("slice", lambda t: t[:, 0::2], x)
    T("scatter_add", lambda t, u: t.index_add(0, torch.tensor([1, 1]), u), x, x)
    for name in ("diag", "diagonal", "tril", "triu", "trace"):
        T(name, getattr(torch, name), (3, 3))
    T("one_hot", lambda: F.one_hot(torch.tensor([2, 0]), 3), order=0)
    T("matrix_transpose", lambda t: t.mT, x)
    T("unflatten", lambda t: t.unflatten(0, (2, 2)), (4,))
    T("flatten", torch.flatten, x)
    T("atleast_3d", torch.atleast_3d, x)
    T("block", lambda a, b: torch.cat([torch.cat([a, b], 1), torch.cat([b, a], 1)]), (2, 2), (2, 2))
    for name in ("hsplit", "vsplit"):
        T(name, lambda t: getattr(torch, name)(t, 2), (2, 2))
    T("choose", lambda a, b: torch.stack([a[0], b[1], a[2]]), (3,), (3,))
    T("piecewise", lambda t: torch.where(t < 0, t * t, 3 * t), (4,))
    N("nonzero", numpy.nonzero, [[0.0, 2], [3, nan]])
    T("sparse_segment_sqrt_n", lambda t: torch.stack([(t[2] + t[0]) / 2 ** 0.5, t[2]]), (3, 2))
    for name in ("and", "or", "xor"):
        T(f"bitwise_{name}", getattr(torch, f"bitwise_{name}"), [12, -7, 255], [10, 3, -1])
    T("left_shift", torch.bitwise_left_shift, [3, -1], [2, 5])
    T("right_shift", torch.bitwise_right_shift, [13, -9], [2, 1])
    T("frexp", lambda t: torch.frexp(t), [0.3, -6.5], order=0)
    gaps = [[nan, 2.0, 4], [1.5, nan, -3], [0.5, 7, 1]]
    there = lambda t: [t[:, i][~torch.isnan(t[:, i])] for i in range(3)]
    for name, f in {"nanprod": torch.prod, "nanmax": torch.max, "nanmin": torch.min, "nanvar": lambda t: t.var(unbiased=False), "nanstd": lambda t: t.std(unbiased=False)}.items():
        T(name, lambda t: torch.stack([f(c) for c in there(t)]), gaps, at_kink=True)
    T("partition", lambda t: t.sort()[0][1], (5,))
    T("isotonic_regression", lambda t: torch.stack([t[0], (t[1] + t[2]) / 2, (t[1] + t[2]) / 2, t[3]]), [1.0, 3, 2, 5])
    T("space_to_batch", lambda t: torch.stack([t[0, 0::2], t[0, 1::2]]), (1, 4))
    T("batch_to_space", lambda t: torch.stack([t[0], t[1]], 1).reshape(1, 4), (2, 2))


def add():
    plain()
    smooth()
    kinks()
    complex_forms()
    reductions()
    statistics()
    indexing()
    arranging()
