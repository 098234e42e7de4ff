package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"tilescope/debugkern/budget"
	"tilescope/debugkern/child"
)

// Limits of one compilation in a process of its own.
const (
	compilerLimit  = 5 * time.Minute // of wall-clock and of processor time
	compilerStart  = 30 * time.Second
	compilerMemory = 4 << 30 // bytes of address space at most, on top of what the process takes to start
	// compilerLeast: and at least: less and NVRTC does not compile a small kernel with its own headers
	compilerLeast = 1 << 30
	maxCompiled   = 1 << 30 // bytes of PTX and log
)

// Crash is a compiler's process that ended while it compiled.
type Crash struct {
	Err    error
	Memory int64 // bytes that it was allowed
}

func (e *Crash) Error() string {
	s := "the compiler crashed: " + e.Err.Error() + "; it may take " + budget.Text(e.Memory) + " of memory"
	if e.Memory < compilerMemory {
		s += " (by memory.max: --memory-max raises it)"
	}
	return s
}
func (e *Crash) Unwrap() error { return e.Err }

// compilers are processes that compile with one library, each one program at a time: a source that crashes
// the compiler, or uses all of its memory or time, costs such a process and nothing else. An idle one stays
// for the next compilation.
type compilers struct {
	command []string
	memory  int64         // bytes that each may take
	library string        // once one has opened it
	turns   chan struct{} // a token for each process that may run

	mu     sync.Mutex
	idle   []*compilerProcess // by age: the oldest, whose headers are precompiled, is used first
	made   int
	closed bool
}

// compilerProcess is one of them. Precompiled headers are of use to the process that wrote them alone.
type compilerProcess struct {
	*process
	number int
	memory int64 // bytes that it may take
	pch    *precompiled
}

// newCompilers makes none yet. memory is how many bytes all of them may take together, 0 for any: where that
// is less than each may take on every core, fewer run at once.
func newCompilers(command []string, memory int64) *compilers {
	each, turns := int64(compilerMemory), runtime.GOMAXPROCS(0)
	if memory > 0 {
		each = min(max(memory, compilerLeast), compilerMemory)
		turns = int(min(max(memory/each, 1), int64(turns)))
	}
	return &compilers{command: command, memory: each, turns: make(chan struct{}, turns)}
}

// open has a library opened and returns its version. An error of the library leaves the
// process for the next one.
func (c *compilers) open(ctx context.Context, library string) (major, minor int32, err error) {
	p, err := c.acquire(ctx)
	if err != nil {
		return 0, 0, err
	}
	v, err := p.open(ctx, library, c.memory)
	c.release(p, err)
	if err != nil {
		return 0, 0, err
	}
	c.library = library
	return v.Major, v.Minor, nil
}

// acquire returns a process that nobody else uses, with the library open; it has to be released.
func (c *compilers) acquire(ctx context.Context) (*compilerProcess, error) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	if len(c.idle) > 0 {
		p := c.idle[0]
		c.idle = c.idle[1:]
		c.mu.Unlock()
		return p, nil
	}
	c.made++
	p := &compilerProcess{number: c.made, pch: &precompiled{}}
	c.mu.Unlock()
	var err error
	if p.process, err = startProcess(c.command, child.CompilerEnvironment(os.Environ()), nil); err == nil {
		if err = p.handshake(ctx, compilerStart); err == nil && c.library != "" {
			_, err = p.open(ctx, c.library, c.memory)
		}
		if err != nil {
			p.kill()
		}
	}
	if err != nil {
		<-c.turns
		return nil, err
	}
	return p, nil
}

// release gives a process back after a request with that result. One that did not answer is of no more use.
func (c *compilers) release(p *compilerProcess, err error) {
	defer func() { <-c.turns }()
	var answered *remoteError
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || err != nil && !errors.As(err, &answered) {
		p.end()
		return
	}
	c.idle = append(c.idle, p)
	slices.SortFunc(c.idle, func(a, b *compilerProcess) int { return a.number - b.number })
}

// close ends the processes. Later compilations start one each.
func (c *compilers) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	for _, p := range c.idle {
		errs = append(errs, p.end())
	}
	c.idle = nil
	return errors.Join(errs...)
}

func (p *compilerProcess) end() error {
	p.kill()
	return p.pch.close()
}

func (p *compilerProcess) open(ctx context.Context, library string, memory int64) (*compiledResult, error) {
	p.memory = memory
	x := &exchange{
		request: &request{Compile: &compileOp{Library: library, Memory: memory}}, limit: compilerStart,
	}
	if err := p.exchange(ctx, x); err != nil {
		return nil, err
	}
	if x.result.Compile == nil {
		return nil, errors.New("worker protocol: an answer without a version")
	}
	return x.result.Compile, nil
}

// program is what a process is given to compile, and compiledText what it answers.
type program struct {
	Name    string            `json:"name"`
	Source  string            `json:"source"`
	Headers map[string]string `json:"headers"`
	Options []string          `json:"options"`
}

type compiledText struct {
	PTX []byte `json:"ptx"`
	Log []byte `json:"log"`
}

// build compiles one program; see nvrtc.build.
func (p *compilerProcess) build(ctx context.Context, job program) (text, log string, err error) {
	body, err := json.Marshal(job)
	if err != nil {
		return "", "", err
	}
	dir, err := os.Getwd() // NVRTC puts it before relative names
	if err != nil {
		return "", "", err
	}
	x := &exchange{
		request: &request{Compile: &compileOp{Dir: dir}}, buffers: [][]byte{body}, limit: compilerLimit,
		collectMax: maxCompiled,
	}
	err = p.exchange(ctx, x)
	var remote *remoteError
	var died *errDied
	switch {
	case errors.As(err, &remote):
		return "", remote.Log, err
	case errors.As(err, &died):
		return "", "", &Crash{err, p.memory}
	case err != nil:
		return "", "", err
	}
	var out compiledText
	if err := json.Unmarshal(x.collected, &out); err != nil {
		return "", "", fmt.Errorf("worker protocol: %w", err)
	}
	return string(out.PTX), string(out.Log), nil
}
