package cache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Usage is what a cache takes.
type Usage struct {
	Entries int
	Bytes   int64 // files being written included
}

// Usage looks at the directory; one that does not exist is empty.
func (c *Cache) Usage() (Usage, error) {
	if !c.usable() {
		return Usage{}, nil
	}
	files, err := c.scan()
	var u Usage
	for _, f := range files {
		u.Bytes += f.size
		if !f.temp {
			u.Entries++
		}
	}
	return u, err
}

// Clear removes every entry, and whatever killed processes have left.
func (c *Cache) Clear() error {
	if !c.usable() {
		return nil
	}
	files, err := c.scan()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f.path); err != nil && !notThere(err) {
			return err
		}
	}
	return nil
}

// file is one file of the cache.
type file struct {
	path string
	size int64
	used time.Time
	temp bool // being written, or abandoned
}

// scan lists the cache's files; those that vanish meanwhile are left out, and so is what is not the cache's.
func (c *Cache) scan() ([]file, error) {
	names, err := os.ReadDir(c.dir)
	if err != nil {
		if notThere(err) {
			return nil, nil
		}
		return nil, err
	}
	var out []file
	for _, d := range names {
		temp := strings.HasPrefix(d.Name(), tempPrefix)
		if !temp && !strings.HasSuffix(d.Name(), suffix) || !d.Type().IsRegular() {
			continue
		}
		info, err := d.Info()
		if err != nil {
			if notThere(err) {
				continue
			}
			return out, err
		}
		out = append(out, file{filepath.Join(c.dir, d.Name()), info.Size(), info.ModTime(), temp})
	}
	return out, nil
}

// evict removes abandoned files, then the entries not used for longest until the rest fits; never the one just written.
// Two processes that evict at once choose the same files.
func (c *Cache) evict(keep Key) error {
	files, err := c.scan()
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	slices.SortFunc(files, func(a, b file) int {
		if n := a.used.Compare(b.used); n != 0 {
			return n
		}
		return strings.Compare(a.path, b.path)
	})
	stale := c.now().Add(-abandoned)
	for _, f := range files {
		if f.temp && f.used.After(stale) || f.path == c.path(keep) || !f.temp && total <= c.max {
			continue
		}
		if err := os.Remove(f.path); err != nil && !notThere(err) {
			return err
		}
		total -= f.size
	}
	return nil
}
