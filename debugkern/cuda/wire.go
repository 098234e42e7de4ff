package cuda

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/probes"
)

// ErrNotSent is returned for a launch that another process cannot be given whole: functions of this one take
// part in it, its module was changed in memory, or it has values that the encoding does not return as they
// are.
var ErrNotSent = errors.New("the launch cannot be given to another process")

// wireLaunch is a target.Launch for the worker's emulator. Contents of buffers travel as the request's
// buffers.
type wireLaunch struct {
	Grid, Block probes.Dim3
	DynShared   int
	Args        []wireArg
	Shared      []probes.SharedArray
	Probe       *wireProbe
	Only        []probes.Dim3
	Schedule    target.Schedule
	Budget      uint64
	Resident    int
	Cooperative bool
	Ordered     bool
	Repeat      int
	Label       string
}

type wireArg struct {
	Name   string
	Scalar []byte
	Buffer *wireBuffer
	Map    *target.TensorMap
	Into   []target.Place
}

// wireBuffer is a target.Buffer. Init and Written are numbers of the request's buffers, -1 for none.
type wireBuffer struct {
	DType         probes.DType
	Dims, Strides []int
	Init, Written int
	Bytes         int
	Output        bool
}

type wireProbe struct {
	Layout  *probes.Layout
	Inject  int // the request's buffer, -1 for none
	Control bool
	Watch   []target.Watch
	Gather  []target.Gather
}

// encodeLaunch describes a launch, and returns the buffers that travel with it. A launch that would not be
// the same there is ErrNotSent.
func encodeLaunch(l *target.Launch) (json.RawMessage, *upload, error) {
	if l.Observe != nil || l.Probe != nil && len(l.Probe.Replace) > 0 {
		return nil, nil, ErrNotSent
	}
	u := &upload{}
	w := &wireLaunch{
		Grid: l.Grid, Block: l.Block, DynShared: l.DynShared, Shared: l.Shared, Only: l.Only,
		Schedule: l.Schedule, Budget: l.Budget, Resident: l.Resident, Cooperative: l.Cooperative,
		Ordered: l.Ordered, Repeat: l.Repeat, Label: l.Label,
	}
	for i := range l.Args {
		a := &l.Args[i]
		x := wireArg{Name: a.Name, Scalar: a.Scalar, Map: a.Map, Into: a.Into}
		if b := a.Buffer; b != nil {
			x.Buffer = &wireBuffer{
				DType: b.DType, Dims: b.Dims, Strides: b.Strides, Init: u.add(b.Init),
				Written: u.add(b.Written),
				Bytes:   b.Bytes, Output: b.Output,
			}
		}
		w.Args = append(w.Args, x)
	}
	if p := l.Probe; p != nil {
		w.Probe = &wireProbe{
			Layout: p.Layout, Inject: u.add(p.Inject), Control: p.Control, Watch: p.Watch, Gather: p.Gather,
		}
	}
	text, err := encodeExactly(w)
	return text, u, err
}

// encodeExactly encodes a value and decodes it again, and refuses one that is not the same then.
func encodeExactly[T any](v *T) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	again := new(T)
	if err := json.Unmarshal(text, again); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	if !reflect.DeepEqual(v, again) {
		return nil, ErrNotSent
	}
	return text, nil
}

// decodeLaunch is encodeLaunch's inverse.
func decodeLaunch(text json.RawMessage, buffers [][]byte) (*target.Launch, error) {
	var w wireLaunch
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, fmt.Errorf("malformed launch: %w", err)
	}
	var bad error
	contents := func(i int) []byte {
		if i < 0 {
			return nil
		}
		if i >= len(buffers) {
			bad = fmt.Errorf("malformed launch: buffer %d of %d", i, len(buffers))
			return nil
		}
		return buffers[i]
	}
	l := &target.Launch{
		Grid: w.Grid, Block: w.Block, DynShared: w.DynShared, Shared: w.Shared, Only: w.Only,
		Schedule: w.Schedule, Budget: w.Budget, Resident: w.Resident, Cooperative: w.Cooperative,
		Ordered: w.Ordered, Repeat: w.Repeat, Label: w.Label,
	}
	for _, x := range w.Args {
		a := target.Arg{Name: x.Name, Scalar: x.Scalar, Map: x.Map, Into: x.Into}
		if b := x.Buffer; b != nil {
			a.Buffer = &target.Buffer{
				DType: b.DType, Dims: b.Dims, Strides: b.Strides, Init: contents(b.Init),
				Written: contents(b.Written), Bytes: b.Bytes, Output: b.Output,
			}
		}
		l.Args = append(l.Args, a)
	}
	if p := w.Probe; p != nil {
		if p.Layout == nil {
			return nil, errors.New("malformed launch: a capture without a layout")
		}
		l.Probe = &target.Probe{
			Layout: p.Layout, Inject: contents(p.Inject), Control: p.Control, Watch: p.Watch,
			Gather: p.Gather,
		}
	}
	return l, bad
}

// wireResult is a target.Result. The bytes of Outputs, Written and Spans follow it in this order.
type wireResult struct {
	Outputs, Written []wireBytes
	Spans            []probes.Span // of the capture, in which something was captured
	Captured         bool
	Unwritten        map[string]int
	Missing          probes.Missing
	Printed          []byte
	Findings         []target.Finding
	Counts           target.Counts
	Elapsed          int64
	Reached          bool
	Stopped          []probes.Dim3
	Ordered          bool
}

