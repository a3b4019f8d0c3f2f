"""reel's minimisers beside SciPy's, on the same values and derivatives: minimizers.py BUILD prints the table of
bench/README.md. Both start where the problems' authors say and stop by gradients of 1e-9 (least squares: by relative
changes of 1e-15). Counted are evaluations of the function, with or without gradient, and products with the Hessian."""
import ctypes
import sys
from pathlib import Path

import numpy
import scipy
from scipy import optimize

BOX = (-2, 0.8)  # bounds for projected_lbfgs, as in bench/ours/minimizers.cpp
FEW = 1000  # unknowns: above, no dense Jacobian


NUMBERS = ctypes.POINTER(ctypes.c_double)
EVALUATE = ctypes.CFUNCTYPE(None, ctypes.c_int, NUMBERS, NUMBERS)


class CeresFit(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double), ("evaluations", ctypes.c_int64), ("jacobians", ctypes.c_int64)]


class Found(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double)] + [
        (name, ctypes.c_int64) for name in ("iterations", "evaluations", "products", "converged")]


class Problem:
    """Problem k of the module, its derivatives by reel, and how often SciPy has asked for them."""

    def __init__(self, module, k):
        self.module, self.k = module, k
        self.name = module.problem_name(k).decode()
        self.unknowns = module.unknowns(k)
        self.residual_count = module.residual_count(k)
        self.start = self.filled(module.start_of, self.unknowns)
        self.minima = self.filled(module.minima_of, module.minima_of(k, None))
        self.certified = self.filled(module.certified_of, module.certified_of(k, None))
        self.evaluations = self.products = 0

    def filled(self, call, count, *given):
        values = numpy.empty(count)
        call(self.k, *[self.address(v) for v in given], self.address(values))
        return values

    @staticmethod
    def address(values):
        return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def value_and_gradient(self, x):
        self.evaluations += 1
        x, gradient = numpy.ascontiguousarray(x), numpy.empty(self.unknowns)
        return self.module.value_and_gradient(self.k, self.address(x), self.address(gradient)), gradient

    def product(self, x, v):
        self.products += 1
        return self.filled(self.module.hessian_product, self.unknowns, numpy.ascontiguousarray(x),
                           numpy.ascontiguousarray(v))

    def residuals(self, x):
        self.evaluations += 1
        return self.filled(self.module.residuals_at, self.residual_count, numpy.ascontiguousarray(x))

    def jacobian(self, x):
        self.products += 1
        flat = self.filled(self.module.jacobian_at, self.residual_count * self.unknowns, numpy.ascontiguousarray(x))
        return flat.reshape(self.residual_count, self.unknowns)

    def by_reel(self, method):
        """value, x, evaluations, products"""
        x = numpy.empty(self.unknowns)
        found = self.module.minimize(self.k, method.encode(), self.address(x))
        return found.value, x, found.evaluations, found.products

    def by_ceres(self, ceres):
        x = self.start.copy()
        at = [ctypes.cast(f, ctypes.c_void_p) for f in (self.module.residuals_at, self.module.jacobian_at)]
        found = ceres.ceres_fit(self.k, self.unknowns, self.residual_count, *at, self.address(x))
        return found.value, x, found.evaluations, found.jacobians

    def by_scipy(self, method, bounds=None):
        self.evaluations = self.products = 0
        with numpy.errstate(all="ignore"):
            if method == "least_squares lm":
                found = optimize.least_squares(self.residuals, self.start, self.jacobian, method="lm", ftol=1e-15,
                                               xtol=1e-15, gtol=1e-15, max_nfev=20000)
                value = 2 * found.cost
            else:
                options = {"gtol": 1e-9, "maxiter": 1000 if method == "trust-krylov" else 100000}
                if method == "L-BFGS-B":
                    options |= {"ftol": 0, "maxfun": 100000, "maxcor": 10}
                found = optimize.minimize(self.value_and_gradient, self.start, jac=True, method=method,
                                          hessp=self.product if method == "trust-krylov" else None, options=options,
                                          bounds=bounds)
                value = found.fun
        return value, found.x, self.evaluations, self.products

    def digits(self, x):
        """The correct digits of the worst parameter, up to 11, as NIST counts them (LRE)."""
        error = numpy.abs(x - self.certified) / numpy.abs(self.certified)
        return float(min(11, -numpy.log10(max(error.max(), 1e-11))))

    def solved(self, value, x):
        if self.certified.size:
            return self.digits(x) >= 4
        return any(abs(value - m) <= 5e-6 * m + (1e-12 if m == 0 else 0) for m in self.minima)


