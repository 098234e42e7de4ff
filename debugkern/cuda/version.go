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

// fullVersion tells the version as precisely as can be known. NVRTC itself tells major and minor only; the build number
// stands in the version script's real file name (libnvrtc.so.12.0.140) or in the wheel's metadata beside it.
func fullVersion(n *nvrtc) string {
	v := versionString(int(n.major), int(n.minor))
	if full := buildNumber(n.path); strings.HasPrefix(full, v+".") {
		v = full
	}
	return v
}

func buildNumber(library string) string {
	if real, err := filepath.EvalSymlinks(library); err == nil {
		if v := libVersion.FindString(filepath.Base(real)); v != "" {
			return v
		}
	}
	// nvidia/cuda_nvrtc/lib/libnvrtc.so.12 and nvidia_cuda_nvrtc_cu12-12.0.140.dist-info share a parent
	site := filepath.Join(filepath.Dir(library), "..", "..", "..")
	entries, err := os.ReadDir(site)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if m := distInfo.FindStringSubmatch(e.Name()); m != nil {
			return m[1]
		}
	}
	return ""
}
