//go:build unix

package cli

import (
	"archive/zip"
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/npy/npytest"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// TestReferenceInPart: of an output that is compared with an array, a trial of one block judges the cells
// that this block writes, and no others.
func TestReferenceInPart(t *testing.T) {
	f := newTwice(t)
	f.archive("wrong.npz", f.wrong("y"), f.goodC())
	path := f.manifest("k.yaml", ", reference: {npz: wrong.npz}", "", "")
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run, err := s.Run(t.Context(), debugkern.Request{Target: path, Backend: "emu"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if y := run.Report.Stage("y"); len(run.Blocks()) != 2 || y.Local.Cells != 64 || y.Local.Bad != 1 {
		t.Fatalf("%d blocks, %+v", len(run.Blocks()), y)
	}
	for i, block := range run.Blocks() {
		one, err := run.Try(t.Context(), debugkern.Trial{Blocks: []probes.Dim3{block}, Tiles: true})
		if err != nil {
			t.Fatal(err)
		}
		y := one.Report.Stage("y")
		if bad := []int{1, 0}[i]; y.Local.Cells != 32 || y.Local.Bad != bad || y.NotCaptured > 0 {
			t.Errorf("block %s: %d of %d cells wrong, %d not captured; expected %d of 32", block, y.Local.Bad,
				y.Local.Cells, y.NotCaptured, bad)
		}
	}
}

// TestReferenceOfOutputs: outputs of a kernel without stages are compared with an archive, a command's answer
// and another kernel, and a run that agrees says so; a wrong element is named with who wrote it.
func TestReferenceOfOutputs(t *testing.T) {
	f := newTwice(t)
	f.archive("wrong.npz", f.wrong("y"), f.goodC())
	f.put("copy.sh",
		[]byte("echo \"computing $1\" >&2; echo 'on standard output'; test -s \"$1\" && cp \"$(dirname \"$0\")/$2\" \"$4\"\n"))
	f.put("args.sh",
		[]byte("cp \"$1\" \"$(dirname \"$0\")/given.npz\"; cp \"$(dirname \"$0\")/good.npz\" \"$2\"\n"))
	f.manifest("naive.yaml", "", "", "")
	f.put("half.yaml", []byte(strings.Replace(f.text, "grid: [2, 1, 1], block: [32, 1, 1]",
		"grid: [1, 1, 1], block: [64, 1, 1]", 1)))
	for name, c := range map[string]struct{ y, c, top, says string }{
		"archive": {", reference: {npz: good.npz}", ", reference: {npz: good.npz}", "",
			"compared with good.npz, rtol 1.3e-06, atol 1e-05"},
		"one of them": {", reference: {npz: good.npz}", "", "", "c i32[64]"},
		"exact":       {", reference: {npz: good.npz}, tolerance: {atol: 0}", "", "", "rtol 0, atol 0"},
		"command": {", reference: {command: [./copy.sh, a, good.npz]}", "", "",
			"compared with ./copy.sh a good.npz"},
		"kernel": {", reference: {kernel: naive.yaml}", ", reference: {kernel: naive.yaml}", "",
			"compared with naive.yaml"},
		"other tiling":  {", reference: {kernel: half.yaml}", "", "", "compared with half.yaml"},
		"another array": {", reference: {kernel: naive.yaml, array: y}", "", "", "naive.yaml"},
		"by name": {", reference: mine", ", reference: mine", "references: {mine: {npz: good.npz}}\n",
			"good.npz"},
		"baseline": {", reference: {npz: good.npz}, tolerance: {baseline: bad, factor: 1.5}", "",
			"references: {bad: {npz: wrong.npz}}\n", "1.5 × bad (1)"},
	} {
		if name == "command" {
			f.put("copy.sh",
				[]byte("#!/bin/sh\necho \"computing\" >&2; echo 'on standard output'; test -s \"$3\" && cp \"$2\" \"$4\"\n"))
		}
		path := f.manifest("k.yaml", c.y, c.c, c.top)
		out, errText, code := call(t, "run", path, "--backend", "emu", "--trust")
		if code != 0 || !strings.Contains(out, ": agree\n") || !strings.Contains(out, c.says) ||
			strings.Contains(out, "no error was found") {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errText)
		}
		if name == "command" && (!strings.Contains(errText, "tilescope: reference: computing\n") ||
			!strings.Contains(errText, "reference: on standard output\n")) {
			t.Errorf("%s: what it prints is not shown: %s", name, errText)
		}
		rep, code, _ := runJSON(t, "run", path, "--backend", "emu", "--trust")
		y := rep.Stage("y")
		if code != 0 || rep.Verdict != report.Agree || y.Verdict != report.OK || y.Local.Cells != 64 ||
			y.Argument != "y" || y.Tolerance == nil || y.Reference.Kind == report.NoReference {
			t.Errorf("%s: exit %d: %+v", name, code, y)
		}
		if st := rep.Stage("c"); (c.c != "") != (st.Verdict == report.OK) || c.c == "" &&
			!st.Reference.None() {
			t.Errorf("%s: c is %+v", name, st)
		}
	}
	path := f.manifest("k.yaml", ", reference: {npz: wrong.npz}", "", "")
	out, _, code := call(t, "run", path, "--backend", "emu")
	for _, want := range []string{": diverges: y is wrong\n", "y is wrong: 1 of 64 elements over their bound",
		"y[1,1]: got ", "stored at twice.cu:3 by block 0,0,0 warp 0 lane 17"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q: %s", code, want, out)
		}
	}
	rep, code, _ := runJSON(t, "run", path, "--backend", "emu")
	y := rep.Stage("y")
	if b := y.FirstBad; code != 1 || rep.Verdict != report.Diverge || y.Verdict != report.Wrong || b == nil ||
		!slices.Equal(b.Index, []int{1, 1}) || b.KVTile != -1 || *b.Lane != 17 ||
		math.Abs(float64(b.Want)-f.y[17]-1) > 1e-12 || len(rep.Guilty) != 1 || rep.Guilty[0].Stage != "y" {
		t.Errorf("exit %d: %+v, %+v, guilty %+v", code, y, b, rep.Guilty)
	}
	out, _, code = call(t, "diagnose", path, "--schedules", "2")
	if code != 1 || !strings.Contains(out, "y") || strings.Contains(out, "no reference") {
		t.Errorf("diagnose: exit %d: %s", code, out)
	}
	// What a command is given: the arguments by name, as the kernel gets them.
	path = f.manifest("k.yaml", ", reference: {command: [sh, args.sh]}", "", "")
	if _, errText, code := call(t, "run", path, "--backend", "emu", "--trust", "--seed", "0"); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	if got := floats(t, f.path("given.npz"), "x"); !slices.Equal(got, f.x) {
		t.Errorf("x is %v, want %v", got[:4], f.x[:4])
	}
	if got := members(t, f.path("given.npz")); !slices.Equal(got, []string{"x.npy", "c.npy"}) {
		t.Errorf("the command is given %v", got)
	}
	// And what a dump has of it.
	dump := f.path("out.npz")
	if _, errText, code := call(t, "run", f.manifest("k.yaml", ", reference: {npz: good.npz}", "", ""),
		"--dump", dump); code != 0 || !slices.Contains(members(t, dump), "ref_y.npy") {
		t.Errorf("exit %d: %s: %v", code, errText, members(t, dump))
	}
}

// TestReferenceOfStrides: an output whose elements lie apart in memory is compared by its indices, with an
// archive and with a kernel whose output lies otherwise, and a wrong element is named with who wrote it.
func TestReferenceOfStrides(t *testing.T) {
	f := newTwice(t)
	var across, wrong []float64 // y by column
	for j := range 16 {
		for i := range 4 {
			across = append(across, f.y[16*i+j])
		}
	}
	wrong = slices.Clone(across)
	wrong[4*1+2]++ // where memory has element 33, of the second block's lane 1
	f.archive("good.npz", npytest.Floats("y", npy.F64, []int{16, 4}, across...))
	f.archive("wrong.npz", npytest.Floats("y", npy.F64, []int{16, 4}, wrong...))
	strided := strings.Replace(f.text, `name: y, type: "f32*", dims: [4, 16]`,
		`name: y, type: "f32*", dims: [16, 4], strides: [1, 16]`, 1)
	if strided == f.text {
		t.Fatal("the manifest has no such output")
	}
	f.put("strided.yaml", []byte(strided))
	for name, c := range map[string]struct {
		reference string
		code      int
		says      []string
	}{
		"archive": {"{npz: good.npz}", 0, []string{": agree\n"}},
		"kernel":  {"{kernel: strided.yaml}", 0, []string{": agree\n"}},
		"wrong": {"{npz: wrong.npz}", 1, []string{"1 of 64 elements over their bound", "y[1,2]: got ",
			" by block 1,0,0 warp 0 lane 1\n"}},
	} {
		f.put("k.yaml",
			[]byte(strings.Replace(strided, "role: output}", "role: output, reference: "+c.reference+"}", 1)))
		out, errText, code := call(t, "run", f.path("k.yaml"), "--backend", "emu")
		for _, want := range c.says {
			if code != c.code || !strings.Contains(out, want) {
				t.Errorf("%s: exit %d, no %q: %s%s", name, code, want, out, errText)
			}
		}
	}
	// A dump has it by its indices; of one that is compared with nothing, the memory as it lies.
	f.put("k.yaml",
		[]byte(strings.Replace(strided, "role: output}", "role: output, reference: {npz: good.npz}}", 1)))
	for name, want := range map[string][]float64{"k.yaml": across, "strided.yaml": f.y} {
		dump := f.path("strided.npz")
		if _, errText, code := call(t, "run", f.path(name), "--backend", "emu", "--dump", dump); code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, errText)
		}
		if got := floats(t, dump, "y"); !slices.Equal(got, want) {
			t.Errorf("the dump of %s has y %v, want %v", name, got[:8], want[:8])
		}
	}
}

