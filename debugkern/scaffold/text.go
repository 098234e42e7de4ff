package scaffold

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// manifestText collects the lines of a manifest and what they leave open.
type manifestText struct {
	strings.Builder
	doc    *scaffolder
	rows   string       // constant: query rows of a block
	keys   string       // keys of a kv tile
	output probes.DType // type of O; 0 where no parameter is it
	result string       // the parameter that is
}

func (w *manifestText) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// open writes a line whose value is a guess.
func (w *manifestText) open(field, why, format string, args ...any) {
	w.doc.Unknown = append(w.doc.Unknown, field)
	w.line(format+"   # ? %s", append(args, why)...)
}

var constantName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// reserved are names that a constant cannot take.
var reserved = []string{"B", "H", "S", "D"}

// constants lists the integer constants that the compiler left in the module, and settles which
// are the tile's sides.
func (w *manifestText) constants(m *ptx.Module, v *view) {
	names := []string{}
	for _, c := range m.Vars {
		n := c.Demangled
		if _, twice := v.listed[n]; twice || c.Space == ptx.SpaceShared || len(c.Dims) > 0 ||
			len(c.Init) != 4 || c.Type.Float() ||
			!constantName.MatchString(n) || slices.Contains(reserved, n) {
			continue
		}
		v.listed[n] = int64(int32(binary.LittleEndian.Uint32(c.Init)))
		names = append(names, n)
	}
	pick := func(candidates ...string) string {
		for _, c := range candidates {
			if v.listed[c] > 0 {
				return c
			}
		}
		return ""
	}
	w.rows, w.keys = pick("TILE_M", "BR", "BLOCK_M", "BM"), pick("TILE_N", "BC", "BLOCK_N", "BN")
	w.line("\nconstants:")
	for _, n := range names {
		w.line("  %s: %d", n, v.listed[n])
	}
	for _, side := range []struct {
		name *string
		def  string
		why  string
	}{{&w.rows, "TILE_M", "query rows of a block"}, {&w.keys, "TILE_N", "keys of a kv tile"}} {
		if *side.name == "" {
			*side.name = side.def
			w.open("constants."+side.def, side.why, "  %s: 32", side.def)
		}
	}
	w.line("# requires:\n#   - {that: D == 64, say: \"the kernel is compiled for D = 64\"}")
}

func (w *manifestText) launch(f *ptx.Func) {
	w.line("\nlaunch:")
	w.open("launch.grid", "which block computes what is the caller's choice",
		"  grid: [ceil_div(S, %s), H, B]", w.rows)
	block, exact, bounded := f.BlockBound()
	if !bounded {
		block[0] = 128
	}
	text := fmt.Sprintf("  block: [%d, %d, %d]", max(1, block[0]), max(1, block[1]), max(1, block[2]))
	switch {
	case exact:
		w.line("%s", text)
	case bounded:
		w.open("launch.block", "the most that __launch_bounds__ allows", "%s", text)
	default:
		w.open("launch.block", "threads of a block", "%s", text)
	}
	if slices.ContainsFunc(w.doc.module.SharedLayout(f), func(s ptx.Symbol) bool { return s.Dynamic }) {
		w.open("launch.shared", "dynamic shared bytes that the caller asks for", "  shared: 49152")
	} else {
		w.line("  shared: 0")
	}
}

func (w *manifestText) args(list []meantParameter) {
	w.line("\n# name, type (* for a pointer), and for pointers the extent and what the host does with it.\nargs:")
	quantised := false
	for i, a := range list {
		field := fmt.Sprintf("args[%d]", i)
		switch {
		case !a.Pointer:
			role := ""
			if a.scale && a.Name != "softmax_scale" {
				role = ", role: scale"
			}
			text := fmt.Sprintf("  - {name: %s, type: %s, value: %s%s}", a.Name, a.DType, a.value, role)
			w.mark(a.why, field, text)
		case a.tensor == "":
			w.open(field, "which tensor is it, and how large?",
				"  - {name: %s, type: \"%s*\", dims: [B, H, S, D], role: scratch}", a.Name, a.DType)
		default:
			role, dims := "input", "[B, H, S, D]"
			if a.tensor == "O" {
				role, w.output, w.result = "output", a.DType, a.Name
			}
			if len(a.tensor) == 2 {
				dims = "[H]"
			}
			quantised = quantised || len(a.tensor) == 1 && role == "input" && !a.DType.Float()
			w.open(field, strings.TrimPrefix(a.why+"; its extents, and their order", "; "),
				"  - {name: %s, type: \"%s*\", dims: %s, role: %s, tensor: %s}", a.Name, a.DType, dims, role,
				a.tensor)
		}
	}
	if quantised {
		w.line("\n# How the host encodes the inputs: per head scale = absmax / max, byte = zero + round(x / scale / max * levels).")
		w.open("quantiser", "what the kernel decodes",
			"quantiser: {kind: sim-fp8, zero: 128, levels: 127, max: 448}")
	}
}

