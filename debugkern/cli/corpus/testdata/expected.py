#!/usr/bin/env python3
"""What the kernels of this folder must compute, by NumPy: writes expected.npz, which the tests compare with.

  python3 expected.py TILESCOPE [NAME...]     the built program; needs numpy and an NVRTC that the program finds

A function here has a kernel's name. It takes the launch's arguments before the launch by name (pointers as arrays, numbers as written)
and returns what must be in the arguments that the kernel writes. Its results are compared with the launch's before they are written down.
"""
import os, re, subprocess, sys, tempfile
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = {}


def kernel(f):
    KERNELS[f.__name__] = f
    return f


def renamed(name, f):
    """The same function for another kernel."""
    g = type(f)(f.__code__, globals(), name)
    return g


def bf16(x):
    """Numbers rounded to bf16."""
    u = np.asarray(x, "f4").view("u4")
    return (u + 0x7fff + (u >> 16 & 1) & 0xffff0000).view("f4")


def e4m3(x):
    """The numbers of 8-bit floats with 4 exponent and 3 fraction bits."""
    x = x.astype("i4")
    e, m = x >> 3 & 15, x & 7
    return np.where(x & 128, -1, 1) * np.where(e, (8 + m) * 2.0 ** (e - 10), m * 2.0 ** -9)


# Reductions.

@kernel
def reduce_tree(x, n):
    return {"sums": np.pad(x, (0, 24)).astype("f8").reshape(4, 256).sum(1)}

@kernel
def reduce_shuffle(x, cols):
    return {"sums": x.astype("f8").sum(1)}

@kernel
def reduce_last_block(x, n):
    return {"sum": x.astype("f8").sum(keepdims=True), "counter": np.zeros(1, "u4")}

@kernel
def reduce_grid_sync(x, n):
    return {"largest": abs(x).max(keepdims=True)}

@kernel
def reduce_float4(x, n):
    return {"sum": (x.astype("f8") ** 2).sum(keepdims=True)}


# Scans, histograms, transposes, order.

@kernel
def scan_hillis(x):
    return {"y": x.reshape(3, 128).cumsum(1).ravel().astype("i4")}

@kernel
def scan_blelloch(x):
    r = x.reshape(2, 128)
    return {"y": (r.cumsum(1) - r).ravel().astype("u4")}

@kernel
def scan_warp(x, n):
    return {"y": np.pad(x, (0, 18)).reshape(4, 32).cumsum(1).ravel()[:110].astype("i4")}

@kernel
def scan_lookback(x):
    return {"y": x.cumsum().astype("u4")}

@kernel
def histogram_shared(x, n):
    return {"bins": np.bincount(x, minlength=256).astype("u4")}

@kernel
def histogram_float(x, n, lo, hi):
    return {"bins": np.bincount(np.clip(np.floor((x + np.float32(2)) * np.float32(4)), 0, 15).astype(int), minlength=16).astype("i4")}

@kernel
def transpose_padded(**a):
    return {"out": a["in"].T}

@kernel
def transpose_swizzle(**a):
    return {"out": a["in"].T}

@kernel
def compact_ballot(x, n):
    return {"count": np.array([(x > 0).sum()], "i4")}

@kernel
def sort_bitonic(keys):
    return {"keys": np.sort(keys.reshape(2, 256)).ravel()}


# Matrix products.

def product(a, b):
    return a.astype("f8") @ b.astype("f8")

@kernel
def gemm_naive(A, B, C):
    return {"C": 0.5 * product(A, B) + 2 * C}

@kernel
def gemm_tiled(A, B):
    return {"C": product(A, B)}

for name in "gemm_registers gemm_cp_async gemm_pipeline gemm_wmma_f16 gemm_wmma_tf32 mma_f16 mma_tf32".split(): kernel(renamed(name, gemm_tiled))

@kernel
def gemm_wmma_bf16(A, B):
    return {"C": 2 * product(A, B.T)}

@kernel
def gemm_wmma_s8(A, B, scale):
    sums = A.astype("i4") @ B.astype("i4").T
    return {"C": np.clip(np.rint(sums.astype("f4") * np.float32(scale)), -128, 127).astype("i1")}

@kernel
def gemm_wmma_f64(A, B, C):
    return {"C": A @ B + C}

@kernel
def mma_bf16(A, B):
    return {"C": product(A, B.T)}

