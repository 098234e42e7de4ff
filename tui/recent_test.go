package tui

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/checkrun"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/text"
)

// TestRecentElsewhere: what an opened file's options name is found again from another folder, and a bundle,
// which has its launch in itself, is offered too.
func TestRecentElsewhere(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	home, other := t.TempDir(), t.TempDir()
	t.Chdir(home)
	r := d.m.recent
	r.add(debugkern.Request{Target: "b.tsl"}, nil)
	r.add(debugkern.Request{Target: "k.cu", Include: []string{"include"}, Inputs: "in.npz",
		Launch: []string{"--grid", "1", "--arg", "x=w.npz:k:bf16", "--arg", "p={0: 1:i32, 8: v.npy}"}}, nil)
	want := []string{"k.cu --grid 1 --arg x=w.npz:k:bf16 --arg 'p={0: 1:i32, 8: v.npy}' --inputs in.npz " +
		"-I include", "b.tsl"}
	if got := r.matching(""); !slices.Equal(got, want) {
		t.Errorf("here: %q", got)
	}
	t.Chdir(other)
	at := func(name string) string { return filepath.Join(home, name) }
	want = []string{at("k.cu") + " --grid 1 --arg x=" + at("w.npz") + ":k:bf16 --arg 'p={0: 1:i32, 8: " +
		at("v.npy") + "}' --inputs " + at("in.npz") + " -I " + at("include"), at("b.tsl")}
	if got := r.matching(""); !slices.Equal(got, want) {
		t.Errorf("elsewhere: %q\nwant %q", got, want)
	}
}

