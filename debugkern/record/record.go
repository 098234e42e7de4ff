// Package record executes a program of the user's on a machine with a GPU and makes a bundle of one of its
// launches: module, geometry, parameters, and the memory before and after, so that the launch can be executed
// anywhere and compared with what the GPU gave.
//
// The one idea: the program is not changed. The CUDA driver loads a library into it (injected/shim.c,
// compiled with the user's cc), which observes the driver's calls through CUPTI and writes what belongs to
// one launch into a folder. What may stay of that is decided afterwards: the emulator executes the launch
// once, and of memory only the bytes that it reads, and those that it or the GPU writes, go into the
// bundle. Nothing else of the program is recorded: no environment, no command line, no other memory.
//
// It must not know verdicts or the terminal: whoever has the bundle checks it as any other.
package record

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tilescope/debugkern"
	"tilescope/debugkern/child"
	"tilescope/debugkern/report"
)

// Request says which launch of which program is recorded.
type Request struct {
	// Kernel is an extended regular expression (POSIX) for the kernel's name, mangled or demangled; "": any
	Kernel string
	Nth    int      // which of the launches that match, from 0
	Argv   []string // the program and its arguments
	// Timeout ends the program after this long; 0: never. A launch that has begun by then is recorded
	// without its results.
	Timeout time.Duration
	// Stdout and Stderr are the program's.
	Stdout, Stderr io.Writer
}

// injection is the variable that names the library that the driver loads.
const injection = "CUDA_INJECTION64_PATH"

// Check refuses a request that cannot be executed, with an error of CodeUsage.
func (r *Request) Check() error {
	if len(r.Argv) == 0 {
		return report.Usagef("record takes a program: tilescope record -- python train.py")
	}
	if r.Timeout < 0 {
		return report.Usagef("--timeout %v: expected a time such as 60s", r.Timeout)
	}
	if r.Nth < 0 {
		return report.Usagef("--nth %d: expected a whole number from 0 on", r.Nth)
	}
	if _, err := regexp.CompilePOSIX(r.Kernel); err != nil {
		return report.Usagef("--kernel %s: %w", r.Kernel, err)
	}
	if other := os.Getenv(injection); other != "" {
		return report.Usagef(
			"%s is set to %s: another tool is injected, such as Nsight Systems, and CUDA takes one; run without it",
			injection, other)
	}
	return nil
}

// Recording is one launch of a program, in a folder.
type Recording struct {
	dir    string
	Launch *Launch
	Notes  []string // what the user should know of the program: how it ended, launches that were passed over
}

// Close removes the folder.
func (r *Recording) Close() error { return os.RemoveAll(r.dir) }

// Program executes a program until it ends and returns the launch that was recorded. Errors are
// *report.Error: CodeUnavailable where cc, CUDA or CUPTI is missing, or CUPTI has another subscriber;
// CodeFailed where no launch was recorded, with the reason. The caller closes the recording.
func Program(ctx context.Context, s *debugkern.Session, req Request) (*Recording, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(req.Argv[0])
	if err != nil {
		return nil, report.Usagef("%s: %w", req.Argv[0], err)
	}
	dir, err := os.MkdirTemp("", "tilescope-record-")
	if err != nil {
		return nil, err
	}
	r := &Recording{dir: dir}
	if err := r.program(ctx, s, &req, path); err != nil {
		r.Close()
		return nil, debugkern.Explain(ctx, err)
	}
	return r, nil
}

// program compiles the library, executes the program and reads what was written.
func (r *Recording) program(ctx context.Context, s *debugkern.Session, req *Request, path string) error {
	shim := filepath.Join(r.dir, "shim.so")
	if err := compile(ctx, s.Builder().Tools().Trust, shim); err != nil {
		return err
	}
	events := filepath.Join(r.dir, "events")
	if err := os.Mkdir(events, 0o700); err != nil {
		return err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if req.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, req.Timeout)
	}
	defer cancel()
	cmd := exec.CommandContext(limited, path, req.Argv[1:]...)
	cmd.Args[0] = req.Argv[0]
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = req.Stdout, req.Stderr, time.Second
	cmd.Env = append(os.Environ(), injection+"="+shim, "TILESCOPE_RECORD_DIR="+events,
		"TILESCOPE_RECORD_KERNEL="+req.Kernel, fmt.Sprintf("TILESCOPE_RECORD_NTH=%d", req.Nth),
		"TILESCOPE_RECORD_CUPTI="+strings.Join(cuptiPaths(path), ":"))
	child.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return report.Usagef("%s: %w", req.Argv[0], err)
	}
	ended := cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	log, err := readEvents(events)
	if err != nil {
		return err
	}
	switch {
	case limited.Err() != nil:
		r.Notes = append(r.Notes, fmt.Sprintf("%s was ended after its time limit of %v", req.Argv[0],
			req.Timeout))
	case ended != nil:
		r.Notes = append(r.Notes, fmt.Sprintf("%s ended with %v", req.Argv[0], cmd.ProcessState))
	}
	if r.Launch, err = log.launch(req); err != nil && ended != nil {
		err = fmt.Errorf("%w (%s)", err, r.Notes[0])
	}
	r.Notes = append(r.Notes, log.notes()...)
	return err
}
