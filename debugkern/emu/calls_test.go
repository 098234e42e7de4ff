package emu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/target"
	"tilescope/probes"
)

// helperKernel is three calls of one inlined function load_tile at line 5, which reads past the end of its
// argument, and two of a function that was not inlined.
const helperKernel = `.version 8.0
.target sm_80
.address_size 64
.func helper(.param .b64 from)
{
	.reg .b32 %r<2>; .reg .b64 %rd<2>;
	.loc	1 9 1
	ld.param.u64 %rd1, [from];
	ld.global.u32 %r1, [%rd1+4096];
	ret;
}
.visible .entry t(.param .u64 a, .param .u64 b)
{
	.reg .b32 %r<9>; .reg .b64 %rd<9>;
	.loc	1 19 1
	ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
	.loc	1 20 3
	.loc	1 5 7, function_name $name, inlined_at 1 20 3
	ld.global.u32 %r1, [%rd1+4096];
	.loc	1 21 3
	.loc	1 5 7, function_name $name, inlined_at 1 21 3
	ld.global.u32 %r2, [%rd2+4096];
	.loc	1 22 3
	.loc	1 30 3, function_name $outer, inlined_at 1 22 3
	.loc	1 5 7, function_name $name, inlined_at 1 30 3
	ld.global.u32 %r3, [%rd2+4096];
	.loc	1 23 3
	{ .param .b64 p; st.param.b64 [p], %rd1; call.uni helper, (p); }
	.loc	1 24 3
	{ .param .b64 p; st.param.b64 [p], %rd1; call.uni helper, (p); }
	ret;
}
	.file	1 "k.cu"
	.section	.debug_str
	{
$name:
.b8 108,111,97,100,95,116,105,108,101,0
$outer:
.b8 97,108,108,0
	}
`

// TestCallSites: two calls of one helper are two findings, each with its call sites, in the message
// and in the document.
func TestCallSites(t *testing.T) {
	m, k := load(t, helperKernel)
	arg := func(name string) target.Arg {
		return target.Arg{
			Name: name, Buffer: &target.Buffer{
				DType: probes.I32, Dims: []int{32}, Init: make([]byte, 128), Bytes: 128,
			},
		}
	}
	r, err := k.Launch(context.Background(), &target.Launch{
		Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Args: []target.Arg{arg("a"), arg("b")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a k.cu:5, in load_tile called from k.cu:20", "b k.cu:5, in load_tile called from k.cu:21",
		"b k.cu:5, in load_tile called from k.cu:30, 22", " k.cu:9, in helper called from k.cu:23",
		" k.cu:9, in helper called from k.cu:24",
	}
	for _, f := range r.Findings {
		text := f.Variable + " " + f.Source.Place()
		found := false
		for i, w := range want {
			if w == text {
				want, found = append(want[:i:i], want[i+1:]...), true
				break
			}
		}
		if _, calls, _ := strings.Cut(text, ", "); !found || f.Kind != target.OutOfBounds || f.Count != 32 ||
			!strings.HasSuffix(f.Message, calls) {
			t.Errorf("%s: %s %d times: %s", text, f.Kind, f.Count, f.Message)
		}
		data, err := json.Marshal(f.Source.Calls)
		var back target.Calls
		if err2 := json.Unmarshal(data, &back); err != nil || err2 != nil || back != f.Source.Calls {
			t.Errorf("%s: %v %v", data, err, err2)
		}
	}
	for _, w := range want {
		t.Errorf("no finding %s", w)
	}
	f := m.Func("t")
	first := target.Blame(f, 2)
	at := ""
	for i, in := range f.Body {
		if first.Within(f, in.Loc) {
			at += fmt.Sprint(" ", i)
		}
	}
	if at != " 2" || first.Calls == "" {
		t.Errorf("instructions at %s: %s", first.Place(), at)
	}
}
