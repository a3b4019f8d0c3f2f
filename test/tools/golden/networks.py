"""Networks, sequences, losses and distributions."""
import math

import numpy
import torch
import torch.distributions as D
import torch.nn.functional as F
from record import Draw, E, L, M, N, T, cplx, mp, positive

nan, inf = float("nan"), float("inf")


def convolutions():
    T("conv1d", lambda x, w: F.conv1d(x, w, stride=2, padding=1, dilation=2), (1, 2, 7), (2, 2, 2))
    T("conv1d same", lambda x, w: F.conv1d(x, w, padding="same", groups=2), (1, 2, 4), (2, 1, 3))
    T("conv2d", lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 0), dilation=(1, 2)), (1, 2, 3, 4), (2, 2, 2, 2))
    T("conv2d groups", lambda x, w: F.conv2d(x, w, groups=2), (1, 4, 2, 3), (2, 2, 2, 2))
    T("conv3d", lambda x, w: F.conv3d(x, w, stride=(1, 2, 1), padding=(1, 0, 0)), (1, 1, 2, 4, 2), (2, 1, 2, 2, 2))
    T("conv3d groups", lambda x, w: F.conv3d(x, w, groups=2, dilation=(1, 1, 2)), (1, 2, 2, 2, 4), (2, 1, 2, 1, 2))
    T("conv1d_transpose", lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), (1, 2, 3), (2, 2, 3))
    T("conv2d_transpose", lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2), (1, 2, 2, 2), (2, 1, 2, 2))
    T("conv3d_transpose", lambda x, w: F.conv_transpose3d(x, w, stride=(2, 1, 1)), (1, 1, 2, 2, 2), (1, 2, 2, 1, 2))


