package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Origins of a header.
const (
	OriginOwn      = "own"      // a file of the user's
	OriginEmbedded = "embedded" // a header of the embedded kernels
	// OriginBuiltin: tilescope.cuh for a kernel of one's own, and NVRTC's stand-ins for the standard library
	OriginBuiltin = "builtin"
)

// Header is one header that a compilation read.
type Header struct {
	Path   string `json:"path"`   // absolute for a file of one's own, else the name it is included by
	Digest string `json:"digest"` // SHA-256 of its text, in hex
	Origin string `json:"origin"` // OriginOwn, OriginEmbedded or OriginBuiltin
}

// NewHeader returns the entry of a header with that text.
func NewHeader(path, text, origin string) Header {
	sum := sha256.Sum256([]byte(text))
	return Header{Path: path, Digest: hex.EncodeToString(sum[:]), Origin: origin}
}

// Builtin returns the header that NVRTC is given in the place of the C or C++ library's of that name.
func Builtin(name string) (text string, ok bool) {
	text, ok = standins()[name]
	return text, ok
}

// PreInclude is the stand-in that NVRTC reads before every source.
const PreInclude = preInclude

// sortHeaders puts one's own first, then by path; each once.
func sortHeaders(list []Header) []Header {
	rank := map[string]int{OriginOwn: 0, OriginEmbedded: 1, OriginBuiltin: 2}
	slices.SortFunc(list, func(x, y Header) int {
		if d := rank[x.Origin] - rank[y.Origin]; d != 0 {
			return d
		}
		return strings.Compare(x.Path, y.Path)
	})
	return slices.Compact(list)
}

// markers make NVRTC say which headers it reads, which it has no option for: each text that it is given
// starts with a message of its own, and a #line that takes the message out of the count of lines. The log
// holds one remark for every header that was really entered, conditions and include guards considered; the
// PTX is the same as without.
type markers struct{ headers []Header }

const markerText = "tilescope-header:"

// markerRemark is NVRTC's remark on a message, with the lines of source that newer ones show below it.
var markerRemark = regexp.MustCompile(`(?m)^.*#pragma message: "` + markerText +
	`(\d+)".*\n(?:[ \t]+.*\n)*\n?`)

// mark returns a header's text with its message. file is how debug lines name the header; "": as
// the compiler would.
func (m *markers) mark(h Header, file, text string) string {
	m.headers = append(m.headers, h)
	line := "#line 1"
	if file != "" {
		line += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(file) + `"`
	}
	return fmt.Sprintf("#pragma message(\"%s%d\")\n%s\n%s", markerText, len(m.headers)-1, line,
		strings.TrimPrefix(text, "\ufeff"))
}

// read takes the remarks out of a compiler's log and returns the headers that they are about.
func (m *markers) read(log string) (rest string, headers []Header) {
	for _, found := range markerRemark.FindAllStringSubmatch(log, -1) {
		if i, err := strconv.Atoi(found[1]); err == nil && i < len(m.headers) {
			headers = append(headers, m.headers[i])
		}
	}
	return markerRemark.ReplaceAllString(log, ""), sortHeaders(headers)
}

// nvrtcLayout is where a build's texts are for NVRTC: in memory, or, for a source with
// directories of its own, on disk.
type nvrtcLayout struct {
	markers
	name    string            // of the source
	texts   map[string]string // in memory: found by name before every directory
	before  []string          // directories before the toolkit's
	after   []string          // and behind them
	shorten paths
	dir     string // temporary; "": nothing is on disk
}

// layout places a build's texts. With copies, the build's own files are copied with markers, in directories
// as theirs and searched before them; else they are read where they are.
//
// NVRTC finds a header that it has in memory before every file, from wherever it is included. So only an
// embedded kernel's headers are in memory; what a kernel of one's own may fall back on lies in the directory
// that is searched last.
func (t *Toolchain) layout(b Build, c closure, copies bool) (*nvrtcLayout, error) {
	l := &nvrtcLayout{name: b.Name, texts: map[string]string{}, shorten: t.paths(b)}
	for _, name := range sortedKeys(b.Headers) {
		l.texts[name] = l.mark(NewHeader(name, b.Headers[name], OriginEmbedded), "", b.Headers[name])
	}
	last := maps.Clone(standins())
	maps.Copy(last, b.Builtin)
	if len(c.files) == 0 && !c.computed { // nothing of its own can be meant
		if b.File != "" {
			l.name = b.File
			l.shorten.source = []string{b.File}
		}
		l.before = b.searched()
		for _, name := range sortedKeys(last) {
			if l.texts[name] == "" {
				l.texts[name] = l.mark(NewHeader(name, last[name], OriginBuiltin), "", last[name])
			}
		}
		return l, nil
	}
	var err error
	if l.dir, err = buildDir(t.key(b).String()); err != nil {
		return nil, err
	}
	if err := l.lay(b, c, last, copies); err != nil {
		l.remove()
		return nil, fmt.Errorf("write the headers of a build: %w", err)
	}
	return l, nil
}

func (l *nvrtcLayout) lay(b Build, c closure, last map[string]string, copies bool) error {
	builtin, mirror := filepath.Join(l.dir, "builtin"), filepath.Join(l.dir, "own")
	for _, name := range sortedKeys(last) {
		text := l.mark(NewHeader(name, last[name], OriginBuiltin), name, last[name])
		if err := writeBelow(filepath.Join(builtin, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	l.after = []string{builtin}
	l.shorten.own = append([]string{builtin}, l.shorten.own...)
	if b.File != "" {
		l.name = b.File // what is included in quotes is looked for in the directory of the source first
	}
	if copies {
		for _, f := range c.files {
			text := l.mark(NewHeader(f.path, f.text, OriginOwn), f.path, f.text)
			if err := writeBelow(mirrored(mirror, f.path), text); err != nil {
				return err
			}
		}
		var own []string
		for _, d := range b.searched() {
			own = append(own, mirrored(mirror, d))
			// a missing directory is a warning
			if err := os.MkdirAll(mirrored(mirror, d), 0o700); err != nil {
				return err
			}
		}
		l.before, l.shorten.own = own, append(own, l.shorten.own...)
		if b.File != "" {
			l.name = mirrored(mirror, b.File)
		}
	}
	l.before = append(slices.Clone(l.before), b.searched()...)
	l.shorten.source = []string{l.name, b.File}
	return nil
}

// remove removes what is on disk.
func (l *nvrtcLayout) remove() {
	if l.dir != "" {
		_ = os.RemoveAll(l.dir) // what is left behind is in the folder for temporary files
	}
}

// mirrored is where the copy of an absolute path is below dir.
func mirrored(dir, path string) string {
	volume := filepath.VolumeName(path)
	return filepath.Join(dir, strings.Map(func(r rune) rune {
		if r == ':' || r == '\\' || r == '/' {
			return '_'
		}
		return r
	}, volume), path[len(volume):])
}

// buildDir makes a temporary directory. A compiler may put its name into symbols, so that it is the same for
// the same build, unless another process is making just that.
func buildDir(key string) (string, error) {
	root, err := filepath.EvalSymlinks(os.TempDir()) // compilers write resolved paths
	if err != nil {
		return "", fmt.Errorf("folder for temporary files: %w", err)
	}
	dir := filepath.Join(root, "tilescope-build-"+key[:min(16, len(key))])
	if os.Mkdir(dir, 0o700) == nil {
		return dir, nil
	}
	dir, err = os.MkdirTemp(root, "tilescope-build-")
	if err != nil {
		return "", fmt.Errorf("folder for temporary files: %w", err)
	}
	return dir, nil
}

func writeBelow(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
