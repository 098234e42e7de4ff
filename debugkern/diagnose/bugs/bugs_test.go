package bugs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/debugkern/diagnose"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"

	"tilescope/probes"
)

// sampled is how many open bugs, and how many harmless edits, run where TILESCOPE_BUGS is not set.
const sampled = 3

// limit is how long one diagnosis may take.
const limit = 5 * time.Minute

// TestBugs diagnoses planted bugs, and compares what it says with what was expected before it was run. It
// prints a line a bug and the totals of each set. TILESCOPE_BUGS is the name of a set, all, or names of bugs
// with commas between; without it a sample of the open bugs must be found.
func TestBugs(t *testing.T) {
	chosen := os.Getenv("TILESCOPE_BUGS")
	planted := sets(t, unseen, measured, open)
	named := slices.IndexFunc(planted, func(tab *table) bool { return tab.name == chosen })
	whole := chosen == "all" || named >= 0
	for _, tab := range planted {
		set := tab.name
		if chosen != set && chosen != "all" && (whole || chosen == "" && tab.Role != open) {
			continue
		}
		t.Run(set, func(t *testing.T) {
			list := tab.Bugs
			switch {
			case chosen == "":
				list = sample(list)
			case !whole:
				names := strings.Split(chosen, ",")
				list = slices.DeleteFunc(slices.Clone(list), func(b *bug) bool {
					return !slices.Contains(names, b.Name)
				})
			}
			if len(list) == 0 {
				t.Skip("none of the set is asked for")
			}
			fmt.Printf("%-26s %-10s %-25s %-5s %-5s %-4s %-5s %-6s %5s  %s\n",
				set, "kind", "target", "found", "stage", "line", "words", "causes", "s", "the story begins")
			var sum rates
			var seconds []float64
			for _, b := range list {
				v := b.judge(t)
				fmt.Println(v)
				sum.add(v)
				seconds = append(seconds, v.seconds)
				if chosen == "" && !v.found {
					t.Errorf("%s: not found:\n%s", b.Name, strings.Join(v.story, "\n"))
				}
			}
			slices.Sort(seconds)
			fmt.Printf("%s: of %d: found %d, stage %d, line %d, words %d, one cause %d; %.1f s a diagnosis (median), %.1f s (slowest)\n",
				set, len(list), sum.Found, sum.Stage, sum.Line, sum.Words, sum.One, seconds[len(seconds)/2],
				seconds[len(seconds)-1])
			if whole {
				tab.AtLeast.compare(t, sum)
			}
		})
	}
}

// TestHarmless diagnoses rewrites that leave the kernel right: run must agree, and nothing may be found. A
// sample of them, all with TILESCOPE_BUGS=all.
func TestHarmless(t *testing.T) {
	list := entries(t, harmless).Bugs
	if os.Getenv("TILESCOPE_BUGS") != "all" {
		list = sample(list)
	}
	for _, b := range list {
		d, seconds := b.diagnose(t)
		if d == nil {
			continue
		}
		silent := d.ExitCode() == 0 && len(d.Causes) == 0 && d.Verdict == report.Agree
		fmt.Printf("%-24s %-21s silent %-5t %5.1f  %s\n", b.Name, b.Target, silent, seconds, d.Story[0])
		if !silent {
			t.Errorf("%s (%s): not silent:\n%s", b.Name, b.Why, strings.Join(d.Story, "\n"))
			b.file(t, d.Story, false)
		}
	}
}

