package cuda

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// speak runs a worker in this process over an input that ends, and returns its answers.
func speak(t *testing.T, input []byte) (code int, answers []string) {
	t.Helper()
	code = WorkerMain(t.Context(), bytes.NewReader(input), &frameSink{out: &answers}, WorkerOptions{})
	return code, answers
}

// frameSink collects whole frames as text.
type frameSink struct {
	buf bytes.Buffer
	out *[]string
}

func (s *frameSink) Write(b []byte) (int, error) {
	s.buf.Write(b)
	for {
		h, err := readHeader(bytes.NewReader(s.buf.Bytes()))
		if err != nil || s.buf.Len() < frameHeader+int(h.length) {
			return len(b), nil
		}
		s.buf.Next(frameHeader)
		*s.out = append(*s.out, string(s.buf.Next(int(h.length))))
	}
}

func frames(t *testing.T, write func(*frameWriter)) []byte {
	t.Helper()
	var b bytes.Buffer
	write(&frameWriter{w: &b})
	return b.Bytes()
}

func TestFramesRoundTrip(t *testing.T) {
	big := bytes.Repeat([]byte{1, 2, 3, 4, 5}, chunkBytes/2)
	in := frames(t, func(f *frameWriter) {
		f.json(frameRequest, 7, request{Buffers: []int64{int64(len(big))}})
		if err := f.data(0, 7, big, nil); err != nil {
			t.Fatal(err)
		}
		f.write(frameCancel, 0, 9, nil)
	})
	w := &worker{budget: DefaultBudget}
	got := make(chan *incoming, 1)
	if err := w.read(bytes.NewReader(in), got); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	req := <-got
	if req.id != 7 || len(req.buffers) != 1 || !bytes.Equal(req.buffers[0], big) {
		t.Errorf("request %d with %d buffers", req.id, len(req.buffers))
	}
	if !w.isCancelled(9) || w.isCancelled(7) {
		t.Error("the cancellation of request 9 was not seen")
	}
	if err := (&frameWriter{w: io.Discard}).write(frameData, 0, 1, make([]byte, frameMax+1)); err == nil {
		t.Error("a frame over the limit was written")
	}
}

func TestWorkerRefusesNoise(t *testing.T) {
	for name, in := range map[string][]byte{
		"text":             []byte("hello, are you a worker? please answer\n"),
		"kind 0":           make([]byte, frameHeader),
		"half a header":    {1, 2, 3},
		"data out of turn": frames(t, func(f *frameWriter) { f.write(frameData, 0, 1, []byte{1}) }),
		"no JSON": frames(t, func(f *frameWriter) {
			f.write(frameRequest, 0, 1, []byte("{"))
		}),
		"a negative buffer": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: []int64{-1}})
		}),
		"a buffer over the budget": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: []int64{1 << 39}})
		}),
		"buffers over the budget": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: []int64{1000, 1000}})
			f.data(0, 1, make([]byte, 1000), nil)
			f.data(1, 1, make([]byte, 1000), nil)
		}),
		"sizes that overflow": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: []int64{1 << 62, 1 << 62, 1 << 62}})
		}),
		"too many buffers": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: make([]int64, maxBuffers+1)})
		}),
		"a cancellation with a body": frames(t, func(f *frameWriter) {
			f.write(frameCancel, 0, 1, []byte{1})
		}),
		"too much for buffer": frames(t, func(f *frameWriter) {
			f.json(frameRequest, 1, request{Buffers: []int64{1}})
			f.write(frameData, 0, 1, []byte{1, 2})
		}),
	} {
		w := &worker{budget: 1 << 10}
		if err := w.read(bytes.NewReader(in), make(chan *incoming, 1)); err == nil || err == io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWorkerSaysHelloAndEnds(t *testing.T) {
	code, answers := speak(t, nil)
	var word hello
	if code != 0 || len(answers) != 1 || json.Unmarshal([]byte(answers[0]), &word) != nil ||
		word.Protocol != protocolVersion || word.PID != os.Getpid() {
		t.Errorf("code %d, answers %q", code, answers)
	}
}

func TestWorkerRefusesWhatItCannotDo(t *testing.T) {
	w := &worker{}
	for want, in := range map[string]*incoming{
		"no device is open": {request: request{Memory: &memoryRequest{}}},
		"cancelled":         {id: 3},
	} {
		w.cancelled.Store(3)
		if _, err := w.handle(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	w.drv, w.ctx = &driver{}, 1
	if _, err := w.handle(&incoming{}); err == nil || !strings.Contains(err.Error(), "malformed request") {
		t.Errorf("an empty request: %v", err)
	}
	if _, err := w.prepare(&launchSpec{Kernel: 4}, nil); err == nil ||
		!strings.Contains(err.Error(), "no kernel 4") {
		t.Errorf("an unknown kernel: %v", err)
	}
}
