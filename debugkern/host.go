package debugkern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/chip"
	"tilescope/debugkern/cuda"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/remote"
	"tilescope/debugkern/report"
	"tilescope/debugkern/target"
	"tilescope/debugkern/text"
)

// LinkStats are the counts of the connection to another machine.
type LinkStats = cuda.LinkStats

// RemoteCopy is what a consent to copy tilescope to another machine is about.
type RemoteCopy = remote.Copy

// host is another machine on which a session's workers run. It implements cuda.Transport.
type host struct {
	machine *remote.Machine
	link    *cuda.Link
	args    []string // with which tilescope there is a worker over a link
}

// Command implements cuda.Transport.
func (h *host) Command(ctx context.Context) ([]string, error) {
	return h.machine.Worker(ctx, h.args...)
}

// Link implements cuda.Transport.
func (h *host) Link() *cuda.Link { return h.link }

// newHost makes the machine of that name; nil for "".
func (s *Session) newHost(name string) (*host, error) {
	if name == "" {
		return nil, nil
	}
	cfg := remote.Config{Host: name, Version: s.version, Consent: s.consentToCopy}
	if s.config != nil {
		words, ok := text.Words(s.config.HostSSH)
		if !ok {
			return nil, report.Usagef("host.ssh: %q has a quote without an end", s.config.HostSSH)
		}
		cfg.SSH = words
		if cfg.Binary = s.config.HostBinary; cfg.Binary != "" {
			path, err := filepath.Abs(cfg.Binary)
			if err != nil {
				return nil, report.Usagef("host.binary: %w", err)
			}
			cfg.Binary = path
		}
	}
	m, err := remote.New(cfg)
	if err != nil {
		return nil, report.Usagef("%w", err)
	}
	return &host{
		machine: m, args: s.linked,
		link: &cuda.Link{Host: name, Refused: func(printed string) error {
			return m.Refused("connect",
				printed)
		}},
	}, nil
}

// consentToCopy applies the configuration's host.copy, and asks where it says so.
func (s *Session) consentToCopy(ctx context.Context, c remote.Copy) error {
	copying := "ask"
	if s.config != nil && s.config.HostCopy != "" {
		copying = s.config.HostCopy
	}
	switch {
	case copying == "yes":
		return nil
	case copying == "ask" && s.askCopy != nil:
		return s.askCopy(ctx, c)
	}
	return remote.NoConsent(c)
}

// Connect finds tilescope on the host, or copies it there; without a host it does nothing. Runs do so
// themselves.
func (s *Session) Connect(ctx context.Context) error {
	h := s.far()
	if h == nil {
		return nil
	}
	_, err := h.machine.Tilescope(ctx)
	return unreachable(err)
}

// Host returns the name of the machine that workers run on, "" for this one.
func (s *Session) Host() string {
	if h := s.far(); h != nil {
		return h.machine.Host()
	}
	return ""
}

// SetHost has later runs executed on another machine, "" for this one. What the session has open on the one
// before is closed. A name that no machine can have is an error of CodeUsage; it connects to nothing.
func (s *Session) SetHost(name string) error {
	h, err := s.newHost(name)
	if err != nil {
		return err
	}
	s.gpuMu.Lock()
	defer s.gpuMu.Unlock()
	if s.gpuErr != errSessionClosed {
		s.gpuErr = nil
	}
	s.mu.Lock()
	s.host = h
	s.mu.Unlock()
	return s.closeBackends()
}

// closeBackends closes what is open, which waits for launches under way. The caller has gpuMu.
func (s *Session) closeBackends() error {
	s.mu.Lock()
	far := s.farEmu
	s.farEmu = nil
	s.mu.Unlock()
	var errs []error
	if far != nil {
		errs = append(errs, far.link.Close())
	}
	for _, be := range s.gpus {
		errs = append(errs, be.Close())
	}
	clear(s.gpus)
	return errors.Join(errs...)
}

// Link returns the counts of the connection to Host.
func (s *Session) Link() LinkStats {
	if h := s.far(); h != nil {
		return h.link.Stats()
	}
	return LinkStats{}
}

func (s *Session) far() *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// transport is what starts the session's workers, nil where nothing can.
func (s *Session) transport() cuda.Transport {
	if h := s.far(); h != nil {
		return h
	}
	return s.localWorker()
}

// localWorker starts workers of this machine; nil where nothing can.
func (s *Session) localWorker() cuda.Transport {
	if len(s.worker) == 0 {
		return nil
	}
	return cuda.Local(s.worker)
}

// unreachable gives an error of a connection its code: the machine that was asked for is not available.
func unreachable(err error) error {
	var coded *report.Error
	var far *remote.Error
	if errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, cuda.ErrLost) || errors.As(err, &far) || errors.Is(err, remote.ErrNoConsent) {
		return report.Unavailablef("%w", err)
	}
	return err
}

