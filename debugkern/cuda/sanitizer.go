package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tilescope/debugkern/child"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
)

// SanitizerConfig says how NVIDIA's own checks are run.
type SanitizerConfig struct {
	Tools   Config   // where compute-sanitizer is looked for
	Command []string // starts a process that calls LaunchMain with the path added as its last argument
	Device  int
	Library string        // a driver library instead of the system's
	Timeout time.Duration // 0: DefaultSanitizerTimeout
	// Worker, where it is reached over a link, has the tool run on its machine: Tools and Command are those
	// of WorkerOptions.Sanitizer there.
	Worker Transport
}

// DefaultSanitizerTimeout bounds a run: the tools slow a kernel down a hundredfold.
const DefaultSanitizerTimeout = 2 * time.Minute

// Sanitized is what one tool said of one launch.
type Sanitized struct {
	Tool       string      `json:"tool"`    // memcheck, racecheck
	Version    string      `json:"version"` // compute-sanitizer's
	Complaints []Complaint `json:"complaints"`
	Summary    string      `json:"summary"` // the tool's last word
}

// ErrNoSanitizer is wrapped where there is no compute-sanitizer.
var ErrNoSanitizer = errors.New(
	"no compute-sanitizer found (it comes with the CUDA toolkit, or: pip install nvidia-cuda-sanitizer-api)")

// sanitizerTools are the tools that are run, with their options. Racecheck reports both single hazards, which
// have addresses and threads, and its analysis, which has every pair of places.
var sanitizerTools = map[string][]string{
	"memcheck":  {"--print-limit", "200"},
	"racecheck": {"--racecheck-report", "all", "--print-limit", "10000"},
	"initcheck": {"--print-limit", "200"},
	"synccheck": {"--print-limit", "200"},
}

var (
	sanitizerDirs = []string{
		"bin", "compute-sanitizer", "extras/compute-sanitizer", "nvidia/cu13/compute-sanitizer",
		"nvidia/cuda_sanitizer_api/compute-sanitizer", "nvidia/cuda_sanitizer_api/bin",
	}
	sanitizerVersion = regexp.MustCompile(`Version (\d+\.\d+(?:\.\d+)*)`)
)

// Sanitize runs compute-sanitizer's tool ("memcheck", "racecheck", "initcheck" or "synccheck") on exactly one
// launch, in a child process of its own that is killed at the time limit. Buffers are allocated to the byte,
// without guard bands, so that memcheck sees their ends. Errors wrap ErrNoSanitizer, ErrNoDriver or
// ErrNoDevice where it cannot be run: here, or on the machine of cfg.Worker.
func Sanitize(
	ctx context.Context, cfg SanitizerConfig, tool string, m *ptx.Module, entry string, l *target.Launch,
) (*Sanitized, error) {
	op, buffers, err := watchedLaunch(cfg, tool, m, entry, l)
	if err != nil {
		return nil, fmt.Errorf("sanitize: %w", err)
	}
	if link := linked(cfg.Worker); link != nil {
		return sanitizeThere(ctx, cfg.Worker, op, buffers)
	}
	return sanitizeHere(ctx, cfg, op, buffers)
}