// members lists the members of an archive.
func members(t *testing.T, path string) []string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var out []string
	for _, f := range z.File {
		out = append(out, f.Name)
	}
	return out
}

// stages makes a stage of the kernel's y, two rows a block, with keys added to it, and to argument c.
func (f *twice) stages(name, stage, c string, edits ...string) string {
	f.t.Helper()
	path := f.manifest(name, "", c, "shapes: {validation: {N: 64}}\nwork: {row: bx * 2}\n")
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	more := "stages:\n  - {name: rows, axes: [row, col], dtype: f32, dims: [2, 16], valid: [2, 16], per: block, capture: {output: y, at: [row, 0], rows: 0, cols: 1}" +
		stage + "}\n"
	f.put(name, []byte(strings.NewReplacer(edits...).Replace(string(text)+more)))
	return path
}

// TestReferenceOfStages: a stage without an operator is compared with the whole of its argument, with its
// tiles, or with another kernel's, whatever that one's tiles; an output that no stage is cut out of is judged
// next to it.
func TestReferenceOfStages(t *testing.T) {
	f := newTwice(t)
	tiles := func(name string, arrays ...npytest.Array) { f.archive(name, arrays...) }
	tiles("tiles.npz", npytest.Floats("tile_rows", npy.F32, []int{2, 1, 2, 16}, f.y...))
	tiles("second.npz", npytest.Floats("tile_rows", npy.F32, []int{1, 1, 2, 16}, f.y[32:]...),
		npytest.Whole("blocks", npy.I32, []int{1, 3}, 1, 0, 0))
	tiles("wrong.npz", f.wrong("y"))
	tiles("nan.npz", npytest.Floats("y", npy.F64, []int{4, 16}, append([]float64{math.NaN()}, f.y[1:]...)...))
	turned := make([]float64, 64)
	for i := range turned {
		turned[i] = f.y[i^1]
	}
	tiles("turned.npz", npytest.Floats("y", npy.F64, []int{4, 16}, turned...))
	f.stages("same.yaml", "", "")
	f.stages("one.yaml", "", "", "grid: [2, 1, 1], block: [32, 1, 1]", "grid: [1, 1, 1], block: [64, 1, 1]",
		"dims: [2, 16], valid: [2, 16]", "dims: [4, 16], valid: [4, 16]", "bx * 2", "bx * 4")
	for name, c := range map[string]struct {
		stage, c, verdict string
		args              []string
		code              int
		says              string
	}{
		"the argument": {", reference: {npz: good.npz}", "", report.OK, nil, 0,
			"rows: compared with good.npz"},
		"tiles": {", reference: {npz: tiles.npz}, tolerance: {rtol: 0}", "", report.OK, nil,
			0, "rows: compared with tiles.npz, rtol 0"},
		"the same tiles": {", reference: {kernel: same.yaml}", "", report.OK, nil, 0, "same.yaml"},
		"other tiles":    {", reference: {kernel: one.yaml}", "", report.OK, nil, 0, "one.yaml"},
		"another output": {"", ", reference: {npz: good.npz}", report.Off, nil, 0,
			"c: compared with good.npz, rtol 0, atol 0"},
		"both": {", reference: {npz: good.npz}", ", reference: {kernel: same.yaml}",
			report.OK, nil, 0, "c: compared with same.yaml"},
		"one block": {", reference: {npz: second.npz}", "", report.OK,
			[]string{"--blocks", "1,0,0"}, 0, "second.npz"},
		"a block that is not": {", reference: {npz: second.npz}", "", "", nil, 2,
			"\"tile_rows\" has no tiles of block 0,0,0"},
		"a wrong element": {", reference: {npz: wrong.npz}", "", report.Wrong, nil, 1,
			"cell (1,1): got "},
		"columns exchanged": {", reference: {npz: turned.npz}", "", report.Wrong, nil, 1,
			"looks like permuted neighbouring columns exchanged"},
		"a cell that is NaN": {", reference: {npz: nan.npz}", "", report.Tainted, nil, 1, "tainted"},
		"a shape of its own": {", reference: {npz: tiles.npz, array: y}", "", "", nil, 2,
			"no array \"y\""},
		"derived of no operator": {", reference: {npz: good.npz}, tolerance: derived", "", "", nil, 2,
			"stages[0].tolerance: stage rows has no operator whose error could be derived"},
		"an unknown baseline": {", reference: graph, tolerance: {baseline: half}", "", "", nil, 2,
			"no reference named \"half\""},
		"an operator it has not": {", reference: graph", "", "", nil, 2,
			"stages[0].reference: stage rows has no operator that it could be compared with"},
		"a tolerance of nothing": {", tolerance: {rtol: 1}", "", "", nil, 2,
			"stages[0].tolerance: stage rows has no operator and no reference"},
		"its own tiles": {", reference: {kernel: k.yaml}", "", "", nil, 2, "k.yaml → k.yaml"},
	} {
		path := f.stages("k.yaml", c.stage, c.c)
		out, errText, code := call(t, append([]string{"run", path, "--backend", "emu"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errText, c.says) {
			t.Errorf("%s: exit %d, want %d with %q: %s%s", name, code, c.code, c.says, out, errText)
		}
		if c.code > 1 {
			continue
		}
		rep, _, _ := runJSON(t, append([]string{"run", path, "--backend", "emu"}, c.args...)...)
		if st := rep.Stage("rows"); st.Verdict != c.verdict || c.verdict == report.Wrong &&
			(*st.FirstBad.Warp != 0 || st.FirstBad.Source.Line != 3) {
			t.Errorf("%s: %+v", name, st)
		}
		if st := rep.Stage("c"); (st != nil) != (c.c != "") || st != nil &&
			(st.Verdict != report.OK || st.Argument != "c" || rep.Digest == "") {
			t.Errorf("%s: %+v", name, st)
		}
	}
	// The reference of an output is that of the stage that is cut out of it, and only one of them says so.
	path := f.stages("k.yaml", "", "", "role: output}", "role: output, reference: {npz: wrong.npz}}")
	if rep, code, _ := runJSON(t, "run", path, "--backend", "emu"); code != 1 ||
		rep.Stage("rows").Verdict != report.Wrong || len(rep.Stages) != 1 {
		t.Errorf("exit %d: %+v", code, rep.Stages)
	}
	path = f.stages("k.yaml", ", reference: {npz: good.npz}", "", "role: output}",
		"role: output, reference: {npz: wrong.npz}}")
	if _, errText, code := call(t, "run", path); code != 2 ||
		!strings.Contains(errText,
			"k.yaml:10: args[1].reference: stage rows, which is cut out of y, has a reference too") {
		t.Errorf("exit %d: %s", code, errText)
	}
	// What a run dumps is a reference of the next.
	dump := f.path("dumped.npz")
	if _, errText, code := call(t, "run", f.stages("k.yaml", ", reference: {npz: good.npz}",
		", reference: {npz: good.npz}"), "--dump", dump); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	if rep, code, errText := runJSON(t, "run", f.stages("k.yaml",
		", reference: {npz: dumped.npz, array: tile_rows}, tolerance: {rtol: 0}",
		", reference: {npz: dumped.npz}")); code != 0 || rep.Verdict != report.Agree {
		t.Errorf("exit %d: %s", code, errText)
	}
	out, _, code := call(t, "diagnose", f.stages("k.yaml", ", reference: {npz: wrong.npz}", ""),
		"--schedules", "2")
	if code != 1 || !strings.Contains(out, "rows") || strings.Contains(out, "no reference") {
		t.Errorf("diagnose: exit %d: %s", code, out)
	}
}

// TestReferenceBesideTheGraph: a stage with an operator and an array is judged locally by the graph and
// globally by the array.
func TestReferenceBesideTheGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dump := filepath.Join(dir, "clean.npz")
	if _, errText, code := call(t, "run", "stage2", "--shape", "small", "--backend", "emu", "--dump",
		dump); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	with := func(more string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, "- name: P\n") {
				t.Fatal("no stage P in the manifest")
			}
			return strings.ReplaceAll(s, "- name: P\n", "- name: P\n    "+more+"\n") // every build's
		}
	}
	clean, faulty := stage2PTX(t, "TS_PROBES=1"), faultyPTX(t, []string{"p-stale-m"}, "TS_PROBES=1")
	reference := "reference: {npz: \"" + dump + "\"}"
	for name, c := range map[string]struct {
		ptx                          []byte
		more, p, kind                string
		args                         []string
		localBad, globalBad, derived bool
	}{
		"clean": {clean, reference, report.OK, report.ByArchive, nil, false, false, true},
		"within nothing": {clean, reference + "\n    tolerance: {rtol: 0}", report.OK, report.ByArchive, nil,
			false, false, false},
		"graph, exactly": {clean, "tolerance: {rtol: 0}", report.Wrong, report.Graph, nil, true, true, false},
	} {
		path := ownManifest(t, c.ptx, with(c.more))
		rep, code, errText := runJSON(t, append([]string{"run", path, "--shape", "small", "--backend", "emu"},
			c.args...)...)
		st := rep.Stage("P")
		if code > 1 || st == nil {
			t.Errorf("%s: exit %d: %s", name, code, errText)
			continue
		}
		if st.Verdict != c.p || st.Reference.Kind != c.kind || (st.Local.Bad > 0) != c.localBad ||
			(st.Global.Bad > 0) != c.globalBad || st.Tolerance.Derived != c.derived {
			t.Errorf("%s: %s by %s, local %d, global %d, %s", name, st.Verdict, st.Reference, st.Local.Bad,
				st.Global.Bad, st.Tolerance)
		}
	}
	// A kernel whose P is wrong on a shape where that shows: wrong by its own S and m, and off from the
	// array.
	if _, errText, code := call(t, "run", "stage2", "--backend", "emu", "--dump", dump); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	rep, code, errText := runJSON(t, "run", ownManifest(t, faulty, with(reference)), "--backend", "emu")
	if st := rep.Stage("P"); code != 1 || st.Verdict != report.Wrong || st.Local.Bad == 0 ||
		st.Global.Bad == 0 || len(st.Fingerprints) == 0 {
		t.Errorf("exit %d: %+v %s", code, st, errText)
	}
	if _, errText, code := call(t, "run", ownManifest(t, clean, with(reference)), "--seed", "1", "--backend",
		"emu"); code != 2 || !strings.Contains(errText, "these are references of other inputs") {
		t.Errorf("another seed: exit %d: %s", code, errText)
	}
}