// farEmulator executes launches with the emulator of a worker on another machine. Those that functions of
// this process take part in (checkers, replaced tiles) it executes here, and blocks are stepped here.
type farEmulator struct {
	*emu.Backend
	link *cuda.Backend
	host string
}

// openFarEmulator connects to the session's host, once. Where that is h no longer, it is an error.
func (s *Session) openFarEmulator(ctx context.Context, h *host) (*farEmulator, error) {
	s.gpuMu.Lock()
	defer s.gpuMu.Unlock()
	s.mu.Lock()
	f, now := s.farEmu, s.host
	s.mu.Unlock()
	switch {
	case s.gpuErr == errSessionClosed:
		return nil, errSessionClosed
	case now != h: // SetHost
		return nil, report.Unavailablef("host %s: another machine was chosen meanwhile", h.machine.Host())
	case f != nil:
		return f, nil
	}
	link, err := cuda.Open(ctx, cuda.BackendConfig{Worker: h, Memory: s.mem.Limit(), Emulate: true})
	if err != nil {
		return nil, unreachable(err)
	}
	f = &farEmulator{Backend: emu.New(s.chip), link: link, host: h.machine.Host()}
	s.mu.Lock()
	s.farEmu = f
	s.mu.Unlock()
	return f, nil
}

// Info implements target.Backend.
func (f *farEmulator) Info() target.Info {
	info := f.Backend.Info()
	info.Device += " on " + f.host
	return info
}

// Load decodes the entry here too: what cannot be executed is an error with its place.
func (f *farEmulator) Load(ctx context.Context, m *ptx.Module, entry string) (target.Kernel, error) {
	k, err := f.Backend.Load(ctx, m, entry)
	if err != nil {
		return nil, err
	}
	far, err := f.link.Emulated(m, entry)
	if errors.Is(err, cuda.ErrNotSent) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	return &farKernel{Kernel: k.(*emu.Kernel), far: far}, nil
}

// farKernel is an entry loaded in both places.
type farKernel struct {
	*emu.Kernel
	far *cuda.EmulatedKernel
}

// Launch executes there what can be sent, and the rest here.
func (k *farKernel) Launch(ctx context.Context, l *target.Launch) (*target.Result, error) {
	r, err := k.far.Launch(ctx, l)
	if errors.Is(err, cuda.ErrNotSent) {
		return k.Kernel.Launch(ctx, l)
	}
	return r, unreachable(err)
}

// WorkerOptions say how a worker is served.
type WorkerOptions struct {
	Version  string   // of this program
	Linked   bool     // the streams are a connection from another machine
	Launcher []string // as in Options
	// Tools says where compilers and tools are looked for on this machine; nil: the worker executes none.
	Tools func(context.Context) (cuda.Config, error)
}

// ServeWorker serves a worker on r and w until r ends, and returns the process's exit code: see
// cuda.WorkerMain.
func ServeWorker(ctx context.Context, r io.Reader, w io.Writer, o WorkerOptions) int {
	options := cuda.WorkerOptions{Linked: o.Linked, Version: o.Version, Emulator: emu.New(chip.SM90())}
	if o.Tools != nil {
		options.Sanitizer = func(ctx context.Context) (cuda.SanitizerConfig, error) {
			tools, err := o.Tools(ctx)
			return cuda.SanitizerConfig{Tools: tools, Command: o.Launcher}, err
		}
	}
	return cuda.WorkerMain(ctx, r, w, options)
}

// hostChecks reports the other machine: how it is reached, and what its own doctor finds there.
func (s *Session) hostChecks(ctx context.Context, d *report.Doctor, h *host) {
	name := h.machine.Host()
	c := report.DoctorCheck{Name: "host", Detail: name, Enables: "runs kernels on " + name + " over ssh"}
	path, err := h.machine.Tilescope(ctx)
	if err == nil {
		_, err = s.openFarEmulator(ctx, h)
	}
	if err != nil {
		c.Detail = err.Error()
		add(d, c)
		return
	}
	c.OK, c.Path = true, path
	c.Detail = fmt.Sprintf("%s, latency %.1f ms", name,
		float64(h.link.Stats().Latency)/float64(time.Millisecond))
	add(d, c)
	out, err := h.machine.Run(ctx, "doctor", `exec "$1" doctor --json`, nil, time.Minute, path)
	var there report.Doctor
	if at := slices.Index(out, '{'); err == nil && at >= 0 {
		err = json.Unmarshal(out[at:], &there)
	} else if err == nil {
		err = errors.New("it printed no document")
	}
	if err != nil {
		add(d, report.DoctorCheck{Name: name + ": doctor", Detail: err.Error()})
		return
	}
	for _, c := range there.Checks {
		if c.Name == "terminal" || strings.HasPrefix(c.Name, "embedded") {
			continue
		}
		c.Name = name + ": " + c.Name
		add(d, c)
	}
}
