//go:build !unix

package file

import "errors"

func makePipe(string) error { return errors.New("no named pipes in the file system here") }
