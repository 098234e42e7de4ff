package remote

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

// The scripts are one line each and have neither single quotes nor backslashes: the remote user's own shell,
// whichever that is, hands them on as they are.
const (
	digestOf = `sum() { if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; ` +
		`else shasum -a 256 "$1"; fi | cut -d" " -f1; }; `
	cacheOf    = `d=${XDG_CACHE_HOME:-$HOME/.cache}/tilescope/bin/$1; `
	findScript = digestOf + cacheOf + `echo; echo "tilescope-system $(uname -sm)"; echo "tilescope-cache $d/tilescope"; ` +
		`if test -x "$d/tilescope"; then echo "tilescope-cached $(sum "$d/tilescope")"; fi; ` +
		`if p=$(command -v tilescope); then echo "tilescope-path $p"; echo "tilescope-digest $(sum "$p")"; ` +
		`echo "tilescope-version $("$p" version 2>/dev/null | head -n 1)"; fi; true`
	copyScript = digestOf + cacheOf + `umask 077; mkdir -p "$d" && t=$(mktemp "$d/.tilescope.XXXXXXXX") || exit 73; ` +
		`end() { rm -f "$t"; }; trap end EXIT; trap "exit 75" HUP TERM INT; cat >"$t" || exit 74; s=$(sum "$t"); ` +
		`test "$s" = "$1" || { echo "the copy has the digest $s" >&2; exit 76; }; ` +
		`chmod 700 "$t" && mv -f "$t" "$d/tilescope" && echo && echo "tilescope-copied $d/tilescope"`
)

// copyLimit is the time limit of a copy.
const copyLimit = 10 * time.Minute

// Tilescope returns the path of a tilescope on the machine that is the same as this one: in the remote user's
// cache, by its digest, or on the remote PATH, by digest or version. Where there is none, the binary is
// copied into the cache, if Config.Consent agrees.
func (m *Machine) Tilescope(ctx context.Context) (string, error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { <-m.turn }()
	if m.found != "" {
		return m.found, nil
	}
	own, err := m.ownBinary()
	if err != nil {
		return "", err
	}
	out, err := m.Run(ctx, "connect", findScript, nil, runLimit, own.digest)
	if err != nil {
		return "", err
	}
	there := answers(out)
	system := systemOf(there["system"])
	switch {
	case there["system"] == "":
		return "", &Error{
			Host: m.cfg.Host, What: "connect", Detail: "the remote shell did not execute sh -c",
			Advice: "see what ssh " + m.cfg.Host + " sh -c 'uname' prints",
		}
	case there["cached"] == own.digest:
		m.found = there["cache"]
	case there["path"] != "" && (there["digest"] == own.digest || m.sameVersion(there["version"])):
		m.found = there["path"]
	case system != own.system:
		return "", &Error{
			Host: m.cfg.Host, What: "find tilescope",
			Detail: fmt.Sprintf("the machine is %s (%s), and %s is for %s", system, there["system"], own.path,
				own.system),
			Advice: fmt.Sprintf("name a tilescope of this version that was built for %s: "+
				"tilescope config set host.binary FILE, or install it on the PATH there", system),
		}
	default:
		if err := m.copy(ctx, own, system, there["cache"]); err != nil {
			return "", err
		}
		m.found = there["cache"]
	}
	return m.found, nil
}

// binary is the tilescope that is copied.
type binary struct {
	path, system, digest string
	data                 []byte
}

func (m *Machine) ownBinary() (*binary, error) {
	b := &binary{path: m.cfg.Binary, system: runtime.GOOS + "/" + runtime.GOARCH}
	if b.path == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("host %s: find this program's own file: %w", m.cfg.Host, err)
		}
		b.path = exe
	} else {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return nil, fmt.Errorf("host.binary %s: expected a tilescope: %w", b.path, err)
		}
		b.system = ""
		for _, key := range []string{"GOOS", "GOARCH"} {
			for _, s := range info.Settings {
				if s.Key == key {
					b.system += "/" + s.Value
				}
			}
		}
		b.system = strings.TrimPrefix(b.system, "/")
	}
	data, err := os.ReadFile(b.path)
	if err != nil {
		return nil, fmt.Errorf("host %s: read the tilescope to be found there: %w", m.cfg.Host, err)
	}
	sum := sha256.Sum256(data)
	b.data, b.digest = data, hex.EncodeToString(sum[:])
	return b, nil
}

// sameVersion reports that a line of `tilescope version` is of this program's version. Versions of a tree
// with changes, and of none, say nothing about what was built.
func (m *Machine) sameVersion(line string) bool {
	words := strings.Fields(line)
	v := m.cfg.Version
	return len(words) > 1 && words[1] == v && v != "" && v != "devel" && v != "(devel)" &&
		!strings.HasSuffix(v, "-dirty")
}

func (m *Machine) copy(ctx context.Context, own *binary, system, to string) error {
	if m.cfg.Consent == nil {
		return NoConsent(Copy{m.cfg.Host, system, to, int64(len(own.data))})
	}
	if err := m.cfg.Consent(ctx, Copy{m.cfg.Host, system, to, int64(len(own.data))}); err != nil {
		return err
	}
	out, err := m.Run(ctx, "copy tilescope to "+to, copyScript, own.data, copyLimit, own.digest)
	if err != nil {
		return err
	}
	if got := answers(out)["copied"]; path.Clean(got) != path.Clean(to) {
		return &Error{
			Host: m.cfg.Host, What: "copy tilescope", Detail: fmt.Sprintf("it is not at %s: %q", to, got),
		}
	}
	return nil
}

// ErrNoConsent is wrapped where tilescope would have to be copied and nobody agreed to it.
var ErrNoConsent = errors.New("tilescope is not there, and copying it was not agreed to")

// NoConsent is the error of a copy that nobody agreed to.
func NoConsent(c Copy) error { return &refusedCopy{c} }

type refusedCopy struct{ Copy }

func (e *refusedCopy) Error() string {
	return fmt.Sprintf("host %s: %v: --host-copy yes (or tilescope config set host.copy yes) copies %.0f MB to %s",
		e.Host, ErrNoConsent, float64(e.Bytes)/1e6, e.Path)
}

// Unwrap gives ErrNoConsent.
func (e *refusedCopy) Unwrap() error { return ErrNoConsent }

// Far marks the errors of another machine.
func (e *refusedCopy) Far() {}

// answers are the lines "tilescope-KEY VALUE" of a script; whatever else a login script prints is skipped.
func answers(out []byte) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "tilescope-"); ok {
			key, value, _ := strings.Cut(rest, " ")
			all[key] = strings.TrimSpace(value)
		}
	}
	return all
}

// systemOf is Go's name of what `uname -sm` prints.
func systemOf(uname string) string {
	kernel, machine, _ := strings.Cut(uname, " ")
	arch := map[string]string{
		"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64",
	}[machine]
	if arch == "" {
		arch = machine
	}
	return strings.ToLower(kernel) + "/" + arch
}