// sample picks entries in the order of their names, at equal distances.
func sample(list []*bug) []*bug {
	list = slices.SortedFunc(slices.Values(list), func(a, b *bug) int { return cmp.Compare(a.Name, b.Name) })
	n := min(sampled, len(list))
	out := make([]*bug, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// verdict is how far one diagnosis met the expectation.
type verdict struct {
	b       *bug
	found   bool // it says that something is wrong, with a cause
	stage   bool // its first cause spoils the expected stage first, or is an expected finding
	line    bool // its first cause is at a guilty line, or called from one
	direct  bool // the guilty line is the place itself: not a call site, nor the other place
	words   bool // its story says in words what is wrong
	causes  int
	seconds float64
	story   []string
}

func (v verdict) String() string {
	mark := func(ok bool) string {
		if ok {
			return "yes"
		}
		return "-"
	}
	line := mark(v.line)
	if v.line && !v.direct {
		line = "2nd"
	}
	first := ""
	if len(v.story) > 0 {
		first = title.ReplaceAllString(v.story[0], "")
	}
	return fmt.Sprintf("%-26s %-10s %-25s %-5s %-5s %-4s %-5s %6d %5.1f  %s", v.b.Name, v.b.Kind, v.b.Target,
		mark(v.found), mark(v.stage), line, mark(v.words), v.causes, v.seconds, first)
}

func (r *rates) add(v verdict) {
	for _, c := range []struct {
		ok bool
		n  *int
	}{
		{v.found, &r.Found}, {v.stage, &r.Stage}, {v.line, &r.Line}, {v.words, &r.Words},
		{v.causes == 1, &r.One},
	} {
		if c.ok {
			*c.n++
		}
	}
}

// compare fails where fewer were reached than the table requires.
func (r rates) compare(t *testing.T, got rates) {
	t.Helper()
	for _, c := range []struct {
		name      string
		want, got int
	}{
		{"found", r.Found, got.Found}, {"stage", r.Stage, got.Stage}, {"line", r.Line, got.Line},
		{"words", r.Words, got.Words}, {"one cause", r.One, got.One},
	} {
		if c.got < c.want {
			t.Errorf("%s: %d, and the table says at least %d", c.name, c.got, c.want)
		}
	}
}

// judge diagnoses a bug and compares. With TILESCOPE_BUGS_OUT the story is written to NAME.story there, and,
// where it fell short, with what was expected to NAME.failed.
func (b *bug) judge(t *testing.T) verdict {
	t.Helper()
	v := verdict{b: b}
	d, seconds := b.diagnose(t)
	if v.seconds = seconds; d == nil {
		return v
	}
	v.story, v.causes = d.Story, len(d.Causes)
	v.found = d.ExitCode() == 1 && v.causes > 0
	if v.found {
		c := &d.Causes[0]
		v.stage = slices.Contains(b.Stages, c.Stage) || slices.Contains(b.Findings, c.Kind)
		v.line = b.at(c.Place.Source) || b.at(c.Place.Other)
		v.direct = c.Place.Source != nil && b.isGuilty(c.Place.Source.File, c.Place.Source.Line)
		v.words = b.says(spoken(d.Story))
	}
	b.file(t, v.story, v.found && v.stage && v.line && v.words && v.causes == 1)
	return v
}

// at reports whether a place, or one of the places that it was called from, is a guilty line.
func (b *bug) at(s *report.Source) bool {
	if s == nil {
		return false
	}
	return b.isGuilty(s.File, s.Line) || slices.ContainsFunc(s.Calls.Sites(), func(c target.Site) bool {
		return b.isGuilty(c.File, c.Line)
	})
}

func (b *bug) isGuilty(file string, line int) bool {
	return slices.Contains(b.guilty[path.Base(filepath.ToSlash(file))], line)
}

// says reports whether a story contains all expressions of one alternative.
func (b *bug) says(story string) bool {
	return slices.ContainsFunc(b.Words, func(all []string) bool {
		return !slices.ContainsFunc(all, func(expr string) bool {
			return !regexp.MustCompile("(?is)" + expr).MatchString(story)
		})
	})
}

var title = regexp.MustCompile(`^.* seed \d+: `)

// spoken is a story without what it is of and without commands: file names, shapes and flags say nothing
// about a cause.
func spoken(story []string) string {
	var out []string
	for i, line := range story {
		switch word := strings.TrimSpace(line); {
		case i == 0:
			out = append(out, title.ReplaceAllString(line, ""))
		case !strings.HasPrefix(word, "see: ") && !strings.HasPrefix(word, "again: "):
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// file writes a story where TILESCOPE_BUGS_OUT says.
func (b *bug) file(t *testing.T, story []string, met bool) {
	t.Helper()
	dir := os.Getenv("TILESCOPE_BUGS_OUT")
	if dir == "" {
		return
	}
	text := strings.Join(story, "\n") + "\n"
	err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, b.Name+".story"),
		[]byte(text), 0o644))
	failed := filepath.Join(dir, b.Name+".failed")
	if met {
		err = errors.Join(err, os.RemoveAll(failed))
	} else {
		expected := fmt.Sprintf("%s, %s, %s\n%s\nstages %v, findings %v, lines %v\n\n%s\n%s", b.Name,
			b.Target, b.Shape,
			b.Truth+b.Why, b.Stages, b.Findings, b.guilty, text, b.diff)
		err = errors.Join(err, os.WriteFile(failed, []byte(expected), 0o644))
	}
	if err != nil {
		t.Error(err)
	}
}

// answer is the diagnosis of an entry that several tests read.
type answer struct {
	once sync.Once
	d    *diagnose.Diagnosis
}

var answers sync.Map // of *answer, by set and name

// answer is the diagnosis of an entry, made once for all tests; nil where it failed to run.
func (b *bug) answer(t *testing.T) *diagnose.Diagnosis {
	t.Helper()
	v, _ := answers.LoadOrStore(b.set+"/"+b.Name, &answer{})
	a := v.(*answer)
	a.once.Do(func() { a.d, _ = b.diagnose(t) })
	return a.d
}

// diagnose runs the diagnosis of an entry as of somebody's own kernel, and returns it with its seconds; nil
// where it failed to run.
func (b *bug) diagnose(t *testing.T) (*diagnose.Diagnosis, float64) {
	t.Helper()
	manifest := b.write(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	o := debugkern.Options{}
	if compile() {
		o.Config = &configs.Config{Toolchain: os.Getenv("TILESCOPE_TOOLCHAIN")}
	}
	s, err := debugkern.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	req := debugkern.Request{
		Target: manifest, Shape: b.Shape, Gate: probes.Gate(b.Gate), Set: map[string]string{}, Backend: "emu",
	}
	for name, v := range b.sel.Flags {
		if req.Set[name] = strconv.Itoa(v); v == b.defaults(name) {
			delete(req.Set, name)
		}
	}
	start := time.Now()
	d, err := diagnose.Diagnose(ctx, s, req, diagnose.Options{})
	if err != nil {
		t.Errorf("%s: %v", b.Name, err)
		return nil, time.Since(start).Seconds()
	}
	return d, time.Since(start).Seconds()
}

// defaults is the value of a flag in the manifest's default variant, which may leave it at its own default.
func (b *bug) defaults(flag string) int {
	m := b.sel.Manifest
	if v, ok := m.Variant(m.Default).Flags[flag]; ok {
		return v
	}
	return m.Flags[slices.IndexFunc(m.Flags, func(f configs.Flag) bool { return f.Name == flag })].Default
}

// write writes the patched texts, the PTX and a manifest that brings it, and returns the manifest's path.
func (b *bug) write(t *testing.T) string {
	t.Helper()
	a, err := openArchive()
	if err != nil {
		t.Fatal(err)
	}
	e, ok, err := a.Find(b.key())
	if err != nil || !ok || e.Digest != b.inputs().Digest() {
		t.Fatalf("%s: the archive lacks it, or has it of another text (%v): run go test -run TestArchive -update",
			b.Name, err)
	}
	dir := t.TempDir()
	files := map[string][]byte{"own.yaml": b.manifest(t), "own.ptx": e.PTX}
	for name, text := range b.sources {
		files[name] = []byte(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "own.yaml")
}

// compile reports whether bugs are compiled here, so that edits of their source are tried too: with
// TILESCOPE_BUGS_COMPILE and a compiler (TILESCOPE_TOOLCHAIN). Else their PTX is that of the archive.
func compile() bool {
	return os.Getenv("TILESCOPE_BUGS_COMPILE") != "" && os.Getenv("TILESCOPE_TOOLCHAIN") != ""
}

// manifest is the catalogue's manifest of the kernel, with what the entry changes of it.
func (b *bug) manifest(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash("../../../configs/kernels/" + b.kernel() + ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, c := range b.Manifest {
		if n := strings.Count(text, c.From); n != 1 {
			t.Fatalf("%s: %q stands %d times in the manifest of %s", b.Name, c.From, n, b.kernel())
		}
		text = strings.Replace(text, c.From, c.To, 1)
	}
	if compile() {
		return regexp.MustCompile(`(?m)^source: .*$`).ReplaceAll([]byte(text), []byte("source: "+b.source()))
	}
	text = regexp.MustCompile(`(?m)^arch: .*\n`).ReplaceAllString(text, "") // nothing is compiled
	return regexp.MustCompile(`(?m)^source: .*$`).ReplaceAll([]byte(text), []byte("ptx: own.ptx"))
}

// mended are bugs of which an edit of the source is found with a compiler, and how the line should read, or
// what the story says of several lines. The first is diagnosed each time, all with TILESCOPE_LONG: make
// stories.
var mended = []struct{ bug, line, says string }{
	{bug: "v-rows-by-query-block", line: "wmma::load_matrix_sync(v_frag, &sV[key16][d], HEAD_DIM);"},
	{bug: "half-sum-by-row-block", line: "if (leader) half_sum[warp % 2][row] = sum[i];"},
	{bug: "tile-put-down-columns-read-along-rows", line: "const int n = i / DIM, d = i % DIM;"},
	{
		bug:  "butterfly-a-step-too-far-out",
		line: "for (int o = 16; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, o));",
	},
	{
		bug:  "pairs-of-p-put-across-the-steps",
		line: "for (int e = 0; e < ELEMENTS; e += 2) p[e / 8][e / 2 % 4] = pair(s[e], s[e + 1]);",
	},
	{bug: "divided-by-padded-columns", line: "var_smem[r] = __fdiv_rn(squares, static_cast<float>(C));"},
	{
		bug:  "copied-before-the-stage-is-empty",
		says: "move `if (round > 0) mbarrier_wait(&shared.k_empty[stage], round - 1 & 1);` before line 154",
	},
	{bug: "keys-in-packs-of-eight", line: "if (RUN_QK) sK[n][d] = key0 + n < S ? K[at] : zero;"},
	{bug: "bits-converted-as-a-count", line: "kv_lut[1][u] = __ushort_as_half(decode(u, 128.0f, v_scale));"},
	{
		bug:  "values-guarded-by-the-queries",
		line: "if (RUN_PV) store_chunk(&sV[chunk_row][chunk_col], load_chunk(V + at, key < Sk));",
	},
	{
		bug:  "offset-for-rms-alone",
		line: "Y[at] = __float2half_rn(USE_RMS ? scaled : __fadd_rn(scaled, beta[c]));",
	},
	{bug: "maximum-seeded-with-the-first-column", line: "float m = m_smem[t];"},
	{bug: "keys-counted-by-the-tile-of-queries", line: "const int keys = min(TILE_N, S - key0);"},
	// the compiler makes one comparison of two conditions
	{bug: "partial-tile-dropped", line: "const int tiles = (S + TILE_N - 1) / TILE_N;"},
	{bug: "columns-rounded-down", line: "const int tiles = (C + TILE - 1) / TILE;"},
	{
		bug:  "k-zero-point", // the statement for V has the constant, and V's table
		line: "k = USE_KV_LUT ? look_up_chunk(bytes, kv_lut[0]) : decode_chunk(bytes, 128.0f, k_scale);",
	},
	{bug: "row-state-race", says: "put __syncwarp() between lines 73 and 75 of own_flashcore.cuh"},
	{bug: "table-filled-from-the-lane-on", line: "for (int u = threadIdx.x; u < 256; u += THREADS) {"},
	{bug: "both-halves-added-by-both-warps", line: "const float part = sPV_frag[warp][row][col];"},
	{
		bug:  "row-bit-multiplied-before-the-and",
		line: "__device__ __forceinline__ int swizzled(int n, int d) { return d ^ ((n & 1) * 8); }",
	},
	{bug: "depth-stepped-by-panels", line: "for (int d = 0; d < HEAD_DIM; d += 16) {"},
	{bug: "values-held-two-deep", line: "KVTile v[STAGES];"},
	{ // right in one batch without the heads too
		bug: "keys-of-one-head-for-all",
		line: "const size_t kv_base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * DIM;  " +
			"// all heads share keys and values",
	},
	{ // r < Sq is right in the first block alone
		bug: "row-of-the-upper-lanes-unguarded",
		line: "if (query0 + r < Sq) " +
			"*reinterpret_cast<half2*>(&O[q_base + static_cast<size_t>(query0 + r) * HEAD_DIM + d]) = o;",
	},
	{
		bug: "own-score-without-gradient",
		line: "const float ds = seen ? __fmul_rn(__fmul_rn(p, __fsub_rn(sdP[r][n], delta[r])), softmax_scale) " +
			": 0.0f;",
	},
	{bug: "steps-of-four-lanes-past-the-warp", says: "or something is counted twice"},
}

// Where a compiler is at hand, a diagnosis says how the line should read: as it does in the kernel.
func TestEditOfTheSource(t *testing.T) {
	if os.Getenv("TILESCOPE_TOOLCHAIN") == "" {
		t.Skip("no compiler: set TILESCOPE_TOOLCHAIN, make toolchain fetches one")
	}
	t.Setenv("TILESCOPE_BUGS_COMPILE", "1")
	mended, tried := mended, 0
	if os.Getenv("TILESCOPE_LONG") == "" {
		mended = mended[:1]
	}
	for _, b := range developing(t) {
		for _, m := range mended {
			if b.Name != m.bug {
				continue
			}
			tried++
			d, _ := b.diagnose(t)
			switch {
			case d == nil: // reported
			case m.says != "" && len(d.Causes) == 1 && strings.Contains(d.Causes[0].Advice, m.says):
			case m.says != "":
				t.Errorf("%s: the story does not say %q:\n%s", b.Name, m.says, strings.Join(d.Story, "\n"))
			case len(d.Causes) != 1 || d.Causes[0].Rewrite == nil:
				t.Errorf("%s: no line to write:\n%s", b.Name, strings.Join(d.Story, "\n"))
			case d.Causes[0].Rewrite.Now != m.line:
				t.Errorf("%s: %s\nexpected %s", b.Name, d.Causes[0].Rewrite.Now, m.line)
			case !strings.Contains(strings.Join(d.Story, "\n"), "nothing is wrong"):
				t.Errorf("%s: it is not proven:\n%s", b.Name, strings.Join(d.Story, "\n"))
			}
		}
	}
	if tried != len(mended) {
		t.Errorf("%d of %d bugs are in the set", tried, len(mended))
	}
}
