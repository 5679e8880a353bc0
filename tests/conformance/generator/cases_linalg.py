"""Linalg: exact rational elimination where a result is unique; products of the factors where it is not."""
import math
from fractions import Fraction

import numpy as np

from . import reference as ref
from .reference import array
from .support import Family, constant_along, fractions

PLAIN = ["f64", "f32"]  # factors of halves are rounded before they are multiplied again


def eliminate(a, b):
    """(determinant, solution of a x = b or None), exactly."""
    n = a.shape[0]
    rows = [[Fraction(v) for v in list(a[i]) + list(b[i])] for i in range(n)]
    determinant = Fraction(1)
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i] != 0), None)
        if pivot is None:
            return Fraction(0), None
        if pivot != i:
            rows[i], rows[pivot] = rows[pivot], rows[i]
            determinant = -determinant
        determinant *= rows[i][i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [v - rows[r][i] * p for v, p in zip(rows[r], rows[i])]
    return determinant, np.array([[float(v) for v in row[n:]] for row in rows], dtype=float).reshape(b.shape)


def cholesky(a):
    n = a.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            rest = float(a[i, j]) - ref.total(out[i, k] * out[j, k] for k in range(j))
            out[i, j] = rest ** 0.5 if i == j else rest / out[j, j]
    return out


def log_determinant(a):
    """(sign, log of the magnitude) from the exact determinant."""
    determinant = eliminate(a, a)[0]
    if determinant == 0:
        return 0.0, -math.inf
    return (1.0 if determinant > 0 else -1.0), math.log(abs(determinant.numerator)) - math.log(determinant.denominator)


def each(a, f, *others):
    """f(matrix...) for a batch; the results stacked as an object array of floats."""
    batch = a.shape[:-2]
    results = [np.asarray(f(*[m[at] for m in (a,) + others]), dtype=float) for at in np.ndindex(*batch)]
    shape = batch + results[0].shape
    return array([float(v) for r in results for v in r.ravel()], shape)


def linalg_families():
    f = Family("linalg")

    def plain(m):
        return np.array(m.tolist(), dtype=float)

    def add(name, kind, inputs, out, bound):
        """`bound`: condition x norm; the algorithms err by a few n of its roundings."""
        n = inputs[0].shape[-1]
        f.add(f"{kind} {name}", "linalg", {"kind": kind}, "floats", inputs, out, (8 * n, bound) if out.size else None)

    def matrices(shape, seed):
        a = fractions(shape, seed, 1)
        for i in range(shape[-1]):
            a[..., i, i] = a[..., i, i] + 2 * shape[-1]
        return a

    def worst(a, f):
        return float(max(f(plain(a[at])) for at in np.ndindex(*a.shape[:-2])))

    for name, shape in (("of a matrix", (4, 4)), ("of a batch", (3, 2, 2)), ("of one number", (1, 1)), ("of two batch axes", (2, 2, 3, 3))):
        a = matrices(shape, 351)
        n = shape[-1]
        condition = worst(a, np.linalg.cond)
        b = fractions(shape[:-1] + (2,), 352)
        add(name, "solve", [a, b], each(a, lambda m, r: eliminate(m, r)[1], b), condition * 4)
        eye = array(np.eye(n).tolist())
        add(name, "inverse", [a], each(a, lambda m: eliminate(m, eye)[1]), condition * worst(a, lambda m: np.abs(np.linalg.inv(m)).max()))
        add(name, "determinant", [a], each(a, lambda m: float(eliminate(m, eye)[0])), condition * worst(a, lambda m: abs(np.linalg.det(m))))
        s = a.copy()
        for i in range(n):
            for j in range(i):
                s[..., j, i] = s[..., i, j]
        lower = s.copy()
        for i in range(n):
            lower[..., i, i + 1:] = 3.0  # only the lower triangle is read
        add(name, "cholesky", [lower], each(s, cholesky), condition * 4)
        spectrum = each(s, lambda m: np.linalg.eigvalsh(plain(m)))
        top = worst(s, lambda m: np.linalg.norm(m))
        row, column = list(shape[:-1]), list(shape[:-1]) + [1]
        order = list(range(len(shape) - 2)) + [len(shape) - 1, len(shape) - 2]
        f.add(f"eigenvalues {name}", [["linalg", {"kind": "eigh"}, [0]], ["reshape", {"shape": row}, [1]]], None, "floats",
              [lower], spectrum, (8 * n, top))
        f.add(f"eigenvectors {name}", [
            ["linalg", {"kind": "eigh"}, [0]], ["reshape", {"shape": list(shape[:-2]) + [1, n]}, [1]], ["binary", {"kind": "mul"}, [2, 3]],
            ["permute", {"order": order}, [2]], ["matmul", {}, [4, 5]]], None, PLAIN, [lower], s, (16 * n, top))
    swapped = array([[0.0, 2.0], [4.0, 0.0]])
    add("that needs a pivot", "determinant", [swapped], array(-8.0, ()), 8.0)
    add("that needs a pivot", "solve", [swapped, array([[2.0], [8.0]])], array([[2.0], [1.0]]), 8.0)
    add("of a singular matrix", "determinant", [array([[1.0, 2.0], [2.0, 4.0]])], array(0.0, ()), 8.0)
    add("of a batch that repeats", "determinant", [constant_along(matrices((3, 2, 2), 353), 0)],
        each(constant_along(matrices((3, 2, 2), 353), 0), lambda m: float(eliminate(m, m)[0])), 100.0)
    for kind in ("cholesky", "inverse"):
        add("of no matrices", kind, [ref.empty((0, 3, 3))], ref.empty((0, 3, 3)), 0)
    add("of empty matrices", "determinant", [ref.empty((2, 0, 0))], array([1.0, 1.0]), 0)

    for m, n in ((4, 4), (5, 3), (3, 5), (1, 4)):
        a = fractions((2, m, n), 354)
        k, top = min(m, n), worst(a, np.linalg.norm)
        eye = array(np.broadcast_to(np.eye(k), (2, k, k)).tolist())
        transposed = [0, 2, 1]
        qr, svd = ["linalg", {"kind": "qr"}, [0]], ["linalg", {"kind": "svd"}, [0]]
        f.add(f"qr of {m} x {n}", [qr, ["matmul", {}, [1, 2]]], None, PLAIN, [a], a, (16 * (m + n), top))
        f.add(f"q of {m} x {n} is orthogonal", [qr, ["permute", {"order": transposed}, [1]], ["matmul", {}, [3, 1]]], None, PLAIN,
              [a], eye, (16 * (m + n), 1.0))
        f.add(f"svd of {m} x {n}", [svd, ["reshape", {"shape": [2, 1, k]}, [2]], ["binary", {"kind": "mul"}, [1, 4]],
                                    ["matmul", {}, [5, 3]]], None, PLAIN, [a], a, (16 * (m + n), top))
        f.add(f"singular values of {m} x {n}", [svd, ["reshape", {"shape": [2, k]}, [2]]], None, "floats", [a],
              each(a, lambda x: np.linalg.svd(plain(x), compute_uv=False)), (16 * (m + n), top))
        f.add(f"u of {m} x {n} is orthogonal", [svd, ["permute", {"order": transposed}, [1]], ["matmul", {}, [4, 1]]], None, PLAIN,
              [a], eye, (16 * (m + n), 1.0))
        # L U, its rows scattered to where the order took them from, is the matrix.
        below = array([[1 if j < i else 0 for j in range(k)] for i in range(m)])
        above = array([[1 if j >= i else 0 for j in range(n)] for i in range(k)])
        whole = {"start": [0, 0, 0], "step": [1, 1, 1]}
        f.add(f"lu of {m} x {n}", [
            ["linalg", {"kind": "lu"}, [0]],
            ["slice", whole | {"stop": [2, m, k]}, [5]], ["where", {}, [1, 7, 3]], ["binary", {"kind": "add"}, [8, 4]],
            ["slice", whole | {"stop": [2, k, n]}, [5]],
            ["where", {}, [2, 10, 3]], ["matmul", {}, [9, 11]],
            ["reshape", {"shape": [2, m, 1]}, [6]], ["expand", {"shape": [2, m, n]}, [13]], ["scatter", {"axis": 1, "mode": "assign"}, [0, 14, 12]]],
            None, PLAIN, [a, ("bool", below), ("bool", above), array(0.0, ()), array(np.eye(m, k).tolist())], a, (16 * (m + n), top))
    for name, a in (("of matrices", matrices((3, 4, 4), 355)), ("that need pivots", array([[[0.0, 2.0], [4.0, 0.0]], [[0.0, -2.0], [4.0, 1.0]]])),
                    ("of singular matrices", array([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])),
                    ("of a determinant beyond any float", array((np.eye(40) * 2.0 ** -40).tolist()))):
        condition, n = (1.0 if "singular" in name else worst(a, np.linalg.cond)), a.shape[-1]
        for index, what in enumerate(("sign", "log")):
            shape = list(a.shape[:-2])
            out = each(a, lambda m: log_determinant(m)[index])
            f.add(f"{what} of slogdet {name}", [["linalg", {"kind": "slogdet"}, [0]], ["reshape", {"shape": shape + [1]}, [1 + index]]], None,
                  PLAIN if n > 9 else "floats", [a], out.reshape(shape + [1]), None if index == 0 or "singular" in name else (8 * n * n, condition * 8))
    return [f]
