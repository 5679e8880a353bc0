"""Cases, families of them, and how they are written down."""
import json
import math

import numpy as np

from . import reference as ref


def rng(seed):
    return np.random.default_rng(seed)


def fractions(shape, seed, limit=4, step=8):
    """Multiples of 1/8 in [-4, 4]: every float type holds them exactly."""
    values = rng(seed).integers(-limit * step, limit * step, size=shape, endpoint=True)
    return ref.array([v / step for v in values.ravel().tolist()], tuple(shape))


def singles(shape, seed, low=-3.0, high=3.0):
    """Numbers that f32 and f64 hold, but no half."""
    values = rng(seed).uniform(low, high, size=shape).astype(np.float32)
    return ref.array([float(v) for v in values.ravel()], tuple(shape))


def integers(shape, seed, low=-9, high=9):
    return ref.array(rng(seed).integers(low, high, size=shape, endpoint=True).ravel().tolist(), tuple(shape))


def naturals(shape, seed, high=9):
    """Every dtype but bool holds them."""
    return integers(shape, seed, 0, high)


def bits(shape, seed):
    return integers(shape, seed, 0, 1)


def with_specials(x, specials):
    """x with `specials` spread over it."""
    out = x.copy()
    flat = out.reshape(-1)
    for i, s in enumerate(specials):
        flat[(i * 7 + 1) % flat.size] = s
    return out


def ramp(shape, start=0, step=1):
    n = int(np.prod(shape, dtype=np.int64))
    return ref.array([start + i * step for i in range(n)], tuple(shape))


def constant_along(x, axis):
    """x with its first slice along `axis` repeated, so that an expanded view can hold it."""
    out = x.copy()
    out[:] = np.take(x, [0], axis=axis)
    return out


def _number(v):
    if isinstance(v, (bool, np.bool_)):
        return "1" if v else "0"
    if isinstance(v, (int, np.integer)):
        v = int(v)
        return str((v + 2 ** 63) % 2 ** 64 - 2 ** 63)
    v = float(v)
    if math.isnan(v):
        return '"nan"'
    if math.isinf(v):
        return '"inf"' if v > 0 else '"-inf"'
    if v == int(v) and abs(v) < 1e15 and not (v == 0 and math.copysign(1, v) < 0):
        return f"{int(v)}.0"
    return repr(v)


def _values(values):
    flat = list(values.ravel())
    if len(flat) > 3:
        text = [_number(v) for v in flat]
        if len(set(text)) == 1:
            return f'{{"fill": {text[0]}}}'
        if all(type(v) in (int, float) and math.isfinite(v) for v in flat):
            step = flat[1] - flat[0]
            if all(v == flat[0] + i * step for i, v in enumerate(flat)):
                return f'{{"ramp": [{_number(flat[0])}, {_number(step)}]}}'
    return "[" + ", ".join(_number(v) for v in flat) + "]"


def _tensor(x):
    dtype, values = x if isinstance(x, tuple) else (None, x)
    dtype = f'"dtype": "{dtype}", ' if dtype else ""
    return f'{{{dtype}"shape": {list(values.shape)}, "values": {_values(values)}}}'


def _rounding(rounding):
    terms, magnitude, *wide = rounding
    if isinstance(magnitude, np.ndarray):
        rounded = [f"{math.nextafter(float(m), math.inf):.3g}" if math.isfinite(m) else "0" for m in magnitude.ravel()]
        magnitude = rounded[0] if len(set(rounded)) == 1 else "[" + ", ".join(rounded) + "]"
    return f'{{"terms": {terms}, "magnitude": {magnitude}{", " + chr(34) + "wide" + chr(34) + ": true" if wide else ""}}}'


class Family:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def add(self, name, op, attributes, dtypes, inputs, expected, rounding=None, signed_zeros=False):
        """`inputs` and `expected` are arrays of the swept dtype, or pairs (dtype, array); `op` may be a list of steps.

        rounding: (terms, magnitude) or (terms, magnitude, "wide").
        """
        assert all(c[0] != name for c in self.cases), name
        lines = [f'"name": {json.dumps(name)}']
        if isinstance(op, list):
            steps = ", ".join(json.dumps(step) for step in op)
            lines.append(f'"steps": [{steps}]')
        else:
            lines.append(f'"op": "{op}", "attributes": {json.dumps(attributes)}')
        lines.append(f'"dtypes": {json.dumps(dtypes)}')
        lines.append('"inputs": [' + ",\n    ".join(_tensor(x) for x in inputs) + "]")
        lines.append(f'"expected": {_tensor(expected)}')
        if rounding:
            lines.append(f'"rounding": {_rounding(rounding)}')
        if signed_zeros:
            lines.append('"signed_zeros": true')
        self.cases.append((name, lines))

    def add_error(self, name, op, attributes, inputs, error, says):
        """`inputs`: (dtype, array)."""
        assert all(c[0] != name for c in self.cases), name
        self.cases.append((name, [
            f'"name": {json.dumps(name)}', f'"op": "{op}", "attributes": {json.dumps(attributes)}',
            '"inputs": [' + ", ".join(_tensor(x) for x in inputs) + "]",
            f'"error": "{error}", "says": {json.dumps(says)}']))

    def to_json(self):
        cases = [" {" + ",\n  ".join(lines) + "}" for _, lines in self.cases]
        return "[\n" + ",\n".join(cases) + "\n]\n"
