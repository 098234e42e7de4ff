package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// precompiled decides when NVRTC may keep its parsed headers from one compilation to the next (NVRTC 12.8 and
// newer). Such a file fits one set of options exactly, macros included, and to write it takes longer than it
// saves once; so it is written the second time that a source is compiled with the same options, which is
// somebody editing it, and used from then on. Files are of use to this process alone and go with it.
type precompiled struct {
	mu   sync.Mutex
	dir  string
	read map[string][]Header // by options and includes: the headers that the first such compilation read
	// text: what the headers given as text are here: NVRTC does not look whether they are still the same
	text string
	busy bool
	off  bool
}

// options returns what to put before a compilation's own options, and what to call when it is over with the
// headers that it was seen to read: it returns those of the first such compilation, since a header that comes
// precompiled is not read again. NVRTC keeps precompiled headers in memory of the whole process, so only one
// compilation at a time uses them; another one goes without.
func (p *precompiled) options(
	lib *nvrtc, b Build, options []string,
) (extra []string, done func([]Header) []Header) {
	nothing := func(read []Header) []Header { return read }
	if p == nil || !lib.hasPCH() {
		return nil, nothing
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.sameHeaders(b.Headers) {
		return nil, nothing
	}
	key := strings.Join(append(slices.Clone(options), includeLine.FindAllString(b.Source, -1)...), "\x00")
	if p.read == nil {
		p.read = map[string][]Header{}
	}
	if p.read[key] == nil || p.busy || p.off {
		return nil, func(read []Header) []Header {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.read[key] == nil {
				p.read[key] = append([]Header{}, read...)
			}
			return read
		}
	}
	if p.dir == "" {
		removeAbandoned()
		dir, err := os.MkdirTemp("", pchPrefix+"*")
		if err != nil {
			p.off = true // a full disk: compilations take as long as without
			return nil, nothing
		}
		p.dir = dir
	}
	p.busy = true
	return []string{"--pch", "--pch-dir=" + p.dir, "--pch-messages=false", "--diag-suppress=629,630"},
		func([]Header) []Header {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.busy = false
			return p.read[key]
		}
}

// sameHeaders reports whether headers given as text are those of the first build that had any: for these
// alone a precompiled file fits.
func (p *precompiled) sameHeaders(headers map[string]string) bool {
	if len(headers) == 0 {
		return true
	}
	var text strings.Builder
	for _, name := range sortedKeys(headers) {
		fmt.Fprintf(&text, "%q %q ", name, headers[name])
	}
	if p.text == "" {
		p.text = text.String()
	}
	return p.text == text.String()
}

const (
	pchPrefix    = "tilescope-pch-"
	pchAbandoned = 24 * time.Hour
)

// removeAbandoned removes what killed processes have left: some ten megabytes each. What cannot be
// removed is somebody else's.
func removeAbandoned() {
	// the only error is a malformed pattern
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), pchPrefix+"*"))
	for _, dir := range dirs {
		if st, err := os.Stat(dir); err == nil && st.IsDir() && time.Since(st.ModTime()) > pchAbandoned {
			_ = os.RemoveAll(dir)
		}
	}
}

// close removes the files.
func (p *precompiled) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := p.dir
	p.dir, p.off = "", true
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}
