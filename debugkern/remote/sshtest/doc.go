// Package sshtest holds tests of --host against a real sshd on this machine (make test-ssh). The sshd has
// keys and a port of its own; between it and ssh stands a proxy that delays, drops, stops and limits
// connections. No GPU is needed: the worker behind ssh executes with its emulator.
package sshtest
