package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern"
)

// withOpen is an opener that knows stage1, and refuses everything else.
func withOpen(asked *[]string) func(*Options) {
	return func(o *Options) {
		o.Open = func(_ context.Context, words []string) (Opened, error) {
			*asked = words
			if words[0] != "stage1" {
				return Opened{}, errors.New("--grid is missing; expected X[,Y[,Z]]")
			}
			return Opened{Request: debugkern.Request{Target: words[0], Seed: 7}}, nil
		}
	}
}

// TestOpen: :open, and :target, run what the words of a command line name; a refusal leaves the run as it is.
func TestOpen(t *testing.T) {
	var asked []string
	d := started(t, 120, 40, plainLook, withOpen(&asked))
	runs := len(d.e.Asked())
	d.command("open 'my k.cu' --block 256").hasStatus("--grid is missing")
	if !slices.Equal(asked, []string{"my k.cu", "--block", "256"}) || len(d.e.Asked()) != runs ||
		d.m.Task.Active {
		t.Errorf("asked %q, %d runs", asked, len(d.e.Asked())-runs)
	}
	d.command("open 'my").hasStatus("a quote has no end")
	d.command("target stage1 --seed 7").hasStatus("opened stage1")
	if got := d.m.Req; got.Target != "stage1" || got.Seed != 7 {
		t.Errorf("runs %+v", got)
	}
	started(t, 120, 40, plainLook).command("open x.cu").hasStatus("`tilescope FILE`")
}

// TestOpenable: of the files, those that can be opened are offered, and folders.
func TestOpenable(t *testing.T) {
	d := started(t, 120, 40, plainLook)
	t.Chdir("../configs")
	got := strings.Join(d.m.palette().openable("kernels/gemm"), " ")
	if !strings.Contains(got, "kernels/gemm_wmma.yaml") || strings.Contains(got, ".go") {
		t.Errorf("offered %s", got)
	}
	if got := d.m.palette().openable("stage"); !slices.Contains(got, "stage2") {
		t.Errorf("offered %s", got)
	}
	if got := d.m.palette().openable("k.cu --"); got != nil {
		t.Errorf("after the file: %s", got)
	}
}
