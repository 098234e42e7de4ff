package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tilescope/debugkern/target"
)

// ErrNoPTXAS is returned by Assemble where the toolchain has no ptxas.
var ErrNoPTXAS = errors.New("no ptxas found")

// Assemble runs `ptxas -v` on a module for a real architecture (sm_80, sm_90, …) and returns what its entry
// was allotted. Errors carry ptxas's own words, located in the PTX where it says so.
func (t *Toolchain) Assemble(ctx context.Context, ptx []byte, entry, arch string) (*target.Resources, error) {
	if t.PTXAS == "" {
		return nil, ErrNoPTXAS
	}
	dir, err := os.MkdirTemp("", "tilescope-ptxas-")
	if err != nil {
		return nil, fmt.Errorf("ptxas: %w", err)
	}
	defer os.RemoveAll(dir)
	dir = absolute(dir)
	in := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(in, ptx, 0o600); err != nil {
		return nil, fmt.Errorf("ptxas: %w", err)
	}
	cmd := exec.CommandContext(ctx, t.PTXAS, "-v", "-arch="+arch, in, "-o",
		filepath.Join(dir, "kernel.cubin"))
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		words := strings.ReplaceAll(strings.TrimSpace(string(out)), in, "kernel.ptx")
		return nil, fmt.Errorf("ptxas: %w: %s", err, words)
	}
	return parseResources(out, entry, arch)
}

var (
	ptxasFunction = regexp.MustCompile(`(?:Compiling entry function|Function properties for) '?([^' \n]+)'?`)
	ptxasStack    = regexp.MustCompile(
		`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	ptxasUsed   = regexp.MustCompile(`Used (\d+) registers`)
	ptxasShared = regexp.MustCompile(`(\d+) bytes smem`)
)

// parseResources reads the report of one entry out of ptxas -v's output.
func parseResources(out []byte, entry, arch string) (*target.Resources, error) {
	r := &target.Resources{Arch: arch, Notes: parseNotes(out, entry)}
	current, found := "", false
	for line := range bytes.Lines(out) {
		if m := ptxasFunction.FindSubmatch(line); m != nil {
			current = string(m[1])
		}
		if current != entry {
			continue
		}
		if m := ptxasStack.FindSubmatch(line); m != nil {
			r.LocalBytes, r.SpillStoreBytes, r.SpillLoadBytes = number(m[1]), number(m[2]), number(m[3])
		}
		if m := ptxasUsed.FindSubmatch(line); m != nil {
			r.Registers, found = number(m[1]), true
			if s := ptxasShared.FindSubmatch(line); s != nil {
				r.SharedBytes = number(s[1])
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("ptxas: no report for entry %s in its output", entry)
	}
	return r, nil
}

// number reads digits that a regular expression has matched.
func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
