package budget

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unknown is what a machine is taken to have that does not say.
const unknown = 8 << 30

// Default is half of the memory that this process may use: the machine's, or that of its control group
// where that is less.
func Default() int64 { return half("/proc", "/sys/fs/cgroup") }

// half is Default with the places of the system's files.
func half(proc, cgroup string) int64 {
	total := int64(unknown)
	if n, ok := memTotal(filepath.Join(proc, "meminfo")); ok {
		total = n
	}
	for _, path := range limitFiles(filepath.Join(proc, "self", "cgroup"), cgroup) {
		if n, ok := limitIn(path); ok && n < total {
			total = n
		}
	}
	return total / 2
}

// memTotal reads MemTotal of a meminfo, in bytes.
func memTotal(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err == nil && n > 0 && n < 1<<50
		}
	}
	return 0, false
}

// limitFiles lists the files with the limits of the process's control group and of those around it, of both
// versions of control groups (Linux Documentation, cgroup-v2 "memory.max", cgroup-v1
// "memory.limit_in_bytes").
func limitFiles(self, root string) []string {
	out := []string{filepath.Join(root, "memory.max"), filepath.Join(root, "memory", "memory.limit_in_bytes")}
	text, err := os.ReadFile(self)
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		base, name := root, "memory.max"
		if f[1] == "memory" {
			base, name = filepath.Join(root, "memory"), "memory.limit_in_bytes"
		} else if f[1] != "" {
			continue
		}
		for dir := filepath.Clean("/" + f[2]); dir != "/"; dir = filepath.Dir(dir) {
			out = append(out, filepath.Join(base, dir, name))
		}
	}
	return out
}

// limitIn reads a limit in bytes; false where there is none.
func limitIn(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}
