#!/usr/bin/env python3
"""Triton kernels of ours, compiled for sm_80 without a GPU: writes the PTX of this folder, each with its launch and a defect planted.

  TRITON_CACHE_DIR=$(mktemp -d) python3 triton_kernels.py .        needs triton
"""
import re, sys
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def triton_add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

@triton.jit
def triton_softmax(x, y, cols, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * cols + at, e / tl.sum(e, 0), mask=at < cols)

@triton.jit
def triton_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + ks)[None, :], mask=(rows[:, None] < M) & ((k + ks)[None, :] < K), other=0.0)
        y = tl.load(b + (k + ks)[:, None] * N + cols[None, :], mask=((k + ks)[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))

@triton.jit
def triton_layernorm(x, gamma, beta, y, cols, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / cols
    d = tl.where(at < cols, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + eps)
    g, b = tl.load(gamma + at, mask=at < cols), tl.load(beta + at, mask=at < cols)
    tl.store(y + row * cols + at, (d * r * g + b).to(tl.float16), mask=at < cols)

@triton.jit
def triton_attention(q, k, v, o, scale, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows, cols, base = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D), tl.program_id(1) * S * D
    qs = tl.load(q + base + rows[:, None] * D + cols[None, :], mask=rows[:, None] < S, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    u = tl.zeros([BM, D], tl.float32)
    for first in range(0, (tl.program_id(0) + 1) * BM, BN):
        keys = first + tl.arange(0, BN)
        ks = tl.load(k + base + keys[None, :] * D + cols[:, None], mask=keys[None, :] < S, other=0.0)
        vs = tl.load(v + base + keys[:, None] * D + cols[None, :], mask=keys[:, None] < S, other=0.0)
        s = tl.where(rows[:, None] >= keys[None, :], tl.dot(qs, ks) * scale, -float("inf"))
        top = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - top[:, None])
        alpha = tl.exp(m - top)
        l = l * alpha + tl.sum(p, 1)
        u = tl.dot(p.to(tl.float16), vs, u * alpha[:, None])
        m = top
    tl.store(o + base + rows[:, None] * D + cols[None, :], (u / l[:, None]).to(tl.float16), mask=rows[:, None] < S)

@triton.jit
def triton_reduce(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0), 0))

@triton.jit
def triton_cumsum(x, y, cols, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * cols + at, mask=at < cols, other=0)
    tl.store(y + row * cols + at, tl.cumsum(v, 0), mask=at < cols)

@triton.jit
def triton_dropout(x, y, n, p, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, at) > p
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(keep, v / (1 - p), 0.0), mask=at < n)

@triton.jit
def triton_int8(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.int32)
    for k in range(0, K, BK):
        acc += tl.dot(tl.load(a + rows[:, None] * K + (k + ks)[None, :]), tl.load(b + cols[None, :] * K + (k + ks)[:, None]))
    tl.store(c + rows[:, None] * BN + cols[None, :], acc)

