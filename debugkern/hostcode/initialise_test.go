package hostcode

import (
	"strings"
	"testing"
)

// TestInitialise: a variable without an initialiser gets one, on the same line; what has one, several in one
// declaration, and what only begins with the name stay as they are.
func TestInitialise(t *testing.T) {
	const text = `__constant__ float a[2][2];
__device__ __align__(16) int b; // b is set
__constant__ int c = 1;
__constant__ int d, e;
extern __constant__ int f;
__constant__ float ab[2];
__global__ void k() { __shared__ float a[4]; }
`
	lists := map[string]string{"a": "{1, 2}", "b": "{3}", "c": "{4}", "d": "{5}", "f": "{6}"}
	got, names := Initialise([]byte(text), lists)
	want := strings.Replace(
		strings.Replace(text, "a[2][2];", "a[2][2] = {1, 2};", 1),
		"int b;",
		"int b = {3};",
		1,
	)
	if string(got) != want || strings.Join(names, " ") != "a b" {
		t.Errorf("%q:\n%s", names, got)
	}
	if got, names := Initialise([]byte(text), nil); string(got) != text || names != nil {
		t.Errorf("without lists: %q", names)
	}
}
