package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/build"
	"tilescope/debugkern/bundle"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// showDoc is the document tilescope.show/1: everything that a bundle holds.
type showDoc struct {
	Schema  string          `json:"schema"`
	File    string          `json:"file"`
	Bytes   int64           `json:"bytes"`
	Bundle  bundle.Manifest `json:"bundle"`
	Members []showMember    `json:"members"`
}

// showMember is a file of the archive: its size, and what it takes in the archive.
type showMember struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Packed int64  `json:"packed"`
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE.tsl", Short: "What a bundle holds: module, launch, parameters, memory, sources",
		Long: "A bundle is one launch of a kernel as a file: the module's PTX, the entry, grid and block, every parameter's bytes, the memory that\n" +
			"they lead to, and the sources that the PTX names. show lists all of it, and nothing else is in the file: its contents are checked\n" +
			"against their description.\n\nExit code: 0 shown, 2 no bundle, or one that is damaged.",
		Example: "  tilescope show attention.tsl\n  tilescope show attention.tsl --json",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s takes one FILE.tsl; it was given %d", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.show(c, args[0]) },
	}
}

func (a *app) show(c *cobra.Command, path string) error {
	if !build.Bundled(path) {
		if _, err := os.Stat(path); err != nil {
			return usageError("%w", err)
		}
		return usageError("%s: expected a bundle, a file with the extension %s", path, bundle.Ext)
	}
	limit := a.config.MemoryMax
	if limit == 0 {
		limit = budget.Default()
	}
	b, err := bundle.Open(c.Context(), path, limit)
	if err != nil {
		return report.Unread("read the bundle:", err)
	}
	defer b.Close()
	doc := showDoc{Schema: "tilescope.show/1", File: path, Bytes: b.Size(), Bundle: b.Manifest}
	for _, m := range b.Members() {
		doc.Members = append(doc.Members, showMember(m))
	}
	if err := b.Verify(c.Context()); err != nil {
		return report.Unread("read the bundle:", err)
	}
	return a.print(doc, func(w io.Writer) { printBundle(w, &doc) })
}

// printBundle lists a bundle for people.
func printBundle(w io.Writer, d *showDoc) {
	m := &d.Bundle
	fmt.Fprintf(w, "%s: a launch of %s, made by %s (%s), %d bytes\n\n", d.File, m.Entry, m.Origin,
		versionsText(m.Versions), d.Bytes)
	fmt.Fprintf(w, "grid %s, block %s", m.Launch.Grid, m.Launch.Block)
	if m.Launch.Cluster != (probes.Dim3{1, 1, 1}) {
		fmt.Fprintf(w, ", cluster %s", m.Launch.Cluster)
	}
	if m.Launch.Cooperative {
		fmt.Fprint(w, ", cooperative")
	}
	fmt.Fprintf(w, ", %d bytes of dynamic shared memory\n", m.Launch.Shared)
	t := newTable(w)
	fmt.Fprintln(t, "\nparameters\tbytes\t")
	for i := range m.Parameters {
		p := &m.Parameters[i]
		fmt.Fprintf(t, "  %s\t%d\t%s\n", p.Name, len(p.Bytes()), parameterText(m, p))
	}
	fmt.Fprintln(t, "\nmemory\tbytes\t")
	for i := range m.Memory {
		x := &m.Memory[i]
		fmt.Fprintf(t, "  %s\t%d\t%s%v, before: %s, after: %s\n", x.Name, x.Bytes(), x.DType, x.Dims,
			rangesText(x.Before, x.Bytes()), rangesText(x.After, x.Bytes()))
	}
	fmt.Fprintln(t, "\nfiles\tbytes\tin the archive")
	for _, f := range d.Members {
		fmt.Fprintf(t, "  %s\t%d\t%d\n", f.Name, f.Bytes, f.Packed)
	}
	t.Flush()
}

func versionsText(v map[string]string) string {
	var out []string
	for name, version := range v {
		out = append(out, name+" "+version)
	}
	slices.Sort(out)
	if out == nil {
		return "no versions"
	}
	return strings.Join(out, ", ")
}

// parameterText is what a parameter holds: where it is one address, into which memory; a scalar's value as
// its type has it; else bytes.
func parameterText(m *bundle.Manifest, p *bundle.Parameter) string {
	var out []string
	if t := p.Map; t != nil {
		s := m.Memory[t.Memory].Name
		if t.Offset > 0 {
			s += fmt.Sprintf("+%d", t.Offset)
		}
		spec := t.Spec()
		return fmt.Sprintf("tensor map of %s: %s", s, spec.Keys())
	}
	for _, x := range p.Pointers {
		s := m.Memory[x.Memory].Name
		if x.Offset > 0 {
			s += fmt.Sprintf("+%d", x.Offset)
		}
		if x.Dims != nil {
			s += fmt.Sprintf(", seen as %v with strides %v", x.Dims, x.Strides)
		}
		if len(p.Bytes()) > 8 {
			s = fmt.Sprintf("at %d: %s", x.At, s)
		}
		out = append(out, "address of "+s)
	}
	if len(p.Bytes()) == 8 && len(out) == 1 {
		return out[0]
	}
	if t, err := probes.ParseDType(p.Type); err == nil && t.Size() == len(p.Bytes()) {
		return fmt.Sprintf("%v:%s", t.Value(bitsOf(p.Bytes())), t)
	}
	return strings.Join(append([]string{p.Value}, out...), "; ")
}

// bitsOf are up to 8 bytes, little endian, as a number.
func bitsOf(b []byte) uint64 {
	v := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// rangesText says how much of a memory is known.
func rangesText(list []bundle.Range, size int64) string {
	n := int64(0)
	for _, r := range list {
		n += r[1]
	}
	switch n {
	case 0:
		return "nothing"
	case size:
		return "all"
	}
	return fmt.Sprintf("%d bytes in %d ranges", n, len(list))
}
