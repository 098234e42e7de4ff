package child

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	given := []string{"PATH=/bin", "LC_ALL=C", "CUDA_HOME=/cuda", "Path=x", "GITHUB_TOKEN=hunter2",
		"GOOGLE_APPLICATION_CREDENTIALS=x",
		"AWS_SECRET_ACCESS_KEY=x", "LD_PRELOAD=x", "=C:=x", "PYTHONPATH=/lib", "CONDA_TOKEN=x",
		"VIRTUAL_ENV=/venv"}
	if got := CompilerEnvironment(given); !slices.Equal(got,
		[]string{"PATH=/bin", "LC_ALL=C", "CUDA_HOME=/cuda", "Path=x"}) {
		t.Errorf("a compiler gets %q", got)
	}
	if got := ProgramEnvironment(given); !slices.Equal(got,
		[]string{"PATH=/bin", "LC_ALL=C", "CUDA_HOME=/cuda", "Path=x", "PYTHONPATH=/lib",
			"VIRTUAL_ENV=/venv"}) {
		t.Errorf("a program gets %q", got)
	}
	if CompilerEnvironment(nil) == nil || ProgramEnvironment(nil) == nil {
		t.Error("no variables are all of them to os/exec")
	}
}
