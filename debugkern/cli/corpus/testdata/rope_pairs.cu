// Rotary position embedding in place: the two halves of a head's vector are rotated against each other.
// tilescope: --grid 7,3 --block 16 --arg x=randn:f32[7,3,32] --arg positions=randint(0,500):i32[7] --arg dim=32 --arg base=10000
// tolerance: 1e-4
extern "C" __global__ void rope_pairs(float* x, const int* positions, int dim, float base) {
    int token = blockIdx.x, head = blockIdx.y, i = threadIdx.x;
    float* v = x + (token * gridDim.y + head) * dim;
    float angle = positions[token] * powf(base, -2.f * i / dim), s, c;
    sincosf(angle, &s, &c);
    float a = v[i], b = v[i + dim / 2];  // bug: float a = v[i], b = v[i + dim]; // found: out-of-bounds
    v[i] = a * c - b * s;
    v[i + dim / 2] = a * s + b * c;
}
