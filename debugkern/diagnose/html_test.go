package diagnose

import (
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
)

// Lines that a page has no room for are counted.
func TestExcerptsCountWhatTheyLeaveOut(t *testing.T) {
	d, err := excerptedRun(t)
	if err != nil {
		t.Fatal(err)
	}
	file := ""
	for _, in := range d.Executed.Entry().Body {
		if l := in.Loc.Outermost(); l != nil {
			file = l.Name
		}
	}
	lines := d.Executed.Source(file)
	if len(lines) < 200 {
		t.Fatalf("%s has %d lines", file, len(lines))
	}
	var places []*report.Source
	for n := 10; n < 200; n += 20 {
		places = append(places, &report.Source{File: file, Line: n})
	}
	es := d.excerpts(places)
	if len(es) != 1 || len(es[0].Lines) != excerptMost {
		t.Fatalf("%d excerpts", len(es))
	}
	shown := 0
	for _, l := range es[0].Lines {
		if l.Guilty {
			shown++
		}
	}
	if es[0].Left == 0 || shown+es[0].Left != len(places) {
		t.Errorf("%d lines shown and %d left out of %d", shown, es[0].Left, len(places))
	}
}

func excerptedRun(t *testing.T) (*Diagnosis, error) {
	s, err := debugkern.Open(t.Context(), debugkern.Options{})
	if err != nil {
		return nil, err
	}
	run, err := s.Run(t.Context(), debugkern.Request{Target: "stage2", Shape: "single16", Backend: "emu"}, nil)
	return &Diagnosis{Executed: run}, err
}