// sanitizeHere runs the tool on this machine. Device and time limit are the operation's.
func sanitizeHere(
	ctx context.Context, cfg SanitizerConfig, op *sanitizeOp, buffers [][]byte,
) (*Sanitized, error) {
	tool := op.Tool
	options, ok := sanitizerTools[tool]
	if !ok {
		return nil, fmt.Errorf("sanitize: tool %q: expected memcheck, racecheck, initcheck or synccheck",
			tool)
	}
	if len(cfg.Command) == 0 {
		return nil, errors.New("sanitize: no launch command")
	}
	found := findTool(ctx, cfg.Tools, searchList(cfg.Tools), "compute-sanitizer", sanitizerDirs)
	path := found.path
	switch {
	case path == "" && len(found.refused) > 0:
		return nil, fmt.Errorf("sanitize: %w: %w", ErrNoSanitizer, found.refused[0])
	case path == "":
		return nil, fmt.Errorf("sanitize: %w", ErrNoSanitizer)
	}
	if err := DriverPresent(op.Open.Library); err != nil {
		return nil, fmt.Errorf("sanitize: %w", err)
	}
	dir, err := os.MkdirTemp("", "tilescope-sanitize-")
	if err != nil {
		return nil, fmt.Errorf("sanitize: %w", err)
	}
	defer os.RemoveAll(dir)
	dir = absolute(dir)
	job := filepath.Join(dir, "job")
	if err := writeJob(job, op, buffers); err != nil {
		return nil, fmt.Errorf("sanitize: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, op.Limit,
		fmt.Errorf("compute-sanitizer %s did not finish within its time limit of %s", tool, op.Limit))
	defer cancel()
	log := filepath.Join(dir, "log")
	args := slices.Concat([]string{"--tool", tool, "--log-file", log, "--show-backtrace", "device"}, options,
		cfg.Command, []string{job})
	return runSanitizer(ctx, path, tool, log, args)
}

func runSanitizer(ctx context.Context, path, tool, log string, args []string) (*Sanitized, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	child.OwnGroup(cmd)
	cmd.WaitDelay = time.Second
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	failed := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text, err := os.ReadFile(log)
	if err != nil && failed == nil {
		return nil, fmt.Errorf("sanitize: compute-sanitizer wrote no report: %w", err)
	}
	out := &Sanitized{Tool: tool, Version: toolVersion(ctx, path, sanitizerVersion)}
	out.Complaints, out.Summary = ParseSanitizer(string(text))
	if out.Summary == "" {
		reason := strings.TrimSpace(complained.String())
		if reason == "" {
			reason = strings.TrimSpace(said.String() + string(text))
		}
		return nil, fmt.Errorf("sanitize: compute-sanitizer %s did not end: %w: %s", tool,
			orUnknown(failed), lastLine(reason))
	}
	// the launch itself failed, and the tool has nothing to say of it
	if failed != nil && len(out.Complaints) == 0 {
		return nil, fmt.Errorf("sanitize: the launch under %s failed: %w: %s", tool, failed,
			lastLine(complained.String()))
	}
	attribute(out.Complaints, said.String())
	return out, nil
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no summary")
	}
	return err
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// watchedLaunch describes one launch for a tool. The module's text is the first of the buffers.
func watchedLaunch(
	cfg SanitizerConfig, tool string, m *ptx.Module, entry string, l *target.Launch,
) (*sanitizeOp, [][]byte, error) {
	f := m.Func(entry)
	if f == nil || !f.Entry {
		return nil, nil, fmt.Errorf("no entry %s", entry)
	}
	var text bytes.Buffer
	if err := (ptx.Printer{}).Print(&text, m); err != nil {
		return nil, nil, err
	}
	u := &upload{}
	spec, err := (&kernel{entry: f}).spec(l, u)
	if err != nil {
		return nil, nil, err
	}
	spec.Kernel = 1 // the first that is loaded
	op := &sanitizeOp{
		Tool: tool, Limit: cfg.Timeout,
		Open:   openOp{Library: cfg.Library, Device: cfg.Device, Memory: l.Memory.Limit()},
		Load:   loadOp{Entry: entry},
		Launch: launchOp{Spec: *spec, Repeat: 1, Bare: true, Unset: tool == "initcheck"},
	}
	if op.Limit <= 0 {
		op.Limit = DefaultSanitizerTimeout
	}
	return op, slices.Concat([][]byte{text.Bytes()}, u.bodies), nil
}

// writeJob records the requests of one launch as a worker would get them.
func writeJob(path string, op *sanitizeOp, buffers [][]byte) error {
	if len(buffers) == 0 {
		return errors.New("no module")
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := &frameWriter{w: file}
	for i, r := range []struct {
		request
		buffers [][]byte
	}{
		{request{Open: &op.Open}, nil}, {request{Load: &op.Load}, buffers[:1]},
		{request{Launch: &op.Launch}, buffers[1:]},
	} {
		for _, b := range r.buffers {
			r.Buffers = append(r.Buffers, int64(len(b)))
		}
		err = errors.Join(err, w.json(frameRequest, uint64(i+1), r.request))
		for n, b := range r.buffers {
			err = errors.Join(err, w.data(n, uint64(i+1), b, nil))
		}
	}
	return errors.Join(err, file.Close())
}

// argumentLine is how LaunchMain reports where an argument is.
var argumentLine = regexp.MustCompile(`(?m)^argument (\S+) 0x([0-9a-f]+) (\d+)$`)

// attribute finds the argument nearest to each global address.
func attribute(cs []Complaint, said string) {
	type span struct {
		name       string
		start, end uint64
	}
	var spans []span
	for _, m := range argumentLine.FindAllStringSubmatch(said, -1) {
		n, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil {
			continue
		}
		spans = append(spans, span{m[1], hexadecimal(m[2]), hexadecimal(m[2]) + n})
	}
	for i := range cs {
		c := &cs[i]
		if !c.Located || c.Space != "global" {
			continue
		}
		best := uint64(1) << 20 // farther away it is nobody's
		for _, s := range spans {
			var away uint64
			var distance int64
			switch {
			case c.Address >= s.end:
				away = c.Address - s.end + 1
				distance = int64(away)
			case c.Address < s.start:
				away = s.start - c.Address
				distance = -int64(away)
			}
			if away < best {
				best, c.Argument, c.Distance = away, s.name, distance
			}
		}
	}
}
