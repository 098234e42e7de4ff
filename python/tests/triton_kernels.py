"""Kernels for tests.clients."""

import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * columns + i, e / tl.sum(e, 0), mask=i < columns)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    total = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        left = tl.load(
            a + rows[:, None] * K + (k + ks)[None, :],
            mask=(rows[:, None] < M) & ((k + ks)[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + (k + ks)[:, None] * N + cols[None, :],
            mask=((k + ks)[:, None] < K) & (cols[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    tl.store(
        c + rows[:, None] * N + cols[None, :],
        total.to(tl.float16),
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )


@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit
def rectified(x, y, bias, n, step, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i * step) if EVEN else tl.load(x + i * step, mask=i < n, other=0.0)
    if bias is not None:
        v += tl.load(bias + i, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 256})], key=["n"]
)
@triton.jit
def scaled(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)
