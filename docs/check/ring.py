"""A ring of two buffers that tensor copies fill: y = 2x, tile by tile, in Gluon (Triton 3.6). BUG chooses what is wrong:

0  nothing                                  4  no fence between the stores to out and the copy of it
1  the tile is read without a wait          5  out is stored to while the copy of the last tile may still read it
2  waits for the phase of the other parity  6  twice as many bytes are expected as a copy brings
3  the next copy is issued before the tile is read

On a GPU: python ring.py BUG; with TRITON_INSTRUMENTATION_MODE=consan, python ring.py BUG consan.
"""
import sys
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma

@gluon.jit
def load(in_desc, t, bar, buf, nbytes: gl.constexpr):
    mbarrier.expect(bar, nbytes)
    tma.async_copy_global_to_shared(in_desc, [t * in_desc.block_type.shape[0], 0], bar, buf)

@gluon.jit
def ring(in_desc, out_desc, T, BUG: gl.constexpr):
    rows: gl.constexpr = in_desc.block_type.shape[0]
    cols: gl.constexpr = in_desc.block_type.shape[1]
    nbytes: gl.constexpr = in_desc.block_type.nbytes if BUG != 6 else 2 * in_desc.block_type.nbytes
    lay: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    buf = gl.allocate_shared_memory(in_desc.dtype, [2, rows, cols], in_desc.layout)
    out = gl.allocate_shared_memory(out_desc.dtype, [rows, cols], out_desc.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(2):
        mbarrier.init(bars.index(i), count=1)
    fence_async_shared()
    for i in gl.static_range(2):
        load(in_desc, i, bars.index(i), buf.index(i), nbytes)
    for t in range(T):
        b = t % 2
        phase = (t // 2) & 1
        if BUG == 2:
            phase = phase ^ 1
        if BUG != 1:
            mbarrier.wait(bars.index(b), phase)
        if BUG == 3:
            if t + 2 < T:
                load(in_desc, t + 2, bars.index(b), buf.index(b), nbytes)
        x = buf.index(b).load(lay)
        if BUG != 3:
            if t + 2 < T:
                load(in_desc, t + 2, bars.index(b), buf.index(b), nbytes)
        if BUG != 5:
            tma.store_wait(pendings=0)
        out.store(x + x)
        if BUG != 4:
            fence_async_shared()
        tma.async_copy_shared_to_global(out_desc, [t * rows, 0], out)
    tma.store_wait(pendings=0)

if __name__ == "__main__":
    import torch
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
    bug = int(sys.argv[1])
    T, R, C = 8, 64, 64
    x = torch.randn(T * R, C, device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    lay = gl.NVMMASharedLayout.get_default_for([R, C], gl.float16)
    d = [TensorDescriptor.from_tensor(a, [R, C], lay) for a in (x, y)]
    if len(sys.argv) > 2:   # ConSan allocates through Triton's allocator
        triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    ring[(1,)](d[0], d[1], T, bug, num_warps=4)
    torch.cuda.synchronize()
    print("bug", bug, "right" if torch.equal(y, x + x) else "wrong: %d of %d" % ((y != x + x).sum().item(), y.numel()))
