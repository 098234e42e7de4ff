package debugkern

import (
	"strings"

	"tilescope/debugkern/attn"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// backends are the values of --backend.
var backends = []string{"auto", "emu", "cuda", "both"}

// backend returns what a request executes on: auto is the emulator, until a GPU backend answers.
func (s *Session) backend(req Request) (target.Backend, error) {
	switch req.Backend {
	case "", "auto", "emu":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.emulator == nil {
			s.emulator = emu.New()
		}
		return s.emulator, nil
	case "cuda", "both":
		return nil, unavailable("backend %s: this version does not launch on a GPU; use --backend emu", req.Backend)
	}
	return nil, usage("--backend %s: expected %s", req.Backend, strings.Join(backends, ", "))
}

// reference returns the reference of a plan and inputs; the last is kept, so that a flag toggled live does not compute
// the same reference again.
func (s *Session) reference(r *resolved, in *attn.Inputs) (*attn.Reference, error) {
	ref, err := attn.New(r.plan, in, attn.Options{Uniform: r.uniform})
	if err != nil {
		return nil, usage("%w", err)
	}
	return ref, nil
}

// inputs turns the arrays of an --inputs file into a problem.
func (f *npzInputs) inputs(shape probes.Shape, p *probes.Plan, path string) (*attn.Inputs, error) {
	in := &attn.Inputs{Shape: shape, X: f.x}
	if f.bytes[0] == nil {
		in.Prepare(p)
		return in, nil
	}
	if p.Quant == nil {
		return nil, usage("--inputs %s: kernel %s takes half inputs; give Qx Kx Vx", path, p.Kernel)
	}
	in.Bytes, in.Scales, in.Quant = f.bytes, f.scales, p.Quant
	in.FillX()
	return in, nil
}

// toolchainConfig says where to look for NVRTC.
func (s *Session) toolchainConfig() cuda.Config {
	if s.config == nil {
		return cuda.Config{}
	}
	return cuda.Config{Path: s.config.Toolchain}
}
