"""Fft: sums of exact products, rounded once."""
import math

import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import Family, constant_along, fractions


def line(x, sign):
    """sum_t x[t] exp(sign 2 pi i k t / n) of complex numbers, and what its rounding errors are proportional to."""
    n = len(x)
    out = []
    for k in range(n):
        turns = [2 * math.pi * (k * t % n) / n for t in range(n)]
        re = math.fsum(p for v, a in zip(x, turns) for p in (v.real * math.cos(a), -sign * v.imag * math.sin(a)))
        im = math.fsum(p for v, a in zip(x, turns) for p in (sign * v.real * math.sin(a), v.imag * math.cos(a)))
        out.append(complex(re, im))
    return out, math.fsum(abs(v.real) + abs(v.imag) for v in x)


def transformed(x, kind, axis, size):
    """(result, magnitudes)"""
    rows = np.moveaxis(x, axis, -1 if kind == "rfft" else -2)
    lead = rows.shape[:-1] if kind == "rfft" else rows.shape[:-2]
    results, magnitudes = [], []
    for at in np.ndindex(*lead):
        values = [complex(v) for v in rows[at]] if kind == "rfft" else [complex(*v) for v in rows[at]]
        if kind == "irfft":
            values[0] = complex(values[0].real)
            if size % 2 == 0:
                values[-1] = complex(values[-1].real)
            values += [values[k].conjugate() for k in range((size - 1) // 2, 0, -1)]
        out, magnitude = line(values, -1 if kind in ("fft", "rfft") else 1)
        if kind in ("ifft", "irfft"):
            out, magnitude = [v / size for v in out], magnitude / size
        if kind == "rfft":
            out = out[:size // 2 + 1]
        results.append([v.real for v in out] if kind == "irfft" else [[v.real, v.imag] for v in out])
        magnitudes.append(np.full(np.shape(results[-1]), magnitude))
    back = lambda y: np.moveaxis(y.reshape(lead + np.shape(results[0])), -1 if kind == "irfft" else -2, axis)
    return array(back(np.array(results)).tolist()), array(back(np.array(magnitudes)).tolist())


def fft_families():
    f = Family("fft")

    def add(name, kind, x, axis, size):
        out, magnitude = transformed(x, kind, axis, size)
        f.add(f"{kind} {name}", "fft", {"kind": kind, "axis": axis, "size": size}, "floats", [x], out,
              (4 * math.ceil(math.log2(size) + 4), magnitude, "wide"))

    for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 37, 41, 60, 74):
        add(f"of {n} points", "fft", fractions((n, 2), 400 + n), 0, n)
        add(f"of {n} points", "ifft", fractions((n, 2), 410 + n), 0, n)
        add(f"of {n} points", "rfft", fractions((n,), 420 + n), 0, n)
        add(f"of {n} points", "irfft", fractions((n // 2 + 1, 2), 430 + n), 0, n)
    for axis in range(3):
        n = (3, 4, 5)[axis]
        add(f"along axis {axis}", "fft", fractions((3, 4, 5, 2), 441), axis, n)
        add(f"along axis {axis}", "ifft", fractions((3, 4, 5, 2), 442), axis, n)
        add(f"along axis {axis}", "rfft", fractions((3, 4, 5), 443), axis, n)
        add(f"along axis {axis}", "irfft", fractions((3, 4, 5, 2), 444), axis, 2 * n - 1)
    add("of lines that repeat", "rfft", constant_along(fractions((3, 6), 445), 0), 1, 6)
    for kind, shape, size, out in (("fft", (0, 4, 2), 4, (0, 4, 2)), ("rfft", (4, 0), 4, (3, 0, 2)), ("irfft", (0, 3, 2), 4, (0, 4))):
        f.add(f"{kind} of no lines", "fft", {"kind": kind, "axis": 0 if kind == "rfft" else 1, "size": size}, "floats", [ref.empty(shape)],
              ref.empty(out))
    f.add("rfft of a NaN", "fft", {"kind": "rfft", "axis": 1, "size": 2}, "floats", [array([[1.0, nan], [1.0, 2.0]])],
          array([[[nan, 0.0], [nan, 0.0]], [[3.0, 0.0], [-1.0, 0.0]]]))
    f.add("irfft of an imaginary infinity that is not read", "fft", {"kind": "irfft", "axis": 0, "size": 1}, "floats", [array([[2.0, inf]])],
          array([2.0]))
    return [f]