def load_ceres(build):
    """The module of bench/peers/ceres.cpp; None where Ceres is not installed."""
    path = Path(build, "bench/libbench_ceres.so")
    if not path.exists():
        return None
    ceres = ctypes.CDLL(str(path))
    ceres.ceres_version.restype = ctypes.c_char_p
    ceres.ceres_fit.restype = CeresFit
    ceres.ceres_fit.argtypes = [ctypes.c_int] * 3 + [ctypes.c_void_p] * 2 + [NUMBERS]
    return ceres


def load(build):
    module = ctypes.CDLL(str(Path(build, "bench/libbench_minimizers.so")))
    module.problem_name.restype = ctypes.c_char_p
    for name in ("unknowns", "residual_count"):
        getattr(module, name).restype = ctypes.c_int64
    for name in ("start_of", "minima_of", "certified_of"):
        getattr(module, name).argtypes = [ctypes.c_int, NUMBERS]
    for name in ("value_and_gradient", "residuals_at", "jacobian_at"):
        getattr(module, name).argtypes = [ctypes.c_int, NUMBERS, NUMBERS]
    module.hessian_product.argtypes = [ctypes.c_int, NUMBERS, NUMBERS, NUMBERS]
    module.value_and_gradient.restype = ctypes.c_double
    module.minimize.argtypes, module.minimize.restype = [ctypes.c_int, ctypes.c_char_p, NUMBERS], Found
    return [Problem(module, k) for k in range(module.problem_count())]


def total(runs, k):
    return sum(run[k] for run in runs)


def summary(problems, ours, theirs, run):
    """A row: how many are solved by either, and what both have needed on those that both have solved."""
    pairs = [(p, p.by_reel(ours), run(p)) for p in problems]
    by_us = [p.solved(a[0], a[1]) for p, a, _ in pairs]
    by_them = [p.solved(b[0], b[1]) for p, _, b in pairs]
    both = [pair for pair, a, b in zip(pairs, by_us, by_them) if a and b]
    count = lambda runs: f"{total(runs, 2)} + {total(runs, 3)}" if total(runs, 3) else str(total(runs, 2))
    return (f"| `{ours}` | {theirs} | {len(pairs)} | {sum(by_us)} | {sum(by_them)} | {count([a for _, a, _ in both])} | "
            f"{count([b for _, _, b in both])} |"), pairs


def main(build):
    problems = load(build)
    small = [p for p in problems if p.unknowns <= FEW and not p.certified.size]
    nist = [p for p in problems if p.certified.size]
    print(f"SciPy {scipy.__version__}. `bench/run --minimizers`\n")
    print("| reel | peer | problems | reel solves | the peer solves | reel's evaluations + products | the peer's |")
    print("|---|---|---|---|---|---|---|")
    for ours, theirs in (("lbfgs", "L-BFGS-B"), ("nonlinear_cg", "CG"), ("newton_cg", "trust-krylov")):
        print(summary(small, ours, "SciPy's " + theirs, lambda p: p.by_scipy(theirs))[0], flush=True)
    ceres = load_ceres(build)
    runs = {"SciPy's least_squares lm": lambda p: p.by_scipy("least_squares lm")}
    if ceres:
        runs[f"Ceres {ceres.ceres_version().decode()}"] = lambda p: p.by_ceres(ceres)
    digits = {}
    for theirs, run in runs.items():
        usable = [p for p in small if p.residual_count >= p.unknowns]
        print(summary(usable, "levenberg_marquardt", theirs, run)[0], flush=True)
        row, pairs = summary(nist, "levenberg_marquardt", theirs, run)
        print(row.replace("`levenberg_marquardt`", "`levenberg_marquardt`, NIST's"), flush=True)
        digits["reel"], digits[theirs] = ([p.digits(run[k][1]) for p, *run in pairs] for k in (0, 1))
    print("\nDigits of NIST's parameters, median and least: " + ", ".join(
        f"{who} {numpy.median(d):.1f} and {min(d):.1f}" for who, d in digits.items()) + ".\n")
    print("| 10^6 unknowns | method | evaluations | products | sum of squares |")
    print("|---|---|---|---|---|")
    for p in problems:
        if p.unknowns <= FEW:
            continue
        for who, methods in ((p.by_reel, ("lbfgs", "nonlinear_cg", "newton_cg", "gauss_newton", "sparse", "projected_lbfgs")),
                             (p.by_scipy, ("L-BFGS-B", "CG"))):
            for method in methods:
                value, _, evaluations, products = who(method)
                print(f"| {p.name.split(',')[0]} | {method} | {evaluations} | {products} | {value:.1e} |", flush=True)
        value, _, evaluations, _ = p.by_scipy("L-BFGS-B", optimize.Bounds(*BOX))
        print(f"| {p.name.split(',')[0]} | L-BFGS-B, bounds | {evaluations} | 0 | {value:.6e} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
