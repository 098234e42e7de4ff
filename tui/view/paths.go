package view

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/join"
)

const (
	// listingWait is how long a key waits for a directory's listing: a disk or a network may take longer, and
	// the names come with a later key.
	listingWait = 40 * time.Millisecond
	// listingAge is how long a listing is taken to be right.
	listingAge = 2 * time.Second
	// maxListed is how many names of a directory are offered.
	maxListed = 500
)

// listings are the directories whose names were offered last.
type listings struct {
	dir   string
	at    time.Time
	names []string
	task  *join.Task[[]string] // under way, of dir
}

// in lists a directory's names, folders with a slash behind; nil where it takes too long or cannot be read.
func (l *listings) in(dir string) []string {
	if l.dir != dir || l.task == nil && time.Since(l.at) > listingAge {
		l.dir, l.names = dir, nil
		l.task = join.Start(func() []string { return namesIn(dir) })
	}
	if l.task != nil {
		select {
		case <-l.task.Done():
			l.names, l.at, l.task = l.task.Wait(), time.Now(), nil
		case <-time.After(listingWait):
		}
	}
	return l.names
}

func namesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(4 * maxListed) // what could be read is offered
	var out []string
	for _, e := range entries {
		name, folder := e.Name(), e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(dir, name))
			folder = err == nil && info.IsDir()
		}
		if folder {
			name += "/"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Paths are the completions of a file's name: folders, and the files that the name may become.
func (x *Context) Paths(typed string) []string {
	at := strings.LastIndexByte(typed, '/') + 1
	lead, begin := typed[:at], typed[at:]
	dir := AtHome(lead)
	if dir == "" {
		dir = "."
	}
	var out []string
	for _, name := range x.listed.in(filepath.Clean(dir)) {
		if strings.HasPrefix(name, begin) && (name[0] != '.' || strings.HasPrefix(begin, ".")) &&
			len(out) < maxListed {
			out = append(out, lead+name)
		}
	}
	return out
}

// Folders completes the path of a directory.
func (x *Context) Folders(typed string) []string {
	return slices.DeleteFunc(x.Paths(typed), func(s string) bool { return !strings.HasSuffix(s, "/") })
}

// AtHome is a path whose leading ~/ is the user's home, as in a shell.
func AtHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
