package corpus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tilescope/debugkern/cli"
	"tilescope/debugkern/cli/clitest"
	"tilescope/debugkern/input"
	"tilescope/debugkern/npy"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// kernel is a file of testdata.
type kernel struct {
	name, file string // file: with its extension
	text       string
	tolerance  float64
	buggy      string // the text with the defect
	line       int    // where it must be found, and as what
	kind       string
}

// arguments are the names of the parameters of a PTX text, which has none: a line "// arguments: x y n". In
// documents they are arg0, arg1, …
func arguments(text string) map[string]string {
	out := map[string]string{}
	if m := nameMark.FindStringSubmatch(text); m != nil {
		for i, name := range strings.Fields(m[1]) {
			out[name] = fmt.Sprintf("arg%d", i)
		}
	}
	return out
}

var (
	bugMark   = regexp.MustCompile(`^(\s*)(.*?)\s*// bug:(.*)$`)
	foundMark = regexp.MustCompile(`\s*// found: (\S+)(?: (\d+))?$`)
	nameMark  = regexp.MustCompile(`(?m)^// arguments: (.*)$`)
	tolMark   = regexp.MustCompile(`(?m)^// tolerance: (\S+)$`)
)

// parse reads what a kernel's text says of itself.
func parse(file, text string) (*kernel, error) {
	k := &kernel{name: strings.TrimSuffix(file, filepath.Ext(file)), file: file, text: text}
	if m := tolMark.FindStringSubmatch(text); m != nil {
		var err error
		if k.tolerance, err = strconv.ParseFloat(m[1], 64); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	lines, bugs := strings.Split(text, "\n"), 0
	for i, line := range lines {
		if m := foundMark.FindStringSubmatch(line); m != nil {
			if k.kind != "" {
				return nil, fmt.Errorf("%s:%d: a second place where the defect must be found", file, i+1)
			}
			if k.kind, k.line = m[1], i+1; m[2] != "" { // PTX: a line of what it was compiled from
				k.line, _ = strconv.Atoi(m[2])
			}
			line = foundMark.ReplaceAllString(line, "")
		}
		if m := bugMark.FindStringSubmatch(line); m != nil {
			line, bugs = m[1]+strings.TrimSpace(m[3]), bugs+1
		}
		lines[i] = line
	}
	if bugs != 1 || k.kind == "" {
		return nil, fmt.Errorf("%s: %d planted defects, to be found as %q: expected one defect and one place",
			file, bugs, k.kind)
	}
	k.buggy = strings.Join(lines, "\n")
	return k, nil
}

// kernels reads the files of testdata with an extension.
func kernels(t *testing.T, ext string) []*kernel {
	t.Helper()
	files, err := filepath.Glob("testdata/*" + ext)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in testdata: %v", ext, err)
	}
	var out []*kernel
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		k, err := parse(filepath.Base(f), string(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

// checked runs check on a text and returns its exit code, its document, and the archive that it dumped.
func checked(t *testing.T, file, text string) (int, *report.Check, *npy.Archive) {
	t.Helper()
	dir := t.TempDir()
	path, dump := filepath.Join(dir, file), filepath.Join(dir, "out.npz")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), cli.Program{
		Version: "test", Args: []string{"check", path, "--dump", dump, "--json"}, Stdout: &out, Stderr: &errs,
	})
	d := &report.Check{}
	if err := json.Unmarshal(out.Bytes(), d); err != nil {
		t.Fatalf("%s: exit %d: %v\n%s", file, code, err, errs.String())
	}
	if code > 1 {
		t.Errorf("%s: exit %d: %s", file, code, errs.String())
		return code, d, nil
	}
	return code, d, open(t, dump)
}

func open(t *testing.T, path string) *npy.Archive {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := npy.Open(bytes.NewReader(data), int64(len(data)), path, 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// values reads an array's numbers. Types that NumPy has not are in the dump as their bits.
func values(t *testing.T, a *npy.Archive, name string, dtype probes.DType) []float64 {
	t.Helper()
	array, err := a.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if dtype == 0 || dtype.Size() != array.DType.Size() {
		dtype = input.ElementType(array.DType)
	}
	size := dtype.Size()
	out := make([]float64, len(array.Data)/size)
	for i := range out {
		var bits uint64
		for j := range size {
			bits |= uint64(array.Data[i*size+j]) << (8 * j)
		}
		out[i] = dtype.Value(bits)
	}
	return out
}

// result is a line of the table.
type result struct {
	name, verdict, output, bug, as string
	line                           int
	took                           time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("%-24s %-9s %-22s %-7s %-14s %4d %6.2f s", r.name, r.verdict, r.output, r.bug, r.as,
		r.line, r.took.Seconds())
}

const tableHead = "kernel                   verdict   output                 bug     found as       line"

// compare compares the arguments that a kernel writes with what they must hold, and says how many
// values it compared.
func (k *kernel) compare(
	t *testing.T, d *report.Check, names map[string]string, got, want *npy.Archive,
) string {
	t.Helper()
	count, worst := 0, 0.0
	for _, key := range want.Names() {
		name, argument, _ := strings.Cut(key, ".")
		if name != k.name {
			continue
		}
		argument = cmp.Or(names[argument], argument)
		i := slices.IndexFunc(d.Outputs, func(o report.CheckOutput) bool { return o.Name == argument })
		if i < 0 {
			t.Errorf("%s: no argument %s", k.file, argument)
			continue
		}
		dtype, _ := probes.ParseDType(d.Outputs[i].DType)
		g, w := values(t, got, argument, dtype), values(t, want, key, dtype)
		if len(g) != len(w) {
			t.Errorf("%s: %d elements of %s, want %d", k.file, len(g), argument, len(w))
			continue
		}
		scale := 0.0
		for _, v := range w {
			scale = max(scale, math.Abs(v))
		}
		bad := 0
		for i := range w {
			switch e := math.Abs(g[i] - w[i]); {
			case g[i] == w[i]:
			case e <= k.tolerance*scale:
				worst = max(worst, e/scale)
			default:
				if bad++; bad <= 3 {
					t.Errorf("%s: %s[%d] is %g, want %g (tolerance %g)", k.file, argument, i, g[i], w[i],
						k.tolerance*scale)
				}
			}
		}
		count += len(w)
	}
	if count == 0 {
		t.Errorf("%s: nothing is expected of it", k.file)
	}
	return fmt.Sprintf("%d values, %.1e", count, worst)
}

// check checks a kernel without and with its defect.
func (k *kernel) check(t *testing.T, file, clean, buggy string, want *npy.Archive) result {
	t.Helper()
	start := time.Now()
	r := result{name: k.name, line: k.line, bug: "missed"}
	code, d, dump := checked(t, file, clean)
	r.verdict = d.Verdict
	if code != 0 || d.Verdict != report.Clean {
		for _, f := range d.Findings {
			if f.Severity == "error" {
				t.Errorf("%s: %s: %s (%+v)", file, f.Kind, f.Message, f.Source)
			}
		}
	}
	if d.Coverage.Sampled != d.Coverage.Blocks || d.Coverage.Executed == 0 {
		t.Errorf("%s: %+v", file, d.Coverage)
	}
	if dump != nil {
		r.output = k.compare(t, d, arguments(clean), dump, want)
	}
	code, d, _ = checked(t, file, buggy)
	for _, f := range d.Findings {
		at := f.Source != nil && f.Source.Line == k.line || f.Other != nil && f.Other.Line == k.line
		if f.Severity == "error" && f.Kind == k.kind && at {
			r.bug, r.as = "found", f.Kind
		}
	}
	if code != 1 || r.bug != "found" {
		t.Errorf("%s: exit %d, no %s at line %d", file, code, k.kind, k.line)
		for _, f := range d.Findings {
			t.Logf("%s %s: %s (%+v, %+v)", f.Severity, f.Kind, f.Message, f.Source, f.Other)
		}
	}
	r.took = time.Since(start)
	return r
}
