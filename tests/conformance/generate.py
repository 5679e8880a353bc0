#!/usr/bin/env python3
"""Writes tests/conformance/data/*.json: operations, their inputs, and what an independent reference says they must give.

Run it again after changing it or generator/ (Python 3 with NumPy and SciPy; building and testing strata needs neither):

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy scipy
    /tmp/venv/bin/python tests/conformance/generate.py

Its output depends on nothing but these files. A case:

    name        unique in its file
    op, attributes   one operation over all inputs; or
    steps       [[op, attributes, [operand...]]...]: operands count the inputs, then the results of earlier steps (an
                operation with several results adds all of them)
    dtypes      what the operation allows: floats, ints, numbers, all, or names. The runner leaves out those that cannot hold
                the values.
    inputs      shape, values, and dtype unless it is the swept one ("index": i64 or i32)
    expected    likewise; floats to 17 digits, integers modulo 2^64
    rounding    absent: the result is the expected value, rounded once. Else {terms, magnitude}: the result may differ by
                `terms` roundings of numbers as large as `magnitude` (one number, or one for each element) in the precision
                that the operation accumulates in, plus one rounding to its dtype. `wide`: f32 accumulates in f64.
    signed_zeros     zeros compare by sign too

Values: a list, {"fill": x} or {"ramp": [start, step]}; NaN and infinities are the strings "nan", "inf", "-inf".
"""
import pathlib

from generator.cases_attention import attention_families
from generator.cases_fft import fft_families
from generator.cases_index import index_families
from generator.cases_light import light_families
from generator.cases_linalg import linalg_families
from generator.cases_order import order_families
from generator.cases_window import window_families
from generator.errors import error_family

DATA = pathlib.Path(__file__).parent / "data"


def main():
    DATA.mkdir(exist_ok=True)
    for old in DATA.glob("*.json"):
        old.unlink()
    size = count = 0
    families = order_families() + index_families() + window_families() + light_families()
    families += linalg_families() + fft_families() + attention_families() + [error_family()]
    for family in families:
        text = family.to_json()
        (DATA / f"{family.name}.json").write_text(text)
        print(f"{family.name:12} {len(family.cases):4} cases {len(text) / 1024:8.1f} kB")
        size, count = size + len(text), count + len(family.cases)
    print(f"{'together':12} {count:4} cases {size / 1024:8.1f} kB")


if __name__ == "__main__":
    main()
