// Cross entropy of logits and its gradient; the mean loss is added up with atomics in double precision.
// tilescope: --grid 7 --block 64 --arg logits=randn:f32[7,100] --arg target=randint(0,99):i64[7] --arg grad=unwritten:f32[7,100]
// tilescope: --arg loss=zeros:f64[1] --arg rows=7 --arg classes=100
// tolerance: 2e-6
extern "C" __global__ void loss_cross_entropy(const float* logits, const long long* target, float* grad, double* loss, int rows, int classes) {
    __shared__ float s[64];
    int t = threadIdx.x;
    const float* x = logits + blockIdx.x * classes;
    float m = -INFINITY, sum = 0.f;
    for (int c = t; c < classes; c += 64) m = fmaxf(m, x[c]);
    s[t] = m;
    __syncthreads();
    for (int i = 0; i < 64; i++) m = fmaxf(m, s[i]);
    __syncthreads();
    for (int c = t; c < classes; c += 64) sum += expf(x[c] - m);
    s[t] = sum;
    __syncthreads();
    sum = 0.f;
    for (int i = 0; i < 64; i++) sum += s[i];
    for (int c = t; c < classes; c += 64) grad[blockIdx.x * classes + c] = (expf(x[c] - m) / sum - (c == target[blockIdx.x])) / rows;
    if (t == 0) atomicAdd(loss, (double)(logf(sum) + m - x[target[blockIdx.x]]) / rows);  // bug: if (t == 0) *loss += (double)(logf(sum) + m - x[target[blockIdx.x]]) / rows; // found: race
}
