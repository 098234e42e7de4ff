// Attention by tiles of 16 queries and 16 keys in shared memory, with a running maximum and sum for each query.
// tilescope: --grid 3,2 --block 64 --arg Q=randn:f32[2,40,32] --arg K=randn:f32[2,40,32] --arg V=randn:f32[2,40,32]
// tilescope: --arg O=unwritten:f32[2,40,32] --arg S=40 --arg scale=0.17677669
// tolerance: 1e-5
constexpr int T = 16, D = 32;

extern "C" __global__ void attention_flash(const float* Q, const float* K, const float* V, float* O, int S, float scale) {
    __shared__ float q[T][D + 1], k[T][D + 1], v[T][D], p[T][T + 1], alpha[T], m[T], l[T];
    int t = threadIdx.x, first = blockIdx.x * T, base = blockIdx.y * S * D;
    for (int i = t; i < T * D; i += 64) q[i / D][i % D] = first + i / D < S ? Q[base + (first + i / D) * D + i % D] : 0.f;
    if (t < T) m[t] = -INFINITY, l[t] = 0.f;
    float acc[T * D / 64] = {};
    for (int k0 = 0; k0 < S; k0 += T) {
        __syncthreads();  // bug: if (k0 == 0) __syncthreads();
        for (int i = t; i < T * D; i += 64) {
            bool in = k0 + i / D < S;
            k[i / D][i % D] = in ? K[base + (k0 + i / D) * D + i % D] : 0.f;
            v[i / D][i % D] = in ? V[base + (k0 + i / D) * D + i % D] : 0.f;
        }
        __syncthreads();
        for (int i = t; i < T * T; i += 64) {
            float dot = 0.f;
            for (int d = 0; d < D; d++) dot += q[i / T][d] * k[i % T][d];
            p[i / T][i % T] = k0 + i % T < S ? dot * scale : -INFINITY;
        }
        __syncthreads();
        if (t < T) {
            float now = m[t], sum = 0.f;
            for (int j = 0; j < T; j++) now = fmaxf(now, p[t][j]);
            for (int j = 0; j < T; j++) sum += p[t][j] = expf(p[t][j] - now);
            alpha[t] = expf(m[t] - now);
            l[t] = l[t] * alpha[t] + sum;
            m[t] = now;
        }
        __syncthreads();
        for (int i = 0; i < T * D / 64; i++) {
            int row = (t + 64 * i) / D, col = (t + 64 * i) % D;
            float sum = acc[i] * alpha[row];
            for (int j = 0; j < T; j++) sum += p[row][j] * v[j][col];  // found: race
            acc[i] = sum;
        }
    }
    for (int i = 0; i < T * D / 64; i++) {
        int row = (t + 64 * i) / D;
        if (first + row < S) O[base + (first + row) * D + (t + 64 * i) % D] = acc[i] / l[row];
    }
}
