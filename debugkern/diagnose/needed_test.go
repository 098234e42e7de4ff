package diagnose

import (
	"strings"
	"testing"

	"tilescope/debugkern/needed"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/report"
)

// TestExplanationInWords has one explanation of each kind, and what its story says to change.
func TestExplanationInWords(t *testing.T) {
	mul := &needed.Value{Instr: &ptx.Instr{Op: "mul"}}
	sub := &needed.Value{Instr: &ptx.Instr{Op: "sub"}}
	l := &needed.Value{Name: "l"}
	at := &report.Source{File: "k.cu", Line: 7}
	for _, c := range []struct {
		e            needed.Explanation
		call         *report.Source
		why, changes string
	}{
		{needed.Explanation{Kind: needed.Exchanged, Value: sub}, nil,
			"the result of the subtraction (-) at k.cu:7 would have to be that of its operands exchanged",
			"at k.cu:7: exchange the operands of the subtraction (-)"},
		{needed.Explanation{Kind: needed.Without, Value: mul, Which: 1}, nil,
			"the result of the multiplication (*) at k.cu:7 would have to be its first operand alone",
			"at k.cu:7: leave out the multiplication (*): its first operand alone"},
		{needed.Explanation{Kind: needed.Equal, Value: l, User: sub, Arg: 2, Name: "m[row]"},
			&report.Source{File: "k.cu", Line: 30},
			"the second operand of the subtraction (-) at k.cu:30, l, would have to be m[row]",
			"at k.cu:30 (in what it calls, at line 7): take m[row] in place of l"},
		{needed.Explanation{Kind: needed.Operator, Value: mul, Op: "add"}, nil,
			"would have to be that of the addition (+) of its operands",
			"at k.cu:7: the addition (+) in place of the multiplication (*)"},
		{needed.Explanation{Kind: needed.Function, Value: mul, Op: "sqrt(x)"}, nil, "sqrt(x) of what it is",
			"at k.cu:7: sqrt(x), where x is what the multiplication (*) there gives"},
		{needed.Explanation{Kind: needed.Fixed, Value: mul, Name: "0", Some: true}, nil,
			"0: 2 in the place of 3 in the first of them; cells that are right have the operation",
			"at k.cu:7: 0 in place of what the multiplication (*) there gives"},
		{needed.Explanation{Kind: needed.Combined, Value: l, User: sub, Arg: 1, Op: "div", Name: "n"}, nil,
			"the first operand of the subtraction (-) at k.cu:7, l, would have to be divided by n",
			"at k.cu:7: l has to be divided by n"},
		{needed.Explanation{Kind: needed.Scaled, Value: mul, X: 0.125, Name: "the scale"}, nil,
			"would have to be 0.125 (the scale) times what it is",
			"at k.cu:7: what the multiplication (*) there gives has to be multiplied by 0.125 " +
				"(the scale)"},
	} {
		e := explanation{Explanation: c.e, at: at, call: c.call}
		e.Cells, e.Got, e.Need = 5, 3, needed.Range{Lo: 1.99999, Hi: 2.00001}
		why := e.why()
		if !strings.HasPrefix(why, "worked out backwards from 5 wrong") || !strings.Contains(why, c.why) {
			t.Errorf("kind %d: the reason is %q, expected it to have %q", c.e.Kind, why, c.why)
		}
		if got := e.change(); got != c.changes {
			t.Errorf("kind %d: the advice is %q, expected %q", c.e.Kind, got, c.changes)
		}
	}
}

// TestLeftExplanation chooses what a search for edits leaves: no constant, which was tried, and where there
// is another reason only an exact explanation of the same stage.
func TestLeftExplanation(t *testing.T) {
	doc := &report.Stage{Name: "P"}
	all := []explanation{
		{Explanation: needed.Explanation{Kind: needed.Constant}, stage: "P"},
		{Explanation: needed.Explanation{Kind: needed.Scaled}, stage: "P"},
		{Explanation: needed.Explanation{Kind: needed.Without}, stage: "U"},
	}
	s := &suspect{}
	if e := s.left(all, doc); e == nil || e.Kind != needed.Scaled {
		t.Errorf("got %+v, expected the factor", e)
	}
	doc.Local.Bad = 4
	doc.Fingerprints = []report.Fingerprint{{Name: "factor", Explains: 1}}
	if e := s.left(all, doc); e != nil {
		t.Errorf("got %+v although P is off by a factor, expected none: another stage's, or not exact", e)
	}
	all = append(all, explanation{Explanation: needed.Explanation{Kind: needed.Without}, stage: "P"})
	if e := s.left(all, doc); e == nil || e.Kind != needed.Without {
		t.Errorf("got %+v, expected the exact explanation of P", e)
	}
	doc.Fingerprints[0].Name = "term" // which says what is missing, and not where
	if e := s.left(all, doc); e == nil || e.Kind != needed.Scaled {
		t.Errorf("got %+v, expected the best that P has", e)
	}
	doc.Fingerprints[0].Name = "operand-transposed"
	if e := s.left(all, doc); e != nil {
		t.Errorf("got %+v although P looks like a mistake of its operator, expected none", e)
	}
}
