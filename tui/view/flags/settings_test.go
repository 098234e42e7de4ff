package flags

import (
	"strings"
	"testing"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/tui/view"
)

// Only what a kernel's gates may be fed with is listed.
func TestInjectedValues(t *testing.T) {
	kernels, err := configs.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"stage2":             "reference, uniform: uniform values are for gate pv, this is gate none",
		"gemm_wmma":          "reference",
		"attention_backward": "", // without gates
	} {
		m, _, err := kernels.Lookup(target)
		if err != nil {
			t.Fatal(err)
		}
		v := &Controller{Context: &view.Context{Req: debugkern.Request{Target: target}}}
		var got []string
		for _, it := range v.injectItems(m) {
			text := it.Name
			if it.Refused != "" {
				text += ": " + it.Refused
			}
			got = append(got, text)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %q, expected %q", target, s, want)
		}
	}
	m, _, _ := kernels.Lookup("gemm_wmma")
	req := debugkern.Request{Target: "gemm_wmma", Inject: "uniform"}
	v := &Controller{Context: &view.Context{Req: req}}
	it, want := v.injectItems(m), "no gate of this kernel takes uniform values"
	if len(it) != 2 || it[1].Refused != want {
		t.Errorf("uniform values asked for: %+v", it)
	}
}
