"""Writes region_values.hpp: values by mpmath at 60 digits of functions whose method depends on the arguments
(lib/special/values), on both sides of the borders between methods and far out.

Usage: make_region_values.py > region_values.hpp. Needs python3-mpmath; the tests do not. Operands are float32 numbers,
so that both dtypes have the same.
"""
import struct

import mpmath as mp

mp.mp.dps = 60


def single(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def around(x, apart=1e-4):
    return [x * (1 - apart), x, x * (1 + apart)]


def gamma_points():
    for a in [1e-38, 1e-20, 1e-5, 0.3, 0.4999, 0.5, 0.8]:
        yield from ((a, x) for x in [1e-38, 1e-10, 0.2, *around(1.1), a + 1, 1.4999, 2.5, 9.0])
    for a in [1.5, 1.9999, 2.0, 2.5, 6.3, 9.9999, 10.0, 17.0]:
        yield from ((a, x) for x in [0.01, a / 3, *around(a + 1), 2 * a + 3, 60.0])
    for a in [29.999, 30.0, 47.5, 300.0]:
        yield from ((a, x) for x in [a / 10, *around(0.7 * a), a, a + 1, *around(1.3 * a)])
    for a in [2e3, 1e6]:
        yield from ((a, a + s * a**0.5) for s in [-11.5, -11.2, -3, 0, 2, 11.2, 11.5])
    yield (1e8, 1.0001e8)
    yield from [(150.0, 760.0), (9.5, 760.0), (700.0, 80.0), (900.0, 290.0), (5e3, 7e3)]


def zeta_points():
    for s in [1.0001, 1.5, 3.0, 9.0, 40.0, 300.0]:
        yield from ((s, q) for q in [1e-4, 0.5, 1.0, 7.3, 9.0, 11.0, 30.0, 1e3] if s * abs(mp.log(q, 10)) < 35)


def bessel_points():
    for n in [0, 1, 2, 5, 12, 13, 40]:
        edge = (4 * n + 6)**0.5
        yield from ((n, x) for x in [1e-30, 0.5, -0.5, *around(edge), n + 0.5, -n - 1.5, 700.0] if x**n != 0 or n < 2)


POLYNOMIALS = {
    'legendre': lambda n, x, p, before: ((2 * n + 1) * x * p - n * before) / (n + 1),
    'chebyshev_t': lambda n, x, p, before: (x if n == 0 else 2 * x) * p - before,
    'chebyshev_u': lambda n, x, p, before: 2 * x * p - before,
    'hermite': lambda n, x, p, before: 2 * x * p - 2 * n * before,
    'hermite_e': lambda n, x, p, before: x * p - n * before,
    'laguerre': lambda n, x, p, before: ((2 * n + 1 - x) * p - n * before) / (n + 1)
}


def polynomial(step):
    def of(n, x):
        p, before = mp.mpf(1), mp.mpf(0)
        for k in range(int(n)):
            p, before = step(k, x, p, before), p
        return p
    return of


def spherical(n, x):
    return mp.sign(x)**int(n) * mp.sqrt(mp.pi / (2 * abs(x))) * mp.besselj(n + mp.mpf(1) / 2, abs(x))


def gamma_p(a, x):
    """By its series: mpmath's own gives up for large a."""
    term = total = mp.mpf(1)
    n = 0
    while term > total * mp.eps:
        n += 1
        term *= x / (a + n)
        total += term
    return total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))


def gamma_q(a, x):
    with mp.workdps(60 + max(0, int((x - a - a * mp.log(x / a)) / 2))):
        return 1 - gamma_p(a, x)


def gamma_slope(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def multigammaln(a, d):
    return sum(mp.loggamma(a - mp.mpf(j) / 2) for j in range(int(d))) + d * (d - 1) / 4 * mp.log(mp.pi)


def main():
    cases = [('gammainc', gamma_p, gamma_points()), ('gammaincc', gamma_q, gamma_points()),
             ('gamma_slope', gamma_slope, list(gamma_points())[::5]),
             ('zeta', mp.zeta, zeta_points()),
             ('multigammaln', multigammaln, [((d - 1) / 2 + x, d) for d in [1, 2, 7, 101] for x in [1e-3, 1.3, 1e6]]),
             ('spherical_jn', spherical, bessel_points()),
             ('airy_ai', mp.airyai, [(x,) for x in [0, 1e-30, -1e-30, 0.5, -0.5, 1.7, *around(2.5), *around(5), 20, 24,
                                                    -3, -7.2, *around(-10.5), -200, -3e4, -1e9, -8e9]])]
    for name, step in POLYNOMIALS.items():
        ends = [1e-30, -1e-9, 0.3, 0.4999, 0.5, -0.9, 0.999, -0.99999, 1.0001, -2.0] if name < 'h' or name == 'legendre' else [0.3, 2.5, -4.0, 9.0]
        orders = [1, 2, 3, 9, 30, 128, 129] if name < 'h' or name == 'legendre' else [2, 3, 9, 24]
        cases.append((name, polynomial(step), [(n, x) for n in orders for x in ends]))
    print('// Written by make_region_values.py.\n#pragma once\n\nnamespace {\n')
    print('struct RegionValue {\n  const char* function;\n  double operands[2], value;\n};\n')
    print('// clang-format off\nconstexpr RegionValue region_values[] = {')
    line = '   '
    for name, f, points in cases:
        for point in points:
            point = [single(x) for x in point]
            value = f(*map(mp.mpf, point))
            if not 1e-37 < abs(value) < 1e38:
                continue
            operands = ', '.join(float(x).__repr__() for x in point)
            entry = f' {{"{name}", {{{operands}}}, {mp.nstr(value, 17)}}},'
            if len(line + entry) > 120:
                print(line)
                line = '   '
            line += entry
    print(line)
    print('};\n// clang-format on\n\n}  // namespace')


if __name__ == '__main__':
    main()
