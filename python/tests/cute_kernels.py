"""Kernels for tests.clients."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def reverse_kernel(
    x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, factor: cutlass.Float32, layout: cute.Layout
):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    part = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    i = b * 128 + t
    part[t] = x[i]
    cute.arch.sync_threads()
    if i < n:
        y[i] = part[127 - t] * factor


@cute.jit
def reverse(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, factor: cutlass.Float32):
    """Each block's 128 elements in reverse order, times a factor."""
    layout = cute.make_layout(128)
    reverse_kernel(x, y, n, factor, layout).launch(
        grid=[cute.ceil_div(n, 128), 1, 1], block=[128, 1, 1], smem=512
    )
