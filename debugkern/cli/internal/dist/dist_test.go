package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// root is the repository's root, where dist is executed.
var root = filepath.Join("..", "..", "..", "..")

// standIn is a builder whose program is this test's own.
func standIn(t *testing.T) (*builder, *program) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{time: time.Unix(1700000000, 0).UTC(), manual: []byte(".TH")}
	b.completions = map[string][]byte{}
	for _, s := range shells {
		b.completions[s.name] = []byte("# " + s.name)
	}
	return b, &program{content, []byte("{}")}
}

// members of an archive: their contents and modes by name.
type unpacked map[string]struct {
	content string
	mode    fs.FileMode
}

func (u unpacked) add(t *testing.T, name string, mode fs.FileMode, at time.Time, r io.Reader) {
	t.Helper()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if at.Unix() != 1700000000 {
		t.Errorf("%s is of %s", name, at)
	}
	u[name] = struct {
		content string
		mode    fs.FileMode
	}{string(content), mode}
}

func unzipped(t *testing.T, content []byte) unpacked {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	out := unpacked{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		out.add(t, f.Name, f.Mode(), f.Modified, in)
		in.Close()
	}
	return out
}

func untarred(t *testing.T, content []byte) unpacked {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	out, r := unpacked{}, tar.NewReader(gz)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out.add(t, h.Name, h.FileInfo().Mode(), h.ModTime, r)
	}
}

// TestArchives: an archive of each kind has everything, the program executable, and the same bytes twice.
func TestArchives(t *testing.T) {
	t.Chdir(root)
	b, built := standIn(t)
	for _, c := range []struct{ name, archive string }{
		{"linux/amd64", "base.tar.gz"}, {"windows/arm64", "base.zip"},
	} {
		p, err := parsePlatform(c.name)
		if err != nil {
			t.Fatal(err)
		}
		name, content, err := pack("base", p, built, b)
		if err != nil || name != c.archive {
			t.Fatalf("%s: %v", name, err)
		}
		if _, again, err := pack("base", p, built, b); err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s: other bytes the second time (%v)", name, err)
		}
		var files unpacked
		if p.os == "windows" {
			files = unzipped(t, content)
		} else {
			files = untarred(t, content)
		}
		if x := files["base/"+p.executable()]; x.content != string(built.content) || x.mode != 0o755 {
			t.Errorf("%s: the program has %d bytes, mode %s", name, len(x.content), x.mode)
		}
		for _, file := range []string{
			"README.md", "LICENSE", "sbom.json", "man/man1/tilescope.1", "completions/tilescope.bash",
			"completions/_tilescope", "completions/tilescope.fish", "completions/tilescope.ps1",
		} {
			if x := files["base/"+file]; x.content == "" || x.mode != 0o644 {
				t.Errorf("%s: %s has %d bytes, mode %s", name, file, len(x.content), x.mode)
			}
		}
	}
}

// TestWheelFormat: a wheel has the same bytes twice, the modules, the program as a script, and a record of
// every member with its digest.
func TestWheelFormat(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test's own program stands for tilescope, and it is no ELF file")
	}
	t.Chdir(root)
	b, built := standIn(t)
	p, err := readProject("python")
	if err != nil {
		t.Fatal(err)
	}
	at := platform{os: "linux", arch: runtime.GOARCH}
	name, content, err := p.wheel(at, built, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := p.wheel(at, built, b); err != nil || !bytes.Equal(content, again) {
		t.Errorf("other bytes the second time (%v)", err)
	}
	base := "tilescope-" + p.Version
	if !strings.HasPrefix(name, base+"-py3-none-manylinux_2_") {
		t.Errorf("the wheel is called %s", name)
	}
	files := unzipped(t, content)
	if x := files[base+".data/scripts/tilescope"]; x.content != string(built.content) || x.mode != 0o755 {
		t.Errorf("the program has %d bytes, mode %s", len(x.content), x.mode)
	}
	for _, file := range []string{
		"tilescope/__init__.py", "tilescope/__main__.py", base + ".data/data/share/man/man1/tilescope.1",
		base + ".dist-info/METADATA", base + ".dist-info/WHEEL", base + ".dist-info/sboms/tilescope.json",
	} {
		if files[file].content == "" {
			t.Errorf("no %s", file)
		}
	}
	listed := 0
	for line := range strings.Lines(files[base+".dist-info/RECORD"].content) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		x, ok := files[fields[0]]
		sum := sha256.Sum256([]byte(x.content))
		if want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]); !ok ||
			fields[1] != want && !strings.HasSuffix(fields[0], "/RECORD") {
			t.Errorf("%s: %q", fields[0], fields[1])
		}
		listed++
	}
	if listed != len(files) {
		t.Errorf("%d members, %d listed", len(files), listed)
	}
}

// TestTags: what a wheel says of the system is read from the program.
func TestTags(t *testing.T) {
	mac := binary.LittleEndian.AppendUint32(nil, 0xfeedfacf) // 64 bits
	for _, v := range []uint32{
		0x0100000c, 0, 2, 1, 24, 0, 0, // arm64, an executable with one command of 24 bytes
		0x32, 24, 1, 13<<16 | 2<<8, 0, 0, // LC_BUILD_VERSION: macOS 13.2
	} {
		mac = binary.LittleEndian.AppendUint32(mac, v)
	}
	if got, err := tag(platform{os: "darwin", arch: "arm64"}, mac); err != nil || got != "macosx_13_2_arm64" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := tag(platform{os: "windows", arch: "amd64"}, nil); err != nil || got != "win_amd64" {
		t.Errorf("%s, %v", got, err)
	}
	for _, p := range []platform{
		{os: "darwin", arch: "arm64"}, {os: "linux", arch: "amd64"}, {os: "linux", arch: "s390x"},
	} {
		if got, err := tag(p, []byte("no program")); err == nil {
			t.Errorf("%+v: %s of what is no program", p, got)
		}
	}
}
