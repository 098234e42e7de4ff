package check_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tilescope/debugkern/check"
	"tilescope/debugkern/chip"
	"tilescope/debugkern/emu"
	"tilescope/debugkern/ptx"
	"tilescope/debugkern/target"
	"tilescope/debugkern/tensormap"
	"tilescope/probes"
)

// earlierMap has two kernels of one launch each: one copies its parameter to ws, the other copies by the map
// that it finds there. FENCE is what stands before that.
const earlierMap = `.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b32 s[64];
.shared .align 8 .b64 bar[1];
.visible .entry make(.param .u64 ws, .param .u64 in, .param .align 64 .b8 map[128])
{
	.reg .b32 %t, %r; .reg .b64 %a, %b, %o;
	mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; ld.param.u64 %a, [ws]; add.u64 %a, %a, %o;
	mov.b64 %b, map; cvta.param.u64 %b, %b; add.u64 %b, %b, %o; ld.u32 %r, [%b]; st.global.u32 [%a], %r;
	ret;
}
.visible .entry use(.param .u64 ws, .param .u64 in, .param .align 64 .b8 map[128])
{
	.reg .pred %p, %q; .reg .b32 %t; .reg .b64 %a;
	mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; ld.param.u64 %a, [ws];
	@%p mbarrier.init.shared::cta.b64 [bar], 1;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	FENCE
	@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
	@%p cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%a, {0, 0}], [bar];
W:
	mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;
	@!%q bra W;
	ret;
}
`

// TestEarlierMap: a map that was in memory before the launch has to be acquired, with a scope that reaches
// those who wrote it.
func TestEarlierMap(t *testing.T) {
	in := make([]byte, 4096)
	launch := func(entry, fence string, ws []byte) (*target.Result, *check.Checker) {
		m, err := ptx.Parse("t.ptx", []byte(strings.Replace(earlierMap, "FENCE", fence, 1)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := emu.New(chip.SM90()).Load(t.Context(), m, entry)
		if err != nil {
			t.Fatal(err)
		}
		c := check.New(check.Options{Set: check.Races})
		r, err := k.Launch(context.Background(), &target.Launch{
			Grid: probes.Dim3{1, 1, 1}, Block: probes.Dim3{32, 1, 1}, Observe: c.Observer, Discard: c.Discard,
			Args: []target.Arg{
				{Name: "ws", Buffer: &target.Buffer{
					DType: probes.U8, Dims: []int{128}, Init: ws, Output: true,
				}},
				{Name: "in", Buffer: &target.Buffer{DType: probes.I32, Dims: []int{1024}, Init: in}},
				{Name: "map", Scalar: make([]byte, tensormap.Bytes), Map: &target.TensorMap{
					Of: 1, Map: tensormap.Map{
						DType: tensormap.I32, Dims: []uint64{32, 32}, Strides: []uint64{128},
						Box: []uint32{8, 8}, Steps: []uint32{1, 1},
					},
				}},
			},
		})
		if err != nil || len(r.Findings) > 0 {
			t.Fatal(err, r.Findings)
		}
		return r, c
	}
	r, _ := launch("make", "", make([]byte, tensormap.Bytes))
	ws := bytes.Clone(r.Outputs["ws"])
	for fence, found := range map[string]bool{
		"": true, "fence.proxy.tensormap::generic.acquire.cta [%a], 128;": true,
		"fence.proxy.tensormap::generic.release.gpu;":               true,
		"fence.proxy.tensormap::generic.acquire.gpu [%a], 128;":     false,
		"fence.proxy.tensormap::generic.acquire.sys [%a], 128;":     false,
		"@%p fence.proxy.tensormap::generic.acquire.gpu [%a], 128;": false,
	} {
		_, c := launch("use", fence, ws)
		fs := c.Findings()
		switch {
		case !found && len(fs) > 0:
			t.Errorf("%s: %+v", fence, fs)
		case found && (len(fs) != 1 || fs[0].Kind != target.ProxyFence || fs[0].Variable != "ws" ||
			!strings.Contains(fs[0].Missing, "acquire.gpu (.sys where the host wrote it) for ws[0] before t.ptx:22")):
			t.Errorf("%s: %+v", fence, fs)
		}
	}
}
