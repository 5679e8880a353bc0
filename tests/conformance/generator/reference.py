"""What every operation must give, written as plain loops over Python numbers from the comments in src/op/*.hpp.

Arrays are NumPy arrays of dtype object whose elements are Python ints (any size), bools or floats, so that integers are exact
and float sums are correctly rounded (math.fsum). Functions return the result, and for inexact operations also the magnitude
to which the rounding error of each element is proportional.
"""
import itertools
import math

import numpy as np
from scipy import special

nan, inf = math.nan, math.inf


def array(values, shape=None):
    """An object array; `values` may be nested lists."""
    flat = list(np.ravel(np.array(values, dtype=object))) if not isinstance(values, np.ndarray) else list(values.ravel())
    if shape is None:
        shape = values.shape if isinstance(values, np.ndarray) else np.array(values, dtype=object).shape
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)


def empty(shape):
    return np.empty(tuple(shape), dtype=object)


def is_nan(x):
    return x != x


def total(terms):
    """The sum, correctly rounded; inf and NaN as IEEE 754 has them."""
    terms = list(terms)
    if all(isinstance(t, int) for t in terms):
        return sum(terms)
    if all(math.isfinite(t) for t in terms):
        return math.fsum(terms)
    result = 0.0
    for t in terms:
        result += t
    return result


def product(factors):
    result = 1
    for f in factors:
        result = result * f
    return result


def largest(xs):
    """Position of the first NaN, else of the first largest."""
    best = 0
    for i, x in enumerate(xs):
        if is_nan(x):
            return i
        if x > xs[best]:
            best = i
    return best


def smallest(xs):
    best = 0
    for i, x in enumerate(xs):
        if is_nan(x):
            return i
        if x < xs[best]:
            best = i
    return best


def extremum(kind, xs):
    return xs[largest(xs) if kind == "max" else smallest(xs)]


def along(axis, x, length, f):
    """f(list along axis) -> list of `length`, for every line."""
    shape = list(x.shape)
    shape[axis] = length
    out = empty(shape)
    lines = list(x.shape)
    del lines[axis]
    for index in np.ndindex(*lines):
        at = index[:axis] + (slice(None),) + index[axis:]
        out[at] = array(f(list(x[at])), (length,)) if length else out[at]
    return out


# ---- order

def arg_reduce(x, kind, axis, keep_dims=False):
    out = along(axis, x, 1, lambda line: [largest(line) if kind == "max" else smallest(line)])
    return out if keep_dims else out.reshape([n for i, n in enumerate(x.shape) if i != axis])


def argsort(x, axis, descending=False, count=-1):
    def line(xs):
        order = list(range(len(xs)))
        rank = [(1, 0.0) if is_nan(v) else (0, v) for v in xs]
        # Insertion keeps equal elements in the order of their indices, in both directions.
        result = []
        for i in order:
            at = len(result)
            while at > 0 and (rank[result[at - 1]] < rank[i] if descending else rank[i] < rank[result[at - 1]]):
                at -= 1
            result.insert(at, i)
        return result[: len(xs) if count < 0 else count]

    return along(axis, x, x.shape[axis] if count < 0 else count, line)


def cumulative(x, kind, axis):
    def line(xs):
        if kind == "sum":
            return [total(xs[: i + 1]) for i in range(len(xs))]
        if kind == "prod":
            return [product(xs[: i + 1]) for i in range(len(xs))]
        return [extremum(kind, xs[: i + 1]) for i in range(len(xs))]

    out = along(axis, x, x.shape[axis], line)
    if kind == "sum":
        magnitude = along(axis, x, x.shape[axis], lambda xs: [total(map(abs, xs[: i + 1])) for i in range(len(xs))])
    else:
        magnitude = absolute(out)
    return out, magnitude


def absolute(x):
    return array([abs(v) for v in x.ravel()], x.shape)


# ---- normalisation

