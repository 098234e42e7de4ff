package configs

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed kernels/*.yaml
var embedded embed.FS

// Catalogue is a set of manifests whose kernel and variant names do not clash.
// Others can be adopted: they are opened under the names of their files, and listed nowhere.
type Catalogue struct {
	Manifests []*Manifest

	mu      sync.Mutex
	adopted map[string]*Manifest
}

// Kernels returns a catalogue of the embedded manifests, in file name order: one of its own, so that what is
// adopted in it is in no other. The manifests are shared. An error is a defect of this repository.
func Kernels() (*Catalogue, error) {
	c, err := parseEmbedded()
	if err != nil {
		return nil, err
	}
	return &Catalogue{Manifests: slices.Clone(c.Manifests)}, nil
}

// parseEmbedded parses the embedded manifests on the first call: every command needs them,
// some several times.
var parseEmbedded = sync.OnceValues(loadEmbedded)

func loadEmbedded() (*Catalogue, error) {
	dir, err := fs.Sub(embedded, "kernels")
	if err != nil {
		return nil, fmt.Errorf("load catalogue: %w", err)
	}
	return LoadCatalogue(dir)
}

// EmbeddedManifest returns the text of an embedded kernel's manifest by its File.
func EmbeddedManifest(file string) ([]byte, error) { return embedded.ReadFile("kernels/" + file) }

// LoadCatalogue reads every *.yaml of a directory. The mistakes of all files come together, as *Errors.
func LoadCatalogue(dir fs.FS) (*Catalogue, error) {
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("load catalogue: %w", err)
	}
	c := &Catalogue{}
	var errs []*Error
	for _, f := range files {
		text, err := fs.ReadFile(dir, f)
		if err != nil {
			return nil, fmt.Errorf("load catalogue: %w", err)
		}
		m, err := ParseManifest(f, text)
		if err != nil {
			errs = append(errs, err.(*Errors).List...)
			continue
		}
		c.Manifests = append(c.Manifests, m)
	}
	errs = append(errs, c.clashes()...)
	return c, errorsOf(errs)
}

// clashes reports names given twice. A kernel may have a variant of its own name.
func (c *Catalogue) clashes() []*Error {
	var errs []*Error
	owner := map[string]*Manifest{}
	take := func(m *Manifest, name string, at place) {
		if o := owner[name]; o != nil && o != m {
			errs = append(errs, m.errorAt(at, "the name %s is taken by %s; names are unique in the catalogue",
				name, o.File))
			return
		}
		owner[name] = m
	}
	for _, m := range c.Manifests {
		take(m, m.Name, place{field: "name"})
		for _, v := range m.Variants {
			take(m, v.Name, v.at)
		}
	}
	return errs
}

// Lookup finds a target by variant name, or by kernel name for its default variant.
func (c *Catalogue) Lookup(target string) (m *Manifest, variant string, err error) {
	for _, m := range c.Manifests {
		if m.Variant(target) != nil {
			return m, target, nil
		}
	}
	for _, m := range c.Manifests {
		if m.Name == target {
			return m, m.Default, nil
		}
	}
	if IsHeader(target) {
		return nil, "", fmt.Errorf("%s is a header, not a kernel: `tilescope lut %[1]s` judges its fragment table",
			clip(target))
	}
	if isKernelFile(path.Ext(target)) {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			return nil, "", fmt.Errorf("%s: no such file", clip(target))
		}
		return nil, "", fmt.Errorf("%s is a kernel's file, and a target is described by a manifest: "+
			"`tilescope check %[1]s` checks a launch of it, `tilescope init %[1]s` writes a manifest for it",
			clip(target))
	}
	return nil, "", fmt.Errorf("unknown target %q%s", clip(target), suggest(target, c.Targets()))
}

// isKernelFile reports whether a file's name ends as those of kernels do that no manifest describes.
func isKernelFile(ext string) bool { return ext == ".cu" || ext == ".ptx" || ext == ".py" }

// IsHeader reports whether a file's name ends as those of headers do.
func IsHeader(name string) bool {
	return slices.Contains([]string{".h", ".hh", ".hpp", ".cuh"}, path.Ext(name))
}

// Targets lists every name that Lookup takes: variants, then kernels.
func (c *Catalogue) Targets() []string {
	var out, kernels []string
	for _, m := range c.Manifests {
		out = append(out, m.variantNames()...)
		if m.Variant(m.Name) == nil {
			kernels = append(kernels, m.Name)
		}
	}
	return append(out, kernels...)
}

// ManifestIn returns the path of the one manifest in a folder, which stands for it. A name that is no folder,
// or one of the catalogue, stands for itself.
func (c *Catalogue) ManifestIn(target string) (string, error) {
	if _, _, err := c.Lookup(target); err == nil {
		return target, nil
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return target, nil // whoever opens it reports what it is instead
	}
	var found []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			found = append(found, filepath.Join(target, e.Name()))
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s is a folder with no manifest (FILE.yaml) in it", clip(target))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s is a folder with several manifests: %s", clip(target),
		strings.Join(found, ", "))
}

// Open is Lookup for a name, an adopted manifest for its file, and LoadManifest for a path (anything with a
// separator or ending in .yaml or .yml) or for the one manifest in a folder.
func (c *Catalogue) Open(ctx context.Context, target string) (m *Manifest, variant string, err error) {
	if m = c.Adopted(target); m != nil {
		return m, m.Default, nil
	}
	if target, err = c.ManifestIn(target); err != nil {
		return nil, "", err
	}
	ext := path.Ext(target)
	if !strings.ContainsAny(target, `/\`) && ext != ".yaml" && ext != ".yml" || isKernelFile(ext) {
		return c.Lookup(target)
	}
	if m, err = LoadManifest(ctx, target); err != nil {
		return nil, "", err
	}
	return m, m.Default, nil
}
