package diagnose

import (
	"fmt"

	"tilescope/probes"
)

// storedAway makes the store of a block that leaves its tile of the output where another belongs the reason
// of a suspect; false where no block does.
func (q *inquiry) storedAway(s *suspect, st probes.Stage, block probes.Dim3) (bool, error) {
	away, err := q.base.StoredAway(q.ctx, st, block)
	if err != nil || away == nil || away.At == nil {
		return false, q.fatal(err)
	}
	text := fmt.Sprintf("block %s stores its tile of %s from %s on", block, st, away.First)
	if away.First != away.Where {
		text += fmt.Sprintf(", where %s belongs", away.Where)
	}
	for _, step := range away.Steps {
		text += "; " + step.Text()
	}
	s.cause.Place.Source = away.At
	s.cause.Title += "; stored at " + callText(away.At)
	s.cause.Proof = append(s.cause.Proof, text)
	s.cause.why = text
	s.cause.Advice = q.citing("look at the index by which the output is stored at "+callText(away.At), ": ",
		away.At)
	return true, nil
}