func (w *manifestText) mark(why, field, text string) {
	if why == "" {
		w.line("%s", text)
		return
	}
	w.open(field, why, "%s", text)
}

func (w *manifestText) work() {
	if w.output == 0 {
		return
	}
	w.line("\n# Which part of the problem a block (bx, by, bz) and a kv tile compute.\nwork:")
	for _, e := range [][2]string{
		{"batch", "bz"}, {"head", "by"}, {"query", "bx * " + w.rows}, {"key", "kv * " + w.keys},
		{"tiles", "ceil_div(S, " + w.keys + ")"},
	} {
		w.open("work."+e[0], "guessed", "  %s: %s", e[0], e[1])
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shared lists the static shared arrays: as the source declares them where that comes to the bytes that the
// PTX has, else as bytes where the PTX has no type.
func (w *manifestText) shared(symbols []ptx.Symbol, v *view) {
	seen, head := map[string]bool{}, false
	for _, s := range symbols {
		if s.Dynamic || s.Size == 0 || seen[s.Demangled] || !plainName.MatchString(s.Demangled) {
			continue
		}
		if seen[s.Demangled] = true; !head {
			head = true
			w.line("\n# PTX has an array's bytes, not its type and dimensions; the product must stay the same.\nshared:")
		}
		dtype, known := probes.U8, false
		switch s.Type {
		case ptx.F32:
			dtype, known = probes.F32, true
		case ptx.F64:
			dtype, known = probes.F64, true
		}
		text := fmt.Sprintf("  - {name: %s, type: %s, dims: [%d]}", s.Demangled, dtype, s.Size/dtype.Size())
		if a := v.sharedArray(s.Demangled, s.Size); a != nil && len(a.sides) > 0 {
			text, known = fmt.Sprintf("  - {name: %s, type: %s, dims: [%s]}", s.Demangled, a.dtype,
				strings.Join(a.sides, ", ")), true
		}
		if known {
			w.line("%s", text)
		} else {
			w.open("shared."+s.Demangled, "type and dimensions", "%s", text)
		}
	}
}

// tail writes what a manifest has besides: one variant, the output as the only stage judged, shapes, limits.
func (w *manifestText) tail(name string) {
	w.line("\n# flags:\n#   - {name: USE_SOMETHING, help: \"a preprocessor symbol of the source\"}\nvariants:\n  %s: {}\ndefault: %s\ngates: []",
		name, name)
	if w.output == 0 {
		w.line("\n# No parameter looks like the output O: name one (role: output, tensor: O) and add work, stages and shapes to judge it.")
	} else {
		w.line("\n# Only the output is judged so far. A stage seen in a shared array, once it has its type and dimensions (docs/own-kernel.md has\n"+
			"# all of S, m, l, P, U):\n"+
			"#   - {name: S, dtype: f32, dims: [%[1]s, %[2]s], valid: [min(%[1]s, S - bx * %[1]s), min(%[2]s, S - kv * %[2]s)], per: tile,\n"+
			"#      compute: {unit: tensor, acc: f32, block: 16}, array: sS, capture: {shared: sS, at: {line: L}, tile_at: {line: L}}}\nstages:",
			w.rows, w.keys)
		w.line("  - {name: P, dtype: f16, dims: [%[1]s, %[2]s], valid: [min(%[1]s, S - bx * %[1]s), %[2]s], per: tile, capture: none}   # only for the tile's dimensions",
			w.rows, w.keys)
		w.line("  - {name: O, dtype: %s, dims: [%s, D], valid: [min(%s, S - bx * %s), D], per: block, capture: {output: %s}}",
			w.output, w.rows, w.rows, w.rows, w.result)
	}
	w.line("\nshapes:   # B, H, S, D")
	w.open("shapes", "does the kernel take D = 64?", "  validation: [1, 4, 128, 64]")
	w.line("  small: [1, 2, 32, 64]\n\nthresholds:")
	w.open("thresholds.output", "the error of the output that you accept",
		"  output: {max_abs: 0.06, mean_abs: 0.02, bad_fraction: 0.01}")
}
