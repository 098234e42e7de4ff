package diagnose

import (
	"slices"
	"strings"

	"tilescope/debugkern"
	"tilescope/debugkern/ptx"
)

// What one warp writes and another reads, in every iteration of a loop, needs an order there and back: a
// barrier behind the write, and one behind the read. One of them alone leaves the other race.

// mostPairs is how many pairs of barriers are tried for races that go both ways.
const mostPairs = 25

// bothWays tries barriers of two races of one array at once, where no change of one puts all of a cause
// right, and makes those that do the remedy of the lead.
func (q *inquiry) bothWays(lead *suspect, all []*suspect) (bool, error) {
	var races []*suspect
	for _, s := range all {
		if s.cause.Kind == "race" && s.cause.Place.Variable == lead.cause.Place.Variable {
			races = append(races, s)
		}
	}
	if lead.cause.Kind != "race" || len(races) != 2 || lead.exclusive {
		return false, nil
	}
	barriers := func(s *suspect) []remedy {
		return slices.DeleteFunc(q.candidates(s), func(r remedy) bool {
			return !strings.HasPrefix(r.advice, "put "+blockSync.source+" between ")
		})
	}
	tried := 0
	for _, there := range barriers(races[0]) {
		for _, back := range barriers(races[1]) {
			if tried++; tried > mostPairs {
				return false, nil
			}
			r := &remedy{
				text:   there.text + " and " + strings.TrimPrefix(back.text, "with "),
				advice: there.advice + ", and " + strings.TrimPrefix(back.advice, "put "),
				edits: func(run *debugkern.Run) []ptx.Edit {
					return slices.Concat(there.edits(run), back.edits(run))
				},
			}
			alone, err := q.try(nil, r)
			if err != nil {
				return false, err
			}
			if alone != nil && q.nothingWrong(alone) {
				lead.remedy, lead.alone = r, alone
				return true, nil
			}
		}
	}
	return false, nil
}
