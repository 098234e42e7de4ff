package trust

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestConsentIsForPathAndContent: a file of the working directory is used after consent, and not after it has
// changed, nor another file next to it, nor once the consent is withdrawn.
func TestConsentIsForPathAndContent(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	lib, other := put(t, filepath.Join(project, "lib.so"), "one"),
		put(t, filepath.Join(project, "other.so"), "one")
	p := &Policy{Record: &Record{Path: filepath.Join(t.TempDir(), "deep", "trust.json")}}
	refuses(t, p.Allow(t.Context(), Project, project, lib), lib, "is not trusted")
	refuses(t, (*Policy)(nil).Allow(t.Context(), Project, project, lib), lib, "is not trusted")
	if _, err := p.Record.Add(t.Context(), project, []string{lib}); err != nil {
		t.Fatal(err)
	}
	if err := p.Allow(t.Context(), Project, project, lib); err != nil {
		t.Error(err)
	}
	if err := (&Policy{Record: &Record{Path: p.Record.Path}}).Allow(t.Context(), Project, project,
		lib); err != nil {
		t.Errorf("another process: %v", err)
	}
	refuses(t, p.Allow(t.Context(), Project, project, lib, other), other, "is not trusted")
	put(t, lib, "two")
	refuses(t, p.Allow(t.Context(), Project, project, lib), lib, "has changed since")
	if err := (&Policy{Accept: true}).Allow(t.Context(), Project, project, lib, other); err != nil {
		t.Errorf("--trust: %v", err)
	}
	if _, err := p.Record.Add(t.Context(), project, []string{lib, lib}); err != nil {
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
	refuses(t, p.Allow(t.Context(), Project, project, lib), lib, "is not trusted")
}

// TestConsentIsToWhatWasDescribed: what is recorded is what was described, whatever the files are by then.
func TestConsentIsToWhatWasDescribed(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	lib := put(t, filepath.Join(project, "lib.so"), "one")
	p := &Policy{Record: &Record{Path: filepath.Join(t.TempDir(), "trust.json")}}
	d, err := Describe(t.Context(), project, []string{lib, lib})
	if err != nil || len(d.Files) != 1 || len(d.Files[0].SHA256) != 64 {
		t.Fatalf("%v, %v", d, err)
	}
	if _, err := os.Stat(p.Record.Path); err == nil {
		t.Error("describing records")
	}
	put(t, lib, "two")
	again, err := Describe(t.Context(), project, []string{lib})
	if err != nil || again.Digest() == d.Digest() || len(d.Digest()) != 64 {
		t.Errorf("other content, digest %s and %s, %v", d.Digest(), again.Digest(), err)
	}
	if err := p.Record.Put(d); err != nil {
		t.Fatal(err)
	}
	refuses(t, p.Allow(t.Context(), Project, project, lib), lib, "has changed since it was trusted")
	put(t, lib, "one")
	if err := p.Allow(t.Context(), Project, project, lib); err != nil {
		t.Error(err)
	}
	var r *Refused
	other := put(t, filepath.Join(project, "other.so"), "")
	if err := p.Allow(t.Context(), Project, project, lib, other); !errors.As(err, &r) ||
		!slices.Equal(r.Files, []string{lib, other}) {
		t.Errorf("a refusal names the files %v", r.Files)
	}
}

// TestDigestsEndWithTheContext: a file of four gigabytes is not read to its end once the context has ended.
func TestDigestsEndWithTheContext(t *testing.T) {
	project := t.TempDir()
	t.Chdir(project)
	lib := put(t, filepath.Join(project, "lib.so"), "")
	if err := os.Truncate(lib, 4<<30); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	record := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	p := &Policy{Record: record}
	if err := record.Put(Dir{Dir: project, Files: []File{{lib, strings.Repeat("0", 64)}}}); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(context.Context) error{
		"Describe": func(ctx context.Context) error {
			_, err := Describe(ctx, project, []string{lib})
			return err
		},
		"Allow": func(ctx context.Context) error { return p.Allow(ctx, Project, project, lib) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		began := time.Now()
		err := f(ctx)
		late := time.Since(began) - 30*time.Millisecond
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || late > 100*time.Millisecond {
			t.Errorf("%s: %v, %v after the end", name, err, late)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	project, outside := t.TempDir(), t.TempDir()
	t.Chdir(project)
	mine, theirs := put(t, filepath.Join(project, "lib.so"), ""), put(t, filepath.Join(outside, "lib.so"), "")
	var p *Policy
	for origin, path := range map[Origin]string{User: mine, Environment: theirs, System: mine} {
		if err := p.Allow(t.Context(), origin, "d", path); err != nil {
			t.Errorf("origin %d: %v", origin, err)
		}
	}
	refuses(t, p.Allow(t.Context(), Environment, "d", mine), mine, "below the working directory")
	link := filepath.Join(outside, "link.so")
	if err := os.Symlink(mine, link); err == nil {
		refuses(t, p.Allow(t.Context(), Environment, "d", link), link, "below the working directory")
	}
	if runtime.GOOS == "windows" {
		return // files have no permissions for others there
	}
	if err := os.Chmod(theirs, 0o666); err != nil {
		t.Fatal(err)
	}
	refuses(t, p.Allow(t.Context(), User, outside, theirs), theirs, "can be written to by other users")
	r := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	if _, err := r.Add(t.Context(), outside, []string{theirs}); err != nil {
		t.Fatal(err)
	}
	if err := (&Policy{Record: r}).Allow(t.Context(), User, outside, theirs); err != nil {
		t.Errorf("with consent: %v", err)
	}
}

// TestHomeIsNoProject: started in the home directory, or above it, not everything below
// counts as one project's.
func TestHomeIsNoProject(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	path := put(t, filepath.Join(home, "p", "bin", "nvcc"), "")
	for dir, want := range map[string]bool{
		home: false, filepath.Dir(home): false, filepath.Join(home, "p"): true,
		filepath.Join(home, "p", "bin"): true,
	} {
		t.Chdir(dir)
		if got := InWorkingDirectory(path); got != want {
			t.Errorf("from %s: %v, want %v", dir, got, want)
		}
	}
}

// TestRecordIsTheUsersOwn: a record that others can write to, or that is no record, allows
// nothing and says why.
func TestRecordIsTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	lib := put(t, filepath.Join(dir, "lib.so"), "")
	r := &Record{Path: filepath.Join(t.TempDir(), "trust.json")}
	if _, err := r.Add(t.Context(), dir, []string{lib}); err != nil {
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
		refuses(t, p.Allow(t.Context(), Project, dir, lib), lib, "the record of consent cannot be read")
		if err := os.Chmod(r.Path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, r.Path, `{"schema": "another/1"}`)
	refuses(t, p.Allow(t.Context(), Project, dir, lib), lib, "no record of trusted files")
	if _, err := r.Add(t.Context(), dir, nil); err == nil {
		t.Error("a file that is no record was replaced")
	}
	if _, err := (&Record{}).Add(t.Context(), dir, nil); !errors.Is(err, ErrNoRecord) {
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
	if _, err := r.Add(t.Context(), filepath.Dir(below), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Folder(below), p.Folder(filepath.Dir(below))); err != nil {
		t.Error(err)
	}
	refuses(t, p.Folder(dir), dir, "not trusted")
}