// badReference is a reference that cannot be used.
type badReference struct {
	y, c, top string
	code      int
	want      []string // of the message
	args      []string // more of the command line
}

// TestBadReferences: what is wrong with a reference is one error with the manifest's line, the source and the
// reason, and the contract's exit code: 2 for what is written wrong, 3 for what may not be executed, 4 for
// what failed.
func TestBadReferences(t *testing.T) {
	f := newTwice(t)
	f.badArchives()
	f.badCommands()
	f.badKernels()
	const trust = "--trust"
	at := "k.yaml:8: args[1].reference"
	npz := func(file string, want ...string) badReference {
		return badReference{y: ", reference: {npz: " + file + "}", code: 2, want: append(want, at)}
	}
	command := func(script string, want ...string) badReference {
		return badReference{y: ", reference: {command: [sh, " + script + "], timeout: 20s}", code: 4,
			want: append(want, at, "sh "+script), args: []string{trust}}
	}
	kernel := func(file string, code int, want ...string) badReference {
		return badReference{y: ", reference: {kernel: " + file + "}", code: code,
			want: append(want, at, file)}
	}
	manifest := func(y string, want ...string) badReference {
		return badReference{y: ", " + y, code: 2, want: append(want, "k.yaml:8: args[1].")}
	}
	cases := map[string]badReference{
		"a word": manifest("reference: maybe", `no reference named "maybe"`),
		"an empty mapping": manifest("reference: {}",
			"expected {npz: FILE}, {command: [...]} or {kernel: MANIFEST}"),
		"two at once": manifest("reference: {npz: good.npz, kernel: k.yaml}",
			"npz is given too"),
		"a misspelt key": manifest("reference: {nzp: good.npz}",
			"unknown key: did you mean npz?"),
		"a list":                manifest("reference: [npz]", "expected a mapping, found a list"),
		"no file name":          manifest(`reference: {npz: ""}`, "expected text"),
		"a command in a line":   manifest("reference: {command: python3 ref.py}", "expected a list"),
		"a command of no words": manifest("reference: {command: []}", "empty; expected a program"),
		"a mapping as a word":   manifest("reference: {command: [sh, {a: b}]}", "expected text"),
		"a timeout of nothing": manifest("reference: {command: [sh], timeout: 0s}",
			"expected a duration above 0"),
		"a negative timeout": manifest("reference: {command: [sh], timeout: -5s}",
			"expected a duration above 0"),
		"a timeout of years": manifest("reference: {command: [sh], timeout: 9000h}",
			"is more than 24h"),
		"a timeout in words": manifest("reference: {command: [sh], timeout: soon}",
			"expected a duration above 0"),
		"a timeout of an archive": manifest("reference: {npz: good.npz, timeout: 5s}",
			"goes with command only"),
		"too many words": manifest("reference: {command: ["+strings.Repeat("a,", 300)+"b]}",
			"301 words; at most 256"),
		"the graph of an argument": manifest("reference: graph", "an argument has no operator"),
		"a tolerance of nothing":   manifest("tolerance: {rtol: 1}", "there is no reference that it is of"),
		"a tolerance of none": manifest("reference: none, tolerance: {rtol: 1}",
			"is compared with nothing"),
		"a tolerance in words": manifest("reference: {npz: good.npz}, tolerance: tight",
			`"tight" is none of derived`),
		"an empty tolerance": manifest("reference: {npz: good.npz}, tolerance: {}",
			"expected derived, {rtol: N, atol: N}"),
		"a negative rtol": manifest("reference: {npz: good.npz}, tolerance: {rtol: -1}",
			"expected a number from 0 on"),
		"an rtol in words": manifest("reference: {npz: good.npz}, tolerance: {rtol: small}",
			"expected a number"),
		"rtol and a baseline": manifest("reference: {npz: good.npz}, tolerance: {rtol: 1, baseline: y2}",
			"keep one of them"),
		"a factor alone": manifest("reference: {npz: good.npz}, tolerance: {rtol: 1, factor: 2}",
			"goes with baseline only"),
		"a factor of 0": manifest("reference: {npz: good.npz}, tolerance: {baseline: y2, factor: 0}",
			"expected a number above 0"),
		"derived of an argument": manifest("reference: {npz: good.npz}, tolerance: derived",
			"no operator whose error could be derived"),
		"a baseline of no name": manifest("reference: {npz: good.npz}, tolerance: {baseline: [a]}",
			"expected text"),
		"a reference as its measure": {y: ", reference: a, tolerance: {baseline: a}",
			top: "references: {a: {npz: good.npz}}\n", code: 2,
			want: []string{"args[1].tolerance.baseline", "its error is 0"}},
		"a name that is a word": {top: "references: {none: {npz: good.npz}}\n", code: 2,
			want: []string{"k.yaml:6: references.none", "choose another name"}},
		"a name that is none": {top: "references: {\"a b\": {npz: good.npz}}\n", code: 2,
			want: []string{"references.a b", "is not an identifier"}},
		"an array of many": {top: "references: {a: {npz: good.npz, array: y}}\n", code: 2,
			want: []string{"references.a.array", "unknown key"}},

		"no such archive":   npz("nosuch.npz", "no such file"),
		"a directory":       npz("folder", "is a directory"),
		"a FIFO":            npz("fifo", "FIFO"),
		"a device":          npz("/dev/zero", "device"),
		"a link to itself":  npz("loop.npz", "loop.npz"),
		"a link to nothing": npz("dangling.npz", "no such file"),
		"no archive":        npz("twice.ptx", "expected a NumPy archive"),
		"an empty archive":  npz("empty.npz", "expected a NumPy archive"),
		"half an archive":   npz("cut.npz", "cut.npz"),
		"a flipped bit":     npz("flipped.npz", `member "y.npy"`),
		"another name":      npz("named.npz", `there is no array "y" for y (it has "z")`),
		"transposed": npz("transposed.npz",
			`array "y" is f8[16,4]; expected [4,16], as argument y`),
		"integers":          npz("integers.npz", `array "y" is i4[4,16]; expected f2, f4 or f8`),
		"NaN":               npz("nan.npz", "none of its 64 elements is a finite number"),
		"an enormous shape": npz("enormous.npz", `member "y.npy"`),
		"complex numbers":   npz("complex.npz", `member "y.npy"`),
		"of another seed":   npz("seed.npz", `array "x" is not the launch's x`, "another seed"),
		"a number that i32 has not": {c: ", reference: {npz: beyond.npz}", code: 2,
			want: []string{"k.yaml:9: args[2].reference",
				"element [3] is 4294967296, which i32 does not have"}},
		"floats for integers": {c: ", reference: {npz: floats.npz}", code: 2,
			want: []string{"args[2].reference", "expected an integer type"}},
		"an unknown baseline": {y: ", reference: {npz: good.npz}, tolerance: {baseline: half}",
			code: 2, want: []string{"k.yaml:8: args[1].tolerance", `there is no array "half"`}},
		"a baseline of another shape": {y: ", reference: {npz: good.npz}, tolerance: {baseline: c}", code: 2,
			want: []string{"args[1].tolerance", `array "c" is i4[64]`}},

		"a folder that is not trusted": {y: ", reference: {command: [sh, good.sh]}", code: 3,
			want: []string{at, `the command "sh good.sh" is not executed`, "tilescope trust " + f.dir}},
		"no such program": {y: ", reference: {command: [nosuchprogram, a]}", code: 4,
			want: []string{at, "nosuchprogram a: it cannot be started"}, args: []string{trust}},
		"a file that is no program": {y: ", reference: {command: [./good.npz]}", code: 4,
			want: []string{at, "it cannot be started"}, args: []string{trust}},
		"exit status 3": command("exit3.sh", "it ended with exit status 3: the last word"),
		"a crash":       command("crash.sh", "signal: segmentation fault"),
		"a hang": {y: ", reference: {command: [sh, hang.sh], timeout: 200ms}", code: 4,
			want: []string{at, "sh hang.sh: it did not end within its time limit of 200ms"},
			args: []string{trust}},
		"a hang, and --timeout": {y: ", reference: {command: [sh, hang.sh], timeout: 1h}", code: 4,
			want: []string{"no result within the time limit of 300ms"},
			args: []string{trust, "--timeout", "300ms"}},
		"nothing written": command("nothing.sh", "wrote no archive"),
		"garbage written": command("garbage.sh", "the archive that it wrote",
			"expected a NumPy archive"),
		"an empty file written":   command("empty.sh", "expected a NumPy archive"),
		"a link written":          command("link.sh", "is a symbolic link, not a regular file"),
		"a FIFO written":          command("fifo.sh", "is a FIFO, not a regular file"),
		"a directory written":     command("dir.sh", "is a directory, not a regular file"),
		"half an archive written": command("half.sh", "the archive that it wrote"),
		"another shape written": command("shape.sh", "the archive that it wrote",
			"expected [4,16], as argument y"),
		"another type written": command("type.sh", "expected f2, f4 or f8"),
		"NaN written":          command("nan.sh", "none of its 64 elements is a finite number"),
		"another name written": command("name.sh", `there is no array "y" for y (it has "z")`),
		"more than memory.max": command("huge.sh", "sh huge.sh"),

		"no such kernel":          kernel("nosuch.yaml", 2, "no such file"),
		"a kernel with a mistake": kernel("mistake.yaml", 2, "mistake.yaml:5: launch.gird: unknown key"),
		"itself":                  kernel("k.yaml", 2, "k.yaml → k.yaml"),
		"a kernel of it":          kernel("round.yaml", 2, "k.yaml → round.yaml → k.yaml"),
		"a kernel of other extents": kernel("extents.yaml", 2,
			"argument y has shape [8,8], and y here is of [4,16]"),
		"a kernel of other outputs": kernel("outputs.yaml", 2, `there is no array "y" for y (it has "c")`),
		"a kernel of other inputs":  kernel("inputs.yaml", 2, "it reads w, which is no input of twice"),
		"a kernel of other types": kernel("types.yaml", 2,
			"argument c is i32[32], and i32[64] where its contents come from"),
		"a kernel of a dimension": kernel("dims.yaml", 2, "its dimension N is none of"),
		"a kernel that is no PTX": kernel("noptx.yaml", 4, "load: ", "noptx.ptx:2:1"),
		"a kernel out of bounds":  kernel("past.yaml", 4, "it has an error itself: out-of-bounds"),
	}
	if len(cases) < 40 {
		t.Fatalf("%d kinds", len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "more than memory.max" {
				t.Setenv("TILESCOPE_MEMORY_MAX", "200MB")
			}
			path := f.manifest("k.yaml", c.y, c.c, c.top)
			args := append([]string{"run", path, "--backend", "emu"}, c.args...)
			out, errText, code := call(t, args...)
			last := strings.TrimSpace(errText)
			if code != c.code || out != "" {
				t.Errorf("exit %d, want %d: %s%s", code, c.code, out, errText)
			}
			for _, want := range c.want {
				if !strings.Contains(last, want) {
					t.Errorf("%q lacks %q", last, want)
				}
			}
			if code != 4 {
				return
			}
			rep, code, _ := runJSON(t, args...)
			if e := rep.Error; code != 4 || (e == nil || e.Stage != "reference" ||
				rep.Verdict != report.Failed) {
				t.Errorf("--json: exit %d, error %+v, verdict %s", code, e, rep.Verdict)
			}
		})
	}
}

