#!/usr/bin/env python3
"""Fits the polynomials of math_parts.cpp, expand_math.cpp, functions.cpp and base/special.hpp: weighted minimax by Remez exchange (needs mpmath), then coefficients rounded
to the precision they are used in. Prints each with the largest weighted error as a power of two, lowest degree first."""
import struct
import mpmath as mp

mp.mp.dps = 50


def minimax(f, low, high, degree, weight=lambda x: mp.mpf(1)):
    """Coefficients c of the polynomial that makes max |weight * (f - c)| least on [low, high]."""
    low, high, n = mp.mpf(low), mp.mpf(high), degree + 2
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / (24 * n)) for k in range(24 * n + 1)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(30):
        a = mp.matrix(n, n)
        b = mp.matrix(n, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                a[i, j] = x ** j
            a[i, degree + 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        solution = mp.lu_solve(a, b)
        c = [solution[j] for j in range(degree + 1)]
        error = [w * (v - mp.polyval(c[::-1], x)) for x, v, w in zip(grid, values, weights)]
        # the largest error of every run of one sign
        runs, k = [], 0
        while k < len(grid):
            best = k
            while k < len(grid) and (error[k] >= 0) == (error[best] >= 0):
                if abs(error[k]) > abs(error[best]):
                    best = k
                k += 1
            runs.append(best)
        while len(runs) > n:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n:
            break
        new = [grid[k] for k in runs]
        if new == nodes:
            break
        nodes = new
    return c, max(abs(e) for e in error)


def rounded(v, single):
    return struct.unpack("f", struct.pack("f", float(v)))[0] if single else float(v)


def show(name, fit, single):
    c, error = fit
    print(f"{name}: 2^{float(mp.log(error, 2)):.1f}")
    print("   {" + ", ".join(repr(rounded(v, single)) for v in c) + "}")


def split(name, v, single, parts):
    out = []
    for _ in range(parts):
        out.append(rounded(v, single))
        v -= mp.mpf(out[-1])
    print(f"{name}: {out}")


def exp_tail(r):
    return (mp.exp(r) - 1 - r) / r**2 if abs(r) > mp.mpf(10)**-15 else mp.mpf(1) / 2 + r / 6


def log_tail(f):
    return (mp.log(1 + f) - f + f * f / 2) / f**3 if abs(f) > mp.mpf(10)**-12 else mp.mpf(1) / 3 - f / 4


def atanh_tail(z):  # log((1+s)/(1-s)) = s (2 + z t(z)), z = s^2
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 3), [0, mp.inf]) if z > 0 else mp.mpf(2) / 3


def atanh_tail2(z):
    return mp.nsum(lambda k: 2 * z**k / (2 * k + 5), [0, mp.inf]) if z > 0 else mp.mpf(2) / 5


