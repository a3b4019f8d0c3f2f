"""Prints lib/special/bessel/fits.hpp: Chebyshev interpolants for Bessel functions of order 0 and 1, by mpmath.

Usage: python3 make_bessel_fits.py | clang-format --style=file:.clang-format > lib/special/bessel/fits.hpp
"""
import mpmath as mp

from chebyshev import powers

mp.mp.dps = 50
NEAR, FAR, I_FAR = 2, 5, 8  # where the expansions of J and Y near 0 end, where those of large x begin; of I; K has 1

ZEROS = {"j0": [mp.besseljzero(0, 1), mp.besseljzero(0, 2)], "j1": [mp.besseljzero(1, 1), mp.besseljzero(1, 2)],
         "y0": [mp.besselyzero(0, 2)], "y1": [mp.besselyzero(1, 1), mp.besselyzero(1, 2)]}


def modulus_parts(n, x):
    """P and Q of DLMF 10.18.4 and 10.17.3, of all x: J = sqrt(2 / (pi x)) (P cos w - Q sin w), w = x - (2 n + 1) pi / 4."""
    w, scale = x - (2 * n + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
    j, y = mp.besselj(n, x), mp.bessely(n, x)
    return (j * mp.cos(w) + y * mp.sin(w)) * scale, (y * mp.cos(w) - j * mp.sin(w)) * scale


# Functions of x as functions of what the polynomials are in.
def of_quarter_square(f):
    return lambda z: f(2 * mp.sqrt(z))


def of_square(f):
    return lambda z: f(mp.sqrt(z))


def of_middle(f):
    return lambda t: f(mp.mpf(NEAR + FAR) / 2 + mp.mpf(FAR - NEAR) / 2 * t)


def of_inverse(f):
    return lambda t: f(2 * I_FAR / (t + 1))


def of_inverse_square(f):
    return lambda t: f(FAR / mp.sqrt((t + 1) / 2))


def of_quotient(f):
    return lambda t: f((3 + t) / (1 - t))


def exponential_tail(r):
    return mp.hyp1f1(1, 3, r) / 2


def fits(error):
    """Name, formula and coefficients."""
    for n in (0, 1):
        yield f"i{n}_near", f"I_{n}(x) / (x / 2)^{n} = 1 + z f(z), z = x^2 / 4, x < {I_FAR}", powers(of_quarter_square(
            lambda x: (mp.besseli(n, x) / (x / 2) ** n - 1) / (x / 2) ** 2), error / 32, 0, I_FAR**2 // 4)
        yield f"i{n}_far", f"I_{n}(x) sqrt(x) exp(-x) = f(t), t = {2 * I_FAR} / x - 1, x > {I_FAR}", powers(of_inverse(
            lambda x: mp.besseli(n, x) * mp.exp(-x) * mp.sqrt(x)), error)
    yield "exp_tail", "(e^r - 1 - r) / r^2 = f(r), |r| < log(2) / 2", powers(
        exponential_tail, error, -mp.log(2) / 2, mp.log(2) / 2)
    yield "k0_near", "K_0(x) + log(x) I_0(x) = f(x^2), x < 1", powers(of_square(
        lambda x: mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)), error, 0, 1)
    yield "k1_near", "(K_1(x) - log(x) I_1(x) - 1 / x) / x = f(x^2), x < 1", powers(of_square(
        lambda x: (mp.besselk(1, x) - mp.log(x) * mp.besseli(1, x) - 1 / x) / x), error, 0, 1)
    for n in (0, 1):
        yield f"k{n}_far", f"K_{n}(x) sqrt(x) exp(x) = f(t), t = (x - 3) / (x + 1), x > 1", powers(of_quotient(
            lambda x: mp.besselk(n, x) * mp.exp(x) * mp.sqrt(x)), error)
    yield "j0_near", f"J_0(x) = 1 + z f(z), z = x^2, x < {NEAR}", powers(of_square(
        lambda x: (mp.besselj(0, x) - 1) / x**2), error, 0, NEAR**2)
    yield "j1_near", f"J_1(x) / x = f(x^2), x < {NEAR}", powers(of_square(lambda x: mp.besselj(1, x) / x), error, 0, NEAR**2)
    yield "y0_near", f"Y_0(x) - 2 / pi log(x) J_0(x) = f(x^2), x < {NEAR}", powers(of_square(
        lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)), error, 0, NEAR**2)
    yield "y1_near", f"(Y_1(x) - 2 / pi (log(x) J_1(x) - 1 / x)) / x = f(x^2), x < {NEAR}", powers(of_square(
        lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x), error, 0, NEAR**2)
    for name, zeros in ZEROS.items():
        bessel = mp.besselj if name[0] == "j" else mp.bessely
        yield f"{name}_middle", (f"{name[0].upper()}_{name[1]}(x) by the product of x less its zeros = f(t), "
                                 f"t = (x - {(NEAR + FAR) / 2}) / {(FAR - NEAR) / 2}, {NEAR} < x < {FAR}"), powers(of_middle(
            lambda x: bessel(int(name[1]), x) / mp.fprod(x - z for z in zeros)), error)
    for n in (0, 1):
        for k, name in enumerate("pq"):
            yield f"{name}{n}_far", f"{name.upper()}_{n}(x){' x' * k} = f(t), t = {2 * FAR**2} / x^2 - 1, x > {FAR}", powers(
                of_inverse_square(lambda x: modulus_parts(n, x)[k] * x**k), error * 8**k)


def literal(c):
    return float(c).hex()


print("""// Polynomials of special/bessel/vectors.hpp: made by test/special/make_bessel_fits.py.
#pragma once

namespace reel::kernels::math {
""")
print("// The zeros of the functions: each is the sum of its double and of `_lost`, the rounding error of that double.")
for name, zeros in ZEROS.items():
    for which, zero in zip(("first", "second"), zeros):
        print(f"inline constexpr double {name}_{which}_zero = {literal(zero)}, "
              f"{name}_{which}_zero_lost = {literal(zero - mp.mpf(float(zero)))};")

print("\n// The polynomials of a result that is rounded to T. All are evaluated in double.\ntemplate <class T>\nstruct BesselFits;")
for dtype, error, unused in ("double", -57, "e"), ("float", -34, "k"):
    print(f"\ntemplate <>\nstruct BesselFits<{dtype}> {{  // relative errors of about 2^{error}")
    for name, formula, coefficients in fits(mp.mpf(2) ** error):
        if name[0] != unused:
            print(f"// {formula}\nstatic constexpr double {name}[] = {{{', '.join(map(literal, coefficients))}}};\n")
    print("};")
print("\n}  // namespace reel::kernels::math")
