// To 8-bit floats and back, by the conversions of cuda_fp8.h, with a scale from the device.
// tilescope: --grid 2 --block 64 --arch sm_89 --arg x=randn:f32[256] --arg q=unwritten:u8[256] --arg back=unwritten:f16[256] --arg scale=ones:f32[1]
// tolerance: 1e-3
#include <cuda_fp8.h>

extern "C" __global__ void quantise_fp8(const float2* x, __nv_fp8x2_storage_t* q, __half2* back, const float* scale) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float2 v = x[i];
    float s = scale[0] * 16.f;
    __nv_fp8x2_storage_t packed = __nv_cvt_float2_to_fp8x2(make_float2(v.x * s, v.y * s), __NV_SATFINITE, __NV_E4M3);
    q[i] = packed;  // bug: if (i < 127) q[i + 1] = packed;
    __half2_raw h = __nv_cvt_fp8x2_to_halfraw2(q[i], __NV_E4M3);  // found: race
    back[i] = __hmul2(__half2(h), __float2half2_rn(1.f / 16.f));
}
