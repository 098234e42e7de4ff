package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestInspectGPU(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tools of this test are shell scripts")
	}
	cfg := fakeConfig(t)
	root := t.TempDir()
	for path, says := range map[string]string{
		"bin/compute-sanitizer": "Version 2024.3.1",
		"bin/nvcc":              "Cuda compilation tools, release 12.6, V12.6.77",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("FAKECUDA_DEVICES", "2")
	parts := map[string]Part{}
	for _, p := range InspectGPU(t.Context(), cfg, Config{Path: root}) {
		parts[p.Name] = p
	}
	for name, want := range map[string]Part{
		"driver": {Found: true, Path: cfg.Library, Version: "CUDA 13.0"},
		"GPU 1": {Found: true, Path: "0000:01:00.0", Version: "sm_90",
			Detail: "Fake GPU 1, 1024 MiB"},
		"nvcc":              {Found: true, Path: filepath.Join(root, "bin", "nvcc"), Version: "12.6.77"},
		"compute-sanitizer": {Found: true, Version: "2024.3.1"},
	} {
		got := parts[name]
		if got.Found != want.Found || got.Version != want.Version && name != "driver" ||
			!strings.Contains(got.Version, want.Version) ||
			!strings.HasPrefix(got.Detail, want.Detail) || want.Path != "" && got.Path != want.Path ||
			got.Install != "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestInspectGPUWithoutOne(t *testing.T) {
	cfg := fakeConfig(t)
	t.Setenv("FAKECUDA", "cuInit=803")
	parts := InspectGPU(t.Context(), cfg, Config{Root: t.TempDir()})
	if p := parts[0]; p.Name != "driver" || p.Found || !strings.Contains(p.Detail, "different versions") {
		t.Errorf("a driver that does not start: %+v", p)
	}
	cfg.Library = "/nonexistent/libcuda.so.1"
	parts = InspectGPU(t.Context(), cfg, Config{Root: t.TempDir()})
	if p := parts[0]; p.Found || p.Install == "" || !strings.Contains(p.Detail, "/nonexistent/libcuda.so.1") {
		t.Errorf("no driver: %+v", p)
	}
	if i := slices.IndexFunc(parts, func(p Part) bool { return p.Name == "NVML" }); i < 0 ||
		!parts[i].Found && parts[i].Detail == "" {
		t.Errorf("NVML: %+v", parts)
	}
}

func TestMonitorSaysWhyNot(t *testing.T) {
	m, err := OpenMonitor(Device{PCI: "ffff:ff:1f.7"})
	if err == nil {
		m.Close()
		t.Fatal("a device that no machine has was found")
	}
	if !errors.Is(err, ErrNoNVML) || !strings.HasPrefix(err.Error(), "no NVML: ") {
		t.Errorf("got %v", err)
	}
}

func TestThrottle(t *testing.T) {
	if names, slowed := throttle(1 | 2); !slices.Equal(names, []string{"idle", "clocks set by the user"}) ||
		slowed {
		t.Errorf("got %v, %v", names, slowed)
	}
	if names, slowed := throttle(4 | 64); !slices.Equal(names, []string{
		"power limit", "temperature (hardware)",
	}) || !slowed {
		t.Errorf("got %v, %v", names, slowed)
	}
}
