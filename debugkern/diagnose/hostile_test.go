package diagnose

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tilescope/debugkern"
	"tilescope/debugkern/report"
	"tilescope/debugkern/text"
)

// TestHostileTextInPageAndSARIF: foreign text is neither obeyed nor markup in what diagnose writes.
func TestHostileTextInPageAndSARIF(t *testing.T) {
	for _, evil := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "[a](https://example.org)",
		"\x1b]52;c;ZXZpbA==\x07", "\u009b31m", "\u202egnp.exe", "a\u200bb\u2066c", "a\rb", "\U000e0041",
		"{{.Title}}",
	} {
		place := &report.Source{File: evil, Line: 3, Function: evil, Text: evil}
		d := &Diagnosis{
			Run: report.Run{
				Target: evil, Kernel: evil, Verdict: report.Diverge,
				Backend: report.Backend{Device: evil, Builder: evil},
				Findings: []report.Finding{
					{Kind: "race", Severity: "error", Message: evil, Variable: evil, Source: place,
						Other: place, Missing: &evil, Consequence: evil},
				},
			},
			Executed: &debugkern.Run{},
			Causes: []Cause{
				{Kind: "race", Title: evil, Alone: evil, Proof: []string{evil}, Advice: evil, Again: evil,
					Stages: []string{evil}},
			},
			Story: []string{evil}, Barriers: []BarrierDoc{{Instr: evil, Because: evil, Source: place}},
			again: debugkern.Request{Target: evil}.Command("diagnose"),
		}
		var page, log bytes.Buffer
		if err := d.WriteHTML(&page, evil); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteSARIF(&log, evil); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]string{"page": page.String(), "log": log.String()} {
			if i := strings.IndexFunc(s, func(r rune) bool {
				return text.Hidden(r) && r != '\n' && r != '\t'
			}); i >= 0 {
				t.Errorf("%q: the %s has hidden characters at %.30q", evil, name, s[i:])
			}
		}
		if s := page.String(); strings.Contains(s, "<script") || strings.Contains(s, "<img src=x") ||
			strings.Count(s, "<h1>") != 1 {
			t.Errorf("%q is markup in\n%s", evil, s)
		}
		var back struct {
			Runs []struct {
				Invocations []struct{ CommandLine string }
				Results     []struct{ Message struct{ Text string } }
			}
		}
		if err := json.Unmarshal(log.Bytes(), &back); err != nil {
			t.Fatalf("%q: %v", evil, err)
		}
		for _, r := range back.Runs[0].Results {
			for _, m := range []string{r.Message.Text, back.Runs[0].Invocations[0].CommandLine} {
				if i := strings.IndexFunc(m, func(r rune) bool {
					return text.Hidden(r) && r != '\n'
				}); i >= 0 {
					t.Errorf("%q: message %q", evil, m)
				}
			}
			if strings.Contains(strings.ReplaceAll(r.Message.Text, `\](`, ""), "](") {
				t.Errorf("%q is a link in %q", evil, r.Message.Text)
			}
		}
		if n := len(back.Runs[0].Results); n != 2 {
			t.Errorf("%d results", n)
		}
	}
}
