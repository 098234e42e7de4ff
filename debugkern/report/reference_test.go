package report

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestReferenceJSON: references and tolerances are written in the manifest's form, and read back.
func TestReferenceJSON(t *testing.T) {
	for want, r := range map[string]Reference{
		`"graph"`:                           {Kind: Graph},
		`"none"`:                            {Kind: NoReference},
		`{"npz":"ref.npz","array":"y_f32"}`: {Kind: ByArchive, File: "ref.npz", Array: "y_f32"},
		`{"name":"torch","command":["python3","ref.py"],"timeout":"1m0s"}`: {Kind: ByCommand, Name: "torch",
			Command: []string{"python3", "ref.py"}, Timeout: time.Minute},
		`{"kernel":"naive.yaml"}`: {Kind: ByKernel, File: "naive.yaml"},
	} {
		b, err := json.Marshal(r)
		var back Reference
		if err != nil || string(b) != want || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%+v is %s, want %s; back %+v", r, b, want, back)
		}
	}
	if json.Unmarshal([]byte(`{}`), &Reference{}) == nil {
		t.Error("{} was taken for a reference")
	}
	for want, x := range map[string]*Tolerance{
		`"derived"`:               {Derived: true},
		`{"rtol":0.001,"atol":0}`: {RTol: 1e-3},
		`{"baseline":"half","factor":2,"error":0.5}`: {Baseline: "half", Factor: 2, Error: .5},
		`null`: nil,
	} {
		b, err := json.Marshal(x)
		var a, w any
		if err != nil || json.Unmarshal(b, &a) != nil {
			t.Fatalf("%+v: %s, %v", x, b, err)
		}
		_ = json.Unmarshal([]byte(want), &w)
		var back *Tolerance
		if !reflect.DeepEqual(a, w) || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, x) {
			t.Errorf("%+v is %s, want %s; back %+v", x, b, want, back)
		}
	}
}
