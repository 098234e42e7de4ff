// A struct that both sides use, with members for the host.
// tilescope: --grid 1 --block 32 --arg v={0:2:i32,4:3:f32} --arg out=zeros:f32[32]
#include <vector>
#include <ostream>
#include <string>

struct Params {
    int steps;
    float scale;
    Params(int s, float f) : steps{s}, scale{f} {}
    static Params parse(const std::string &text) { return Params(std::stoi(text), 1.f); }
    std::vector<float> toVector() const { return std::vector<float>(steps, scale); }
    friend std::ostream &operator<<(std::ostream &o, const Params &p) { return o << p.steps; }
    __host__ __device__ float apply(float x) const {
        for (int i = 0; i < steps; i++) x *= scale;
        return x;
    }
};

__global__ void power(Params v, float *out) { out[threadIdx.x] = v.apply((float)threadIdx.x); }

int main() {
    Params p = Params::parse("2");
    power<<<1, 32>>>(p, nullptr);
    return (int)p.toVector().size();
}
