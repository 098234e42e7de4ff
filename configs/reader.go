package configs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tilescope/configs/schema"
	"tilescope/probes"
)

const maxFile = 1 << 20 // bytes of YAML we are willing to read

var (
	// zeroFirst finds a number such as 010, once powersOfTen have no part in it: 1e-05 is decimal.
	zeroFirst   = regexp.MustCompile(`(^|[^0-9A-Za-z_.])0[0-9_]`)
	powersOfTen = regexp.MustCompile(`([0-9.])[eE][-+]?[0-9]+`)
)

// leadingZero reports whether a text has a number such as 010.
func leadingZero(text string) bool {
	return zeroFirst.MatchString(powersOfTen.ReplaceAllString(text, "$1"))
}

var (
	identifier = regexp.MustCompile(schema.Identifier)
	dashed     = regexp.MustCompile(schema.Label)
)

// reader walks YAML nodes and collects every mistake instead of stopping at the first.
type reader struct {
	ctx  context.Context // of document; expressions are not read any more once it has ended
	file string
	errs []*Error
	keys []KeySetting // where the settings of the terminal's keys stand
}

func (r *reader) fail(n *yaml.Node, field, format string, args ...any) {
	e := &Error{File: r.file, Field: field, Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line, e.Col = n.Line, n.Column
	}
	r.errs = append(r.errs, e)
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)`)

// endingReader reads until its context ends: YAML is parsed as it is read, so that this ends parsing.
type endingReader struct {
	ctx context.Context
	r   io.Reader
}

func (e endingReader) Read(b []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	return e.r.Read(b)
}

// document parses the one YAML document of a file; nil after a syntax error, and where ctx has ended.
func (r *reader) document(ctx context.Context, text []byte) *yaml.Node {
	r.ctx = ctx
	if len(text) > maxFile {
		r.fail(nil, "", "the file has %d bytes; at most %d are read", len(text), maxFile)
		return nil
	}
	dec := yaml.NewDecoder(endingReader{ctx, bytes.NewReader(text)})
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		r.syntax(err)
		return nil
	}
	if dec.Decode(&more) == nil {
		r.fail(&more, "", "a second YAML document; expected one, remove the line ---")
	}
	if len(doc.Content) == 0 {
		r.fail(nil, "", "the file is empty")
		return nil
	}
	left := maxYAML
	if !r.bounded(doc.Content[0], maxDepth, &left) {
		return nil
	}
	return doc.Content[0]
}

// Limits of a document beyond its size: what is read is a few levels deep, and aliases repeat what they name.
const (
	maxDepth = 32     // levels
	maxYAML  = 200000 // nodes, those behind an alias counted wherever it stands
)

// bounded reports whether a document may be walked, and reports where it goes too deep or becomes too large.
func (r *reader) bounded(n *yaml.Node, depth int, left *int) bool {
	at := n
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	*left--
	switch {
	case depth == 0:
		r.fail(at, "", "more than %d levels of lists, mappings and aliases", maxDepth)
		return false
	case *left < 0:
		r.fail(at, "", "more than %d values, those of aliases counted wherever one stands", maxYAML)
		return false
	}
	for _, c := range n.Content {
		if !r.bounded(c, depth-1, left) {
			return false
		}
	}
	return true
}

func (r *reader) syntax(err error) {
	if err.Error() == "EOF" {
		r.fail(nil, "", "the file is empty")
		return
	}
	m := yamlLine.FindStringSubmatch(strings.SplitN(err.Error(), "\n", 2)[0])
	e := &Error{File: r.file, Msg: "not valid YAML: " + m[2]}
	e.Line, _ = strconv.Atoi(m[1])
	r.errs = append(r.errs, e)
}

// deref follows an alias to its anchor.
func deref(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 8; i++ {
		n = n.Alias
	}
	return n
}

// kindOf names what stands there, for a message.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!null":
			return "nothing"
		case "!!int":
			return "the number " + n.Value
		case "!!float":
			return "the number " + n.Value
		case "!!bool":
			return n.Value
		}
		return strconv.Quote(clip(n.Value))
	}
	return "something else"
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

// open counts the parentheses that a plain scalar leaves open.
func open(n *yaml.Node) int {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return 0
	}
	return strings.Count(n.Value, "(") - strings.Count(n.Value, ")")
}

// rejoin undoes what YAML does to a call in a flow list: [ceil_div(S, TILE_M), H] has the elements
// "ceil_div(S" and "TILE_M)". Elements are joined while a parenthesis is open.
func rejoin(list []*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for _, n := range list {
		if k := len(out) - 1; k >= 0 && open(out[k]) > 0 && n.Kind == yaml.ScalarNode {
			out[k] = joined(out[k], n)
		} else {
			out = append(out, n)
		}
	}
	return out
}

func joined(a, b *yaml.Node) *yaml.Node {
	c := *a
	c.Value += ", " + b.Value
	c.Tag = "!!str"
	return &c
}

// pairs are a mapping's keys and values, calls in a flow mapping rejoined: {value: max(B, H)} has a key
// "H)" without value.
func pairs(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		last := len(out) - 1
		if n.Style&yaml.FlowStyle != 0 && last > 0 && open(out[last]) > 0 && k.Kind == yaml.ScalarNode &&
			v.Tag == "!!null" {
			out[last] = joined(out[last], k)
		} else {
			out = append(out, k, v)
		}
	}
	return out
}

// object is a mapping being read: its fields by name, and where it is.
type object struct {
	r    *reader
	node *yaml.Node
	path string
	sec  *schema.Section // its rows; nil for a mapping that is none of a manifest's sections
	vals map[string]*yaml.Node
	keys []string // in file order, duplicates dropped
}

// object reads a mapping whose keys must be among known; with none known every key is accepted. A node that
// is no mapping is reported and gives nil.
func (r *reader) object(n *yaml.Node, path string, known ...string) *object {
	at := n
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		r.fail(at, path, "expected a mapping, found %s", kindOf(n))
		return nil
	}
	o := &object{r: r, node: at, path: path, vals: map[string]*yaml.Node{}}
	content := pairs(n)
	for i := 0; i < len(content); i += 2 {
		k, v := content[i], content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			r.fail(k, path, "expected a name as key, found %s", kindOf(deref(k)))
		case o.vals[k.Value] != nil:
			r.fail(k, o.field(k.Value), "given twice (first on line %d); remove one", o.vals[k.Value].Line)
		case len(known) > 0 && !slices.Contains(known, k.Value):
			r.fail(k, o.field(k.Value), "unknown key%s", suggest(k.Value, known))
		default:
			o.vals[k.Value] = v
			o.keys = append(o.keys, k.Value)
		}
	}
	return o
}

// section reads a mapping whose keys are a section's of the table, and reports those that are
// needed and missing.
func (r *reader) section(n *yaml.Node, path, name string) *object {
	s := schema.Of(name)
	known := s.Names()
	if s.Others != nil {
		known = nil
	}
	o := r.object(n, path, known...)
	if o == nil {
		return nil
	}
	o.sec = s
	o.need(s.Needed()...)
	return o
}

// value is what the table says of a key's value.
func (o *object) value(key string) schema.Value {
	if o.sec != nil {
		if k, ok := o.sec.Key(key); ok {
			return k.Value
		}
	}
	panic("BUG: the table of keys has no " + o.field(key))
}

func (o *object) field(key string) string {
	key = clip(key)
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (o *object) has(key string) bool { return o.vals[key] != nil }

// at returns the node to blame for a key: its value, or the mapping that lacks it.
func (o *object) at(key string) *yaml.Node {
	if v := o.vals[key]; v != nil {
		return v
	}
	return o.node
}

func (o *object) fail(key, format string, args ...any) {
	o.r.fail(o.at(key), o.field(key), format, args...)
}

// need reports the keys that are missing.
func (o *object) need(keys ...string) {
	for _, k := range keys {
		if !o.has(k) {
			o.fail(k, "missing; it is required")
		}
	}
}

// str reads a non-empty string, "" where it is absent or wrong.
func (o *object) str(key string) string {
	if !o.has(key) {
		return ""
	}
	return o.r.str(o.vals[key], o.field(key))
}

func (r *reader) str(at *yaml.Node, field string) string {
	n := deref(at)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		r.fail(at, field, "expected text, found %s", kindOf(n))
		return ""
	}
	return n.Value
}

// name reads a string that matches pattern.
func (o *object) name(key string, pattern *regexp.Regexp, what string) string {
	s := o.str(key)
	if s != "" && !pattern.MatchString(s) {
		o.fail(key, "%q is not %s", clip(s), what)
		return ""
	}
	return s
}

func (o *object) ident(key string) string {
	return o.name(key, identifier, "an identifier (letters, digits and _)")
}

// oneOf reads one of the words that the table has for a key; "" where absent or wrong.
func (o *object) oneOf(key string) string {
	if !o.has(key) {
		return ""
	}
	v := o.value(key)
	s, words := o.str(key), v.Choices()
	if s != "" && !slices.Contains(words, s) {
		o.fail(key, "%q is none of %s", clip(s), strings.Join(words, ", "))
		return ""
	}
	return s
}

// integer reads a whole number within the table's range; absent or wrong gives the table's
// default, 0 where it has none.
func (o *object) integer(key string) int {
	v := o.value(key)
	return o.integerIn(key, v.Lo, v.Hi, int(o.standard(key)))
}

// integerIn reads a whole number within [lo, hi]; absent gives def.
func (o *object) integerIn(key string, lo, hi, def int) int {
	if !o.has(key) {
		return def
	}
	return o.r.integer(o.vals[key], o.field(key), lo, hi, def)
}

// standard is a key's default where it is a number, else 0.
func (o *object) standard(key string) float64 {
	k, _ := o.sec.Key(key)
	v, _ := strconv.ParseFloat(k.Default, 64)
	return v
}

func (r *reader) integer(at *yaml.Node, field string, lo, hi, def int) int {
	n := deref(at)
	v, err := strconv.ParseInt(n.Value, 0, 64)
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!int" && leadingZero(n.Value):
		r.fail(at, field, "%s begins with 0, which is octal to some and decimal to others; write 0o17 or 17",
			clip(n.Value))
		return def
	case errors.Is(err, strconv.ErrRange):
		r.fail(at, field, "%s is out of range (%d to %d)", clip(n.Value), lo, hi)
		return def
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil:
		r.fail(at, field, "expected a whole number, found %s", kindOf(n))
		return def
	}
	if v < int64(lo) || v > int64(hi) {
		r.fail(at, field, "%d is out of range (%d to %d)", v, lo, hi)
		return def
	}
	return int(v)
}

// number reads a finite number within the table's range; absent or wrong gives the table's
// default, 0 where it has none.
func (o *object) number(key string) float64 {
	def := o.standard(key)
	if !o.has(key) {
		return def
	}
	n := deref(o.vals[key])
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" || err != nil ||
		math.IsInf(v, 0) || math.IsNaN(v) {
		o.fail(key, "expected a number, found %s", kindOf(n))
		return def
	}
	switch want := o.value(key); {
	case want.Above && v <= want.Min:
		o.fail(key, "expected a number above %v, found %v", want.Min, v)
		return def
	case v < want.Min:
		o.fail(key, "expected a number from %v on, found %v", want.Min, v)
		return def
	}
	return v
}

// truth reads true or false; absent gives false.
func (o *object) truth(key string) bool {
	if !o.has(key) {
		return false
	}
	n := deref(o.vals[key])
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		o.fail(key, "expected true or false, found %s", kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// list reads a sequence's elements; absent gives nil.
func (o *object) list(key string) []*yaml.Node {
	if !o.has(key) {
		return nil
	}
	n := deref(o.vals[key])
	if n.Kind != yaml.SequenceNode {
		o.fail(key, "expected a list, found %s", kindOf(n))
		return nil
	}
	if n.Style&yaml.FlowStyle != 0 {
		return rejoin(n.Content)
	}
	return n.Content
}

// strs reads a list of strings.
func (o *object) strs(key string) []string {
	var out []string
	for i, n := range o.list(key) {
		if s := o.r.str(n, fmt.Sprintf("%s[%d]", o.field(key), i)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// dtype reads an element type.
func (o *object) dtype(key string) probes.DType {
	s := o.str(key)
	if s == "" {
		return 0
	}
	t, err := probes.ParseDType(s)
	if err != nil {
		o.fail(key, "%v", err)
	}
	return t
}

// place returns where a key stands.
func (o *object) place(key string) place {
	n := o.at(key)
	return place{n.Line, n.Column, o.field(key)}
}

func (o *object) here() place { return place{o.node.Line, o.node.Column, o.path} }

// sub reads a nested mapping; nil where absent or wrong.
func (o *object) sub(key string, known ...string) *object {
	if !o.has(key) {
		return nil
	}
	return o.r.object(o.vals[key], o.field(key), known...)
}

// within reads a nested section; nil where absent or wrong.
func (o *object) within(key string) *object {
	if !o.has(key) {
		return nil
	}
	v := o.value(key)
	return o.r.section(o.vals[key], o.field(key), v.Nested())
}
