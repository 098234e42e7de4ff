package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each step of a replacement fails in turn: the old file stays whole, nothing is left next to it, and the
// error names the step and the file that the user asked for.
func TestEachStepFails(t *testing.T) {
	broken := errors.New("injected")
	for _, step := range []Step{StepCreate, StepWrite, StepSync, StepRename} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Failing(func(at Step, _ string) error {
			if at == step {
				return broken
			}
			return nil
		})
		err := s.Write(path, []byte("new and longer"), 0o600)
		if want := fmt.Sprintf("%s %s: injected", step, path); !errors.Is(err, broken) ||
			err.Error() != want {
			t.Errorf("%s: error %v, want %s", step, err, want)
		}
		if got := read(t, path); got != "old" || names(t, dir) != "f" {
			t.Errorf("%s: the file holds %q, the directory %s", step, got, names(t, dir))
		}
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	s := New()
	for _, text := range []string{"one", "another", ""} {
		if err := s.Write(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text || names(t, dir) != "f" {
			t.Errorf("%q, wrote %q; the directory holds %s", got, text, names(t, dir))
		}
	}
	p, err := s.Create(path, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(p, "given up")
	s.Abandon()
	if err := p.Commit(); err == nil || read(t, path) != "" || names(t, dir) != "f" {
		t.Errorf("an abandoned write: %v, %q, %s", err, read(t, path), names(t, dir))
	}
	if p, err = s.Create(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := p.CommitNew(); !errors.Is(err, fs.ErrExist) || names(t, dir) != "f" {
		t.Errorf("CommitNew over a file: %v, %s", err, names(t, dir))
	}
	if err := s.Write(dir, nil, 0o666); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if err := s.Write(filepath.Join(path, "below"), nil, 0o666); err == nil {
		t.Error("below a file: no error")
	}
}

// A name that no file can have is refused before anything is written.
func TestNameTooLong(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, strings.Repeat("n", 300))
	p, err := New().Create(name, 0o666)
	if err == nil {
		p.Abandon()
	}
	if err == nil || !strings.HasPrefix(err.Error(), "create "+name+": ") || names(t, dir) != "" {
		t.Errorf("error %v, the directory holds %q", err, names(t, dir))
	}
}

// The umask decides the permissions of a new file, and those of one that is replaced stay.
func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits there")
	}
	path := filepath.Join(t.TempDir(), "f")
	plain := path + "2"
	if err := os.WriteFile(plain, nil, 0o666); err != nil { // what the umask makes of 0666
		t.Fatal(err)
	}
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	check := func(perm fs.FileMode) {
		t.Helper()
		if err := s.Write(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("permissions %v, %v; want %v", info.Mode().Perm(), err, perm)
		}
	}
	check(want.Mode().Perm())
	if err := os.Chmod(path, 0o602); err != nil {
		t.Fatal(err)
	}
	check(0o602)
}

// The user's own symbolic link stays and its target is replaced; another user's link is refused.
func TestSymbolicLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("creating symbolic links needs a privilege there")
	}
	dir := t.TempDir()
	link, to := filepath.Join(dir, "link"), filepath.Join(dir, "sub", "to")
	if err := errors.Join(os.Mkdir(filepath.Dir(to), 0o755),
		os.Symlink(filepath.Join("sub", "to"), link)); err != nil {
		t.Fatal(err)
	}
	s := New()
	for _, text := range []string{"made", "replaced"} { // through a dangling link, then to a file
		if err := s.Write(link, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 || read(t, to) != text {
			t.Errorf("%q: the link is %v, %v", text, info.Mode(), err)
		}
	}
	if err := os.Symlink(link, filepath.Join(dir, "sub", "loop")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Join("sub", "loop"), link)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(link, nil, 0o666); err == nil {
		t.Error("a loop of links: no error")
	}
	if os.Geteuid() != 0 {
		t.Log("not root: another user's link is not examined")
		return
	}
	foreign := filepath.Join(dir, "foreign")
	if err := errors.Join(os.Symlink(to, foreign), os.Lchown(foreign, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(foreign, []byte("x"), 0o666); err == nil || read(t, to) != "replaced" {
		t.Errorf("another user's link: %v, %q", err, read(t, to))
	}
}

// A pipe that nobody reads from is an error at once.
func TestPipeWithoutReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := makePipe(path); err != nil {
		t.Skip(err)
	}
	if _, err := New().Create(path, 0o666); err == nil {
		t.Error("no error")
	}
}

// A lock is held by one process at a time; here both are this one, through two descriptors.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	s := New()
	unlock, err := s.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(path); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	again, err := s.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
