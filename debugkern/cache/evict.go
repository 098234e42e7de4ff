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
	Bytes   int64
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
		u.Entries++
	}
	return u, err
}

// Clear removes every entry.
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

// entry is one entry's file.
type entry struct {
	path string
	size int64
	used time.Time
}

// scan lists the entries; those that vanish meanwhile are left out, and so is what is not the cache's.
func (c *Cache) scan() ([]entry, error) {
	names, err := os.ReadDir(c.o.Dir)
	if err != nil {
		if notThere(err) {
			return nil, nil
		}
		return nil, err
	}
	var out []entry
	for _, d := range names {
		if !strings.HasSuffix(d.Name(), suffix) || !d.Type().IsRegular() {
			continue
		}
		info, err := d.Info()
		if err != nil {
			if notThere(err) {
				continue
			}
			return out, err
		}
		out = append(out, entry{filepath.Join(c.o.Dir, d.Name()), info.Size(), info.ModTime()})
	}
	return out, nil
}

// evict removes the entries not used for longest until the rest fits; never the one just written. Two
// processes that evict at once choose the same files.
func (c *Cache) evict(keep Key) error {
	files, err := c.scan()
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	slices.SortFunc(files, func(a, b entry) int {
		if n := a.used.Compare(b.used); n != 0 {
			return n
		}
		return strings.Compare(a.path, b.path)
	})
	for _, f := range files {
		if total <= c.o.Max {
			return nil
		}
		if f.path == c.path(keep) {
			continue
		}
		if err := os.Remove(f.path); err != nil && !notThere(err) {
			return err
		}
		total -= f.size
	}
	return nil
}
