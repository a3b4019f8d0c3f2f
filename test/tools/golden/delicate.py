"""Points at which peers differ or fail, with what the definition, or the choice that the headers state, gives there."""
import numpy
import scipy.special
import torch
from record import E, M, N, T, cplx, mp, positive, stated, weights

nan, inf = float("nan"), float("inf")


def special():
    zero = [0.0]
    E("i0", lambda x: mp.besseli(0, x), zero)
    E("i1", lambda x: mp.besseli(1, x), zero)  # TensorFlow's derivative is 1
    E("j1", lambda x: mp.besselj(1, x), zero)
    E("jn", lambda x: mp.besselj(3, x), [0.0, 2.5])
    E("sinc", mp.sincpi, [0.0, 2.0 ** -10])
    E("spence", lambda x: mp.polylog(2, 1 - x).real, [1.0])
    E("logit", lambda x: mp.log(x / (1 - x)), [0.5, 2.0 ** -60])
    E("erfcinv", lambda x: erfcinv(x), [1.0, 1.5, 2.0 ** -30])
    far = erfcinv(mp.mpf(1e-300))
    stated("erfcinv/far out", [1e-300], y0=[float(far)], g0=[-weights(1, 0)[0] * float(mp.sqrt(mp.pi) / 2 * mp.exp(far * far))])
    E("sinint", mp.si, zero)
    E("ellipk", mp.ellipk, zero)
    E("rgamma", mp.rgamma, [0.0, -1.0, -3.0])
    E("log1mexp", lambda x: mp.log(-mp.expm1(-x)), [2.0 ** -60, 700.0])
    E("kv", mp.besselk, [0.0, 2.0], [0.375, 30.0])
    E("iv", mp.besseli, [0.0, 3.0], [0.375, 30.0])
    E("expn", lambda x: mp.expint(0, x), [0.375, 3.0])
    E("betaln", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), [1e12, 2.0 ** -30], [0.75, 1e6])
    N("gammainc/large", scipy.special.gammainc, [900.0, 1e4], [910.0, 1.01e4])
    E("gammainc/near", lambda a, x: mp.gammainc(a, 0, x, regularized=True), [60.0, 200.0], [61.0, 190.0])
    stated("lambertw/branch point", [-1 / numpy.e], y0=[-1], g0=[-inf])
    stated("ellipk/one", [1.0], y0=[inf])
    stated("ndtri/ends", [0.0, 1], y0=[-inf, inf], g0=[-inf, inf])
    stated("erfinv/ends", [-1.0, 1], y0=[-inf, inf], g0=[-inf, inf])
    stated("gammainc/zero", [0.5, 1.0], [0.0, 0], y0=[0, 0], g1=[-inf, weights(2, 0)[1]])
    stated("i0e/kink", zero, y0=[1], g0=[0])
    stated("entr/zero", [0.0, -1], y0=[0, -inf], g0=[-inf, 0])
    stated("xlogy/zeros", [0.0, 0], [0.0, 2], y0=[0, 0], g0=[0, weights(2, 0)[1] * numpy.log(2)], g1=[0, 0])


def erfcinv(x):
    start = mp.mpf(float(scipy.special.erfcinv(float(x))))
    return mp.findroot(lambda z: (mp.erfc(z) - x) / x, start, tol=1e-190, maxsteps=100)


def pointwise():
    w = lambda slopes: list(weights(len(slopes), 0) * slopes)
    stated("hard_swish", [-3.0, 3], y0=[0, 3], g0=w([0, 1]))
    stated("relu6", [0.0, 6], y0=[0, 6], g0=w([0, 0]), h0=[0, 0])
    stated("hard_sigmoid", [-3.0, 3], y0=[0, 1], g0=w([0, 0]))
    stated("copysign", [0.0, -0.0], [-1.0, 1], y0=[-0.0, 0], g0=[0, 0], g1=[0, 0])
    stated("divide_no_nan", [1.0, 0], [0.0, 0], y0=[0, 0], g0=[0, 0], g1=[0, 0])
    stated("multiply_no_nan", [inf, nan], [0.0, 0], y0=[0, 0], g0=[0, 0])
    stated("sqrt", [0.0], y0=[0], g0=[-inf])
    stated("power", [0.0, 0.0, -2.0], [2.0, 0, 3], y0=[0, 1, -8], g0=w([0, 0, 12]))
    stated("maximum", [2.0], [2.0], y0=[2], g0=w([0.5]), g1=w([0.5]))
    stated("abs", [0.0], y0=[0], g0=[0])
    stated("cbrt", [-8.0], y0=[-2], g0=w([1 / 12]))
    stated("log_sigmoid", [-1000.0, 1000], y0=[-1000, -0.0], g0=w([1, 0]))
    stated("logaddexp", [-inf, 3.0], [-inf, -inf], y0=[-inf, 3])
    # Branch cuts: the sign of a zero selects the side, and a neighbour on the other side says nothing about rounding.
    for name in ("log", "sqrt", "arcsin", "arccos", "arctanh", "arccosh", "log1p"):
        x = numpy.array([complex(-2, 0.0), complex(-2, -0.0), complex(2, 0.0), complex(2, -0.0)])
        N(f"{name}/cut", getattr(numpy, name), x, at_kink=True)
    for name in ("arctan", "arcsinh"):
        N(f"{name}/cut", getattr(numpy, name), numpy.array([complex(0.0, 2), complex(-0.0, 2), complex(0.0, -2), complex(-0.0, -2)]), at_kink=True)


