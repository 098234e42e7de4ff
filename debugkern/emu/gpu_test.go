package emu

import (
	"os"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// The tests of this file compare a GPU with the expectations of the emulator's tests. They need an NVIDIA GPU
// and a built tilescope, which is its own worker:
//
//	go test -c -o emu.test ./debugkern/emu
//	TILESCOPE_GPU=1 TILESCOPE_BIN=bin/tilescope ./emu.test -test.run GPU -test.v

// openGPU opens the GPU served by the program that TILESCOPE_BIN names.
func openGPU(t *testing.T) target.Backend {
	t.Helper()
	bin := os.Getenv("TILESCOPE_BIN")
	if os.Getenv("TILESCOPE_GPU") == "" || bin == "" {
		t.Skip("needs an NVIDIA GPU and a built program: set TILESCOPE_GPU=1 and TILESCOPE_BIN")
	}
	b, err := cuda.Open(t.Context(), cuda.BackendConfig{Worker: cuda.Local{bin, "__worker"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func loadOn(t *testing.T, b target.Backend, name, text string) target.Kernel {
	t.Helper()
	m, err := ptx.Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	k, err := b.Load(t.Context(), m, m.Entries()[0].Name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return k
}

// elsewhere says why a GPU has another answer to an operation, "" where it has none.
func (c *opCase) elsewhere(guard bool) string {
	switch op, _, _ := strings.Cut(c.instr, "."); {
	case op == "cvta" || op == "isspacep":
		return "the windows of generic addresses lie elsewhere on a GPU"
	case op == "createpolicy":
		return "the bits of a cache policy are the chip's own; the emulator has no caches"
	case op == "set" && guard && strings.Contains(c.instr, "f16"):
		return "ptxas 13.0 does not keep the half register of lanes that the guard of a set switches off"
	case op == "testp" && guard:
		return "ptxas 13.0 does not keep the predicate of lanes that the guard of a testp switches off"
	}
	return ""
}

// TestGPUOps executes every line of the operation tables: all lanes with inputs of their own, and
// half of them switched off.
func TestGPUOps(t *testing.T) {
	b := openGPU(t)
	cases := readOps(t)
	for _, c := range cases {
		t.Run(c.place, func(t *testing.T) {
			for _, guard := range []bool{false, true} {
				if why := c.elsewhere(guard); why != "" {
					t.Log(why)
					continue
				}
				k := loadOn(t, b, c.place, c.module(guard))
				for first := 0; first < len(c.inputs); first += 32 {
					c.check(t, k, guard, func(lane int) int { return (first + lane) % len(c.inputs) })
				}
			}
		})
	}
	t.Logf("%d instructions on %s", len(cases), b.Info().Device)
}

// TestGPUKernels runs the kernels that are free of races, faults and findings.
func TestGPUKernels(t *testing.T) {
	b := openGPU(t)
	for _, k := range readKernels(t) {
		if racy[k.name] || k.fault != "" || len(k.findings) > 0 {
			continue
		}
		t.Run(k.name, func(t *testing.T) { k.check(t, loadOn(t, b, k.name, k.text), k.launch()) })
	}
}
