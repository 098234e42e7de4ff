package diagnose

import (
	"fmt"
	"regexp"

	"tilescope/debugkern/report"
)

// readAs matches a finding on a NaN that an input has, with the type that the operation takes it for.
var readAs = regexp.MustCompile(`loaded from (\w+)\[.*where the input has it: [\w.:]*\.(b?f\d+)(?:x2)?\(`)

// readAsAnother says of a NaN that is no number of an input, but what its bits are as another type, which two
// types these are, and what to read it as; "" of another one.
func (q *inquiry) readAsAnother(f *report.Finding) (why, advice string) {
	m := readAs.FindStringSubmatch(f.Message)
	if m == nil {
		return "", ""
	}
	a := q.run.Plan.Arg(m[1])
	if a == nil || !a.Pointer || a.DType.String() == m[2] || !a.DType.Float() {
		return "", ""
	}
	why = fmt.Sprintf("the elements of %s are %s, and are read as %s here: the NaN is no number that %s has",
		m[1], a.DType, m[2], m[1])
	return why, fmt.Sprintf("read %s as %s", m[1], a.DType)
}
