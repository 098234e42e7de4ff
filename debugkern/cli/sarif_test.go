package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sarifResult is what the tests look at of a result.
type sarifResult struct {
	RuleID       string
	Fingerprints map[string]string `json:"partialFingerprints"`
	Locations    []struct {
		Physical struct {
			Artifact struct{ URI string }    `json:"artifactLocation"`
			Region   struct{ StartLine int } `json:"region"`
		} `json:"physicalLocation"`
	}
}

// sarifOf is the results of a log.
func sarifOf(t *testing.T, path string) []sarifResult {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct{ Results []sarifResult }
	}
	if err := json.Unmarshal(text, &log); err != nil || len(log.Runs) != 1 {
		t.Fatalf("%v: one run expected in %s", err, text)
	}
	return log.Runs[0].Results
}

// reduceRace writes the kernel whose barrier is missing and its source, as the compiler would write them with
// so many lines above; of the source nothing where source is "".
func reduceRace(t *testing.T, dir, source string, above int) string {
	t.Helper()
	data := filepath.Join("..", "checkrun", "testdata")
	ptx, err := os.ReadFile(filepath.Join(data, "reduce-race.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	moved := regexp.MustCompile(`(?m)^(\t\.loc\t1 )(\d+)`).ReplaceAllFunc(ptx, func(m []byte) []byte {
		n, err := strconv.Atoi(string(m[len("\t.loc\t1 "):]))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, "\t.loc\t1 %d", n+above)
	})
	path := filepath.Join(dir, "reduce.ptx")
	if err := os.WriteFile(path, moved, 0o600); err != nil {
		t.Fatal(err)
	}
	if source != "" {
		text := strings.Repeat("// a line above\n", above) + source
		if err := os.WriteFile(filepath.Join(dir, "reduce.cu"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestFingerprints: each result of a log has a fingerprint of its own, which stays while lines above it are
// added, with the source at hand and without, and changes with the line itself.
func TestFingerprints(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("..", "checkrun", "testdata", "reduce.cu"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(whole)
	check := func(source string, above int) (marks []string, first int) {
		dir := t.TempDir()
		log := filepath.Join(dir, "log.sarif")
		kernel := reduceRace(t, dir, source, above)
		_, errText, code := call(t, "check", kernel, "--grid", "4", "--block", "256", "--arg",
			"0=randn:f32[1024]", "--arg", "1=zeros:f32[4]", "--arg", "2=1024", "--sarif", log)
		if code != 1 {
			t.Fatalf("exit %d: %s", code, errText)
		}
		for _, r := range sarifOf(t, log) {
			if len(r.Fingerprints) != 1 || len(r.Locations) != 1 {
				t.Fatalf("a result without fingerprint or place: %+v", r)
			}
			for _, mark := range r.Fingerprints {
				marks = append(marks, mark)
			}
			if first == 0 {
				first = r.Locations[0].Physical.Region.StartLine
			}
		}
		return marks, first
	}
	known, at := check(source, 0)
	if len(known) < 2 || len(slices.Compact(slices.Sorted(slices.Values(known)))) != len(known) {
		t.Fatalf("fingerprints %v: expected one for each of several results", known)
	}
	for _, of := range []string{source, ""} {
		before, _ := check(of, 0)
		after, moved := check(of, 7)
		if moved != at+7 {
			t.Errorf("the first result is at line %d, expected %d", moved, at+7)
		}
		if !slices.Equal(before, after) {
			t.Errorf("seven lines above (source known: %v): %v became %v", of != "", before, after)
		}
	}
	other, _ := check(strings.Replace(source, "part[t] += part[t + step]", "part[t] += part[step + t]", 1), 0)
	if slices.Equal(known, other) {
		t.Errorf("another line has the same fingerprints %v", other)
	}
}
