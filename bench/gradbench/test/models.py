"""Expected outputs of ba, det, ht, lstm, particle and saddle: the formulas of their READMEs, number by number."""
import cmath
import math
import random

from arrays import derivative


def project(p, feature):
    """The weighted error of an observation: camera (11), point (3), weight."""
    r, c, focal, u, v, k1, k2, x, weight = p[:3], p[3:6], p[6], p[7], p[8], p[9], p[10], p[11:14], p[14]
    d = [a - b for a, b in zip(x, c)]

    def cross(a, b):
        return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

    square = sum(a * a for a in r)
    if square == 0 or abs(square) < 1e-100:  # at rest: Rodrigues' formula to first order
        y = [a + b for a, b in zip(d, cross(r, d))]
    else:
        angle = cmath.sqrt(square)
        w = [a / angle for a in r]
        along = sum(a * b for a, b in zip(w, d)) * (1 - cmath.cos(angle))
        y = [a * cmath.cos(angle) + b * cmath.sin(angle) + e * along for a, b, e in zip(d, cross(w, d), w)]
    image = [y[0] / y[2], y[1] / y[2]]
    radius = image[0]**2 + image[1]**2
    scale = (1 + k1 * radius + k2 * radius**2) * focal
    return [weight * (i * scale + o - f) for i, o, f in zip(image, (u, v), feature)]


def ba(given):
    """The objective's and the Jacobian's answers."""
    n, m, p, weight = given["n"], given["m"], given["p"], given["w"]
    parameters = [*given["cam"], *given["x"], weight]
    blocks = [derivative(lambda q: project(q, given["feat"])[i], parameters) for i in range(2)]
    rows, columns, values = [0], [], []
    for i in range(p):
        places = [*range(11 * (i % n), 11 * (i % n) + 11), *range(11 * n + 3 * (i % m), 11 * n + 3 * (i % m) + 3), 11 * n + 3 * m + i]
        for block in blocks:
            columns += places
            values += block
            rows.append(len(columns))
    for i in range(p):
        columns.append(11 * n + 3 * m + i)
        values.append(-2 * weight)
        rows.append(len(columns))
    error = [e.real for e in project([complex(q) for q in parameters], given["feat"])]
    objective = {"reproj_error": {"elements": error, "repeated": p}, "w_err": {"element": 1 - weight**2, "repeated": p}}
    return objective, {key: [*full[:30], full[-1]] for key, full in (("rows", rows), ("cols", columns), ("vals", values))}


def determinant(a):
    if not a:
        return 1
    return sum((-1)**j * a[0][j] * determinant([row[:j] + row[j + 1:] for row in a[1:]]) for j in range(len(a)))