@kernel
def mma_s8(A, B):
    return {"C": A.astype("i4") @ B.astype("i4").T}

@kernel
def mma_e4m3(A, B, scales):
    return {"C": product(e4m3(A), e4m3(B).T) * scales[0] * scales[1]}

@kernel
def mma_f64(A):
    return {"G": A @ A.T}

@kernel
def mma_s4(A, B):
    nibbles = lambda x: (x[..., None] >> np.arange(0, 32, 4, dtype="u4") & 15).reshape(len(x), -1).astype("i4")
    a = nibbles(A)
    return {"C": (a - 16 * (a > 7)) @ nibbles(B).T}


# Rows: softmax, norms, loss.

def exp_rows(x):
    x = x.astype("f8")
    return np.exp(x - x.max(-1, keepdims=True))

def softmax(x):
    e = exp_rows(x)
    return e / e.sum(-1, keepdims=True)

@kernel
def softmax_rows(x):
    return {"y": softmax(x)}

@kernel
def softmax_online(x, scale):
    return {"y": softmax(x.astype("f8") * scale)}

kernel(renamed("softmax_warp", softmax_rows))

@kernel
def norm_layer(x, gamma, beta):
    m, r = x.astype("f8").mean(1), 1 / np.sqrt(x.astype("f8").var(1) + 1e-5)
    return {"y": (x - m[:, None]) * r[:, None] * gamma + beta, "mean": m, "rstd": r}

@kernel
def norm_rms(x, residual, weight):
    h = bf16(x + residual)
    scale = bf16((h.astype("f8") ** 2).mean(1, keepdims=True) ** -0.5)
    return {"residual": h, "y": bf16(h * scale) * weight}

@kernel
def norm_batch(x):
    x = x.astype("f8")
    m, v = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return {"y": (x - m) / np.sqrt(v + 1e-5), "running": 0.1 * np.stack([m.ravel(), v.ravel()])}

@kernel
def loss_cross_entropy(logits, target):
    p = softmax(logits)
    rows = np.arange(7)
    return {"loss": [-np.log(p[rows, target]).mean()], "grad": (p - np.eye(100)[target]) / 7}


# Attention: [heads, rows, D].

def attend(Q, K, V, mask=None, scale=None):
    s = Q.astype("f8") @ np.swapaxes(K, -1, -2).astype("f8") * (scale or Q.shape[-1] ** -0.5)
    return softmax(s if mask is None else np.where(mask, s, -np.inf)) @ V.astype("f8")

@kernel
def attention_naive(Q, K, V):
    return {"O": attend(Q, K, V)}

for name in ["attention_flash", "attention_mma"]: kernel(renamed(name, attention_naive))

@kernel
def attention_split(Q, K, V):
    return {"O": attend(Q[:, None], K, V)}

@kernel
def attention_gqa(Q, K, V):
    q, k, v = [np.moveaxis(x, 1, 0) for x in (Q, K, V)]
    o = attend(q, k.repeat(3, 0), v.repeat(3, 0), np.tri(20, dtype=bool))
    return {"O": np.moveaxis(o, 0, 1)}

@kernel
def attention_paged(q, cache, table, lengths):
    out = []
    for b in range(3):
        pages = np.moveaxis(cache[table[b]], 1, 0).reshape(2, 32, 64)[:, :lengths[b]]
        out.append(attend(q[b:b + 1], pages[0], pages[1]))
    return {"out": out}


# Stencils, convolution, pooling.

@kernel
def stencil_7point(**a):
    x = a["in"].astype("f8")
    out = np.zeros_like(x)
    out[1:-1, 1:-1, 1:-1] = sum(np.roll(x, d, i) for i in range(3) for d in (1, -1))[1:-1, 1:-1, 1:-1] - 6 * x[1:-1, 1:-1, 1:-1]
    return {"out": out}

@kernel
def stencil_jacobi(u, v):
    a, b = u.astype("f8"), v.astype("f8")
    for _ in range(10):
        b = a.copy()
        b[1:-1, 1:-1] = (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]) / 4
        a, b = b, a
    return {"u": a, "v": b}

@kernel
def conv_2d(image):
    k, pad = np.array([1, 4, 6, 4, 1]) / 16, np.pad(image.astype("f8"), 2)
    return {"out": sum(k[j] * k[i] * pad[j:j + 20, i:i + 27] for j in range(5) for i in range(5))}

