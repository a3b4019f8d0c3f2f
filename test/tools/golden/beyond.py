"""Derivatives that no other library has, or has right, by mpmath, with what the others answer. They are asked here; of
libraries that are not, the sources of 2026 were read: JAX, TensorFlow, HIPS autograd and MLX."""
import numpy
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats
import torch
import torch.distributions as D
import torch.nn.functional as F
from record import E, M, T, directions, lacks, mp, numbers, peer, positive, weights

inf = float("inf")
# gammainc(1.5, z) of the first sample z of gamma_rvs(Generator(7), {1}, 1.5).
PROBABILITY = 0.4373078045330772
# vonmises_cdf(0.5, z) of the first sample z of vonmises_rvs(Generator(7), {1}, 0.5).
ANGLE = 0.95328690024136631


def gradient(f, *x):
    x = [torch.tensor(a, requires_grad=True) for a in x]
    y = f(*x)
    return torch.autograd.grad((torch.tensor(weights(y.numel(), 0)).reshape(y.shape) * y).sum(), x, create_graph=True)


def first(f, *x, of=0):
    return lambda: gradient(f, *x)[of].detach().numpy()


def whole_second(f, x):
    t = torch.tensor(x, requires_grad=True)
    g = gradient_of(f, t)
    return torch.autograd.grad((g * torch.tensor(directions(len(x), 0))).sum(), t)[0].numpy()


def gradient_of(f, t):
    return torch.autograd.grad((f(t) * torch.tensor(weights(t.numel(), 0))).sum(), t, create_graph=True)[0]


def second(f, *x):
    def asked():
        t = [torch.tensor(a, requires_grad=True) for a in x]
        g = torch.autograd.grad(f(*t).sum(), t, create_graph=True)
        return torch.autograd.grad(sum(a.sum() for a in g), t)[0].numpy()

    return asked


def matrices():
    rotation = numpy.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3.0
    by_eigh = lambda a: (lambda w, v: (v * w.exp()) @ v.T)(*torch.linalg.eigh((a + a.T) / 2))
    for name, w in {"repeated": [2.0, 2, 5], "identity": [1.0, 1, 1]}.items():
        a = numpy.diag(w)
        T(f"symmetric_function/{name}", lambda a: torch.matrix_exp((a + a.T) / 2), a)
        peer("torch", "g0", first(by_eigh, a))
        lacks("jax", "g0", "NaN of eigh: 0 times infinity in F")
        lacks("tensorflow", "g0", "0 in place of the part of equal eigenvalues: x / (x^2 + 1e-20)")
    def logarithm(a):
        """By Sylvester's formula, for two eigenvalues."""
        trace, root = a[0] + a[3], mp.sqrt((a[0] - a[3]) ** 2 + 4 * a[1] * a[2])
        w = [(trace + root) / 2, (trace - root) / 2]
        slope = (mp.log(w[0]) - mp.log(w[1])) / root
        one = [mp.log(w[0]) - slope * w[0], 0, 0, mp.log(w[0]) - slope * w[0]]
        return [i + slope * e for i, e in zip(one, a)]

    M("logm", logarithm, [[4.0, 1], [0.5, 3]])
    peer("torch", "logm", lambda: torch.linalg.logm(torch.eye(2)))
    lacks("tensorflow", "logm", "a registered gradient")


