"""Linear algebra, Fourier transforms and signals."""
import numpy
import scipy.fft
import scipy.linalg
import scipy.signal
import torch
import torch.fft
from record import Draw, E, L, M, N, T, cplx, mp, positive

linalg = torch.linalg


def adjoint(a):
    return a.transpose(-1, -2).conj()


def hermitian(a):
    return (a + adjoint(a)) / 2


def definite(a):
    return a @ adjoint(a) + 2 * torch.eye(a.shape[-1])


def squares(v):
    """The squared magnitudes of vectors' elements, which their signs and phases do not change."""
    return (v * v.conj()).real if v.is_complex() else v * v


def products():
    T("matmul", torch.matmul, (2, 3, 2), (2, 2))
    T("matmul complex", torch.matmul, cplx(2, 3), cplx(3, 2))
    T("einsum", lambda a, b, c: torch.einsum("ij,jk,ik->i", a, b, c), (2, 3), (3, 2), (2, 2))
    T("einsum complex", lambda a, b: torch.einsum("bij,bjk->bik", a, b), cplx(2, 2, 2), cplx(2, 2, 2))
    T("tensordot", lambda a, b: torch.tensordot(a, b, 2), (2, 3, 2), (3, 2, 2))
    T("outer", torch.outer, (3,), (2,))
    T("dot", torch.dot, (4,), (4,))
    T("kron", torch.kron, (2, 2), (2, 3))
    T("cross", lambda a, b: linalg.cross(a, b), (2, 3), (2, 3))
    T("inner", torch.inner, (2, 3), (2, 3))
    T("vdot", lambda a, b: (a.conj() * b).sum(), cplx(3), cplx(3))  # torch.vdot of Debian 12 is 0
    T("vecdot", linalg.vecdot, cplx(2, 3), cplx(2, 3))
    T("matvec", torch.mv, (2, 3), (3,))
    T("multi_dot", lambda a, b, c: linalg.multi_dot([a, b, c]), (2, 3), (3, 2), (2, 2))
    for power in (3, 0, -2):
        T(f"matrix_power {power}", lambda a: linalg.matrix_power(a, power) + 0 * a, (2, 2))
    T("tensorsolve", linalg.tensorsolve, (2, 2, 4), (2, 2))
    T("tensorinv", lambda a: linalg.tensorinv(a, 2), (2, 2, 4))
    for norm, order in {"frobenius": "fro", "one": 1, "infinity": float("inf"), "spectral": 2, "nuclear": "nuc"}.items():
        T(f"matrix_norm {norm}", lambda a: linalg.matrix_norm(a, order), (3, 2))
        T(f"matrix_norm {norm}/complex", lambda a: linalg.matrix_norm(a, order), cplx(2, 2))
    T("matrix_norm frobenius/zero", lambda a: linalg.matrix_norm(a), numpy.zeros((2, 2)), order=1, at_kink=True)
    T("cond spectral", lambda a: linalg.cond(a), (3, 3))
    # linalg.cond(a, "fro") of PyTorch 1.13 has no gradient: it modifies the inverse in place.
    T("cond frobenius", lambda a: linalg.matrix_norm(a) * linalg.matrix_norm(linalg.inv(a)), (2, 2))


