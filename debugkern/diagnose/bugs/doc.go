// Package bugs is a collection of planted bugs, and of harmless edits, that measures diagnose.
//
// The one idea: every bug is one edit that an author of such a kernel could make, with the expectation of a
// person who understands the kernel: which stage is wrong first, which lines are guilty, and what a story has
// to say for somebody to act on it. Expectations are written before the diagnosis is run and are not adapted
// to what it finds; unseen bugs are not looked at while it is developed.
//
//	SET.yaml, SET/NAME.patch   a set: its role (unseen, measured, open, harmless), and an entry a bug
//	ptx.archive                the PTX of all of them, in the format of kernels/ptx.archive: no compiler is needed
//
// A patch is a unified diff of kernels/*.cu and their headers; its first line says what it breaks. README.md
// has the keys of the tables, what counts as found, and the commands.
//
// It has no code of its own but tests, and it must not know how diagnose works: it judges what a person sees.
package bugs
