#!/usr/bin/env python3
"""strata and PyTorch on one GPU, row by row: compare.py <bench_gpu> [filter]; "start" times processes

Needs PyTorch. Both sides are timed alike: calls queued one behind the other up to a sync, median of seven rounds; rows named "call"
and "to host data" as they say. Bandwidth is bytes that must move at least once, as a share of a device-to-device copy.
"""
import os
import subprocess
import sys
import tempfile
import time

import torch

G = 1e9


def median(values):
    return sorted(values)[len(values) // 2]


def work(call):
    for _ in range(3):
        call()
    torch.cuda.synchronize()

    def once(n):
        start = time.perf_counter()
        results = [call() for _ in range(n)]
        torch.cuda.synchronize()
        del results
        return (time.perf_counter() - start) / n

    n = min(max(int(0.02 / once(2)), 3), 200)
    once(n)
    return median([once(n) for _ in range(7)]) * 1e6


def call_cost(call, burst=16):
    rounds = []
    for _ in range(201):
        torch.cuda.synchronize()
        start = time.perf_counter()
        results = [call() for _ in range(burst)]
        rounds.append((time.perf_counter() - start) / burst)
        del results
    return median(rounds) * 1e6


def latency(call):
    for _ in range(20):
        call()
    rounds = []
    for _ in range(201):
        start = time.perf_counter()
        call()
        rounds.append(time.perf_counter() - start)
    return median(rounds) * 1e6


def idle():
    torch.cuda.synchronize()
    time.sleep(0.2)
    start = time.process_time()
    time.sleep(1)
    return (time.process_time() - start) * 1e6


CONTEXT = """
import ctypes
cuda, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
"""


def starts(program):
    """Whole processes: one that only makes a context, and ours with an empty cache and with a full one."""

    def process(command, **environment):
        begin = time.perf_counter()
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **environment})
        return (time.perf_counter() - begin) * 1e3, out.stdout.strip()

    bare = median([process([sys.executable, "-c", "import ctypes"])[0] for _ in range(5)])
    context = median([process([sys.executable, "-c", CONTEXT])[0] for _ in range(7)]) - bare
    print(f"a context alone: {context:.0f} ms")
    with tempfile.TemporaryDirectory() as cache:
        first = process([*program, "start"], STRATA_CACHE_DIR=cache)
        print(f"empty cache: process {first[0]:.0f} ms; {first[1]}")
        again = sorted(process([*program, "start"], STRATA_CACHE_DIR=cache) for _ in range(7))
        print(f"full cache: process {again[3][0]:.0f} ms; {again[3][1]}")