def solvers():
    T("cholesky", lambda a: linalg.cholesky(hermitian(a) + 6 * torch.eye(a.shape[-1])), (2, 3, 3))
    T("cholesky/complex", lambda a: linalg.cholesky(hermitian(a) + 6 * torch.eye(3)), cplx(3, 3))
    T("solve", linalg.solve, (2, 3, 3), (3, 2))
    T("solve/vector", linalg.solve, (3, 3), (3,))
    T("solve/complex", linalg.solve, cplx(3, 3), cplx(3, 2))
    T("solve/ill-conditioned", linalg.solve, [[1, 1], [1, 1 + 2.0 ** -7]], [1.0, 3])
    T("triangular_solve", lambda a, b: linalg.solve_triangular(a, b, upper=False), (3, 3), (3, 2))
    T("triangular_solve/complex", lambda a, b: linalg.solve_triangular(a, b, upper=False), cplx(3, 3), cplx(3, 2))
    T("inverse", linalg.inv, (2, 2, 2))
    T("inverse/complex", linalg.inv, cplx(2, 2))
    T("det", linalg.det, (3, 3))
    T("det/complex", linalg.det, cplx(3, 3))
    M("det/singular", lambda a: [a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6])],
      [[1.0, 2, 3], [2, 4, 6], [0, 1, 1]])
    M("det/of rank one", lambda a: [a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6])],
      [[1.0, 2, 3], [2, 4, 6], [-1, -2, -3]])
    T("slogdet", linalg.slogdet, (3, 3))
    T("slogdet/complex", linalg.slogdet, cplx(3, 3))
    T("cholesky_solve", lambda l, b: torch.cholesky_solve(b, torch.tril(l)), positive(3, 3), (3, 2))
    T("cholesky_inverse", lambda l: torch.cholesky_inverse(torch.tril(l)), positive(3, 3))
    T("cholesky_update", lambda l, x: linalg.cholesky(torch.tril(l) @ torch.tril(l).T + torch.outer(x, x)), positive(3, 3), (3,))
    T("lu_solve", lambda a, b: torch.lu_solve(b, *torch.linalg.lu_factor(a)), (3, 3), (3, 2))
    T("lu", lambda a: linalg.lu(a)[1:], (3, 3))
    T("lu/tall", lambda a: linalg.lu(a)[1:], (3, 2))
    T("lu/wide", lambda a: linalg.lu(a)[1:], cplx(2, 3))
    T("lu_factor", lambda a: linalg.lu_factor(a)[0], cplx(3, 3))
    T("lstsq", lambda a, b: linalg.lstsq(a, b).solution, (4, 2), (4, 2))
    T("lstsq/wide", lambda a, b: a.T @ linalg.solve(a @ a.T, b), (2, 4), (2, 2))
    T("lstsq/complex", lambda a, b: linalg.lstsq(a, b).solution, cplx(3, 2), cplx(3, 1))
    T("pinv", linalg.pinv, (3, 2))
    T("pinv/wide", linalg.pinv, cplx(2, 3))
    T("pinv of rank one", lambda u, v: linalg.pinv(torch.outer(u, v), rtol=1e-8), (3,), (2,))
    tridiagonal = lambda low, main, up, b: linalg.solve(torch.diag(main) + torch.diag(low, -1) + torch.diag(up, 1), b)
    T("tridiagonal_solve", tridiagonal, (3,), (4,), (3,), (4,))
    T("tridiagonal_solve/complex", tridiagonal, cplx(2), cplx(3), cplx(2), cplx(3))
    T("tridiagonal_solve/zero diagonal", tridiagonal, [1.0, 2, 3], numpy.zeros(4), [2.0, -1, 1], (4,), at_kink=True)
    banded = lambda d, b: linalg.solve(torch.diag(d[1]) + torch.diag(d[0][1:], 1) + torch.diag(d[2][:-1], -1) + torch.diag(d[3][:-2], -2), b)
    T("banded_solve", banded, (4, 4), (4,))
    toeplitz = lambda c, r, b: linalg.solve(torch.stack([torch.stack([c[i - j] if i >= j else r[j - i] for j in range(len(c))]) for i in range(len(c))]), b)
    T("toeplitz_solve", toeplitz, (4,), (4,), (4,))
    T("linear_solve", linalg.solve, [[4.0, 1, 0], [-1, 5, 2], [0.5, 0, 3]], (3,))
    for name in ("cg", "gmres", "bicgstab"):
        T(name, lambda l, b: linalg.solve(l @ l.T + torch.eye(3), b), (3, 3), (3,))
    T("csr_matmul", lambda v, x: torch.zeros(3, 4).index_put((torch.tensor([0, 0, 2, 2]), torch.tensor([1, 3, 0, 3])), v) @ x, (4,), (4, 2))
    T("sampled_matmul", lambda x, y: (x @ y)[torch.tensor([0, 0, 2, 2]), torch.tensor([1, 3, 0, 3])], (3, 2), (2, 4))
    T("csr_solve", lambda v, b: linalg.solve(torch.zeros(3, 3).index_put((torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0, 2, 1, 0, 2])), v), b), (5,), (3,))


def larger():
    """Small matrices have formulas of their own."""
    for name, f in {"det": linalg.det, "inverse": linalg.inv, "slogdet": linalg.slogdet}.items():
        T(f"{name}/of five", f, (5, 5))
        T(f"{name}/complex of five", f, cplx(5, 5))
    T("solve/complex of five", linalg.solve, cplx(5, 5), cplx(5, 1))
    T("eigvalsh/complex of five", lambda a: linalg.eigvalsh(hermitian(a)), cplx(5, 5))
    T("expm/of five", torch.matrix_exp, (5, 5))


