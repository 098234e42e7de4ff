// Rows to 8-bit integers with one scale a row, by its largest absolute value; four elements a store.
// tilescope: --grid 3 --block 32 --arg x=randn:f32[3,160] --arg q=unwritten:i8[3,160] --arg scales=unwritten:f32[3] --arg cols=160
extern "C" __global__ void quantise_int8(const float4* x, char4* q, float* scales, int cols) {
    int row = blockIdx.x, n = cols / 4, lane = threadIdx.x;
    float top = 0.f;
    for (int c = lane; c < n; c += 32) {
        float4 v = x[row * n + c];
        top = fmaxf(top, fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
    }
    top = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(top)));
    float scale = __fdiv_rn(top, 127.f), inverse = __frcp_rn(scale);
    if (lane == 0) scales[row] = scale;  // bug: scales[row] = scale + lane; // found: race
    for (int c = lane; c < n; c += 32) {
        float4 v = x[row * n + c];
        q[row * n + c] = make_char4(__float2int_rn(v.x * inverse), __float2int_rn(v.y * inverse), __float2int_rn(v.z * inverse), __float2int_rn(v.w * inverse));
    }
}
