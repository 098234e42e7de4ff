package kernels

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Key names one build of a kernel.
type Key struct {
	Kernel  string   // the manifest's name
	Defines []string // "USE_CP_ASYNC=1", "DEBUG_QK_ONLY=1", "TS_PROBES=1"; any order
	Faults  []string // those whose patches are applied: "kt-ld"; any order
}

// planted comes before a fault's name in a key's text.
const planted = "fault:"

// String is the key on one line: "kernel USE_CP_ASYNC=1 USE_WMMA_PV=1 fault:kt-ld".
func (k Key) String() string {
	words := append([]string{k.Kernel}, slices.Sorted(slices.Values(k.Defines))...)
	for _, name := range slices.Sorted(slices.Values(k.Faults)) {
		words = append(words, planted+name)
	}
	return strings.Join(words, " ")
}

// parseKey reads a key's text.
func parseKey(text string) Key {
	words := strings.Fields(text)
	k := Key{Kernel: words[0]}
	for _, w := range words[1:] {
		if name, ok := strings.CutPrefix(w, planted); ok {
			k.Faults = append(k.Faults, name)
		} else {
			k.Defines = append(k.Defines, w)
		}
	}
	return k
}

// Entry is one build of the archive. PTX is the caller's.
type Entry struct {
	Name     string // the key, as a file name for messages
	PTX      []byte
	Digest   string // of everything that went into it, see Inputs
	Compiler string // "NVRTC 12.0.140"
	Options  []string
}

// Inputs is everything that determines an entry's PTX.
type Inputs struct {
	Source []byte // as it is compiled, patches applied
	// Headers: text by name: every header offered to the compiler, but its own; patches applied
	Headers  map[string]string
	Options  []string
	Defines  []string
	Compiler string
}

