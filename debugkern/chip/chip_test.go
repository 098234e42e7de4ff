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
	for _, x := range []struct{ threads, blocks, want int }{
		{384, 1, 168}, {384, 2, 80}, {416, 1, 128}, {512, 1, 128}, {1000, 1, 64}, {128, 1, 255}, {1, 4, 128},
	} {
		if got := c.Registers(x.threads, x.blocks); got != x.want {
			t.Errorf("%d registers for %d blocks of %d threads, want %d", got, x.blocks, x.threads, x.want)
		}
	}
	if c.Arch != c.Arithmetic.Name() {
		t.Errorf("%s computes as %s", c.Arch, c.Arithmetic.Name())
	}
}