def lstm(main, extra, state, sequence):
    def sigmoid(x):
        return 1 / (1 + cmath.exp(-x))

    bits, layers, total = len(sequence[0]), len(state) // 2, 0
    said, cell = state[0::2], state[1::2]
    for now, wanted in zip(sequence, sequence[1:]):
        x = [a * b for a, b in zip(now, extra[0])]
        for k in range(layers):
            def gate(function, values, which):
                first = which * bits
                return [function(v * main[2 * k][first + i] + main[2 * k + 1][first + i]) for i, v in enumerate(values)]
            forget, enter = gate(sigmoid, x, 0), gate(sigmoid, said[k], 1)
            leave, change = gate(sigmoid, x, 2), gate(cmath.tanh, said[k], 3)
            cell = [*cell[:k], [c * f + i * g for c, f, i, g in zip(cell[k], forget, enter, change)], *cell[k + 1:]]
            x = [o * cmath.tanh(c) for o, c in zip(leave, cell[k])]
            said = [*said[:k], x, *said[k + 1:]]
        output = [a * b + c for a, b, c in zip(x, extra[1], extra[2])]
        all_of = cmath.log(sum(map(cmath.exp, output)) + 2)
        total += sum(w * (o - all_of) for w, o in zip(wanted, output))
    return -total / ((len(sequence) - 1) * bits)


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def ht(theta, surface, data):
    model = data["model"]
    # The x and z angle of each bone: three of the four bones of a finger turn about x, the first of them about z too.
    angles = [(0, 0)] * len(model["parents"])
    for finger in range(5):
        a, b, c, d = theta[6 + 4 * finger:10 + 4 * finger]
        angles[4 * finger + 2:4 * finger + 5] = [(a, b), (c, 0), (d, 0)]
    absolute = []
    for (x, z), parent, relative in zip(angles, model["parents"], model["base_relatives"]):
        about_x = [[1, 0, 0, 0], [0, cmath.cos(x), -cmath.sin(x), 0], [0, cmath.sin(x), cmath.cos(x), 0], [0, 0, 0, 1]]
        about_z = [[cmath.cos(z), -cmath.sin(z), 0, 0], [cmath.sin(z), cmath.cos(z), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        own = product(relative, product(about_z, about_x))
        absolute.append(own if parent == -1 else product(absolute[parent], own))
    moves = [product(a, b) for a, b in zip(absolute, model["inverse_base_absolutes"])]
    angle = cmath.sqrt(sum(a * a for a in theta[:3]))
    if abs(angle) < 1e-4:
        rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    else:
        x, y, z = (a / angle for a in theta[:3])
        s, c = cmath.sin(angle), cmath.cos(angle)
        rotation = [[x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
                    [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
                    [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c]]

    def vertex(v):
        column, weights = [[e] for e in model["base_positions"][v]], model["weights"][v]
        moved = [sum(w * product(move, column)[i][0] for w, move in zip(weights, moves)) for i in range(3)]
        if model["is_mirrored"]:
            moved[0] = -moved[0]
        return [r[0] + t for r, t in zip(product(rotation, [[e] for e in moved]), theta[3:6])]

    result = []
    for i, (place, point) in enumerate(zip(data["correspondences"], data["points"])):
        if surface:
            u, v = surface[i]
            corners = [vertex(corner) for corner in model["triangles"][place]]
            modelled = [u * a + v * b + (1 - u - v) * c for a, b, c in zip(*corners)]
        else:
            modelled = vertex(place)
        result += [a - b for a, b in zip(point, modelled)]
    return result


def ht_jacobian(theta, surface, data):
    step = 1e-150

    def column(t, s):
        return [e.imag / step for e in ht(t, s, data)]

    columns = [column(theta, [[u + step * 1j * (j == 0), v + step * 1j * (j == 1)] for u, v in surface]) for j in range(2) if surface]
    columns += [column([*theta[:j], complex(theta[j], step), *theta[j + 1:]], surface) for j in range(len(theta))]
    return [list(row) for row in zip(*columns)]


def argmin(f, slope, x):
    """The published gradient descent."""
    value, direction, rate, down = f(x), slope(x), 1e-5, 0
    while math.hypot(*direction) > 1e-5:
        if down == 10:
            rate, down = 2 * rate, 0
            continue
        after = [a - rate * b for a, b in zip(x, direction)]
        if math.dist(x, after) <= 1e-5:
            break
        if f(after) < value:
            x, value, direction, down = after, f(after), slope(after), down + 1
        else:
            rate, down = rate / 2, 0
    return x


def crossing(w):
    charges = [(10, 10 - w), (10, 0)]
    x, y, across, up = 0, 8, 0.75, 0
    while True:
        force_x = force_y = 0
        for a, b in charges:
            cube = cmath.sqrt((x - a)**2 + (y - b)**2)**3
            force_x, force_y = force_x + (x - a) / cube, force_y + (y - b) / cube
        if (y + 0.1 * up).real <= 0:
            return (x - y / up * across)**2
        x, y, across, up = x + 0.1 * across, y + 0.1 * up, across + 0.1 * force_x, up + 0.1 * force_y


def saddle(start):
    def best(x):
        return argmin(lambda y: sum(b * b for b in y) - sum(a * a for a in x), lambda y: [2 * b for b in y], start)
    x = argmin(lambda x: sum(a * a for a in x) - sum(b * b for b in best(x)), lambda x: [2 * a for a in x], start)
    return [*x, *best(x)]


def cases():
    r = random.Random(4711)

    def uniform(*shape):
        return [uniform(*shape[1:]) for _ in range(shape[0])] if shape else r.uniform(-1, 1)

    for n, m, p, turn in ((1, 1, 10, 1), (3, 7, 24, 1), (20, 15, 12, 1), (2, 3, 11, 0)):
        given = {"n": n, "m": m, "p": p, "cam": [*(turn * e for e in uniform(3)), *uniform(3), 400.0, *uniform(2), 0.1, -0.02],
                 "x": [*uniform(2), 5.0], "w": uniform(), "feat": uniform(2)}
        objective, jacobian = ba(given)
        yield "ba", "objective", given, objective
        yield "ba", "jacobian", given, jacobian
    for size in (1, 2, 3, 5, 6):
        rows = uniform(size, size)
        given = {"A": sum(rows, []), "ell": size}
        yield "det", "primal", given, determinant(rows)
        yield "det", "gradient", given, sum(derivative(determinant, rows), [])
    # More rows than are expanded at once: I + a a^T has the determinant 1 + a^2, whose gradient is that times the inverse.
    a = uniform(10)
    size = 1 + sum(e * e for e in a)
    given = {"A": [(i == j) + a[i] * a[j] for i in range(10) for j in range(10)], "ell": 10}
    yield "det", "primal", given, size
    yield "det", "gradient", given, [size * (i == j) - a[i] * a[j] for i in range(10) for j in range(10)]
    for layers, characters, bits in ((1, 2, 3), (1, 6, 2), (2, 2, 3), (3, 2, 2), (3, 5, 2), (2, 12, 7)):
        given = {"main_params": uniform(2 * layers, 4 * bits), "extra_params": uniform(3, bits), "state": uniform(2 * layers, bits),
                 "sequence": [[float(r.getrandbits(1)) for _ in range(bits)] for _ in range(characters)]}

        def loss(p):
            return lstm(p["main"], p["extra"], given["state"], given["sequence"])
        parameters = {"main": given["main_params"], "extra": given["extra_params"]}
        slopes = derivative(loss, parameters)
        yield "lstm", "objective", given, loss(parameters).real
        yield "lstm", "jacobian", given, sum(slopes["main"] + slopes["extra"], [])
    parents = [-1, *(0 if bone % 4 == 1 else bone - 1 for bone in range(1, 21)), -1]
    # With few points and with more of them than vertices.
    for mirrored, still, points, surface in ((False, 1, 3, 0), (True, 1, 1, 1), (False, 1e-6, 7, 0), (False, 1, 2, 1)):
        model = {"bone_count": 22, "bone_names": ["bone"] * 22, "parents": parents, "is_mirrored": mirrored,
                 "base_relatives": [[*uniform(3, 4), [0.0, 0.0, 0.0, 1.0]] for _ in parents],
                 "inverse_base_absolutes": [[*uniform(3, 4), [0.0, 0.0, 0.0, 1.0]] for _ in parents],
                 "base_positions": [[*uniform(3), 1.0] for _ in range(6)], "weights": uniform(6, 22),
                 "triangles": [r.sample(range(6), 3) for _ in range(5)]}
        data = {"model": model, "correspondences": [r.randrange(5) for _ in range(points)], "points": uniform(points, 3)}
        given = {"theta": [*(still * a for a in uniform(3)), *uniform(23)], "data": data, "us": uniform(points, 2) if surface else []}
        yield "ht", "objective", given, [e.real for e in ht(given["theta"], given["us"], data)]
        yield "ht", "jacobian", given, ht_jacobian(given["theta"], given["us"], data)
    best = argmin(lambda w: crossing(w[0]).real, lambda w: derivative(lambda v: crossing(v[0]), w), [0.0])[0]
    starts = [1.0, 1.0], [0.25, -0.5]
    points = [saddle(start) for start in starts]
    for modes in ("ff", "fr", "rf", "rr"):
        yield "particle", modes, {"w": 0.0}, best
        for start, point in zip(starts, points):
            yield "saddle", modes, {"start": start}, point
