package cli

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tilescope/configs"
	"tilescope/debugkern"
	"tilescope/probes"
)

// TestCommandLineMakesTheSameRequest: what a request's command line means to a shell and to this program,
// under a configuration, is the request again.
func TestCommandLineMakesTheSameRequest(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh here: command lines are not parsed")
	}
	blocks, err := debugkern.ParseBlocks("0-1,*,0")
	if err != nil {
		t.Fatal(err)
	}
	tiles, err := debugkern.ParseTiles("1-2")
	if err != nil {
		t.Fatal(err)
	}
	requests := []debugkern.Request{
		{Target: "stage2"},
		{Target: "stage2", Shape: "mission", Seed: 18446744073709551615, Backend: "emu", Builder: "nvrtc",
			Arch: "sm_80", Schedule: "random:7", Device: 3, Repeat: 5, Resident: 2, Cooperative: true},
		{Target: "stage2", Shape: "1,2,49,64", Gate: probes.GateNamed("pv"), Inject: "uniform",
			Faults: []string{"p-stale-m", "sync-p"}, Set: map[string]string{"USE_KV_LUT": "1",
				"USE_CP_ASYNC": "0"}},
		{Target: "my kernels/it's $HOME;`x`.yaml", Inputs: "in put's.npz", Include: []string{"a b", "-odd"},
			Define: []string{`NAME="quoted text"`, "EMPTY="}, Std: "c++20",
			Instantiate: []string{"k<64, 128>", "n::m<float*>"}},
		{Target: "new\nline.yaml", Blocks: blocks, Tiles: tiles, Stages: debugkern.ParseStages("S,P")},
	}
	for _, env := range [][]string{nil, {
		"TILESCOPE_SHAPE=long", "TILESCOPE_SEED=7", "TILESCOPE_FAULTS=s-overrun",
		"TILESCOPE_FLAGS=USE_KV_LUT=0",
		"TILESCOPE_GATE=qk", "TILESCOPE_BACKEND=cuda", "TILESCOPE_BUILDER=nvcc", "TILESCOPE_ARCH=sm_90",
		"TILESCOPE_SCHEDULE=reverse", "TILESCOPE_DEVICE=1", "TILESCOPE_REPEAT=3",
	}} {
		for _, want := range requests {
			config := loaded(t, env)
			line := want.CommandLine(config)
			got := parsed(t, shell, env, line)
			if !reflect.DeepEqual(plainRequest(got), plainRequest(want)) {
				t.Errorf("%s\n  is   %+v\n  was  %+v", line, plainRequest(got), plainRequest(want))
			}
		}
	}
	check := debugkern.Request{Target: "it's.cu", Launch: []string{"--grid", "4", "--arg",
		"x=randn:f32[8]"}, Seed: 2}
	if got, want := check.CommandLine(loaded(t, []string{"TILESCOPE_SEED=9"})),
		`tilescope check 'it'\''s.cu' --grid 4 --arg 'x=randn:f32[8]' --seed 2`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}

func loaded(t *testing.T, env []string) *configs.Config {
	t.Helper()
	c, _, err := configs.Load(t.Context(), configs.LoadOptions{Env: append([]string{}, env...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parsed is the request of a command line: a shell takes it apart, and this program's options read its words.
func parsed(t *testing.T, shell string, env []string, line string) debugkern.Request {
	t.Helper()
	script := "tilescope() { printf '%s\\0' \"FAULTS=$TILESCOPE_FAULTS\" \"FLAGS=$TILESCOPE_FLAGS\" \"$@\"; }\n" + line
	cmd := exec.Command(shell, "-c", script)
	if bash, err := exec.LookPath("bash"); err == nil {
		cmd = exec.Command(bash, "-c", script) // $'…' is of bash, zsh and ksh
	}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(words) < 4 || words[2] != "run" {
		t.Fatalf("%s: words %q", line, words)
	}
	var under []string
	for _, e := range env {
		if !strings.HasPrefix(e, "TILESCOPE_FAULTS=") && !strings.HasPrefix(e, "TILESCOPE_FLAGS=") {
			under = append(under, e)
		}
	}
	config := loaded(t, append(under, "TILESCOPE_"+words[0], "TILESCOPE_"+words[1]))
	var req debugkern.Request
	var opt runOptions
	c := &cobra.Command{Use: "run", Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if req, err = opt.request(c, config, args[0]); err == nil {
				err = opt.applyGate(t.Context(), &req, args[0])
			}
			return err
		}}
	opt.bind(c)
	c.SetArgs(words[3:])
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return req
}

// plainRequest is a request with its defaults written in one way.
func plainRequest(r debugkern.Request) debugkern.Request {
	for _, f := range []struct {
		value *string
		usual string
	}{{&r.Shape, "validation"}, {&r.Inject, "reference"}, {&r.Backend, "auto"}, {&r.Builder, "auto"},
		{&r.Schedule, "in-order:0"}} {
		if *f.value == "" {
			*f.value = f.usual
		}
	}
	if r.Repeat == 0 {
		r.Repeat = 10
	}
	r.Timeout = 0
	for _, list := range []*[]string{&r.Faults, &r.Include, &r.Define, &r.Instantiate} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(r.Set) == 0 {
		r.Set = nil
	}
	return r
}
