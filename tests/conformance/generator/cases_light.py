"""The families that tests/conformance/*_cases.hpp also compare with a model in C++: a few cases of each."""
import math

import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import (Family, bits, constant_along, fractions, integers, naturals, ramp, singles, with_specials)

SPECIALS = [0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5]
FLOAT_UNARY = ["floor", "ceil", "round", "trunc", "recip", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh",
               "sigmoid", "erf"]


def unary():
    f = Family("unary")

    def add(name, kind, x, dtypes, rounding=None):
        out = array([ref.unary(kind, v) for v in x.ravel()], x.shape)
        if rounding is not None:
            magnitude = array([abs(v) + rounding if math.isfinite(v) else 0.0 for v in out.ravel()], x.shape)
            rounding = (4, magnitude)
        f.add(f"{kind} of {name}", "unary", {"kind": kind}, dtypes, [x], out, rounding, signed_zeros=kind in ("neg", "abs"))

    special = with_specials(fractions((3, 4, 5), 201), SPECIALS)
    for kind in ("neg", "abs", "sign"):
        add("special numbers", kind, special, "floats")
        add("signed integers", kind, integers((3, 4, 5), 202), ["i64", "i32"])
        if kind != "neg":
            add("bytes", kind, array([0, 1, 127, 128, 255]), ["u8"])
            add("rows that repeat", kind, constant_along(fractions((3, 4, 5), 203), 0), "floats")
        lowest = {"neg": "abs"}.get(kind, kind)
        if kind != "sign":  # case 32: wraps to itself
            add("the ends of i64", kind, array([-2 ** 63, 2 ** 63 - 1, 0]), ["i64"])
            add("the ends of i32", kind, array([-2 ** 31, 2 ** 31 - 1, 0]), ["i32"])
    for kind in FLOAT_UNARY:
        exact = kind in ("floor", "ceil", "round", "trunc")
        add("special numbers", kind, special, "floats", None if exact else 1 if kind in ("sin", "cos", "log") else 0)
        if not exact:
            add("f32 numbers", kind, singles((3, 4, 5), 204), "floats", 1 if kind in ("sin", "cos", "log") else 0)
    add("flags", "logical_not", bits((3, 4, 5), 205), ["bool"])
    add("integers", "bit_not", integers((3, 4, 5), 206), ["i64", "i32"])
    add("bytes", "bit_not", array([0, 1, 127, 128, 255]), ["u8"])
    add("nothing", "exp", ref.empty((0, 4)), "floats")
    add("a scalar", "tanh", array([0.5], ()), "floats", 0)
    return f