def softmax(x, axis, log=False):
    def line(xs):
        top = extremum("max", xs)
        shifted = [v - top for v in xs]
        whole = total(math.exp(s) for s in shifted)
        return [s - math.log(whole) for s in shifted] if log else [math.exp(s) / whole for s in shifted]

    out = along(axis, x, x.shape[axis], line) if x.size else x

    def scale(xs):
        top = extremum("max", xs)
        return [1 + abs(v - top) for v in xs]

    spread = along(axis, x, x.shape[axis], scale) if x.size else x
    magnitude = spread if log else array([abs(p) * s for p, s in zip(out.ravel(), spread.ravel())], x.shape)
    return out, magnitude


def norm(x, kind, eps, weight=None, bias=None):
    n = x.shape[-1]
    w = [1.0] * n if weight is None else list(weight)
    b = [0.0] * n if bias is None else list(bias)
    out, magnitude = empty(x.shape), empty(x.shape)
    for index in np.ndindex(*x.shape[:-1]):
        xs = [float(v) for v in x[index]]
        mean = total(xs) / n if kind == "layer" and n else 0.0
        size = total(map(abs, xs)) / n if n else 0.0
        centred = [v - mean for v in xs]
        variance = total(c * c for c in centred) / n if n else nan
        scale = 1 / math.sqrt(variance + eps) if variance + eps > 0 else (inf if variance + eps == 0 else nan)
        for i in range(n):
            z = centred[i] * scale
            out[index + (i,)] = z * w[i] + b[i]
            # The mean errs by about size * epsilon; so does each centred value, and through them the variance.
            lost = (size + abs(xs[i])) * scale if kind == "layer" else 0.0
            magnitude[index + (i,)] = abs(w[i]) * (lost * (1 + abs(z)) + abs(z)) + abs(b[i])
    return out, magnitude


# ---- indexing

def gather(x, index, axis):
    out = empty(index.shape)
    for at in np.ndindex(*index.shape):
        out[at] = x[at[:axis] + (int(index[at]),) + at[axis + 1:]]
    return out


def scatter(x, index, source, axis, mode):
    out = x.copy()
    terms = {}
    for at in np.ndindex(*index.shape):  # row-major: along any one line in order
        to = at[:axis] + (int(index[at]),) + at[axis + 1:]
        terms.setdefault(to, [x[to]]).append(source[at])
    magnitude = absolute(x)
    for to, values in terms.items():
        if mode == "assign":
            out[to] = values[-1]
        elif mode == "add":
            out[to] = total(values)
            magnitude[to] = total(map(abs, values))
        elif mode == "mul":
            out[to] = product(values)
            magnitude[to] = abs(out[to])
        else:
            out[to] = extremum(mode, values)
    longest = max([len(v) for v in terms.values()], default=1)
    return out, magnitude, longest


def slices(start, stop, step):
    return tuple(slice(a, b, c) for a, b, c in zip(start, stop, step))


def slice_assign(x, source, start, stop, step):
    out = x.copy()
    out[slices(start, stop, step)] = source
    return out


def unfold(x, axis, size, step):
    shape = list(x.shape) + [size]
    shape[axis] = (x.shape[axis] - size) // step + 1
    out = empty(shape)
    for at in np.ndindex(*shape):
        out[at] = x[at[:axis] + (at[axis] * step + at[-1],) + at[axis + 1: -1]]
    return out


# ---- windows

