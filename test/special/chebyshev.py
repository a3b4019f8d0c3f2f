"""Interpolants at Chebyshev nodes, by mpmath: shared by the scripts that make the kernels' polynomials."""
import mpmath as mp


def series(f, low=-1, high=1, count=48):
    """The Chebyshev coefficients of the interpolant of f at `count` Chebyshev nodes of low < v < high."""
    middle, half = mp.mpf(high + low) / 2, mp.mpf(high - low) / 2
    nodes = [mp.cos(mp.pi * (2 * j + 1) / (2 * count)) for j in range(count)]
    values = [f(middle + half * t) for t in nodes]
    coefficients = [2 * mp.fsum(y * mp.chebyt(k, t) for y, t in zip(values, nodes)) / count for k in range(count)]
    coefficients[0] /= 2
    return coefficients, max(map(abs, values))


def in_powers(chebyshev, low=-1, high=1):
    """The coefficients in powers of v, low < v < high, of a series of Chebyshev polynomials."""
    middle, half = mp.mpf(high + low) / 2, mp.mpf(high - low) / 2
    size = len(chebyshev)
    # Chebyshev polynomials in powers of t, then t = (v - middle) / half by Taylor's theorem at -middle / half.
    before, now, of_t = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)] * size
    for k in range(size):
        for n, c in enumerate(before):
            of_t[n] += chebyshev[k] * c
        before, now = now, [2 * a - b for a, b in zip([0] + now, before + [0] * (len(now) + 1 - len(before)))]
    shift = -middle / half
    moved = [mp.fsum(of_t[n] * mp.binomial(n, k) * shift ** (n - k) for n in range(k, size)) for k in range(size)]
    return [c / half**k for k, c in enumerate(moved)]


def powers(f, error, low=-1, high=1):
    """Coefficients in powers of v of the interpolant of f on low < v < high, as few as have this error relative to the
    largest value."""
    coefficients, largest = series(f, low, high)
    size = next(n for n in range(1, len(coefficients)) if mp.fsum(map(abs, coefficients[n:])) < error * largest)
    return in_powers(coefficients[:size], low, high)