// badArchives writes archives that are no reference of y or c.
func (f *twice) badArchives() {
	good, err := os.ReadFile(f.path("good.npz"))
	if err != nil {
		f.t.Fatal(err)
	}
	nan := slices.Repeat([]float64{math.NaN()}, 64)
	f.put("empty.npz", nil)
	f.put("cut.npz", good[:len(good)/2])
	flipped := bytes.Clone(good)
	flipped[200] ^= 4
	f.put("flipped.npz", flipped)
	f.archive("named.npz", npytest.Floats("z", npy.F64, []int{4, 16}, f.y...))
	f.archive("transposed.npz", npytest.Floats("y", npy.F64, []int{16, 4}, f.y...))
	f.archive("integers.npz", npytest.Whole("y", npy.I32, []int{4, 16}, make([]int64, 64)...))
	f.archive("nan.npz", npytest.Floats("y", npy.F64, []int{4, 16}, nan...))
	f.archive("enormous.npz", npytest.Floats("y", npy.F64, []int{1 << 30, 1 << 31}, 1))
	f.archive("complex.npz", npytest.Array{Name: "y", DType: "c8", Shape: []int{4, 16}, Data: make([]byte,
		512)})
	other := slices.Clone(f.x)
	other[5]++
	f.archive("seed.npz", f.goodY(), npytest.Floats("x", npy.F32, []int{4, 16}, other...))
	beyond := make([]int64, 64)
	beyond[3] = 1 << 32
	f.archive("beyond.npz", npytest.Whole("c", npy.I64, []int{64}, beyond...))
	f.archive("floats.npz", npytest.Floats("c", npy.F64, []int{64}, f.y...))
	if err := errors.Join(os.Mkdir(f.path("folder"), 0o755), syscall.Mkfifo(f.path("fifo"), 0o600),
		os.Symlink("loop.npz", f.path("loop.npz")), os.Symlink("nosuch",
			f.path("dangling.npz"))); err != nil {
		f.t.Fatal(err)
	}
}

