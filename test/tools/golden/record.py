"""What the families of cases share: seeded inputs, the results of a peer with derivatives, their conditioning, and how they
are written.

A case has operands x, results y and, for fixed numbers w and v, the gradient g of the sum of w y by the operands, and the
gradient h of the sum of v g, of which the sum of u h is kept, and there with y + y^2 / 8 in the place of y, so that the
cotangents depend on x; of functions of elements h itself. golden.cpp makes u, v and w by
the same formulas. Of a long y or g the sum of u y or u g is kept. The condition of a result is its largest change for relative changes of the operands, per unit of these.
"""
import math
import random
import zlib

import mpmath
import numpy
import torch

mp = mpmath.mp
mp.dps = 110
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
STEP = 2.0 ** -20
EIGHTH = mp.mpf(1) / 8
LONG = {"y": 6, "g": 4}  # of longer lists the weighted sum is kept
lines = []
names = set()


def numbers(name):
    """Draws operands of a case: multiples of 1/32, all of them different within one operand."""
    source = random.Random(zlib.crc32(name.encode()))

    def draw(shape, low=-2.0, high=2.0, complex_numbers=False):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        count = int(numpy.prod(shape)) * (2 if complex_numbers else 1)
        values = source.sample([k / 32 for k in range(int(low * 32) + 1, int(high * 32))], count)
        array = numpy.array(values)
        return (array.view(complex) if complex_numbers else array).reshape(shape)

    return draw


def weights(count, j):
    return numpy.array([((7 * i + 3 * j) % 11 - 4.5) / 4 for i in range(count)])


def directions(count, k):
    return numpy.array([((5 * i + 2 * k + 1) % 13 - 5.5) / 8 for i in range(count)])


class Sum(numpy.ndarray):
    """The sum of u h, with the size of what is added: its terms and, since h comes from differences of terms as large, g."""

    size = 0.0


def projected(found):
    """With sums in place of h and of long lists."""
    kept, h = {}, []
    for name, values in found.items():
        if name[0] == "h":
            h.append(name)
        elif len(values) > LONG[name[0]]:
            kept[{"y": "t", "g": "s"}[name[0]] + name[1:]] = added([(name, values)])
        else:
            kept[name] = values
    if h:
        kept["h"] = added([(name, found[name]) for name in h])
        kept["h"].size = max(kept["h"].size, *(numpy.abs(found["g" + name[1:]]).max(initial=0) for name in h))
    return kept


def added(lists):
    # u differs between operands: many functions do not change when all operands move together.
    terms = numpy.concatenate([weights(len(values), 1 + int(name[1:])) * values for name, values in lists])
    total = numpy.array([terms.sum()]).view(Sum)
    total.size = numpy.abs(terms).sum()
    return total


def parts(array):
    """The elements as real numbers: of complex ones both parts."""
    array = numpy.ascontiguousarray(array)
    return (array.view(float) if array.dtype.kind == "c" else array.astype(float)).ravel()


def rounded(number, size=1):
    """Differences of 110 digits leave noise where a derivative is 0."""
    return float(number) if abs(number) > 1e-40 * abs(size) else 0.0


def differentiable(array):
    return array.dtype.kind in "fc"


def like(values, t):
    """The numbers, as a tensor of the shape and dtype of t."""
    flat = torch.tensor(values)
    return (torch.view_as_complex(flat.reshape(-1, 2)) if t.is_complex() else flat).reshape(t.shape)


def count_of(t):
    return t.numel() * (2 if t.is_complex() else 1)


def dot(a, b):
    return (a.real * b.real + a.imag * b.imag).sum() if a.is_complex() else (a * b).sum()


def by_torch(f, order):
    def results(x):
        t = [torch.tensor(array, requires_grad=differentiable(array) and order > 0) for array in x]
        y = f(*t)
        y = list(y) if isinstance(y, (tuple, list)) else [y]
        found = {f"y{j}": parts(r.detach().resolve_conj().numpy()) for j, r in enumerate(y)}
        sources = [(k, a) for k, a in enumerate(t) if a.requires_grad]
        if order == 0 or not sources or not any(r.requires_grad for r in y):
            return projected(found)
        loss = sum(dot(r, like(weights(count_of(r), j), r)) for j, r in enumerate(y) if r.requires_grad)
        g = torch.autograd.grad(loss, [a for _, a in sources], create_graph=order > 1, allow_unused=True)
        g = [torch.zeros_like(a) if d is None else d for d, (_, a) in zip(g, sources)]
        found.update({f"g{k}": parts((torch.zeros_like(d) + d).detach().resolve_conj().numpy()) for d, (k, _) in zip(g, sources)})
        if order > 1:
            bent = sum(dot(r + r * r / 8, like(weights(count_of(r), j), r)) for j, r in enumerate(y) if r.requires_grad)
            g = torch.autograd.grad(bent, [a for _, a in sources], create_graph=True, allow_unused=True)
            g = [torch.zeros_like(a) if d is None else d for d, (_, a) in zip(g, sources)]
            product = sum(dot(d, like(directions(count_of(d), k), d)) for d, (k, _) in zip(g, sources))
            h = [None] * len(sources)
            if product.requires_grad:
                h = torch.autograd.grad(product, [a for _, a in sources], allow_unused=True)
            found.update({f"h{k}": parts((torch.zeros_like(a) + (0 if d is None else d)).detach().resolve_conj().numpy())
                          for d, (k, a) in zip(h, sources)})
        return projected(found)

    return results