def binary():
    f = Family("binary")

    def add(name, kind, a, b, dtypes, width=None):
        out = ref.broadcasting(lambda x, y: ref.binary(kind, x, y, width), a, b)
        rounding = None
        if out.size and isinstance(out.ravel()[0], float) and kind in ("pow", "rem"):
            def scale(x, y):
                if kind == "rem":
                    return abs(x) + abs(y)
                value = abs(ref.binary(kind, x, y))
                return value * (2 + abs(y * math.log(abs(x)))) if x and math.isfinite(value) else 0.0
            rounding = (4, ref.broadcasting(scale, a, b))
        f.add(f"{kind} of {name}", "binary", {"kind": kind}, dtypes, [a, b], out, rounding)

    for i, kind in enumerate(("add", "sub", "mul", "div", "rem", "pow", "max", "min")):
        a, b = fractions((3, 4, 5), 211 + i), fractions((3, 4, 5), 221 + i)
        if kind == "pow":
            a = ref.absolute(a)
        add("fractions", kind, a, b, "floats")
        add("fractions and a row", kind, a, b[0, 0], "floats")
        add("naturals and a column", kind, naturals((3, 4, 5), 231 + i, 3), naturals((3, 4, 1), 241 + i, 3),
            "ints" if kind in ("div", "pow", "rem") else "numbers")
        add("signed integers", kind, integers((3, 4, 5), 251 + i), integers((4, 1), 261 + i), ["i64", "i32"])
        if kind not in ("pow", "rem"):
            x, y = with_specials(a, SPECIALS), with_specials(b, SPECIALS[3:] + SPECIALS[:3])
            if kind != "div":
                add("special numbers", kind, x, y, "floats")
            else:
                add("special numbers", kind, array([1.0, -1.0, 0.0, inf, nan, -0.0]), array([0.0, 0.0, 0.0, inf, 1.0, 5.0]), "floats")
    add("scalars", "mul", array([3], ()), array([5], ()), "numbers")
    add("a scalar and a matrix", "sub", array([8], ()), naturals((2, 3), 275, 7), "numbers")
    ends = array([-2 ** 63, 2 ** 63 - 1, -2 ** 63, 5, -2 ** 63])
    others = array([-1, 1, 2 ** 63 - 1, 0, 0])
    for kind in ("add", "sub", "mul", "div", "rem", "max", "min"):
        add("the ends of i64", kind, ends, others, ["i64"])
    for kind in ("div", "rem"):  # case 31
        add("both signs", kind, array([-3, -2, -1, 1, 2, 3, -7, 7, -7, 7]), array([2, 3, 1, 2, 1, 3, 2, 2, -2, -2]), ["i64", "i32"])
        add("both signs of floats", kind, array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, -7.0, 7.0, -7.0, 7.0]),
            array([2.0, 4.0, 1.0, 2.0, 1.0, 8.0, 2.0, 2.0, -2.0, -2.0]), "floats")
    add("negative exponents", "pow", array([1, -1, -1, 2, 0, 3]), array([-5, -3, -2, -1, -1, 4]), ["i64", "i32"])
    for kind in ("bit_and", "bit_or", "bit_xor"):
        add("naturals", kind, naturals((3, 4, 5), 271, 255), naturals((3, 4, 5), 272, 255), "ints")
        add("flags", kind, bits((3, 4, 5), 273), bits((3, 1, 5), 274), ["bool"])
    for dtype, width in (("i64", 64), ("i32", 32), ("u8", 8)):
        for kind in ("shift_left", "shift_right"):
            x = array([1, 5, 200 if width == 8 else -200, 7, 100, 3, 9])
            counts = array([0, 1, 3, width - 1, width, width + 1, 200])
            add(f"{dtype} by many counts", kind, x, counts, [dtype], width)
    for a, b in (((2, 0), (2, 1)), ((0, 3), (1, 3)), ((1, 0), (2, 0)), ((0,), (3, 1))):  # case 1
        add(f"{list(a)} and {list(b)}", "add", ref.array([1] * int(np.prod(a)), a), ref.array([1] * int(np.prod(b)), b), "numbers")
    return f


