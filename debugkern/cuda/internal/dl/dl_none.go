//go:build nogpu || !(linux || darwin || windows) || !(amd64 || arm64)

package dl

func open(string) (uintptr, error) { return 0, ErrUnsupported }

func symbol(uintptr, string) (uintptr, error) { return 0, ErrUnsupported }

func bind(any, uintptr) {}
