// Package patch reads unified diffs and applies them to texts in memory.
//
// The one idea: every patch is written against the unpatched text, and each line of that text keeps its
// number while patches are applied. So the place of a hunk is found once, in the unpatched text, and what an
// earlier patch did to its lines is known, not guessed: there is no fuzz, a hunk applies exactly or is an
// error that names file, hunk and line.
//
// It must not know CUDA, manifests or where texts come from.
package patch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Patch is one unified diff. It is immutable.
type Patch struct {
	Name  string // the diff's file, in messages
	Files []File
}

// File is what a patch changes in one text.
type File struct {
	Name  string // of the text: relative, with slashes, without the a/ or b/ of the diff
	Hunks []Hunk // in the order of the text, none overlapping another
}

// Hunk replaces lines of the unpatched text. Lines keep their line ends.
type Hunk struct {
	Line  int // of the diff, from 1: where the hunk begins
	Start int // first line of the unpatched text that the hunk has, from 1
	Edits []Edit
}

// Edit is one line of a hunk.
type Edit struct {
	Op   byte // ' ' a line that stays, '-' one that is removed, '+' one that is added
	Text string
	Line int // of the diff
}

// Error is a diff that cannot be read or applied.
type Error struct {
	File string // the diff
	Line int    // in the diff, from 1; 0 for the file as a whole
	Msg  string
}

// Error returns file:line: message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Changes returns the names of the texts that the patch changes.
func (p *Patch) Changes() []string {
	names := make([]string, len(p.Files))
	for i, f := range p.Files {
		names[i] = f.Name
	}
	return names
}

// old returns the lines that a hunk expects in the unpatched text.
func (h *Hunk) old() []string {
	var out []string
	for _, e := range h.Edits {
		if e.Op != '+' {
			out = append(out, e.Text)
		}
	}
	return out
}

// local reports whether a text's name stays within its folder.
func local(name string) bool {
	return name != "" && !path.IsAbs(name) && !strings.ContainsAny(name, "\\:\x00") &&
		path.Clean(name) == name &&
		!slices.Contains(strings.Split(name, "/"), "..")
}
