"""Expected outputs of hello, llsq, lse, gmm, kmeans and ode: the formulas of their READMEs, number by number.

Derivatives are by complex steps, Im f(x + 1e-150 i) / 1e-150, which is exact to rounding.
"""
import cmath
import math
import random

STEP = 1e-150


def derivative(f, x):
    """The derivatives of f by every number of the nested lists and objects x, nested like x."""
    def walk(node, rebuild):
        if isinstance(node, dict):
            return {key: walk(item, lambda new, key=key: rebuild({**node, key: new})) for key, item in node.items()}
        if isinstance(node, list):
            return [walk(item, lambda new, i=i: rebuild([*node[:i], new, *node[i + 1:]])) for i, item in enumerate(node)]
        return f(rebuild(complex(node, STEP))).imag / STEP
    return walk(x, lambda new: new)


def log_sum_exp(values):
    largest = max(v.real for v in values)
    return cmath.log(sum(cmath.exp(v - largest) for v in values)) + largest


def llsq(x, n):
    total = 0
    for i in range(n):
        t = -1 + i * 2 / (n - 1)
        total += ((t > 0) - (t < 0) - sum(c * t**j for j, c in enumerate(x))) ** 2
    return total / 2


def gmm(p, x, m, gamma):
    k, d, n = len(p["alpha"]), len(x[0]), len(x)
    factors = []
    for q, l in zip(p["q"], p["l"]):
        below, factor = iter(l), [[0] * d for _ in range(d)]
        for column in range(d):
            factor[column][column] = cmath.exp(q[column])
            for row in range(column + 1, d):
                factor[row][column] = next(below)
        factors.append(factor)
    result = -n * (d / 2 * math.log(2 * math.pi) + log_sum_exp(p["alpha"]))
    for point in x:
        terms = []
        for alpha, mu, q, factor in zip(p["alpha"], p["mu"], p["q"], factors):
            centred = [a - b for a, b in zip(point, mu)]
            terms.append(alpha + sum(q) - sum(sum(a * b for a, b in zip(row, centred))**2 for row in factor) / 2)
        result += log_sum_exp(terms)
    freedom = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((freedom - j) / 2) for j in range(d))
    result += k * (freedom * d * math.log(gamma / math.sqrt(2)) - log_gamma)
    for q, factor in zip(p["q"], factors):
        result += m * sum(q) - gamma**2 / 2 * sum(e * e for row in factor for e in row)
    return result


def kmeans(points, centroids):
    """Cost and direction: a cluster's gradient is 2 (size c - sum), its Hessian 2 size."""
    cost, members = 0, [[] for _ in centroids]
    for p in points:
        distances = [sum((a - b)**2 for a, b in zip(p, c)) for c in centroids]
        cost += min(distances)
        members[distances.index(min(distances))].append(p)
    direction = [[c - math.fsum(column) / len(group) for c, column in zip(centroid, zip(*group))]
                 for centroid, group in zip(centroids, members)]
    return cost, direction


def ode(x, s):
    def slope(y):
        return [f * before for f, before in zip(x, [1, *y[:-1]])]

    def step(y, k, h):
        return [a + h * b for a, b in zip(y, k)]

    y, h = [0.0] * len(x), 2 / s
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(step(y, k1, h / 2))
        k3 = slope(step(y, k2, h / 2))
        k4 = slope(step(y, k3, h))
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
    return y


def cases():
    r = random.Random(31337)

    def normal(*shape):
        return [normal(*shape[1:]) for _ in range(shape[0])] if shape else r.gauss(0, 1)

    for x in (0, 3, -1.5, 1e-200, 1e150):
        yield "hello", "square", x, x * x
        yield "hello", "double", x, 2 * x
    for n, m in ((2, 1), (2, 5), (3, 2), (5, 7), (30, 16), (30, 17), (101, 40)):
        x = normal(m)
        yield "llsq", "primal", {"x": x, "n": n}, llsq(x, n)
        yield "llsq", "gradient", {"x": x, "n": n}, derivative(lambda x: llsq(x, n), x)
    for x in ([0.5], normal(2), normal(100), [1000.0, 1000.0, 999.0], [-2000.0, -2001.5], [3.0] * 7):
        yield "lse", "primal", {"x": x}, log_sum_exp(x).real
        yield "lse", "gradient", {"x": x}, derivative(log_sum_exp, x)
    for d, k, n, m, gamma in ((1, 1, 1, 0, 1.0), (1, 3, 7, 2, 0.5), (2, 1, 3, 0, 1.0), (3, 4, 6, 1, 2.0), (5, 2, 9, 3, 0.7)):
        parameters = {"alpha": normal(k), "mu": normal(k, d), "q": normal(k, d), "l": normal(k, d * (d - 1) // 2)}
        x = normal(n, d)
        given = {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": x, **parameters}
        yield "gmm", "objective", given, gmm(parameters, x, m, gamma).real
        yield "gmm", "jacobian", given, derivative(lambda p: gmm(p, x, m, gamma), parameters)
    for n, k, d in ((1, 1, 1), (20, 3, 2), (50, 50, 3), (70, 10, 8), (200, 9, 5)):
        points = normal(n, d)
        given = {"points": points, "centroids": points[-k:]}
        cost, direction = kmeans(**given)
        yield "kmeans", "cost", given, cost
        yield "kmeans", "dir", given, direction
    for n, s in ((1, 1), (2, 1), (3, 7), (8, 10), (30, 10), (12, 100)):
        x = normal(n)
        yield "ode", "primal", {"x": x, "s": s}, ode(x, s)
        yield "ode", "gradient", {"x": x, "s": s}, derivative(lambda x: ode(x, s)[-1], x)
