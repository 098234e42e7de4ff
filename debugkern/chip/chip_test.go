package chip

import "testing"

// TestResident compares with the occupancy of the H200 (CUDA occupancy calculator, compute capability 9.0):
// blocks, threads and shared memory limit in turn, and a block that takes all of an SM is resident once.
func TestResident(t *testing.T) {
	c := SM90()
	for _, x := range []struct{ threads, shared, perSM int }{
		{32, 0, 32}, {33, 0, 32}, {128, 0, 16}, {1024, 0, 2}, {128, 48 << 10, 4}, {128, 227 << 10, 1}, {1024,
			227 << 10, 1},
	} {
		if got := c.Resident(x.threads, x.shared); got != x.perSM*c.SMs {
			t.Errorf("%d threads, %d bytes: %d blocks, want %d an SM", x.threads, x.shared, got, x.perSM)
		}
	}
	if c.Arch != c.Arithmetic.Name() {
		t.Errorf("%s computes as %s", c.Arch, c.Arithmetic.Name())
	}
}