@triton.jit
def triton_topk(x, values, cols, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    tl.store(values + row * B + at, tl.sort(v, descending=True))

C = dict
ALIGNED = {"triton_matmul": "0 1 2 3 4 5", "triton_attention": "0 1 2 3 5"}  # arguments that are multiples of 16: asynchronous copies
BUGS = {  # what is looked for, which of its places, what takes the line's place, found as, at which line of a Python file
    "triton_add": (r"setp\.lt\.s32 \t%p2", 0, ("lt", "le"), "out-of-bounds", "tl.load(x + at, mask=at < n) + tl.load"),
    "triton_softmax": (r"bar\.sync", 0, None, "race", 216),
    "triton_matmul": (r"cp\.async\.wait_group", 0, ("0;", "1;"), "cp-async", "y = tl.load(b + (k + ks)"),
    "triton_layernorm": (r"bar\.sync", 1, None, "race", 314),
    "triton_attention": (r"cp\.async\.wait_group", 0, ("0;", "2;"), "cp-async", "vs = tl.load(v + base"),
    "triton_reduce": (r"atom\.global", 0, ("atom.global.gpu.acq_rel.add.u32 %r3, [ %rd3 + 0 ], %r4", "st.global.b32 [%rd3], %r4"), "race", "tl.atomic_add"),
    "triton_cumsum": (r"bar\.sync", 0, None, "race", 358),
    "triton_dropout": (r"setp\.lt\.s32 \t%p4", 0, ("lt", "ne"), "out-of-bounds", "v = tl.load(x + at, mask=at < n)"),
    "triton_int8": (r"bar\.sync", 0, None, "race", "acc += tl.dot("),
    "triton_topk": (r"bar\.sync", 2, None, "race", 330),
}
KERNELS = [
    (triton_add, C(x="*fp32", y="*fp32", out="*fp32", n="i32"), C(B=256), 4, "--grid 4", "x=randn:f32[1000] y=randn:f32[1000] out=unwritten:f32[1000] n=1000", None),
    (triton_softmax, C(x="*fp32", y="*fp32", cols="i32"), C(B=256), 4, "--grid 5", "x=randn:f32[5,200] y=unwritten:f32[5,200] cols=200", 2e-6),
    (triton_matmul, C(a="*fp16", b="*fp16", c="*fp32", M="i32", N="i32", K="i32"), C(BM=32, BN=32, BK=32), 2, "--grid 2,2", "a=randn:f16[48,80] b=randn:f16[80,48] c=unwritten:f32[48,48] M=48 N=48 K=80", 1e-6),
    (triton_layernorm, C(x="*fp16", gamma="*fp32", beta="*fp32", y="*fp16", cols="i32", eps="fp32"), C(B=256), 2, "--grid 4", "x=randn:f16[4,200] gamma=rand:f32[200] beta=randn:f32[200] y=unwritten:f16[4,200] cols=200 eps=1e-5", 1e-3),
    (triton_attention, C(q="*fp16", k="*fp16", v="*fp16", o="*fp16", scale="fp32", S="i32"), C(D=32, BM=32, BN=32), 2, "--grid 2,2", "q=randn:f16[2,48,32] k=randn:f16[2,48,32] v=randn:f16[2,48,32] o=unwritten:f16[2,48,32] scale=0.17677669 S=48", 2e-3),
    (triton_reduce, C(x="*i32", out="*i32", n="i32"), C(B=256), 4, "--grid 4", "x=randint(-50,99):i32[900] out=zeros:i32[1] n=900", None),
    (triton_cumsum, C(x="*i32", y="*i32", cols="i32"), C(B=256), 4, "--grid 3", "x=randint(0,9):i32[3,250] y=unwritten:i32[3,250] cols=250", None),
    (triton_dropout, C(x="*fp32", y="*fp32", n="i32", p="fp32", seed="i32"), C(B=256), 2, "--grid 2", "x=randn:f32[500] y=unwritten:f32[500] n=500 p=0.3 seed=77", 1e-6),
    (triton_int8, C(a="*i8", b="*i8", c="*i32", K="i32"), C(BM=32, BN=32, BK=32), 2, "--grid 1", "a=randint(-128,127):i8[32,96] b=randint(-128,127):i8[32,96] c=unwritten:i32[32,32] K=96", None),
    (triton_topk, C(x="*fp32", values="*fp32", cols="i32"), C(B=64), 2, "--grid 3", "x=randn:f32[3,64] values=unwritten:f32[3,64] cols=64", None),
]
out = sys.argv[1]
for f, sig, const, warps, grid, args, tol in KERNELS:
    sig = {**sig, **{k: "constexpr" for k in const}}
    attrs = {(int(i),): [["tt.divisibility", 16]] for i in ALIGNED.get(f.__name__, "").split()}
    c = triton.compile(ASTSource(f, sig, constexprs=const, attrs=attrs), target=GPUTarget("cuda", 80, 32), options={"num_warps": warps, "num_stages": 2})
    ptx = c.asm["ptx"]
    names = re.search(r"\t\.section\s+\.debug_str\s*\{.*?\n\t\}\n", ptx, re.S)  # what .loc lines call inlined functions by: ptxas wants it
    ptx = ptx[:ptx.index("\t.section")] + (names[0] if names else "") if ".section" in ptx else ptx
    ptx = re.sub(r'(\.file\s+\d+) ".*/', r'\1 "', ptx)
    ptx = "\n".join(line.split("//")[0].rstrip() for line in ptx.split("\n") if line.split("//")[0].strip()) + "\n"
    args = args.split()
    params = ptx[ptx.index(".entry"):ptx.index("{", ptx.index(".entry"))].count(".param")
    args += [f"scratch{i}=null" for i in range(params - len(args))]
    head = [f"// {f.__name__} of ours, compiled by Triton {triton.__version__} for sm_80.", f"// tilescope: {grid} --block {32*warps} --shared {c.metadata.shared}"]
    for i, a in enumerate(args): head.append(f"// tilescope: --arg {i}={a.split('=',1)[1]}")
    head.append("// arguments: " + " ".join(a.split("=")[0] for a in args))
    if tol: head.append(f"// tolerance: {tol}")
    look, nth, change, kind, at = BUGS[f.__name__]
    lines = ptx.split("\n")
    i = [i for i, line in enumerate(lines) if re.search(look, line)][nth]
    bug = lines[i].strip().replace(*change) if change else ""
    if bug == lines[i].strip(): sys.exit(f"{f.__name__}: nothing is planted in {bug}")
    if isinstance(at, str): at = 1 + next(n for n, line in enumerate(open(__file__)) if at in line)
    lines[i] += f"  // bug: {bug} // found: {kind} {at}"
    open(f"{out}/{f.__name__}.ptx", "w").write("\n".join(head + lines))
    print(f.__name__, len(ptx))