def pools():
    T("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), [[[1.0, 3, 3, -2, 0, 5, 1]]], at_kink=True)
    T("max_pool2d", lambda x: F.max_pool2d(x, 2, 1, dilation=(2, 1)), (1, 1, 4, 3))
    T("max_pool3d", lambda x: F.max_pool3d(x, (2, 1, 2), 1), (1, 1, 3, 2, 3))
    T("max_pool2d infinite", lambda x: F.max_pool2d(x, 2), [[[[1.0, -inf, 2, 3], [-inf, 0, inf, 4]]]], at_kink=True)
    T("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False), (1, 1, 6))
    T("avg_pool2d", lambda x: F.avg_pool2d(x, 2, 1, 1, count_include_pad=True), (1, 1, 3, 3))
    T("avg_pool3d", lambda x: F.avg_pool3d(x, (1, 2, 2), 1), (1, 1, 2, 3, 3))
    T("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 3), (1, 2, 5))
    T("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (1, 1, 3, 4))
    T("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (1, 2, 2)), (1, 1, 2, 3, 3))
    T("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, 3), (1, 2, 5))
    T("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (2, 3)), (1, 1, 3, 4))
    T("adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, (1, 2, 2)), (1, 1, 2, 3, 3))
    T("lp_pool1d", lambda x: F.lp_pool1d(x, 3.0, 2, 1), positive(1, 1, 5))
    T("lp_pool2d", lambda x: F.lp_pool2d(x, 2.0, 2), (1, 1, 2, 4))
    T("lp_pool3d", lambda x: F.avg_pool3d(x ** 3, 2, 1).mul(8) ** (1 / 3), positive(1, 1, 2, 3, 2))  # PyTorch has none
    T("max_pool1d_with_indices", lambda x: F.max_pool1d_with_indices(x, 3, 2, 1), (1, 2, 6))
    T("max_pool2d_with_indices", lambda x: F.max_pool2d_with_indices(x, 2, 1), (1, 1, 3, 3))
    T("max_pool3d_with_indices", lambda x: F.max_pool3d_with_indices(x, (2, 1, 2), 1), (1, 1, 3, 2, 3))
    T("max_unpool1d", lambda x: F.max_unpool1d(x, torch.tensor([[[1, 4, 5]]]), 2, output_size=(7,)), (1, 1, 3))
    T("max_unpool2d", lambda x: F.max_unpool2d(x, torch.tensor([[[[5, 2]]]]), (2, 2), output_size=(2, 4)), (1, 1, 1, 2))
    T("max_unpool3d", lambda x: F.max_unpool3d(x, torch.tensor([[[[[5, 2]]]]]), 2, output_size=(2, 2, 4)), (1, 1, 1, 1, 2))


def normalisation():
    T("layer_norm", lambda x, s, o: F.layer_norm(x, (4,), s, o), (2, 4), (4,), (4,))
    T("layer_norm/large mean", lambda x, s, o: F.layer_norm(x, (4,), s, o), numpy.array([[1e6, 1e6 + 1, 1e6 + 2, 1e6 - 1]]), (4,), (4,))
    T("rms_norm", lambda x, s: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * s, (2, 3), (3,))
    T("batch_norm", lambda x, s, o: F.batch_norm(x, None, None, s, o, training=True), (2, 2, 3), (2,), (2,))
    T("batch_norm inference", lambda x, s, o, m, v: (x - m[:, None]) / (v[:, None] + 1e-5).sqrt() * s[:, None] + o[:, None], (2, 2, 2), (2,), (2,), (2,), positive(2))
    T("group_norm", lambda x, s, o: F.group_norm(x, 2, s, o), (2, 4, 2), (4,), (4,))
    T("instance_norm", lambda x, s, o: F.instance_norm(x, weight=s, bias=o), (2, 2, 3), (2,), (2,))
    T("local_response_norm", lambda x: F.local_response_norm(x, 3, alpha=0.5, beta=0.75, k=2.0), (1, 4, 2))
    T("l2_normalize", lambda x: F.normalize(x, dim=-1), (2, 3))


def losses():
    x, labels = (3, 4), torch.tensor([2, 0, 3])
    T("softmax_cross_entropy", lambda x, p: F.cross_entropy(x, p, reduction="none", label_smoothing=0.25), (2, 3), [[0.25, 0.5, 0.25], [1.0, 0, 0]])
    T("sparse_softmax_cross_entropy", lambda x: F.cross_entropy(x, torch.tensor([2, -100, 3]), reduction="none"), x)
    T("sigmoid_cross_entropy", lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"), [-40.0, -0.625, 2, 30], [0.25, 1, 0, 0.5])
    T("binary_cross_entropy", lambda p, y: -y * p.log() - (1 - y) * (1 - p).log(), [0.25, 0.75, 0.0625], [0.25, 1, 0])
    T("kl_divergence", lambda t, p: F.kl_div(p.log(), t, reduction="none"), [0.25, 0.75], [0.5, 0.125])
    T("huber", lambda x, y: F.huber_loss(x, y, reduction="none", delta=1.5), (4,), (4,))
    T("huber/kink", lambda x, y: F.huber_loss(x, y, reduction="none", delta=1.5), [1.5, 0.0, -1.5], [0.0, 0, 0], order=1, at_kink=True)
    T("mse", lambda x, y: F.mse_loss(x, y, reduction="none"), (3,), (3,))
    T("mae", lambda x, y: F.l1_loss(x, y, reduction="none"), [1.0, 2, 3], [0.5, 2, 5], at_kink=True)
    E("log_cosh", lambda x, y: mp.log(mp.cosh(x - y)), [-20.0, 2.0 ** -20, 3.5], [20.0, 0.0, 2])
    T("poisson_nll", lambda x, t: F.poisson_nll_loss(x, t, full=True, reduction="none"), (3,), [0.5, 2, 7], order=1)
    T("poisson_nll rate", lambda x, t: F.poisson_nll_loss(x, t, log_input=False, reduction="none"), positive(3), [0.5, 2, 7])
    T("gaussian_nll", lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True, reduction="none"), (3,), (3,), positive(3))
    T("weighted_sigmoid_cross_entropy", lambda x, y, w: w * y * F.softplus(-x) + (1 - y) * F.softplus(x), (3,), [0.25, 1, 0], positive(3))

    def focal(x, y):
        p, ce = torch.sigmoid(x), F.binary_cross_entropy_with_logits(x, y, reduction="none")
        return (0.25 * y + 0.75 * (1 - y)) * ce * (1 - p * y - (1 - p) * (1 - y)) ** 2

    T("focal_cross_entropy", focal, (3,), [0.0, 1, 0])
    T("hinge", lambda x, y: (1 - x * y).clamp(min=0), [2.0, 0.5, -1], [1.0, 1, 1])
    T("hinge_embedding", lambda x, y: F.hinge_embedding_loss(x, y, reduction="none"), [2.0, 0.5, -1], [1.0, -1, -1], order=1, at_kink=True)
    T("soft_margin", lambda x, y: F.softplus(-x * y), (3,), [1.0, -1, 1])
    T("margin_ranking", lambda x, y, l: F.margin_ranking_loss(x, y, l, 0.25, reduction="none"), (3,), (3,), [1.0, -1, 1], order=1)
    T("nll", lambda x: F.nll_loss(x, torch.tensor([2, -100, 3]), reduction="none"), x)
    for p in (1, 2):
        T(f"multi_margin {p}", lambda x: F.multi_margin_loss(x, labels, p, 1.0, reduction="none"), x, order=1)
    T("cosine_similarity", lambda x, y: F.cosine_similarity(x, y), (2, 3), (2, 3))
    T("triplet_margin", lambda a, p, n: F.triplet_margin_loss(a, p, n, 3.0, 2.0, reduction="none"), (2, 3), (2, 3), (2, 3))
    T("triplet_margin swap", lambda a, p, n: F.triplet_margin_loss(a, p, n, 3.0, 2.0, swap=True, reduction="none"), (2, 3), (2, 3), (2, 3))
    T("l2_loss", lambda x: x.square().sum() / 2, (3,))


def sequences():
    def attention(q, k, v, mask=None):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return (scores if mask is None else scores + mask).softmax(-1) @ v

    T("attention", attention, (2, 2, 3), (2, 3, 3), (2, 3, 2))
    T("attention mask", attention, (2, 2), (3, 2), (3, 2), (2, 3))
    T("attention causal", lambda q, k, v: attention(q, k, v, torch.full((3, 3), -inf).triu(1)), (3, 2), (3, 2), (3, 2))

    def rope(x, interleaved):
        length, size = x.shape
        angle = torch.arange(length)[:, None] * 10000.0 ** (-2 * torch.arange(size // 2) / size)
        a, b = (x[:, 0::2], x[:, 1::2]) if interleaved else x.split(size // 2, -1)
        r = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
        return torch.stack(r, -1).reshape(x.shape) if interleaved else torch.cat(r, -1)

    T("rope", lambda x: rope(x, False), (3, 4))
    T("rope interleaved", lambda x: rope(x, True), (3, 4))
    T("lstm", lambda x, w, r, b, c, h, s: [t if i == 0 else t[0] for i, t in enumerate(torch._VF.lstm(x, (h[None], s[None]), [w, r, b, c], True, 1, 0.0, False, False, False))],
      (3, 1, 2), (8, 2), (8, 2), (8,), (8,), (1, 2), (1, 2))
    T("gru", lambda x, w, r, b, c, h: [t if i == 0 else t[0] for i, t in enumerate(torch._VF.gru(x, h[None], [w, r, b, c], True, 1, 0.0, False, False, False))],
      (3, 1, 2), (6, 2), (6, 2), (6,), (6,), (1, 2))
    # The sum of the probabilities of all alignments, which PyTorch's ctc_loss differentiates once.
    ctc = lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2], [2, 2]]), torch.tensor([4, 4]), torch.tensor([2, 2]), reduction="none")
    T("ctc_loss", ctc, (4, 2, 3))


def distributions():
    x = [0.25, 1.5, 3.0]
    unit = [0.25, 0.4375, 0.96875]
    a, b = [0.5, 2.0, 4.5], [1.25, 0.75, 3.0]
    rows = {
        "norm": (lambda x, m, s: D.Normal(m, s), x, [0.5, -1.0, 2], b), "expon": (lambda x, s: D.Exponential(1 / s), x, b),
        "laplace": (lambda x, m, s: D.Laplace(m, s), x, [0.5, -1.0, 2], b), "cauchy": (lambda x, m, s: D.Cauchy(m, s), x, [0.5, -1.0, 2], b),
        "gumbel_r": (lambda x, m, s: D.Gumbel(m, s, validate_args=False), x, [0.5, -1.0, 2], b), "pareto": (lambda x, c: D.Pareto(torch.ones(3), c), [1.25, 1.5, 3.0], b),
        "lognorm": (lambda x, s: D.LogNormal(torch.zeros(3), s), x, b), "weibull_min": (lambda x, c: D.Weibull(torch.ones(3), c), x, b),
    }
    for name, (distribution, *operands) in rows.items():
        T(f"{name}_logpdf", lambda *t: distribution(*t).log_prob(t[0]), *operands)
    # By mpmath: PyTorch's polygamma and Bessel functions have 10 and 7 digits, its binomial distribution has a kink at p = 1/2.
    ln, lg = mp.log, mp.loggamma
    log_beta = lambda a, b: lg(a) + lg(b) - lg(a + b)
    gamma_log = lambda x, a: (a - 1) * ln(x) - x - lg(a)
    E("gamma_logpdf", gamma_log, x, a)
    E("chi2_logpdf", lambda x, d: gamma_log(x / 2, d / 2) - ln(2), x, a)
    E("t_logpdf", lambda x, d: lg((d + 1) / 2) - lg(d / 2) - ln(d * mp.pi) / 2 - (d + 1) / 2 * ln(1 + x * x / d), x, a)
    E("beta_logpdf", lambda x, a, b: (a - 1) * ln(x) + (b - 1) * ln(1 - x) - log_beta(a, b), unit, a, b)
    E("vonmises_logpdf", lambda x, k, m: k * mp.cos(x - m) - ln(2 * mp.pi * mp.besseli(0, k)), [0.25, 1.5, 3.0], a, [0.5, -1.0, 2])
    E("binom_logpmf", lambda p, k: lg(8) - lg(k + 1) - lg(8 - k) + k * ln(p) + ((7 - k) * ln(1 - p) if k != 7 else 0), unit, numpy.array([0, 2, 7]))
    M("dirichlet_logpdf", lambda x, a: [sum((b - 1) * ln(y) - lg(b) for b, y in zip(a, x)) + lg(sum(a))], [0.25, 0.5, 0.25], a)
    for name in ("norm", "expon", "laplace", "cauchy", "gumbel_r", "pareto", "lognorm", "weibull_min"):
        distribution, *operands = rows[name]
        T(f"{name}_cdf", lambda *t: distribution(*t).cdf(t[0]), *operands)
        T(f"{name}_ppf", lambda *t: distribution(*t).icdf(t[0]), unit, *operands[1:])
    T("logistic_logpdf", lambda x, m, s: -(x - m) / s - s.log() - 2 * F.softplus(-(x - m) / s), x, [0.5, -1.0, 2], b)
    T("poisson_logpmf", lambda k, m: D.Poisson(m).log_prob(k), [0, 2, 7], b)
    T("bernoulli_logpmf", lambda k, p: D.Bernoulli(p).log_prob(k.double()), [0, 1, 1], unit)
    T("nbinom_logpmf", lambda k, n, p: D.NegativeBinomial(n, 1 - p).log_prob(k.double()), [0, 2, 7], a, unit)
    T("geom_logpmf", lambda k, p: D.Geometric(p).log_prob(k.double() - 1), [1, 2, 7], unit)
    T("multivariate_normal_logpdf", lambda x, m, l: D.MultivariateNormal(m, scale_tril=l.tril(), validate_args=False).log_prob(x), (2, 3), (3,), positive(3, 3))
    kl = D.kl_divergence
    T("norm_kl", lambda m, s, n, t: kl(D.Normal(m, s), D.Normal(n, t)), (2,), positive(2), (2,), positive(2))
    T("expon_kl", lambda s, t: kl(D.Exponential(1 / s), D.Exponential(1 / t)), positive(2), positive(2))
    E("gamma_kl", lambda a, s, b, t: (a - b) * mp.digamma(a) - lg(a) + lg(b) + b * (ln(t) - ln(s)) + a * (s - t) / t, positive(2), positive(2), positive(2), positive(2))
    E("beta_kl", lambda a, b, c, d: log_beta(c, d) - log_beta(a, b) + (a - c) * mp.digamma(a) + (b - d) * mp.digamma(b) + (c - a + d - b) * mp.digamma(a + b),
      positive(2), positive(2), positive(2), positive(2))
    T("bernoulli_kl", lambda p, q: kl(D.Bernoulli(p), D.Bernoulli(q)), unit[:2], unit[1:])
    T("poisson_kl", lambda m, n: kl(D.Poisson(m), D.Poisson(n)), positive(2), positive(2))
    M("dirichlet_kl", lambda a, b: [lg(sum(a)) - lg(sum(b)) + sum(lg(d) - lg(c) + (c - d) * (mp.digamma(c) - mp.digamma(sum(a))) for c, d in zip(a, b))], positive(3), positive(3))
    T("multivariate_normal_kl", lambda m, l, n, k: kl(D.MultivariateNormal(m, scale_tril=l.tril(), validate_args=False), D.MultivariateNormal(n, scale_tril=k.tril(), validate_args=False)),
      (2,), positive(2, 2), (2,), positive(2, 2))


def divergences():
    """Of two distributions. PyTorch's polygamma has 10 digits, so that cases that need it have no derivatives, or only first ones."""
    off = {"validate_args": False}
    families = {
        "bernoulli": D.Bernoulli, "beta": D.Beta, "cauchy": D.Cauchy, "expon": lambda s: D.Exponential(1 / s), "gamma": lambda a, s: D.Gamma(a, 1 / s),
        "geom": D.Geometric, "gumbel_r": lambda m, s: D.Gumbel(m, s, **off), "laplace": D.Laplace, "lognorm": lambda s, m: D.LogNormal(m.log(), s),
        "norm": D.Normal, "pareto": lambda b, s: D.Pareto(s, b, **off), "poisson": D.Poisson, "uniform": lambda m, s: D.Uniform(m, m + s, **off),
    }
    points = {  # of the first distribution, and of the second
        "bernoulli": [[0.25, 0.75]], "beta": [[1.5, 20], [2.5, 30]], "cauchy": [[0.5, -1], [0.75, 2]], "expon": [[1.5, 0.25]], "gamma": [[1.5, 20], [0.75, 0.25]],
        "geom": [[0.25, 0.75]], "gumbel_r": [[0.25, -1], [0.75, 2]], "laplace": [[0.25, -1], [0.75, 2]], "lognorm": [[0.75, 2], [1.5, 0.25]],
        "norm": [[0.25, -1], [0.75, 2]], "pareto": [[2.5, 4], [1.5, 0.25]], "poisson": [[1.5, 0.25]], "uniform": [[0.25, 0.125], [0.5, 0.75]],
        ".bernoulli": [[0.5, 0.625]], ".beta": [[2.25, 0.75], [1.25, 3]], ".cauchy": [[0.25, 1], [1.25, 0.5]], ".expon": [[0.75, 2]], ".gamma": [[3.25, 0.5], [1.5, 0.75]],
        ".geom": [[0.5, 0.625]], ".gumbel_r": [[0.5, 1], [1.25, 3]], ".laplace": [[0.5, 1], [1.25, 0.5]], ".lognorm": [[1.25, 0.5], [0.75, 2]],
        ".norm": [[0.5, 1], [1.25, 0.5]], ".pareto": [[1.5, 3], [0.125, 0.0625]], ".poisson": [[0.75, 2]], ".uniform": [[-0.25, 0], [1.5, 2]],
    }
    pairs = """bernoulli poisson, beta expon, beta gamma, beta norm, beta uniform, cauchy cauchy, expon gamma, expon gumbel_r, expon norm,
        gamma expon, gamma gumbel_r, gamma norm, geom geom, gumbel_r gumbel_r, gumbel_r norm, laplace laplace, laplace norm, lognorm lognorm,
        norm gumbel_r, norm laplace, pareto expon, pareto gamma, pareto norm, pareto pareto, uniform beta, uniform expon, uniform gamma,
        uniform gumbel_r, uniform norm, uniform pareto, uniform uniform"""
    for first, second in map(str.split, pairs.split(",")):
        operands, count = points[first] + points["." + second], len(points[first])
        order = 0 if first in ("beta", "gamma") else 1 if {first, second} & {"gamma", "beta", "gumbel_r"} else 2
        T(f"{first}_kl" if first == second else f"{first}_{second}_kl",
          lambda *t: D.kl_divergence(families[first](*t[:count]), families[second](*t[count:])), *operands, order=order)


def add():
    convolutions()
    pools()
    normalisation()
    losses()
    sequences()
    distributions()
    divergences()
