package checkrun

import (
	"fmt"
	"slices"

	"tilescope/debugkern/bundle"
	"tilescope/debugkern/discover"
	"tilescope/debugkern/report"
	"tilescope/debugkern/scaffold"
	"tilescope/debugkern/target"
)

// bundleViews changes the arguments of a bundle's launch to what a manifest has: memory belongs to the one
// address that leads to it, as the tensor that its author sees there. Memory with several addresses becomes
// several, behind the arguments that the launch has. For a launch that is no bundle's it does nothing.
func (l *launch) bundleViews(given *scaffold.Launch, found *discover.Found) error {
	x := l.bundle
	if x == nil {
		return nil
	}
	for i := range x.Parameters {
		p, a := &x.Parameters[i], &given.Args[i]
		a.Name = p.Name
		switch {
		case len(p.Pointers) == 1 && len(p.Bytes()) == 8:
			a.Pointer = true
		case len(p.Pointers) > 0:
			a.Size, a.Fields = len(p.Bytes()), words(p.Bytes())
		}
	}
	for i, a := range l.args {
		if !a.isMemory() {
			continue
		}
		if len(a.into) > 1 {
			given.Notes = append(given.Notes, fmt.Sprintf(
				"%s is memory of several parameters; in the manifest each of them has its own", a.name))
		}
		alone := len(a.into) == 1 && a.into[0].Skip == 0
		if !alone && found.Attention != nil { // its positions are those of the memory as a whole
			found.Attention = nil
			found.Why = &discover.NotFound{
				Why: a.name + " is memory into which parameters lead at several places",
			}
		}
		for n, at := range a.into {
			view := given.Args[i]
			view.Name = a.name
			view.In, view.Offset = at.Arg, at.Offset
			if !alone {
				if err := l.view(&view, a, at); err != nil {
					return err
				}
			}
			if n == 0 {
				given.Args[i] = view
			} else {
				given.Args = append(given.Args, view)
			}
		}
	}
	return nil
}

// view gives memory the extents of the tensor that its author sees through an address.
func (l *launch) view(view *scaffold.LaunchArg, a *arg, at target.Place) error {
	p := &l.bundle.Parameters[at.Arg]
	k := slices.IndexFunc(p.Pointers, func(x bundle.Pointer) bool { return x.At == at.Offset })
	ptr := &p.Pointers[k]
	switch {
	case ptr.Dims == nil && at.Skip == 0: // the memory as it lies
	case ptr.Dims == nil || slices.ContainsFunc(ptr.Strides, func(n int) bool { return n < 1 }):
		return report.Usagef(
			"%s: parameter %s leads to byte %d of memory %s, as no tensor that a manifest can "+
				"describe: check, run and diagnose take the bundle itself", l.bundle.Path, p.Name,
			at.Skip, a.name)
	default:
		view.Dims = ptr.Dims
		if !rowMajor(ptr.Dims, ptr.Strides) {
			view.Strides = ptr.Strides
		}
	}
	return nil
}

// rowMajor reports whether elements lie one after the other, those of the last dimension next to each other.
func rowMajor(dims, strides []int) bool {
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] != 1 && strides[i] != step {
			return false
		}
		step *= dims[i]
	}
	return true
}
