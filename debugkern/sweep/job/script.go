package job

import (
	"fmt"
	"strings"

	"tilescope/debugkern/text"
)

// Script is the command of a shard for a POSIX shell; index and jobs are shell expressions: the shard's
// number and how many runs it makes at a time. It tries again where tilescope itself dies, and ends with 0
// once every run of the shard has a result, whatever the verdicts.
func (s *Shards) Script(program, index, jobs string) string {
	if s.Jobs > 0 {
		jobs = fmt.Sprint(s.Jobs)
	}
	command := fmt.Sprintf(`%s --jobs "%s" --shard "%s/%d"`,
		text.QuotedLine(append([]string{program}, s.Sweep...)), jobs, index, s.Of)
	tries := make([]string, s.Tries)
	for i := range tries {
		tries[i] = fmt.Sprint(i + 1)
	}
	// 2, 3 and 130: bad input, no backend and a cancelled sweep do not change by trying again
	return fmt.Sprintf(`(
for try in %s; do
  %s
  code=$?
  case $code in 0 | 2 | 3 | 130) exit $code ;; esac
  sleep 2
done
exit $code
)`, strings.Join(tries, " "), command)
}
