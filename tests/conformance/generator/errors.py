"""Calls that must be refused: with which error, and what its message must name."""
import numpy as np

from .reference import array
from .support import Family


def zeros(dtype, *shape):
    return dtype, array([0] * int(np.prod(shape, dtype=np.int64)), shape)


def error_family():
    f = Family("errors")
    add = f.add_error
    x, flags = zeros("f32", 2, 3), zeros("bool", 2, 3)
    named = "f32[2, 3]"
    for op, extra in (("arg_reduce", {"kind": "max", "keep_dims": False}), ("arg_sort", {"descending": False, "count": -1}),
                      ("cumulative", {"kind": "sum"}), ("softmax", {"log": False}), ("unfold", {"size": 1, "step": 1})):
        for axis in (2, -1):
            add(f"{op} over axis {axis}", op, {"axis": axis} | extra, [x], "ShapeError", [f"axis {axis}", "rank 2", named])
    for kind in ("max", "min"):
        for keep in (False, True):
            add(f"arg{kind} of an empty axis, {keep}", "arg_reduce", {"kind": kind, "axis": 1, "keep_dims": keep}, [zeros("f32", 3, 0)],
                "ShapeError", [f"[arg{kind}]", "empty axis", "f32[3, 0]"])  # case 2
        add(f"arg{kind} of nothing", "arg_reduce", {"kind": kind, "axis": 1, "keep_dims": False}, [zeros("i64", 0, 0)], "ShapeError",
            ["empty axis"])
        add(f"{kind} of an empty axis", "reduce", {"kind": kind, "axes": [1], "keep_dims": False}, [zeros("f16", 3, 0)], "ShapeError",
            ["empty axis", "f16[3, 0]"])
        add(f"{kind} of nothing", "reduce", {"kind": kind, "axes": [1], "keep_dims": False}, [zeros("f32", 0, 0)], "ShapeError", ["empty axis"])
    add("mean of no integers", "reduce", {"kind": "mean", "axes": [1], "keep_dims": False}, [zeros("i32", 3, 0)], "ShapeError", ["empty axis"])
    add("sum of flags", "reduce", {"kind": "sum", "axes": [1], "keep_dims": False}, [flags], "DTypeError", ["bool[2, 3]"])
    add("more than there are", "arg_sort", {"axis": 1, "descending": False, "count": 4}, [x], "ShapeError", ["4", "3", named])
    add("cumulative of flags", "cumulative", {"kind": "sum", "axis": 1}, [flags], "DTypeError", ["bool"])
    add("softmax of integers", "softmax", {"axis": 1, "log": False}, [zeros("i32", 2, 3)], "DTypeError", ["softmax", "floats", "i32[2, 3]"])

    for axis in (0, 1):
        for dtype in ("i64", "i32"):
            shape = [[4, 3], [2, 4]][axis]
            values = [0] * int(np.prod(shape))
            for bad in (-1, [2, 3][axis], 2 ** 31 - 1):
                at = values.copy()
                at[3] = bad
                index = dtype, array(at, shape)
                names = [f"index {bad} ", f"axis {axis}", named]
                add(f"gather {dtype} {bad} on axis {axis}", "gather", {"axis": axis}, [x, index], "IndexError", ["[gather]"] + names)
                for mode in ("assign", "add"):
                    add(f"scatter {mode} {dtype} {bad} on axis {axis}", "scatter", {"axis": axis, "mode": mode},
                        [x, index, zeros("f32", *shape)], "IndexError", ["[scatter]"] + names)
    add("gather from nothing", "gather", {"axis": 1}, [zeros("f32", 2, 0), zeros("i64", 2, 1)], "IndexError", ["[gather]", "index 0"])
    add("gather far out", "gather", {"axis": 0}, [zeros("u8", 5), ("i64", array([2 ** 62]))], "IndexError", [str(2 ** 62)])
    add("gather, shared index", "gather", {"axis": 0}, [zeros("f32", 2, 3), ("i64", array([2, 2, 2], (1, 3)))], "IndexError", ["index 2"])
    index = zeros("i64", 2, 2)
    add("gather by floats", "gather", {"axis": 1}, [x, zeros("f32", 2, 2)], "DTypeError", ["index", "i64 or i32", "f32"])
    add("gather by bytes", "gather", {"axis": 1}, [x, zeros("u8", 2, 2)], "DTypeError", ["i64 or i32", "u8"])
    add("gather by another shape", "gather", {"axis": 1}, [x, zeros("i64", 3, 2)], "ShapeError", ["[3, 2]", "[2, 3]"])
    add("gather by another rank", "gather", {"axis": 1}, [x, zeros("i64", 2)], "ShapeError", ["[2]"])
    add("gather over axis 2", "gather", {"axis": 2}, [x, index], "ShapeError", ["axis 2"])
    mode = {"axis": 1, "mode": "assign"}
    add("scatter of another dtype", "scatter", mode, [x, index, zeros("f64", 2, 2)], "DTypeError", ["f32", "f64", "cast"])
    add("scatter of another shape", "scatter", mode, [x, index, zeros("f32", 2, 3)], "ShapeError", ["[2, 3]", "[2, 2]"])
    add("scatter by floats", "scatter", mode, [x, zeros("f64", 2, 2), zeros("f32", 2, 2)], "DTypeError", ["f64"])
    add("scatter add of flags", "scatter", {"axis": 1, "mode": "add"}, [flags, index, zeros("bool", 2, 2)], "DTypeError", ["add", "bool"])
    cut = {"start": [0, 0], "stop": [2, 2], "step": [1, 1]}
    add("slice assign of another shape", "slice_assign", cut, [x, zeros("f32", 2, 3)], "ShapeError", ["[2, 3]", "[2, 2]"])
    add("slice assign of another dtype", "slice_assign", cut, [x, zeros("f16", 2, 2)], "DTypeError", ["f32", "f16"])
    add("slice assign outside", "slice_assign", cut | {"stop": [2, 4]}, [x, zeros("f32", 2, 4)], "ShapeError", ["0..4", "0..3"])
    add("slice assign without a step", "slice_assign", cut | {"step": [1, 0]}, [x, zeros("f32", 2, 2)], "ArgumentError", ["step 0"])
    add("slice backwards", "slice", cut | {"start": [1, 2], "stop": [2, 1]}, [x], "ShapeError", ["2..1"])
    add("windows too large", "unfold", {"axis": 1, "size": 4, "step": 1}, [x], "ShapeError", ["4", "[2, 3]"])
    add("windows without a step", "unfold", {"axis": 1, "size": 2, "step": 0}, [x], "ArgumentError", ["step 0"])
    add("windows of none", "unfold", {"axis": 1, "size": 0, "step": 1}, [x], "ArgumentError", ["size 0"])

    add("windows beyond rank 8", "unfold", {"axis": 0, "size": 1, "step": 1}, [zeros("f32", 2, 1, 1, 1, 1, 1, 1, 1)], "ShapeError", ["8"])

    def conv(name, x, w, error, says, **changes):
        rank = x[1].ndim - 2
        attributes = {"stride": [1] * rank, "padding": [0] * rank, "dilation": [1] * rank, "groups": 1, "transposed": False, "extra": []}
        add(f"conv {name}", "conv", attributes | changes, [x, w], error, says)

    image, weight = zeros("f32", 1, 4, 5, 5), zeros("f32", 2, 4, 3, 3)
    conv("of integers", zeros("i32", 1, 4, 5, 5), zeros("i32", 2, 4, 3, 3), "DTypeError", ["float", "i32"])
    conv("of two dtypes", image, zeros("f16", 2, 4, 3, 3), "DTypeError", ["f32", "f16"])
    conv("of other channels", image, zeros("f32", 2, 3, 3, 3), "ShapeError", ["[2, 3, 3, 3]", "[1, 4, 5, 5]"])
    conv("of uneven groups", image, zeros("f32", 2, 2, 3, 3), "ShapeError", ["3 groups"], groups=3)
    conv("of no groups", image, weight, "ShapeError", ["0 groups"], groups=0)
    conv("of another rank", image, zeros("f32", 2, 4, 3), "ShapeError", ["[2, 4, 3]"])
    conv("of too large a window", image, zeros("f32", 2, 4, 6, 3), "ShapeError", ["spatial axis 0", "5", "6"])
    conv("of too wide a dilation", image, weight, "ShapeError", ["spatial axis 1"], dilation=[1, 3])
    conv("of an empty window", image, zeros("f32", 2, 4, 0, 3), "ShapeError", ["empty"])
    conv("without a stride", image, weight, "ArgumentError", ["stride", "[0, 1]"], stride=[0, 1])
    conv("with one stride", image, weight, "ArgumentError", ["stride", "[1]"], stride=[1])
    conv("with negative padding", image, weight, "ArgumentError", ["padding", "[-1, 0]"], padding=[-1, 0])
    conv("without dilation", image, weight, "ArgumentError", ["dilation"], dilation=[1, 0])
    conv("of no spatial axes", zeros("f32", 1, 4), zeros("f32", 2, 4), "ShapeError", ["[1, 4]"])
    conv("of four spatial axes", zeros("f32", 1, 1, 2, 2, 2, 2), zeros("f32", 1, 1, 1, 1, 1, 1), "ShapeError", ["three spatial axes"])
    conv("with too much extra", image, zeros("f32", 4, 2, 3, 3), "ArgumentError", ["extra 2", "spatial axis 0"], transposed=True,
         stride=[2, 2], extra=[2, 0])
    conv("transposed, of other channels", image, zeros("f32", 2, 4, 3, 3), "ShapeError", ["[2, 4, 3, 3]"], transposed=True)

    def pool(name, x, error, says, **changes):
        base = {"window": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1], "ceil_mode": False}
        add(f"pool {name}", "pool", base | {"kind": "max", "count_padding": True} | changes, [x], error, says)
        changes.pop("kind", None)
        add(f"arg_pool {name}", "arg_pool", base | changes, [x], error, says)

    pool("of flags", zeros("bool", 1, 1, 4, 4), "DTypeError", ["bool"])
    pool("of a matrix", x, "ShapeError", ["[2, 3]"])
    pool("of too large a window", image, "ShapeError", ["spatial axis 0", "6"], window=[6, 2])
    pool("with too much padding", image, "ArgumentError", ["padding 2", "spatial axis 1"], padding=[0, 2])
    pool("of no window", image, "ArgumentError", ["window", "[0, 2]"], window=[0, 2])
    pool("with one stride", image, "ArgumentError", ["stride", "[2]"], stride=[2])
    pool("of padding alone", zeros("f32", 1, 1, 1), "ShapeError", ["padding alone"], window=[2], stride=[1], padding=[1], dilation=[2])
    add("mean pool of integers", "pool", {"kind": "mean", "window": [2], "stride": [2], "padding": [0], "dilation": [1],
                                         "ceil_mode": False, "count_padding": True}, [zeros("i32", 1, 1, 4)], "DTypeError", ["i32"])

    norm = {"kind": "layer", "eps": 1e-5}
    add("norm of integers", "norm", norm, [zeros("i64", 2, 3)], "DTypeError", ["floats"])
    add("norm of a scalar", "norm", norm, [zeros("f32")], "ShapeError", ["axis"])
    add("norm with a wrong weight", "norm", norm, [x, zeros("f32", 2)], "ShapeError", ["[2]", "[3]"])
    add("norm with a weight of another dtype", "norm", norm, [x, zeros("f16", 3)], "DTypeError", ["f32", "f16"])
    add("norm with a wrong bias", "norm", norm, [x, zeros("f32", 3), zeros("f32", 1, 3)], "ShapeError", ["[1, 3]"])
    add("norm with a negative eps", "norm", norm | {"eps": -1.0}, [x], "ArgumentError", ["eps -1"])
    add("norm with too many inputs", "norm", norm, [x, zeros("f32", 3), zeros("f32", 3), zeros("f32", 3)], "ArgumentError", ["4"])

    def linalg(kind, what, inputs, error, says):
        add(f"{kind} {what}", "linalg", {"kind": kind}, inputs, error, says)

    one, singular, indefinite = [[1, 0], [0, 1]], [[1, 2], [2, 4]], [[1, 2], [2, 1]]
    linalg("inverse", "of a singular matrix", [("f32", array([one, singular]))], "MatrixError", ["[inverse]", "matrix 1", "f32[2, 2, 2]"])
    linalg("solve", "with a singular matrix", [("f64", array(singular)), zeros("f64", 2, 1)], "MatrixError", ["[solve]", "f64[2, 2]"])
    linalg("cholesky", "of an indefinite matrix", [("f32", array([one, one, indefinite]))], "MatrixError", ["[cholesky]", "matrix 2"])
    for kind in ("cholesky", "inverse", "determinant", "eigh"):
        linalg(kind, "of an oblong matrix", [x], "ShapeError", ["2 x 3", named])
    linalg("svd", "of integers", [zeros("i32", 2, 2)], "DTypeError", ["floats", "i32"])
    linalg("qr", "of a vector", [zeros("f32", 3)], "ShapeError", ["two axes"])
    linalg("solve", "without right-hand sides", [zeros("f32", 2, 2)], "ArgumentError", ["right-hand sides"])
    linalg("solve", "of another height", [zeros("f32", 2, 2), zeros("f32", 3, 1)], "ShapeError", ["[3, 1]", "[2, 2]"])
    linalg("solve", "of another dtype", [zeros("f32", 2, 2), zeros("f64", 2, 1)], "DTypeError", ["f32", "f64"])

    linalg("lu", "of a vector", [zeros("f32", 3)], "ShapeError", ["two axes"])
    linalg("slogdet", "of an oblong matrix", [x], "ShapeError", ["2 x 3", named])

    def fft(kind, what, inputs, error, says, axis=0, size=2):
        add(f"{kind} {what}", "fft", {"kind": kind, "axis": axis, "size": size}, inputs, error, ["[" + kind + "]"] + says)

    fft("fft", "of real numbers", [x], "ShapeError", ["complex", named])
    fft("irfft", "of a number", [zeros("f64")], "ShapeError", ["complex"])
    fft("ifft", "of integers", [zeros("i32", 2, 2)], "DTypeError", ["floats", "i32"])
    fft("rfft", "of no points", [zeros("f32", 0)], "ArgumentError", ["point"], size=0)
    fft("rfft", "of another length", [x], "ShapeError", ["4 points", "axis 1", "3"], axis=1, size=4)
    fft("irfft", "of another length", [zeros("f32", 4, 2)], "ShapeError", ["4 points", "3", "4"], size=4)
    fft("fft", "along the complex axis", [zeros("f32", 2, 2)], "ShapeError", ["axis 1"], axis=1)
    fft("rfft", "of rank 8", [zeros("f32", 1, 1, 1, 1, 1, 1, 1, 2)], "ShapeError", ["no room"], axis=7)
    def attention(what, inputs, error, says):
        add(f"attention {what}", "attention", {"causal": False, "scale": 1.0}, inputs, error, says)

    four = zeros("f32", 1, 2, 3, 4)
    attention("of three keys and four values", [four, four, zeros("f32", 1, 2, 5, 4)], "ShapeError", ["[1, 2, 5, 4]", "groups dividing heads"])
    attention("of two heads in three groups", [four, zeros("f32", 1, 3, 3, 4), zeros("f32", 1, 3, 3, 4)], "ShapeError", ["[1, 3, 3, 4]"])
    attention("of rank 3", [zeros("f32", 2, 3, 4)] * 3, "ShapeError", ["[2, 3, 4]"])
    attention("of integers", [zeros("i32", 1, 2, 3, 4)] * 3, "DTypeError", ["floats"])
    attention("of two dtypes", [four, four, zeros("f16", 1, 2, 3, 4)], "DTypeError", ["v is f16", "f32"])
    attention("with a wide mask", [four, four, four, zeros("bool", 3, 4)], "ShapeError", ["mask [3, 4]", "[1, 2, 3, 3]"])
    attention("with a mask of integers", [four, four, four, zeros("i64", 3, 3)], "DTypeError", ["mask", "i64"])
    scores, classes = zeros("f32", 3, 4), ("i64", array([0, 4, 1]))
    loss, rows = {"label_smoothing": 0.0, "ignore_index": -100}, zeros("f32", 3)
    add("cross entropy of a class beyond", "cross_entropy", loss, [scores, classes], "IndexError", ["index 4", "0..3", "f32[3, 4]"])
    add("cross entropy of class -1", "cross_entropy", loss, [scores, ("i32", array([0, -1, 7]))], "IndexError", ["index -1"])
    add("cross entropy gradient of a class beyond", "cross_entropy_gradient", loss, [scores, classes, rows, rows], "IndexError", ["index 4"])
    add("cross entropy of floats", "cross_entropy", loss, [scores, rows], "DTypeError", ["target", "f32"])
    add("cross entropy of another shape", "cross_entropy", loss, [scores, zeros("i64", 3, 1)], "ShapeError", ["[3, 1]", "[3]"])
    add("cross entropy with two weights", "cross_entropy", loss, [scores, zeros("i64", 3), zeros("f32", 2)], "ShapeError", ["[2]", "[4]"])
    add("cross entropy smoothed too much", "cross_entropy", loss | {"label_smoothing": 1.5}, [scores, zeros("i64", 3)], "ArgumentError", ["1.5"])
    steps = {"blank": 0, "zero_infinity": False}
    sequence, targets = zeros("f32", 5, 2, 3), zeros("i64", 2, 2)

    def ctc(what, inputs, error, says, attributes=steps):
        add(f"ctc {what}", "ctc", attributes, inputs, error, says)

    two, one = ("i64", array([2, 2])), ("i64", array([1, 1]))
    ctc("of long inputs", [sequence, targets, ("i64", array([5, 6])), one], "IndexError", ["input length 6 of sample 1", "0..5"])
    ctc("of long targets", [sequence, targets, two, ("i64", array([3, 1]))], "IndexError", ["target length 3 of sample 0", "0..2"])
    ctc("of a class beyond", [sequence, ("i64", array([[1, 3], [2, 3]])), two, ("i64", array([1, 2]))], "IndexError", ["target 3 of sample 1"])
    ctc("of a blank beyond", [sequence, targets, two, one], "ArgumentError", ["blank 3"], steps | {"blank": 3})
    ctc("of another batch", [sequence, zeros("i64", 3, 2), two, one], "ShapeError", ["targets [3, 2]"])
    ctc("of a matrix", [zeros("f32", 5, 3), targets, two, one], "ShapeError", ["[time, batch, classes]"])

    add("add of two dtypes", "binary", {"kind": "add"}, [x, zeros("f64", 2, 3)], "DTypeError", ["f32", "f64", "cast"])
    add("add of two shapes", "binary", {"kind": "add"}, [x, zeros("f32", 2)], "ShapeError", ["[2, 3]", "[2]", "axis 1"])
    add("exp of integers", "unary", {"kind": "exp"}, [zeros("i32", 2)], "DTypeError", ["[exp]", "i32"])
    add("and of floats", "binary", {"kind": "bit_and"}, [x, x], "DTypeError", ["f32"])
    add("shift of flags", "binary", {"kind": "shift_left"}, [flags, flags], "DTypeError", ["bool"])
    add("order of flags", "compare", {"kind": "less"}, [flags, flags], "DTypeError", ["bool"])
    add("where of numbers", "where", {}, [x, x, x], "DTypeError", ["condition", "f32"])
    add("where without a choice", "where", {}, [flags, x], "ArgumentError", ["3", "2"])
    add("matmul of unequal insides", "matmul", {}, [x, zeros("f32", 2, 3)], "ShapeError", ["[2, 3]", "3 and 2"])
    add("matmul of vectors", "matmul", {}, [zeros("f32", 3), zeros("f32", 3)], "ShapeError", ["rank 2"])
    add("matmul of flags", "matmul", {}, [zeros("bool", 2, 2), zeros("bool", 2, 2)], "DTypeError", ["bool"])
    add("reshape to more", "reshape", {"shape": [7]}, [x], "ShapeError", ["6", "[7]", named])
    add("reshape to a negative", "reshape", {"shape": [-2, -3]}, [x], "ShapeError", ["-2"])
    add("permute by a repeated axis", "permute", {"order": [0, 0]}, [x], "ShapeError", ["[0, 0]"])
    add("expand of two", "expand", {"shape": [4, 3]}, [x], "ShapeError", ["[2, 3]", "[4, 3]"])
    add("expand to fewer axes", "expand", {"shape": [3]}, [x], "ShapeError", ["[3]"])
    add("flip of axis 2", "flip", {"axes": [2]}, [x], "ShapeError", ["[2]", "rank 2"])
    add("cat of two dtypes", "cat", {"axis": 0}, [x, zeros("i32", 2, 3)], "DTypeError", ["f32", "i32"])
    add("cat of two shapes", "cat", {"axis": 0}, [x, zeros("f32", 2, 4)], "ShapeError", ["[2, 3]", "[2, 4]", "axis 0"])
    return f
