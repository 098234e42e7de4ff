package scaffold

import (
	"fmt"
	"strings"
	"testing"
)

// gather sums rows of a table: the host lists which, and passes sizes in a struct.
const gather = `struct Sizes { int bags, width; float by; };
__global__ void gather(const float *table, const int *rows, const int *begins, float *out, Sizes s) {
    for (int i = begins[blockIdx.x]; i < begins[blockIdx.x + 1]; i++)
        for (int c = threadIdx.x; c < s.width; c += blockDim.x)
            out[blockIdx.x * s.width + c] += s.by * table[rows[i] * s.width + c];
}
void run(const std::vector<int> &rows, int width, int many) {
    int begins[] = {0, 2, 3};
    float *table, *out;
    int *r, *b;
    cudaMalloc(&table, many * width * sizeof(float));
    cudaMalloc(&out, 2 * width * sizeof(float));
    cudaMalloc(&r, rows.size() * sizeof(int));
    cudaMalloc(&b, sizeof begins);
    cudaMemset(out, 0, 2 * width * sizeof(float));
    cudaMemcpy(r, rows.data(), rows.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(b, begins, sizeof begins, cudaMemcpyHostToDevice);
    Sizes s = {2, width};
    s.by = 1.0f / std::sqrt(16.0f);
    gather<<<s.bags, 32>>>(table, r, b, out, s);
}
int main() {
    std::vector<int> rows = {7, 1, 4};
    run(rows, 40, 9);
}
`

// TestRanExample: the launch that executing the host's code shows is the example, with the integers that it
// copies to the device; one that is too large for the emulator is not.
func TestRanExample(t *testing.T) {
	e := SourceExample(read(gather), "")
	const want = "--grid 2 --block 32 --arg table=randn:f32[360] --arg rows=list(7,1,4):i32[3] " +
		"--arg begins=list(0,2,3):i32[3] --arg out=zeros:f32[80] --arg s={0: 2:i32, 4: 40:i32, 8: 0.25:f32}"
	if got := strings.Join(e.Options, " "); got != want || e.Line != 20 || e.Guessed != nil ||
		fmt.Sprint(e.Random) != "[table]" || len(e.Shown) != 4+2*4 {
		t.Errorf("line %d, guessed %v, random %v, shown %q:\n got %s\nwant %s", e.Line, e.Guessed, e.Random,
			e.Shown, got, want)
	}
	e = SourceExample(read(strings.Replace(gather, "40, 9", "40, 900000", 1)), "")
	if e.Line != 20 || len(e.Guessed) == 0 || strings.Contains(strings.Join(e.Options, " "), "36000000") {
		t.Errorf("a table of 144 MB: line %d, guessed %v, %s", e.Line, e.Guessed, e.Options)
	}
}

// TestRanSides: memory that is allocated as pitch * h is h rows of pitch elements where the index says so.
func TestRanSides(t *testing.T) {
	const source = `__global__ void copy(const float *in, float *out, int w, int h, int pitch) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < w && y < h) out[y * pitch + x] = in[y * pitch + x];
}
int main() {
    int w = 50, h = 20, pitch = 64;
    float *in, *out;
    cudaMalloc(&in, pitch * h * sizeof(float));
    cudaMalloc(&out, pitch * h * sizeof(float));
    copy<<<h, 64>>>(in, out, w, h, pitch);
}
`
	e := SourceExample(read(source), "")
	if got := strings.Join(e.Options, " "); !strings.Contains(got, "in=randn:f32[20,64]") ||
		!strings.Contains(got, "out=unwritten:f32[20,64]") {
		t.Errorf("%s", got)
	}
}