def peers():
    """name -> (microseconds, bytes, operations)"""
    cuda = dict(device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = torch.tensor([[1.0, 2], [3, 4]], **cuda), torch.tensor([[5.0, 6], [7, 8]], **cuda)
    yield "call: matmul 2x2", lambda: call_cost(lambda: a @ b), 0, 0
    yield "call: add 2x2", lambda: call_cost(lambda: a + b), 0, 0
    yield "matmul 2x2 to host data", lambda: latency(lambda: (a @ b).cpu()), 0, 0
    r = torch.rand(4 << 20, **cuda)
    yield "16 MiB to host data", lambda: latency(lambda: r.cpu()), 0, 0
    h = torch.rand(4 << 20)
    yield "16 MiB from host data", lambda: latency(lambda: (h.cuda(), torch.cuda.synchronize())), 0, 0
    yield "processor time of an idle second", idle, 0, 0
    if torch.cuda.device_count() > 1:
        yield ("16 MiB to another GPU",
               lambda: latency(lambda: (r.to("cuda:1"), torch.cuda.synchronize(1))), 0, 0)
    v = torch.rand(64 << 20, **cuda) * 2 - 1
    yield ("chain of 8, 64M f32",
           lambda: work(lambda: (((v * 1.5 + 0.5).tanh() * v - 0.25).abs() + 1.0).sqrt() * 0.5), 8 * (64 << 20), 0)
    x = torch.rand(16384, 8192, **cuda) * 2 - 1
    size = x.numel() * 4
    weight, bias = torch.rand(8192, **cuda), torch.rand(8192, **cuda)
    yield "sum over last", lambda: work(lambda: x.sum(1)), size, 0
    yield "sum over first", lambda: work(lambda: x.sum(0)), size, 0
    yield "sum of all", lambda: work(lambda: x.sum()), size, 0
    yield "argmax over last", lambda: work(lambda: x.argmax(1)), size, 0
    yield "softmax", lambda: work(lambda: x.softmax(1)), 2 * size, 0
    yield "layer norm", lambda: work(lambda: torch.nn.functional.layer_norm(x, (8192,), weight, bias)), 2 * size, 0
    yield "transposed copy", lambda: work(lambda: x.t().contiguous()), 2 * size, 0
    for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16)):
        shapes = [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)]
        if name != "f16":
            shapes += [(1, 4096, 4096), (4096, 4096, 1), (8, 4096, 4096), (16, 4096, 4096), (64, 4096, 14336),
                       (8192, 1024, 64), (64, 8192, 64), (333, 777, 555)]
        for m, k, n in shapes:
            p = (torch.rand(m, k, **cuda) * 2 - 1).to(dtype)
            q = (torch.rand(k, n, **cuda) * 2 - 1).to(dtype)
            label = f"{n}" if m == k == n else f"{m}x{k}x{n}"
            yield f"matmul {name} {label}", lambda: work(lambda: p @ q), 0, 2.0 * m * n * k
        if name != "f16":
            v = (torch.rand(1, 4096, **cuda) * 2 - 1).to(dtype)
            weight = (torch.rand(4096, 4096, **cuda) * 2 - 1).to(dtype)
            yield f"matmul {name} 1x4096x4096 nt", lambda: work(lambda: v @ weight.t()), 0, 2.0 * 4096 * 4096
    # cuBLAS has no split: its rows stand against exact f32, as those of tf32 stand against tf32.
    for name in ("tf32", "split"):
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        for m, k, n in [(n, n, n) for n in (512, 1024, 2048, 4096, 8192)] + [(64, 4096, 14336), (333, 777, 555)]:
            p, q = torch.rand(m, k, **cuda) * 2 - 1, torch.rand(k, n, **cuda) * 2 - 1
            label = f"{n}" if m == k == n else f"{m}x{k}x{n}"
            yield f"matmul {name} {label}", lambda: work(lambda: p @ q), 0, 2.0 * m * n * k
        p, q = torch.rand(4096, 4096, **cuda) * 2 - 1, torch.rand(4096, 4096, **cuda) * 2 - 1
        offset = torch.rand(4096, **cuda)
        yield f"matmul {name} 4096 nt", lambda: work(lambda: p @ q.t()), 0, 2.0 * 4096**3
        yield (f"matmul {name} 4096 + bias, relu", lambda: work(lambda: torch.relu(torch.addmm(offset, p, q.t()))), 0,
               2.0 * 4096**3)
    torch.backends.cuda.matmul.allow_tf32 = False
    layers = []
    for i, o in ((784, 512), (512, 512), (512, 10)):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.rand(256, 784, **cuda), torch.arange(256, **cuda) * 7 % 10

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    yield "MLP training step", lambda: work(step), 0, 0
    yield "call: MLP training step", lambda: call_cost(step, 1), 0, 0


def main():
    program, pattern = sys.argv[1].split(), sys.argv[2] if len(sys.argv) > 2 else ""
    if pattern in ("", "start"):
        starts(program)
    run = subprocess.run([*program, pattern], stdout=subprocess.PIPE, text=True)
    ours = dict(line.split("\t") for line in run.stdout.splitlines() if "\t" in line)
    source = torch.rand(128 << 20, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / work(lambda: target.copy_(source)) * 1e6
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, copy {copy / G:.0f} GB/s (read + written)")
    print(f"{'microseconds':32} {'strata':>10} {'PyTorch':>10} {'ratio':>7}   of copy / TFLOP/s")
    for name, time_peer, size, operations in peers():
        if pattern not in name or name not in ours:
            continue
        mine, peer = float(ours[name]), time_peer()
        extra = f"{size / mine * 1e6 / copy:10.2f}" if size else ""
        extra = f"{operations / mine / 1e6:10.1f}" if operations else extra
        print(f"{name:32} {mine:10.2f} {peer:10.2f} {peer / mine:7.2f} {extra}", flush=True)
    return run.returncode


sys.exit(main())
