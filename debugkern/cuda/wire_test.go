package cuda

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// TestLaunchesTravel: a launch comes out as it went in, and no field of it is left behind, now or when one is
// added, but those that are this process's.
func TestLaunchesTravel(t *testing.T) {
	here := []string{"Ends", "Observe", "Discard", "Parallel", "Memory", "OnLaunch"}
	l := floats(12)
	l.Cluster, l.DynShared, l.Only, l.Budget = probes.Dim3{2, 1, 1}, 64, []probes.Dim3{{1, 0, 0}}, 9
	l.Schedule = target.Schedule{Policy: "random", Seed: 3, Async: "latest"}
	l.Resident, l.Cooperative, l.Ordered, l.Repeat, l.Variant = 4, true, true, 2, 5
	l.Shared = []probes.SharedArray{{Name: "s", DType: probes.F32, Dims: []int{4}}}
	l.Probe = &target.Probe{Layout: &probes.Layout{}, Inject: []byte{1, 2}, Control: true}
	l.Args[1].Into = []target.Place{}
	v := reflect.ValueOf(l).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() != slices.Contains(here, name) {
			t.Errorf("field %s: this test has to have a value for it, unless it stays here", name)
		}
	}
	text, u, err := encodeLaunch(l)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeLaunch(text, u.bodies); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decodeLaunch(text, u.bodies[:1]); err == nil {
		t.Error("a buffer that is not there")
	}
	l.Observe = func(probes.Dim3) target.Observer { return nil }
	if _, _, err := encodeLaunch(l); !errors.Is(err, ErrNotSent) {
		t.Errorf("an observed launch: %v", err)
	}
	l.Observe, l.Ends = nil, func(*target.Finding) bool { return true }
	if _, _, err := encodeLaunch(l); !errors.Is(err, ErrNotSent) {
		t.Errorf("a launch that a finding ends: %v", err)
	}
}

// TestResultsTravel: what a launch left comes back as it was, and what is not of the launch is refused.
func TestResultsTravel(t *testing.T) {
	l := floats(12)
	left := func() *target.Result {
		return &target.Result{
			Outputs:   map[string][]byte{"out": make([]byte, 48)},
			Written:   map[string][]byte{"out": make([]byte, 48)},
			Unwritten: map[string]int{"out": 3}, Printed: []byte("hello"), Reached: true, Elapsed: 7,
		}
	}
	encoded := func(r *target.Result) []byte {
		t.Helper()
		pieces, err := encodeResult(l, r)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(pieces...)
	}
	body := encoded(left())
	if got, err := decodeResult(l, body); err != nil || !reflect.DeepEqual(got, left()) {
		t.Errorf("%+v, %v", got, err)
	}
	longer := left()
	longer.Outputs["out"] = make([]byte, 52)
	input := left()
	input.Outputs["in"] = make([]byte, 48)
	missing := left()
	missing.Missing = map[uint64][]bool{16: {true}}
	for name, bad := range map[string][]byte{
		"an output that is too long": encoded(longer), "no output": encoded(input),
		"no capture": encoded(missing),
		"cut":        body[:len(body)-1], "longer": append(slices.Clone(body), 0), "nothing": nil,
		"a size past the end": binary.LittleEndian.AppendUint64(nil, 1<<63),
		"a negative size": slices.Concat(body[:8],
			[]byte(strings.Replace(string(body[8:]), `"Bytes":48`, `"Bytes":-1`, 1))),
		"a capture": slices.Concat(body[:8],
			[]byte(strings.Replace(string(body[8:]), `"Captured":false`, `"Captured":true `, 1))),
	} {
		if _, err := decodeResult(l, bad); !errors.Is(err, errMalformedResult) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLaunchResults: a result that names what the launch does not have is refused before anything is looked
// up by it.
func TestLaunchResults(t *testing.T) {
	l := floats(12)
	good := launchResult{
		Overruns: []overrun{{Buffer: 1, After: true, Bytes: 4}},
		Varied:   []variation{{Buffer: 1, Words: []int64{1, 17}}}, Uncompared: []int{1},
	}
	if !good.of(l) {
		t.Error("a good result is refused")
	}
	for name, r := range map[string]launchResult{
		"a negative buffer":      {Overruns: []overrun{{Buffer: -1}}},
		"a scalar":               {Overruns: []overrun{{Buffer: 2}}},
		"a capture":              {Varied: []variation{{Buffer: 3}}},
		"negative words":         {Varied: []variation{{Buffer: 1, Words: []int64{-1}}}},
		"a distance":             {Overruns: []overrun{{Buffer: 1, First: 1 << 40}}},
		"a negative count":       {Overruns: []overrun{{Buffer: 1, Bytes: -4}}},
		"a buffer past the last": {Uncompared: []int{9}},
	} {
		if r.of(l) {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestPieces: a buffer in pieces travels in whole chunks, as it would in one.
func TestPieces(t *testing.T) {
	whole := make([]byte, 2*chunkBytes+chunkBytes/2)
	for i := range whole {
		whole[i] = byte(i * i >> 3)
	}
	var pieces [][]byte
	for rest, n := whole, 1; len(rest) > 0; n = n*3 + 1 {
		n = min(n, len(rest))
		pieces, rest = append(pieces, rest[:n], nil), rest[n:]
	}
	for _, pack := range []bool{false, true} {
		var one, many bytes.Buffer
		if err := (&frameWriter{w: &one, pack: pack}).data(0, 7, whole, nil); err != nil {
			t.Fatal(err)
		}
		if err := (&frameWriter{w: &many, pack: pack}).pieces(0, 7, pieces); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), many.Bytes()) {
			t.Errorf("packed %v: %d bytes, in one piece %d", pack, many.Len(), one.Len())
		}
	}
}
