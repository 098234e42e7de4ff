package debugkern

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
)

// dumped is a small run's dump, as the members that --inputs takes.
func dumped(t *testing.T) map[string][]byte {
	t.Helper()
	var b bytes.Buffer
	if err := ran(t, Request{Target: "stage2", Shape: "small"}).Dump(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return members(t, b.Bytes())
}

// members are the files of an archive, by name.
func members(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// inputsFile writes members as an --inputs file.
func inputsFile(t *testing.T, members map[string][]byte, names ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, n := range names {
		w, err := z.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInputsChecked: what a dump holds is taken as inputs and gives the same run; whatever is short, long or
// damaged is a usage error that names file and array.
func TestInputsChecked(t *testing.T) {
	good := dumped(t)
	names := []string{"Qx.npy", "Kx.npy", "Vx.npy"}
	s := openSession(t)
	run := func(path string) (*Run, error) {
		return s.Run(t.Context(), Request{Target: "stage2", Inputs: path}, nil)
	}
	same, err := run(inputsFile(t, good, names...))
	if err != nil {
		t.Fatal(err)
	}
	if want := ran(t, Request{Target: "stage2", Shape: "small"}).Report.Digest; same.Report.Digest != want {
		t.Errorf("digest %s, expected %s", same.Report.Digest, want)
	}
	q := good["Qx.npy"]
	swap := func(old, new string) []byte { return bytes.Replace(q, []byte(old), []byte(new), 1) }
	for _, c := range []struct {
		name string
		qx   []byte
		want string
	}{
		{"short", q[:len(q)-1],
			`member "Qx.npy": f4[1,1,32,64] has 8191 bytes of elements (expected 8192 bytes)`},
		{"100 bytes", q[:len(q)-8092], "has 100 bytes of elements"},
		{"long", append(bytes.Clone(q), 0), "has 8193 bytes of elements"},
		{"integers", swap("<f4", "<i4"), "array Qx is i4[1,1,32,64]; expected [f4 f8] of rank 4"},
		{"rank", swap("(1, 1, 32, 64)", "(1, 32, 64)   "), "expected [f4 f8] of rank 4"},
		{"shape", swap("(1, 1, 32, 64)", "(1, 1, 64, 32)"),
			"array Kx has shape [1 1 32 64]: S is 32, but 64 in array Qx"},
		{"big endian", swap("<f4", ">f4"), "big endian"},
		{"not finite", append(bytes.Clone(q[:len(q)-4]), 0, 0, 0xc0, 0x7f),
			"array Qx holds NaN at element 2047"},
	} {
		members := map[string][]byte{"Qx.npy": c.qx, "Kx.npy": good["Kx.npy"], "Vx.npy": good["Vx.npy"]}
		path := inputsFile(t, members, names...)
		_, err := run(path)
		refused(t, c.name, err, c.want, path)
	}
	path := inputsFile(t, good, "Qx.npy", "Vx.npy")
	_, err = run(path)
	want := `no array "Kx" (expected Qx Kx Vx, or Q K V Qs Ks Vs; it has ["Qx" "Vx"])`
	refused(t, "missing", err, want, path)

	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := openInputs(ctx, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// refused requires a usage error that says what is wanted, and names the file.
func refused(t *testing.T, name string, err error, want, path string) {
	t.Helper()
	var coded *report.Error
	if !errors.As(err, &coded) || coded.Code != report.CodeUsage {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v, expected %q and %q", name, err, want, path)
	}
}

// TestOddFiles: a path that names a directory, a device or an answer of the operating system is refused
// wherever it is read.
func TestOddFiles(t *testing.T) {
	s, dir := openSession(t), t.TempDir()
	paths := map[string]string{dir: "is a directory"}
	if runtime.GOOS == "linux" {
		paths["/dev/zero"] = "is a device"
		paths["/proc/self/environ"] = "is made by the operating system as it is read"
	}
	for path, want := range paths {
		_, err := s.Run(t.Context(), Request{Target: "stage2", Inputs: path}, nil)
		refused(t, "inputs", err, want, path)
		_, err = s.TableFile(t.Context(), Request{}, path)
		refused(t, "table", err, want, path)
		_, err = s.Scaffold(t.Context(), scaffold.Request{File: path})
		refused(t, "init", err, want, path)
	}
}
