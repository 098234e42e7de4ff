package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tilescope/debugkern/report"
)

// nothing is the share of the error below which a cause explains none of it, and everything that above
// which it explains all.
const (
	nothing    = 0.005 // what is printed as 0 %
	everything = 0.999
)

// hidden is the share of a cause that explains nothing as long as another stands that spoils the same cells.
const hidden = "none alone"

// rank puts causes in the order in which a person should look at them: why something was not captured, for
// nothing is known of that; those that explain more of the error, then those that could not be tried, which
// may explain anything, then those that were tried and explain nothing. Equals stay as they are. It marks the
// last where no error is left for them to explain.
func (q *inquiry) rank() {
	class := func(c *Cause) int {
		switch {
		case report.Uncaptures(c.Kind):
			return -1
		case c.Share == nil:
			return 1
		case float64(*c.Share) < nothing:
			return 2
		}
		return 0
	}
	causes := q.doc.Causes
	whole := slices.ContainsFunc(causes, func(c Cause) bool {
		return c.Share != nil && float64(*c.Share) >= everything
	})
	for i := range causes {
		c := &causes[i]
		c.AlsoFound = class(c) == 2 && (whole || len(c.Stages) == 0)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(class(&a), class(&b)), cmp.Compare(shareOf(&b), shareOf(&a)))
	})
}

// shareOf is a cause's share in whole per cent, as it is printed; 0 where it has none.
func shareOf(c *Cause) float64 {
	if c.Share == nil {
		return 0
	}
	return math.Round(100 * float64(*c.Share))
}

// Short is a cause in a few words, without its place: "race on sP, U_smem".
func (c *Cause) Short() string {
	on := strings.Join(c.Place.Variables, ", ")
	if on == "" {
		on = c.Place.Variable
	}
	switch {
	case c.Kind == kindStage:
		short, _, _ := strings.Cut(c.Title, ", first")
		return short
	case c.Kind == kindTable:
		return strings.TrimSpace("fragment table " + on)
	case on != "":
		return c.Kind + " on " + on
	}
	return c.Kind
}

// SharePhrase says of what the share is: "100 % of the error"; of a part, which need not add up with those of
// other causes, "alone 43 % of O's error". "" where there is none.
func (c *Cause) SharePhrase() string {
	switch share := c.ShareText(); {
	case share == "":
		return ""
	case share == hidden:
		return "none of the error alone"
	case c.ShareOf == "" || c.AlsoFound || float64(*c.Share) >= everything:
		return share + " of the error"
	default:
		return fmt.Sprintf("alone %s of %s's error", share, c.ShareOf)
	}
}

// ShareText says how much of the error goes when this cause alone is put right; "" where that
// could not be tried.
func (c *Cause) ShareText() string {
	switch {
	case c.Share == nil:
		return ""
	case float64(*c.Share) >= nothing:
		return fmt.Sprintf("%.0f %%", 100*float64(*c.Share))
	case c.AlsoFound:
		return "none"
	}
	return hidden
}
