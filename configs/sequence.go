package configs

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/debugkern/file"
	"tilescope/probes"
)

// SequenceSchema marks a file as a sequence of launches.
const SequenceSchema = "tilescope.sequence/1"

// Sequence is several launches and fills of memory in stream order over named buffers: a split and its
// combine, a forward and a backward pass.
type Sequence struct {
	Name      string
	File, Dir string
	Compile   Compile // of every source
	Buffers   []SequenceBuffer
	Steps     []SequenceStep
}

// SequenceBuffer is memory that steps share, by name. Value is what check's --arg takes for memory:
// "randn:f32[64,128]".
type SequenceBuffer struct {
	Name, Value string

	at place
}

// SequenceStep is one launch, or a fill of one buffer.
type SequenceStep struct {
	File, Entry string // File relative to the sequence's folder
	Grid, Block probes.Dim3
	Shared      int
	Cooperative bool
	Args        []SequenceArg

	Memset string // the buffer that is filled; "" for a launch
	Byte   int    // with this value

	at place
}

// SequenceArg is an argument of a step: the name of a buffer, a value as --arg takes it, or a struct by its
// fields, each of which is one of these.
type SequenceArg struct {
	Name, Value string
	Buffer      bool // Value is a buffer's name
	Fields      []SequenceField
}

// SequenceField is a field of a struct.
type SequenceField struct {
	Offset int // bytes
	Value  string
	Buffer bool // Value is a buffer's name
}

// Fail is a mistake in a buffer's value, located.
func (b *SequenceBuffer) Fail(s *Sequence, err error) error {
	return &Error{File: s.File, Line: b.at.line, Col: b.at.col, Field: b.at.field, Msg: err.Error()}
}

// Fail is a mistake in a step, located.
func (t *SequenceStep) Fail(s *Sequence, err error) error {
	return &Error{File: s.File, Line: t.at.line, Col: t.at.col, Field: t.at.field, Msg: err.Error()}
}

// LoadSequence reads a sequence; ok is false where the file is none, but a manifest or nothing that can be
// read as one: then there is no error. Every mistake of a sequence is reported at once, as *Errors.
func LoadSequence(ctx context.Context, path string) (s *Sequence, ok bool, err error) {
	text, err := file.Read(ctx, path, maxFile, file.Want{What: "a manifest"})
	if err != nil {
		return nil, false, nil //nolint:nilerr // who reads it as a manifest reports it
	}
	p := &sequenceParser{reader: reader{file: path}, s: &Sequence{File: path, Dir: filepath.Dir(path)}}
	root := p.document(ctx, text)
	if root == nil || !marked(root) {
		return nil, false, ctx.Err()
	}
	p.root(root)
	if err := errorsOf(p.errs); err != nil {
		return nil, true, err
	}
	return p.s, true, ctx.Err()
}

// marked reports whether a document says that it is a sequence.
func marked(n *yaml.Node) bool {
	return strings.HasPrefix(valueOf(n, "schema"), "tilescope.sequence/")
}

// valueOf is the text of a document's key; "" where it has none.
func valueOf(n *yaml.Node, key string) string {
	if n = deref(n); n.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1].Value
		}
	}
	return ""
}

// KernelOf returns the path of the text that a manifest is of (its source or ptx); ok is false where the file
// is no manifest. Mistakes of the manifest are not looked for.
func KernelOf(ctx context.Context, path string) (kernel string, ok bool) {
	text, err := file.Read(ctx, path, maxFile, file.Want{What: "a manifest"})
	if err != nil {
		return "", false
	}
	r := reader{file: path}
	root := r.document(ctx, text)
	if root == nil || !strings.HasPrefix(valueOf(root, "schema"), "tilescope.kernel/") {
		return "", false
	}
	return filepath.Join(filepath.Dir(path), valueOf(root, "source")+valueOf(root, "ptx")), true
}

type sequenceParser struct {
	reader
	s *Sequence
}

func (p *sequenceParser) root(n *yaml.Node) {
	o := p.section(n, "", "sequence")
	if o.has("schema") && o.str("schema") != SequenceSchema {
		o.fail("schema", "expected %s", SequenceSchema)
	}
	p.s.Name = o.name("name", dashed, "a name (letters, digits, _ - . +)")
	p.s.Compile = Compile{
		Include: p.texts(o, "include"), Defines: p.texts(o, "defines"), Std: o.str("std"),
		Instantiate: p.texts(o, "instantiate"),
	}
	for i, dir := range p.s.Compile.Include {
		if !filepath.IsAbs(dir) {
			p.s.Compile.Include[i] = filepath.Join(p.s.Dir, dir)
		}
	}
	p.buffers(o)
	if !o.has("steps") {
		return
	}
	for i, n := range o.list("steps") {
		p.step(n, fmt.Sprintf("steps[%d]", i))
	}
	if len(p.s.Steps) == 0 {
		o.fail("steps", "expected at least one launch")
	}
}