def arrays():
    T("index_multiply", lambda t, v: torch.stack([t[0] * v[0] * v[2], t[1], t[2] * v[1]]), [0.0, 2, 3], [0.0, 5, 7], at_kink=True)
    stated("segment_mean", [1.0, 3], y0=[2, 0], g0=[weights(2, 0)[0] / 2] * 2)  # the second segment has nothing
    stated("segment_prod", [2.0, 3], y0=[6, 1], g0=[weights(2, 0)[0] * 3, weights(2, 0)[0] * 2])
    stated("segment_max", [1.0, 3], y0=[3, -inf], g0=[0, weights(2, 0)[0]])
    N("sort", numpy.sort, [nan, 2.0, -inf, 1, nan, inf])
    N("argsort", lambda t: numpy.argsort(t, kind="stable"), [nan, 2.0, -0.0, 0.0, nan, inf])
    N("median", lambda t: numpy.median(t), [nan, 1.0, 2])
    stated("cummax", [1.0, nan, 3], y0=[1, nan, nan])
    stated("masked_softmax", [[1.0, 2]], [[False, False]], y0=[0, 0], g0=[0, 0])
    stated("nanmean", [nan, nan], y0=[nan], g0=[0, 0])
    stated("cosine_similarity", [0.0, 0], [1.0, 2], y0=[0], g0=[0, 0], g1=[0, 0])
    stated("l2_normalize", [0.0, 0], y0=[0, 0], g0=[0, 0])
    stated("lp_pool1d", [[[0.0, 0]]], y0=[0], g0=[0, 0])
    stated("norm", [0.0, 0], y0=[0], g0=[0, 0])
    stated("ctc_loss", [[[-1.0, -1]]], y0=[inf], g0=[0, 0])  # two labels in one step
    stated("norm_logpdf", [inf], y0=[-inf])
    stated("expon_logpdf", [-1.0], y0=[-inf], g0=[0])
    stated("gamma_logpdf", [-1.0], [2.0], y0=[-inf], g0=[0], g1=[0])
    stated("interp", [0.0, 1, 2, -1, 3], y0=[0, 1, 3, 0, 3], g0=list(weights(5, 0) * [1, 2, 2, 0, 0]))  # of 0, 1, 3 at 0, 1, 2
    stated("unwrap", [0.0, numpy.pi], y0=[0, numpy.pi])
    stated("corrcoef", [[1.0, 1], [1, 2]], y0=[nan, nan, nan, 1])


def matrices():
    eye = numpy.eye(2)
    # Of three eigenvalues two are equal, but only the vector of the third is used.
    stated("eigh last vector", numpy.diag([2.0, 2, 5]), y0=[0, 0, 1], g0=[0] * 9)
    T("svdvals sum of squares", lambda a: a.square().sum(), 3 * eye, order=1)
    T("eigvalsh sum of squares", lambda a: (a + a.T).square().sum() / 4, 2 * eye, order=1)
    stated("matrix_norm nuclear", numpy.zeros((2, 2)), y0=[0], g0=[0] * 4)
    stated("matrix_norm spectral", 3 * eye, y0=[3], g0=list(weights(1, 0)[0] * numpy.array([0.5, 0, 0, 0.5])))
    stated("det", numpy.zeros((2, 2)), y0=[0], g0=[0] * 4)
    stated("slogdet", numpy.zeros((2, 2)), y0=[0], y1=[-inf])
    T("expm", torch.matrix_exp, [[0.0, 1], [0, 0]])
    T("logm", lambda a: 0.5 * ((a - torch.eye(2)) * 2 - (a - torch.eye(2)) @ (a - torch.eye(2))), eye)  # to second order
    T("sqrtm", lambda a: torch.eye(2) + (a - torch.eye(2)) / 2 - (a - torch.eye(2)) @ (a - torch.eye(2)) / 8, eye)
    T("lstsq of rank one", lambda b: torch.tensor([[0.5, 0.5]]).T @ torch.tensor([[0.5, 0.5]]) @ b, (2,))


def add():
    special()
    pointwise()
    arrays()
    matrices()