def compare_where_cast():
    compare, where, cast = Family("compare"), Family("where"), Family("cast")
    a, b = with_specials(fractions((3, 4, 5), 281), SPECIALS), with_specials(fractions((3, 4, 5), 282), SPECIALS[4:] + SPECIALS[:4])
    for kind in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        for name, x, y, dtypes in (("special numbers", a, b, "floats"), ("naturals", naturals((3, 4, 5), 283, 3), naturals((4, 1), 284, 3), "numbers"),
                                   ("nothing", ref.empty((2, 0)), ref.array([1, 2], (2, 1)), "numbers"),
                                   ("neighbours a float would merge", array([2 ** 53, 2 ** 53 + 1]), array([2 ** 53 + 1, 2 ** 53 + 1]), ["i64"])):
            compare.add(f"{kind} of {name}", "compare", {"kind": kind}, dtypes, [x, y],
                        ("bool", ref.broadcasting(lambda u, v: ref.compare(kind, u, v), x, y)))
    for name, c, x, y in (("of fractions", bits((3, 4, 5), 285), a, b), ("that broadcasts", bits((4, 1), 286), naturals((3, 1, 5), 287), naturals((1,), 288)),
                          ("of flags", bits((3, 4, 5), 289), bits((3, 4, 5), 290), bits((5,), 291)),
                          ("of nothing", bits((2, 1), 292), ref.empty((2, 0)), ref.array([1, 2], (2, 1)))):  # case 1
        where.add(name, "where", {}, "all", [("bool", c), x, y], ref.broadcasting(lambda p, u, v: u if p else v, c, x, y), signed_zeros=True)

    def convert(v, to):
        if to == "bool":
            return bool(v != 0)
        if to in ("f64", "f32", "f16", "bf16"):
            return float(v)
        low, high = {"i64": (-2 ** 63, 2 ** 63 - 1), "i32": (-2 ** 31, 2 ** 31 - 1), "u8": (0, 255)}[to]
        if isinstance(v, float):
            if math.isnan(v):
                return 0
            return low if v <= low else high if v >= high else math.trunc(v)
        return (v - low) % (high - low + 1) + low

    floats = with_specials(fractions((3, 4, 5), 293), SPECIALS + [256.0, -256.0, 0.875, -0.875])
    huge = array([2.0 ** 31, -2.0 ** 31, 2.0 ** 40, -2.0 ** 40, 2.0 ** 63, -2.0 ** 63, 2.0 ** 70, -2.0 ** 70, 2.0 ** 31 - 2.0 ** 23])
    whole = array([0, 1, -1, 255, 256, -256, 300, 2 ** 31 - 1, -2 ** 31, 2 ** 31, 2 ** 40 + 5, 2 ** 63 - 1, -2 ** 63])
    for to in ("f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool"):
        def add(name, x, dtypes):
            cast.add(f"{name} to {to}", "cast", {"dtype": to}, dtypes, [x], (to, array([convert(v, to) for v in x.ravel()], x.shape)))
        add("special numbers", floats, "floats")
        add("huge numbers", huge, ["f64", "f32", "bf16"])
        add("naturals", naturals((3, 4, 5), 294), "numbers")
        add("flags", bits((3, 4, 5), 295), "all")
        if to in ("i64", "i32", "u8", "bool"):
            add("any integer", whole, ["i64"])
            add("i32", whole[:9], ["i32"])
    return [compare, where, cast]


