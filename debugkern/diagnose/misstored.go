package diagnose

import (
	"fmt"
	"strings"

	"tilescope/debugkern/report"
	"tilescope/probes"
)

// A row that reads another row's value from shared memory has either a wrong index itself, or reads what was
// stored by one. Where all rows read at their own indices it is the store.

// misstored makes the store of a value in another row's place the place of a suspect's departure; false where
// it is not known to be the store.
func (q *inquiry) misstored(
	s *suspect, st probes.Stage, b *report.BadCell, d *difference,
) (bool, error) {
	list, err := q.base.Misstored(q.ctx, st, b.Block, max(b.KVTile, 0), [2]int{b.Row, b.Col})
	if err != nil || len(list) == 0 || list[0].At == nil {
		return false, q.fatal(err)
	}
	var texts []string
	for _, x := range list {
		where := fmt.Sprintf("%s[%d]", x.Variable, x.Slot)
		text := fmt.Sprintf("row %d of %s is stored at %s by %s", x.Row, x.Of, where, callText(x.At))
		lines := q.run.Source(x.At.File)
		if x.At.Line >= 1 && x.At.Line <= len(lines) {
			if index := brackets(lines[x.At.Line-1], x.Variable); len(index) == 1 {
				text += ", whose index is " + strings.TrimSpace(index[0])
			}
		}
		texts = append(texts, text)
	}
	d.text += fmt.Sprintf("; %s; every row of %s reads at its own index", strings.Join(texts, "; "), st)
	s.misstored = &access{at: list[0].At, variable: list[0].Variable}
	d.at, d.other = list[0].At, nil
	d.look = "look at the index by which " + list[0].Of + " is stored at " + callText(d.at)
	return true, nil
}
