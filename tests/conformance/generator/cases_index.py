"""Gather, Scatter, SliceAssign, Unfold."""
import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import (Family, bits, constant_along, fractions, integers, naturals, ramp, rng, singles, with_specials)


def indices(shape, extent, seed):
    return array(rng(seed).integers(0, extent, size=shape).ravel().tolist(), tuple(shape))


def shared(entries, shape, axis):
    """One list of indices, the same on every other axis."""
    view = [1] * len(shape)
    view[axis] = len(entries)
    full = list(shape)
    full[axis] = len(entries)
    return array(np.broadcast_to(array(entries).reshape(view), full).copy())


def gather():
    f = Family("gather")

    def add(name, x, index, axis, dtypes="all"):
        f.add(name, "gather", {"axis": axis}, dtypes, [x, ("index", index)], ref.gather(x, index, axis), signed_zeros=True)

    for axis in range(3):
        shape = [3, 4, 5]
        x = fractions(shape, 51)
        extent, shape[axis] = shape[axis], 6
        add(f"along axis {axis}", x, indices(shape, extent, 52 + axis), axis)
        add(f"of whole entries of axis {axis}", integers((3, 4, 5), 53), shared([2, 0, 0, 1], (3, 4, 5), axis), axis)
        add(f"of flags along axis {axis}", bits((3, 4, 5), 54), shared([2, 1, 0], (3, 4, 5), axis), axis)
    add("of special numbers", with_specials(fractions((3, 4, 5), 55), [nan, inf, -inf, -0.0]), indices((3, 4, 5), 4, 56), 1)
    add("from rows that repeat", constant_along(naturals((3, 4, 5), 57), 0), constant_along(indices((3, 4, 2), 5, 58), 0), 2)
    add("of rows by a shared index", fractions((40, 3), 59), shared([39, 0, 7, 7, 20], (40, 3), 0), 0)
    deep = (2, 1, 3, 1, 2, 1, 2, 2)
    add("of rank 8", fractions(deep, 45), indices((2, 1, 4, 1, 2, 1, 2, 2), 3, 46), 2)
    add("of one number", array([5, 6, 7]), array([1]), 0)
    add("of rows of nothing", ref.empty((4, 0, 3)), ref.empty((2, 0, 3)), 0)  # case 6
    add("of nothing from rows", fractions((4, 2, 3), 60), ref.empty((0, 2, 3)), 0)
    add("of nothing from nothing", ref.empty((0, 3)), ref.empty((0, 3)), 0)
    add("of the ends of i64", array([2 ** 63 - 1, -2 ** 63, 2 ** 53 + 1]), array([2, 1, 0, 2]), 0, ["i64"])
    return f


