package cuda

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"tilescope/debugkern/cuda/internal/dl"
)

// inspectLimit bounds every question that InspectGPU asks of another process.
const inspectLimit = 10 * time.Second

// InspectGPU reports what of a GPU's side there is on this machine: the driver, one part for each
// device, NVML, compute-sanitizer and nvcc. It never fails: what is missing is in the report. Devices
// are asked for in a worker, so a broken driver cannot take the program down; without a worker
// command they are not asked for.
func InspectGPU(ctx context.Context, cfg BackendConfig, tools Config) []Part {
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	parts := inspectDriver(ctx, cfg)
	parts = append(parts, inspectNVML())
	places := searchList(tools)
	for _, tool := range []struct {
		name, install string
		dirs          []string
		version       *regexp.Regexp
	}{
		{"compute-sanitizer", "the CUDA toolkit, or pip install nvidia-cuda-sanitizer-api", sanitizerDirs,
			sanitizerVersion},
		{"nvcc", "the CUDA toolkit, or pip install " + strings.Join(NVCCWheels, " "), nvccDirs, ptxasRelease},
	} {
		p := Part{Name: tool.name, Install: tool.install, Detail: "not found"}
		found := findTool(ctx, tools, places, tool.name, tool.dirs)
		if found.path != "" {
			p = Part{
				Name: tool.name, Found: true, Path: found.path,
				Version: toolVersion(ctx, found.path, tool.version),
			}
		}
		p.refused(found.refused)
		parts = append(parts, p)
	}
	return parts
}

// inspectDriver reports the driver and its devices.
func inspectDriver(ctx context.Context, cfg BackendConfig) []Part {
	driver := Part{Name: "driver", Install: "an NVIDIA driver, 525 or newer"}
	lib, err := openLibrary(cfg.Library)
	switch {
	case errors.Is(err, dl.ErrUnsupported):
		driver.Detail, driver.Install = dl.ErrUnsupported.Error(), "a build without tag nogpu"
		return []Part{driver}
	case err != nil:
		driver.Detail = err.Error()
		return []Part{driver}
	}
	driver.Path = lib.Path
	if cfg.Worker == nil {
		driver.Found, driver.Install, driver.Detail = true, "", "its devices were not queried"
		return []Part{driver}
	}
	devices, version, err := Devices(ctx, cfg)
	if err != nil {
		driver.Detail = err.Error()
		return []Part{driver}
	}
	driver.Found, driver.Install, driver.Version = true, "", "CUDA "+version
	if kernel, _, err := nvmlVersions(); err == nil {
		driver.Version = kernel + " (CUDA " + version + ")"
	}
	parts := []Part{driver}
	for _, d := range devices {
		parts = append(parts, inspectDevice(d))
	}
	return parts
}

// firstArch is the oldest architecture that the embedded PTX is for.
const firstArch = 80

func inspectDevice(d Device) Part {
	p := Part{
		Name: fmt.Sprintf("GPU %d", d.Ordinal), Found: true, Path: d.PCI, Version: d.Arch,
		Detail: fmt.Sprintf("%s, %d MiB, %d multiprocessors, %d KiB of shared memory a block", d.Name,
			d.Memory>>20, d.SMs, d.SharedPerBlock>>10),
	}
	if n := number([]byte(strings.TrimPrefix(d.Arch, "sm_"))); n < firstArch {
		p.Found = false
		p.Detail += fmt.Sprintf("; the kernels need sm_%d or newer", firstArch)
	}
	if strings.Contains(d.Name, " MIG ") {
		p.Detail += "; a MIG instance: telemetry is that of the whole card"
	}
	return p
}

func inspectNVML() Part {
	_, version, err := nvmlVersions()
	if err != nil {
		return Part{
			Name: "NVML", Detail: err.Error(),
			Install: "the NVIDIA driver's libnvidia-ml.so.1, and a build with cgo on Linux",
		}
	}
	return Part{Name: "NVML", Found: true, Path: "libnvidia-ml.so.1", Version: version}
}

func toolVersion(ctx context.Context, path string, version *regexp.Regexp) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if m := version.FindSubmatch(out); err == nil && m != nil {
		return string(m[1])
	}
	return "unknown"
}
