package cli

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rezip copies an archive with some members changed; nil removes one.
func rezip(t *testing.T, from string, change map[string]func([]byte) []byte) string {
	t.Helper()
	z, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := change[strings.TrimSuffix(f.Name, ".npy")]; ok {
			if data = c(data); data == nil {
				continue
			}
		}
		m, err := w.Create(f.Name)
		if err == nil {
			_, err = m.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.npz")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file that has a tensor both before and after it was encoded is taken where the two agree, as in our own
// dumps, and refused where they do not, with both names.
func TestInputsTwice(t *testing.T) {
	t.Parallel()
	lastByte := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	gone := func([]byte) []byte { return nil }
	scale := func(b []byte) []byte { binary.LittleEndian.PutUint32(b[len(b)-4:], 0x40000000); return b }
	for _, target := range []string{"stage2", "flashcore_vec"} {
		dump := filepath.Join(t.TempDir(), "dump.npz")
		want, code, errText := runJSON(t, "run", target, "--shape", "single16", "--seed", "3", "--backend",
			"emu", "--dump", dump)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errText)
		}
		if got, code, errText := runJSON(t, "run", target, "--backend", "emu", "--inputs", dump); code != 0 ||
			got.Digest != want.Digest {
			t.Errorf("%s: our own dump: exit %d: %s", target, code, errText)
		}
		cases := map[string]map[string]func([]byte) []byte{
			"Q": {"Q": lastByte}, "K": {"K": lastByte}, "V": {"V": lastByte}, "Kx": {"Kx": gone},
		}
		if target == "stage2" {
			cases["Vs"] = map[string]func([]byte) []byte{"Vs": scale}
			cases["Qs"] = map[string]func([]byte) []byte{"Q": gone, "Qs": scale}
		}
		for name, change := range cases {
			tensor := name[:1] + "x"
			if _, errText, code := call(t, "run", target, "--backend", "emu", "--inputs",
				rezip(t, dump, change)); code != 2 ||
				!strings.Contains(errText, tensor) || !strings.Contains(errText, name) {
				t.Errorf("%s: %s changed: exit %d: %s", target, name, code, errText)
			}
		}
		// one of them alone is enough
		without := map[string]func([]byte) []byte{
			"Q": gone, "K": gone, "V": gone, "Qs": gone, "Ks": gone, "Vs": gone,
		}
		if got, code, errText := runJSON(t, "run", target, "--backend", "emu", "--inputs",
			rezip(t, dump, without)); code != 0 || got.Digest != want.Digest {
			t.Errorf("%s: Qx Kx Vx alone: exit %d: %s", target, code, errText)
		}
		other := map[string]string{"stage2": "flashcore_vec", "flashcore_vec": "stage2"}[target]
		if _, errText, code := call(t, "run", other, "--backend", "emu", "--inputs", dump); code != 2 ||
			!strings.Contains(errText, "arrays Qx and Q are both there") {
			t.Errorf("%s with the dump of %s: exit %d: %s", other, target, code, errText)
		}
	}
}
