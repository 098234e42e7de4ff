package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestClusterFindings: what check and diagnose print of a cluster: races between its blocks and exits that
// are too early have their kind, and advice whose places are those to change. No schedule of one block is
// given as a proof.
func TestClusterFindings(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "check", "testdata", "litmus", "cluster.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	const between = "cluster.sync() (barrier.cluster.arrive and barrier.cluster.wait) between "
	for _, c := range []struct {
		entry, finding, title, advice string
		at                            []string // what stands at the places of the advice
	}{
		{
			entry: "cluster_load_bad", title: "race on s between ", advice: between,
			finding: "race (error): the read of s[0] of block rank 1 by warp 0 of block rank 0 at ",
			at:      []string{"ld.shared::cluster", "st.shared.u32"},
		},
		{
			entry: "cluster_exit_bad",
			title: "a block of the cluster may exit before the access to s at ", advice: between,
			finding: "cluster (error): block rank 0 may exit before warp 0 of block rank 1 accesses s[",
			at:      []string{"ld.shared::cluster"},
		},
		{
			entry: "cluster_st_async_bad", title: "race on s between ",
			advice:  "a wait at the mbarrier that the operation at ",
			finding: "race (error): the write of s[0] of block rank 1 by an asynchronous operation of ",
			at:      []string{"st.async", "ld.shared.u32"},
		},
	} {
		t.Run(c.entry, func(t *testing.T) {
			dir := t.TempDir()
			file, manifest := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.yaml")
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
			launch := []string{
				file, "--entry", c.entry, "--grid", "2", "--block", "64", "--arg", "0=zeros:i32[128]",
				"--arg", "1=zeros:i32[128]",
			}
			out, errText, code := call(t, append([]string{"check"}, launch...)...)
			advice := adviceOf(out, "missing: ")
			if code != 1 || !strings.Contains(out, c.finding) || !strings.HasPrefix(advice, c.advice) {
				t.Fatalf("exit %d: %s%s", code, out, errText)
			}
			places := regexp.MustCompile(`k\.ptx:(\d+)`).FindAllStringSubmatch(advice, -1)
			if len(places) != len(c.at) {
				t.Fatalf("%d places in %s", len(places), advice)
			}
			for i, want := range c.at {
				if n, _ := strconv.Atoi(places[i][1]); !strings.Contains(lines[n-1], want) {
					t.Errorf("%s: line %d is %s, want %s", advice, n, lines[n-1], want)
				}
			}
			_, errText, code = call(t, append(append([]string{"init"}, launch...), "--out", manifest)...)
			if code != 0 {
				t.Fatal(errText)
			}
			out, errText, code = call(t, "diagnose", manifest, "--schedules", "4")
			if code != 1 || !strings.Contains(out, "cause 1: "+c.title) ||
				adviceOf(out, "change: ") != advice || strings.Contains(out, "schedules of block") {
				t.Errorf("exit %d: %s%s", code, out, errText)
			}
		})
	}
}

// adviceOf is the rest of the first line that starts with a label.
func adviceOf(out, label string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), label); ok {
			return rest
		}
	}
	return ""
}
