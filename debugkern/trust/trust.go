// Package trust decides which files of a toolchain may be loaded into a process or executed.
//
// The one idea: a directory that somebody has cloned or unpacked must not run code because a command was
// started in it. A file that the working directory offers is used only after consent, which is recorded for
// its path and its digest, so that another file at that path needs another consent. A file that the user
// named is used where nobody else can change it.
//
// The package must not know what a file is for, or where toolchains are looked for.
package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tilescope/debugkern/file"
)

// Origin says who named the place in which a file was found.
type Origin int

// Origins, from the one that needs most consent to the one that needs none.
const (
	// Project: the working directory holds the file, or a configuration file of it names the place.
	Project Origin = iota
	// Environment: a variable or PATH names the place, for every program alike.
	Environment
	// User: the user named the place to this program, by its absolute path.
	User
	// System: a place that only an administrator fills.
	System
)

// Policy decides for one process. It is immutable and safe for concurrent use. A nil Policy has no record, so
// that it refuses everything of the working directory.
type Policy struct {
	Record *Record // consents of earlier; nil: none
	Accept bool    // consent to everything, for this process alone (--trust)
}

// Refused is the error for a file that may not be used.
type Refused struct {
	Path   string // the file
	Dir    string // what to give to `tilescope trust`
	Reason string
	Files  []string // all that would have been used together, Path among them
}

func (e *Refused) Error() string {
	return fmt.Sprintf(
		"%s is not used: %s (to use it: tilescope trust %s, or the option --trust for one command)", e.Path,
		e.Reason, quoted(e.Dir))
}

// quoted is a directory as a shell takes it.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}

// Allow returns nil where all files, found below dir, may be loaded or executed; else a *Refused
// about the first that may not. A file that does not exist is refused. Where ctx ends while files are
// read, its error is returned.
func (p *Policy) Allow(ctx context.Context, origin Origin, dir string, files ...string) error {
	if p != nil && p.Accept || origin == System {
		return nil
	}
	var consents map[string]string
	for _, path := range files {
		reason := p.objection(origin, path)
		if reason == "" {
			continue
		}
		if consents == nil {
			var err error
			if consents, err = p.consents(); err != nil {
				return &Refused{
					path, dir, reason + ", and the record of consent cannot be read: " + err.Error(), files,
				}
			}
		}
		why := consented(ctx, consents, path)
		if err := ctx.Err(); err != nil {
			return err
		}
		if why != "" {
			return &Refused{path, dir, reason + ", and " + why, files}
		}
	}
	return nil
}

// Reads returns nil where files of dir may be read in the place of the system's own, as headers are; else a
// *Refused about the first that may not. Nothing of them is executed, so a consent to dir covers them
// whatever they contain by now.
func (p *Policy) Reads(origin Origin, dir string, files ...string) error {
	if p != nil && p.Accept || origin == System {
		return nil
	}
	for _, path := range files {
		if reason := p.objection(origin, path); reason != "" && p.Folder(dir) != nil {
			return &Refused{path, dir, reason + ", and its directory is not trusted", files}
		}
	}
	return nil
}

// objection says why a file needs a recorded consent, "" where it needs none.
func (p *Policy) objection(origin Origin, path string) string {
	switch {
	case origin == Project:
		return "the working directory provides it"
	case origin == Environment && InWorkingDirectory(path):
		return "it is below the working directory"
	}
	if err := file.Unchangeable(path); err != nil {
		return err.Error()
	}
	return ""
}

func (p *Policy) consents() (map[string]string, error) {
	if p == nil || p.Record == nil {
		return map[string]string{}, nil
	}
	dirs, err := p.Record.List()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range dirs {
		for _, f := range d.Files {
			out[f.Path] = f.SHA256
		}
	}
	return out, nil
}

// consented says why the record does not allow a file, "" where it does.
func consented(ctx context.Context, consents map[string]string, path string) string {
	real, err := realPath(path)
	if err != nil {
		return err.Error()
	}
	want, ok := consents[real]
	if !ok {
		return "it is not trusted"
	}
	got, err := digest(ctx, real)
	if err != nil {
		return err.Error()
	}
	if got != want {
		return "it has changed since it was trusted"
	}
	return ""
}

// Folder returns nil where commands that a file in dir names may be run there: dir, or a directory
// above it, was trusted.
func (p *Policy) Folder(dir string) error {
	if p != nil && p.Accept {
		return nil
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // as a command elsewhere names it
	}
	real, err := realPath(dir)
	if err != nil {
		return &Refused{dir, dir, err.Error(), nil}
	}
	if p != nil && p.Record != nil {
		dirs, err := p.Record.List()
		if err != nil {
			return &Refused{dir, dir, err.Error(), nil}
		}
		for _, d := range dirs {
			if within(d.Dir, real) {
				return nil
			}
		}
	}
	return &Refused{dir, dir, "it is not trusted", nil}
}

// InWorkingDirectory reports whether a path is below the working directory, as it is written or by where its
// links lead. The root directory, the home directory and those above it do not count: what is below them is
// not of one project.
func InWorkingDirectory(path string) bool {
	cwd, err := os.Getwd()
	if err != nil {
		return true
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return true
	}
	if home, err := os.UserHomeDir(); err == nil {
		if h, err := filepath.EvalSymlinks(home); err == nil && within(real, h) {
			return false
		}
	}
	if real == filepath.Dir(real) {
		return false
	}
	abs, err := filepath.Abs(path)
	if err != nil || within(cwd, abs) || within(real, abs) {
		return true
	}
	resolved, err := realPath(abs)
	return err == nil && within(real, resolved)
}

// within reports whether path is dir or below it; both are absolute and clean.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// realPath is the absolute path without symbolic links.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// digest is the SHA-256 of a regular file, in hex. It ends with ctx.
func digest(ctx context.Context, path string) (string, error) {
	f, _, err := file.Open(ctx, path, maxDigested, file.Want{What: "a compiler or a tool"})
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := io.CopyN(h, f, digestedAtOnce); errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		} else if err != nil {
			return "", err
		}
	}
}

const (
	maxDigested    = 16 << 30 // bytes: more than any compiler has
	digestedAtOnce = 1 << 20  // bytes read between two looks at the context
)