def scatter():
    f = Family("scatter")
    modes = ("assign", "add", "mul", "max", "min")

    def add(name, x, index, source, axis, only=modes):
        for mode in only:
            out, magnitude, longest = ref.scatter(x, index, source, axis, mode)
            f.add(f"{mode} {name}", "scatter", {"axis": axis, "mode": mode}, "all" if mode == "assign" else "numbers",
                  [x, ("index", index), source], out, (longest, magnitude) if mode in ("add", "mul") and x.size else None,
                  signed_zeros=mode == "assign")

    for axis in range(3):
        shape = [3, 4, 5]
        x = fractions(shape, 61)
        extent, shape[axis] = shape[axis], 7  # more entries than places: some repeat
        add(f"along axis {axis}", x, indices(shape, extent, 62 + axis), fractions(shape, 65 + axis), axis)
        add(f"of whole entries of axis {axis}", integers((3, 4, 5), 63, -4, 4), shared([2, 0, 2], (3, 4, 5), axis),
            integers(shared([0] * 3, (3, 4, 5), axis).shape, 64, -4, 4), axis)
    add("of f32 numbers", singles((3, 4, 5), 71), indices((3, 4, 9), 5, 72), singles((3, 4, 9), 73), 2, ("add", "mul"))
    add("of naturals", naturals((3, 4, 5), 74, 3), indices((3, 3, 5), 4, 75), naturals((3, 3, 5), 76, 3), 1)
    add("of flags", bits((3, 4, 5), 77), indices((3, 3, 5), 4, 78), bits((3, 3, 5), 79), 1, ("assign",))
    add("of a source that repeats", fractions((3, 4, 5), 80), constant_along(indices((3, 4, 6), 5, 81), 0),
        constant_along(fractions((3, 4, 6), 82), 0), 2)
    add("at one place", array([1, 2, 3]), array([1] * 9), array([1, 2, 1, 3, 1, 2, 1, 2, 1]), 0)
    add("of special numbers", array([1.0, nan, 3.0, -inf, 5.0, 6.0, inf]), array([0, 1, 2, 3, 4, 4, 5, 5, 6]),
        array([nan, 1.0, inf, -inf, 1.0, nan, nan, 2.0, -inf]), 0)
    add("of nothing", fractions((3, 4), 83), ref.empty((0, 4)), ref.empty((0, 4)), 0)
    add("into nothing", ref.empty((3, 0)), ref.empty((2, 0)), ref.empty((2, 0)), 0)
    # Halves add up in f32 and round once: 2048 + 1 + 1 + ... stalls otherwise.
    out, magnitude, longest = ref.scatter(array([2048, 0]), array([0] * 64), array([1] * 64), 0, "add")
    f.add("add of ones to 2048", "scatter", {"axis": 0, "mode": "add"}, "numbers",
          [array([2048, 0]), ("index", array([0] * 64)), array([1] * 64)], out)
    big = array([2 ** 62, -2 ** 63])
    for mode in ("add", "mul"):
        out = ref.scatter(big, array([0, 0, 1]), array([2 ** 62, 3, -1]), 0, mode)[0]
        f.add(f"{mode} wraps", "scatter", {"axis": 0, "mode": mode}, ["i64"],
              [big, ("index", array([0, 0, 1])), array([2 ** 62, 3, -1])], out)
        bytes_ = array([200, 3]), array([0, 1, 1]), array([100, 100, 3])
        f.add(f"{mode} wraps bytes", "scatter", {"axis": 0, "mode": mode}, ["u8"],
              [bytes_[0], ("index", bytes_[1]), bytes_[2]], ref.scatter(bytes_[0], bytes_[1], bytes_[2], 0, mode)[0])
    scatter_nd(f)
    return f


