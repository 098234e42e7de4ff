package cuda

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

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
	Cluster     probes.Dim3
	DynShared   int
	Args        []wireArg
	Shared      []probes.SharedArray
	Probe       *wireProbe
	Only        []probes.Dim3
	Schedule    target.Schedule
	Budget      uint64
	Resident    int
	Variant     uint32
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
	if l.Observe != nil || l.Ends != nil || l.Probe != nil && len(l.Probe.Replace) > 0 {
		return nil, nil, ErrNotSent
	}
	u := &upload{}
	w := &wireLaunch{
		Grid: l.Grid, Block: l.Block, Cluster: l.Cluster, DynShared: l.DynShared, Shared: l.Shared,
		Only:     l.Only,
		Schedule: l.Schedule, Budget: l.Budget, Resident: l.Resident, Variant: l.Variant,
		Cooperative: l.Cooperative, Ordered: l.Ordered, Repeat: l.Repeat, Label: l.Label,
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
		Grid: w.Grid, Block: w.Block, Cluster: w.Cluster, DynShared: w.DynShared, Shared: w.Shared,
		Only:     w.Only,
		Schedule: w.Schedule, Budget: w.Budget, Resident: w.Resident, Variant: w.Variant,
		Cooperative: w.Cooperative, Ordered: w.Ordered, Repeat: w.Repeat, Label: w.Label,
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
