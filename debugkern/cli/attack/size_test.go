//go:build unix

package attack

import (
	"fmt"
	"strings"
)

// sizeCases ask for more memory than there is: refused before anything runs, never an end by the system.
func sizeCases(g *good) (all []attack) {
	for _, shape := range []string{
		"1,1,1000000000,64", "1,1000000,1000000,64", "1000000000,1,32,64", "65535,65535,65535,64",
		"4294967296,4294967296,1,64", "1,1,9223372036854775807,64", "3037000500,3037000500,1,64",
		"1,1,288230376151711744,64",
	} {
		for _, c := range []string{"run", "diagnose", "gates", "bisect", "compare"} {
			args := []string{c, "flashcore_vec", "--shape", shape}
			if c == "bisect" || c == "compare" {
				args = []string{c, "flashcore_vec", "flashcore_vec", "--shape", shape}
			}
			all = append(all, attack{name: c + " of " + shape, args: args, codes: []int{2}})
		}
	}
	declare := func(name, module, function string, code int, says string) {
		body := strings.Replace(g.ptx, "{\n", "{\n\t"+function+"\n", 1)
		body = strings.Replace(body, ".visible .entry", module+"\n.visible .entry", 1)
		all = append(all, attack{
			name: name, args: []string{"run", "k.yaml", "--shape", "small"}, env: limited,
			files: g.kernel(g.manifest, body), codes: []int{code}, says: says,
		})
	}
	for name, c := range malformed { // no PTX: it does not load
		declare(name, c.module, c.function, 4, c.says)
	}
	for name, c := range oversized { // PTX, and more than memory.max: refused before anything is executed
		declare(name, c.module, c.function, 2, c.says)
	}
	// no chip launches that
	declare("shared of 1 GB", "", ".shared .align 16 .b8 big[1073741824];", 4, "at most 227 KiB")
	// what the kernel does not reach is not there
	for space, n := range map[string]int64{"global": 64 << 30, "const": 64 << 30} {
		declare(space+" of 64 GB that nobody reads", fmt.Sprintf(".%s .align 16 .b8 big[%d];", space, n),
			"", 0, "agree")
	}
	for i, dims := range []string{
		"[1000000, B, H, S, D]", "[1000000000, S]", "[4294967296, 4294967296]", "[B, H, S, 1099511627776]",
	} {
		text := strings.Replace(g.manifest, "{name: B, type: i32, value: B}",
			fmt.Sprintf("{name: B, type: \"f32*\", dims: %s, role: scratch}", dims), 1)
		all = append(all, attack{
			name: fmt.Sprintf("a scratch argument of too much %d", i),
			args: []string{"run", "k.yaml", "--shape", "small"}, files: g.kernel(text, g.ptx),
			codes: []int{2}, says: "k.yaml:",
		})
	}
	return append(all, usedUpCases(g)...)
}

// limited makes refusals the same on every machine.
var limited = []string{"TILESCOPE_MEMORY_MAX=1GiB"}

// declaration is what is put into a module, or into its function, and what the error says.
type declaration struct{ module, function, says string }

var malformed = map[string]declaration{
	"shared that wraps": {"", ".shared .align 16 .b8 big[4294967296][4294967296];", "k.ptx:"},
	"shared of 2^63": {"", ".shared .align 16 .b8 big[9223372036854775807];",
		"dimension of big is too large"},
	"a negative size": {"", ".shared .align 16 .b8 big[-1];", "dimension of big is too large"},
	"local of 2^63": {"", ".local .align 16 .b64 big[1152921504606846976];",
		"dimension of big is too large"},
	"registers of 10^9":    {"", ".reg .b64 %big<1000000000>;", "register count 1000000000"},
	"registers of 2^40":    {"", ".reg .b64 %big<1099511627776>;", "register count 1099511627776"},
	"an alignment of 2^31": {"", ".shared .align 2147483648 .b8 big[16];", "alignment 2147483648"},
	"an alignment of 3":    {"", ".shared .align 3 .b8 big[16];", "alignment 3 is not a power of two"},
	"an alignment of 0":    {"", ".local .align 0 .b8 big[16];", "alignment 0 is not a power of two"},
	"global that wraps": {".global .b64 big[2305843009213693952][16];", "",
		"dimension of big is too large"},
	"an initialiser too long": {".global .b8 big[2] = {1, 2, 3};", "", "too many initial values for big"},
}

const address = ".reg .b64 %big<2>;\n\tmov.u64 %big1, big;"

var oversized = map[string]declaration{
	"local of 1 GB": {"", ".local .align 16 .b8 big[1073741824];", "memory.max is 1 GiB"},
	"local of 1 TB": {"", ".local .align 16 .b8 big[1099511627776];", "memory.max is 1 GiB"},
	"global of 64 GB": {".global .align 16 .b8 big[68719476736];", address,
		"module variables 64 GiB"},
	"const of 64 GB": {".const .align 16 .b8 big[68719476736];", address,
		"module variables 64 GiB"},
	"two globals of 600 MB": {".global .b8 big[600000000];\n.global .b8 more[600000000];",
		address + "\n\tmov.u64 %big1, more;", "module variables 1.12 GiB"},
	"a global through another": {".global .b8 big[68719476736];\n.global .u64 pointer = big;",
		strings.Replace(address, "big;", "pointer;", 1), "module variables 64 GiB"},
}

// usedUpCases need more memory while they are executed than their declarations say: blocks that wait for each
// other are resident together, each with its local memory.
func usedUpCases(g *good) (all []attack) {
	const wait = `.reg .b64 %%big<3>; .reg .b32 %%arrived<2>; .reg .pred %%all;
	.local .align 16 .b8 own[%d];
	mov.u64 %%big2, own;
	mov.u64 %%big1, count;
	atom.global.add.u32 %%arrived1, [%%big1], 1;
WAIT:
	ld.volatile.global.u32 %%arrived1, [%%big1];
	setp.lt.u32 %%all, %%arrived1, %d;
	@%%all bra WAIT;
`
	for name, c := range map[string]struct {
		bytes, threads, code int
		says                 string
	}{
		"blocks that wait and fit":          {64, 2048, 0, "agree"},
		"blocks that wait and do not fit":   {256 << 10, 2048, 4, "memory.max"},
		"blocks that wait and are too many": {512 << 10, 2048, 2, "memory.max"},
	} {
		text := strings.Replace(g.ptx, "{\n", "{\n"+fmt.Sprintf(wait, c.bytes, c.threads), 1)
		text = strings.Replace(text, ".visible .entry", ".global .u32 count;\n.visible .entry", 1)
		all = append(all, attack{
			name: name, args: []string{"run", "k.yaml", "--shape", "validation", "--timeout", "30s"},
			files: g.kernel(g.manifest, text), codes: []int{c.code}, says: c.says,
			env: []string{"TILESCOPE_MEMORY_MAX=100MiB", "GOMAXPROCS=1"}, within: 30e9,
		})
	}
	return all
}
