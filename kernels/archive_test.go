package kernels

import (
	"fmt"
	"strings"
	"testing"
)

func TestArchiveRoundTrip(t *testing.T) {
	base := strings.Repeat("add.s32 %r1, %r2, %r3;\n", 2000)
	texts := map[string]string{}
	w := NewWriter("NVRTC 1.2.3", []string{"-a", "-b"})
	for i := range 6 {
		key := Key{
			Kernel: fmt.Sprintf("k%d", i%2), Defines: []string{"Z=1", fmt.Sprintf("A=%d", i)},
			Faults: []string{"kt-ld"}[:i%2],
		}
		text := fmt.Sprintf("// %d\n%s", i/4, base) + strings.Repeat("x", i/4)
		texts[key.String()] = text
		options := []string{"-a", "-b"}
		if i == 5 {
			options = []string{"-c"}
		}
		if err := w.Add(key, options, fmt.Sprint("digest", i), text); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := w.Texts(); n != 2 {
		t.Errorf("%d texts stored for 2 distinct ones", n)
	}
	data, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadArchive(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Keys()) != 6 || a.Compiler() != "NVRTC 1.2.3" {
		t.Errorf("keys %v, compiler %s", a.Keys(), a.Compiler())
	}
	for i, key := range a.Keys() {
		// the order of definitions is nothing
		e, ok, err := a.Find(Key{key.Kernel, []string{key.Defines[1], key.Defines[0]}, key.Faults})
		if err != nil || !ok || string(e.PTX) != texts[key.String()] || e.Digest != fmt.Sprint("digest", i) {
			t.Errorf("%s: %v %v, %d bytes, digest %s", key, ok, err, len(e.PTX), e.Digest)
		}
		if want := map[bool]string{true: "-c", false: "-a -b"}[i == 5]; strings.Join(e.Options, " ") != want {
			t.Errorf("%s: built with %v, want %s", key, e.Options, want)
		}
	}
	if _, ok, err := a.Find(Key{Kernel: "k0"}); ok || err != nil {
		t.Errorf("a build that is not there: %v %v", ok, err)
	}
	for n := range len(data) {
		if n%97 != 0 {
			continue
		}
		// cut within the texts the index gives it away, earlier the header
		if a, err := ReadArchive(data[:n]); err == nil {
			t.Errorf("an archive of %d of %d bytes opened: %d keys", n, len(data), len(a.Keys()))
		}
	}
}

func TestDigestDependsOnEveryInput(t *testing.T) {
	in := func() Inputs {
		return Inputs{
			[]byte("src"), map[string]string{"a.h": "1", "b.h": "2"}, []string{"-x"}, []string{"A=1", "B=1"},
			"NVRTC 12.0",
		}
	}
	seen := map[string]string{in().Digest(): "itself"}
	for name, change := range map[string]func(*Inputs){
		"source":   func(i *Inputs) { i.Source = []byte("src2") },
		"header":   func(i *Inputs) { i.Headers["a.h"] = "3" },
		"name":     func(i *Inputs) { i.Headers = map[string]string{"a.h": "1", "c.h": "2"} },
		"options":  func(i *Inputs) { i.Options = nil },
		"defines":  func(i *Inputs) { i.Defines = i.Defines[:1] },
		"moved":    func(i *Inputs) { i.Options, i.Defines = []string{"-x", "A=1"}, []string{"B=1"} },
		"compiler": func(i *Inputs) { i.Compiler = "NVRTC 13.0" },
	} {
		i := in()
		change(&i)
		if other, ok := seen[i.Digest()]; ok {
			t.Errorf("changing %s gives the digest of %s", name, other)
		}
		seen[i.Digest()] = name
	}
	swapped := in()
	swapped.Defines = []string{"B=1", "A=1"}
	if swapped.Digest() != in().Digest() {
		t.Error("the order of definitions changes the digest")
	}
}

func TestEmbedded(t *testing.T) {
	n, compiler, err := Contents()
	if err != nil || n == 0 || !strings.HasPrefix(compiler, "NVRTC ") {
		t.Fatalf("%d entries by %q, %v", n, compiler, err)
	}
	e, ok, err := Find(Key{
		Kernel: "sdpa_fp8_stage_c_wmma", Defines: []string{"USE_WMMA_PV=1", "USE_CP_ASYNC=1"},
	})
	if err != nil || !ok {
		t.Fatalf("stage2: %v %v", ok, err)
	}
	for _, want := range []string{
		".version 8.0", ".target sm_80", ".entry sdpa_fp8_stage_c_wmma(", "cp.async", "wmma.mma",
	} {
		if !strings.Contains(string(e.PTX), want) {
			t.Errorf("stage2 lacks %s", want)
		}
	}
	if _, ok := Source("sdpa_fp8_stage_c_wmma.cu"); !ok {
		t.Error("the source of stage2 is not embedded")
	}
	if _, ok := Source("../go.mod"); ok {
		t.Error("a source outside the package")
	}
}

func BenchmarkFind(b *testing.B) {
	a, err := Embedded()
	if err != nil {
		b.Fatal(err)
	}
	keys := a.Keys()
	for i := 0; b.Loop(); i++ {
		if _, _, err := a.Find(keys[i%len(keys)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadArchive(b *testing.B) {
	for b.Loop() {
		if _, err := ReadArchive(embedded); err != nil {
			b.Fatal(err)
		}
	}
}