type wireBytes struct {
	Name  string
	Bytes int
}

// encodeResult returns what a launch left as pieces: one after the other they are what decodeResult reads.
func encodeResult(l *target.Launch, r *target.Result) ([][]byte, error) {
	w := &wireResult{
		Unwritten: r.Unwritten, Missing: r.Missing, Printed: r.Printed, Findings: r.Findings,
		Counts:  r.Counts,
		Elapsed: int64(r.Elapsed), Reached: r.Reached, Stopped: r.Stopped, Ordered: r.Ordered,
		Captured: r.Capture != nil,
	}
	pieces := [][]byte{nil, nil}
	for _, m := range []struct {
		of map[string][]byte
		to *[]wireBytes
	}{{r.Outputs, &w.Outputs}, {r.Written, &w.Written}} {
		for _, name := range slices.Sorted(maps.Keys(m.of)) {
			*m.to = append(*m.to, wireBytes{name, len(m.of[name])})
			pieces = append(pieces, m.of[name])
		}
	}
	if r.Capture != nil {
		for _, s := range capturedSpans(l) {
			if data := r.Capture.Bytes(s.Lo, s.Hi); data != nil {
				w.Spans = append(w.Spans, s)
				pieces = append(pieces, data)
			}
		}
	}
	text, err := encodeExactly(w)
	if err != nil {
		return nil, fmt.Errorf("what the launch left: %w", err)
	}
	pieces[0], pieces[1] = binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text
	return pieces, nil
}

// capturedSpans are the slots of every block that the layout captures.
func capturedSpans(l *target.Launch) []probes.Span {
	var out []probes.Span
	r := l.Probe.Layout.Range
	for z := range r.N[2] {
		for y := range r.N[1] {
			for x := range r.N[0] {
				block := probes.Dim3{r.Lo[0] + x, r.Lo[1] + y, r.Lo[2] + z}
				out = append(out, l.Probe.Layout.Spans(block)...)
			}
		}
	}
	return out
}

var errMalformedResult = errors.New("worker protocol: malformed result of an emulated launch")

// decodeResult reads what encodeResult made.
func decodeResult(l *target.Launch, body []byte) (*target.Result, error) {
	take := func(n uint64) []byte {
		if n > uint64(len(body)) {
			return nil
		}
		part := body[:n:n]
		body = body[n:]
		return part
	}
	size := take(8)
	if size == nil {
		return nil, errMalformedResult
	}
	text := take(binary.LittleEndian.Uint64(size))
	var w wireResult
	if text == nil || json.Unmarshal(text, &w) != nil {
		return nil, errMalformedResult
	}
	r := &target.Result{
		Unwritten: w.Unwritten, Missing: w.Missing, Printed: w.Printed, Findings: w.Findings,
		Counts:  w.Counts,
		Reached: w.Reached, Stopped: w.Stopped, Ordered: w.Ordered,
	}
	r.Elapsed = durationOf(w.Elapsed)
	for _, m := range []struct {
		from []wireBytes
		to   *map[string][]byte
	}{{w.Outputs, &r.Outputs}, {w.Written, &r.Written}} {
		for _, x := range m.from {
			part := take(uint64(max(x.Bytes, 0)))
			if part == nil && x.Bytes != 0 || x.Bytes < 0 {
				return nil, errMalformedResult
			}
			if *m.to == nil {
				*m.to = map[string][]byte{}
			}
			(*m.to)[x.Name] = part
		}
	}
	if w.Captured {
		if l.Probe == nil {
			return nil, errMalformedResult
		}
		known := map[probes.Span]bool{}
		for _, s := range capturedSpans(l) {
			known[s] = true
		}
		pieces := l.Probe.Layout.NewPieces()
		for _, s := range w.Spans {
			part := take(s.Hi - s.Lo)
			if !known[s] || uint64(len(part)) != s.Hi-s.Lo {
				return nil, errMalformedResult
			}
			pieces.Set(s, part)
		}
		r.Capture = pieces
	}
	if len(body) != 0 {
		return nil, errMalformedResult
	}
	return r, nil
}

// wireFault is a target.Fault.
type wireFault struct {
	Kind, Msg, Pos string
	Source         *target.Source
	Block          probes.Dim3
	Warp, Lane     int
	Addr           uint64
	Err            string
}

func encodeFault(f *target.Fault) *wireFault {
	w := &wireFault{f.Kind, f.Msg, f.Pos, f.Source, f.Block, f.Warp, f.Lane, f.Addr, ""}
	if f.Err != nil {
		w.Err = f.Err.Error()
	}
	return w
}

func (w *wireFault) fault() *target.Fault {
	f := &target.Fault{
		Kind: w.Kind, Msg: w.Msg, Pos: w.Pos, Source: w.Source, Block: w.Block, Warp: w.Warp, Lane: w.Lane,
		Addr: w.Addr,
	}
	if w.Err != "" {
		f.Err = errors.New(w.Err)
	}
	return f
}

// wirePTX is a *ptx.Error.
type wirePTX struct {
	Pos ptx.Pos
	Msg string
}
