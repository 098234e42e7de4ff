# The sum of two vectors.
# tilescope: --entry add --grid 4 --arg x=randn:f32[1000] --arg y=randn:f32[1000] --arg out=unwritten:f32[1000]
# tilescope: --arg n=1000 --arg BLOCK=256 --set num_warps=4
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)