def spectra():
    for name, make in {"": (3, 3), "/complex": cplx(3, 3)}.items():
        T(f"eigh{name}", lambda a: (linalg.eigh(hermitian(a))[0], squares(linalg.eigh(hermitian(a))[1])), make)
        T(f"eigvalsh{name}", lambda a: linalg.eigvalsh(hermitian(a)), make)
        T(f"svd{name}", lambda a: (linalg.svd(a, full_matrices=False)[1], squares(linalg.svd(a, full_matrices=False)[0]),
                                   squares(linalg.svd(a, full_matrices=False)[2])), make)
        T(f"eig{name}", lambda a: (linalg.eig(a)[0], squares(linalg.eig(a)[1])), make)
        T(f"eigvals{name}", lambda a: linalg.eigvals(a), make)
        T(f"qr{name}", lambda a: linalg.qr(a), make)
    T("svd/tall", lambda a: (linalg.svd(a, full_matrices=False)[1], squares(linalg.svd(a, full_matrices=False)[0]),
                             squares(linalg.svd(a, full_matrices=False)[2])), (4, 2))
    T("svd/wide", lambda a: (linalg.svd(a, full_matrices=False)[1], squares(linalg.svd(a, full_matrices=False)[0]),
                             squares(linalg.svd(a, full_matrices=False)[2])), cplx(2, 3))
    T("svdvals", lambda a: linalg.svdvals(a), (3, 2))
    T("qr/tall", lambda a: linalg.qr(a), (4, 2))
    T("qr/tall complex", lambda a: linalg.qr(a), cplx(3, 2))
    T("qr/wide", lambda a: linalg.qr(a), (2, 4))
    T("qr r", lambda a: linalg.qr(a)[1], (3, 2))
    T("lq", lambda a: [r.T for r in reversed(linalg.qr(a.T))], (2, 3))
    T("eigh_tridiagonal", lambda d, e: (linalg.eigh(torch.diag(d) + torch.diag(e, 1) + torch.diag(e, -1))[0],
                                        squares(linalg.eigh(torch.diag(d) + torch.diag(e, 1) + torch.diag(e, -1))[1])), (4,), (3,))

    def generalised(a, b):
        l = linalg.cholesky(definite(b))
        half = linalg.solve_triangular(l, hermitian(a), upper=False)
        return linalg.eigvalsh(hermitian(linalg.solve_triangular(l, half.T, upper=False)))

    T("eigh generalised", generalised, (3, 3), (3, 3))
    # Equal eigenvalues: of a multiple of the identity, and of two values that occur twice. The exponential by PyTorch
    # needs no eigenvalues.
    rotation = numpy.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3.0
    for name, a in {"distinct": rotation @ numpy.diag([1.0, -0.5, 2]) @ rotation.T, "repeated": rotation @ numpy.diag([1.0, 1, -1]) @ rotation.T,
                    "identity": numpy.eye(3), "zero": numpy.zeros((3, 3))}.items():
        T(f"symmetric_function exp/{name}", lambda a: torch.matrix_exp(hermitian(a)), a)
    T("symmetric_function cube/repeated", lambda a: hermitian(a) @ hermitian(a) @ hermitian(a), numpy.diag([2.0, 2, 5]))
    T("symmetric_function reciprocal/repeated", lambda a: linalg.inv(hermitian(a)), numpy.diag([2.0, 2, 5]))


def functions():
    T("expm", torch.matrix_exp, (3, 3))
    T("expm/complex", torch.matrix_exp, cplx(2, 2))
    T("expm/nilpotent", torch.matrix_exp, [[0.0, 1], [0, 0]])
    T("expm/zero", torch.matrix_exp, numpy.zeros((2, 2)))
    N("expm_frechet", lambda a, e: scipy.linalg.expm_frechet(a, e, compute_expm=False), (3, 3), (3, 3))
    N("sqrtm/values", lambda a: scipy.linalg.sqrtm(a @ a.T + numpy.eye(3)).real, (3, 3))
    N("logm/values", lambda a: scipy.linalg.logm(a @ a.T + numpy.eye(3)).real, (3, 3))
    sylvester = lambda a, b, q: linalg.solve(torch.kron(a, torch.eye(len(b))) + torch.kron(torch.eye(len(a)), b.T.contiguous()), q.reshape(-1)).reshape(q.shape)
    T("sylvester", sylvester, (2, 2), (3, 3), (2, 3))
    T("lyapunov", lambda a, q: sylvester(a, a.T, q), (2, 2), (2, 2))


