// Package attack drives the built program with hostile input and compares what it does with what it must do.
//
// The one idea: a case is data. It names the arguments, the files, the environment and what happens while the
// program runs, and the exit codes and the words that have to come out. Rules that hold for every case (no
// stack trace, no raw escape sequence, an end in time, no temporary file, nothing written that was not asked
// for, bounded memory) are checked by the runner and need not be stated.
//
// Everything is in the tests: TestAttack runs a sample of the cases, at least one of each command and exit
// code that a kind of attack has, and all of them with TILESCOPE_ATTACK=1 (`make attack`); TestKill ends the
// program at random moments with SIGKILL (`make kill`). The package must not know how the program works
// inside: it sees arguments, files, exit codes and text.
package attack
