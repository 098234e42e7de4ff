package probes_test

import (
	_ "embed"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/probes"
)

//go:embed testdata/every_probe.cu
var everyProbe string

// The header holds to its own assertions, and every probe compiles; without TS_PROBES none
// leaves an instruction.
func TestHeaderCompiles(t *testing.T) {
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Root: ".."})
	if err != nil {
		t.Skipf("no toolchain on this machine: %v", err)
	}
	compile := func(defines ...string) string {
		t.Helper()
		p, err := tc.Compile(t.Context(), cuda.Build{
			Name: filepath.ToSlash("testdata/every_probe.cu"), Source: everyProbe,
			Headers: map[string]string{probes.HeaderName: probes.Header},
			Defines: defines, Arch: "sm_80",
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.Log != "" {
			t.Errorf("the compiler warns: %s", p.Log)
		}
		return p.Text
	}
	plain, instrumented := compile(), compile("TS_PROBES=1")
	for _, p := range []struct {
		text                         string
		params, globalStores, header int
	}{
		// out; then also: a cell and a header each for tile, vector and own, four elements and a
		// header for the fragment
		{plain, 2, 1, 0},
		{instrumented, 3, 1 + 3*2 + 4 + 1, 1},
	} {
		if n := strings.Count(p.text, ".param ."); n != p.params {
			t.Errorf("%d parameters, want %d", n, p.params)
		}
		stores := 0
		for line := range strings.Lines(p.text) {
			if strings.Contains(line, "st.global") {
				// a vector store of a fragment counts its elements
				stores += max(1, strings.Count(line, "%f"))
			}
		}
		if stores != p.globalStores {
			t.Errorf("%d global stores, want %d", stores, p.globalStores)
		}
		if n := strings.Count(p.text, `"`+probes.HeaderName+`"`); n != p.header {
			t.Errorf("%d .file of the header, want %d", n, p.header)
		}
	}
	for _, atomic := range []string{"\tatom.", "\tred.", "\tbar."} {
		if got, want := strings.Count(instrumented, atomic), strings.Count(plain, atomic); got != want {
			t.Errorf("probes add %s: %d, without them %d", atomic, got, want)
		}
	}
}
