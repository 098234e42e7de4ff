// Attention of one head and one query a block, with the scores in dynamic shared memory.
#include <cuda_runtime.h>
#include <cfloat>
extern __shared__ float scores[];
__global__ void attention(const float *q, const float *k, const float *v, float *o, int seq_len, int head_dim, float scale) {
    size_t head = ((size_t)blockIdx.z * gridDim.y + blockIdx.y) * seq_len * head_dim;
    const float *query = q + head + blockIdx.x * head_dim;
    for (int j = threadIdx.x; j < seq_len; j += blockDim.x) {
        float s = 0;
        for (int d = 0; d < head_dim; d++) s += query[d] * k[head + j * head_dim + d];
        scores[j] = s * scale;
    }
    __syncthreads();
    float m = -FLT_MAX, l = 0;
    for (int j = 0; j < seq_len; j++) m = fmaxf(m, scores[j]);
    for (int j = 0; j < seq_len; j++) l += expf(scores[j] - m);
    for (int d = threadIdx.x; d < head_dim; d += blockDim.x) {
        float acc = 0;
        for (int j = 0; j < seq_len; j++) acc += expf(scores[j] - m) * v[head + j * head_dim + d];
        o[head + blockIdx.x * head_dim + d] = acc / l;
    }
}