def reduce():
    f = Family("reduce")

    def add(name, x, axes, keep_dims=False, kinds=("sum", "mean", "prod", "max", "min"), dtypes=None):
        for kind in kinds:
            out, magnitude, count = ref.reduce(x, kind, axes, keep_dims)
            extreme = kind in ("max", "min")
            f.add(f"{kind} {name}", "reduce", {"kind": kind, "axes": axes, "keep_dims": keep_dims},
                  dtypes or ("all" if extreme else "numbers"), [x], out, None if extreme or not out.size else (min(count, 64) + 2, magnitude))

    for axes in ([], [0], [1], [2], [0, 2], [0, 1, 2]):
        add(f"of fractions over {axes}", fractions((3, 4, 5), 301, 1), axes, len(axes) == 1)
    add("of naturals", naturals((3, 4, 5), 302, 3), [1], kinds=("sum", "prod", "max", "min"))
    add("of signed integers", integers((3, 4, 5), 303), [2], dtypes=["i64", "i32"])
    add("of flags", bits((3, 4, 5), 304), [2], kinds=("max", "min"))
    add("of special numbers", array([[1.0, nan, -3.0], [inf, -inf, 0.0], [inf, 1.0, 2.0], [-inf, -inf, -1.0]]), [1])  # case 22
    add("of a scalar", array([3], ()), [], kinds=("sum", "prod", "max", "min"))
    add("of rank 8", fractions((2, 1, 2, 1, 2, 1, 2, 2), 305, 1), [0, 3, 6], True)
    add("of an empty axis", ref.empty((3, 0)), [1], kinds=("sum", "prod"))  # case 2
    add("of an empty axis of floats", ref.empty((3, 0)), [1], kinds=("mean",), dtypes="floats")
    add("of no rows", ref.empty((0, 3)), [1], True)
    x = array([[1, 2, 3], [4, 5, 6]])  # case 9
    for kind in ("sum", "prod", "mean"):
        out, magnitude, count = ref.reduce(x.T.astype(object) if kind != "mean" else array([[float(v) for v in r] for r in x.T]), kind, [1])
        f.add(f"{kind} of a transposed matrix", [["permute", {"order": [1, 0]}, [0]], ["reduce", {"kind": kind, "axes": [1], "keep_dims": False}, [1]]],
              None, "floats" if kind == "mean" else "numbers", [x], out, (4, magnitude))
    rows = ramp((2, 65), 1)  # case 15
    for kind, values in (("sum", [6370, 2145]), ("max", [130, 65])):
        f.add(f"{kind} of reversed rows", [["flip", {"axes": [0]}, [0]], ["reduce", {"kind": kind, "axes": [1], "keep_dims": False}, [1]]],
              None, "numbers", [rows], array(values), (66, 6370.0) if kind == "sum" else None)
    opposite = array([32000] * 4 + [-32000] * 4)  # case 27
    f.add("sum of large halves that cancel", "reduce", {"kind": "sum", "axes": [0], "keep_dims": False}, "floats", [opposite], ref.reduce(opposite, "sum", [0])[0])
    return f


def matmul():
    f = Family("matmul")

    def add(name, a, b, dtypes="numbers"):
        out, magnitude, k = ref.matmul(a, b)
        f.add(name, "matmul", {}, dtypes, [a, b], out, (k + 2, magnitude) if out.size else None)

    add("of matrices", fractions((4, 5), 311), fractions((5, 3), 312), "floats")
    add("of integers", integers((4, 5), 313), integers((5, 3), 314))
    add("of naturals", naturals((4, 5), 315, 3), naturals((5, 3), 316, 3))
    add("of f32 numbers", singles((4, 5), 317), singles((5, 3), 318), "floats")
    add("of a batch", fractions((2, 4, 5), 319), fractions((2, 5, 3), 320), "floats")
    add("of a batch and one matrix", fractions((2, 4, 5), 321), fractions((5, 3), 322), "floats")
    add("of batches that broadcast", fractions((2, 1, 2, 3), 323), fractions((3, 3, 2), 324), "floats")
    add("of a row", fractions((1, 33), 325), fractions((33, 7), 326), "floats")
    add("of a column", fractions((7, 33), 327), fractions((33, 1), 328), "floats")
    add("of special numbers", array([[1.0, inf], [nan, 2.0], [0.0, -inf]]), array([[1.0, 0.0], [2.0, 1.0]]), "floats")
    for k in (1, 3, 17, 35):  # what is not finite spoils its own row and column only, however a kernel groups terms
        a, b = fractions((5, k), 329, 1), fractions((k, 6), 330, 1)
        a[1, 0], a[3, k - 1], b[k - 1, 2] = nan, inf, -inf
        add(f"of special numbers, {k} terms", a, b, "floats")
        add(f"of a transposed matrix with special numbers, {k} terms", a, constant_along(b, 0), "floats")
    add("over nothing", ref.empty((2, 0)), ref.empty((0, 3)))
    add("of nothing", ref.empty((3, 0, 0)), ref.empty((0, 0)))  # case 4
    return f