def by_numpy(f):
    def results(x):
        y = f(*x)
        y = list(y) if isinstance(y, (tuple, list)) else [y]
        return {f"y{j}": parts(numpy.asarray(r)) for j, r in enumerate(y)}

    return results


def by_mpmath(f, order):
    """f maps lists of numbers, one per operand, to a list of numbers; derivatives are central differences."""
    h = mp.mpf(10) ** -30

    def results(x):
        x = [[mp.mpf(float(e)) for e in array.ravel()] for array in x]
        flat = [(k, i) for k, array in enumerate(x) for i in range(len(array))]

        def moved(x, steps):
            x = [list(array) for array in x]
            for (k, i), step in steps:
                x[k][i] += step
            return x

        def loss(x, bend):
            y = f(*x)
            return mp.fsum(mp.mpf(w) * (r + bend * r * r) for w, r in zip(weights(len(y), 0), y))

        def slope(x, place, bend=0):
            return (loss(moved(x, [(place, h)]), bend) - loss(moved(x, [(place, -h)]), bend)) / (2 * h)

        found = {"y0": [float(r) for r in f(*x)]}
        along = [((k, i), h * mp.mpf(directions(len(x[k]), k)[i])) for k, i in flat]
        back = [(place, -step) for place, step in along]
        for k, array in enumerate(x):
            places = [(k, i) for i in range(len(array))]
            if order > 0:
                found[f"g{k}"] = [rounded(slope(x, p)) for p in places]
            if order > 1:
                found[f"h{k}"] = [rounded((slope(moved(x, along), p, EIGHTH) - slope(moved(x, back), p, EIGHTH)) / (2 * h)) for p in places]
        return projected({name: numpy.array(values) for name, values in found.items()})

    return results


def by_elements(f, order):
    """by_mpmath for a function of numbers that acts on each element by itself."""
    h = mp.mpf(10) ** -30

    def results(x):
        operands = len(x)
        sources = [k for k in range(operands) if differentiable(x[k])]
        found = {name: [] for name in ["y0"] + [f"{o}{k}" for o in "gh"[:order] for k in sources]}
        size = x[0].size
        for i in range(size):
            point = [mp.mpf(float(array.ravel()[i])) for array in x]
            w = mp.mpf(weights(size, 0)[i])
            v = [mp.mpf(directions(size, k)[i]) if differentiable(x[k]) else mp.mpf(0) for k in range(operands)]

            def at(*steps):
                return f(*[p + mp.fsum(s[k] for s in steps) for k, p in enumerate(point)])

            unit = [[h if j == k else mp.mpf(0) for j in range(operands)] for k in range(operands)]
            minus = [[-s for s in u] for u in unit]
            along, back = [h * d for d in v], [-h * d for d in v]
            magnitude = all(point) and f(*point) or 1
            found["y0"].append(float(f(*point)))
            for k in sources:
                if order > 0:
                    found[f"g{k}"].append(rounded(w * (at(unit[k]) - at(minus[k])) / (2 * h), magnitude))
                if order > 1:
                    both = at(unit[k], along) - at(minus[k], along) - at(unit[k], back) + at(minus[k], back)
                    found[f"h{k}"].append(rounded(w * both / (4 * h * h), magnitude))
        return {name: numpy.array(values) for name, values in found.items()}

    return results


def moved_operands(x, seed):
    source = random.Random(seed)
    sign = lambda array: numpy.array([source.choice((-STEP, STEP)) for _ in range(array.size)]).reshape(array.shape)
    return [array * (1 + sign(array)) if differentiable(array) else array for array in x]


def conditions(results, x, found, elementwise):
    """Of each result: the largest change, or the largest relative change of an element."""
    largest = {name: 0.0 for name in found}
    for seed in range(3):
        try:
            other = results(moved_operands(x, seed))
        except Exception:  # a neighbour outside the domain says nothing
            continue
        for name, values in found.items():
            with numpy.errstate(all="ignore"):
                change = numpy.abs(other[name] - values) / STEP
                if elementwise:
                    change = numpy.where(values == 0, 0, change / numpy.abs(values))
            change = change[numpy.isfinite(change)]
            largest[name] = max([largest[name], *change])
    return largest


def text(value):
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e6 and (value or numpy.copysign(1, value) > 0) else repr(value)


