package debugkern

import (
	"context"
	"testing"
)

func openSession(t testing.TB) *Session {
	t.Helper()
	s, err := Open(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
