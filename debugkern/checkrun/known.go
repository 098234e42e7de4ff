package checkrun

import (
	"context"
	"encoding/json"
	"strings"

	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// maxKnown is how large a file of known findings may be.
const maxKnown = 16 << 20

// ReadKnownFindings reads the files of --suppress, lines "ID reason", and of --baseline, an earlier document;
// "" for none. A line that is empty or begins with # is a comment.
func ReadKnownFindings(ctx context.Context, suppress, baseline string) (report.KnownFindings, error) {
	known := report.KnownFindings{}
	if suppress != "" {
		text, err := file.Read(ctx, suppress, maxKnown, file.Want{What: "a list of findings"})
		if err != nil {
			return nil, report.Unread("--suppress", err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			id, reason, _ := strings.Cut(line, " ")
			if reason = strings.TrimSpace(reason); reason == "" {
				return nil, report.Usagef(
					"--suppress %s:%d: %s has no reason; expected ID and why it does not count",
					suppress, i+1, id)
			}
			known[id] = reason
		}
	}
	if baseline != "" {
		text, err := file.Read(ctx, baseline, maxKnown, file.Want{What: "a document of check"})
		if err != nil {
			return nil, report.Unread("--baseline", err)
		}
		var d report.Check
		if err := json.Unmarshal(text, &d); err != nil || d.Schema != report.CheckSchema {
			return nil, report.Usagef("--baseline %s: expected a document %s, as check --json prints it",
				baseline, report.CheckSchema)
		}
		for _, f := range d.Findings {
			if known[f.ID] == "" {
				known[f.ID] = "in the baseline"
			}
		}
	}
	return known, nil
}