@kernel
def pool_max(x):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[:, :, ::2, ::2].reshape(2, 3, 5, 6, 9)
    at = windows.argmax(-1)
    rows, cols = np.arange(5)[:, None] * 2, np.arange(6) * 2
    return {"y": windows.max(-1), "index": (rows + at // 3) * 13 + cols + at % 3}


# Order, search, graphs.

@kernel
def sort_radix(keys):
    return {"keys": np.sort(keys.reshape(2, 128)).ravel()}

@kernel
def top_k(x):
    at = np.argsort(-x, kind="stable")[:, :4]
    return {"values": np.take_along_axis(x, at, 1), "index": at}

@kernel
def argmax_atomic(x):
    u = x.view("u4")
    ordered = np.where(u >> 31, ~u, u | 0x80000000)
    return {"best": np.array([int(ordered.max()) << 32 | 1000 - int(x.argmax())], "u8")}

@kernel
def match_aggregate(keys, weight):
    return {"count": np.bincount(keys, minlength=7), "sum": np.bincount(keys, weight, minlength=7)}

@kernel
def lock_cas(x):
    return {"used": np.array([5]), "top": x.max(keepdims=True)}

@kernel
def graph_bfs(**a):
    level, front, depth = np.full(100, -1), {0}, 0
    while front:
        level[list(front)] = depth
        front = {n for f in front for n in a["next"][f] if level[n] < 0}
        depth += 1
    return {"level": level}

@kernel
def spmv_csr(cols, values, x):
    bounds = [0, 5, 5, 40, 41, 50, 60]
    return {"y": [(values[a:b].astype("f8") * x[cols[a:b]]).sum() for a, b in zip(bounds, bounds[1:])]}

@kernel
def gemv_dp4a(A, x):
    return {"y": A.astype("i4") @ x.astype("i4")}


# Tables, random numbers, formats.

@kernel
def embedding_gather(table, index, position):
    return {"out": np.where(index[:, None] >= 0, table[index], np.float16(0)) + position}

@kernel
def embedding_grad(grad, index):
    out = np.zeros((3, 32))
    np.add.at(out, index, grad)
    return {"table": out}

def philox(n, seed):
    """Philox 4x32-10 of the counters up to n."""
    c = np.zeros((n, 4), "u8")
    c[:, 0] = np.arange(n)
    k0, k1 = seed & 0xffffffff, seed >> 32
    for _ in range(10):
        p, q = c[:, 0] * 0xD2511F53, c[:, 2] * 0xCD9E8D57
        low = np.uint64(0xffffffff)
        c = np.stack([q >> np.uint64(32) ^ c[:, 1] ^ np.uint64(k0), q & low, p >> np.uint64(32) ^ c[:, 3] ^ np.uint64(k1), p & low], 1)
        k0, k1 = k0 + 0x9E3779B9 & 0xffffffff, k1 + 0xBB67AE85 & 0xffffffff
    return c

@kernel
def dropout_philox(x, seed):
    keep = philox(125, seed) >= 2 ** 30
    return {"y": np.where(keep, x.reshape(125, 4) / 0.75, 0), "mask": keep @ np.array([1, 2, 4, 8])}

@kernel
def rope_pairs(x, positions):
    angle = (positions[:, None] * 10000.0 ** (-np.arange(16) / 16))[:, None]
    a, b = x[..., :16].astype("f8"), x[..., 16:].astype("f8")
    return {"x": np.concatenate([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], 2)}

@kernel
def quantise_int8(x):
    scale = abs(x).max(1) / np.float32(127)
    return {"scales": scale, "q": np.rint(x * (np.float32(1) / scale)[:, None])}

@kernel
def quantise_fp8(x):
    codes = e4m3(np.arange(127))
    v = abs(x.astype("f8")) * 16
    at = np.searchsorted((codes[1:] + codes[:-1]) / 2, v)
    middle = np.isin(v, (codes[1:] + codes[:-1]) / 2)
    assert not middle.any()
    return {"q": at | np.signbit(x) * 128, "back": np.sign(x) * codes[at] / 16}

@kernel
def dequantise_int4(packed, scale):
    nibble = packed[:, None] >> np.array([0, 16, 4, 20, 8, 24, 12, 28], "u4") & 15
    return {"w": (nibble.astype("f8") - 8) * scale.repeat(8)[:, None]}

@kernel
def activation_half2(x):
    a, gate = x[:, :32].astype("f8"), x[:, 32:].astype("f8")
    return {"y": 0.5 * a * (1 + np.tanh(0.7978845608 * (a + 0.044715 * a ** 3))) * gate}


# The rest.

@kernel
def nbody_f64(body):
    d = body[None, :, :3] - body[:, None, :3]
    return {"force": (body[:, 3, None] * ((d ** 2).sum(2) + 1e-3)[..., None] ** -1.5 * d).sum(1)}

@kernel
def struct_by_value(x, y):
    y = y.copy()
    y[:, :18:2] = 3 * x[:, :18:2] - y[:, :18:2]
    return {"y": y}

@kernel
def calls_deep(x):
    v = np.clip(x, -5, 5)
    return {"y": np.where(np.arange(32) % 2, 7 * v ** 3 - 2 * v ** 2 + v + 1, np.clip(x, 2, 6))}

@kernel
def calls_indirect(x):
    t, x = np.arange(64), x.astype("i4")
    area = np.where(t % 2, x * x, 3 * x)
    return {"y": np.choose(t % 3, [2 * x, x * x, -x]), "areas": [area[::2].sum(), area[1::2].sum()]}

@kernel
def flags_pipeline(x):
    return {"stage": np.concatenate([np.zeros((1, 32)), x.astype("f8").cumsum(0)]), "flags": np.array([0] + [1] * 6)}

@kernel
def named_barriers(x):
    return {"sums": x.reshape(2, 4, 64).astype("f8").sum(1)[:, ::-1]}

@kernel
def print_clock(x, limit):
    return {"y": np.minimum(x, limit), "cycles": np.ones(2)}

@kernel
def math_double(x):
    from math import erf
    v = x + 0.5
    return {"y": np.stack([np.exp(v), np.log(v), np.log1p(v), np.sin(10 * v), np.cos(1e6 * v), np.tan(v), v ** 2.5, np.arctan2(v, -2), np.hypot(v, 3),
                           [erf(e) for e in v], np.cbrt(v), np.tanh(v), v ** -0.5, np.arcsin(v / 2)])}

@kernel
def math_half(x):
    h = x + np.float16(0.25)
    v = h.astype("f8")
    return {"y": np.stack([np.exp(v), np.log(v), np.sin(v), np.cos(v), v ** 0.5, 1 / v, 2 ** v, np.maximum(v, 0.7), h > np.float16(0.6), np.exp(-v)])}

@kernel
def integer_wide(a, b, m):
    p = [int(x) * int(y) + m for x, y in zip(a, b)]
    low = [int(x & 0xffffffff) + int(y & 0xffffffff) for x, y in zip(a, b)]
    bytes4 = lambda v: v[:, None] >> np.array([0, 8, 16, 24]) & 255
    return {"y": np.array([[q >> 64 for q in p], [q % m for q in p],
                           [(int(x) >> 32) + 5 + (s >> 32) << 32 & 2 ** 64 - 1 | s & 0xffffffff for x, s in zip(a, low)],
                           abs(bytes4(a) - bytes4(b)).sum(1)], "u8")}

@kernel
def fft_shared(data):
    f = np.fft.fft(data[..., 0] + 1j * data[..., 1].astype("f8"))
    return {"data": np.stack([f.real, f.imag], -1)}

@kernel
def coalesced_groups(x):
    r = x.reshape(16, 8)
    return {"out": r.cumsum(1), "sums": r.sum(1), "count": np.array([(x > 50).sum()])}


# Triton's.

@kernel
def triton_add(x, y):
    return {"out": x + y}

kernel(renamed("triton_softmax", softmax_rows))

@kernel
def triton_matmul(a, b):
    return {"c": product(a, b)}

@kernel
def triton_layernorm(x, gamma, beta):
    x = x.astype("f8")
    return {"y": (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gamma + beta}

@kernel
def triton_attention(q, k, v):
    return {"o": attend(q, k, v, np.tri(48, dtype=bool))}

@kernel
def triton_reduce(x):
    return {"out": x.sum(keepdims=True)}

@kernel
def triton_cumsum(x):
    return {"y": x.cumsum(1)}

@kernel
def triton_dropout(x, p, seed):
    r = philox(500, seed)[:, 0].astype("u4").view("i4").astype("i8")
    keep = np.where(r < 0, -r - 1, r) * np.float32(4.6566127342e-10) > p
    return {"y": np.where(keep, x / (1 - p), 0)}

@kernel
def triton_int8(a, b):
    return {"c": a.astype("i4") @ b.astype("i4").T}

@kernel
def triton_topk(x):
    return {"values": -np.sort(-x, 1)}


def tolerance(text):
    m = re.search(r"^// tolerance: (\S+)", text, re.M)
    return float(m[1]) if m else 0.0


def arguments(text):
    """What the comments give for each parameter, by its name; PTX has its parameters' names in a comment."""
    m = re.search(r"^// arguments: (.*)$", text, re.M)
    names = dict(enumerate(m[1].split())) if m else {}
    given = re.findall(r"--arg (\w+)=(\S+)", " ".join(re.findall(r"^// tilescope:(.*)", text, re.M)))
    return {names.get(int(k), k) if k.isdigit() else k: v for k, v in given}, {f"arg{i}": k for i, k in names.items()}


def scalars(text):
    """The numbers that the comments give, by name."""
    out = {}
    for name, value in arguments(text)[0].items():
        value = value.split(":")[0]
        if re.fullmatch(r"-?\d+", value): out[name] = int(value)
        elif re.fullmatch(r"-?[\d.]+(e-?\d+)?", value): out[name] = float(value)
    return out


def dtypes(text):
    """The element types of the arrays that the comments give, by name."""
    return {k: m[1] for k, v in arguments(text)[0].items() if (m := re.search(r":(\w+)\[", v))}


def number(array, dtype):
    """An array's numbers: what NumPy has no type for is in the archive as its bits."""
    if dtype == "bf16": return (array.astype("u4") << 16).view("f4")
    return array


def launched(program, path, names):
    with tempfile.TemporaryDirectory() as d:
        r = subprocess.run([program, "check", path, "--dump", d + "/x.npz"], capture_output=True, text=True)
        if r.returncode: sys.exit(f"{path}: exit {r.returncode}\n{r.stdout}{r.stderr}")
        with np.load(d + "/x.npz") as z: return {re.sub(r"arg\d+", lambda m: names[m[0]], k): z[k] for k in z.files}


def compare(name, text, got, want):
    """The largest error in units of the tolerance, relative to the largest number expected."""
    worst = 0.0
    for k, w in want.items():
        g, w = np.ravel(number(got[k], dtypes(text).get(k))), np.ravel(w)
        if g.shape != w.shape: sys.exit(f"{name}.{k}: {g.shape} and {w.shape}")
        if tolerance(text) == 0.0:
            if not np.array_equal(g, w.astype(g.dtype)): sys.exit(f"{name}.{k}: {g} want {w}")
            continue
        err = abs(g.astype("f8") - w.astype("f8")).max() / max(abs(w.astype("f8")).max(), 1e-300)
        if not err <= tolerance(text): sys.exit(f"{name}.{k}: error {err}: {g} want {w}")
        worst = max(worst, err / tolerance(text))
    return worst


def main():
    program, only, path = sys.argv[1], sys.argv[2:], os.path.join(HERE, "expected.npz")
    all = dict(np.load(path)) if os.path.exists(path) and only else {}
    for name, f in KERNELS.items():
        if only and name not in only: continue
        file = next(p for p in (f"{HERE}/{name}.cu", f"{HERE}/{name}.ptx") if os.path.exists(p))
        text = open(file).read()
        got = launched(program, file, arguments(text)[1])
        given = {k[3:]: number(v, dtypes(text).get(k[3:])) for k, v in got.items() if k.startswith("in_")}
        used = f.__code__.co_varnames[:f.__code__.co_argcount] or [*given, *scalars(text)]
        want = f(**{k: v for k, v in {**given, **scalars(text)}.items() if k in used})
        print(f"{name:24} {compare(name, text, got, want):5.2f} of the tolerance")
        for k, w in want.items():
            all[f"{name}.{k}"] = np.ravel(w).astype("f4" if dtypes(text)[k] == "bf16" else got[k].dtype)
    np.savez_compressed(path, **{k: all[k] for k in sorted(all)})


if __name__ == "__main__":
    main()