// badCommands writes scripts that fail, or leave what is no archive.
func (f *twice) badCommands() {
	for name, script := range map[string]string{
		"good": "cp good.npz $2", "exit3": "echo one >&2; echo the last word >&2; exit 3",
		"crash": "kill -SEGV $$", "hang": "sleep 1000 & wait", "nothing": ":",
		"garbage": "echo garbage > $2", "empty": ": > $2", "link": "ln -s $PWD/good.npz $2",
		"fifo": "mkfifo $2", "dir": "mkdir $2", "half": "head -c 300 good.npz > $2",
		"shape": "cp transposed.npz $2", "type": "cp integers.npz $2", "nan": "cp nan.npz $2",
		"name": "cp named.npz $2", "huge": "dd if=/dev/zero of=$2 bs=1M count=300 2>/dev/null",
	} {
		f.put(name+".sh", []byte(script+"\n"))
	}
}

// badKernels writes manifests of kernels that twice cannot be compared with.
func (f *twice) badKernels() {
	edit := func(name string, pairs ...string) {
		f.put(name, []byte(strings.NewReplacer(pairs...).Replace(f.text)))
	}
	edit("mistake.yaml", "grid:", "gird:")
	edit("round.yaml", "role: output}", "role: output, reference: {kernel: k.yaml}}")
	edit("extents.yaml", `"f32*", dims: [4, 16], role: output`, `"f32*", dims: [8, 8], role: output`)
	edit("outputs.yaml", "name: y, ", "name: why, ", "role: output", "role: scratch")
	edit("inputs.yaml", "name: x, ", "name: w, ")
	edit("types.yaml", "dims: [64]", "dims: [32]")
	edit("dims.yaml", "args:", "shapes: {validation: {N: 4}}\nargs:")
	edit("noptx.yaml", "twice.ptx", "noptx.ptx")
	f.put("noptx.ptx", []byte(".version 8.0\nnonsense\n"))
	edit("past.yaml", "grid: [2, 1, 1]", "grid: [3, 1, 1]")
}
