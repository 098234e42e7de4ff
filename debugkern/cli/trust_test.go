package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// project is a cloned repository that wants to run code: a library that leaves a mark when it is
// loaded, commands that leave one when they are executed, a configuration that names them, and a
// PATH that leads there.
func project(t *testing.T) (b *bare, mark string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tools of this test are shell scripts")
	}
	b = newBare(t)
	home := t.TempDir()
	mark = filepath.Join(t.TempDir(), "mark")
	tools := filepath.Join(b.dir, ".toolchain")
	for _, dir := range []string{"nvidia/cuda_nvrtc/lib", "bin", "nvidia/cuda_nvcc/bin"} {
		if err := os.MkdirAll(filepath.Join(tools, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\n: > " + mark + "\necho 'V13.0.88 Version 1.2.3'\n"
	source := "#include <stdio.h>\n__attribute__((constructor)) static void go(void) { fclose(fopen(\"" +
		mark + "\", \"w\")); }\n"
	for path, text := range map[string]string{
		filepath.Join(tools, "bin", "nvcc"): script, filepath.Join(tools, "bin", "ptxas"): script,
		filepath.Join(tools, "bin", "compute-sanitizer"): script, filepath.Join(b.dir, "python3"): script,
		filepath.Join(b.dir, "nvcc"): script, filepath.Join(b.dir, "ptxas"): script,
		filepath.Join(b.dir, "tilescope.yaml"): "toolchain: ./.toolchain\n",
		filepath.Join(b.dir, "e.c"):            source,
		filepath.Join(b.dir, "k.cu"):           "extern \"C\" __global__ void k() {}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o",
		filepath.Join(tools, "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"), filepath.Join(b.dir, "e.c")).
		CombinedOutput(); err != nil {
		t.Skipf("no gcc to make a library with: %v: %s", err, out)
	}
	b.env = []string{
		asProgram + "=1", "HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"LD_LIBRARY_PATH=" + b.libs, "TMPDIR=" + os.TempDir(),
		"PATH=:.:.toolchain/bin:" + b.dir + ":" + filepath.Join(tools, "bin"), "CUDA_HOME=" + tools,
		"VIRTUAL_ENV=" + b.dir,
	}
	return b, mark
}

// commands are those that look for compilers.
func commands() [][]string {
	return [][]string{
		{"doctor"}, {"gates", "stage2", "--shapes", "small", "--seeds", "0"}, {"init", "k.cu"},
		{"run", "stage2", "--shape", "small"}, {"run", "stage2", "--shape", "small", "--builder", "nvrtc"},
		{"run", "stage2", "--shape", "small", "--builder", "nvcc"},
		{"diagnose", "stage2", "--shape", "small", "--builder", "nvrtc"},
	}
}

// TestWorkingDirectoryRunsNoCode: whatever way leads to the working directory, nothing of it is loaded or
// executed. What cannot be done without it is exit 3 and names the file and the way to consent.
func TestWorkingDirectoryRunsNoCode(t *testing.T) {
	t.Parallel()
	b, mark := project(t)
	for _, args := range commands() {
		out, errText, code := b.call(t, args...)
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%v executed code of the working directory", args)
			os.Remove(mark)
		}
		if args[0] == "doctor" {
			if code != 0 || !strings.Contains(out, "found, not trusted") ||
				!strings.Contains(out, "tilescope trust") {
				t.Errorf("doctor: exit %d: %s%s", code, out, errText)
			}
			continue
		}
		if len(args) > 4 && args[4] == "--builder" &&
			(code != 3 || !strings.Contains(errText, "tilescope trust ") ||
				!strings.Contains(errText, ".toolchain")) {
			t.Errorf("%v: exit %d: %s", args, code, errText)
		}
	}
	// a library alone, named by the configuration
	if err := os.WriteFile(filepath.Join(b.dir, "tilescope.yaml"),
		[]byte("toolchain: "+filepath.Join(b.dir, ".toolchain/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")+"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands() {
		b.call(t, args...)
		if _, err := os.Stat(mark); err == nil {
			t.Fatalf("%v loaded the library that ./tilescope.yaml names", args)
		}
	}
}

// TestTrustCommand: consent is recorded, listed, ends with a change of the file, and is withdrawn;
// --trust is for one command.
func TestTrustCommand(t *testing.T) {
	t.Parallel()
	b, mark := project(t)
	used := func(want bool, args ...string) {
		t.Helper()
		os.Remove(mark)
		_, errText, _ := b.call(t, args...)
		if _, err := os.Stat(mark); (err == nil) != want {
			t.Errorf("%v: executed %v, want %v: %s", args, err == nil, want, errText)
		}
	}
	used(true, "doctor", "--trust")
	used(false, "doctor")
	out, errText, code := b.call(t, "trust", ".toolchain", "--json")
	var d trustDoc
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Dirs) != 1 ||
		len(d.Dirs[0].Files) != 4 || len(d.Dirs[0].Files[0].SHA256) != 64 {
		t.Fatalf("exit %d: %s%s", code, out, errText)
	}
	used(true, "doctor")
	b.exits(t, 0, filepath.Join(".toolchain")+"  4 files", "trust")
	nvcc, lib := filepath.Join(b.dir, ".toolchain/bin/nvcc"),
		filepath.Join(b.dir, ".toolchain/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
	for _, path := range []string{
		nvcc, lib, filepath.Join(b.dir, ".toolchain/bin/ptxas"),
		filepath.Join(b.dir, ".toolchain/bin/compute-sanitizer"),
	} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("\n")
		f.Close()
	}
	used(false, "doctor")
	b.exits(t, 3, "has changed since it was trusted", "run", "stage2", "--shape", "small",
		"--builder", "nvrtc")
	b.exits(t, 0, "no directory is trusted", "trust", "--remove", ".toolchain")
	b.exits(t, 2, "no consent", "trust", "--remove", ".toolchain")
	b.exits(t, 2, "no such file", "trust", "nowhere")
	b.exits(t, 2, "directory", "trust", "k.cu")
	b.exits(t, 2, "--remove", "trust", "--remove")
	// named by the user, by its absolute path, it needs no record
	b.env = append(b.env, "TILESCOPE_TOOLCHAIN="+filepath.Join(b.dir, ".toolchain"))
	used(true, "doctor")
	if err := os.Chmod(filepath.Join(b.dir, ".toolchain"), 0o777); err != nil {
		t.Fatal(err)
	}
	used(false, "doctor") // unless somebody else can change it
}
