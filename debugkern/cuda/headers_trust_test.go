package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/trust"
)

// TestHeadersNeedConsent: headers of the working directory are used only where the directory was trusted, and
// not where something else of the same folder was refused.
func TestHeadersNeedConsent(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(dir, ".toolchain")
	ptxas := filepath.Join(tools, "nvidia", "cuda_nvcc", "bin", "ptxas")
	for _, path := range []string{
		filepath.Join(tools, "nvidia", "cuda_runtime", "include", "mma.h"),
		filepath.Join(tools, "nvidia", "cuda_nvcc", "include", "crt", "mma.h"), ptxas,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/false\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, v := range []string{"CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "PATH"} {
		t.Setenv(v, "")
	}
	record := &trust.Record{Path: filepath.Join(t.TempDir(), "trusted.json")}
	check := func(what string, policy *trust.Policy, used bool) {
		t.Helper()
		parts := Inspect(t.Context(), Config{Trust: policy})
		p := parts[slices.IndexFunc(parts, func(p Part) bool { return p.Name == "headers" })]
		if strings.Contains(p.Path, dir) != used ||
			strings.Contains(p.Detail, "not trusted: "+tools) == used {
			t.Errorf("%s: path %q, detail %q, want used %v", what, p.Path, p.Detail, used)
		}
	}
	check("no record", nil, false)
	check("no consent", &trust.Policy{Record: record}, false)
	check("--trust", &trust.Policy{Accept: true}, true)
	if _, err := record.Add(t.Context(), tools, Executables(tools)); err != nil {
		t.Fatal(err)
	}
	check("consent", &trust.Policy{Record: record}, true)
	if err := os.WriteFile(ptxas, []byte("#!/bin/true\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	check("consent to another ptxas", &trust.Policy{Record: record}, false)
}
