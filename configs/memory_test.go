package configs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMemoryMax: a file, a variable and an option set the limit like any other key; auto
// leaves it to the machine.
func TestMemoryMax(t *testing.T) {
	for _, c := range []struct {
		file, env, option string
		want              int64
		says              string
	}{
		{"", "", "", 0, ""}, {"memory:\n  max: 3GiB\n", "", "", 3 << 30, ""},
		{"memory:\n  max: 3GiB\n", "2GiB", "", 2 << 30, ""},
		{"memory:\n  max: 3GiB\n", "2GiB", "500MB", 500e6, ""}, {"memory:\n  max: 3GiB\n", "", "auto", 0, ""},
		{"memory:\n  max: 0\n", "", "", 0, "tilescope.yaml:2: memory.max: expected a size such as 8GiB"},
		{"", "-1GiB", "", 0, "TILESCOPE_MEMORY_MAX"}, {"", "", "lots", 0, "--memory-max: expected a size"},
		{"", "", "99999999999TiB", 0, "--memory-max"},
	} {
		o := surroundings(t)
		if c.file != "" {
			write(t, filepath.Join(o.Dir, "tilescope.yaml"), c.file)
		}
		if c.env != "" {
			o.Env = append(o.Env, "TILESCOPE_MEMORY_MAX="+c.env)
		}
		if c.option != "" {
			o.Flags = map[string]string{"memory.max": c.option}
		}
		got, _, err := Load(t.Context(), o)
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v: %v", c, err)
		case c.says == "" && (err != nil || got.MemoryMax != c.want):
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
