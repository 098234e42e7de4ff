package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tilescope/configs"
	"tilescope/debugkern/file"
	"tilescope/debugkern/patch"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// SourceSet is what a selection is compiled from, as far as tilescope reads it itself: the manifest's source,
// and the texts that the patches of its faults change.
type SourceSet struct {
	Text    []byte             // the manifest's source, patched
	Changed map[string]Patched // every text that a patch changes, by its name relative to the source's folder
}

// Patched is a source or header as the patches of a run's faults leave it.
type Patched struct {
	Text    string
	Patches []string // paths of the diffs, in the order in which they were applied
	Lines   []int    // of the text, from 1: those that the patches changed (patch.Marked)
}

// maxPatch is the most bytes of a patch that are read.
const maxPatch = 1 << 20

// Sources reads a selection's source, applies the patches of its faults, and puts its Texts in their places.
// A patch that cannot be read, that does not apply or that cannot be combined with another is a usage error
// that names its file and line.
func Sources(ctx context.Context, sel *configs.Selection) (*SourceSet, error) {
	m := sel.Manifest
	s := &SourceSet{Changed: map[string]Patched{}}
	patches, err := readPatches(ctx, sel)
	if err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	if s.Text, err = sourceText(ctx, m); err != nil {
		return s, err
	}
	if err := s.patch(ctx, m, patches); err != nil {
		return nil, err
	}
	for name, text := range sel.Texts {
		s.Changed[name] = Patched{Text: text, Patches: s.Changed[name].Patches}
		if name == sourceBase(m) {
			s.Text = []byte(text)
		}
	}
	return s, nil
}

// patch applies diffs to the source and its headers.
func (s *SourceSet) patch(ctx context.Context, m *configs.Manifest, patches []*patch.Patch) error {
	if len(patches) == 0 {
		return nil
	}
	own := sourceBase(m)
	texts, err := patch.ApplyMarked(func(name string) (string, error) {
		if name == own {
			return string(s.Text), nil
		}
		return besideSource(ctx, m, name)
	}, patches...)
	if err != nil {
		return &report.Error{Code: report.CodeUsage, Err: err}
	}
	for name, text := range texts {
		t := Patched{Text: text.Text, Lines: text.Lines}
		for _, p := range patches {
			if slices.Contains(p.Changes(), name) {
				t.Patches = append(t.Patches, p.Name)
			}
		}
		s.Changed[name] = t
	}
	if t, ok := s.Changed[own]; ok {
		s.Text = []byte(t.Text)
	}
	return nil
}

// readPatches reads the diffs of a selection's faults.
func readPatches(ctx context.Context, sel *configs.Selection) ([]*patch.Patch, error) {
	var out []*patch.Patch
	for _, x := range sel.Patches() {
		m, name := sel.Manifest, x.Path
		if m.PTX != "" {
			return nil, fmt.Errorf(
				"%s: fault %s is a patch of the CUDA source (%s), and this manifest brings its own PTX: give source: instead, or PTX that was "+
					"built with it", m.File, x.Fault, x.Path)
		}
		var text []byte
		var err error
		if m.Dir == "" {
			var ok bool
			if text, ok = kernels.Source(name); !ok {
				return nil, fmt.Errorf("BUG: embedded kernel %s has no patch %s", m.Name, name)
			}
			name = kernels.Folder + name
		} else if text, err = file.Read(ctx, name, maxPatch, file.Want{What: "a patch"}); err != nil {
			return nil, fmt.Errorf("%s: fault %s: patch: %w", m.File, x.Fault, err)
		}
		p, err := patch.Parse(name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// PatchFile applies diffs to the text of one file, the only one that they may change: by its base name.
func PatchFile(ctx context.Context, path string, text []byte, patches []string) ([]byte, error) {
	base := filepath.Base(path)
	var list []*patch.Patch
	for _, name := range patches {
		diff, err := file.Read(ctx, name, maxPatch, file.Want{What: "a patch"})
		if err != nil {
			return nil, report.Unread("read the patch:", err)
		}
		p, err := patch.Parse(name, diff)
		if err != nil {
			return nil, &report.Error{Code: report.CodeUsage, Err: err}
		}
		list = append(list, p)
	}
	texts, err := patch.Apply(func(name string) (string, error) {
		if name != base {
			return "", fmt.Errorf("the patch is of another file than %s", base)
		}
		return string(text), nil
	}, list...)
	if err != nil {
		return nil, &report.Error{Code: report.CodeUsage, Err: err}
	}
	if len(list) > 0 {
		text = []byte(texts[base])
	}
	return text, nil
}

// sourceBase is the name of a manifest's source in patches: names in a patch are relative to
// the source's folder.
func sourceBase(m *configs.Manifest) string { return filepath.Base(m.SourcePath()) }

// besideSource reads a header that a patch changes.
func besideSource(ctx context.Context, m *configs.Manifest, name string) (string, error) {
	if m.Dir == "" {
		if text, ok := kernels.Source(name); ok && slices.Contains(kernels.Headers(), name) {
			return string(text), nil
		}
		return "", fmt.Errorf("there is no such header among the embedded kernels'")
	}
	text, err := ReadKernel(ctx, filepath.Join(filepath.Dir(m.SourcePath()), filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w (names in a patch are relative to the folder of the source)", err)
	}
	return string(text), err
}

// headers returns an embedded kernel's headers by name, patched.
func (s *SourceSet) headers() map[string]string {
	all := catalogueHeaders()
	for name, t := range s.Changed {
		if _, ok := all[name]; ok {
			all[name] = t.Text
		}
	}
	return all
}

// overlay returns the patched texts of a person's own files by absolute path, nil where there are none.
func (s *SourceSet) overlay(source string) map[string]string {
	var out map[string]string
	for name, t := range s.Changed {
		if out == nil {
			out = map[string]string{}
		}
		out[filepath.Join(filepath.Dir(source), filepath.FromSlash(name))] = t.Text
	}
	return out
}

// sourceName is how debug lines name a manifest's source: as the archive does for an embedded one.
func sourceName(m *configs.Manifest) string {
	if m.Dir == "" {
		return kernels.Folder + m.Source
	}
	return m.Source
}

// sourceText reads a manifest's CUDA source, unpatched: embedded, or in the manifest's directory. Of a
// manifest with PTX of its own it is nil.
func sourceText(ctx context.Context, m *configs.Manifest) ([]byte, error) {
	if m.Source == "" {
		return nil, nil
	}
	if m.Dir == "" {
		if text, ok := kernels.Source(m.Source); ok {
			return text, nil
		}
		return nil, fmt.Errorf("BUG: embedded kernel %s has no source %s", m.Name, m.Source)
	}
	text, err := ReadKernel(ctx, m.SourcePath())
	if err != nil {
		return nil, report.Usagef("%s: source: %w", m.File, err)
	}
	return text, nil
}

// PatchedText finds a text that patches have changed by the name that debug lines have for it; ok is
// false where none has. Debug lines name a file relative to a directory that it was searched in, so that
// the end of the name decides.
func PatchedText(changed map[string]Patched, file string) (t Patched, ok bool) {
	file = filepath.ToSlash(file)
	best := ""
	for name := range changed {
		if (file == name || strings.HasSuffix(file, "/"+name) || strings.HasSuffix(name, "/"+file)) &&
			len(name) > len(best) {
			best = name
		}
	}
	t, ok = changed[best]
	return t, ok
}
