package dl

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestOpenAndBind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names a library that every Linux has")
	}
	lib, err := Open("libc.so.6")
	if errors.Is(err, ErrUnsupported) || err != nil && strings.Contains(err.Error(), "musl") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var strlen func(string) uint
	if err := lib.Bind(&strlen, "strlen"); err != nil {
		t.Fatal(err)
	}
	if n := strlen("tile\x00scope"); n != 4 {
		t.Errorf("strlen returned %d", n)
	}
	var nothing func()
	if err := lib.Bind(&nothing, "no_such_symbol_here"); err == nil ||
		!strings.Contains(err.Error(), "no_such_symbol_here") {
		t.Errorf("a missing symbol: %v", err)
	}
}

func TestOpenMissing(t *testing.T) {
	_, err := Open("/nonexistent/libnothing.so")
	if err == nil || !strings.HasPrefix(err.Error(), "load /nonexistent/libnothing.so: ") {
		t.Errorf("got %v", err)
	}
}
