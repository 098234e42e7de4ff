package cli

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestCheckPolling: blocks that wait for one another are executed in other orders too, where each does not
// find done what it waits for: check and diagnose find what only those show.
func TestCheckPolling(t *testing.T) {
	t.Parallel()
	const kernel = `// tilescope: --grid 4 --block 32 --arg sum=unwritten:i32[4] --arg total=unwritten:i32[4]
// tilescope: --arg flag=zeros:i32[4] --arg out=unwritten:i32[4]
__global__ void chained(int *sum, int *total, int *flag, int *out) {
    const int b = blockIdx.x;
    if (threadIdx.x > 0) return;
    sum[b] = b + 1;
    FENCE
    atomicExch(&flag[b], 1);
    int before = 0;
    for (int p = b - 1; p >= 0; p--) {
        int f;
        do f = *(volatile int *)&flag[p]; while (f == 0);
        __threadfence();
        if (f == 2) { before += total[p]; break; }
        before += ((volatile int *)sum)[p];
    }
    total[b] = out[b] = before + b + 1;
    __threadfence();
    atomicExch(&flag[b], 2);
}
`
	for fence, clean := range map[string]bool{"__threadfence();": true, "": false} {
		file := writeKernel(t, "chained.cu", []byte(strings.Replace(kernel, "FENCE", fence, 1)))
		var doc report.Check
		code, errText := documentOf(t, &doc, "check", file)
		skipWithoutNVRTC(t, code, errText)
		if (code == 0) != clean || doc.Coverage.Schedules != 3 {
			t.Errorf("fence %q: exit %d, %d schedules, %+v", fence, code, doc.Coverage.Schedules,
				doc.Findings)
		}
		out, _, code := call(t, "diagnose", file)
		said := strings.Contains(out, "put __threadfence() before the write of the flag")
		if said == clean || (code == 0) != clean {
			t.Errorf("fence %q: exit %d:\n%s", fence, code, out)
		}
		if !clean && (!strings.Contains(doc.Findings[0].Message, "; under --schedule random:") ||
			!strings.Contains(out, "--schedule random:")) {
			t.Errorf("%s\n%s", doc.Findings[0].Message, out)
		}
	}
}
