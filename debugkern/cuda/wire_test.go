package cuda

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/target"
)

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