def transforms():
    z, x = cplx(2, 5), (2, 5)
    for norm in ("backward", "ortho", "forward"):
        T(f"fft {norm}", lambda t: torch.fft.fft(t, norm=norm), cplx(5))
        T(f"irfft {norm}", lambda t: torch.fft.irfft(t, norm=norm), cplx(4))
    for name in ("fft", "ifft", "irfft", "hfft"):
        for n in (3, 7):
            T(f"{name} {n}", lambda t: getattr(torch.fft, name)(t, n), cplx(4))
    for name in ("rfft", "ihfft"):
        for n in (3, 7):
            T(f"{name} {n}", lambda t: getattr(torch.fft, name)(t, n), (4,))
    for name in ("fftn", "ifftn", "fft2", "ifft2", "irfftn", "irfft2"):
        T(name, getattr(torch.fft, name), cplx(3, 4))
    for name in ("rfftn", "rfft2"):
        T(name, getattr(torch.fft, name), (3, 4))
    T("fftshift", torch.fft.fftshift, z)
    T("ifftshift", torch.fft.ifftshift, x)
    for kind in (1, 2, 3, 4):
        for name in ("dct", "dst", "idct", "idst"):
            L(f"{name} {kind}", lambda e: getattr(scipy.fft, name)(e, kind), (4,))
    for kind in (2, 4):
        L(f"dct {kind} ortho", lambda e: scipy.fft.dct(e, kind, norm="ortho"), (4,))
    L("hadamard", lambda e: e @ scipy.linalg.hadamard(4) / 2, (4,))


def signals():
    full = lambda a, b: torch.stack([sum(a[i] * b[k - i] for i in range(len(a)) if 0 <= k - i < len(b)) for k in range(len(a) + len(b) - 1)])
    T("convolve full", full, (5,), (3,))
    T("convolve same", lambda a, b: full(a, b)[1:6], (5,), (3,))
    T("convolve valid", lambda a, b: full(a, b)[2:5], (5,), (3,))
    T("convolve fft", full, (5,), (3,))
    T("convolve full/complex", full, cplx(3), cplx(2))
    T("correlate full", lambda a, b: full(a, b.flip(0).conj()), (4,), (3,))
    T("correlate full/complex", lambda a, b: full(a, b.flip(0).conj()), cplx(3), cplx(2))
    T("convolve images", lambda a, b: torch.nn.functional.conv2d(a[None, None], b.flip(0, 1)[None, None], padding=1)[0, 0], (3, 4), (2, 2))

    def lfilter(b, a, x):
        y = []
        for i in range(len(x)):
            forward = sum(b[k] * x[i - k] for k in range(len(b)) if i >= k)
            y.append((forward - sum(a[k] * y[i - k] for k in range(1, len(a)) if i >= k)) / a[0])
        return torch.stack(y)

    T("lfilter", lfilter, (2,), [2.0, 0.5, -0.25], (6,))
    T("sosfilt", lambda s, x: lfilter(s[1][:3], s[1][3:], lfilter(s[0][:3], s[0][3:], x)), positive(2, 6), (5,))
    stft = lambda x, w: torch.stft(x, 4, 2, window=w, center=False, return_complex=True).transpose(-1, -2)
    T("stft", stft, (8,), positive(4))

    def istft(z, w):
        frames = torch.fft.irfft(z, 4) * w
        total, squares = torch.zeros(8), torch.zeros(8)
        for i in range(3):
            place = torch.zeros(4, 8).index_put((torch.arange(4), torch.arange(4) + 2 * i), torch.ones(4))
            total, squares = total + frames[i] @ place, squares + (w * w) @ place
        return total / squares

    T("istft", istft, cplx(3, 3), positive(4))

    def csd(x, y, w):
        spectrum = lambda s: torch.fft.rfft(torch.stack([(s[i:i + 4] - s[i:i + 4].mean()) * w for i in (0, 2, 4)]), dim=-1)
        p = (spectrum(x).conj() * spectrum(y)).mean(0) / (w * w).sum()
        return p * torch.tensor([1.0, 2, 1])

    T("csd", csd, (8,), (8,), positive(4))
    T("welch", lambda x, w: csd(x, x, w).real, (8,), positive(4))
    N("csd/values", lambda x, y, w: scipy.signal.csd(x, y, window=w, nperseg=4, noverlap=2)[1], (8,), (8,), positive(4))
    L("detrend", lambda e: scipy.signal.detrend(e), (6,))
    L("detrend mean", lambda e: scipy.signal.detrend(e, type="constant"), (6,))
    T("unwrap", lambda x: x + torch.tensor(numpy.unwrap(x.detach().numpy()) - x.detach().numpy()), [0.0, 2, 4, 6.5, 9, -3, -6])
    for name in ("hann", "hamming", "blackman", "bartlett"):
        N(name, lambda: scipy.signal.get_window(name, 7, fftbins=False))
        N(f"{name} periodic", lambda: scipy.signal.get_window(name, 6))
    N("kaiser", lambda: scipy.signal.windows.kaiser(6, 5.5))


def add():
    products()
    solvers()
    larger()
    spectra()
    functions()
    transforms()
    signals()
