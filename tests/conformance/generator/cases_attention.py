"""Attention, cross entropy, CTC and their gradients. The references are NumPy in longdouble, written from the definitions;
gradients of CTC come from counting paths one by one."""
import itertools

import numpy as np

from . import reference as ref
from .reference import array, inf, nan
from .support import Family, bits, constant_along, fractions, naturals, singles, with_specials

EVERYTHING = ["permute", {"order": [0, 1, 2, 3]}]  # picks a result that is not the last one


def numbers(x):
    return np.array(x.tolist(), dtype=np.longdouble).reshape(x.shape)


def objects(x):
    return array([float(v) for v in x.ravel()], x.shape)


# ---- attention

class Attention:
    def __init__(self, q, k, v, mask=None, causal=False, scale=1.0):
        q, k, v = (numbers(x) for x in (q, k, v))
        per = q.shape[1] // max(k.shape[1], 1)
        self.groups, self.scale = k.shape[1], scale
        self.q, self.k, self.v = q, np.repeat(k, per, axis=1), np.repeat(v, per, axis=1)
        m, n = q.shape[2], k.shape[2]
        scores = np.einsum("bhmd,bhnd->bhmn", q, self.k) * np.longdouble(scale)
        if mask is not None and isinstance(mask, tuple):
            scores = np.where(numbers(mask[1]).astype(bool), scores, -np.inf)
        elif mask is not None:
            scores = scores + numbers(mask)
        if causal:
            scores = np.where(np.arange(n)[None, :] <= np.arange(m)[:, None] + (n - m), scores, -np.inf)
        with np.errstate(all="ignore"):
            top = np.max(scores, axis=3, keepdims=True, initial=-np.inf)
            powers = np.exp(scores - np.where(top == -np.inf, 0, top))
            whole = powers.sum(axis=3, keepdims=True)
            self.p = np.where(whole == 0, 0, powers / np.where(whole == 0, 1, whole))
            self.log_sum = np.where(top == -np.inf, -np.inf, np.log(whole) + np.where(top == -np.inf, 0, top))[..., 0]
        self.out = np.einsum("bhmn,bhne->bhme", self.p, self.v)
        # What one unit of rounding in the scores and products does to the weights.
        size = np.einsum("bhmd,bhnd->bhmn", abs(q), abs(self.k)) * abs(scale)
        self.spread = 1 + size.max(axis=3, keepdims=True, initial=0) + abs(np.where(np.isfinite(self.log_sum), self.log_sum, 0))[..., None]
        self.magnitude = np.einsum("bhmn,bhne->bhme", self.p, abs(self.v)) * self.spread

    def per_group(self, x):
        b, h, n, e = x.shape
        return x.reshape(b, self.groups, h // self.groups, n, e).sum(axis=2)

    def gradients(self, g, delta):
        """Results and magnitudes of dq, dk, dv."""
        results = []
        for absolute in (False, True):
            take = abs if absolute else (lambda x: x)
            q, k, v, p, each, d = (take(x) for x in (self.q, self.k, self.v, self.p, g, delta))
            product = np.einsum("bhme,bhne->bhmn", each, v)
            slopes = p * (product + d[..., None] if absolute else product - d[..., None])
            if absolute:
                slopes, p = slopes * self.spread, p * self.spread
            scale = take(np.longdouble(self.scale))
            results.append([scale * np.einsum("bhmn,bhnd->bhmd", slopes, k),
                            self.per_group(scale * np.einsum("bhmn,bhmd->bhnd", slopes, q)),
                            self.per_group(np.einsum("bhmn,bhme->bhne", p, each))])
        return results


def attention():
    f, gradient = Family("attention"), Family("attention_gradient")

    def add(name, q, k, v, mask=None, causal=False, scale=1.0, backward=True):
        attributes = {"causal": causal, "scale": scale}
        inputs = [q, k, v] + ([] if mask is None else [mask])
        a = Attention(q, k, v, mask, causal, scale)
        count, places = q.shape[3] + k.shape[2] + 16, list(range(len(inputs)))
        run = ["attention", attributes, places]
        f.add(name, [run, EVERYTHING + [[len(inputs)]]], None, "floats", inputs, objects(a.out), (count, objects(a.magnitude)))
        if np.isfinite(a.log_sum).all():
            f.add(f"{name}: log sum", [run], None, ["f64", "f32"], inputs, objects(a.log_sum), (count, objects(a.spread[..., 0])))
        if not backward:
            return
        # The gradient of Attention's first result, as the rule of autodiff asks for it.
        g = fractions(a.out.shape, 7)
        delta = (numbers(g) * a.out).sum(axis=3)
        results, magnitudes = a.gradients(numbers(g), delta)
        first = len(inputs) + 1  # g is the last input
        steps = [["attention", attributes, places],  # out, log_sum
                 ["binary", {"kind": "mul"}, [first - 1, first]],
                 ["reduce", {"kind": "sum", "axes": [3], "keep_dims": False}, [first + 2]],
                 ["attention_gradient", attributes, places + [first + 1, first - 1, first + 3]]]
        made = first + 4
        for i, x in enumerate(results):
            steps.append(["reshape", {"shape": [x.size]}, [made + i]])
        flat = [np.concatenate([x.ravel() for x in xs]) for xs in (results, magnitudes)]
        gradient.add(f"{name}: dq, dk and dv", steps + [["cat", {"axis": 0}, [made + 3, made + 4, made + 5]]], None,
                     ["f64", "f32"], inputs + [g], objects(flat[0]), (4 * (count + v.shape[3] + q.shape[2]), objects(flat[1])))

    def operands(b, h, m, d, n=None, g=None, e=None, seed=1):
        n, g, e = n or m, g or h, e or d
        return fractions((b, h, m, d), seed, 1), fractions((b, g, n, d), seed + 1, 1), fractions((b, g, n, e), seed + 2, 2)

    small = operands(2, 4, 3, 4, 5, 2, 3)
    add("of grouped heads", *small, scale=0.5)
    add("causal", *small, causal=True, scale=0.5)
    add("with a negative scale", *small, scale=-2.0)
    add("of f32 numbers", singles((1, 2, 4, 3), 11), singles((1, 1, 6, 3), 12), singles((1, 1, 6, 2), 13), scale=0.25)
    add("of one query", *operands(2, 2, 1, 8, 9, seed=21), causal=True, scale=0.5)
    add("of more queries than keys, causal", *operands(1, 1, 5, 2, 3, seed=31), causal=True)
    add("of heads that repeat", *(constant_along(x, 1) for x in operands(1, 3, 2, 2, 4, seed=41)))

    def rising(q, k, v):
        """The largest scores come last, so that what was summed before must be scaled down."""
        k = k.copy()
        k[:, :, -8:] *= 2
        return q, k, v

    add("of several tiles", *rising(*operands(1, 1, 140, 2, 530, 1, 1, seed=51)), causal=True, scale=2.0)
    add("of several tiles of few queries", *rising(*operands(1, 2, 3, 2, 1030, 1, 2, seed=61)), scale=2.0)
    for shape in ((2, 4, 3, 5), (3, 5), (2, 1, 1, 5), (1, 4, 3, 1)):
        flags = bits(shape, 71)
        add(f"with a mask {list(shape)}", *small, mask=("bool", flags), scale=0.5)
        add(f"with a bias {list(shape)}", *small, mask=fractions(shape, 72, 1), causal=True, scale=0.5)
    # Case 24.
    four = operands(1, 1, 4, 8, seed=81)
    add("that may look nowhere", *four, mask=("bool", array([[0] * 4] * 4)))
    add("whose first query may look nowhere", *four, mask=("bool", array([[0, 1, 1, 1]] * 4)), causal=True)
    add("with a bias that hides", *four, mask=array([[0.0, -inf, 1.0, -inf], [-inf] * 4, [0.5, 0.0, 0.0, -inf], [-inf, -inf, -inf, 2.0]]))
    add("with large scores", *(array([v * 64 for v in x.ravel()], x.shape) for x in operands(1, 1, 3, 2, 4, seed=91)), backward=False)
    bad = with_specials(fractions((1, 1, 3, 2), 95), [nan])
    add("of a NaN", bad, *operands(1, 1, 3, 2, 4, seed=96)[1:], backward=False)
    add("of no keys", fractions((1, 2, 3, 4), 97), ref.empty((1, 2, 0, 4)), ref.empty((1, 2, 0, 5)))
    add("of no queries", ref.empty((1, 2, 0, 4)), *operands(1, 2, 3, 4, seed=98)[1:])
    add("of no width", ref.empty((1, 1, 3, 0)), ref.empty((1, 1, 4, 0)), fractions((1, 1, 4, 2), 99))
    add("of values of no width", *operands(1, 1, 3, 2, seed=99)[:2], ref.empty((1, 1, 3, 0)))
    add("of no heads", ref.empty((2, 0, 3, 4)), ref.empty((2, 0, 5, 4)), ref.empty((2, 0, 5, 1)), backward=False)
    return [f, gradient]


# ---- cross entropy

def cross_entropy_of(x, target, weights, smoothing, ignore):
    """Losses, their magnitudes, log sums and the gradient of each row."""
    x, classes = numbers(x), x.shape[-1]
    w = np.ones(classes, np.longdouble) if weights is None else numbers(weights)
    losses, magnitudes, log_sums = (np.zeros(target.shape, np.longdouble) for _ in range(3))
    gradient = np.zeros(x.shape, np.longdouble)
    for at in np.ndindex(*target.shape):
        row, t = x[at], int(target[at])
        top = row.max()
        log_sums[at] = top + np.log(np.exp(row - top).sum())
        if t == ignore:
            continue
        share = np.longdouble(smoothing) / classes
        wanted = share * w
        wanted[t] += (1 - np.longdouble(smoothing)) * w[t]
        losses[at] = (wanted * (log_sums[at] - row)).sum()
        magnitudes[at] = (abs(wanted) * (abs(log_sums[at] - top) + abs(row - top) + 1)).sum()
        gradient[at] = wanted.sum() * np.exp(row - log_sums[at]) - wanted
    return losses, magnitudes, log_sums, gradient


def cross_entropy():
    f, back = Family("cross_entropy"), Family("cross_entropy_gradient")

    def add(name, x, target, weights=None, smoothing=0.0, ignore=-100):
        attributes = {"label_smoothing": smoothing, "ignore_index": ignore}
        inputs = [x, ("index", target)] + ([] if weights is None else [weights])
        losses, magnitudes, log_sums, gradient = cross_entropy_of(x, target, weights, smoothing, ignore)
        run = ["cross_entropy", attributes, list(range(len(inputs)))]
        whole = ["permute", {"order": list(range(target.ndim))}, [len(inputs)]]
        n = x.shape[-1] + 16
        f.add(name, [run, whole], None, "floats", inputs, objects(losses), (n, objects(magnitudes)) if losses.size else None)
        f.add(f"{name}: log sum", [run], None, ["f64", "f32"], inputs, objects(log_sums),
              (n, objects(1 + abs(log_sums))) if losses.size else None)
        g = fractions(target.shape, 8, 2)
        steps = [["cross_entropy", attributes, list(range(len(inputs)))],
                 ["cross_entropy_gradient", attributes, [0, 1, len(inputs) + 2, len(inputs)] + list(range(2, len(inputs)))]]
        expected = gradient * numbers(g)[..., None]
        size = np.abs(numbers(x)).max(axis=-1, keepdims=True, initial=0) + abs(log_sums)[..., None] + 2
        scale = (1 if weights is None else float(abs(numbers(weights)).max())) * 2
        back.add(name, steps, None, ["f64", "f32"], inputs + [g], objects(expected),
                 (n, objects(np.broadcast_to(size * abs(numbers(g))[..., None] * scale, x.shape))) if losses.size else None)

    weights = array([0.5, 2.0, 0.0, 1.0, 1.5])
    for rank, shape in enumerate(((), (4,), (3, 4))):
        x, target = fractions(shape + (5,), 1 + rank), naturals(shape, 4 + rank, 4)
        add(f"of rank {rank + 1}", x, target)
        add(f"of rank {rank + 1}, weighted", x, target, weights)
        add(f"of rank {rank + 1}, smoothed", x, target, None, 0.25)
        add(f"of rank {rank + 1}, smoothed and weighted", x, target, weights, 0.25)
    add("of f32 numbers", singles((3, 5), 11, -8, 8), naturals((3,), 12, 4), weights, 0.1)
    add("with ignored rows", fractions((4, 5), 13), array([-100, 2, -100, 4]), weights, 0.5)
    add("with an ignored class", fractions((4, 5), 14), array([1, 0, 1, 4]), None, 0.0, 1)
    add("of large scores", array([[1000.0, 0.0, 992.0], [-1000.0, -1000.0, -1008.0]]), array([1, 0]))
    add("of a longer row", fractions((2, 100), 15), array([99, 0]), None, 0.5)
    add("of rows that repeat", constant_along(fractions((3, 5), 16), 0), array([1, 1, 1]))
    add("of one class", fractions((3, 1), 17), array([0, 0, 0]))
    add("of no rows", ref.empty((0, 5)), ref.empty((0,)))
    return [f, back]


# ---- CTC

def ctc_of(x, targets, steps, labels, blank, zero_infinity):
    """Every path, one by one."""
    x = numbers(x)
    losses, gradient = np.zeros(x.shape[1], np.longdouble), np.zeros(x.shape, np.longdouble)
    for i in range(x.shape[1]):
        wanted, length, whole = [int(t) for t in targets[i][: labels[i]]], int(steps[i]), np.longdouble(0)
        for path in itertools.product(range(x.shape[2]), repeat=length):
            if [c for c, _ in itertools.groupby(path) if c != blank] != wanted:
                continue
            p = np.exp(sum((x[t, i, c] for t, c in enumerate(path)), np.longdouble(0)))
            whole += p
            for t, c in enumerate(path):
                gradient[t, i, c] -= p
        if whole == 0:
            losses[i] = 0 if zero_infinity else inf
            gradient[:length, i] = 0 if zero_infinity else nan
        else:
            losses[i] = -np.log(whole)
            gradient[:, i] /= whole
    return losses, gradient


def ctc():
    f, back = Family("ctc"), Family("ctc_gradient")

    def add(name, x, targets, steps, labels, blank=0, zero_infinity=False):
        attributes = {"blank": blank, "zero_infinity": zero_infinity}
        steps, labels = array(steps), array(labels)
        inputs = [x] + [("index", t) for t in (targets, steps, labels)]
        losses, gradient = ctc_of(x, targets, steps, labels, blank, zero_infinity)
        n = 8 * (x.shape[0] + 1)
        f.add(name, "ctc", attributes, "floats", inputs, objects(losses),
              (n, objects(1 + np.where(np.isfinite(losses), abs(losses), 0)), "wide"))
        back.add(name, "ctc_gradient", attributes, "floats", inputs, objects(gradient), (2 * n, 4.0, "wide"))

    x = array([v - 4 for v in fractions((5, 3, 4), 1, 3).ravel()], (5, 3, 4))
    targets = array([[1, 1, 2], [3, 2, 0], [0, 0, 0]])
    add("of three samples", x, targets, [5, 5, 5], [3, 2, 0])
    add("of shorter inputs", x, targets, [4, 3, 1], [3, 2, 0])
    add("without a path", x, targets, [3, 1, 0], [3, 2, 1])
    add("without a path, as zero", x, targets, [3, 5, 0], [3, 2, 1], 0, True)
    add("of another blank", x, array([[0, 0, 2], [1, 2, 1], [2, 0, 0]]), [5, 5, 5], [3, 3, 1], 3)
    add("of f32 numbers", singles((4, 2, 3), 2, -4, -0.5), array([[1, 2], [2, 2]]), [4, 4], [2, 2])
    add("of impossible classes", with_specials(x, [-inf, -inf, -inf]), targets, [5, 5, 5], [3, 2, 0])
    add("of no targets", x, ref.empty((3, 0)), [5, 2, 0], [0, 0, 0])
    return [f, back]


def attention_families():
    return attention() + cross_entropy() + ctc()
