package kernels

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Writer collects builds into an archive. The first build added of each kernel becomes the
// dictionary of its others.
type Writer struct {
	index index
	texts []byte
	seen  map[string]int    // PTX → its text
	first map[string]string // kernel → the PTX of its first text
}

// NewWriter starts an archive of builds made by one compiler, most of them with one set of options.
func NewWriter(compiler string, options []string) *Writer {
	return &Writer{
		index: index{Compiler: compiler, Options: options}, seen: map[string]int{},
		first: map[string]string{},
	}
}

// Add appends one build, made with these options. Adding in the same order gives the same bytes.
func (w *Writer) Add(key Key, options []string, digest, ptx string) error {
	at, ok := w.seen[ptx]
	if !ok {
		var err error
		if at, err = w.addText(key.Kernel, ptx); err != nil {
			return fmt.Errorf("pack %s: %w", key, err)
		}
	}
	e := entryMeta{Key: key.String(), Digest: digest, Text: at}
	if !slices.Equal(options, w.index.Options) {
		e.Options = options
	}
	w.index.Entries = append(w.index.Entries, e)
	return nil
}

func (w *Writer) addText(kernel, ptx string) (int, error) {
	ref := textRef{Offset: len(w.texts), Size: len(ptx), Dict: -1}
	options := []zstd.EOption{
		zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1),
	}
	if dict, ok := w.first[kernel]; ok {
		ref.Dict = w.seen[dict]
		options = append(options, zstd.WithEncoderDictRaw(dictID, []byte(dict)))
	} else {
		w.first[kernel] = ptx
	}
	enc, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return 0, err
	}
	defer enc.Close()
	w.texts = enc.EncodeAll([]byte(ptx), w.texts)
	ref.Packed = len(w.texts) - ref.Offset
	w.index.Texts = append(w.index.Texts, ref)
	w.seen[ptx] = len(w.index.Texts) - 1
	return w.seen[ptx], nil
}

// Bytes returns the finished archive.
func (w *Writer) Bytes() ([]byte, error) {
	head, err := json.Marshal(w.index)
	if err != nil {
		return nil, fmt.Errorf("PTX archive: index: %w", err)
	}
	out := append([]byte(archiveMagic), binary.LittleEndian.AppendUint32(nil, uint32(len(head)))...)
	return append(append(out, head...), w.texts...), nil
}

// Texts returns how many distinct PTX texts have been added, and their size before packing.
func (w *Writer) Texts() (n, bytes int) {
	for _, t := range w.index.Texts {
		bytes += t.Size
	}
	return len(w.index.Texts), bytes
}
