// Package fatbin reads the container in which nvcc puts a program's device code: images for several
// architectures, PTX and cubins, each stored as it is or compressed (LZ4 or zstd).
//
// The one idea: a container is foreign bytes. Every offset and size is checked against what is there, and
// what an image decompresses to is bounded, before anything is allocated.
//
// It must not know what executes an image. NVIDIA does not document the format: it is taken from what nvcc 12
// and 13 write (testdata), so that what is unknown is an error, never a guess.
package fatbin

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Kind is what an image is.
type Kind uint16

// Kinds of image.
const (
	PTX   Kind = 1
	Cubin Kind = 2
)

// Image is one image of a container. Arch is 90 for sm_90 and compute_90.
type Image struct {
	Kind Kind
	Arch int
	Data []byte
}

const (
	magic      = 0xba55ed50
	headBytes  = 16
	entryBytes = 64
	maxImage   = 256 << 20 // bytes of an image that is decompressed
	maxImages  = 1 << 30   // and of all images of a container together

	flagLZ4  = 0x2000
	flagZstd = 0x8000
)

// Is reports whether data begins as a container does.
func Is(data []byte) bool {
	return len(data) >= headBytes && binary.LittleEndian.Uint32(data) == magic
}

// Size returns the bytes of the container that data begins with, header and images; 0 where there is none.
func Size(data []byte) int {
	if !Is(data) {
		return 0
	}
	head, rest := binary.LittleEndian.Uint16(data[6:]), binary.LittleEndian.Uint64(data[8:])
	if head < headBytes || rest > uint64(len(data)) || uint64(head)+rest > uint64(len(data)) {
		return 0
	}
	return int(head) + int(rest)
}

// Read returns the images of a container, decompressed. PTX is without the bytes 0 that end it.
func Read(data []byte) ([]Image, error) { return read(data, maxImages) }

// read is Read of images that have at most so many bytes together.
func read(data []byte, left uint64) ([]Image, error) {
	size := Size(data)
	if size == 0 {
		return nil, fmt.Errorf("no fatbin of its size: %d bytes", len(data))
	}
	var out []Image
	for at := int(binary.LittleEndian.Uint16(data[6:])); at < size; {
		entry := data[at:size]
		if len(entry) < entryBytes {
			return nil, fmt.Errorf("the image at byte %d is cut off", at)
		}
		head, body := binary.LittleEndian.Uint32(entry[4:]), binary.LittleEndian.Uint64(entry[8:])
		if head < entryBytes || uint64(head) > uint64(len(entry)) || body > uint64(len(entry))-uint64(head) {
			return nil, fmt.Errorf("the image at byte %d ends past the container", at)
		}
		content, err := content(entry[:head], entry[head:uint64(head)+body], min(left, maxImage))
		if err != nil {
			return nil, fmt.Errorf("the image at byte %d: %w", at, err)
		}
		left -= min(left, uint64(len(content)))
		m := Image{Kind: Kind(binary.LittleEndian.Uint16(entry)), Data: content,
			Arch: int(binary.LittleEndian.Uint32(entry[0x1c:]))}
		if m.Kind == PTX {
			m.Data = bytes.TrimRight(m.Data, "\x00")
		}
		out = append(out, m)
		at += int(head) + int(body)
	}
	return out, nil
}

// content decompresses an image to at most so many bytes. One that is not compressed is a part of data.
func content(head, body []byte, most uint64) ([]byte, error) {
	flags, packed, full := binary.LittleEndian.Uint64(head[0x28:]), binary.LittleEndian.Uint32(head[0x10:]),
		binary.LittleEndian.Uint64(head[0x38:])
	if flags&(flagLZ4|flagZstd) == 0 {
		return body, nil
	}
	switch {
	case uint64(packed) > uint64(len(body)):
		return nil, fmt.Errorf("%d bytes are compressed to %d, of which %d are there", full, packed,
			len(body))
	case full > most:
		return nil, fmt.Errorf("it decompresses to %d bytes, of which at most %d are read", full, most)
	}
	body = body[:packed]
	if flags&flagZstd != 0 {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxImage), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		out, err := d.DecodeAll(body, make([]byte, 0, full))
		if err == nil && uint64(len(out)) != full {
			err = fmt.Errorf("%d bytes instead of %d", len(out), full)
		}
		return out, err
	}
	out := make([]byte, full)
	n, err := lz4.UncompressBlock(body, out)
	if err == nil && uint64(n) != full {
		err = fmt.Errorf("%d bytes instead of %d", n, full)
	}
	return out, err
}
