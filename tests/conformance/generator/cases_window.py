"""Conv, Pool, ArgPool."""
import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import Family, constant_along, fractions, integers, naturals, singles, with_specials


def conv():
    f = Family("conv")

    def add(name, x, w, stride=None, padding=None, dilation=None, groups=1, transposed=False, extra=()):
        rank = x.ndim - 2
        stride, padding, dilation = stride or [1] * rank, padding or [0] * rank, dilation or [1] * rank
        out, magnitude, terms = ref.conv(x, w, stride, padding, dilation, groups, transposed, tuple(extra))
        f.add(name, "conv", {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
                             "transposed": transposed, "extra": list(extra)}, "floats", [x, w], out,
              (terms, magnitude) if out.size else None)

    for transposed in (False, True):
        t = "transposed " if transposed else ""

        def weight(channels_out, channels_in, spatial, seed, groups=1):
            if transposed:
                return fractions((channels_in * groups, channels_out // groups) + spatial, seed)
            return fractions((channels_out, channels_in) + spatial, seed)

        line, image, volume = fractions((2, 4, 9), 111), fractions((2, 4, 6, 7), 112), fractions((1, 2, 4, 5, 4), 113)
        add(f"{t}of lines", line, weight(3, 4, (3,), 114), transposed=transposed)
        add(f"{t}of lines, everything", line, weight(6, 2, (3,), 115, 2), [2], [2], [2], 2, transposed)
        add(f"{t}of images", image, weight(3, 4, (3, 3), 116), transposed=transposed)
        add(f"{t}of images, stride", image, weight(3, 4, (3, 2), 117), [2, 3], transposed=transposed)
        add(f"{t}of images, padding", image, weight(3, 4, (3, 3), 118), None, [1, 2], transposed=transposed)
        add(f"{t}of images, dilation", image, weight(3, 4, (2, 3), 119), None, None, [3, 2], transposed=transposed)
        add(f"{t}of images, two groups", image, weight(6, 2, (3, 3), 120, 2), None, [1, 1], None, 2, transposed)
        add(f"{t}of images, depthwise", image, weight(4, 1, (3, 3), 121, 4), None, [1, 1], None, 4, transposed)
        add(f"{t}of images, depthwise, two for one", image, weight(8, 1, (3, 3), 122, 4), [2, 1], [1, 0], None, 4, transposed)
        add(f"{t}of images, everything", image, weight(6, 2, (3, 2), 123, 2), [2, 3], [2, 1], [2, 2], 2, transposed)
        add(f"{t}of images, windows of one", image, weight(5, 4, (1, 1), 124), transposed=transposed)
        add(f"{t}of images, strided windows of one", image, weight(5, 4, (1, 1), 125), [2, 2], transposed=transposed)
        add(f"{t}of volumes", volume, weight(3, 2, (2, 3, 2), 126), transposed=transposed)
        add(f"{t}of volumes, everything", volume, weight(2, 1, (2, 2, 3), 127, 2), [1, 2, 2], [1, 0, 1], [2, 1, 1], 2, transposed)
        add(f"{t}of channels last in memory", constant_along(image, 0), weight(16, 4, (3, 3), 128), None, [1, 1],
            transposed=transposed)
        add(f"{t}of no batch", ref.empty((0, 4, 6, 7)), weight(3, 4, (3, 3), 129), transposed=transposed)
        w = singles((4, 3, 3, 3) if transposed else (3, 4, 3, 3), 130)
        add(f"{t}of f32 numbers", singles((2, 4, 6, 7), 131), w, None, [1, 1], transposed=transposed)
        special = with_specials(fractions((2, 4, 6, 7), 132), [nan, inf, -inf])
        add(f"{t}of special numbers", special, weight(3, 4, (2, 2), 133), transposed=transposed)
    add("transposed, extra", fractions((2, 4, 5), 134), fractions((4, 3, 3), 135), [3], [1], [1], 1, True, [2])
    add("transposed, extra on one axis", fractions((1, 4, 3, 4), 136), fractions((4, 2, 3, 3), 137), [2, 2], [1, 1], [1, 1], 2,
        True, [1, 0])
    add("transposed, extra by dilation", fractions((1, 2, 5), 138), fractions((2, 2, 3), 139), [1], [0], [2], 1, True, [1])
    add("that sees only padding beyond the line", fractions((1, 1, 1), 140), fractions((2, 1, 3), 141), [1], [3])
    add("of no input channels", ref.empty((2, 0, 5)), ref.empty((3, 0, 2)))
    add("to no channels", fractions((2, 4, 5), 148), ref.empty((0, 4, 2)))
    add("of many terms", fractions((1, 64, 4, 4), 142, 1), fractions((2, 64, 3, 3), 143, 1), None, [1, 1])
    # What is not finite spoils only the windows that see it, however a kernel groups channels.
    for channels, groups, window in ((1, 1, (3, 3)), (3, 1, (3, 3)), (3, 1, (3,)), (16, 2, (3,))):
        x = fractions((1, channels * groups) + (11, 5)[: len(window)], 146, 1)
        x.reshape(-1)[3], x.reshape(-1)[x.size - 4] = inf, nan
        add(f"of {groups} x {channels} channels with special numbers, {len(window)}-D", x,
            fractions((16 * groups if groups > 1 else 4, channels) + window, 147, 1), None, [1] * len(window), None, groups)
    # Case 34: a zero of the padding times an infinite weight is NaN, on every path.
    ones = array([1.0] * 16, (1, 1, 4, 4))
    for channels in (1, 4, 5):
        w = array([1.0] * (9 * channels), (channels, 1, 3, 3))
        w[0, 0, 0, 1] = inf
        add(f"of an infinite weight and padding, to {channels}", ones, w, None, [1, 1])
    w = array([1.0] * 36, (4, 1, 3, 3))
    w[2, 0, 2, 2] = -inf
    w[1, 0, 0, 0] = nan
    add("of an infinite weight and padding, depthwise", array([1.0] * 64, (1, 4, 4, 4)), w, None, [1, 1], None, 4)
    add("of an infinite weight, padding, stride and dilation", fractions((1, 1, 7, 7), 144),
        with_specials(fractions((2, 1, 3, 3), 145), [inf]), [2, 2], [2, 2], [2, 2])
    add("of an infinite weight without padding", ones, w[1:3], None, None)
    line = array([[[1.0, 2.0, 3.0]]])
    add("of a line and an infinite weight", line, array([[[inf, 1.0]]]), [1], [1])
    return f


SHAPES = [
    # name, x, window, stride, padding, dilation
    ("of lines", (2, 3, 9), [3], [2], [0], [1]),
    ("of lines with padding", (2, 3, 9), [3], [2], [1], [1]),
    ("of lines with dilation", (2, 3, 9), [3], [2], [1], [2]),
    ("of images", (2, 3, 6, 7), [2, 3], [2, 3], [0, 0], [1, 1]),
    ("of overlapping windows", (2, 3, 6, 7), [3, 3], [1, 2], [1, 1], [1, 1]),
    ("of images with dilation", (2, 3, 6, 7), [2, 3], [3, 1], [0, 1], [2, 2]),
    ("of volumes", (1, 2, 4, 5, 4), [2, 3, 2], [2, 2, 2], [1, 1, 0], [1, 1, 1]),
    ("of the whole image", (2, 3, 6, 7), [6, 7], [1, 1], [0, 0], [1, 1]),
    ("of windows of one", (2, 3, 6, 7), [1, 1], [2, 2], [0, 0], [1, 1]),
    ("of a stride beyond the window", (2, 3, 6, 7), [2, 2], [4, 5], [1, 1], [1, 1]),
]


def title(name, ceil_mode):
    return f"{name}{', ceil' if ceil_mode else ''}"


def pool():
    f = Family("pool")

    def add(name, kind, x, window, stride, padding, dilation, ceil_mode=False, count_padding=True):
        out = ref.pool(x, kind, window, stride, padding, dilation, ceil_mode, count_padding)
        rounding = None
        if kind == "mean":
            out, magnitude = out
            rounding = (int(np.prod(window)) + 1, magnitude) if out.size else None
        f.add(name, "pool", {"kind": kind, "window": window, "stride": stride, "padding": padding, "dilation": dilation,
                             "ceil_mode": ceil_mode, "count_padding": count_padding},
              "floats" if kind == "mean" else "numbers", [x], out, rounding)

    for i, (name, shape, *geometry) in enumerate(SHAPES):
        for ceil_mode in (False, True):
            add(title(f"max {name}", ceil_mode), "max", (fractions, integers, naturals)[i % 3](shape, 151 + i), *geometry, ceil_mode)
            for counted in (False, True):
                add(title(f"mean {name}{', padding counted' if counted else ''}", ceil_mode), "mean", fractions(shape, 161 + i),
                    *geometry, ceil_mode, counted)
    one = [3], [2], [1], [1]
    special = array([nan, 1.0, 2.0, -inf, -inf, -inf, inf, 3.0, 0.5], (1, 1, 9))
    below = array([-5.0, -6.0, -7.0, -8.0], (1, 1, 4))
    for kind in ("max", "mean"):
        add(f"{kind} of special numbers", kind, special, *one)
        add(f"{kind} of nothing but -inf", kind, array([-inf] * 5, (1, 1, 5)), *one)
        add(f"{kind} of no batch", kind, ref.empty((0, 3, 6, 7)), [2, 2], [2, 2], [0, 0], [1, 1])
        add(f"{kind} of no channels", kind, ref.empty((2, 0, 9)), *one)
        add(f"{kind} of f32 numbers", kind, singles((2, 3, 6, 7), 171), [3, 3], [2, 2], [1, 1], [1, 1])
        add(f"{kind} of a batch that repeats", kind, constant_along(fractions((2, 3, 6, 7), 172), 0), [2, 2], [2, 2], [0, 0], [1, 1])
    add("max of negatives beside padding", "max", below, *one)
    add("max of the smallest integers", "max", array([-2 ** 31, -2 ** 31, -2 ** 31, 5], (1, 1, 4)), *one)
    # A last window that would begin in the right padding is left out; one that begins in x and ends beyond is not.
    add("mean, ceil, beyond the right padding", "mean", fractions((1, 1, 5), 173), [4], [3], [2], [1], True, True)
    add("mean, ceil, into the right padding", "mean", fractions((1, 1, 6), 174), [4], [3], [2], [1], True, True)
    add("mean, ceil, no window begins in the padding", "mean", fractions((1, 1, 3), 175), [2], [2], [1], [1], True, True)
    return f


def arg_pool():
    f = Family("arg_pool")

    def add(name, x, window, stride, padding, dilation, ceil_mode=False):
        out = ref.pool(x, "max", window, stride, padding, dilation, ceil_mode, positions=True)
        f.add(name, "arg_pool", {"window": window, "stride": stride, "padding": padding, "dilation": dilation,
                                 "ceil_mode": ceil_mode}, "numbers", [x], ("i64", out))

    for i, (name, shape, *geometry) in enumerate(SHAPES):
        for ceil_mode in (False, True):
            values = naturals(shape, 181 + i, 3) if i % 2 else fractions(shape, 181 + i)
            add(title(name, ceil_mode), values, *geometry, ceil_mode)
    one = [3], [2], [1], [1]
    add("of special numbers", array([1.0, nan, nan, -inf, -inf, -inf, inf, inf, 0.5], (1, 1, 9)), *one)
    add("of nothing but -inf", array([-inf] * 5, (1, 1, 5)), *one)
    add("of negatives beside padding", array([-5, -5, -7, -8], (1, 1, 4)), *one)
    add("of no batch", ref.empty((0, 3, 6, 7)), [2, 2], [2, 2], [0, 0], [1, 1])
    add("of a batch that repeats", constant_along(fractions((2, 3, 6, 7), 191), 0), [2, 2], [2, 2], [0, 0], [1, 1])
    return f


def window_families():
    return [conv(), pool(), arg_pool()]