// texts reads a list of texts.
func (p *sequenceParser) texts(o *object, key string) (out []string) {
	if !o.has(key) {
		return nil
	}
	for i, n := range o.list(key) {
		if s := p.str(n, fmt.Sprintf("%s[%d]", o.field(key), i)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (p *sequenceParser) buffers(o *object) {
	if !o.has("buffers") {
		return
	}
	b := p.object(o.vals["buffers"], "buffers")
	if b == nil {
		return
	}
	for _, name := range b.keys {
		if !identifier.MatchString(name) {
			b.fail(name, "%q is not an identifier (letters, digits and _)", clip(name))
			continue
		}
		v := b.vals[name]
		p.s.Buffers = append(p.s.Buffers, SequenceBuffer{
			name, b.str(name), place{v.Line, v.Column, b.field(name)},
		})
	}
}

// buffer reports whether there is a buffer of a name.
func (p *sequenceParser) buffer(name string) bool {
	for i := range p.s.Buffers {
		if p.s.Buffers[i].Name == name {
			return true
		}
	}
	return false
}

func (p *sequenceParser) step(n *yaml.Node, field string) {
	o := p.section(n, field, "step")
	if o == nil {
		return
	}
	st := SequenceStep{
		at: place{n.Line, n.Column, field}, Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{1, 1, 1},
	}
	if o.has("memset") {
		if st.Memset = o.str("memset"); st.Memset != "" && !p.buffer(st.Memset) {
			o.fail("memset", "there is no buffer %q%s", clip(st.Memset), suggest(st.Memset, p.names()))
		}
		st.Byte = o.integer("value")
		for _, k := range o.keys {
			if k != "memset" && k != "value" {
				o.fail(k, "a fill has a buffer and a value, 0 to 255, alone")
			}
		}
		p.s.Steps = append(p.s.Steps, st)
		return
	}
	o.need("file", "grid", "block", "args")
	if o.has("value") {
		o.fail("value", "belongs to memset, which this step has not")
	}
	if st.File = o.str("file"); st.File != "" && !filepath.IsAbs(st.File) {
		st.File = filepath.Join(p.s.Dir, filepath.FromSlash(st.File))
	}
	st.Entry, st.Shared = o.str("entry"), o.integer("shared")
	if o.has("cooperative") {
		st.Cooperative = o.truth("cooperative")
	}
	st.Grid, st.Block = p.extent(o, "grid"), p.extent(o, "block")
	if o.has("args") {
		p.args(o, &st)
	}
	p.s.Steps = append(p.s.Steps, st)
}

// extent reads "X", "X,Y" or [X, Y, Z].
func (p *sequenceParser) extent(o *object, key string) probes.Dim3 {
	d := probes.Dim3{1, 1, 1}
	if !o.has(key) {
		return d
	}
	n := deref(o.vals[key])
	var parts []*yaml.Node
	switch n.Kind {
	case yaml.SequenceNode:
		parts = n.Content
	default:
		for part := range strings.SplitSeq(n.Value, ",") {
			parts = append(parts, &yaml.Node{
				Kind: yaml.ScalarNode, Tag: "!!int", Value: strings.TrimSpace(part), Line: n.Line,
				Column: n.Column,
			})
		}
	}
	if len(parts) < 1 || len(parts) > 3 {
		o.fail(key, "expected X, [X, Y] or [X, Y, Z], found %d numbers", len(parts))
		return d
	}
	for i, part := range parts {
		if _, err := strconv.Atoi(deref(part).Value); err != nil {
			o.fail(key, "%q is not a whole number", clip(part.Value))
			return d
		}
		d[i] = p.integer(part, o.field(key), 1, 1<<31-1, 1)
	}
	return d
}

func (p *sequenceParser) args(o *object, st *SequenceStep) {
	a := p.object(o.vals["args"], o.field("args"))
	if a == nil {
		return
	}
	for _, name := range a.keys {
		arg := SequenceArg{Name: name}
		if n := deref(a.vals[name]); n.Kind == yaml.MappingNode {
			fields := p.object(n, a.field(name))
			for _, at := range fields.keys {
				offset, err := strconv.Atoi(at)
				if err != nil || offset < 0 {
					fields.fail(at, "%q is no offset in bytes", clip(at))
					continue
				}
				value, buffer := p.given(fields, at)
				arg.Fields = append(arg.Fields, SequenceField{offset, value, buffer})
			}
			if len(fields.keys) == 0 {
				a.fail(name, "a struct needs a field at least")
			}
		} else {
			arg.Value, arg.Buffer = p.given(a, name)
		}
		st.Args = append(st.Args, arg)
	}
}

// given is an argument or a field: the name of a buffer, or a value.
func (p *sequenceParser) given(o *object, key string) (value string, buffer bool) {
	n := deref(o.vals[key])
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		o.fail(key, "expected the name of a buffer or a value as --arg takes it, found %s", kindOf(n))
		return "", false
	}
	words := []string{"true", "false", "null", "nan", "inf"}
	buffer = p.buffer(n.Value)
	if identifier.MatchString(n.Value) && !buffer && !slices.Contains(words, n.Value) {
		o.fail(key, "there is no buffer %q%s", clip(n.Value), suggest(n.Value, p.names()))
	}
	return n.Value, buffer
}

func (p *sequenceParser) names() []string {
	return names(p.s.Buffers, func(b SequenceBuffer) string { return b.Name })
}
