package report

import "testing"

func TestBuilderText(t *testing.T) {
	for builder, want := range map[string]string{
		"embedded": "prebuilt PTX", "none": "PTX given", "nvrtc": "built with NVRTC",
		"nvcc": "built with nvcc",
	} {
		if got := BuilderText(builder); got != want {
			t.Errorf("%s: %q, want %q", builder, got, want)
		}
	}
}
