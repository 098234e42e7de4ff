package debugkern

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

// Doctor looks for everything tilescope can use. It changes nothing and downloads nothing.
func (s *Session) Doctor(ctx context.Context) *report.Doctor {
	d := &report.Doctor{Schema: report.DoctorSchema}
	add(d, report.DoctorCheck{
		Name: "emulator", OK: true,
		Detail:  fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Enables: "runs every kernel without a GPU, with every lane visible",
	})
	add(d, s.archiveCheck())
	s.toolchainChecks(ctx, d)
	s.gpuChecks(ctx, d)
	add(d, s.cacheCheck())
	add(d, terminalCheck(os.Stdout, os.Environ()))
	if h := s.far(); h != nil {
		s.hostChecks(ctx, d, h)
	}
	return d
}

func add(d *report.Doctor, c report.DoctorCheck) { d.Checks = append(d.Checks, c) }

func (s *Session) archiveCheck() report.DoctorCheck {
	c := report.DoctorCheck{
		Name: "embedded PTX", Enables: "runs the kernels of the catalogue with no compiler",
	}
	n, compiler, err := kernels.Contents()
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	c.OK, c.Version, c.Detail = true, compiler, fmt.Sprintf("%d builds", n)
	for _, m := range s.catalogue.Manifests {
		if m.Compile.Arch != "" {
			c.Detail += fmt.Sprintf("; those of %s are for %s alone", m.Name, m.Compile.Arch)
		}
	}
	return c
}

// toolchainEnables lists what each part of a toolchain makes possible.
var toolchainEnables = map[string]string{
	"NVRTC":   "builds any flag combination, and kernels of your own, in a child process",
	"headers": "sources that include mma.h and cuda_fp16.h",
	"ptxas":   "reports registers, shared memory and spills",
}

func (s *Session) toolchainChecks(ctx context.Context, d *report.Doctor) {
	for _, p := range cuda.Inspect(ctx, s.builder.Tools()) {
		add(d, report.DoctorCheck{
			Name: p.Name, OK: p.Found, Version: p.Version, Path: p.Path, Detail: p.Detail,
			Enables: toolchainEnables[p.Name], Install: p.Install,
		})
	}
}

// gpuEnables lists what each part of a GPU machine makes possible.
var gpuEnables = map[string]string{
	"driver":            "runs kernels on the GPU",
	"NVML":              "clocks, power, temperature and throttle reasons during a run",
	"nvcc":              "compiles sources with host code as a whole; without it NVRTC compiles their device part",
	"compute-sanitizer": "NVIDIA's own memory and race checks",
}

func (s *Session) gpuChecks(ctx context.Context, d *report.Doctor) {
	for _, p := range cuda.InspectGPU(ctx, cuda.BackendConfig{Worker: s.localWorker()}, s.builder.Tools()) {
		add(d, report.DoctorCheck{
			Name: p.Name, OK: p.Found, Version: p.Version, Path: p.Path, Detail: p.Detail,
			Enables: gpuEnables[p.Name], Install: p.Install,
		})
	}
}

// cacheCheck reports where compiled kernels are stored, and whether they can be.
func (s *Session) cacheCheck() report.DoctorCheck {
	c := report.DoctorCheck{
		Name: "cache", Path: s.cache.Dir(), Enables: "what was compiled once is not compiled again",
	}
	if s.cache.Max() == 0 {
		c.Detail, c.Install = "switched off", "tilescope config set cache.max 256MiB"
		return c
	}
	if err := s.cache.Probe(); err != nil {
		c.Detail, c.Install = err.Error(),
			"a directory that can be written to: tilescope config set cache.dir DIR"
		return c
	}
	u, err := s.cache.Usage()
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	c.OK = true
	c.Detail = fmt.Sprintf("%d entries, %.1f of %.0f MiB", u.Entries, float64(u.Bytes)/(1<<20),
		float64(s.cache.Max())/(1<<20))
	return c
}

// terminalCheck is the terminal that the environment describes, and how many colours the terminal interface
// sends to it where the configuration does not say another number.
func terminalCheck(out io.Writer, environ []string) report.DoctorCheck {
	env := func(name string) (value string) { // the last of several counts
		for _, x := range environ {
			if v, ok := strings.CutPrefix(x, name+"="); ok {
				value = v
			}
		}
		return value
	}
	term := env("TERM")
	c := report.DoctorCheck{
		Name: "terminal", OK: term != "" && term != "dumb", Detail: "TERM=" + term,
		Enables: "colours, box drawing",
	}
	if v := env("COLORTERM"); v != "" {
		c.Detail += " COLORTERM=" + v
	}
	profile := colorprofile.Detect(out, environ)
	if profile == colorprofile.NoTTY { // output that is no terminal; the next one may be
		profile = colorprofile.Env(environ)
	}
	if strings.HasSuffix(term, "-16color") {
		profile = min(profile, colorprofile.ANSI)
	}
	switch {
	case env("NO_COLOR") != "":
		c.Detail += " NO_COLOR: no colours"
	case !c.OK:
	case profile == colorprofile.TrueColor:
		c.Detail += ": 24-bit colours"
	case profile == colorprofile.ANSI256:
		c.Detail += ": 256 colours"
	case profile == colorprofile.ANSI:
		c.Detail += ": 16 colours"
	default:
		c.Detail += ": no colours"
	}
	return c
}
