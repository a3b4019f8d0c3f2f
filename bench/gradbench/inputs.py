"""Inputs of the benchmark's evals for compare.py, drawn or read from a clone's data files as the evals do it."""
import random

draw = random.Random(31337)


def uniform(*shape):
    return [uniform(*shape[1:]) for _ in range(shape[0])] if shape else draw.random()


def normal(*shape):
    return [normal(*shape[1:]) for _ in range(shape[0])] if shape else draw.gauss(0, 1)


def gmm(d, k, n):
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0, "x": normal(n, d), "alpha": normal(k), "mu": uniform(k, d),
            "q": normal(k, d), "l": normal(k, d * (d - 1) // 2)}


def kmeans(k, n, d):
    points = uniform(n, d)
    return {"points": points, "centroids": points[-k:]}


def lstm(layers, characters):
    """Text of 14-bit characters, as many as the benchmark's own text needs."""
    bits = 14
    text = [[float(digit) for digit in format(draw.randrange(32, 127), f"0{bits}b")] for _ in range(characters)]
    return {"main_params": uniform(2 * layers, 4 * bits), "extra_params": uniform(3, bits),
            "state": uniform(2 * layers, bits), "sequence": text}


def ba(clone, number):
    [file] = (clone / "evals/ba/data").glob(f"ba{number}_*.txt")
    counts, camera, point, weight, feature = ([*map(float, line.split())] for line in file.read_text().splitlines())
    n, m, p = map(int, counts)
    return {"n": n, "m": m, "p": p, "cam": camera, "x": point, "w": weight[0], "feat": feature}


def ht(clone, variant, number):
    """`variant` is simple_small, complicated_small, ..."""
    folder = clone / "evals/ht/data" / variant

    def table(name):
        return [line.split(":") for line in (folder / "model" / name).read_text().splitlines()]

    def matrix(row):
        return [row[4 * i:4 * i + 4] for i in range(4)]

    bones, weights, positions = table("bones.txt"), [], []
    for row in table("vertices.txt"):
        positions.append([*map(float, row[:3]), 1.0])
        weights.append([0.0] * len(bones))
        for i in range(int(row[8])):
            weights[-1][int(row[9 + 2 * i])] = float(row[10 + 2 * i])
    model = {"bone_count": len(bones), "bone_names": [row[0] for row in bones], "parents": [int(row[1]) for row in bones],
             "base_relatives": [matrix([*map(float, row[2:18])]) for row in bones],
             "inverse_base_absolutes": [matrix([*map(float, row[18:34])]) for row in bones],
             "base_positions": positions, "weights": weights,
             "triangles": [[*map(int, row)] for row in table("triangles.txt")], "is_mirrored": False}
    [file] = folder.glob(f"hand{number}_*.txt")
    lines = [line.split() for line in file.read_text().splitlines()]
    points, angles = map(int, lines[0][:2])
    rows, rest = lines[1:points + 1], lines[points + 1:]
    us = []
    if variant.startswith("complicated"):
        us, rest = [[*map(float, row)] for row in rest[:points]], rest[points:]
    return {"theta": [float(row[0]) for row in rest[:angles]], "us": us,
            "data": {"model": model, "correspondences": [int(row[0]) for row in rows],
                     "points": [[*map(float, row[1:])] for row in rows]}}
