package input

import "context"

// chunk is how many elements are worked on between two looks at the context: a millisecond of the
// slowest work on them.
const chunk = 1 << 14

// inChunks calls f with consecutive ranges that make up [lo, hi), until the context ends: its
// error is then returned.
func inChunks(ctx context.Context, lo, hi int, f func(lo, hi int)) error {
	for ; lo < hi; lo += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		f(lo, min(lo+chunk, hi))
	}
	return ctx.Err()
}
