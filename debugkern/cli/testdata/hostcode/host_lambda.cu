// Lambdas in host code, one of them with a launch; a raw string with braces in it.
// tilescope: --grid 1 --block 128 --arg x=randn:f32[128] --arg total=zeros:f32[1]
#include <functional>
#include <vector>
#include <cstdio>
static const char *help = R"(usage: sum { <<<
  "quotes" and } braces )";

__global__ void sum(const float *x, float *total) { atomicAdd(total, x[threadIdx.x]); }

int main() {
    std::vector<std::function<void(float *, float *)>> jobs;
    jobs.push_back([](float *x, float *t) { sum<<<1, 128>>>(x, t); });
    auto all = [&jobs](float *x, float *t) { for (auto &j : jobs) { j(x, t); } };
    all(nullptr, nullptr);
    char c = '{';
    printf("%s%c %d\n", help, c, 1'000);
}
