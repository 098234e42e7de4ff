package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistake is found where a platform or a tag compiles it, and not elsewhere: in a body, in a test, and of
// what a file of another platform would declare.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module m\n\ngo 1.26\n",
		"a.go":         "package m\n\nconst Name = 1\n",
		"b_windows.go": "package m\n\nfunc b() int { return \"text\" }\n",
		"c_arm64.go":   "package m\n\nfunc c() {}\n",
		"c_test.go":    "package m\n\nfunc d() { c() }\n",
		"e.go":         "//go:build nogpu\n\npackage m\n\nfunc e() { f() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "")
	for _, c := range []struct{ os, arch, tags, want string }{
		{"linux", "arm64", "", ""},
		{"linux", "amd64", "", "c_test.go:3:12: undefined: c"},
		{"windows", "arm64", "", "b_windows.go:3:23: cannot use"},
		{"linux", "arm64", "nogpu", "e.go:5:12: undefined: f"},
		{"plan10", "arm64", "", "plan10"},
	} {
		err := check(dir, c.os, c.arch, c.tags)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s/%s %s: %v, want %q", c.os, c.arch, c.tags, err, c.want)
		}
	}
}

func TestRun(t *testing.T) {
	for _, args := range [][]string{{"linux"}, {"-tag", "x"}} {
		if err := run(args, t.Output()); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
