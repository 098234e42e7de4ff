package cuda

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Precompiled headers are used from the second compilation with the same options on, by one compilation at a
// time, and never by an NVRTC that has none.
func TestPrecompiledFromTheSecondTimeOn(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p, lib := &precompiled{}, &nvrtc{major: 12, minor: 8}
	const source = "#include <mma.h>\n"
	first, done := p.options(lib, Build{Source: source}, []string{"-DX=1"})
	done(nil)
	if first != nil {
		t.Errorf("the first time: %v", first)
	}
	if other, done := p.options(lib, Build{Source: source}, []string{"-DX=2"}); other != nil {
		t.Errorf("other options: %v", other)
	} else {
		done(nil)
	}
	second, done := p.options(lib, Build{Source: source + "// edited\n"}, []string{"-DX=1"})
	if len(second) == 0 || second[0] != "--pch" {
		t.Errorf("the second time: %v", second)
	}
	if other, done := p.options(lib, Build{Source: source}, []string{"-DX=1"}); other != nil {
		t.Errorf("while another source compiles: %v", other)
	} else {
		done(nil)
	}
	done(nil)
	if third, done := p.options(lib, Build{Source: source}, []string{"-DX=1"}); len(third) == 0 {
		t.Error("the third time without")
	} else {
		done(nil)
	}
	if old, _ := p.options(&nvrtc{major: 12, minor: 6}, Build{Source: source}, []string{
		"-DX=1",
	}); old != nil {
		t.Errorf("NVRTC 12.6: %v", old)
	}
	dir := p.dir
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil || dir == "" {
		t.Errorf("%q is still there", dir)
	}
}

func TestAbandonedHeadersGo(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old, fresh := filepath.Join(tmp, pchPrefix+"1"), filepath.Join(tmp, pchPrefix+"2")
	for _, dir := range []string{old, fresh} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * pchAbandoned)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if os.TempDir() != tmp {
		t.Skip("this system's folder for temporary files is not the environment's")
	}
	removeAbandoned()
	if _, err := os.Stat(old); err == nil {
		t.Error("what was abandoned is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("what another process uses was removed")
	}
}
