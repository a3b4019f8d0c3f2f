"""Interpolation, integrals, equations, differential equations, rotations and special functions."""
import numpy
import scipy.integrate
import scipy.interpolate
import scipy.special
import scipy.spatial.transform
import torch
from record import Draw, E, L, M, N, T, cplx, mp, positive

KNOTS = [0.0, 0.5, 2, 3, 4.5]


def interpolation():
    points = numpy.array([0.25, 1.5, 4.0])
    cell = lambda x: torch.tensor([0, 1, 3])

    def interp(x, k, f):
        i = cell(x)
        return f[i] + (x - k[i]) * (f[i + 1] - f[i]) / (k[i + 1] - k[i])

    T("interp", interp, points, KNOTS, (5,))

    def by_slopes(x, k, y, slopes):
        i = cell(x)
        h, t = k[i + 1] - k[i], (x - k[i]) / (k[i + 1] - k[i])
        return (y[i] * (1 + 2 * t) * (1 - t) ** 2 + h * slopes[i] * t * (1 - t) ** 2 + y[i + 1] * t * t * (3 - 2 * t) -
                h * slopes[i + 1] * t * t * (1 - t))

    def natural(x, k, y):
        h, d = k.diff(), y.diff() / k.diff()
        zero = torch.zeros(1)
        main = torch.cat([2 * h[:1], 2 * (h[1:] + h[:-1]), 2 * h[-1:]])
        a = torch.diag(main) + torch.diag(torch.cat([h[:1], h[:-1]]), 1) + torch.diag(torch.cat([h[1:], h[-1:]]), -1)
        right = torch.cat([3 * h[:1] * d[:1], 3 * (h[1:] * d[:-1] + h[:-1] * d[1:]), 3 * h[-1:] * d[-1:]])
        return by_slopes(x, k, y, torch.linalg.solve(a, right))

    def pchip(x, k, y):
        h, d = k.diff(), y.diff() / k.diff()
        inner = [(3 * (h[i] + h[i + 1])) / ((2 * h[i + 1] + h[i]) / d[i] + (h[i + 1] + 2 * h[i]) / d[i + 1]) if d[i] * d[i + 1] > 0 else 0 * d[i] for i in range(len(d) - 1)]

        def end(h0, h1, d0, d1):
            slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
            if slope * d0 <= 0:
                return 0 * slope
            return 3 * d0 if d0 * d1 <= 0 and abs(slope) > abs(3 * d0) else slope

        return by_slopes(x, k, y, torch.stack([end(h[0], h[1], d[0], d[1]), *inner, end(h[-1], h[-2], d[-1], d[-2])]))

    for name, made, mine in (("cubic_spline", lambda y: scipy.interpolate.CubicSpline(KNOTS, y, bc_type="natural"), natural),
                             ("pchip", lambda y: scipy.interpolate.PchipInterpolator(KNOTS, y), pchip)):
        for shape, y in {"": [1.0, 3, 2.5, 2, 5], "/rising": [1.0, 1.5, 4, 4.25, 9]}.items():
            # The definition in PyTorch's operations is SciPy's.
            assert numpy.allclose(made(y)(points), mine(torch.tensor(points), torch.tensor(KNOTS), torch.tensor(y)), 1e-13, 1e-13)
            T(name + shape, mine, points, KNOTS, y)
    for name, made in (("akima", scipy.interpolate.Akima1DInterpolator), ("cubic_spline not a knot", scipy.interpolate.CubicSpline)):
        N(name, lambda x, y: numpy.stack([made(KNOTS, y)(x), made(KNOTS, y)(x, 1)]), points, [1.0, 3, 2.5, 2, 5])
    L("cubic_spline by values", lambda e: scipy.interpolate.CubicSpline(KNOTS, e)(points), (5,))


def integrals():
    N("simpson", lambda y, s: scipy.integrate.simpson(y, s), (5,), [0.0, 0.5, 2, 3, 4.5])
    L("simpson even", lambda e: scipy.integrate.simpson(e[:5]), (5,))
    nodes, node_weights = map(torch.tensor, numpy.polynomial.legendre.leggauss(6))
    T("fixed_quad", lambda p, a, b: (node_weights * torch.exp(p * ((b - a) / 2 * nodes + (a + b) / 2))).sum() * (b - a) / 2, (), (), ())
    # By the antiderivatives.
    M("quad", lambda p, a, b: [(mp.exp(p[0] * b[0]) - mp.exp(p[0] * a[0])) / p[0]], [0.75], [-0.5], [2.0])
    M("quad infinite", lambda p: [mp.sqrt(mp.pi / p[0])], [0.75])
    M("quad half infinite", lambda p: [1 / p[0] ** 2], [1.5])


def equations():
    M("root", lambda a, b: [mp.findroot(lambda x: x ** 3 + a[0] * x + b[0], -0.5, tol=1e-200)], [1.5], [0.75])
    for name in ("root kepler", "bracketed_root kepler"):
        M(name, lambda e, m: [mp.findroot(lambda x: x - e[0] * mp.sin(x) - m[0], m[0], tol=1e-200)], [0.875], [0.5])
    M("fixed_point", lambda a: [mp.findroot(lambda x: mp.cos(a[0] * x) - x, 0.8, tol=1e-200)], [0.75])
    M("minimum", lambda a, b: [mp.findroot(lambda x: a[0] * mp.exp(x) + 2 * x - b[0], 0.5, tol=1e-200)], [1.25], [3.0])
    T("odeint", lambda a, y: torch.stack([torch.matrix_exp(t * a) @ y for t in (0.0, 0.5, 1.25)]), [[-0.5, 1.0], [-2.0, 0.25]], [1.0, -0.5])
    T("odeint stiff", lambda a, y: torch.stack([torch.matrix_exp(t * a) @ y for t in (0.0, 0.5, 1.25)]), [[-40.0, 1.0], [0.0, -0.5]], [1.0, -0.5])