def scatter_nd(f):
    """Case 16: rows (0, i, j, 0) of [1, 2, 4, 2], composed from reshape and scatter; source also as a step-2 slice."""
    flat = array([(i * 4 + j) * 2 for i in range(2) for j in range(4)])
    expected = ref.empty((1, 2, 4, 2))
    for _, i, j, k in np.ndindex(1, 2, 4, 2):
        expected[0, i, j, k] = 10 * (4 * i + j + 1) if k == 0 else 0
    x = array([0] * 16, (1, 2, 4, 2))
    ends = [["reshape", {"shape": [16]}, [0]], ["reshape", {"shape": [8]}]]
    f.add("nd, composed", [ends[0], ends[1] + [[2]], ["scatter", {"axis": 0, "mode": "assign"}, [3, 1, 4]],
                           ["reshape", {"shape": [1, 2, 4, 2]}, [5]]], None, "numbers",
          [x, ("index", flat), array([10 * (i + 1) for i in range(8)], (1, 2, 4, 1))], expected)
    wide = array([10 * (i // 2 + 1) if i % 2 == 0 else 7 for i in range(16)], (1, 2, 8, 1))
    f.add("nd, composed, of a slice", [
        ["slice", {"start": [0, 0, 0, 0], "stop": [1, 2, 8, 1], "step": [1, 1, 2, 1]}, [2]], ends[0], ends[1] + [[3]],
        ["scatter", {"axis": 0, "mode": "assign"}, [4, 1, 5]], ["reshape", {"shape": [1, 2, 4, 2]}, [6]]], None, "numbers",
        [x, ("index", flat), wide], expected)


def slice_assign():
    f = Family("slice_assign")

    def add(name, x, start, stop, step, source=None):
        shape = x[ref.slices(start, stop, step)].shape
        source = naturals(shape, 91, 5) if source is None else source
        f.add(name, "slice_assign", {"start": start, "stop": stop, "step": step}, "all", [x, source],
              ref.slice_assign(x, source, start, stop, step), signed_zeros=True)

    x = fractions((3, 4, 5), 92)
    add("of a block", x, [1, 0, 2], [3, 3, 4], [1, 1, 1])
    add("of every second entry", x, [0, 1, 0], [3, 4, 5], [2, 2, 2], fractions((2, 2, 3), 93))
    add("of one element", x, [2, 3, 4], [3, 4, 5], [1, 1, 1])
    add("of everything", x, [0, 0, 0], [3, 4, 5], [1, 1, 1], fractions((3, 4, 5), 94))
    add("of nothing", x, [1, 2, 3], [1, 4, 5], [1, 1, 1])
    add("of nothing at the end", x, [3, 0, 0], [3, 4, 5], [1, 1, 1])
    add("with a step beyond the end", x, [0, 0, 1], [3, 4, 5], [7, 1, 9], fractions((1, 4, 1), 95))
    add("of a source that repeats", integers((3, 4, 5), 96), [0, 0, 0], [2, 4, 5], [1, 1, 2],
        constant_along(integers((2, 4, 3), 97), 0))
    add("of flags", bits((3, 4, 5), 98), [0, 1, 0], [3, 3, 5], [1, 1, 1], bits((3, 2, 5), 99))
    add("of special numbers", fractions((2, 4), 100), [0, 0], [2, 4], [1, 2], array([[nan, inf], [-inf, -0.0]]))
    add("into nothing", ref.empty((0, 4)), [0, 0], [0, 4], [1, 2])
    return f


def unfold():
    f = Family("unfold")

    def add(name, x, axis, size, step):
        f.add(name, "unfold", {"axis": axis, "size": size, "step": step}, "all", [x], ref.unfold(x, axis, size, step),
              signed_zeros=True)

    x = fractions((3, 4, 5), 101)
    for axis in range(3):
        add(f"overlapping windows of axis {axis}", x, axis, 3, 1)
        add(f"windows apart on axis {axis}", integers((3, 4, 5), 102), axis, 2, 2)
        add(f"one window of axis {axis}", bits((3, 4, 5), 103), axis, x.shape[axis], 1)
    add("windows that leave a rest", naturals((11,), 104), 0, 3, 3)
    add("windows of one", x, 1, 1, 2)
    add("windows of nothing else", ref.empty((0, 4)), 1, 2, 1)
    line = ramp((12,), 1)  # case 17
    rows = ref.unfold(line, 0, 4, 1)
    f.add("then reshape", [["unfold", {"axis": 0, "size": 4, "step": 1}, [0]], ["reshape", {"shape": [9, 4]}, [1]]], None, "numbers",
          [line], rows)
    f.add("then flat", [["unfold", {"axis": 0, "size": 4, "step": 1}, [0]], ["reshape", {"shape": [36]}, [1]]], None, "numbers",
          [line], array(rows.reshape(-1)))
    f.add("then sum", [["unfold", {"axis": 0, "size": 4, "step": 1}, [0]],
                       ["reduce", {"kind": "sum", "axes": [1], "keep_dims": False}, [1]]], None, "numbers", [line],
          array([int(sum(r)) for r in rows]))
    return f


def index_families():
    return [gather(), scatter(), slice_assign(), unfold()]
