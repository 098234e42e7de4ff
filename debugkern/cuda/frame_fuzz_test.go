package cuda

import (
	"bufio"
	"bytes"
	"io"
	"testing"
)

// FuzzFrame gives both ends of the protocol any bytes. The worker's end must take no more for buffers than
// its budget and give all of it back; the parent's must write into no more than the buffers that it asked
// for. Neither may panic.
func FuzzFrame(f *testing.F) {
	add := func(write func(*frameWriter)) {
		var b bytes.Buffer
		write(&frameWriter{w: &b})
		f.Add(b.Bytes())
	}
	add(func(w *frameWriter) {
		w.json(frameRequest, 1, request{Buffers: []int64{3, 0, 5}})
		w.data(0, 1, []byte("abc"), nil)
		w.write(frameCancel, 0, 1, nil)
		w.data(2, 1, []byte("defgh"), nil)
		w.json(frameRequest, 2, request{Buffers: []int64{1 << 39}})
	})
	add(func(w *frameWriter) {
		w.json(frameHello, 0, hello{Protocol: protocolVersion})
		w.json(frameProgress, 1, progress{Step: "launch", N: 1})
		w.data(0, 1, []byte("abcd"), nil)
		w.json(frameResult, 1, result{Launch: &launchResult{}})
		w.json(frameError, 2, failure{Message: "no"})
	})
	f.Fuzz(func(t *testing.T, in []byte) {
		fuzzWorker(t, in)
		fuzzParent(t, in)
	})
}

func fuzzWorker(t *testing.T, in []byte) {
	const budget = 1 << 12
	w := &worker{out: &frameWriter{w: io.Discard}, budget: budget}
	r := bytes.NewReader(in)
	for {
		h, err := readHeader(r)
		if err != nil || h.kind != frameRequest {
			return
		}
		got := &incoming{id: h.id}
		if readJSON(r, h, &got.request) != nil {
			return
		}
		err = w.readBuffers(r, got)
		if w.buffered.Load() > budget {
			t.Fatalf("%d bytes of buffers, the budget is %d", w.buffered.Load(), budget)
		}
		if err != nil {
			return
		}
		var n int64
		for i, b := range got.buffers {
			if int64(len(b)) != got.request.Buffers[i] || cap(b) > 2*budget {
				t.Fatalf("buffer %d: %d bytes, room for %d, %d asked for", i, len(b), cap(b),
					got.request.Buffers[i])
			}
			n += int64(len(b))
		}
		if w.drop(got); n != got.bytes || w.buffered.Load() != 0 {
			t.Fatalf("%d bytes read, %d counted, %d not given back", n, got.bytes, w.buffered.Load())
		}
	}
}

func fuzzParent(t *testing.T, in []byte) {
	x := &exchange{
		request: &request{}, into: map[int][]byte{0: make([]byte, 4), 2: make([]byte, 9)}, at: map[int]int{},
		id: 1, heard: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p := &process{reader: bufio.NewReader(bytes.NewReader(in)), id: 3, calls: map[uint64]*exchange{1: x}}
	for {
		h, err := readHeader(p.reader)
		if err != nil || p.hear(h) != nil {
			break
		}
	}
	for s, n := range x.at {
		if n > len(x.into[s]) {
			t.Fatalf("%d bytes for stream %d, which has %d", n, s, len(x.into[s]))
		}
	}
}
