"""Prints polynomials of the kernels, by mpmath: erfinv_series and erfcinv_less_root of lib/kernels/math/normal.hpp, arctanh_rest
of lib/kernels/math/log.hpp.

With d = erf(z), q = erfc(|z|), w = -log(q (2 - q)) and s = sqrt(-log q):
erfinv_series is (z / d - sqrt(pi) / 2) / w for w < 5, erfcinv_less_root is |z| - s as a function of (s - K) / (s + K) beyond.
arctanh_rest is (arctanh(t) - t) / t^3 as a function of t^2 for |t| <= 1/3.
"""
import mpmath as mp

from chebyshev import in_powers, powers, series

mp.mp.dps = 60
W_MOST = 5
S_SQUARED_LEAST = mp.mpf("5.68")  # w > 4.98: a little less than W_MOST


def erfinv_series(w):
    d = mp.sqrt(1 - mp.exp(-w))
    return (mp.erfinv(d) / d - mp.sqrt(mp.pi) / 2) / w


def erfcinv_less_root(s):
    """By Newton's method for log erfc(z) = -s^2."""
    z = s
    while True:
        tail = mp.erfc(z)
        step = (mp.log(tail) + s * s) * tail * mp.sqrt(mp.pi) / (2 * mp.exp(-z * z))
        z += step
        if abs(step) < mp.mpf(10) ** -50:
            return z - s


def arctanh_rest(w):
    t = mp.sqrt(w)
    return (mp.atanh(t) - t) / (w * t)


def literal(c, dtype):
    """Hexadecimal, rounded to dtype."""
    if dtype == "double":
        return float(c).hex()
    mantissa, exponent = mp.frexp(c)
    rounded = mp.ldexp(mp.nint(mp.ldexp(mantissa, 24)), exponent - 24)
    digits, power = float(rounded).hex().split("p")
    return f"{digits[:-7]}p{power}F"


# The greatest s^2 are a little more than -log q of the least q: 2^-149 and 2^-1074.
for dtype, near_size, far_size, K, s_squared_most in ("float", 9, 8, 3, 105), ("double", 21, 25, 6, 747):
    near, _ = series(erfinv_series, 0, W_MOST)
    ends = [(s - K) / (s + K) for s in (mp.sqrt(S_SQUARED_LEAST), mp.sqrt(s_squared_most))]
    far, _ = series(lambda t: erfcinv_less_root(K * (1 + t) / (1 - t)), *ends)
    for name, coefficients in (("erfinv_series", in_powers(near[:near_size], 0, W_MOST)),
                               ("erfcinv_less_root", in_powers(far[:far_size], *ends))):
        print(f"{name}, {dtype}: {', '.join(literal(c, dtype) for c in coefficients)}")

for dtype, error in ("float", -26), ("double", -52):
    print(f"arctanh_rest, {dtype}: {', '.join(literal(c, dtype) for c in powers(arctanh_rest, mp.mpf(2) ** error, 0, mp.mpf(1) / 9))}")
