package build

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"tilescope/configs"
	"tilescope/kernels"
)

// CopiedFile is a file of a copy.
type CopiedFile struct {
	Name string // relative to the copy's directory, with slashes
	Text []byte
}

// Copy returns what a kernel of one's own is made of that does what an embedded one does: its manifest (the
// first), its source, the headers of ours that those include, and the patches of its faults. A manifest
// that is not embedded is an error.
func Copy(m *configs.Manifest) ([]CopiedFile, error) {
	if m.Dir != "" {
		return nil, fmt.Errorf("%s is a file of your own already", m.File)
	}
	text, err := configs.EmbeddedManifest(m.File)
	if err != nil {
		return nil, err
	}
	out := []CopiedFile{{path.Base(filepath.ToSlash(m.File)), text}}
	seen := map[string]bool{}
	var add func(name string) bool
	add = func(name string) bool {
		text, ok := kernels.Source(name)
		if !ok || seen[name] {
			return ok
		}
		seen[name] = true
		out = append(out, CopiedFile{name, text})
		for _, in := range directive.FindAllSubmatch(text, -1) {
			if rest := string(in[2]); string(in[1]) == "include" && len(rest) > 2 && rest[0] == '"' {
				add(rest[1 : len(rest)-1]) // what is not among ours comes with tilescope or the compiler
			}
		}
		return true
	}
	if !add(m.Source) {
		return nil, fmt.Errorf("there is no source %s%s", kernels.Folder, m.Source)
	}
	for _, f := range m.Faults {
		if f.Patch != "" && !add(f.Patch) {
			return nil, fmt.Errorf("fault %s: %w", f.Name, fs.ErrNotExist)
		}
	}
	return out, nil
}