// Digest is a hash of the inputs, independent of the order of headers and definitions.
func (in Inputs) Digest() string {
	h := sha256.New()
	part := func(s string) {
		fmt.Fprintf(h, "%d:", len(s))
		io.WriteString(h, s) // a hash never fails
	}
	part(string(in.Source))
	for _, name := range slices.Sorted(maps.Keys(in.Headers)) {
		part(name)
		part(in.Headers[name])
	}
	for _, list := range [][]string{in.Options, slices.Sorted(slices.Values(in.Defines)), {in.Compiler}} {
		fmt.Fprintf(h, "%d;", len(list))
		for _, s := range list {
			part(s)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

//go:embed ptx.archive
var embedded []byte

var openEmbedded = sync.OnceValues(func() (*Archive, error) { return ReadArchive(embedded) })

// Embedded returns the archive in this binary. It is opened on first use: nothing is read before.
func Embedded() (*Archive, error) { return openEmbedded() }

// Find looks a build up in the embedded archive.
func Find(key Key) (Entry, bool, error) {
	a, err := Embedded()
	if err != nil {
		return Entry{}, false, err
	}
	return a.Find(key)
}

// Contents returns how many builds the embedded archive holds, and the compiler that made them.
func Contents() (n int, compiler string, err error) {
	a, err := Embedded()
	if err != nil {
		return 0, "", err
	}
	return len(a.index.Entries), a.index.Compiler, nil
}

// Archive file: archiveMagic, the index's length (u32, little endian), the index (JSON), the texts. Each text
// is a zstd frame of its own, so that one lookup decodes one build. The first text of a kernel is the
// dictionary of its others, which differ from it in a few lines. Builds that came out equal share one text.
const archiveMagic = "tsptx/1\n"

type index struct {
	Compiler string      `json:"compiler"`
	Options  []string    `json:"options"`
	Texts    []textRef   `json:"texts"`
	Entries  []entryMeta `json:"entries"`
}

type textRef struct {
	Offset int `json:"at"`   // from the end of the index
	Packed int `json:"pack"` // bytes in the archive
	Size   int `json:"size"` // bytes of PTX
	Dict   int `json:"dict"` // the text that is the dictionary, -1 for none
}

type entryMeta struct {
	Key    string `json:"key"`
	Digest string `json:"digest"`
	Text   int    `json:"text"`
	// Options: of an entry that was built with others than the index gives
	Options []string `json:"options,omitempty"`
}

// Archive is an opened archive. It is immutable.
type Archive struct {
	index index
	byKey map[string]int
	texts []byte
}

// ReadArchive opens an archive; data is kept and must not change.
func ReadArchive(data []byte) (*Archive, error) {
	rest, ok := bytes.CutPrefix(data, []byte(archiveMagic))
	if !ok || len(rest) < 4 {
		return nil, fmt.Errorf("PTX archive: not an archive of this version (make ptx builds it)")
	}
	n := int(binary.LittleEndian.Uint32(rest))
	if rest = rest[4:]; n > len(rest) {
		return nil, fmt.Errorf("PTX archive: truncated: an index of %d bytes in %d", n, len(rest))
	}
	a := &Archive{texts: rest[n:], byKey: map[string]int{}}
	if err := json.Unmarshal(rest[:n], &a.index); err != nil {
		return nil, fmt.Errorf("PTX archive: index: %w", err)
	}
	for i, t := range a.index.Texts {
		if t.Offset < 0 || t.Packed < 0 || t.Offset+t.Packed > len(a.texts) || t.Dict >= i || t.Dict < -1 {
			return nil, fmt.Errorf("PTX archive: text %d lies outside the file", i)
		}
	}
	for i, e := range a.index.Entries {
		if e.Text < 0 || e.Text >= len(a.index.Texts) {
			return nil, fmt.Errorf("PTX archive: entry %s has no text", e.Key)
		}
		a.byKey[e.Key] = i
	}
	return a, nil
}

// Keys lists the builds, in the order they were written.
func (a *Archive) Keys() []Key {
	out := make([]Key, len(a.index.Entries))
	for i, e := range a.index.Entries {
		out[i] = parseKey(e.Key)
	}
	return out
}

// Compiler and Options are what entries were built with, but for those that have options of their own.
func (a *Archive) Compiler() string  { return a.index.Compiler }
func (a *Archive) Options() []string { return slices.Clone(a.index.Options) }

// Digest returns the digest of a build without decoding it.
func (a *Archive) Digest(key Key) (string, bool) {
	i, ok := a.byKey[key.String()]
	if !ok {
		return "", false
	}
	return a.index.Entries[i].Digest, true
}

// Find returns a build; ok is false where the archive does not hold it.
func (a *Archive) Find(key Key) (e Entry, ok bool, err error) {
	i, ok := a.byKey[key.String()]
	if !ok {
		return Entry{}, false, nil
	}
	meta := a.index.Entries[i]
	text, err := a.text(meta.Text)
	if err != nil {
		return Entry{}, false, fmt.Errorf("PTX archive: %s: %w", key, err)
	}
	e = Entry{
		Name: key.String() + ".ptx", PTX: text, Digest: meta.Digest, Compiler: a.index.Compiler,
		Options: slices.Clone(meta.Options),
	}
	if len(e.Options) == 0 {
		e.Options = a.Options()
	}
	return e, true, nil
}

func (a *Archive) text(i int) ([]byte, error) {
	t := a.index.Texts[i]
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
	if t.Dict >= 0 {
		dict, err := a.text(t.Dict)
		if err != nil {
			return nil, err
		}
		options = append(options, zstd.WithDecoderDictRaw(dictID, dict))
	}
	d, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	out, err := d.DecodeAll(a.texts[t.Offset:t.Offset+t.Packed], make([]byte, 0, t.Size))
	if err == nil && len(out) != t.Size {
		err = fmt.Errorf("%d bytes where the index says %d", len(out), t.Size)
	}
	return out, err
}

// dictID is any number but zero: each frame has at most one dictionary.
const dictID = 1
