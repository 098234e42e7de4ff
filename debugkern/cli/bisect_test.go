package cli

import (
	"strings"
	"testing"

	"tilescope/debugkern/report"
)

// TestBisect: one question in three each time, all with TILESCOPE_LONG (make test-long).
func TestBisect(t *testing.T) {
	for i, c := range []struct {
		args                 string
		code                 int
		from, minimal, until string
		pair                 string
	}{
		{"stage2 stage2 --fault kt-ld --fault quant-127.5 --until diverge", 0, "a", "+kt-ld", "diverge",
			"compare stage2 stage2 --fault kt-ld"},
		{"stage2 stage2 --fault kt-ld --fault quant-127.5 --until agree", 0, "b", "-kt-ld -quant-127.5",
			"agree", ""},
		{"stage2 stage2 --fault-a v-midpoint", 0, "a", "-v-midpoint", "agree",
			"compare stage2 stage2 --fault-a v-midpoint"},
		{"scalar stage2 --fault v-midpoint --seed 3", 0, "a", "USE_CP_ASYNC=1 USE_WMMA_PV=1 +v-midpoint",
			"diverge", "compare stage2 stage2 --fault v-midpoint --seed 3"},
		{"scalar stage2 --fault v-midpoint --until agree", 0, "b", "-v-midpoint", "agree",
			"compare stage2 stage2 --fault-a v-midpoint"},
		{"stage1 stage2", 1, "", "", "", ""},
		{"stage2 stage2 --fault-a kt-ld --fault v-midpoint", 1, "", "", "", ""},
		{"stage2 stage2 --fault mask-zero --shape partial49 --gate softmax", 0, "a", "+mask-zero", "diverge",
			"compare stage2 stage2 --fault mask-zero --shape partial49 --gate softmax"},
	} {
		t.Run(c.args, func(t *testing.T) {
			if !turn(i, 3) {
				t.Skip("one question in three is asked without TILESCOPE_LONG: make test-long has all")
			}
			t.Parallel()
			var doc report.Bisection
			code, errText := documentOf(t, &doc, append([]string{"bisect"}, strings.Fields(c.args)...)...)
			if code != c.code || doc.Schema != report.BisectSchema || doc.From != c.from ||
				report.ChangesText(doc.Minimal) != c.minimal || c.code == 0 && doc.Until != c.until {
				t.Fatalf("exit %d, from %q, minimal %s, until %s: %s", code, doc.From,
					report.ChangesText(doc.Minimal), doc.Until, errText)
			}
			if c.code == 1 {
				if doc.Verdict != report.Same || doc.Pair != nil || len(doc.Steps) != 0 {
					t.Errorf("verdict %s, pair %+v", doc.Verdict, doc.Pair)
				}
				return
			}
			if doc.Verdict != report.Found || doc.Proof != "smallest" ||
				!strings.Contains(doc.Pair.Compare, c.pair) {
				t.Errorf("verdict %s, proof %s, pair %s", doc.Verdict, doc.Proof, doc.Pair.Compare)
			}
			also := ""
			if c.minimal == "+kt-ld" { // the other fault is enough too
				also = "+quant-127.5 by itself too"
			}
			if doc.AlsoText() != also {
				t.Errorf("also %q, expected %q", doc.AlsoText(), also)
			}
			if out, errText, code := call(t, strings.Fields(doc.Pair.Compare)[1:]...); code != 1 &&
				!strings.Contains(doc.Pair.Compare, "quant") {
				t.Errorf("%s: exit %d, the pair does not differ: %s%s", doc.Pair.Compare, code, out, errText)
			}
		})
	}
}

// TestBisectUnresolved: a fault without the flags of its base is no combination; the step says so
// and decides nothing.
func TestBisectUnresolved(t *testing.T) {
	t.Parallel()
	out, errText, code := call(t, "bisect", "stage1", "stage2", "--fault", "u-no-rescale", "--backend", "emu")
	for _, want := range []string{
		"stage1 agrees, stage2 with u-no-rescale diverges (U)",
		"unresolved  fault u-no-rescale is planted in stage2", "different by +u-no-rescale",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d; %q is missing in:\n%s%s", code, want, out, errText)
		}
	}
}

// TestEndsOfOneTargetAreNamedByTheirFlags: two ends of one target differ by the flags in which they
// differ, where they are bisected and where they are compared.
func TestEndsOfOneTargetAreNamedByTheirFlags(t *testing.T) {
	flag := strings.Fields("stage2 stage2 --set USE_SMEM_SWIZZLE_XOR=1 --shape small --backend emu")
	for command, want := range map[string]string{
		"bisect":  ": stage2 USE_SMEM_SWIZZLE_XOR=0 agrees, stage2 USE_SMEM_SWIZZLE_XOR=1 agrees: the two do not",
		"compare": "stage2 USE_SMEM_SWIZZLE_XOR=0 against stage2 USE_SMEM_SWIZZLE_XOR=1, ",
	} {
		if out, errText, _ := call(t, append([]string{command}, flag...)...); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in:\n%s%s", command, want, out, errText)
		}
	}
}

func TestBisectOwnManifest(t *testing.T) {
	t.Parallel()
	own := ownManifest(t, stage2PTX(t, "TS_PROBES=1"), nil)
	var doc report.Bisection
	code, errText := documentOf(t, &doc, "bisect", own, own, "--fault", "quant-127.5", "--backend", "emu")
	if code != 0 || report.ChangesText(doc.Minimal) != "+quant-127.5" ||
		doc.Targets[1].Because != "quantiser" {
		t.Errorf("exit %d, minimal %s, because %q: %s", code, report.ChangesText(doc.Minimal),
			doc.Targets[1].Because, errText)
	}
	broken := ownManifest(t, []byte("no ptx"), nil)
	doc = report.Bisection{}
	if code, errText := documentOf(t, &doc, "bisect", broken, broken, "--fault", "quant-127.5", "--backend",
		"emu"); code != 4 || doc.Error == nil || doc.Error.Side != "a" {
		t.Errorf("exit %d, error %+v: %s", code, doc.Error, errText)
	}
	for _, c := range []struct{ args, want string }{
		{"bisect stage2 " + own, "one manifest"}, {"bisect stage2 stage1 --until never", "agree or diverge"},
		{"bisect stage2", "two targets"}, {"bisect stage2 stage1 --fault kt-ld", "kt-ld"},
		{"bisect stage2 stage22", "stage22"},
	} {
		if out, errText, code := call(t, strings.Fields(c.args)...); code != 2 || out != "" ||
			!strings.Contains(errText, c.want) {
			t.Errorf("%s: exit %d, want 2 naming %q: %s%s", c.args, code, c.want, out, errText)
		}
	}
}
