package trust

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// refuses wants a *Refused that names the file, the remedy, and why.
func refuses(t *testing.T, err error, path, why string) {
	t.Helper()
	var r *Refused
	if !errors.As(err, &r) || r.Path != path {
		t.Errorf("%s: got %v, want a refusal", path, err)
		return
	}
	for _, want := range []string{path, why, "tilescope trust ", "--trust"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// TestConsentIsForPathAndContent: a file of the working directory is used after consent, and not after it has changed, nor
// another file next to it, nor once the consent is withdrawn.
func TestConsentIsForPathAndContent(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	lib, other := put(t, filepath.Join(project, "lib.so"), "one"), put(t, filepath.Join(project, "other.so"), "one")
	p := &Policy{Record: &Record{Path: filepath.Join(t.TempDir(), "deep", "trust.json")}}
	refuses(t, p.Allow(Project, project, lib), lib, "is not trusted")
	refuses(t, (*Policy)(nil).Allow(Project, project, lib), lib, "is not trusted")
	if _, err := p.Record.Add(project, []string{lib}); err != nil {
		t.Fatal(err)
	}
	if err := p.Allow(Project, project, lib); err != nil {
		t.Error(err)
	}
	if err := (&Policy{Record: &Record{Path: p.Record.Path}}).Allow(Project, project, lib); err != nil {
		t.Errorf("another process: %v", err)
	}
	refuses(t, p.Allow(Project, project, lib, other), other, "is not trusted")
	put(t, lib, "two")
	refuses(t, p.Allow(Project, project, lib), lib, "has changed since")
	if err := (&Policy{Accept: true}).Allow(Project, project, lib, other); err != nil {
		t.Errorf("--trust: %v", err)
	}
	if _, err := p.Record.Add(project, []string{lib, lib}); err != nil {
		t.Fatal(err)
	}
	if dirs, err := p.Record.List(); err != nil || len(dirs) != 1 || len(dirs[0].Files) != 1 {
		t.Errorf("recorded twice: %v, %v", dirs, err)
	}
	if found, err := p.Record.Remove(project); err != nil || !found {
		t.Errorf("remove: %v, %v", found, err)
	}
	if found, err := p.Record.Remove(project); err != nil || found {
		t.Errorf("removed twice: %v, %v", found, err)
	}
	refuses(t, p.Allow(Project, project, lib), lib, "is not trusted")
}

func TestOrigins(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	project, outside := t.TempDir(), t.TempDir()
	t.Chdir(project)
	mine, theirs := put(t, filepath.Join(project, "lib.so"), ""), put(t, filepath.Join(outside, "lib.so"), "")
	var p *Policy
	for origin, path := range map[Origin]string{User: mine, Environment: theirs, System: mine} {
		if err := p.Allow(origin, "d", path); err != nil {
			t.Errorf("origin %d: %v", origin, err)
		}
	}
	refuses(t, p.Allow(Environment, "d", mine), mine, "below the working directory")
	link := filepath.Join(outside, "link.so")
	if err := os.Symlink(mine, link); err == nil {
		refuses(t, p.Allow(Environment, "d", link), link, "below the working directory")
	}
	if runtime.GOOS == "windows" {
		return // files have no permissions for others there
	}
	if err := os.Chmod(theirs, 0o666); err != nil {
		t.Fatal(err)
	}
	refuses(t, p.Allow(User, outside, theirs), theirs, "can be written to by other users")
	r := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	if _, err := r.Add(outside, []string{theirs}); err != nil {
		t.Fatal(err)
	}
	if err := (&Policy{Record: r}).Allow(User, outside, theirs); err != nil {
		t.Errorf("with consent: %v", err)
	}
}

// TestHomeIsNoProject: started in the home directory, or above it, not everything below counts as one project's.
func TestHomeIsNoProject(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	path := put(t, filepath.Join(home, "p", "bin", "nvcc"), "")
	for dir, want := range map[string]bool{home: false, filepath.Dir(home): false, filepath.Join(home, "p"): true, filepath.Join(home, "p", "bin"): true} {
		t.Chdir(dir)
		if got := InWorkingDirectory(path); got != want {
			t.Errorf("from %s: %v, want %v", dir, got, want)
		}
	}
}

// TestRecordIsTheUsersOwn: a record that others can write to, or that is no record, allows nothing and says why.
func TestRecordIsTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	lib := put(t, filepath.Join(dir, "lib.so"), "")
	r := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	if _, err := r.Add(dir, []string{lib}); err != nil {
		t.Fatal(err)
	}
	p := &Policy{Record: r}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(r.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("permissions %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(r.Path, 0o666); err != nil {
			t.Fatal(err)
		}
		refuses(t, p.Allow(Project, dir, lib), lib, "the record of consent cannot be read")
		if err := os.Chmod(r.Path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, r.Path, `{"schema": "another/1"}`)
	refuses(t, p.Allow(Project, dir, lib), lib, "no record of trusted files")
	if _, err := r.Add(dir, nil); err == nil {
		t.Error("a file that is no record was replaced")
	}
	if _, err := (&Record{}).Add(dir, nil); !errors.Is(err, ErrNoRecord) {
		t.Errorf("no place for a record: %v", err)
	}
}

// TestFolder: commands of a manifest run in a trusted directory and below it, nowhere else.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Dir(put(t, filepath.Join(dir, "a", "b", "x"), ""))
	r := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	p := &Policy{Record: r}
	refuses(t, p.Folder(below), below, "not trusted")
	if _, err := r.Add(filepath.Dir(below), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Folder(below), p.Folder(filepath.Dir(below))); err != nil {
		t.Error(err)
	}
	refuses(t, p.Folder(dir), dir, "not trusted")
}