def special():
    a, b, x = [0.5, 3.0, 7.25], [0.75, 2.0, 2.5], [0.375, 0.75, 0.5]
    regular = lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True)
    E("betainc", regular, a, b, x)
    peer("torch", "betainc", lambda: torch.special.betainc(torch.ones(1)))
    peer("scipy", "betainc", lambda: scipy.special.betainc(torch.ones(1, requires_grad=True), 1.0, 0.5))
    lacks("jax", "betainc", "derivatives by a and b: ValueError")
    lacks("tensorflow", "betainc", "gradients of a and b: None")
    E("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), a, [0.375, 2.5, 9.0])
    peer("torch", "gammainc", first(torch.special.gammainc, a, [0.375, 2.5, 9.0]))
    lacks("jax", "gammainc", "second derivatives by a: no rule of igamma_grad_a")
    lacks("tensorflow", "gammainc", "second derivatives by a: no rule of igamma_grad_a")
    E("gammaincinv", lambda a, p: quantile(a, p), [1.5, 3.0], [0.25, 0.9375])
    peer("torch", "gammaincinv", lambda: torch.special.gammaincinv(torch.ones(1)))
    peer("scipy", "gammaincinv", lambda: scipy.special.gammaincinv(torch.ones(1, requires_grad=True), 0.5))
    E("betaincinv", lambda a, b, p: mp.findroot(lambda t: regular(a, b, t) - p, (mp.mpf("0.4"), mp.mpf("0.6")), tol=1e-190, maxsteps=200), [1.5, 3.0], [2.0, 2.5], [0.25, 0.75])
    peer("torch", "betaincinv", lambda: torch.special.betaincinv(torch.ones(1)))
    peer("scipy", "betaincinv", lambda: scipy.special.betaincinv(torch.ones(1, requires_grad=True), 1.0, 0.5))
    for name, f in {"kv": mp.besselk, "iv": mp.besseli}.items():
        E(name, f, [0.5, 1.0, 2.75], [0.375, 2.5, 9.0])
        peer("torch", name, lambda: getattr(torch.special, name)(torch.ones(1)))
        peer("scipy", name, lambda: getattr(scipy.special, name)(torch.ones(1, requires_grad=True), 1.0))
        lacks("autograd", name, "the derivative by the order")
    E("lambertw", lambda x: mp.lambertw(x).real, [-0.3359375, 0.375, 50.0])
    peer("torch", "lambertw", lambda: torch.special.lambertw(torch.ones(1)))
    E("lambertw lower", lambda x: mp.lambertw(x, -1).real, [-0.3359375, -0.0625])
    peer("scipy", "lambertw", lambda: scipy.special.lambertw(torch.ones(1, requires_grad=True)))
    E("j0", lambda x: mp.besselj(0, x), [0.375, 2.5, 30.0])
    peer("torch", "j0", first(torch.special.bessel_j0, [0.375, 2.5, 30.0]))
    E("airy_ai", mp.airyai, [-4.5, 0.375, 6.0])
    peer("torch", "airy_ai", first(torch.special.airy_ai, [-4.5, 0.375, 6.0]))
    E("zeta hurwitz", mp.zeta, [1.5, 3.0], [0.375, 2.5])
    peer("torch", "zeta", first(torch.special.zeta, [1.5, 3.0], [0.375, 2.5]))
    # The rule 2 x z - 2 / sqrt(pi) cancels.
    points = [1e4, 1e6]
    E("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), points)
    peer("torch", "g0", first(torch.special.erfcx, points))
    points = [-1000.0, -40.0]
    E("log_ndtr", lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), points)
    # The second derivative -z (x + z), z the first, is -1 + 3 / x^2 and more: its difference cancels.
    peer("torch", "h0", lambda: whole_second(torch.special.log_ndtr, points))
    E("sinc", mp.sincpi, [0.0])
    peer("torch", "h0", lambda: whole_second(torch.sinc, [0.0]))
    points = [-2.0, 0, 2]
    T("hard_sigmoid", lambda x: (x + 3).clamp(0, 6) / 6, points)
    peer("torch", "g0", first(F.hardsigmoid, points))  # with 1 / 6 in float32


def quantile(a, p):
    start = mp.mpf(float(scipy.special.gammaincinv(float(a), float(p))))
    return mp.findroot(lambda z: mp.gammainc(a, 0, z, regularized=True) - p, start, tol=1e-190, maxsteps=200)


def samples_and_distances():
    M("gamma samples", lambda a: [quantile(a[0], mp.mpf(PROBABILITY))], [1.5])
    peer("torch", "second", second(lambda a: D.Gamma(a, torch.ones(1)).rsample(), [1.5]))
    lacks("jax", "second", "a rule of random_gamma_grad")

    def cdist(x, y):
        power = lambda i, j: mp.cbrt(mp.fsum(abs(x[2 * i + k] - y[2 * j + k]) ** 3 for k in range(2)))
        return [power(i, j) for i in range(2) for j in range(2)]

    M("cdist", cdist, (2, 2), (2, 2))
    draw = numbers("cdist")
    x, y = draw((2, 2)), draw((2, 2))
    peer("torch", "second", second(lambda x, y: torch.cdist(x, y, 3.0), x, y))


def curves_and_filters():
    knots, y, points = [0.0, 0.5, 2, 3, 4.5], [1.0, 3, 2.5, 2, 5], [0.25, 1.5, 4.0]
    place = lambda x: 0 if x < 0.5 else 1 if x < 2 else 2 if x < 3 else 3

    def piece(x, k, y, slopes):
        out = []
        for p in x:
            i = place(p)
            h, t = k[i + 1] - k[i], (p - k[i]) / (k[i + 1] - k[i])
            out.append(y[i] * (1 + 2 * t) * (1 - t) ** 2 + h * slopes[i] * t * (1 - t) ** 2 + y[i + 1] * t * t * (3 - 2 * t) - h * slopes[i + 1] * t * t * (1 - t))
        return out

    def not_a_knot(x, k, y):
        h = [k[i + 1] - k[i] for i in range(4)]
        d = [(y[i + 1] - y[i]) / h[i] for i in range(4)]
        a, right = mp.matrix(5, 5), mp.matrix(5, 1)
        # The third derivatives (s[i] + s[i+1] - 2 d[i]) / h[i]^2 are equal at the second and at the last knot but one.
        for row, (p, q) in ((0, (0, 1)), (4, (2, 3))):
            for i, sign in ((p, 1), (q, -1)):
                for j in (i, i + 1):
                    a[row, j] += sign / h[i] ** 2
                right[row] += sign * 2 * d[i] / h[i] ** 2
        for i in (1, 2, 3):
            a[i, i - 1], a[i, i], a[i, i + 1] = h[i], 2 * (h[i] + h[i - 1]), h[i - 1]
            right[i] = 3 * (h[i] * d[i - 1] + h[i - 1] * d[i])
        return piece(x, k, y, list(mp.lu_solve(a, right)))

    def pchip(x, k, y):
        h = [k[i + 1] - k[i] for i in range(4)]
        d = [(y[i + 1] - y[i]) / h[i] for i in range(4)]
        s = [(3 * (h[i] + h[i + 1])) / ((2 * h[i + 1] + h[i]) / d[i] + (h[i + 1] + 2 * h[i]) / d[i + 1]) if d[i] * d[i + 1] > 0 else mp.mpf(0) for i in range(3)]

        def end(h0, h1, d0, d1):
            slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
            return mp.mpf(0) if slope * d0 <= 0 else 3 * d0 if d0 * d1 <= 0 and abs(slope) > abs(3 * d0) else slope

        return piece(x, k, y, [end(h[0], h[1], d[0], d[1]), *s, end(h[3], h[2], d[3], d[2])])

    tensor = torch.tensor(y, requires_grad=True)
    for name, mine, made in (("cubic_spline", not_a_knot, scipy.interpolate.CubicSpline), ("pchip", pchip, scipy.interpolate.PchipInterpolator)):
        M(name, mine, points, knots, y)
        peer("scipy", name, lambda: made(knots, tensor)(points))
        peer("torch", name, lambda: getattr(torch, name)(tensor))
    M("quad", lambda p, a, b: [(mp.exp(p[0] * b[0]) - mp.exp(p[0] * a[0])) / p[0]], [0.75], [-0.5], [2.0])
    lacks("scipy", "quad", "a derivative: integrands and results are Python's numbers")
    peer("torch", "quad", lambda: torch.quad(tensor))

    def lfilter(b, a, x):
        y = []
        for i in range(len(x)):
            y.append((mp.fsum(b[k] * x[i - k] for k in range(len(b)) if i >= k) - mp.fsum(a[k] * y[i - k] for k in range(1, len(a)) if i >= k)) / a[0])
        return y

    M("lfilter", lfilter, (2,), [2.0, 0.5, -0.25], (5,))
    peer("scipy", "lfilter", lambda: scipy.signal.lfilter([1.0], torch.ones(2, requires_grad=True), [1.0, 2]))
    peer("torch", "lfilter", lambda: torch.lfilter(tensor))


def grids():
    """Second derivatives of positions, by hand: positions between elements of the first and second row."""
    draw = numbers("grid_sample")
    image, grid = draw((1, 1, 3, 4)), numpy.array([[[[-0.28125, -0.4375], [0.40625, -0.3125]]]])

    def taps(method, t):
        if method == "bilinear":
            return {0: 1 - t, 1: t}
        a = mp.mpf(-3) / 4
        near, far = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1, lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return {-1: far(1 + t), 0: near(t), 1: near(1 - t), 2: far(2 - t)}

    def sampled(method):
        def of(x, g):
            out = []
            for i in 0, 2:
                column, row = ((g[i] + 1) * 4 - 1) / 2, ((g[i + 1] + 1) * 3 - 1) / 2
                c, r = int(mp.floor(column)), int(mp.floor(row))
                assert r == 0
                out.append(mp.fsum(w * u * x[4 * (r + j) + c + k] for j, w in taps(method, row - r).items() for k, u in taps(method, column - c).items()
                                   if 0 <= r + j < 3 and 0 <= c + k < 4))
            return out

        return of

    for name, method in {"grid_sample": "bilinear", "grid_sample cubic": "bicubic"}.items():
        M(name, sampled(method), image, grid)
        peer("torch", "second", second(lambda x, g: F.grid_sample(x, g, method, align_corners=False), image, grid))
    lacks("tensorflow", "second", "grid_sample")
    M("embedding_bag", lambda t: [(t[4] + t[0]) / 2, (t[5] + t[1]) / 2, t[2], t[3]], (3, 2))
    bags = lambda t: F.embedding_bag(torch.tensor([[2, 0], [1, 1]]), t, mode="mean")
    peer("torch", "second", second(lambda t: bags(t).square(), numbers("embedding_bag")((3, 2))))

    def basis(x, k, j, degree):
        if degree == 0:
            return mp.mpf(k[j] <= x < k[j + 1])
        return (x - k[j]) / (k[j + degree] - k[j]) * basis(x, k, j, degree - 1) + (k[j + degree + 1] - x) / (k[j + degree + 1] - k[j + 1]) * basis(x, k, j + 1, degree - 1)

    knots, points = [-1.0, 0, 0.5, 2, 3, 4.5, 5, 6, 7, 8], [2.25, 3.0625, 4.625]
    M("b_spline", lambda x, k, c: [mp.fsum(c[j] * basis(p, k, j, 3) for j in range(6)) for p in x], points, knots, (6,))
    tensor = torch.ones(6, requires_grad=True)
    peer("scipy", "b_spline", lambda: scipy.interpolate.BSpline(knots, tensor, 3)(points))
    peer("torch", "b_spline", lambda: torch.b_spline(tensor))


def further():
    a, x = [0.5, 1.0, 2.75], [0.375, 2.5, 9.0]
    for name, f in {"jv": mp.besselj, "yv": mp.bessely}.items():
        E(name, f, a, x)
        peer("torch", name, lambda: getattr(torch.special, name)(torch.ones(1)))
        peer("scipy", name, lambda: getattr(scipy.special, name)(torch.ones(1, requires_grad=True), 1.0))
        lacks("autograd", name, "the derivative by the order")
    E("spherical_jn", lambda x: mp.sin(x) / x, [0.375, 2.5, 30.0])
    peer("torch", "spherical_jn", first(torch.special.spherical_bessel_j0, [0.375, 2.5, 30.0]))
    for name, f in {"ellipk": mp.ellipk, "ellipe": mp.ellipe}.items():
        E(name, f, [-3.0, 0.375, 0.96875])
        peer("torch", name, lambda: getattr(torch.special, name)(torch.ones(1)))
        peer("scipy", name, lambda: getattr(scipy.special, name)(torch.ones(1, requires_grad=True)))

    def generalised(a, b):
        """The roots of det(a - w b), for the lower triangles of a and b."""
        p, q, r = b[0] * b[3] - b[2] ** 2, 2 * a[2] * b[2] - a[0] * b[3] - a[3] * b[0], a[0] * a[3] - a[2] ** 2
        root = mp.sqrt(q * q - 4 * p * r)
        return [(-q - root) / (2 * p), (-q + root) / (2 * p)]

    b = torch.tensor([[2.0, 0.5], [0.5, 1]], requires_grad=True)
    M("eigh generalised", generalised, [[1.0, 0.25], [0.25, -0.5]], [[2.0, 0.5], [0.5, 1]])

    def by_lobpcg():
        a = torch.diag(torch.arange(1.0, 7))
        torch.lobpcg(a.requires_grad_(), 1, torch.eye(6))[0].sum().backward()

    peer("torch", "eigh", by_lobpcg)
    peer("scipy", "eigh", lambda: scipy.linalg.eigh(b, b))
    lacks("jax", "eigh", "generalised problems: NotImplementedError")

    def updated(l, v):
        """Of the factor l the lower triangle."""
        first = mp.sqrt(l[0] ** 2 + v[0] ** 2)
        below = (l[0] * l[2] + v[0] * v[1]) / first
        return [first, 0, below, mp.sqrt(l[2] ** 2 + l[3] ** 2 + v[1] ** 2 - below ** 2)]

    M("cholesky_update", updated, [[1.5, 0], [-0.25, 0.75]], [0.5, 1.25])
    peer("torch", "cholesky_update", lambda: torch.linalg.cholesky_update(b, b))
    lacks("jax", "cholesky_update", "a rule of cholesky_update")

    def angle(k):
        first = mp.besseli(0, k)
        cdf = lambda x: mp.mpf(1) / 2 + (x / 2 + mp.fsum(mp.besseli(n, k) / first * mp.sin(n * x) / n for n in range(1, 80))) / mp.pi
        start = mp.mpf(float(scipy.stats.vonmises.ppf(ANGLE, float(k))))
        return mp.findroot(lambda x: cdf(x) - mp.mpf(ANGLE), start, tol=1e-190, maxsteps=200)

    M("von Mises samples", lambda k: [angle(k[0])], [0.5])
    peer("torch", "samples", lambda: D.VonMises(torch.zeros(1), torch.ones(1, requires_grad=True)).rsample())
    # y' = -1000 (y - cos(t)) from y(0) = p, at t = 1 / 2.
    c = mp.mpf(1000)
    steady = lambda t: (c * c * mp.cos(t) + c * mp.sin(t)) / (1 + c * c)
    M("stiff equation", lambda p: [p[0], steady(mp.mpf(1) / 2) + (p[0] - steady(mp.mpf(0))) * mp.exp(-c / 2)], [1.5])
    for who in ("jax", "autograd"):
        lacks(who, "odeint", "a method for stiff equations")
    peer("torch", "odeint", lambda: torch.odeint(b))


def wrong_answers():
    """What PyTorch computes otherwise than the definition says."""
    logits = numbers("ctc")((2, 1, 3))

    def ctc(x):
        x = [x[0:3], x[3:6]]
        p = [[mp.exp(e) / mp.fsum(map(mp.exp, row)) for e in row] for row in x]
        return [-mp.log(p[0][1] * p[1][1] + p[0][0] * p[1][1] + p[0][1] * p[1][0])]

    M("ctc_loss", ctc, logits)
    asked = lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]), reduction="none")
    peer("torch", "second", second(asked, logits))
    # A query without any key: 0, where 0 / 0 is NaN.
    draw = numbers("attention")
    q, k, v, mask = draw((1, 2)), draw((2, 2)), draw((2, 1)), numpy.full((1, 2), -inf)
    T("attention/without keys", lambda q, k, v, m: (q.sum() + k.sum() + v.sum()) * torch.zeros(1, 1), q, k, v, mask, at_kink=True, order=0)
    naive = lambda q, k, v: (q @ k.T / 2 ** 0.5 + torch.tensor(mask)).softmax(-1) @ v
    peer("torch", "y0", lambda: naive(*map(torch.tensor, (q, k, v))).numpy())
    # Of equal indices the last one wins, and it alone has the gradient.
    x, v = [1.0, 2, 3], [5.0, 7]
    T("index_update/equal indices", lambda x, v: torch.stack([x[0], v[1], x[2]]), x, v, at_kink=True)
    peer("torch", "g1", first(lambda x, v: x.index_put((torch.tensor([1, 1]),), v), x, v, of=1))
    T("logcumsumexp/of nothing at first", lambda x: torch.stack([x[0], x[1], x[1:].logsumexp(0)]), [-inf, 0.5, 1.5], at_kink=True, order=1)
    peer("torch", "g0", first(lambda x: x.logcumsumexp(0), [-inf, 0.5, 1.5]))
    points = [0.25, 0.5]
    E("laplace_ppf", lambda p, s: s * mp.log(2 * p) if p < mp.mpf(1) / 2 else -s * mp.log(2 * (1 - p)), points, [1.0, 2.0], order=1)
    peer("torch", "g0", first(lambda p, s: D.Laplace(torch.zeros(2), s).icdf(p), points, [1.0, 2.0]))
    T("cumprod/zeros", lambda x: torch.stack([x[0], x[0] * x[1], x[0] * x[1] * x[2]]), [2.0, 0, 3], at_kink=True)
    lacks("tensorflow", "g0", "divides by x: NaN")


def add():
    matrices()
    special()
    samples_and_distances()
    curves_and_filters()
    grids()
    further()
    wrong_answers()
