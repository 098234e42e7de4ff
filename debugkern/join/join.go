// Package join starts goroutines that somebody waits for.
//
// The one idea: a panic in a goroutine ends the process with a trace, wherever the program has a recover. So
// every goroutine of ours is started here, its panic is kept with its stack, and it is raised again in the
// goroutine that waits for it: there it reaches the recover of the command line or the terminal like any
// other. arch_test.go allows no other way to start one.
//
// It must not know what goroutines do.
package join

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Panic is what a goroutine panicked with. It is raised again as it is, however many goroutines it passes
// through, and is an error, for goroutines whose end is reported as one.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error returns the value in words.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// Catch calls f and returns what it panicked with, nil where it returned.
func Catch(f func()) (caught *Panic) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Panic:
			caught = v
		default:
			caught = &Panic{v, debug.Stack()}
		}
	}()
	f()
	return nil
}

// Try calls f and returns its error, a *Panic where it panicked.
func Try(f func() error) (err error) {
	if p := Catch(func() { err = f() }); p != nil {
		return p
	}
	return err
}

// Raise panics where an error is, or wraps, a *Panic.
func Raise(err error) {
	var p *Panic
	if errors.As(err, &p) {
		panic(p)
	}
}

// Task is one goroutine and its result.
type Task[T any] struct {
	done  chan struct{}
	value T
	bug   *Panic
}

// Start calls f in a goroutine of its own.
func Start[T any](f func() T) *Task[T] {
	t := &Task[T]{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.bug = Catch(func() { t.value = f() })
	}()
	return t
}

// Run calls f, which has no result, in a goroutine of its own.
func Run(f func()) *Task[struct{}] {
	return Start(func() struct{} { f(); return struct{}{} })
}

// Done is closed when the goroutine has ended.
func (t *Task[T]) Done() <-chan struct{} { return t.done }

// Wait waits for the goroutine and returns its result. It panics with a *Panic where the goroutine panicked.
func (t *Task[T]) Wait() T {
	<-t.done
	if t.bug != nil {
		panic(t.bug)
	}
	return t.value
}

// Group is several goroutines that are waited for together. The zero value is ready.
type Group struct {
	// Stop is called at the first panic, so that the other goroutines need not finish their work;
	// nil: they finish it.
	Stop func()

	wg   sync.WaitGroup
	once sync.Once
	bug  *Panic // written before the wait ends
}

// Go calls f in a goroutine of the group.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		p := Catch(f)
		if p == nil {
			return
		}
		g.once.Do(func() {
			g.bug = p
			if g.Stop != nil {
				g.Stop()
			}
		})
	})
}

// Wait waits for every goroutine of the group. It panics with a *Panic where one of them
// panicked: the first one's.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.bug != nil {
		panic(g.bug)
	}
}
