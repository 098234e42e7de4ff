package bundle

import (
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// Limits of a manifest.
const (
	maxManifest   = 8 << 20 // bytes of bundle.json
	maxText       = 64 << 20
	maxParameters = 4096
	maxParamBytes = 32764 // of all parameters together, the most that any chip takes (PTX ISA, .param)
	maxMemory     = 4096
	maxSources    = 1024
	maxRanges     = 1 << 16
	maxDims       = 16
	maxName       = 200
)

var (
	memoryName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.+-]*$`)
	digest     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// checker collects nothing: the first mistake ends it.
type checker struct {
	m   *Manifest
	err *Error
}

func (c *checker) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

// Check reports the first mistake of a manifest as an *Error without File, and works out what
// its methods return.
func (m *Manifest) Check() error {
	c := &checker{m: m}
	if m.Schema != Schema {
		c.fail("schema", "%s; expected %s", shown(m.Schema), Schema)
		return c.err
	}
	c.head()
	c.launch()
	c.memory()
	c.parameters()
	c.sources()
	if c.err != nil {
		return c.err
	}
	return nil
}

func (c *checker) head() {
	c.text("origin", c.m.Origin, maxName)
	if len(c.m.Versions) > maxName {
		c.fail("versions", "%d of them; at most %d are read", len(c.m.Versions), maxName)
	}
	for name, v := range c.m.Versions {
		c.text("versions", name, maxName)
		c.text("versions."+name, v, maxName)
	}
	if !digest.MatchString(c.m.Module) {
		c.fail("module", "%s is no SHA-256 digest", shown(c.m.Module))
	}
	c.text("entry", c.m.Entry, maxManifest)
}

// text refuses what a terminal should not be shown, and nothing at all.
func (c *checker) text(field, s string, most int) {
	strange := func(r rune) bool { return !unicode.IsPrint(r) }
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, strange) {
		c.fail(field, "%s; expected printable text of 1 to %d bytes", shown(s), most)
	}
}

func (c *checker) launch() {
	l := &c.m.Launch
	for _, x := range []struct {
		name string
		dim  probes.Dim3
	}{{"grid", l.Grid}, {"block", l.Block}, {"cluster", l.Cluster}} {
		for i, n := range x.dim {
			if n < 1 || n > math.MaxInt32 {
				c.fail("launch."+x.name, "%c is %d; expected 1 to %d", "xyz"[i], n, math.MaxInt32)
			}
		}
	}
	if l.Shared < 0 || l.Shared > math.MaxInt32 {
		c.fail("launch.shared", "%d bytes", l.Shared)
	}
}

func (c *checker) memory() {
	if n := len(c.m.Memory); n > maxMemory {
		c.fail("memory", "%d of them; at most %d are read", n, maxMemory)
		return
	}
	seen := map[string]bool{}
	for i := range c.m.Memory {
		x, at := &c.m.Memory[i], fmt.Sprintf("memory[%d]", i)
		switch {
		case !memoryName.MatchString(x.Name) || len(x.Name) > maxName:
			c.fail(at+".name", "%s; expected letters, digits and _ . + -, at most %d", shown(x.Name), maxName)
		case seen[x.Name]:
			c.fail(at+".name", "a second memory %s", x.Name)
		}
		seen[x.Name] = true
		var err error
		if x.dtype, err = probes.ParseDType(x.DType); err != nil {
			c.fail(at+".dtype", "%v", err)
			return
		}
		x.size = c.extent(at+".dims", x.Dims, int64(x.dtype.Size()))
		c.ranges(at+".before", x.Before, x.size)
		c.ranges(at+".after", x.After, x.size)
	}
}

// extent is a product of extents, each at least 1.
func (c *checker) extent(field string, dims []int, size int64) int64 {
	if len(dims) > maxDims {
		c.fail(field, "%d dimensions; at most %d are read", len(dims), maxDims)
		return 0
	}
	for i, d := range dims {
		if d < 1 || int64(d) > math.MaxInt64/2/size {
			c.fail(field, "extent %d of dimension %d", d, i)
			return 0
		}
		size *= int64(d)
	}
	return size
}

// ranges: in ascending order, apart from each other, within the memory. nil is nothing, and an
// empty list a mistake.
func (c *checker) ranges(field string, list []Range, size int64) {
	if list != nil && len(list) == 0 || len(list) > maxRanges {
		c.fail(field, "%d ranges; expected 1 to %d, or none of this key", len(list), maxRanges)
	}
	end := int64(0)
	for i, r := range list {
		if r[0] < end || r[1] < 1 || r[0] > size || r[1] > size-r[0] {
			c.fail(fmt.Sprintf("%s[%d]", field, i),
				"bytes %d and %d on do not lie in order within the memory's %d", r[0], r[1], size)
			return
		}
		if end = r[0] + r[1]; i > 0 && r[0] == list[i-1][0]+list[i-1][1] {
			c.fail(fmt.Sprintf("%s[%d]", field, i),
				"it goes on where the range before ends; expected one range")
			return
		}
	}
}

func (c *checker) parameters() {
	if n := len(c.m.Parameters); n > maxParameters {
		c.fail("parameters", "%d of them; at most %d are read", n, maxParameters)
		return
	}
	total := 0
	for i := range c.m.Parameters {
		p, at := &c.m.Parameters[i], fmt.Sprintf("parameters[%d]", i)
		c.text(at+".name", p.Name, maxName)
		if p.Type != "" {
			c.text(at+".type", p.Type, maxName)
		}
		var err error
		if p.bytes, err = hex.DecodeString(p.Value); err != nil || len(p.bytes) == 0 ||
			p.Value != strings.ToLower(p.Value) {
			c.fail(at+".value", "%s; expected the bytes in lower-case hexadecimal", shown(p.Value))
			return
		}
		if total += len(p.bytes); total > maxParamBytes {
			c.fail(at+".value", "the parameters have more than %d bytes", maxParamBytes)
			return
		}
		c.pointers(at, p)
		c.tensorMap(at+".map", p)
	}
}

// pointers: in ascending order, apart from each other, within the parameter, whose bytes there are 0; each
// into a memory, or to its end.
func (c *checker) pointers(at string, p *Parameter) {
	end := 0
	for i := range p.Pointers {
		x, at := &p.Pointers[i], fmt.Sprintf("%s.pointers[%d]", at, i)
		switch {
		case x.At < end || x.At > len(p.bytes)-8:
			c.fail(at+".at",
				"byte %d; expected room for an address within the parameter's %d bytes, after the pointer before",
				x.At, len(p.bytes))
			return
		case string(p.bytes[x.At:x.At+8]) != string(make([]byte, 8)):
			c.fail(at+".at",
				"the parameter's value has an address there, which is not valid here; expected zeros")
		case x.Memory < 0 || x.Memory >= len(c.m.Memory):
			c.fail(at+".memory", "%d; there are %d", x.Memory, len(c.m.Memory))
			return
		}
		m := &c.m.Memory[x.Memory]
		if x.Offset < 0 || x.Offset > m.size {
			c.fail(at+".offset", "byte %d of memory %s, which has %d", x.Offset, m.Name, m.size)
		}
		c.view(at, x, m)
		end = x.At + 8
	}
}

// tensorMap: a parameter of the size of a map, without bytes or pointers of its own, of a tensor that lies
// within its memory.
func (c *checker) tensorMap(at string, p *Parameter) {
	t := p.Map
	switch {
	case t == nil || c.err != nil:
		return
	case len(p.bytes) != tensormap.Bytes || p.Pointers != nil || strings.Trim(p.Value, "0") != "":
		c.fail(at, "a tensor map is a parameter of %d bytes, which are 0, without pointers", tensormap.Bytes)
		return
	case t.Memory < 0 || t.Memory >= len(c.m.Memory):
		c.fail(at+".memory", "%d; there are %d", t.Memory, len(c.m.Memory))
		return
	}
	m, spec := &c.m.Memory[t.Memory], t.Spec()
	x, err := spec.Map(t.DType, nil, nil)
	if err == nil {
		err = spec.Within(x, m.Name, m.size)
	}
	if err != nil {
		c.fail(at, "%v", err)
	}
}

// view: the elements that a pointer shows lie within its memory.
func (c *checker) view(at string, x *Pointer, m *Memory) {
	if len(x.Dims) == 0 && len(x.Strides) == 0 {
		return
	}
	if len(x.Dims) != len(x.Strides) || len(x.Dims) > maxDims {
		c.fail(at+".strides", "%d strides for %d dimensions; at most %d are read", len(x.Strides),
			len(x.Dims), maxDims)
		return
	}
	size := int64(m.dtype.Size())
	first, last := x.Offset, x.Offset+size
	for i, d := range x.Dims {
		s := int64(x.Strides[i])
		if d < 1 || int64(d) > math.MaxInt32 || s > m.size || s < -m.size {
			c.fail(at+".dims", "extent %d with stride %d", d, s)
			return
		}
		if reach := int64(d-1) * s * size; reach < 0 {
			first += reach
		} else {
			last += reach
		}
		if first < 0 || last > m.size {
			c.fail(at+".strides", "the tensor leaves memory %s", m.Name)
			return
		}
	}
}

func (c *checker) sources() {
	if n := len(c.m.Sources); n > maxSources {
		c.fail("sources", "%d of them; at most %d are read", n, maxSources)
		return
	}
	seen := map[string]bool{}
	for i, s := range c.m.Sources {
		at := fmt.Sprintf("sources[%d]", i)
		c.text(at+".path", s.Path, maxName)
		switch p := s.Path; {
		case path.IsAbs(p) || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../") ||
			strings.ContainsAny(p, `\:`):
			c.fail(at+".path", "%s; expected a relative path without .., with slashes", shown(p))
		case seen[p]:
			c.fail(at+".path", "a second source %s", p)
		}
		seen[s.Path] = true
		if !digest.MatchString(s.SHA256) {
			c.fail(at+".sha256", "%s is no SHA-256 digest", shown(s.SHA256))
		}
	}
}

// shown is foreign text in a message.
func shown(s string) string {
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return fmt.Sprintf("%+q", s)
}
