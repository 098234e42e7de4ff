package configs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"tilescope/probes"
)

const structManifest = `schema: tilescope.kernel/1
name: plain
source: plain.cu
entry: plain
launch: {grid: [4, 1, 1], block: [64, 1, 1]}
args:
  - name: x
    type: struct{40}
    fields:
      - {at: 0, type: "f32*", dims: [N, 3], role: input, tensor: X}
      - {at: 8, name: count, type: "i32*", dims: [N], role: inout, fill: zeros}
      - {at: 16, type: i32, value: N}
      - {at: 20, type: i64, value: 3 * N}
      - {at: 36, type: f32, value: 0.5}
  - {name: out, type: "f32*", dims: [N], role: output}
shapes: {small: {N: 5}}
`

// TestStruct: a struct's numbers are its bytes, its pointers arguments behind all parameters, with
// their places in it.
func TestStruct(t *testing.T) {
	m, err := ParseManifest("plain.yaml", []byte(structManifest))
	if err != nil {
		t.Fatal(err)
	}
	sel, err := m.Select("", nil, nil, probes.GateNone)
	if err != nil {
		t.Fatal(err)
	}
	shape, _ := m.Shape("small")
	p, err := sel.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 40)
	binary.LittleEndian.PutUint32(want[16:], 5)
	binary.LittleEndian.PutUint64(want[20:], 15)
	binary.LittleEndian.PutUint32(want[36:], math.Float32bits(0.5))
	if !bytes.Equal(p.Args[0].Data, want) || p.Args[0].Pointer || p.Args[0].Bytes(8) != 40 {
		t.Errorf("%+v", p.Args[0])
	}
	var got []string
	for _, a := range p.Args {
		got = append(got, fmt.Sprintf("%s %v %v", a.Name, a.Dims, a.Into))
	}
	if s := strings.Join(got, " "); s != "x [] [] out [5] [] x+0 [5 3] [{0 0 0}] count [5] [{0 8 0}]" {
		t.Errorf("arguments %s", s)
	}
	if n := len(p.Parameters()); n != 2 {
		t.Errorf("%d parameters", n)
	}
	if in := p.Input("X"); in == nil || in.Arg != 2 {
		t.Errorf("input %+v", in)
	}
}

// TestStructMistakes: each is an error at its field.
func TestStructMistakes(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"struct{40}", "struct{0}", "args[0].type: struct{0}: expected the struct's bytes"},
		{"struct{40}", "struct{lots}", "args[0].type: struct{lots}: expected the struct's bytes"},
		{"struct{40}", "struct{36}", "args[0].fields[4].at"},
		{"    fields:", "    strides: [1]\n    fields:", "args[0].strides: a struct has fields only"},
		{"    fields:", "    reference: none\n    fields:", "args[0].reference: a struct has fields only"},
		{"at: 16", "at: 12", "args[0].fields[2].at: byte 12 belongs to the field at byte 8 already"},
		{"at: 36", "at: 38", "args[0].fields[4].at: 4 bytes at byte 38 do not fit a struct of 40 bytes"},
		{"name: count, ", "name: out, ", "a second argument named out"},
		{"    fields:", "    value: 3\n    fields:", "args[0].value: a struct has fields only"},
		{"type: i32, value: N", "type: i32", "args[0].fields[2].value: missing"},
		{"{at: 16,", "{", "args[0].fields[2].at: missing"},
		{"role: output}", "role: output, fields: []}", "args[1].fields: only a struct has fields"},
		{"type: i32, value", "type: \"struct{4}\", value", "args[0].fields[2].type"},
	} {
		text := strings.Replace(structManifest, c.from, c.to, 1)
		if c.from == "name: count, " {
			text = strings.Replace(text, "- {name: out,", "- {name: last,", 1)
			text = strings.Replace(text, "{at: 0,", "{at: 0, name: out,", 1)
		}
		if _, err := ParseManifest("plain.yaml", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.to, err, c.want)
		}
	}
}
