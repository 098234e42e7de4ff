package configs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tilescope/probes"
)

// TestManifestValuesAreTyped: a value that does not mean what its field needs is refused with
// file, line and field.
func TestManifestValuesAreTyped(t *testing.T) {
	for _, c := range []struct {
		old, new string
		line     int
		field    string
		says     string // "" where the manifest is right
	}{
		{"key: kv * BC", "key: 2 * BC", 12, "work.key", "for kv tiles 0 and 1"},
		// seen at the first run: the corners of the grid differ
		{"key: kv * BC", "key: min(kv, 1) * BC", 12, "work.key", ""},
		{"key: kv * BC", "key: true", 12, "work.key", "true or false; expected a number"},
		{"tiles: ceil_div(S, BC)", "tiles: 0", 12, "work.tiles", "at least 1"},
		{"tiles: ceil_div(S, BC)", "tiles: 0x4", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: 0b100", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: 0o4", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: 4.0", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: 40e-01", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: 010e-01", 12, "work.tiles", "begins with 0"},
		{"tiles: ceil_div(S, BC)", "tiles: 04", 12, "work.tiles", "begins with 0"},
		{"tiles: ceil_div(S, BC)", "tiles: S - 010", 12, "work.tiles", "begins with 0"},
		{"tiles: ceil_div(S, BC)", "tiles: true", 12, "work.tiles", "true or false; expected a number"},
		{"tiles: ceil_div(S, BC)", "tiles: S > 0", 12, "work.tiles", "true or false; expected a number"},
		{"tiles: ceil_div(S, BC)", "tiles: 'S > 0 ? 4 : 1'", 12, "", ""},
		{"tiles: ceil_div(S, BC)", "tiles: (S > 0) + 3", 12, "work.tiles", "+ takes numbers"},
		{"tiles: ceil_div(S, BC)", "tiles: max(S > 0, 3)", 12, "work.tiles", "max takes numbers"},
		{"tiles: ceil_div(S, BC)", "tiles: -(S > 0)", 12, "work.tiles", "- takes numbers"},
		{"tiles: ceil_div(S, BC)", "tiles: 'S > 0 ? 4 : false'", 12, "work.tiles", "one alternative of ?:"},
		{"tiles: ceil_div(S, BC)", "tiles: '(S > true) ? 4 : 1'", 12, "work.tiles", "> takes numbers"},
		{"tiles: ceil_div(S, BC)", "tiles: S / 60", 12, "work.tiles", "expected a whole number"},
		{"tiles: ceil_div(S, BC)", "tiles: 4.5", 12, "work.tiles", "expected a whole number"},
		{"tiles: ceil_div(S, BC)", "tiles: S ** 40", 12, "work.tiles", "does not fit 64 bits"},
		{"tiles: ceil_div(S, BC)", "tiles: '10.0 ** 300 * 10.0 ** 300 > 1 ? 4 : 1'", 12, "work.tiles",
			"not a finite number"},
		{"tiles: ceil_div(S, BC)", "tiles: 99999999999999999999", 12, "work.tiles", ""},
		{"tiles: ceil_div(S, BC)", "tiles: -1", 12, "work.tiles", "expected 0 to"},
		{"tiles: ceil_div(S, BC)", "tiles: [4]", 12, "work.tiles", "found a list"},
		{"BR: 32", "BR: true", 5, "constants.BR", "true or false"},
		{"BR: 32", "BR: 0x20", 5, "", ""},
		{"BR: 32", "BR: 32.5", 5, "constants.BR", "whole number"},
		{"BR: 32", "BR: 0x100000000", 5, "constants.BR", "expected -2147483648 to 2147483647"},
		{"block: [128, 1, 1]", "block: [128, 16, 1]", 6, "launch.block", "at most 1024"},
		{"block: [128, 1, 1]", "block: [0, 1, 1]", 6, "launch.block[0]", "expected 1 to 1024"},
		{"grid: [ceil_div(S, BR), H, B]", "grid: [1, 65536, 1]", 6, "launch.grid[1]", "expected 1 to 65535"},
		{"dims: [B, H, S, D], role: output, tensor: O}", "dims: [B, H, S], role: output, tensor: O}", 11,
			"args[3].dims", "elements"},
		{"name: O, dtype: f16", "name: O, dtype: u8", 18, "stages[2].dtype", "stage O is u8"},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, true, 64]", 19, "shapes.validation[2]",
			"found true"},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, 6.4, 64]", 19, "shapes.validation[2]",
			"found the number 6.4"},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, 064, 64]", 19, "shapes.validation[2]",
			"begins with 0"},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, -1, 64]", 19, "shapes.validation[2]",
			"out of range"},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, 99999999999999999999, 64]", 19,
			"shapes.validation[2]", ""},
		{"validation: [1, 2, 64, 64]", "validation: [1, 2, 1000000000, 64]", 19, "shapes.validation",
			"arguments would take"},
		{"shapes: {", "scale: 10.0 ** 39\nshapes: {", 19, "scale", "f32 cannot hold"},
	} {
		if !strings.Contains(usesManifest, c.old) {
			t.Fatalf("%q is not in the manifest", c.old)
		}
		m, err := ParseManifest("k.yaml", []byte(strings.Replace(usesManifest, c.old, c.new, 1)))
		if refused := c.says != "" || strings.Contains(c.new, "9999"); !refused {
			if err != nil {
				t.Errorf("%s: %v", c.new, err)
			}
			continue
		}
		var all *Errors
		if !errors.As(err, &all) || m != nil {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		if e := all.List[0]; e.Line != c.line || !strings.HasPrefix(e.Field, c.field) ||
			!strings.Contains(e.Msg, c.says) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

// TestKeysOfTilesDiffer: what only some blocks or tiles show is refused when the shape is resolved.
func TestKeysOfTilesDiffer(t *testing.T) {
	for key, want := range map[string]string{
		"min(kv, 1) * BC":        "is 16 for kv tiles 1 and 2",
		"bx == 1 ? BC : kv * BC": "is 16 for kv tiles 0 and 1 of block 1,0,0", "kv * BC + S": "",
		"kv * BC": "",
	} {
		m, err := ParseManifest("k.yaml",
			[]byte(strings.Replace(usesManifest, "key: kv * BC", `key: "`+key+`"`, 1)))
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		s, err := m.Select("", nil, nil, probes.GateNone)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Resolve(m.Shapes[0].Shape); (err == nil) != (want == "") ||
			want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestManifestLimits: documents that are small to write and large to read are refused in time.
func TestManifestLimits(t *testing.T) {
	aliases := "a: &a [x, x, x, x, x, x, x, x]\n"
	for i := byte('b'); i < 'k'; i++ {
		aliases += fmt.Sprintf("%c: &%c [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat("*"+string(i-1)+", ", 8), ", "))
	}
	long := strings.TrimSuffix(strings.Repeat("bx+", 240), "+")
	many := "shapes:\n"
	for i := range maxNames {
		many += fmt.Sprintf("  s%d: [1, 2, 64, 64]\n", i)
	}
	variants := "flags: [{name: F}]\nvariants:\n"
	for i := range maxNames {
		variants += fmt.Sprintf("  v%d: {}\n", i)
	}
	slow := ""
	for i := range 400 {
		slow += fmt.Sprintf(", C%d: %q", i, strings.TrimSuffix(strings.Repeat("1+", 240), "+"))
	}
	for name, c := range map[string]struct{ text, says string }{
		"lists in lists": {"x: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
			"more than 32 levels"},
		"mappings": {"x: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000),
			"more than 32 levels"},
		"deeper than YAML":   {"x: " + strings.Repeat("[", 50000), "not valid YAML"},
		"aliases":            {aliases, "those of aliases counted"},
		"an alias of itself": {"x: &a [*a]", "more than 32 levels"},
		"a long expression": {
			strings.Replace(usesManifest, "tiles: ceil_div(S, BC)", "tiles: "+strings.Repeat("1+", 600)+"1",
				1), "an expression of 1201 characters",
		},
		"many nodes": {
			strings.Replace(usesManifest, "tiles: ceil_div(S, BC)", "tiles: "+strings.Repeat("-", 600)+"1",
				1), "exceeds maximum allowed nodes",
		},
		"a large file": {"#" + strings.Repeat("x", maxFile), "at most 1048576 are read"},
		"many evaluations": {
			strings.Replace(strings.Replace(usesManifest, "BC: 16}", "BC: 16"+slow+"}", 1),
				"shapes: {validation: [1, 2, 64, 64]}\n", many+variants, 1), "steps to evaluate",
		},
		"many tiles": {
			strings.NewReplacer("key: kv * BC", "key: kv * BC + 0 * ("+long+")", "validation: [1, 2, 64, 64]",
				"validation: [1, 2, 64, 64]").Replace(usesManifest), "",
		},
	} {
		start := time.Now()
		_, err := ParseManifest("k.yaml", []byte(c.text))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.300v", name, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: refused after %s", name, took)
		}
	}
}

// TestManyMistakes: a file of mistakes gives the first of them and how many there are, not a text
// larger than itself.
func TestManyMistakes(t *testing.T) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "k%d: 1\n", i)
	}
	start := time.Now()
	_, err := ParseManifest("k.yaml", []byte(text.String()))
	var all *Errors
	if !errors.As(err, &all) || len(all.List) < 20000 {
		t.Fatalf("%T", err)
	}
	printed := err.Error()
	if more := fmt.Sprintf("\nand %d more mistakes",
		len(all.List)-maxPrinted); !strings.HasSuffix(printed, more) ||
		strings.Count(printed, "\n") != maxPrinted || len(printed) > 64<<10 {
		t.Errorf("%d bytes, ending in %q", len(printed), printed[len(printed)-60:])
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}
