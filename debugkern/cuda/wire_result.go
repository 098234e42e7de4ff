package cuda

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

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
	w.Outputs, pieces = encodeBytes(r.Outputs, pieces)
	w.Written, pieces = encodeBytes(r.Written, pieces)
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

// encodeBytes describes named bytes, in the order in which they are added to pieces.
func encodeBytes(all map[string][]byte, pieces [][]byte) ([]wireBytes, [][]byte) {
	var out []wireBytes
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, wireBytes{name, len(all[name])})
		pieces = append(pieces, all[name])
	}
	return out, pieces
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

// decodeResult reads what encodeResult made of a launch. What does not belong to the launch is
// errMalformedResult: the other side may be another machine.
func decodeResult(l *target.Launch, body []byte) (*target.Result, error) {
	d := &resultBytes{left: body}
	var w wireResult
	size := d.take(8)
	if size == nil || json.Unmarshal(d.take(binary.LittleEndian.Uint64(size)), &w) != nil {
		return nil, errMalformedResult
	}
	r := &target.Result{
		Unwritten: w.Unwritten, Missing: w.Missing, Printed: w.Printed, Findings: w.Findings,
		Counts: w.Counts, Reached: w.Reached, Stopped: w.Stopped, Ordered: w.Ordered,
		Elapsed: time.Duration(w.Elapsed),
	}
	sizes := outputSizes(l)
	r.Outputs, r.Written = d.named(w.Outputs, sizes), d.named(w.Written, sizes)
	if w.Captured {
		r.Capture = d.captured(l, w.Spans)
	}
	if w.Missing != nil && (l.Probe == nil || !w.Missing.Of(l.Probe.Layout)) || d.bad || len(d.left) != 0 {
		return nil, errMalformedResult
	}
	return r, nil
}

// resultBytes are the bytes of a result that are not decoded yet; bad: they are not those of the launch.
type resultBytes struct {
	left []byte
	bad  bool
}

// take returns the next n bytes, nil where there are fewer.
func (d *resultBytes) take(n uint64) []byte {
	if n > uint64(len(d.left)) {
		d.bad = true
		return nil
	}
	part := d.left[:n:n]
	d.left = d.left[n:]
	return part
}

// outputSizes are the bytes of a launch's outputs, by name.
func outputSizes(l *target.Launch) map[string]int {
	sizes := map[string]int{}
	for i := range l.Args {
		if b := l.Args[i].Buffer; b != nil && b.Output {
			sizes[l.Args[i].Name] = max(b.Bytes, len(b.Init))
		}
	}
	return sizes
}

// named reads bytes by name, of which each has its size; nil for none.
func (d *resultBytes) named(list []wireBytes, sizes map[string]int) map[string][]byte {
	var out map[string][]byte
	for _, x := range list {
		if size, ok := sizes[x.Name]; !ok || x.Bytes != size {
			d.bad = true
			return nil
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[x.Name] = d.take(uint64(x.Bytes))
	}
	return out
}

// captured reads the slots of blocks of a launch.
func (d *resultBytes) captured(l *target.Launch, spans []probes.Span) *probes.Pieces {
	if l.Probe == nil {
		d.bad = true
		return nil
	}
	known := map[probes.Span]bool{}
	for _, s := range capturedSpans(l) {
		known[s] = true
	}
	pieces := l.Probe.Layout.NewPieces()
	for _, s := range spans {
		if !known[s] {
			d.bad = true
			return nil
		}
		if data := d.take(s.Hi - s.Lo); data != nil {
			pieces.Set(s, data)
		}
	}
	return pieces
}