def finite_text(value, scale=0.0, relative=False):
    """Digits below the rounding unit of the scale say nothing."""
    value = float(value)
    if numpy.isfinite(value) and scale and value:
        digits = 16 - math.floor(math.log10(scale))
        value = float(f"{value:.{digits}g}") if relative else round(value, digits)
    return text(value) if numpy.isfinite(value) else str(value)


def code(array):
    return {"f": "f8", "c": "c16", "i": "i8", "b": "b1"}[array.dtype.kind]


def case(name, results, x, elementwise=False, at_kink=False, rough_second=False):
    """Writes a case. rough_second: the second derivative is accurate relative to its largest element. at_kink: neighbours have other derivatives, so that the condition is that of the numbers themselves."""
    assert name not in names, name
    names.add(name)
    x = [numpy.asarray(array) for array in x]
    try:
        found = results(x)
    except Exception as error:
        raise RuntimeError(name) from error
    condition = {} if at_kink else conditions(results, x, found, elementwise)
    lines.append(f"case {name}")
    for array in x:
        shape = ",".join(map(str, array.shape)) or "-"
        lines.append(f"x {code(array)} {shape} " + " ".join(map(finite_text, parts(array))))
    for label, values in found.items():
        finite = numpy.abs(values[numpy.isfinite(values)])
        if elementwise and not isinstance(values, Sum):
            condition[label] = min(condition.get(label, 0.0), 8.0)
        by_element = elementwise and not (rough_second and label[0] == "h")
        size = values.size if isinstance(values, Sum) else max([0.0, *finite])
        scale = condition.get(label, 0.0) + (1.0 if by_element else size * (1 + condition.get(label, 0.0)) if elementwise else size)
        kind = "%" if by_element else "+"
        lines.append(f"{label} {kind}{scale:.2g} " + " ".join((finite_text(v, scale, by_element) for v in values)))


def peer(who, what, answer):
    """Adds to the last case what a peer answers: numbers, or the error it raises."""
    try:
        values = parts(answer())
        if what[0] == "g" and len(values) > LONG["g"]:
            what, values = "s" + what[1:], added([(what, values)])
        said = " ".join(map(finite_text, values))
    except TypeError as error:  # there is such a function, and the question was wrong
        raise RuntimeError(f"{who}: {what}") from error
    except Exception as error:
        said = "raises " + " ".join(f"{type(error).__name__}: {error}".split())[:110]
    lines.append(f"peer {who} {what} {said}")


def lacks(who, what, why):
    lines.append(f"peer {who} {what} lacks {why}")


class Draw:
    """An operand of this shape, drawn by the case."""

    def __init__(self, shape, low=-2.0, high=2.0, complex_numbers=False):
        self.arguments = (shape, low, high, complex_numbers)


def cplx(*shape):
    return Draw(shape, complex_numbers=True)


def positive(*shape):
    return Draw(shape, 0.25, 3.0)


def operands(name, x):
    draw = numbers(name)
    made = []
    for spec in x:
        if isinstance(spec, Draw):
            made.append(draw(*spec.arguments))
        elif isinstance(spec, tuple):
            made.append(draw(spec))
        elif isinstance(spec, list):
            array = numpy.array(spec)
            made.append(array)
        else:
            made.append(spec)
    return made


def T(name, f, *x, order=2, **options):
    """A case by PyTorch. Operands are shapes, draws, or lists and arrays as they are. Where PyTorch has no second derivative,
    the case says so and has the first."""
    x, said = operands(name, x), None
    try:
        by_torch(f, order)([numpy.asarray(array) for array in x])
    except (RuntimeError, NotImplementedError) as error:
        if order < 2 or "implement" not in str(error):
            raise RuntimeError(name) from error
        order, said = 1, " ".join(str(error).split())[:90]
    case(name, by_torch(f, order), x, **options)
    if said:
        lines.append(f"peer torch second raises {said}")


def N(name, f, *x, **options):
    """Values by NumPy or SciPy."""
    case(name, by_numpy(f), operands(name, x), **options)


def M(name, f, *x, order=2, **options):
    """A function of lists of numbers by mpmath."""
    case(name, by_mpmath(f, order), operands(name, x), **options)


def E(name, f, *x, order=2, **options):
    """A function of numbers by mpmath, with a relative tolerance for each element."""
    case(name, by_elements(f, order), operands(name, x), elementwise=True, **options)


def stated(name, *x, **figures):
    """What the definition gives."""
    case(name, lambda _: {label: parts(numpy.array(values, float)) for label, values in figures.items()}, operands(name, x), elementwise=True, at_kink=True)


def L(name, f, *x, **options):
    """A linear function of its last operand, of which SciPy gives the columns: an exact derivative."""
    shape = operands(name, x)[-1].shape
    columns = numpy.array([f(e.reshape(shape)) for e in numpy.eye(int(numpy.prod(shape)))])
    matrix = torch.tensor(columns)
    T(name, lambda t: (t.reshape(-1).to(matrix.dtype) @ matrix.reshape(len(columns), -1)).reshape(columns.shape[1:]), *x, **options)
