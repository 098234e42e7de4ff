//go:build unix

package attack

import (
	"fmt"
	"strings"
)

// sizeCases ask for more memory than there is: refused before anything runs, never an end by the system.
func sizeCases(g *good) (all []attack) {
	for _, shape := range []string{"1,1,1000000000,64", "1,1000000,1000000,64", "1000000000,1,32,64", "65535,65535,65535,64", "4294967296,4294967296,1,64", "1,1,9223372036854775807,64", "3037000500,3037000500,1,64", "1,1,288230376151711744,64"} {
		for _, c := range []string{"run", "diagnose", "gates", "bisect", "compare"} {
			args := []string{c, "flashcore_vec", "--shape", shape}
			if c == "bisect" || c == "compare" {
				args = []string{c, "flashcore_vec", "flashcore_vec", "--shape", shape}
			}
			all = append(all, attack{name: c + " of " + shape, args: args, codes: []int{2}})
		}
	}
	for name, decl := range map[string]string{
		"shared that wraps": ".shared .align 16 .b8 big[4294967296][4294967296];", "shared of 1 GB": ".shared .align 16 .b8 big[1073741824];", "shared of 2^63": ".shared .align 16 .b8 big[9223372036854775807];",
		"local of 1 GB": ".local .align 16 .b8 big[1073741824];", "local of 2^63": ".local .align 16 .b64 big[1152921504606846976];", "a negative size": ".shared .align 16 .b8 big[-1];",
		"registers of 10^9": ".reg .b64 %big<1000000000>;", "registers of 2^40": ".reg .b64 %big<1099511627776>;", "an alignment of 2^31": ".shared .align 2147483648 .b8 big[16];", "an alignment of 3": ".shared .align 3 .b8 big[16];", "an alignment of 0": ".local .align 0 .b8 big[16];",
	} {
		body := strings.Replace(g.ptx, "{\n", "{\n\t"+decl+"\n", 1)
		all = append(all, attack{name: name, args: []string{"run", "k.yaml", "--shape", "small"}, files: g.kernel(g.manifest, body), codes: []int{2, 4}})
	}
	for name, decl := range map[string]string{
		"global of 64 GB": ".global .align 16 .b8 big[68719476736];", "global that wraps": ".global .b64 big[2305843009213693952][16];", "const of 64 GB": ".const .align 16 .b8 big[68719476736];", "an initialiser too long": ".global .b8 big[2] = {1, 2, 3};",
	} {
		all = append(all, attack{name: name, args: []string{"run", "k.yaml", "--shape", "small"}, files: g.kernel(g.manifest, strings.Replace(g.ptx, ".visible .entry", decl+"\n.visible .entry", 1)), codes: []int{2, 4}})
	}
	for i, dims := range []string{"[1000000, B, H, S, D]", "[1000000000, S]", "[4294967296, 4294967296]", "[B, H, S, 1099511627776]"} {
		text := strings.Replace(g.manifest, "{name: B, type: i32, value: B}", fmt.Sprintf("{name: B, type: \"f32*\", dims: %s, role: scratch}", dims), 1)
		all = append(all, attack{name: fmt.Sprintf("a scratch argument of too much %d", i), args: []string{"run", "k.yaml", "--shape", "small"}, files: g.kernel(text, g.ptx), codes: []int{2}, says: "k.yaml|memory"})
	}
	return all
}