def layout():
    f = Family("layout")

    def add(name, op, attributes, x, out, dtypes="all"):
        f.add(name, op, attributes, dtypes, [x] if isinstance(x, np.ndarray) else x, out, signed_zeros=True)

    x = with_specials(fractions((3, 4, 5), 331), SPECIALS)
    n = naturals((3, 4, 5), 332)
    for shape in ([60], [5, 4, 3], [3, 2, 2, 5], [1, 12, 1, 5]):
        add(f"reshape to {shape}", "reshape", {"shape": shape}, x, x.reshape(shape))
    add("reshape of nothing", "reshape", {"shape": [3, 0]}, ref.empty((0, 5)), ref.empty((3, 0)))
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2], [2, 1, 0]):
        add(f"permute by {order}", "permute", {"order": order}, x, x.transpose(order))
    eight = fractions((2, 1, 2, 1, 2, 1, 2, 2), 337)
    add("permute of rank 8", "permute", {"order": [7, 0, 1, 6, 5, 2, 3, 4]}, eight, eight.transpose([7, 0, 1, 6, 5, 2, 3, 4]))
    add("reshape of a scalar", "reshape", {"shape": [1, 1]}, array([3], ()), array([[3]]))
    one = fractions((3, 1, 5), 333)
    add("expand an axis", "expand", {"shape": [3, 4, 5]}, one, array(np.broadcast_to(one, (3, 4, 5)).copy()))
    add("expand by leading axes", "expand", {"shape": [2, 3, 2, 5]}, one, array(np.broadcast_to(one, (2, 3, 2, 5)).copy()))
    add("expand to nothing", "expand", {"shape": [3, 0, 5]}, one, ref.empty((3, 0, 5)))
    for start, stop, step in (([1, 0, 2], [3, 4, 5], [1, 1, 1]), ([0, 1, 0], [3, 4, 5], [2, 2, 3]), ([2, 2, 2], [2, 4, 3], [1, 1, 1])):
        add(f"slice {start} to {stop} by {step}", "slice", {"start": start, "stop": stop, "step": step}, n, n[ref.slices(start, stop, step)])
    for axes in ([0], [2], [0, 1, 2], []):
        add(f"flip of {axes}", "flip", {"axes": axes}, x, np.flip(x, axes) if axes else x)
    y = fractions((3, 2, 5), 334)
    add("cat of two", "cat", {"axis": 1}, [x, y], np.concatenate([x, y], 1))
    add("cat of one", "cat", {"axis": 0}, [x], x)
    add("cat of three, one empty", "cat", {"axis": 1}, [x, ref.empty((3, 0, 5)), y], np.concatenate([x, y], 1))
    add("cat of flags", "cat", {"axis": 2}, [bits((3, 4, 5), 335), bits((3, 4, 1), 336)],
        np.concatenate([bits((3, 4, 5), 335), bits((3, 4, 1), 336)], 2))
    forty = ramp((8, 5))  # case 10
    f.add("prefix, then sum", [["slice", {"start": [0, 0], "stop": [5, 5], "step": [1, 1]}, [0]], ["reshape", {"shape": [25]}, [1]]],
          None, "numbers", [forty], ramp((25,)))
    f.add("no times repeated", [["slice", {"start": [0, 0, 0], "stop": [2, 0, 4], "step": [1, 1, 1]}, [0]], ["cat", {"axis": 2}, [1, 1]]],
          None, "all", [array([1] * 24, (2, 3, 4))], ref.empty((2, 0, 8)))  # case 7
    f.add("reversed and doubled", [["flip", {"axes": [0]}, [0]], ["binary", {"kind": "add"}, [1, 1]]], None, "numbers",
          [ramp((8,))], ramp((8,), 14, -2))  # case 15
    b = array([[1, 0], [1, 1]])  # case 12
    f.add("a matrix and its transpose", [["permute", {"order": [1, 0]}, [0]], ["binary", {"kind": "bit_and"}, [0, 1]]], None,
          ["bool", "u8", "i32", "i64"], [b], array([[1, 0], [0, 1]]))
    return f


def light_families():
    return [unary(), binary()] + compare_where_cast() + [reduce(), matmul(), layout()]