def sin_tail(z):
    return (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > mp.mpf(10)**-15 else -mp.mpf(1) / 6


def cos_tail(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > mp.mpf(10)**-12 else mp.mpf(1) / 24


def erf_core(z):
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > 0 else 2 / mp.sqrt(mp.pi) - 1


def erfc_scaled(u, top):
    """e^(x^2) erfc(x) for x in [1, top], over u = (1/x - centre) / radius in [-1, 1], which keeps the powers small."""
    x = erfc_argument(u, top)
    return mp.exp(x * x) * mp.erfc(x)


def erfc_argument(u, top):
    low = 1 / mp.mpf(top)
    return 1 / ((1 + low) / 2 + u * (1 - low) / 2)


def asin_tail(z):
    return (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > mp.mpf(10)**-15 else mp.mpf(1) / 6


def atan_tail(z):
    return (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > mp.mpf(10)**-15 else -mp.mpf(1) / 3


def erfc_mapped(u, centre):
    """(1 + 2 x) e^(x^2) erfc(x) over u = (x - centre) / (x + centre)."""
    x = centre * (1 + u) / (1 - u)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def erfinv_ratio(w):
    """erfinv(x) / x for x^2 = 1 - e^-w, by Newton's method on log erfc."""
    if w < mp.mpf(10)**-12:
        return mp.sqrt(mp.pi) / 2
    rest = mp.exp(-w)
    x = mp.sqrt(1 - rest)
    target = mp.log(rest / (1 + x))
    y = mp.sqrt(w) * (mp.mpf("0.95") if w > 1 else mp.sqrt(mp.pi) / 2)
    for _ in range(40):
        e = mp.erfc(y)
        step = (target - mp.log(e)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y -= step
        if abs(step) < mp.mpf(10)**-35 * y:
            break
    return y / x


def fit_functions():
    weight = lambda z: z + mp.mpf("1e-9")
    z_pi8 = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0005")
    show("asin f32", minimax(asin_tail, 0, 0.25, 4, weight), True)
    show("asin f64", minimax(asin_tail, 0, 0.25, 11, weight), False)
    show("atan f32", minimax(atan_tail, 0, z_pi8, 4, weight), True)
    show("atan f64", minimax(atan_tail, 0, z_pi8, 10, weight), False)
    for centre, end, degree, single in ((2, mp.mpf("10.2"), 9, True), (4, mp.mpf("27.5"), 22, False)):
        f = lambda u: erfc_mapped(u, centre)
        show("scaled erfc", minimax(f, -1, (end - centre) / (end + centre), degree, lambda u: 1 / f(u)), single)
    centre = lambda u: erfinv_ratio(u + mp.mpf(5) / 2)
    tail = lambda s: erfinv_ratio((s + 3) ** 2)
    show("erfinv centre", minimax(centre, -2.5, 2.5, 9, lambda u: 1 / centre(u)), True)
    for end, degree in (("4.09", 7), ("6.1", 8)):
        show("erfinv tail", minimax(tail, mp.sqrt(5) - 3, mp.mpf(end) - 3, degree, lambda s: 1 / tail(s)), True)


def main():
    half_ln2 = mp.log(2) / 2 * mp.mpf("1.0005")
    z_log = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0005")
    z_pi4 = (mp.pi / 4) ** 2 * mp.mpf("1.002")
    split("ln2 f64", mp.log(2), False, 2)
    split("pi/2 f32", mp.pi / 2, True, 3)
    split("pi/2 f64", mp.pi / 2, False, 3)
    split("2/3 f64", mp.mpf(2) / 3, False, 2)
    show("exp f64", minimax(exp_tail, -half_ln2, half_ln2, 9, lambda r: r * r + mp.mpf("1e-9")), False)
    show("log f32", minimax(log_tail, mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1, 7, lambda f: f * f + mp.mpf("1e-9")), True)
    show("log f64", minimax(atanh_tail, 0, z_log, 6), False)
    show("pow f64", minimax(atanh_tail2, 0, z_log, 8), False)
    show("sin f32", minimax(sin_tail, 0, z_pi4, 2, lambda z: z + mp.mpf("1e-9")), True)
    show("cos f32", minimax(cos_tail, 0, z_pi4, 2, lambda z: z * z + mp.mpf("1e-9")), True)
    show("sin f64", minimax(sin_tail, 0, z_pi4, 5, lambda z: z + mp.mpf("1e-9")), False)
    show("cos f64", minimax(cos_tail, 0, z_pi4, 5, lambda z: z * z + mp.mpf("1e-9")), False)
    show("erf f32, |x| < 1", minimax(erf_core, 0, 1, 6), True)
    show("erf f64, |x| < 1", minimax(erf_core, 0, 1, 12), False)
    for top, degree, single in ((4, 7, True), (6, 18, False)):
        weight = lambda u: mp.exp(-erfc_argument(u, top) ** 2)
        show(f"erfc {'f32' if single else 'f64'}", minimax(lambda u: erfc_scaled(u, top), -1, 1, degree, weight), single)

    fit_functions()


main()
