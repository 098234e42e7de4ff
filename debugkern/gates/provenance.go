package gates

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// ThisTool describes the running program: what the build recorded of its commit, and a digest of the
// executable, which shows two builds apart where none was recorded.
func ThisTool(version string) Tool {
	t := Tool{
		Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Executable: executableDigest(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if t.Version == "" {
		t.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			t.Modified = s.Value == "true"
		}
	}
	return t
}

// executableDigest is "" where the program cannot read itself.
func executableDigest() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
