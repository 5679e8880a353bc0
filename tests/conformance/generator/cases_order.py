"""ArgReduce, ArgSort, Cumulative, Softmax, Norm."""
import math

import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import (Family, bits, constant_along, fractions, integers, naturals, ramp, singles, with_specials)


def arg_reduce():
    f = Family("arg_reduce")

    def add(name, x, axis, keep_dims=False, dtypes="all"):
        for kind in ("max", "min"):
            f.add(f"arg{kind} {name}", "arg_reduce", {"kind": kind, "axis": axis, "keep_dims": keep_dims}, dtypes, [x],
                  ("i64", ref.arg_reduce(x, kind, axis, keep_dims)))

    for axis in range(3):
        add(f"over axis {axis}", fractions((3, 4, 5), 1), axis, axis == 1)
        add(f"of signed integers over axis {axis}", integers((3, 4, 5), 2), axis)
        add(f"with ties over axis {axis}", naturals((3, 4, 5), 3, 2), axis, axis == 0)
        add(f"of flags over axis {axis}", bits((3, 4, 5), 4), axis)
    add("of rows that repeat", constant_along(fractions((3, 4, 5), 5), 0), 2)
    add("of one element", array([7]), 0)
    add("over an axis of one", fractions((3, 1, 5), 6), 1, True)
    add("of no rows", ref.empty((0, 4)), 1)
    add("of rows of nothing else", ref.empty((3, 0, 4)), 2, True)
    add("of a NaN in the middle", array([1.0, nan, -3.0]), 0)  # case 22
    add("of two NaN in front", array([nan, nan, 3.0]), 0)
    add("of ties", array([3, 3, -2, -2]), 0)
    add("of infinities", array([[0.0, inf, inf, -inf, -inf], [-inf, -inf, -inf, -inf, -inf], [inf, nan, inf, nan, -inf]]), 1)
    add("of both zeros", array([[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0]]), 1)
    for n in (600, 2100):
        row = fractions((1, n), n)
        row[0, 1] = nan
        add(f"of a NaN in a row of {n}", row, 1)
        late = fractions((1, n), n)
        late[0, n - 2] = nan
        add(f"of a NaN late in a row of {n}", late, 1)
        ties = integers((1, n), n)
        add(f"of ties in a row of {n}", ties, 1)
    column = fractions((600, 2), 9)
    column[5, 1] = nan
    add("of a NaN in a column of 600", column, 0)
    add("of the ends of i64", array([[-2 ** 63, 2 ** 63 - 1, 2 ** 63 - 2], [2 ** 53, 2 ** 53 + 1, 2 ** 53]]), 1, dtypes=["i64"])
    add("of numbers a float would merge", array([2 ** 31 - 2, 2 ** 31 - 1, -2 ** 31]), 0, dtypes=["i32", "i64"])
    return f


def arg_sort():
    f = Family("arg_sort")

    def add(name, x, axis, counts=(-1,), dtypes="all"):
        for descending in (False, True):
            for count in counts:
                title = f"{name}{', descending' if descending else ''}{f', first {count}' if count >= 0 else ''}"
                f.add(title, "arg_sort", {"axis": axis, "descending": descending, "count": count}, dtypes, [x],
                      ("i64", ref.argsort(x, axis, descending, count)))

    for axis in range(3):
        add(f"along axis {axis}", fractions((3, 4, 5), 11), axis, (-1, 2))
        add(f"ties along axis {axis}", naturals((3, 4, 5), 12, 2), axis, (-1, 0, 3))
    add("signed integers", integers((3, 4, 5), 13), 2)
    add("flags", bits((3, 4, 5), 14), 2, (-1, 2))
    add("rows that repeat", constant_along(fractions((3, 4, 5), 15), 0), 2)
    add("NaN and infinities", with_specials(fractions((2, 10), 16), [nan, inf, -inf, nan, 0.0, -0.0, inf]), 1, (-1, 1, 4))
    add("only NaN", array([nan, nan, nan]), 0, (-1, 2))
    add("both zeros", array([0.0, -0.0, 0.0, -0.0]), 0)
    add("a long row with ties", integers((1, 300), 17), 1, (-1, 10))
    add("a long column", fractions((200, 2), 18), 0, (-1, 7))
    add("one element", array([[5]]), 0)
    add("an axis of rank 8", fractions((2, 1, 3, 1, 2, 1, 2, 2), 19), 2, (-1, 2))
    add("no rows", ref.empty((0, 4)), 1, (-1, 2))
    add("empty rows", ref.empty((3, 0)), 1)
    add("the ends of i64", array([2 ** 63 - 1, -2 ** 63, 0, 2 ** 53 + 1, 2 ** 53]), 0, dtypes=["i64"])
    return f


