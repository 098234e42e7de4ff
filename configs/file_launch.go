package configs

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"tilescope/probes"
)

// FileLaunch is a launch of a kernel that no manifest describes: a file and the options of `check`.
type FileLaunch struct {
	File        string // a .ptx, a .cu or a .tsl
	Entry       string
	Grid, Block probes.Dim3
	Shared      int         // dynamic bytes
	Cluster     probes.Dim3 // blocks of a cluster; 1 block: none
	Args        []probes.Arg
}

// unnamed are the characters that a kernel's name does not have.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_.+-]`)

// Manifest returns the manifest of the launch: without stages, dimensions and flags. Its target is the file.
func (l *FileLaunch) Manifest() (*Manifest, error) {
	base := filepath.Base(l.File)
	key := "source"
	if ext := filepath.Ext(base); ext == ".ptx" || ext == ".tsl" {
		key = "ptx"
	}
	cluster := ""
	if l.Cluster.Count() > 1 {
		cluster = ", cluster: " + extents(l.Cluster)
	}
	text := fmt.Sprintf(
		"schema: %s\nname: %q\n%s: %q\nentry: kernel\nlaunch: {grid: %s, block: %s, shared: %d%s}\nargs: []\n",
		Schema,
		"_"+unnamed.ReplaceAllString(base, "_"), key, base, extents(l.Grid), extents(l.Block), l.Shared,
		cluster)
	m, err := ParseManifest(l.File, []byte(text))
	if err != nil {
		return nil, err
	}
	m.Name = strings.TrimPrefix(m.Name, "_")
	m.Variants[0].Name, m.Default = m.Name, m.Name
	m.Title, m.Entry, m.Dir = base, l.Entry, filepath.Dir(l.File)
	for i := range l.Args {
		a := &l.Args[i]
		m.Args = append(m.Args, Arg{Name: a.Name, DType: a.DType, Pointer: a.Pointer, Role: a.Role, given: a})
	}
	return m, nil
}

// extents writes a list of three numbers.
func extents(d probes.Dim3) string { return fmt.Sprintf("[%d, %d, %d]", d[0], d[1], d[2]) }

// Adopt makes a manifest a target of the catalogue, under the name of its file, in place of one
// of that name before.
func (c *Catalogue) Adopt(m *Manifest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.adopted == nil {
		c.adopted = map[string]*Manifest{}
	}
	c.adopted[m.File] = m
}

// Adopted returns the manifest that was adopted under a name, nil where none was.
func (c *Catalogue) Adopted(target string) *Manifest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.adopted[target]
}
