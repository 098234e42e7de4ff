//go:build unix

package attack

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// manifestCases are manifests that are wrong in one place: refused with file and line, and nothing runs.
func manifestCases(g *good) (all []attack) {
	refuse := func(name, text, says string) {
		all = append(all, attack{
			name: name, args: []string{"run", "k.yaml", "--shape", "small"}, files: g.kernel(text, g.ptx),
			codes: []int{2}, says: says,
		})
	}
	for name, text := range changedNodes(g.manifest) {
		refuse(name, text, "k.yaml:")
	}
	for name, text := range brokenYAML(g.manifest) {
		refuse(name, text, "k.yaml")
	}
	for _, r := range replacements {
		text := strings.Replace(g.manifest, r.old, r.new, 1)
		if text == g.manifest {
			panic("BUG: the manifest has no " + r.old)
		}
		refuse(r.name, text, r.says)
	}
	// a condition that is a number holds if it is not 0
	number := strings.Replace(g.manifest, "that: D == HEAD_DIM", "that: D", 1)
	return append(all, attack{
		name: "a requirement that is a number", args: []string{"run", "k.yaml", "--shape", "small"},
		files: g.kernel(number, g.ptx), codes: []int{0},
	})
}

// changedNodes changes each node of a manifest against its type: a list or mapping becomes a word, a word a
// mapping, and each mapping gets a key that does not exist and one that it has already.
func changedNodes(text string) map[string]string {
	out := map[string]string{}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		panic(fmt.Sprintf("BUG: the manifest: %v", err))
	}
	write := func(name string) {
		var b bytes.Buffer
		e := yaml.NewEncoder(&b)
		if err := e.Encode(&root); err != nil {
			panic(fmt.Sprintf("BUG: the manifest: %v", err))
		}
		out[name] = b.String()
	}
	free := map[string]bool{"constants": true, "shapes": true} // their keys are the author's own names
	var visit func(n *yaml.Node, path string)
	visit = func(n *yaml.Node, path string) {
		was := *n
		swap := func(name string, to yaml.Node) { *n = to; write(path + " " + name); *n = was }
		word := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		switch n.Kind {
		case yaml.ScalarNode:
			swap("becomes a mapping", yaml.Node{
				Kind: yaml.MappingNode,
				Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: "nosuch"}, {Kind: yaml.ScalarNode, Value: "1"},
				},
			})
			if strings.HasSuffix(path, ".dtype") || strings.HasSuffix(path, ".type") ||
				strings.HasSuffix(path, ".role") || strings.HasSuffix(path, ".per") ||
				strings.HasSuffix(path, ".capture") {
				swap("becomes another word", yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "nosuch"})
			}
		case yaml.SequenceNode:
			swap("becomes a word", word)
		case yaml.MappingNode:
			if path != "" {
				swap("becomes a word", word)
			}
			if key := strings.TrimPrefix(path, "."); !free[key] {
				n.Content = append(n.Content[:len(n.Content):len(n.Content)],
					&yaml.Node{Kind: yaml.ScalarNode, Value: "nosuch"}, &yaml.Node{
						Kind: yaml.ScalarNode, Value: "1",
					})
				write(path + " has an unknown key")
				*n = was
			}
			n.Content = append(n.Content[:len(n.Content):len(n.Content)], n.Content[0], n.Content[1])
			write(path + " has a key twice")
			*n = was
			for i := 0; i+1 < len(n.Content); i += 2 {
				visit(n.Content[i+1], path+"."+n.Content[i].Value)
			}
			return
		}
		for i, c := range n.Content {
			if i < 2 || len(n.Content) > 8 && i == len(n.Content)-1 { // more of the same kind say nothing new
				visit(c, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	visit(root.Content[0], "")
	for _, optional := range []string{".title becomes a mapping"} {
		if _, ok := out[optional]; !ok {
			panic("BUG: no case " + optional)
		}
	}
	return out
}

// brokenYAML are texts that no parser should follow to the end.
func brokenYAML(text string) map[string]string {
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	return map[string]string{
		"empty": "", "of blanks": strings.Repeat(" \n", 1000), "a word": "hello", "a list": "- 1\n- 2\n",
		"null": "null", "two documents": text + "\n---\n" + text, "aliases that grow to 10^11": text + laughs,
		"an alias of itself": text + "x: &x [*x]\n", "an alias of nothing": text + "x: *nothing\n",
		"100,000 brackets":   text + "x: " + strings.Repeat("[", 100_000),
		"100,000 mappings":   text + "x: " + strings.Repeat("{a: ", 100_000),
		"100,000 lines deep": deep(100_000), "NUL": text + "\x00",
		"control characters": text + "x: \x1b]0;t\a\n", "no UTF-8": text + "x: \xff\xfe\n",
		"UTF-16": "\xff\xfes\x00c\x00h\x00e\x00m\x00a\x00", "tabs": strings.ReplaceAll(text, "  ", "\t"),
		"a tag":    text + "x: !!python/object/apply:os.system [true]\n",
		"a binary": text + "x: !!binary aGVsbG8=\n", "a merge": text + "<<: {nosuch: 1}\n",
		"8 MB of text":  text + "# " + strings.Repeat("x", 8<<20) + "\nnosuch: 1\n",
		"a key of 1 MB": text + strings.Repeat("k", 1<<20) + ": 1\n",
		"100,000 keys":  text + manyKeys(100_000), "cut in the middle": text[:len(text)/2] + "\n  - [",
		"a schema of tomorrow": strings.Replace(text, "kernel/1", "kernel/9", 1),
		"no schema":            strings.Replace(text, "schema:", "# schema:", 1),
		"PTX":                  ".version 8.0\n.target sm_80\n",
		"JSON":                 `{"schema": "tilescope.kernel/1", "nosuch": 1}`,
		"HTML":                 "<!doctype html><script>1</script>",
		"a complex key":        text + "? [a, b]\n: c\n", "an archive": "PK\x03\x04\x00\x00",
		"an ELF": "\x7fELF\x02\x01\x01\x00", "a gzip": "\x1f\x8b\x08\x00",
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range min(n, 2000) {
		fmt.Fprintf(&b, "%s- \n", strings.Repeat(" ", i))
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

// replacement is one change of the good manifest's text, and what the error must contain.
type replacement struct{ name, old, new, says string }

var replacements = []replacement{
	{"a key that does not follow the tile", "key: kv * TILE_N", "key: 2 * TILE_N", "k.yaml:"},
	{"tiles is a truth", "tiles: ceil_div(S, TILE_N)", "tiles: true", "tiles"},
	{"tiles is 0", "tiles: ceil_div(S, TILE_N)", "tiles: 0", "tiles"},
	{"tiles is negative", "tiles: ceil_div(S, TILE_N)", "tiles: -3", "tiles"},
	{"tiles is no whole number", "tiles: ceil_div(S, TILE_N)", "tiles: 1.5", "tiles"},
	{"tiles is text", "tiles: ceil_div(S, TILE_N)", `tiles: "'a'"`, "tiles"},
	{"tiles is 10^12", "tiles: ceil_div(S, TILE_N)", "tiles: 1000000000000", "k.yaml:33: work.tiles"},
	{
		"an output of three dims",
		"dtype: f16\n    dims: [TILE_M, HEAD_DIM]\n    valid: [min(TILE_M, S - bx * TILE_M), HEAD_DIM]\n    per: block\n    from: [U, l]",
		"dtype: f16\n    dims: [TILE_M, HEAD_DIM, 2]\n    valid: [min(TILE_M, S - bx * TILE_M), HEAD_DIM, 2]\n    per: block\n    from: [U, l]",
		"k.yaml:",
	},
	{"an argument of no dims", "{name: O, type: \"f16*\", dims: [B, H, S, D], role: output, tensor: O}",
		"{name: O, type: \"f16*\", dims: [], role: output, tensor: O}", "k.yaml:"},
	{"an argument of another rank", "{name: Q, type: \"f16*\", dims: [B, H, S, D]",
		"{name: Q, type: \"f16*\", dims: [B, H, S]", "k.yaml:"},
	{"an argument of negative dims", "{name: Q, type: \"f16*\", dims: [B, H, S, D]",
		"{name: Q, type: \"f16*\", dims: [B, H, -S, D]", "k.yaml:"},
	{"a constant that is text", "TILE_M: 32", "TILE_M: x", "k.yaml:"},
	{"a constant too large", "TILE_M: 32", "TILE_M: 99999999999999999999", "k.yaml:"},
	{"a grid of two", "grid: [ceil_div(S, TILE_M), H, B]", "grid: [1, 1]", "k.yaml:"},
	{"a grid of 0", "grid: [ceil_div(S, TILE_M), H, B]", "grid: [0, 1, 1]", "grid"},
	{"a grid of -1", "grid: [ceil_div(S, TILE_M), H, B]", "grid: [-1, 1, 1]", "grid"},
	{"a grid of 2^40", "grid: [ceil_div(S, TILE_M), H, B]", "grid: [1099511627776, 1, 1]", "grid"},
	{"a grid that overflows", "grid: [ceil_div(S, TILE_M), H, B]", "grid: [2147483647, 65535, 65535]",
		"k.yaml:29: work.batch"},
	{"a block of 0", "block: [32 * WARPS, 1, 1]", "block: [0, 1, 1]", "block"},
	{"a block of 2048", "block: [32 * WARPS, 1, 1]", "block: [2048, 1, 1]", "block"},
	{"negative shared memory", "shared: 0", "shared: -1", "shared"},
	{"shared memory of 1 TB", "shared: 0", "shared: 1099511627776", "shared"},
	{"an entry of control characters", "entry: flashcore_vec", `entry: "\e]0;x\a"`, "k.yaml:"},
	{"PTX that is an environment", "ptx: k.ptx", "ptx: /proc/self/environ", "environ"},
	{"PTX that is a memory", "ptx: k.ptx", "ptx: /dev/zero", "zero"},
	{"PTX that is not there", "ptx: k.ptx", "ptx: nosuch.ptx", "nosuch.ptx"},
	{"PTX and a source", "ptx: k.ptx", "ptx: k.ptx\nsource: k.cu", "k.yaml:"},
	{"neither PTX nor a source", "ptx: k.ptx", "", "k.yaml:"},
	{"a stage twice", "name: K\n", "name: Q\n", "k.yaml:"},
	{"a stage from nothing", "from: [Q, K]", "from: [Q, nosuch]", "nosuch"},
	{"a stage from itself alone", "from: [Q, K]", "from: [S, S]", "k.yaml:"},
	{"an array that is not there", "array: sQ", "array: nosuch", "nosuch"},
	{"valid of another rank", "valid: [min(TILE_M, S - bx * TILE_M), HEAD_DIM]", "valid: [1]", "k.yaml:"},
	{"a stage of dims 0", "dims: [TILE_M, HEAD_DIM]\n    valid", "dims: [0, HEAD_DIM]\n    valid", "k.yaml:"},
	{"a stage of dims 10^9", "dims: [TILE_M, HEAD_DIM]\n    valid", "dims: [1000000000, HEAD_DIM]\n    valid",
		"k.yaml:66: stages[0].dims[0]"},
	{"a shape of three", "small: [1, 1, 32, 64]", "small: [1, 1, 32]", "k.yaml:"},
	{"a shape of 0", "small: [1, 1, 32, 64]", "small: [1, 0, 32, 64]", "small"},
	{"a shape of -1", "small: [1, 1, 32, 64]", "small: [1, 1, -32, 64]", "small"},
	{"a shape of 10^9", "small: [1, 1, 32, 64]", "small: [1, 1, 1000000000, 64]", "k.yaml:145: shapes.small"},
	{"a threshold that is text", "max_abs: 0.05", "max_abs: much", "k.yaml:"},
	{"a threshold that is NaN", "max_abs: 0.05", "max_abs: .nan", "k.yaml:"},
	{"a threshold that is negative", "max_abs: 0.05", "max_abs: -1", "k.yaml:"},
	{"a requirement that fails", "that: D == HEAD_DIM", "that: D == 63", "D = 64"},
	{"a gate twice", "  - name: softmax", "  - name: qk", "k.yaml:"},
	{"an unknown gate", "  - name: softmax", "  - nosuch\n  - name: softmax", "nosuch"},
	{"a batch beyond", "batch: bz", "batch: bz + 1", "work.batch"},
	{"an argument's value of another type", "value: 1 / sqrt(D)", "value: '\"x\"'", "k.yaml:"},
}

// expressionCases put expressions that cost time or memory, or are none, where a number is expected.
func expressionCases(g *good) (all []attack) {
	for name, e := range expressions {
		for place, old := range map[string]string{
			"tiles": "tiles: ceil_div(S, TILE_N)", "an argument": "value: 1 / sqrt(D)",
		} {
			text := strings.Replace(g.manifest, old, old[:strings.Index(old, ":")+1]+" "+yamlText(e), 1)
			if place == "an argument" {
				text = strings.Replace(g.manifest, "{name: S, type: i32, value: S}",
					"{name: S, type: i32, value: "+yamlText(e)+"}", 1)
			}
			all = append(all, attack{
				name: name + " for " + place, args: []string{"run", "k.yaml", "--shape", "small"},
				files: g.kernel(text, g.ptx), codes: []int{2}, says: "k.yaml:",
			})
		}
	}
	return all
}

var expressions = map[string]string{
	"nothing": "", "half": "1 +", "a division by zero": "1 / 0", "a remainder of zero": "1 % 0",
	"a logarithm of nothing": "log2(0)",
	"100,000 brackets":       strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
	"100,000 sums":           "1" + strings.Repeat("+1", 100_000),
	"100,000 minus signs":    strings.Repeat("-", 100_000) + "1", "a tower of powers": "9 ** 9 ** 9 ** 9",
	"an overflow": "9223372036854775807 + 1", "a product that overflows": "4294967296 * 4294967296",
	"a loop of 10^9": "reduce(1..1000000000, #acc + #)", "a map of 10^9": "len(map(1..1000000000, # * 2))",
	"a range of 10^12": "len(1..1000000000000)",
	"nested loops":     "len(filter(1..100000, all(1..100000, # > 0)))",
	"a string of 10^9": "len(repeat('x', 1000000000))", "a name that is not there": "nosuch",
	"a name of control characters": "\x1b[31m", "a call of nothing": "nosuch(1)",
	"too many arguments": "min(1, 2, 3, 4) + ceil_div(1, 2, 3)", "an environment": "$env",
	"a method": "S.String()", "text": "'x'", "a list": "[1, 2]", "a closure": "all([1], {# > 0})",
	"now": "now()", "a date": "date('2020-01-01')", "JSON": "fromJSON('1')", "a comparison": "S == 32",
	"infinity": "1e308 * 10", "NaN": "sqrt(-1)", "a truth": "true", "nil": "nil", "a let": "let x = 1; x",
	"a comment": "/* ", "a ternary": "true ? 1", "a NUL": "1\x00",
}
