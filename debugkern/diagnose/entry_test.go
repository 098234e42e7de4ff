package diagnose

import (
	"testing"

	"tilescope/debugkern/ptx"
)

// entry parses the body of an entry k with a parameter n; lines of a .loc with file 1 are of k.cu.
func entry(t *testing.T, body string) *ptx.Func {
	t.Helper()
	m, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{
`+body+`
}
.file 1 "k.cu"
`))
	if err != nil {
		t.Fatal(err)
	}
	return m.Funcs[0]
}
