package debugkern

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilescope/debugkern/build"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/probes"
)

// Subject is a request checked against its manifest: what has to be determined of a kernel before it runs.
type Subject struct {
	Kernel, Variant, Entry string
	Arch                   string // what the source is written for; "": any
	Flags                  map[string]int
	Faults                 []string
	Limits                 probes.Limits
	Shape                  probes.Shape // of the request
	Referenced             bool         // a stage is compared with a reference
}

// Describe resolves a request without running it; what Run would refuse with CodeUsage, it refuses.
func (s *Session) Describe(ctx context.Context, req Request) (*Subject, error) {
	r, err := s.resolve(ctx, req, nil, nil)
	if err != nil {
		return nil, err
	}
	return &Subject{
		Kernel: r.plan.Kernel, Variant: r.sel.Variant, Entry: r.plan.Entry,
		Arch: r.sel.Manifest.Compile.Arch, Flags: r.sel.Flags,
		Faults: append([]string{}, r.sel.Faults...), Limits: r.plan.Limits, Shape: r.plan.Shape,
		Referenced: r.plan.Referenced(),
	}, nil
}

// Shapes lists the shapes that a target's manifest names, in its order.
func (s *Session) Shapes(ctx context.Context, name string) ([]string, error) {
	m, _, err := s.catalogue.Open(ctx, name)
	if err != nil {
		return nil, Unopened(ctx, err)
	}
	var names []string
	for _, sh := range m.Shapes {
		names = append(names, sh.Name)
	}
	return names, nil
}

// BuildInfo builds a request's kernel, plain and instrumented, without running it. A kernel that does not
// build is a *report.Error with CodeFailed, a missing compiler one with CodeUnavailable.
func (s *Session) BuildInfo(ctx context.Context, req Request) (*report.Build, error) {
	r, err := s.resolve(ctx, req, nil, nil)
	if err != nil {
		return nil, err
	}
	doc := &report.Build{
		Entry: r.plan.Entry, Defines: build.Defines(r.sel, false), Patches: r.sel.Planted(),
		Options: []string{},
	}
	for _, instrumented := range []bool{false, r.instrumented()} {
		b, err := s.builder.Kernel(ctx, r.sel, buildOptions(req, instrumented))
		if err != nil {
			return nil, failedBuild(err)
		}
		sum := sha256.Sum256(b.Text)
		doc.InstrumentedSHA256 = hex.EncodeToString(sum[:])
		if doc.PTXSHA256 == "" {
			doc.PTXSHA256 = doc.InstrumentedSHA256
			doc.Builder, doc.Compiler, doc.Options = b.Builder, b.Compiler, append(doc.Options, b.Options...)
		}
	}
	return doc, nil
}

// failedBuild gives a build's error its exit code.
func failedBuild(err error) error {
	var re *report.KernelError
	if errors.As(err, &re) {
		return &report.Error{Code: report.CodeFailed, Err: err, Diagnostics: re.Diagnostics}
	}
	return err
}

// Resources returns what the plain build of a request is allotted on an architecture, dynamic shared memory
// included: by ptxas or, where there is none, as the driver loaded it for the device's own architecture.
// reason is why it cannot be known here; then there is no document and no error. A kernel that ptxas refuses
// is a *report.Error with CodeFailed.
func (s *Session) Resources(
	ctx context.Context, req Request, arch string,
) (doc *report.Resources, reason string, err error) {
	r, err := s.resolve(ctx, req, nil, nil)
	if err != nil {
		return nil, "", err
	}
	b, err := s.builder.Kernel(ctx, r.sel, buildOptions(req, false))
	if err != nil {
		return nil, "", failedBuild(err)
	}
	tools, err := s.builder.Toolchain(ctx)
	if err != nil {
		err = errNoTools
	} else {
		res, aerr := tools.Assemble(ctx, b.Text, r.plan.Entry, arch)
		if aerr == nil {
			doc := resourcesDoc(res)
			doc.SharedBytes += r.plan.DynShared
			doc.By = tools.Assembler(ctx)
			return doc, "", nil
		}
		err = aerr
	}
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.Is(err, errNoTools) || errors.Is(err, cuda.ErrNoPTXAS):
		doc, err = s.loadedResources(ctx, req, r, b, arch, err)
	case strings.Contains(err.Error(), "gpu-name"):
		err = fmt.Errorf("this ptxas does not know %s", arch)
	default:
		return nil, "", &report.Error{Code: report.CodeFailed, Err: err}
	}
	if err != nil {
		return nil, err.Error(), nil
	}
	return doc, "", nil
}

var errNoTools = errors.New("no toolchain with ptxas found (tilescope doctor says what to install)")

// loadedResources asks the driver, which has them for its own device. The error is the reason why it cannot
// be asked.
func (s *Session) loadedResources(
	ctx context.Context, req Request, r *resolved, b *build.Build, arch string, none error,
) (*report.Resources, error) {
	be, err := s.gpu(ctx, req)
	if err != nil {
		return nil, none
	}
	if own := be.Info().Arch; own != arch {
		return nil, fmt.Errorf("%w, and %s is %s", none, be.Info().Device, own)
	}
	e := s.begin(ctx, req, nil)
	e.r = r
	k, err := e.load(be, b)
	if err != nil {
		return nil, err
	}
	res := k.Resources()
	if res == nil || res.SpillsUnknown {
		return nil, errors.New("the driver does not tell what the kernel spills")
	}
	doc := resourcesDoc(res)
	doc.SharedBytes += r.plan.DynShared
	doc.By = "driver"
	return doc, nil
}

// device is a backend that is a real device.
type device interface {
	Device() cuda.Device
	Driver() string
}

// Environment opens the backend that a request asks for and describes it.
func (s *Session) Environment(ctx context.Context, req Request) (*report.Environment, error) {
	be, emulator, err := s.Backends(ctx, req)
	if err != nil {
		return nil, err
	}
	info := be.Info()
	doc := &report.Environment{Backend: info.Name, Device: info.Device, Arch: info.Arch}
	if emulator != nil {
		doc.Backend = "both"
	}
	if d, ok := be.(device); ok {
		doc.Driver, doc.Clocks = d.Driver(), s.clocks(d.Device())
	}
	return doc, nil
}

// clocks samples a device, or returns nil where nothing can be asked.
func (s *Session) clocks(d cuda.Device) *report.Clocks {
	m, err := s.Monitor(d)
	if err != nil {
		return nil
	}
	defer m.Close()
	t := m.Sample()
	known := func(n int) int {
		if n == cuda.Unknown {
			return 0
		}
		return n
	}
	return &report.Clocks{
		SM: known(t.SMClock), MaxSM: known(t.MaxSMClock), Memory: known(t.MemClock), Power: known(t.Power),
		Temperature: known(t.Temperature), Throttle: append([]string{}, slices.Clone(t.Throttle)...),
		Slowed: t.Slowed,
	}
}
