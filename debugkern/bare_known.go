package debugkern

import (
	"context"
	"encoding/json"
	"strings"

	"tilescope/debugkern/file"
)

// KnownFindings are findings that do not count, by id, with the reason.
type KnownFindings map[string]string

// maxKnown is how large a file of known findings may be.
const maxKnown = 16 << 20

// KnownFindings reads the files of --suppress, lines "ID reason", and of --baseline, an earlier document; "" for none. A line that is
// empty or begins with # is a comment.
func (s *Session) KnownFindings(ctx context.Context, suppress, baseline string) (KnownFindings, error) {
	known := KnownFindings{}
	if suppress != "" {
		text, err := file.Read(ctx, suppress, maxKnown, file.Want{What: "a list of findings"})
		if err != nil {
			return nil, unread("--suppress", err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			id, reason, _ := strings.Cut(line, " ")
			if reason = strings.TrimSpace(reason); reason == "" {
				return nil, usage("--suppress %s:%d: %s has no reason; expected ID and why it does not count", suppress, i+1, id)
			}
			known[id] = reason
		}
	}
	if baseline != "" {
		text, err := file.Read(ctx, baseline, maxKnown, file.Want{What: "a document of check"})
		if err != nil {
			return nil, unread("--baseline", err)
		}
		var d CheckDoc
		if err := json.Unmarshal(text, &d); err != nil || d.Schema != CheckSchema {
			return nil, usage("--baseline %s: expected a document %s, as check --json prints it", baseline, CheckSchema)
		}
		for _, f := range d.Findings {
			if known[f.ID] == "" {
				known[f.ID] = "in the baseline"
			}
		}
	}
	return known, nil
}

// Apply marks the findings that do not count, and sets the verdict by the others.
func (d *CheckDoc) Apply(known KnownFindings) {
	d.Verdict = Clean
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Suppressed = known[f.ID]; f.Suppressed == "" && f.Severity == "error" {
			d.Verdict = Findings
		}
	}
}
