package cli

import (
	"os"
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern/report"
)

// planes is a kernel whose blocks have tiles of 8 by 16, with a launch in a program of its own.
const planes = `#define TH 8
#define TW 16
template <int KS>
__global__ void blur(const float *in, const float *bias, float *out, int H, int W, float slope) {
    const int c = blockIdx.z, y = blockIdx.y * TH + threadIdx.y, x = blockIdx.x * TW + threadIdx.x;
    if (y >= H || x >= W) return;
    float v = 0;
    for (int k = 0; k < KS; k++) v += in[(c * H + y) * W + x];
    v += bias[c];
    if (v < 0) v *= slope;
    out[(c * H + y) * W + x] = v;
}
int main() {
    const int C = 3, H = 21, W = 37;
    const float slope = SLOPE;
    float *in, *b, *out;
    dim3 block(TW, TH), grid((W + TW - 1) / TW, (H + TH - 1) / TH, C);
    blur<3><<<grid, block>>>(in, b, out, H, W, slope);
}
`

// TestInitStageOfTheLaunch: the stage that is left to a person has the tiles of the launch, and loads when
// its marks of comments are removed; numbers that the host's code passes are the manifest's.
func TestInitStageOfTheLaunch(t *testing.T) {
	t.Parallel()
	source := strings.Replace(planes, "SLOPE", "0.1f", 1)
	var doc report.Init
	code, errText := documentOf(t, &doc, "init", writeKernel(t, "planes.cu", []byte(source)))
	skipWithoutNVRTC(t, code, errText)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	text, err := os.ReadFile(doc.Out)
	if err != nil {
		t.Fatal(err)
	}
	manifest := string(text)
	for _, want := range []string{
		"# work: {row: by * 8, col: bx * 16}\n", `dims: [8, 16], valid: ["min(8, H - row)", "min(16, W - col)"]`,
		"capture: {output: out, at: [bz, row, col], rows: 1, cols: 2}}",
		"{name: slope, type: f32, value: 0.1}   # as passed on line 18\n",
		"validation: {H: 21, W: 37}   # as passed on line 18\n",
		`{name: in, type: "f32*", dims: [3, H, W], role: input}`,
	} {
		if !strings.Contains(manifest, want) {
			t.Errorf("%q is missing", want)
		}
	}
	at := strings.Index(manifest, "# work:")
	if at < 0 {
		t.Fatal(manifest)
	}
	end := at + strings.Index(manifest[at:], "\n\n")
	stage := strings.ReplaceAll("\n"+manifest[at:end], "\n# ", "\n")
	manifest = manifest[:at] + strings.Replace(stage, "INPUT", "in", 1) + manifest[end:]
	if _, err := configs.ParseManifest("planes.yaml", []byte(manifest)); err != nil {
		t.Errorf("%v\n%s", err, manifest)
	}
}
