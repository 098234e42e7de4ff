package build

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/trust"
)

// tools is the result of one search for NVRTC and what belongs to it. It is kept, whatever it is, until a
// consent makes another one worth it.
type tools struct {
	config cuda.Config // where to look
	once   lock        // of the search

	mu         sync.Mutex
	found      *cuda.Toolchain
	err        error
	searched   bool
	superseded []*cuda.Toolchain // builds may still use them
}

// lock is a mutex that waits under a context. The zero value is not locked.
type lock struct {
	mu sync.Mutex
	ch chan struct{}
}

// acquire waits for the lock, or for the end of ctx, whose error it returns then.
func (l *lock) acquire(ctx context.Context) (release func(), err error) {
	l.mu.Lock()
	if l.ch == nil {
		l.ch = make(chan struct{}, 1)
	}
	l.mu.Unlock()
	select {
	case l.ch <- struct{}{}:
		return func() { <-l.ch }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Toolchain finds NVRTC and its headers, once. A search that ctx ended is none.
func (s *Builder) Toolchain(ctx context.Context) (*cuda.Toolchain, error) {
	t := &s.tools
	release, err := t.once.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	t.mu.Lock()
	found, err, searched := t.found, t.err, t.searched
	t.mu.Unlock()
	if searched {
		return found, err
	}
	found, err = cuda.FindToolchain(ctx, s.tools.config)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found, t.err, t.searched = found, err, true
	return found, err
}

// refused returns the first file that the search passed over for want of consent, nil where there is none.
func (t *tools) refused() *trust.Refused {
	t.mu.Lock()
	defer t.mu.Unlock()
	var refused *trust.Refused
	if !errors.As(t.err, &refused) && t.found != nil {
		errors.As(errors.Join(t.found.Refused...), &refused)
	}
	return refused
}

// forget makes the next request for a toolchain search again.
func (t *tools) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found != nil {
		t.superseded = append(t.superseded, t.found)
	}
	t.found, t.err, t.searched = nil, nil, false
}

// close ends every toolchain that was found. No build may be under way.
func (t *tools) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, tc := range append(slices.Clone(t.superseded), t.found) {
		if tc != nil {
			errs = append(errs, tc.Close())
		}
	}
	return errors.Join(errs...)
}

// Tools returns where the builder looks for compilers.
func (s *Builder) Tools() cuda.Config { return s.tools.config }

// Refused returns the first file that the search for compilers passed over for want of consent, nil
// where there is none.
func (s *Builder) Refused() *trust.Refused { return s.tools.refused() }

// Close ends every toolchain that was found. No build may be under way.
func (s *Builder) Close() error { return s.tools.close() }

// Consent is a question for the user: may these files be loaded and executed? It names
// what a yes would record.
type Consent struct {
	Covers trust.Dir // the directory, and the files with their digests
	Reason string    // why the first of them that was refused is not used without it
}

// Question returns the consent for want of which err occurred or, where err has another cause, for want of
// which the session has passed over a compiler or a tool: what `tilescope trust` would record, read now. It
// is nil where nothing was refused, or where there is no place to record a consent. It reads every file
// whole, and ends with ctx.
func (s *Builder) Question(ctx context.Context, err error) (*Consent, error) {
	var refused *trust.Refused
	if !errors.As(err, &refused) {
		refused = s.tools.refused()
	}
	record := s.record()
	if refused == nil || record == nil || record.Path == "" {
		return nil, nil
	}
	covers, err := trust.Describe(ctx, refused.Dir, append(cuda.Executables(refused.Dir), refused.Files...))
	if err != nil {
		return nil, err
	}
	return &Consent{Covers: covers, Reason: refused.Path + ": " + refused.Reason}, nil
}

// Agree records a consent, and has the next build look for compilers again. Files that have changed since the
// question are not covered by it. It ends with ctx while a search is under way.
func (s *Builder) Agree(ctx context.Context, c *Consent) error {
	record := s.record()
	if record == nil {
		return trust.ErrNoRecord
	}
	release, err := s.tools.once.acquire(ctx) // a search under way has read the record as it was
	if err != nil {
		return err
	}
	defer release()
	if err := record.Put(c.Covers); err != nil {
		return err
	}
	s.tools.forget()
	return nil
}

// record is where consents are recorded, nil for nowhere.
func (s *Builder) record() *trust.Record {
	if p := s.tools.config.Trust; p != nil {
		return p.Record
	}
	return nil
}
