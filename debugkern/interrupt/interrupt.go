// Package interrupt receives the signals that end the program, from the earliest moment that Go allows.
//
// The one idea: until signal.Notify is called, an interrupt kills the process without an exit code, and the
// initialisers of a hundred packages run before main. The linker orders initialisers by import path among the
// packages whose own imports are initialised. This package imports nothing but os, os/signal and syscall, so
// its initialiser follows os/signal directly, before those of every package that needs package unicode. Its
// place is tested: TestOrder.
//
// It must not know what the program does with a signal. Only main imports it.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
)

// received is the one package variable whose initialiser has a side effect (STYLE.md allows none): a call
// from main comes after all initialisers, and a signal before it would be lost together with the process.
var received = receive()

// receive starts the delivery of the signals that end the program. Two are kept until they are read: one that
// asks the program to end, and one that insists.
func receive() <-chan os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, and so do we then
		ends = append(ends, syscall.SIGHUP)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ends...)
	return signals
}

// Signals returns the channel of the signals that ask the program to end, those included that arrived
// before the call. Delivery goes on until the process ends: without it a signal after the last command
// would replace its exit code.
func Signals() <-chan os.Signal { return received }
