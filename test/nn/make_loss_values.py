"""Writes loss_values.hpp: losses by their definitions, with gradients and second derivatives, in 60 digits.

Usage: make_loss_values.py > loss_values.hpp, with mpmath 1.2. The tests read the stored file alone.
"""
from mpmath import cosh, diff, exp, log, mp, mpf, pi

mp.dps = 60


def softplus(x):
    return log(1 + exp(x))


def sigmoid(x):
    return 1 / (1 + exp(-x))


def weighted(x, label, weight):
    return weight * label * softplus(-x) + (1 - label) * softplus(x)


def focal(alpha, gamma):
    def loss(x, label):
        p = sigmoid(x)
        weight = alpha * label + (1 - alpha) * (1 - label) if alpha >= 0 else 1
        return weight * weighted(x, label, 1) * (p * (1 - label) + (1 - p) * label) ** gamma
    return loss


def stirling(t):
    return t * log(t) - t + log(2 * pi * t) / 2 if t > 1 else mpf(0)


LABELLED = [(0.5, 1), (0.5, 0), (-30, 1), (-30, 0), (30, 1), (30, 0), (700, 0), (-700, 1), (2, 0.25)]
LOSSES = {
    "log_cosh": (lambda x, y: log(cosh(x - y)), [(1e-9, 0), (0.001, 0), (1.5, 0.25), (1.999, 0), (2.001, 0), (-40, 1), (700, 0)]),
    "poisson_nll": (lambda x, t: exp(x) - t * x, [(0.5, 2), (-20, 3), (3, 0)]),
    "poisson_nll full": (lambda x, t: exp(x) - t * x + stirling(t), [(0.5, 2), (-20, 30), (3, 0.5)]),
    "poisson_nll rate": (lambda x, t: x - t * log(x + mpf(1e-8)), [(0.5, 2), (1e-12, 3), (3, 0)]),
    "poisson_nll rate full": (lambda x, t: x - t * log(x + mpf(1e-8)) + stirling(t), [(0.5, 2), (1e-12, 3), (3, 0.5)]),
    "gaussian_nll": (lambda x, t, v: (log(v) + (x - t) ** 2 / v) / 2, [(0.5, 2, 0.25), (1, 1, 3), (1000, 2, 1e-5)]),
    "gaussian_nll full": (lambda x, t, v: (log(2 * pi * v) + (x - t) ** 2 / v) / 2, [(0.5, 2, 0.25), (-3, 4, 100)]),
    "weighted_sigmoid_cross_entropy": (weighted, [(*p, w) for p in LABELLED for w in (1, 3)]),
    "focal_cross_entropy": (focal(mpf(0.25), 2), [p for p in LABELLED if p[0] not in (30, -30, 700, -700)] + [(-30, 1), (30, 0), (-30, 0), (30, 1)]),
    "focal_cross_entropy unweighted": (focal(-1, mpf(1.5)), [(0.5, 1), (-4, 0), (2, 0.25)]),
    "soft_margin": (lambda x, y: softplus(-x * y), [(0.5, 1), (0.5, -1), (-700, 1), (700, 1), (3, 2)]),
}


def derivative(f, x, orders):
    return diff(f, tuple(mpf(v) for v in x), orders)


print("""// Made by make_loss_values.py: losses, their gradients and second derivatives by the first operand. Not to be edited.
#pragma once
#include <vector>

struct LossValue {
  const char* loss;
  std::vector<double> operands;
  double value;
  std::vector<double> gradient;
  double second;
};

// clang-format off
inline const std::vector<LossValue> loss_values = {""")
for name, (loss, points) in LOSSES.items():
    for x in points:
        exact = tuple(mpf(v) for v in x)
        unit = [tuple(int(i == k) for i in range(len(x))) for k in range(len(x))]
        gradient = [derivative(loss, x, u) for u in unit]
        second = derivative(loss, x, tuple(2 * i for i in unit[0]))
        numbers = lambda values: ", ".join(repr(float(v)) if abs(v) > mpf("1e-310") else "0.0" for v in values)
        print(f'    {{"{name}", {{{numbers(exact)}}}, {numbers([loss(*exact)])}, {{{numbers(gradient)}}}, {numbers([second])}}},')
print("};\n// clang-format on")
