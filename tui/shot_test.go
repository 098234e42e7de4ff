//go:build unix

package tui

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPictures draws the README's pictures from the built program, and with -update writes them. They show
// times of a run, so they are not compared byte for byte.
func TestPictures(t *testing.T) {
	program := buildProgram(t)
	for _, p := range []struct {
		file, keys string
		args       []string
		ready      []string
	}{
		{"tile.svg", "2z", []string{"--fault", "p-stale-m"},
			[]string{"heat: map", "KERNEL f16", "stored q1,k0"}},
		{"pipe.svg", "", []string{"--fault", "p-stale-m"}, []string{"✗ DIVERGE", "n next bad"}},
		{"races.svg", "5d", []string{"--shape", "small", "--fault", "sync-p"},
			[]string{"__syncthreads()", "100 %", "CELLS sP", "SCHEDULE"}},
		{"source.svg", "8", []string{"--fault", "u-no-rescale"}, []string{"is written by warp", "REGISTERS"}},
	} {
		t.Run(p.file, func(t *testing.T) {
			x := open(t, program, 120, 40, nil, p.args...)
			x.shows("✗ DIVERGE")
			x.press(p.keys)
			x.shows(p.ready...)
			x.until("an end of the work", func(lines []string) bool {
				return !strings.Contains(strings.Join(lines, "\n"), "Esc cancels")
			})
			shot := filepath.Join(t.TempDir(), p.file)
			x.press(":screenshot " + shot + "\r")
			x.until("picture", func([]string) bool {
				_, err := os.Stat(shot)
				return err == nil
			})
			x.press("q")
			x.quits()
			got, err := os.ReadFile(shot)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > 150<<10 {
				t.Errorf("%s: %d bytes, expected at most 150 KB", p.file, len(got))
			}
			path := "../docs/" + p.file
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%v: make golden draws it", err)
			}
		})
	}
}
