package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// Nothing judges the values of a kernel without a reference, and with an index out of reach or a loop that
// never runs every race is gone: no such edit is what to change. What init guesses, a check of its manifest
// says.
func TestDiagnoseRacesThatNothingJudges(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	for name, c := range map[string]struct{ body, advice string }{
		"scan": {
			"if (t >= d) s[t] += s[t - d];", "else bar.sync with their number) between the accesses of ",
		},
		"histogram": {
			"s[static_cast<int>(x[t]) & 7] += 1.0f;", "the line updates what several threads share: an atomic",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "own.cu")
			put(t, file, `__global__ void own(const float* x, float* y, int n) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        `+c.body+`
        __syncthreads();
    }
    if (t < n) y[t] = s[t];
}
void launch(const float* x, float* y) { own<<<1, 128>>>(x, y, 128); }
`)
			manifest := strings.TrimSuffix(file, ".cu") + ".yaml"
			if _, errText, code := call(t, "init", file, "--out", manifest); code != 0 {
				t.Fatal(code, errText)
			}
			out, errText, code := call(t, "diagnose", manifest, "--backend", "emu")
			if code != 1 || !strings.Contains(out, c.advice) || strings.Contains(out, "nothing is wrong") ||
				strings.Contains(out, "nothing else is found") {
				t.Errorf("exit %d %s: no %q, or an edit that nothing judges:\n%s", code, errText, c.advice,
					out)
			}
			if out, _, _ = call(t, "check", manifest); !strings.Contains(out, `guesses, marked with "# ?"`) {
				t.Errorf("check does not say what is a guess:\n%s", out)
			}
		})
	}
}

// A kernel that takes nothing but pointers has elements for its threads.
func TestInitOfPointersAlone(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	file := filepath.Join(t.TempDir(), "own.cu")
	put(t, file, `template <int N> __global__ void own(const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = N * x[i];
}
void launch(const float* x, float* y) { own<3><<<8, 128>>>(x, y); }
`)
	manifest := strings.TrimSuffix(file, ".cu") + ".yaml"
	if _, errText, code := call(t, "init", file, "--out", manifest); code != 0 {
		t.Fatal(code, errText)
	}
	if out, errText, code := call(t, "check", manifest); code != 0 {
		t.Errorf("exit %d: %s%s", code, errText, out)
	}
}

// A function with several barriers has them at their own lines, and not at its call.
func TestDiagnoseNamesBarriersOfAFunction(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	file := filepath.Join(t.TempDir(), "own.cu")
	put(t, file, `__device__ float total(float* s, float x) {
    s[threadIdx.x] = x;
    __syncthreads();
    const float sum = s[threadIdx.x] + s[127 - threadIdx.x];
    __syncthreads();
    return sum;
}
__global__ void own(const float* x, float* y, int n) {
    __shared__ float s[128];
    const float once = total(s, x[threadIdx.x]);
    const float twice = total(s, once);
    s[threadIdx.x] = twice;
    if (threadIdx.x < n) y[threadIdx.x] = s[127 - threadIdx.x];
}
void launch(const float* x, float* y) { own<<<1, 128>>>(x, y, 128); }
`)
	manifest := strings.TrimSuffix(file, ".cu") + ".yaml"
	if _, errText, code := call(t, "init", file, "--out", manifest); code != 0 {
		t.Fatal(code, errText)
	}
	out, errText, code := call(t, "diagnose", manifest, "--backend", "emu")
	for _, want := range []string{
		"  line 3 (called from own.cu:10)  bar.sync  without it s races between lines 2 and 4",
		"  line 5 (called from own.cu:11)  bar.sync",
	} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d %s: no %q in:\n%s", code, errText, want, out)
		}
	}
}

// TestDiagnoseBarrierOfALine: a line that reads what it writes the next time round its loop lacks a barrier
// behind it, and one that reads what other threads write there in the same iteration lacks one within itself.
func TestDiagnoseBarrierOfALine(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	for name, c := range map[string]struct{ loop, want string }{
		"behind": {
			"for (int d = 64; d > 0; d >>= 1) {\n        if (t < d && s[t + d] > s[t]) s[t] = s[t + d];\n    }",
			"put __syncthreads() behind line 7, in each iteration of its loop",
		},
		"within": {
			"for (int d = 1; d < 128; d *= 2) {\n        s[t] += s[(t + d) % 128];\n        __syncthreads();\n    }",
			"put __syncthreads() between the accesses of line 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "own.cu")
			put(t, file, `__global__ void own(const float* x, float* y) {
    __shared__ float s[128];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    `+c.loop+`
    if (t == 0) *y = s[0];
}
`)
			out, errText, code := call(t, "diagnose", file, "--grid", "1", "--block", "128",
				"--arg", "x=randn:f32[128]", "--arg", "y=unwritten:f32[1]", "--backend", "emu")
			if code != 1 || !strings.Contains(out, c.want) {
				t.Errorf("exit %d %s: no %q:\n%s", code, errText, c.want, out)
			}
		})
	}
}
