package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func versionString(major, minor int) string { return fmt.Sprintf("%d.%d", major, minor) }

var distInfo = regexp.MustCompile(`^nvidia_cuda_nvrtc(?:_cu\d+)?-(\d+(?:\.\d+)+)\.dist-info$`)

// fullVersion is the version as precisely as can be known. NVRTC itself reports major and minor only; the
// build number stands in the version script's real file name (libnvrtc.so.12.0.140) or in the wheel's
// metadata beside it.
func fullVersion(n *nvrtc) string {
	v := versionString(int(n.major), int(n.minor))
	for _, full := range buildNumbers(n.path) {
		if strings.HasPrefix(full, v+".") {
			return full
		}
	}
	return v
}

// buildNumbers lists the versions that a library's surroundings speak of: several where wheels of two CUDA
// versions share a folder.
func buildNumbers(library string) []string {
	var out []string
	if real, err := filepath.EvalSymlinks(library); err == nil {
		out = append(out, libVersion.FindString(filepath.Base(real)))
	}
	// nvidia/cuda_nvrtc/lib/libnvrtc.so.12 and nvidia_cuda_nvrtc_cu12-12.0.140.dist-info share a parent
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(library), "..", "..", ".."))
	if err != nil {
		return out
	}
	for _, e := range entries {
		if m := distInfo.FindStringSubmatch(e.Name()); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}