def conv(x, w, stride, padding, dilation, groups=1, transposed=False, extra=()):
    if transposed:
        return conv_transposed(x, w, stride, padding, dilation, groups, extra)
    rank = x.ndim - 2
    k, per_group = w.shape[0], w.shape[1]
    spatial = [(x.shape[2 + i] + 2 * padding[i] - (w.shape[2 + i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(rank)]
    out, magnitude = empty([x.shape[0], k] + spatial), empty([x.shape[0], k] + spatial)
    for at in np.ndindex(*out.shape):
        n, channel, place = at[0], at[1], at[2:]
        group = channel // (k // groups)
        terms = []
        for c in range(per_group):
            for tap in np.ndindex(*w.shape[2:]):
                where = tuple(place[i] * stride[i] - padding[i] + tap[i] * dilation[i] for i in range(rank))
                inside = all(0 <= where[i] < x.shape[2 + i] for i in range(rank))
                value = x[(n, group * per_group + c) + where] if inside else 0  # padding takes part
                terms.append(value * w[(channel, c) + tap])
        out[at], magnitude[at] = total(terms), total(map(abs, terms))
    return out, magnitude, per_group * int(np.prod(w.shape[2:]))


def conv_transposed(x, w, stride, padding, dilation, groups, extra):
    """Every input element adds its multiple of the window to the result."""
    rank = x.ndim - 2
    extra = extra or (0,) * rank
    per_group_in, per_group_out = x.shape[1] // groups, w.shape[1]
    spatial = [(x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + (w.shape[2 + i] - 1) * dilation[i] + 1 + extra[i]
               for i in range(rank)]
    shape = [x.shape[0], per_group_out * groups] + spatial
    terms = {at: [0] for at in np.ndindex(*shape)}
    for at in np.ndindex(*x.shape):
        n, c, place = at[0], at[1], at[2:]
        group = c // per_group_in
        for j in range(per_group_out):
            for tap in np.ndindex(*w.shape[2:]):
                where = tuple(place[i] * stride[i] - padding[i] + tap[i] * dilation[i] for i in range(rank))
                if all(0 <= where[i] < spatial[i] for i in range(rank)):
                    terms[(n, group * per_group_out + j) + where].append(x[at] * w[(c, j) + tap])
    out, magnitude = empty(shape), empty(shape)
    for at, values in terms.items():
        out[at], magnitude[at] = total(values), total(map(abs, values))
    return out, magnitude, per_group_in * int(np.prod(w.shape[2:]))


def windows(x, window, stride, padding, dilation, ceil_mode):
    """Yields (output index, [(index in the plane, or None on padding)]) and the output's extents first."""
    rank = x.ndim - 2
    extents = []
    for i in range(rank):
        n = x.shape[2 + i]
        span = (window[i] - 1) * dilation[i] + 1
        starts = []
        begin = -padding[i]
        while True:
            end = begin + span
            fits = end <= n + padding[i]
            # Up to the first window that reaches the far end; it must begin inside x or its left padding.
            if not fits and not (ceil_mode and begin < n and starts and starts[-1] + span < n + padding[i]):
                break
            starts.append(begin)
            begin += stride[i]
        extents.append(starts)
    yield tuple(len(s) for s in extents)
    for at in np.ndindex(*[len(s) for s in extents]):
        taps = []
        for tap in np.ndindex(*window):
            where = tuple(extents[i][at[i]] + tap[i] * dilation[i] for i in range(rank))
            if all(0 <= where[i] < x.shape[2 + i] for i in range(rank)):
                taps.append(where)
            elif all(where[i] < x.shape[2 + i] + padding[i] for i in range(rank)):
                taps.append(None)  # what lies beyond the right padding is never counted
        yield at, taps


def pool(x, kind, window, stride, padding, dilation, ceil_mode=False, count_padding=True, positions=False):
    steps = windows(x, window, stride, padding, dilation, ceil_mode)
    shape = x.shape[:2] + next(steps)
    out, magnitude = empty(shape), empty(shape)
    for at, taps in steps:
        for n, c in np.ndindex(*x.shape[:2]):
            inside = [t for t in taps if t is not None]
            values = [x[(n, c) + t] for t in inside]
            to = (n, c) + at
            if positions:
                out[to] = int(np.ravel_multi_index(inside[largest(values)], x.shape[2:]))
            elif kind == "max":
                out[to] = extremum("max", values)
            else:
                count = len(taps) if count_padding else len(inside)
                out[to], magnitude[to] = total(values) / count, total(map(abs, values)) / count
    return (out, magnitude) if kind == "mean" else out


# ---- element-wise

def unary(kind, v):
    if kind in ("neg", "abs", "sign", "bit_not", "logical_not"):
        if kind == "sign":
            return v if is_nan(v) else type(v)((v > 0) - (v < 0))
        return {"neg": lambda: -v, "abs": lambda: abs(v), "bit_not": lambda: -v - 1, "logical_not": lambda: not v}[kind]()
    functions = {
        "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "recip": lambda u: 1 / u, "sqrt": np.sqrt,
        "rsqrt": lambda u: 1 / np.sqrt(u), "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin,
        "cos": np.cos, "tanh": np.tanh, "sigmoid": lambda u: 1 / (1 + np.exp(-u)), "erf": lambda u: special.erf(float(u))}
    with np.errstate(all="ignore"):
        return float(functions[kind](np.longdouble(v)))


def binary(kind, a, b, bits=None):
    """`bits`: width of the integer type for shifts."""
    integers = isinstance(a, int) and isinstance(b, int)
    if kind in ("max", "min"):
        return extremum(kind, [a, b])
    if kind in ("add", "sub", "mul"):
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b}[kind]()
    if kind == "div":
        if integers:
            return a // b if b else 0
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    if kind == "rem":
        if integers:
            return a % b if b else 0
        with np.errstate(all="ignore"):
            return float(np.mod(np.float64(a), np.float64(b)))
    if kind == "pow":
        if integers:
            if b >= 0:
                return a ** b
            return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0
        with np.errstate(all="ignore"):
            return float(np.power(np.longdouble(a), np.longdouble(b)))
    if kind == "shift_left":
        return a << b if 0 <= b < bits else 0
    if kind == "shift_right":
        return a >> b if 0 <= b < bits else (-1 if a < 0 else 0)
    return {"bit_and": lambda: a & b, "bit_or": lambda: a | b, "bit_xor": lambda: a ^ b}[kind]()


def compare(kind, a, b):
    return {"equal": a == b, "not_equal": a != b, "less": a < b, "less_equal": a <= b, "greater": a > b,
            "greater_equal": a >= b}[kind]


def broadcasting(f, *arrays):
    """f applied to the elements of arrays that broadcast as in NumPy."""
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    spread = [np.broadcast_to(a, shape) for a in arrays]
    out = empty(shape)
    for at in np.ndindex(*shape):
        out[at] = f(*[s[at] for s in spread])
    return out


# ---- reductions and products

def reduce(x, kind, axes, keep_dims=False):
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = [x.shape[i] for i in kept]
    out, magnitude = empty(shape), empty(shape)
    count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
    for at in np.ndindex(*shape):
        group = []
        for over in itertools.product(*[range(x.shape[a]) for a in axes]):
            place = [0] * x.ndim
            for i, v in zip(kept, at):
                place[i] = v
            for a, v in zip(axes, over):
                place[a] = v
            group.append(x[tuple(place)])
        integers = bool(group) and all(isinstance(v, int) for v in group)
        size = total(map(abs, group))
        if kind == "sum":
            out[at], magnitude[at] = total(group), size
        elif kind == "mean":
            out[at] = (total(group) // count if integers else total(group) / count) if count else nan
            magnitude[at] = size / count if count else 0
        elif kind == "prod":
            out[at] = product(group)
            magnitude[at] = abs(out[at])
        else:
            out[at], magnitude[at] = extremum(kind, group), 0
    if keep_dims:
        shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
        return out.reshape(shape), magnitude.reshape(shape), count
    return out, magnitude, count


def matmul(a, b):
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    left, right = np.broadcast_to(a, batch + (m, k)), np.broadcast_to(b, batch + (k, n))
    out, magnitude = empty(batch + (m, n)), empty(batch + (m, n))
    for at in np.ndindex(*batch):
        for i, j in np.ndindex(m, n):
            terms = [left[at + (i, p)] * right[at + (p, j)] for p in range(k)]
            out[at + (i, j)], magnitude[at + (i, j)] = total(terms), total(map(abs, terms))
    return out, magnitude, k