def cumulative():
    f = Family("cumulative")

    def add(name, x, axis, kinds=("sum", "prod", "max", "min"), dtypes="numbers"):
        for kind in kinds:
            out, magnitude = ref.cumulative(x, kind, axis)
            rounding = (x.shape[axis], magnitude, "wide") if kind in ("sum", "prod") and x.size else None
            f.add(f"{kind} {name}", "cumulative", {"kind": kind, "axis": axis}, dtypes, [x], out, rounding)

    for axis in range(3):
        add(f"along axis {axis}", fractions((3, 4, 5), 21), axis)
    add("of f32 numbers", singles((3, 4, 5), 22), 2)
    add("of signed integers", integers((3, 4, 5), 23, -4, 4), 1)
    add("of naturals", naturals((3, 4, 5), 24, 3), 2)
    add("of rows that repeat", constant_along(fractions((3, 4, 5), 25), 0), 1)
    add("of zeros among numbers", array([2, 0, 3, 4]), 0)
    add("of a NaN and infinities", array([[1.0, nan, 3.0, -inf], [2.0, inf, 1.0, -inf], [-1.0, -inf, nan, 4.0]]), 1)
    add("of one element", array([[3.0]]), 1)
    add("of no rows", ref.empty((0, 4)), 1)
    add("of empty rows", ref.empty((3, 0)), 1)
    add("of wrapping integers", array([2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30, 7, -2 ** 31, -2 ** 31]), 0, ("sum", "prod"), "ints")
    add("of wrapping bytes", array([200, 100, 7, 255, 3]), 0, ("sum", "prod"), ["u8"])
    add("of wrapping i64", array([2 ** 62, 2 ** 62, 2 ** 62, -3]), 0, ("sum", "prod"), ["i64"])
    ones = array([1] * 4096)  # case 29: a half stalls at 2048 when it accumulates in itself
    f.add("sum of 4096 ones", "cumulative", {"kind": "sum", "axis": 0}, "floats", [ones], ramp((4096,), 1))
    tenths = array([float(np.float32(0.1))] * 4096)
    f.add("sum of 4096 tenths", "cumulative", {"kind": "sum", "axis": 0}, "floats", [tenths],
          array([(i + 1) * float(np.float32(0.1)) for i in range(4096)]), (4096, 410.0, "wide"))
    return f


def softmax():
    f = Family("softmax")

    def add(name, x, axis):
        n = x.shape[axis]
        for log in (False, True):
            out, magnitude = ref.softmax(x, axis, log)
            f.add(f"{'log ' if log else ''}{name}", "softmax", {"axis": axis, "log": log}, "floats", [x], out,
                  (n + 8, magnitude) if x.size else None)

    for axis in range(3):
        add(f"along axis {axis}", fractions((3, 4, 5), 31), axis)
    add("of f32 numbers", singles((3, 4, 5), 32, -8, 8), 2)
    add("of rows that repeat", constant_along(fractions((3, 4, 5), 33), 0), 2)
    add("of a longer row", fractions((2, 100), 34), 1)
    add("of large numbers", array([[1000.0, 1000.0, 1000.0], [-1000.0, -1000.0, -1000.0], [1024.0, 1016.0, 1008.0]]), 1)
    add("with masked entries", array([[0.5, -inf, 1.5], [-inf, -inf, 2.0], [1.0, 2.0, -inf]]), 1)
    add("of nothing but masked entries", array([[-inf, -inf, -inf], [0.0, 1.0, 2.0], [-inf, 0.0, -inf]]), 1)
    add("of an infinity", array([[inf, 0.0, 1.0], [0.0, 1.0, 2.0], [inf, inf, -inf]]), 1)
    add("of a NaN", array([[nan, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 1.0, nan]]), 1)
    add("of one entry", array([[3.0], [-4.0]]), 1)
    add("of no rows", ref.empty((0, 4)), 1)
    add("of empty rows", ref.empty((3, 0)), 1)
    x = ramp((3, 4), 1.0)  # case 26: the axis to reduce is the strided one
    out, magnitude = ref.softmax(x.T.copy(), 1)
    f.add("of a transposed matrix", [["permute", {"order": [1, 0]}, [0]], ["softmax", {"axis": 1, "log": False}, [1]]], None,
          "floats", [x], out, (12, magnitude))
    return f


def norm():
    f = Family("norm")

    def add(name, x, eps=1e-5, parameters=(0, 1, 2), kinds=("layer", "rms"), weight=None, bias=None):
        n = x.shape[-1]
        weight = fractions((n,), 41) if weight is None else weight
        bias = fractions((n,), 42) if bias is None else bias
        for kind in kinds:
            for count in parameters:
                given = [weight, bias][:count]
                out, magnitude = ref.norm(x, kind, eps, *given)
                title = f"{kind} {name}{['', ' with weight', ' with weight and bias'][count]}"
                f.add(title, "norm", {"kind": kind, "eps": eps}, "floats", [x] + given, out,
                      (n + 8, magnitude) if x.size else None)

    add("of fractions", fractions((3, 4, 5), 43))
    add("of f32 numbers", singles((3, 4, 5), 44))
    add("of rows that repeat", constant_along(fractions((3, 4, 5), 45), 0), parameters=(2,))
    add("with equal weights", fractions((3, 4, 5), 46), parameters=(2,), weight=array([0.5] * 5), bias=array([-2.0] * 5))
    add("of a longer row", fractions((2, 100), 47), parameters=(0, 2))
    add("of a vector", fractions((5,), 48), parameters=(0, 2))
    add("with a large eps", fractions((3, 4, 5), 49), eps=2.0, parameters=(1,))
    add("of numbers far from zero", array([float(np.float32(1000 + i / 64)) for i in range(20)], (4, 5)), parameters=(0,))
    add("of equal numbers", array([[2.0] * 5, [0.0] * 5, [-1.5] * 5]), parameters=(0, 2))
    add("of equal numbers without eps", array([[2.0] * 5, [-0.5] * 5]), eps=0.0, parameters=(0,), kinds=("rms",))
    add("of a NaN and an infinity", array([[1.0, nan, 2.0], [1.0, inf, 2.0], [1.0, 0.5, 2.0]]), parameters=(0, 2))
    add("of one element a row", array([[3.0], [-4.0], [0.0]]), parameters=(0,))
    add("of no rows", ref.empty((0, 4)), parameters=(0, 2))
    add("of empty rows", ref.empty((3, 0)), parameters=(0, 2))
    return f


def order_families():
    return [arg_reduce(), arg_sort(), cumulative(), softmax(), norm()]