// TestLacking: what is given, in whatever way, is not proposed again.
func TestLacking(t *testing.T) {
	pairs := []string{"--grid", "4", "--block", "256", "--arg", "x=zeros:f32[8]", "--arg", "n=8"}
	for line, want := range map[string][]string{
		"k.cu":                        pairs,
		"k.cu --grid 1 --arg x=null":  {"--block", "256", "--arg", "n=8"},
		"k.cu --block=1 --arg=n=3":    {"--grid", "4", "--arg", "x=zeros:f32[8]"},
		"k.cu --arg 0=null --arg=1=3": {"--grid", "4", "--block", "256"},
		"k.cu --arg _Z1kPfi_param_1=3 --grid 1 --block 1": {"--arg", "x=zeros:f32[8]"},
		"k.cu --arg y=1 --arg":                            pairs,
	} {
		if got := lacking(strings.Fields(line), pairs); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string][]string{ // an option without a value stands behind the others
		"k.cu --grid 1 --block 1 --arg x=null --arg n=1":               {"--cooperative"},
		"k.cu --grid 1 --block 1 --arg x=null --arg n=1 --cooperative": nil,
	} {
		if got := lacking(strings.Fields(line), append(pairs, "--cooperative")); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestRecent: the last file comes first, each launch once; a file's name finds it, and below the working
// directory its path is relative. Kernels of the catalogue are not kept.
func TestRecent(t *testing.T) {
	d := started(t, 80, 24, plainLook)
	dir := t.TempDir()
	t.Chdir(dir)
	r := d.m.recent
	of := func(name string, launch ...string) debugkern.Request {
		return debugkern.Request{Target: filepath.Join(dir, name), Launch: launch}
	}
	r.add(of("a.cu", "--grid", "1"), nil)
	r.add(of("it's b.cu", "--grid", "2", "--arg", "x=ones:f32[4]"), nil)
	r.add(of("a.cu", "--grid", "1"), nil)
	r.add(debugkern.Request{Target: "stage2"}, nil)
	want := []string{"a.cu --grid 1", `"it's b.cu" --grid 2 --arg x=ones:f32[4]`}
	if got := r.matching(""); !slices.Equal(got, want) {
		t.Errorf("all: %q, want %q", got, want)
	}
	if got := r.matching("it's"); !slices.Equal(got, want[1:]) {
		t.Errorf("by name: %q", got)
	}
	if got := r.matching(filepath.Join(dir, "a")); !slices.Equal(got, want[:1]) {
		t.Errorf("by path: %q", got)
	}
	next := newRecent(r.Context)
	next.restore(append(slices.Clone(r.lines), "relative.cu", "'no end", ""), nil, nil)
	if !slices.Equal(next.lines, r.lines) {
		t.Errorf("restored %q", next.lines)
	}
	for i := range 2 * maxRecent {
		r.add(of("a.cu", "--grid", string(rune('a'+i))), nil)
	}
	if len(r.lines) != maxRecent {
		t.Errorf("%d are kept", len(r.lines))
	}
}

// TestProposesTheLaunchAsItWas: a file that was opened before gets the launch that it had, without what is no
// parameter any more and with what is new; other words stay as they were typed.
func TestProposesTheLaunchAsItWas(t *testing.T) {
	const own = "k.cu --grid 5 --block 64 --arg x=randn:f32[7] --arg n=7 --seed 3"
	for _, c := range []struct{ given, own, takes, want, why string }{
		{"k.cu", own, "x n", own, "as it was opened last; Enter"},
		{"k.cu", own, "x n causal", own + " --arg causal=1", "new: --arg causal=1; Enter"},
		{"k.cu", own, "x", "k.cu --grid 5 --block 64 --arg x=randn:f32[7] --seed 3", "without n; Enter"},
		{"k.cu", own, "x m", "k.cu --grid 5 --block 64 --arg x=randn:f32[7] --arg m=7 --seed 3", "n is now m"},
		{"k.cu", "k.cu --grid 5 --arg 0=null --arg k_param_1=7", "x n",
			"k.cu --grid 5 --arg 0=null --arg k_param_1=7 --block 32", "new: --block 32"},
		{"k.cu", "", "x n", "k.cu --grid 3 --block 32 --arg x=1 --arg n=1", "these numbers are a beginning"},
		{"k.cu --grid=9 --arg=x=2 --arg=q=4", own, "x n", "k.cu --grid=9 --arg x=2 --arg n=4 --block 32", ""},
		{"k.cu --arg 'm=tensormap{of: w, box: [8]}' --arg w=ones:f32[64] --arg n=1", "", "m n",
			"k.cu --arg 'm=tensormap{of: w, box: [8]}' --arg 'w=ones:f32[64]' --arg n=1 --grid 3 --block 32", ""},
	} {
		options := []string{"--grid", "3", "--block", "32"}
		for _, name := range strings.Fields(c.takes) {
			options = append(options, "--arg", name+"=1")
		}
		lacks := &checkrun.MissingLaunch{Option: "grid",
			Example: &scaffold.Example{Kernel: "k", Options: options}}
		given, _ := text.Words(c.given)
		var last []string
		if c.own != "" {
			last, _ = text.Words(c.own)
		}
		p, line := propose(given, last, "", sourceLaunch{}, lacks)
		want, _ := text.Words("open " + c.want)
		if got, _ := text.Words(line); !slices.Equal(got, want) || !strings.Contains(p.why, c.why) {
			t.Errorf("%s: %s (%s)", c.given, line, p.why)
		}
	}
}

// TestProposesTheSourcesLaunch: a launch that the source makes is no guess. Where it makes another than when
// the file was opened last, the launch that was opened has what changed, and keeps what else was given; where
// it is as before, the launch that was opened stays, and what the source has otherwise is named.
func TestProposesTheSourcesLaunch(t *testing.T) {
	shown := func(k string) []string {
		return []string{"--grid", "2,3", "--block", "16", "--arg", "k=" + k}
	}
	lacks := func(k string, all bool) error {
		e := &scaffold.Example{Kernel: "f", Line: 22, Shown: shown(k), Options: []string{
			"--entry", "f", "--grid", "2,3", "--block", "16", "--arg", "x=zeros:f32[" + k + ",8]",
			"--arg", "w=zeros:f32[9]", "--arg", "k=" + k,
		}}
		if !all {
			e.Shown, e.Guessed = e.Shown[:4], []string{"k"}
		}
		return &checkrun.MissingLaunch{Option: "grid", Example: e}
	}
	own := strings.Fields(
		"k.cu --entry=f --grid 2,3 --block=16 --arg x=rand:f32[37,8] --arg w=w.npy --arg k=37.0 -I inc")
	was := text.JoinWords(shown("37"))
	for _, c := range []struct {
		own             []string
		was, now        string
		all             bool
		line, says, not string
	}{
		{nil, "", "37", true, "--arg k=37", "as line 22 makes it; Enter opens it", ""},
		{nil, "", "37", false, "--arg k=37", "with the grid and block of line 22, guessed: k; change",
			"makes it"},
		{own, was, "37", true, text.JoinWords(own[1:]), "as it was opened last; Enter opens it", "line 22"},
		{own, was, "33", true,
			"k.cu --entry=f --grid 2,3 --block=16 --arg x=rand:f32[33,8] --arg w=w.npy --arg k=33 -I inc",
			"as it was opened last, with k=33 of line 22 as it is now; Enter", ""},
		{own, "", "33", true, text.JoinWords(own[1:]),
			"as it was opened last; line 22 makes it with k=33; Enter", ""},
	} {
		now := sourceLaunch{"f", shown(c.now), 22}
		p, line := propose([]string{"k.cu"}, c.own, c.was, now, lacks(c.now, c.all))
		flat := strings.ReplaceAll(line, "--arg=", "--arg ")
		if !strings.HasSuffix(flat, c.line) || !strings.Contains(p.why, c.says) || p.launch != nil ||
			c.not != "" && strings.Contains(p.why, c.not) {
			t.Errorf("%v, %s: %q, %q, guessed %q", c.own, c.now, line, p.why, p.launch)
		}
	}
	d := started(t, 80, 24, plainLook)
	req := debugkern.Request{Target: "k.cu", Launch: []string{"--grid", "2"}, Guessed: true}
	d.m.recent.add(req, []string{"--grid", "3"})
	next := newRecent(d.m.recent.Context)
	next.restore(d.m.recent.lines, d.m.recent.guesses(), d.m.recent.launches())
	if words, was := next.last("k.cu"); !next.guessed[next.line(words)] || was != "--grid 3" {
		t.Errorf("restored %q, source %q, guessed %v", words, was, next.guessed)
	}
}

// TestTakenProposal: a launch is a guess as long as its grid or its block is the one that was proposed;
// what the person had given is none.
func TestTakenProposal(t *testing.T) {
	lacks := &checkrun.MissingLaunch{Option: "grid", Example: &scaffold.Example{Kernel: "k",
		Options: []string{"--grid", "3", "--block", "32,8", "--arg", "x=zeros:f32[8]"}}}
	for _, c := range []struct {
		given, opened string
		want          bool
	}{
		{"k.cu", "k.cu --grid 3 --block 32,8 --arg x=zeros:f32[8]", true},
		{"k.cu", "k.cu --grid 3 --block 64 --arg x=zeros:f32[9]", true},
		{"k.cu", "k.cu --grid=2 --block=32,8", true},
		{"k.cu", "k.cu --grid 2 --block 64 --arg x=zeros:f32[8]", false},
		{"k.cu --grid 3", "k.cu --grid 3 --block 16", false},
	} {
		p, line := propose(strings.Fields(c.given), nil, "", sourceLaunch{}, lacks)
		if line == "" {
			t.Fatalf("%s: nothing proposed", c.given)
		}
		if got := p.taken(strings.Fields(c.opened)); got != c.want {
			t.Errorf("%s after %s: %v", c.opened, c.given, got)
		}
	}
	o := Opened{Reopen: func(context.Context) (debugkern.Request, error) { return debugkern.Request{}, nil }}
	o.guess()
	if again, _ := o.Reopen(t.Context()); !o.Request.Guessed || !again.Guessed {
		t.Errorf("opened %+v, again %+v", o.Request, again)
	}
}

// TestOtherwise: of a launch that the source makes, structs and memory of the same source count as numbers
// do; memory that a person made in another way is no difference.
func TestOtherwise(t *testing.T) {
	own := []string{"k.cu", "--grid", "2", "--arg", "s={0: 6:i32,4: 1:f32}", "--arg", "idx=list(1,2):i32[2]",
		"--arg", "at=at.npy", "--arg", "out=zeros:f32[8]", "--arg", "n=4"}
	source := []string{"--grid", "2,1", "--arg", "s={0: 6:i32, 4: 1:f32}", "--arg", "idx=list(1,3):i32[2]",
		"--arg", "at=list(0,1):i32[2]", "--arg", "out=zeros:f32[9]", "--arg", "n=5"}
	if got := strings.Join(otherwise(own, source), " "); got != "idx=list(1,3):i32[2] out=zeros:f32[9] n=5" {
		t.Errorf("otherwise: %s", got)
	}
	got := strings.Join(withSource(own, source, nil), " ")
	if want := "k.cu --grid 2,1 --arg s={0: 6:i32, 4: 1:f32} --arg idx=list(1,3):i32[2] --arg at=at.npy " +
		"--arg out=zeros:f32[9] --arg n=5"; got != want {
		t.Errorf("with the source's: %s\nwant %s", got, want)
	}
}
