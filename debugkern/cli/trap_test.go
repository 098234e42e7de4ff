package cli

import (
	"strings"
	"testing"
)

// TestTrap: a kernel that traps has a verdict and a document, every stage captured before is judged, and a
// trap that the compiler put there is reported apart from the source's own.
func TestTrap(t *testing.T) {
	whole := string(stage2PTX(t, "TS_PROBES=1"))
	last := strings.LastIndex(whole, "\tret;")
	for _, c := range []struct{ name, trap, message, consequence string }{
		{"compiler", "trap;", "the compiler proved this path undefined",
			"a local array indexed past its end"},
		{"source", "// begin inline asm\n\ttrap;\n\t// end inline asm", "the kernel executed trap", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, code, errText := runJSON(t, "run", ownManifest(t,
				[]byte(whole[:last]+"\t"+c.trap+"\n"+whole[last:]), nil), "--shape", "small",
				"--backend", "emu")
			if code != 1 || rep.Verdict != "diverge" || rep.Error != nil || len(rep.Findings) == 0 {
				t.Fatalf("exit %d, %s, %+v, stderr %s", code, rep.Verdict, rep.Error, errText)
			}
			for _, f := range rep.Findings {
				if f.Kind != "trap" || f.Severity != "error" || !strings.HasPrefix(f.Message, c.message) ||
					!strings.Contains(f.Consequence, c.consequence) ||
					(c.consequence == "") != (f.Consequence == "") || f.Source == nil || f.Source.Line == 0 {
					t.Errorf("%+v at %+v", f, f.Source)
				}
			}
			for _, s := range rep.Stages {
				if s.Verdict == "off" || s.Local.Cells == 0 && s.Global.Cells == 0 {
					t.Errorf("stage %s is not judged: %+v", s.Name, s)
				}
			}
		})
	}
}
