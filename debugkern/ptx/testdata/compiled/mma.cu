// ldmatrix and mma.sync by inline assembly, dynamic shared memory, warp reductions of sm_80.
#include <cuda_fp16.h>
typedef unsigned uint32_t;

extern "C" __global__ void __launch_bounds__(32, 4) mma16816(const half* a, const half* b, half* d, unsigned* r) {
  extern __shared__ __align__(128) unsigned char smem[];
  half* sA = reinterpret_cast<half*>(smem);
  half* sB = sA + 256;
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) {
    sA[i] = a[i];
    if (i < 128) sB[i] = b[i];
  }
  __syncwarp();
  uint32_t A[4], B[2];
  uint32_t pa = __cvta_generic_to_shared(sA + (lane % 16) * 16 + (lane / 16) * 8);
  uint32_t pb = __cvta_generic_to_shared(sB + (lane % 8) * 16 + ((lane / 8) & 1) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(A[0]), "=r"(A[1]), "=r"(A[2]), "=r"(A[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(B[0]), "=r"(B[1]) : "r"(pb));
  float c[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p cp.async.wait_all; }" ::"r"(lane));
  half2* out = reinterpret_cast<half2*>(d);
  out[(lane / 4) * 4 + lane % 4] = __floats2half2_rn(c[0], c[1]);
  out[(lane / 4 + 8) * 4 + lane % 4] = __floats2half2_rn(c[2], c[3]);
  r[lane] = __reduce_max_sync(~0u, (unsigned)lane) + __activemask() + __match_any_sync(~0u, lane & 3);
  half2 h = __hmax2(out[0], out[1]);
  atomicAdd(reinterpret_cast<half2*>(d) + 64, h);
}
