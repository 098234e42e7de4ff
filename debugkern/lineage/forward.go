package lineage

import (
	"context"
	"errors"
)

// Interpret executes a trace with abstract values of d. see, which may be nil, is called for each destination register that a Domain's
// operation gave a value (Op and Dot; of a packed one for each part), store, which may be nil, for each value stored to
// global memory. Both are called in the order of execution.
func Interpret[T any](ctx context.Context, t *Trace, d Domain[T], see func(op *Op, x T), store func(s *Store, x T)) error {
	return errors.New("lineage is not built yet")
}
