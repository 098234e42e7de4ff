package configs

import (
	"strings"
	"testing"
)

// TestHeaderIsNoTarget: the command that judges a header is named.
func TestHeaderIsNoTarget(t *testing.T) {
	c, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Lookup("tables/lut.h"); err == nil ||
		!strings.Contains(err.Error(), "`tilescope lut tables/lut.h` judges its fragment table") {
		t.Errorf("a header: %v", err)
	}
	if _, _, err := c.Lookup("lut.hx"); err == nil || !strings.Contains(err.Error(), "unknown target") {
		t.Errorf("another file: %v", err)
	}
}
