//go:build unix

package attack

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// npzCases are archives that are not what they should be. Each is refused before anything runs.
func npzCases(g *good) (all []attack) {
	refuse := func(name string, content []byte, says string) {
		all = append(all, attack{
			name: name, args: []string{"run", "flashcore_vec", "--inputs", "c.npz"},
			files: map[string]string{"c.npz": string(content)}, codes: []int{2}, says: says,
		})
	}
	for _, x := range tensors {
		for name, npy := range badArrays(g.npz[x]) {
			refuse(x+" "+name, archive(g.with(x, member{name: x + ".npy", data: npy})...), "c.npz")
		}
		for name, npy := range map[string][]byte{
			"cut": g.npz[x][:len(g.npz[x])-64], "longer": append(bytes.Clone(g.npz[x]), 0),
		} {
			refuse(x+" packed "+name, archive(g.with(x, member{name: x + ".npy", data: npy, pack: true})...),
				"c.npz")
		}
		m := member{name: x + ".npy", data: g.npz[x]}
		refuse(x+" missing", archive(g.with(x)...), x)
		refuse(x+" twice", archive(g.with(x, m, m)...), x)
		for name, lie := range lies {
			m.lies = lie
			refuse(x+" "+name, archive(g.with(x, m)...), "c.npz")
		}
		for i, name := range []string{
			"../" + x + ".npy", "/" + x + ".npy", x + "\x1b]0;x\a.npy",
			strings.Repeat("d/", 5000) + x + ".npy", x + ".npy\x00", strings.ToLower(x) + ".npy",
		} {
			refuse(fmt.Sprintf("%s under a name that is not its own %d", x, i),
				archive(g.with(x, member{name: name, data: g.npz[x]})...), "c.npz")
		}
	}
	whole := archive(g.members()...)
	rng := rand.New(rand.NewPCG(12, 1))
	for i := range 60 {
		cut := rng.IntN(len(whole))
		refuse(fmt.Sprintf("cut %d", i), whole[:cut], "c.npz")
	}
	data := bytes.Index(whole, g.npz["Qx"])
	for i := range 60 {
		flipped := bytes.Clone(whole)
		flipped[data+rng.IntN(len(g.npz["Qx"]))] ^= 1 << rng.IntN(8)
		refuse(fmt.Sprintf("bit flipped %d", i), flipped, "c.npz")
	}
	for name, b := range map[string][]byte{
		"empty": {}, "text": []byte("not an archive\n"), "an archive of nothing": archive(),
		"zeroes": make([]byte, 1<<20), "one array": g.npz["Qx"],
		"garbage in front of the directory": []byte("PK\x05\x06" + strings.Repeat("\xff", 18)),
		"signature alone":                   []byte("PK\x03\x04"),
		"in itself":                         archive(member{name: "Qx.npy", data: whole}),
		"bomb": archive(g.with("Qx", member{
			name: "Qx.npy", data: make([]byte, 64<<20), pack: true,
		})...),
		"a bomb that says its shape": archive(g.with("Qx", member{
			name: "Qx.npy",
			data: array("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 262144, 64), }",
				make([]byte, 64<<20)), pack: true,
		})...),
	} {
		refuse(name, b, "c.npz")
	}
	return all
}

// lies are what an archive's directory may say wrongly of a member.
var lies = map[string]func(*zip.FileHeader){
	"of another checksum":     func(h *zip.FileHeader) { h.CRC32 ^= 1 },
	"of checksum 0":           func(h *zip.FileHeader) { h.CRC32 = 0 },
	"that says it is longer":  func(h *zip.FileHeader) { h.UncompressedSize64++ },
	"that says it is shorter": func(h *zip.FileHeader) { h.UncompressedSize64-- },
	"that says 2^40 bytes":    func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 40 },
	"that says it is packed":  func(h *zip.FileHeader) { h.Method = zip.Deflate },
	"packed as bzip2":         func(h *zip.FileHeader) { h.Method = 12 },
	"encrypted":               func(h *zip.FileHeader) { h.Flags |= 1 },
}

// badArrays are a .npy file changed in one way each.
func badArrays(npy []byte) map[string][]byte {
	header, data := split(npy)
	bad := map[string][]byte{}
	for _, n := range []int{0, 1, 100, len(data) / 2, len(data) - 4, len(data) - 1} {
		bad[fmt.Sprintf("with %d bytes", n)] = array(header, data[:n])
	}
	bad["with a byte more"] = append(bytes.Clone(npy), 'x')
	for _, descr := range []string{
		"<i4", ">f4", "|O", "<c8", "<U1", "<M8[ns]", "|V4", "|b1", "<f16", "f", "", "<f4\x1b[31m",
		"[('a', '<f4')]",
	} {
		bad["of dtype "+fmt.Sprintf("%q", descr)] = array(strings.Replace(header, "<f4", descr, 1), data)
	}
	bad["in the order of Fortran"] = array(strings.Replace(header, "False", "True", 1), data)
	for _, shape := range []string{
		"(1, 1, 1099511627776, 64)", "(1, 1, -32, 64)", "(1, 1, 0, 64)", "()", "(2048,)", "(32, 64)",
		"(1, 1, 32, 63)", "(1, 1, 32, 64, 1)", "(1.0, 1, 32, 64)", "('1', 1, 32, 64)",
		"(4294967296, 4294967296, 1, 1)", "(" + strings.Repeat("1, ", 40) + ")", "32", "(1, 1, 32, 64",
		"(1, 1, 33, 64)", "(1, 1, 99999999999999999999999, 64)", "None", "(1, 1, 9223372036854775807, 2)",
	} {
		at, end := strings.Index(header, "("), strings.Index(header, ")")
		bad["of shape "+shape] = array(header[:at]+shape+header[end+1:], data)
	}
	for name, h := range map[string]string{
		"no header": "", "a header that is no dictionary": "[1, 2, 3]",
		"no dtype":              strings.Replace(header, "'descr': '<f4', ", "", 1),
		"the same key twice":    strings.Replace(header, "{", "{'descr': '<f8', ", 1),
		"a key too many":        strings.Replace(header, "{", "{'more': 1, ", 1),
		"code":                  "__import__('os').system('true')",
		"a header never closed": strings.TrimSuffix(header, "}"),
		"10,000 brackets":       strings.Repeat("(", 10000),
	} {
		bad["with "+name] = array(h, data)
	}
	for name, front := range map[string]string{
		"magic": "NOTNUMPY", "version 0": "\x93NUMPY\x00\x00", "version 9": "\x93NUMPY\x09\x00",
		"version 255": "\x93NUMPY\xff\xff",
	} {
		bad["of another "+name] = append([]byte(front), npy[8:]...)
	}
	for _, n := range []string{"\xff\xff", "\x00\x00", "\x01\x00"} {
		bad[fmt.Sprintf("with a header length of %q", n)] = append(append(bytes.Clone(npy[:8]),
			n...), npy[10:]...)
	}
	return bad
}
