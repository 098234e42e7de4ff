package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputsReplaceTheirKind gives each option that writes a file a source, a file of the same format that
// somebody else made, an empty file, and then what the option itself wrote: the first two are refused before
// anything runs and stay, the others are replaced.
func TestOutputsReplaceTheirKind(t *testing.T) {
	kernel := kernelFile(t, "reduce.ptx")
	check := []string{
		"check", kernel, "--grid", "1", "--block", "32", "--arg", "0=iota:f32[64]", "--arg", "1=zeros:f32[1]",
		"--arg", "2=64",
	}
	small := []string{"stage2", "--shape", "single16", "--backend", "emu"}
	run := append([]string{"run"}, small...)
	diagnose := append([]string{"diagnose", "--schedules", "1"}, small...)
	gates := append([]string{"gates", "--seed", "0"}, small...)
	const (
		numpy = "PK\x03\x04\x2d\x00\x00\x00\x00\x00\x00\x00\x21\x00...............O.npy"
		page  = "<!doctype html>\n<title>my page</title>"
		log   = `{"runs": [{"tool": {"driver": {"name": "other"}}}]}`
	)
	for _, c := range []struct {
		command       []string
		option, other string
	}{
		{check, "--dump", numpy}, {check, "--html", page}, {check, "--sarif", log}, {run, "--dump", numpy},
		{diagnose, "--dump", numpy}, {diagnose, "--html", page}, {diagnose, "--sarif", log},
		{gates, "--dump", numpy}, {gates, "--sarif", log},
	} {
		t.Run(c.command[0]+" "+c.option, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "k.cu")
			write := func(code int, wrong ...string) {
				t.Helper()
				out, errText, got := call(t, append(c.command, c.option, path)...)
				if code == exitUsage && (got != code || out != "") || code == 0 && got == exitUsage {
					t.Fatalf("exit %d, %q, %q", got, out, errText)
				}
				for _, w := range wrong {
					if !strings.Contains(errText, w) {
						t.Errorf("%q lacks %q", errText, w)
					}
				}
			}
			for _, text := range []string{"__global__ void k() {}\n", "{", c.other} {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				write(exitUsage, c.option+" "+path+": the file exists and is not a", "name another file")
				if b, err := os.ReadFile(path); err != nil || string(b) != text {
					t.Fatalf("%q was replaced by %.40q, %v", text, b, err)
				}
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			write(0)
			info, err := os.Stat(path)
			if err != nil || info.Size() == 0 {
				t.Fatalf("an empty file was not replaced: %v", err)
			}
			write(0)
		})
	}
}

// TestRecordReplacesBundles refuses a file that is no bundle before the program is started.
func TestRecordReplacesBundles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.tsl")
	if err := os.WriteFile(path, []byte("notes\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, errText, code := call(t, "record", "--out", path, "--", "true")
	if code != exitUsage || !strings.Contains(errText, "is not a launch bundle (.tsl): name another file") {
		t.Errorf("exit %d, %q", code, errText)
	}
	for file, want := range map[string]bool{
		filepath.Join("..", "bundle", "testdata", "rowsum.tsl"): true, path: false,
	} {
		b, err := os.ReadFile(file)
		if err != nil || likeBundle(b[:min(len(b), headBytes)]) != want {
			t.Errorf("%s: %v, %v", file, !want, err)
		}
	}
}
