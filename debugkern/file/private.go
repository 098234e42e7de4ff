package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Private makes dir the user's own: it is created with permissions 0700 where there is none, and 0700 is
// restored where it is the user's and wider. The error says which directory of the path somebody else could
// change: one that belongs to another user than this one or root, or that group or others may write to (a
// directory with the sticky bit, such as /tmp, only lets them add to it, so it is accepted above dir). Where
// files have no single owner nothing is examined.
func (s *System) Private(dir string) error {
	if err := s.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if !hasOwners {
		return nil
	}
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return fmt.Errorf("examine %s: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("examine %s: %w", dir, err)
	}
	if !ownedByUser(info) {
		return fmt.Errorf("%s belongs to another user", real)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(real, 0o700); err != nil {
			return fmt.Errorf("%s is open to other users (permissions %04o), and that cannot be changed: %w",
				real, info.Mode().Perm(), err)
		}
	}
	return safeAbove(real)
}

// safeAbove examines the directories that lead to path, which has no symbolic links.
func safeAbove(path string) error {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		info, err := os.Stat(up)
		switch {
		case err != nil:
			return fmt.Errorf("examine %s: %w", up, err)
		case !ownedByUser(info) && !ownedByRoot(info):
			return fmt.Errorf("%s, above %s, belongs to another user, who could replace it", up, path)
		case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
			return fmt.Errorf("%s, above %s, can be written to by other users (permissions %04o)", up, path,
				info.Mode().Perm())
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// Secret returns the size random bytes kept at path, and makes them where there is no such file: in a
// directory that only the user can change, readable by the user alone.
func (s *System) Secret(path string, size int) ([]byte, error) {
	if path == "" {
		return nil, errors.New(
			"there is no place for the secret that entries are checked with (no home directory)")
	}
	secret, err := s.readSecret(path, size)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := s.Mkdir(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	secret = make([]byte, size)
	rand.Read(secret) // never fails
	p, err := s.Create(path, 0o600)
	if err != nil {
		return nil, err
	}
	defer p.Abandon()
	if _, err := p.Write(secret); err != nil {
		return nil, err
	}
	if err := p.CommitNew(); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return s.readSecret(path, size) // of two processes that start at once, one has made it
}

func (s *System) readSecret(path string, size int) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: remove it", path)
	case hasOwners && (!ownedByUser(info) || info.Mode().Perm()&0o077 != 0):
		return nil, fmt.Errorf(
			"%s could be read by other users (permissions %04o): remove it, a new one is made", path,
			info.Mode().Perm())
	}
	secret, err := s.Read(context.Background(), path, maxSecret, Want{What: "a secret"})
	if err == nil && (len(secret) != size || bytes.Count(secret, secret[:1]) == size) {
		err = fmt.Errorf("%s holds %d bytes that are no secret of %d: remove it, a new one is made", path,
			len(secret), size)
	}
	if err != nil {
		return nil, err
	}
	return secret, safeAbove(path)
}

// maxSecret is the most bytes of a file that is read as a secret.
const maxSecret = 1 << 12

// Unchangeable says whether only this user and root can change what path leads to: nil, or an error that
// names the first thing on the way that somebody else owns or may write to. Every symbolic link is followed
// by hand, and the directories that lead to it are examined as well as those that lead to its target. Where
// files have no single owner only the existence of the file is examined.
func Unchangeable(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("examine %s: %w", path, err)
	}
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("examine %s: %w", path, err)
		}
		link := info.Mode()&fs.ModeSymlink != 0
		switch {
		case !hasOwners:
		case !ownedByUser(info) && !ownedByRoot(info):
			return fmt.Errorf("%s belongs to another user", path)
		case !link && info.Mode().Perm()&0o022 != 0:
			return fmt.Errorf("%s can be written to by other users (permissions %04o)", path,
				info.Mode().Perm())
		default:
			if err := linksAbove(path); err != nil {
				return err
			}
			if err := safeAbove(path); err != nil {
				return err
			}
		}
		if !link {
			return nil
		}
		target, err := os.Readlink(path)
		if err != nil {
			return fmt.Errorf("examine %s: %w", path, err)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(realDir(path), target)
		}
		path = target
	}
	return fmt.Errorf("%s: too many symbolic links", path)
}

// maxLinks is how many symbolic links Unchangeable follows, as many as the system does.
const maxLinks = 40

// realDir is the directory of path without symbolic links: a .. in a link's text starts there.
func realDir(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// linksAbove examines each directory on the way to path that is a symbolic link, and where it leads.
func linksAbove(path string) error {
	for up := filepath.Dir(path); up != filepath.Dir(up); up = filepath.Dir(up) {
		info, err := os.Lstat(up)
		if err != nil {
			return fmt.Errorf("examine %s: %w", up, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if err := Unchangeable(up); err != nil {
			return err
		}
	}
	return nil
}
