package file

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var manifest = Want{What: "a manifest"}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRegularFile(t *testing.T) {
	path := write(t, "k.yaml", "kernel: k\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link} {
		if text, err := Read(t.Context(), p, 10, manifest); err != nil || string(text) != "kernel: k\n" {
			t.Errorf("%s: %q, %v", p, text, err)
		}
	}
	f, size, err := Open(t.Context(), path, 10, manifest)
	if err != nil || size != 10 {
		t.Fatalf("size %d, %v", size, err)
	}
	f.Close()
}

// TestRefused: whatever is no regular file within the limit is refused at once, and the error says what it
// is.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type refusal struct{ name, path, want string }
	cases := []refusal{
		{"a directory", dir, "is a directory (expected a manifest in a regular file)"},
		{"missing", filepath.Join(dir, "none"), "no such file or directory (expected a manifest)"},
		{"too large", write(t, "large", strings.Repeat("x", 5001)), "has 5001 bytes, at most 5000 are read"},
		{"a socket", socket, "is a socket"},
		{"an escape in the name", filepath.Join(dir, "\x1b[2Jx"), `\x1b[2Jx`},
		{"an empty path", "", `"": no such file`},
	}
	if runtime.GOOS == "linux" {
		link := filepath.Join(dir, "environ")
		if err := os.Symlink("/proc/self/environ", link); err != nil {
			t.Fatal(err)
		}
		const made = "is made by the operating system as it is read"
		cases = append(cases,
			refusal{"a device", "/dev/zero", "is a device"},
			refusal{"a terminal", "/dev/tty", "is a device"},
			refusal{"the environment", "/proc/self/environ", made},
			refusal{"a link to the environment", link, made},
			refusal{"a kernel's setting", "/sys/kernel/mm/transparent_hugepage/enabled", made},
		)
	}
	for _, c := range cases {
		if _, err := os.Stat(c.path); strings.HasPrefix(c.path, "/sys/") && err != nil {
			continue // not every kernel has it; /proc is the same code
		}
		for _, read := range []func() error{
			func() error { _, err := Read(t.Context(), c.path, 5000, manifest); return err },
			func() error { _, _, err := Open(t.Context(), c.path, 5000, manifest); return err },
		} {
			err := read()
			var located *Error
			if !errors.As(err, &located) || located.Path != c.path || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, expected %q", c.name, err, c.want)
			}
			if err != nil && strings.ContainsRune(err.Error(), '\x1b') {
				t.Errorf("%s: an escape sequence in %q", c.name, err)
			}
		}
	}
	_, err = Read(t.Context(), filepath.Join(dir, "none"), 100, manifest)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is no fs.ErrNotExist", err)
	}
}

// TestGrowingFile: a file that becomes longer between its check and its end is no whole file.
func TestGrowingFile(t *testing.T) {
	path := write(t, "k", "12345")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = readAll(t.Context(), f, path, 4, 100, manifest)
	if err == nil || !strings.Contains(err.Error(), "being changed") {
		t.Errorf("%v", err)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("a", 61)
	like := Want{What: "PTX", Like: func(b []byte) bool { return strings.Contains(string(b), ".version") }}
	for _, c := range []struct {
		name    string
		want    Want
		content string
		at      int
		out     string
	}{
		{"a line", manifest, "a: 1\n  b: 2\nc: 3", 8, `"b: 2"`},
		{"the last line", manifest, "a\nb", 3, `"b"`},
		{"long", manifest, long, 0, `"` + long[:60] + `"…`},
		{"a zero-width space", manifest, "a\u200bb", 0, `"a\u200bb"`},
		{"right to left", manifest, "a\u202eb", 0, `"a\u202eb"`},
		{"control characters", manifest, "a\x1b[2J", 0, ""},
		{"not UTF-8", manifest, "a\xff", 0, ""},
		{"like PTX", like, ".version x", 0, `".version x"`},
		{"a key, not PTX", like, "-----BEGIN", 0, ""},
		{"past the end", manifest, "a", 2, ""},
	} {
		if got := c.want.Excerpt([]byte(c.content), c.at); got != c.out {
			t.Errorf("%s: %s, expected %s", c.name, got, c.out)
		}
	}
}

func TestReadUnderContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by the test"))
	path := write(t, "k", "text")
	_, err := Read(ctx, path, 100, manifest)
	if err == nil || !strings.Contains(err.Error(), "stopped by the test") {
		t.Errorf("%v", err)
	}
	if _, _, err := Open(ctx, path, 100, manifest); err == nil {
		t.Error("opened after the end of its context")
	}
	// A file system that never answers.
	ctx, stop := context.WithCancel(t.Context())
	hung := make(chan int)
	time.AfterFunc(20*time.Millisecond, stop)
	start := time.Now()
	late := func() (int, error) { return <-hung, nil }
	_, err = under(ctx, path, manifest, late, func(int) { close(hung) })
	if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 30*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	hung <- 1
	<-hung // what came late was dropped
}