def rotations():
    def hat(w):
        zero = w[0] * 0
        return torch.stack([torch.stack([zero, -w[2], w[1]]), torch.stack([w[2], zero, -w[0]]), torch.stack([-w[1], w[0], zero])])

    def twist(x):
        return torch.cat([torch.cat([hat(x[3:]), x[:3, None]], 1), torch.zeros(1, 4)])

    def rotate(q, v):
        u = q / torch.linalg.vector_norm(q)
        t = 2 * torch.linalg.cross(u[1:], v)
        return v + u[0] * t + torch.linalg.cross(u[1:], t)

    def product(p, q):
        return torch.cat([(p[0] * q[0] - p[1:] @ q[1:])[None], p[0] * q[1:] + q[0] * p[1:] + torch.linalg.cross(p[1:], q[1:])])

    def matrix(q):
        return torch.stack([rotate(q, e) for e in torch.eye(3)], 1)

    half_turn = numpy.array([2.0, -1, 2]) / 3 * numpy.pi
    points = {"": [0.5, -0.25, 1.0], "/identity": [0.0, 0, 0], "/near identity": [2.0 ** -20, 0, -(2.0 ** -22)], "/half turn": half_turn}
    for name, w in points.items():
        T(f"so3_exp{name}", lambda w: torch.matrix_exp(hat(w)), w)
        T(f"so3_log{name}", lambda w: w * 1, w if name != "/half turn" else half_turn * (1 - 2.0 ** -10))  # of so3_exp
        T(f"se3_exp{name}", lambda x: torch.matrix_exp(twist(x)), numpy.concatenate([[0.5, 2, -1], w]))
        T(f"se3_log{name}", lambda x: x * 1, numpy.concatenate([[0.5, 2, -1], w if name != "/half turn" else half_turn * (1 - 2.0 ** -10)]))  # of se3_exp
    N("so3_log scipy", lambda r: scipy.spatial.transform.Rotation.from_matrix(r).as_rotvec(), [[0.0, -1, 0], [0, 0, -1], [1, 0, 0]])
    T("quaternion_multiply", product, (4,), (4,))
    T("quaternion_rotate", rotate, (4,), (3,))
    T("quaternion_to_matrix", matrix, (4,))
    N("quaternion_to_matrix/scipy", lambda q: scipy.spatial.transform.Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix(), (4,))
    T("matrix_to_quaternion", lambda q: q / torch.linalg.vector_norm(q), [1.0, -0.25, 0.5, 0.75])  # of quaternion_to_matrix
    T("matrix_to_quaternion/x largest", lambda q: q / torch.linalg.vector_norm(q), [0.125, 2.0, 0.5, 0.75])


def special():
    x = [0.375, 2.5, 9.0]
    a = [0.5, 3.0, 7.25]
    one = {"gamma": (mp.gamma, x), "rgamma": (mp.rgamma, [-2.0, 0.375, 9.0]), "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), [0.375, 2.5, 40.0]),
           "exp1": (mp.e1, x), "expint": (mp.ei, x), "sinint": (mp.si, x), "cosint": (mp.ci, x), "fresnel_sin": (mp.fresnels, [0.375, 2.5, 8.6875]), "fresnel_cos": (mp.fresnelc, [0.375, 2.5, 8.6875]),
           "spence": (lambda x: mp.polylog(2, 1 - x).real, [0.375, 1.5, 1.9375]), "zeta": (mp.zeta, [-3.5, 0.5, 4.0]), "lambertw": (lambda x: mp.lambertw(x).real, [-0.34375, 0.375, 50.0]),
           "ellipk": (mp.ellipk, [-3.0, 0.375, 0.96875]), "ellipe": (mp.ellipe, [-3.0, 0.375, 0.96875]), "airy_ai": (mp.airyai, [-4.5, 0.375, 6.0]), "airy_bi": (mp.airybi, [-4.5, 0.375, 6.0])}
    for name, (f, points) in one.items():
        E(name, f, points)
    for name, f in {"j": mp.besselj, "y": mp.bessely, "i": mp.besseli, "k": mp.besselk}.items():
        for order in (0, 1):
            E(f"{name}{order}", lambda x: f(order, x), x)
        E(f"{name}v", f, a, x)
    E("zeta hurwitz", mp.zeta, [1.5, 3.0, 7.25], x)
    E("betaln", lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), a, [0.75, 1e6, 2.5])
    E("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), a, [0.375, 2.5, 9.0])
    E("gammaincc", lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), a, [0.375, 2.5, 30.0])
    E("ellipkinc", mp.ellipf, [0.5, 1.0, 0.25], [0.375, -2.0, 0.875])
    for name, f in {"erf": scipy.special.erf, "erfcx": scipy.special.erfcx, "ndtri": scipy.special.ndtri, "log_ndtr": scipy.special.log_ndtr}.items():
        N(f"{name}/scipy", f, [0.03125, 0.3125, 0.75])
    for name in ("gammaincinv", "gammainccinv"):
        N(name, getattr(scipy.special, name), a, [0.03125, 0.5, 0.96875])
    N("betaincinv", scipy.special.betaincinv, a, [0.75, 2.0, 2.5], [0.03125, 0.5, 0.96875])


def add():
    interpolation()
    integrals()
    equations()
    rotations()
    special()
