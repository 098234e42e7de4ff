// Package attention has attention as it is written outside of papers: masks, biases and caps of scores,
// layouts, sequences of different lengths, paged caches, splits, second outputs, dropout. Each kernel of
// testdata is a small source with its manifest, as a user would have them, and one planted fault.
//
// The one idea: what a kernel does is said in its manifest alone, with conventions and operators that
// any kernel has. A kernel agrees on every shape that its manifest names, and its fault is found at
// the stage that has it.
//
// Everything is in the tests, which need NVRTC. The package must not know how a run works inside: it sees
// arguments and documents.
package attention
