// Package bugs is a collection of planted bugs, and of harmless edits, that measures diagnose.
//
// The one idea: every bug is one edit that an author of such a kernel could make, with the expectation of a
// person who understands the kernel: which stage is wrong first, which lines are guilty, and what a story has
// to say for somebody to act on it. Expectations are written before the diagnosis is run and are not adapted
// to what it finds; the held-out bugs are not looked at while it is developed.
//
//	held.yaml, held/NAME.patch              bugs that no diagnosis code is developed with
//	second.yaml, second/NAME.patch          the same, by an author who did not read the diagnosis code
//	third.yaml, third/NAME.patch            the same, by another; now for developing too
//	fourth.yaml, fourth/NAME.patch          the same, by another; now for developing too
//	fifth.yaml, fifth/NAME.patch            the same, by another; now for developing too
//	sixth.yaml, sixth/NAME.patch            the same, by another; now for developing too
//	seventh.yaml, seventh/NAME.patch        the same, by another; now for developing too
//	eighth.yaml, eighth/NAME.patch          the same, by another; now for developing too
//	ninth.yaml, ninth/NAME.patch            the same, by another; now for developing too
//	tenth.yaml, tenth/NAME.patch            the same, by another; now for developing too
//	eleventh.yaml, eleventh/NAME.patch      the same, by another; now for developing too
//	twelfth.yaml, twelfth/NAME.patch        the same, by another; now for developing too
//	thirteenth.yaml, thirteenth/NAME.patch  the same, by another; now for developing too
//	fourteenth.yaml, fourteenth/NAME.patch  the same, by another; now for developing too
//	fifteenth.yaml, fifteenth/NAME.patch    the same, by another; now for developing too
//	sixteenth.yaml, sixteenth/NAME.patch    the same, by another; now for developing too
//	open.yaml, open/NAME.patch              bugs to develop with
//	harmless.yaml, harmless/NAME.patch      rewrites after which the kernel is as right as before: nothing may be found
//	ptx.archive                             the PTX of all of them, in the format of kernels/ptx.archive: no compiler is needed
//
// A patch is a unified diff of kernels/*.cu and their headers; its first line says what it breaks. README.md
// has the keys of the tables, what counts as found, and the commands.
//
// It has no code of its own but tests, and it must not know how diagnose works: it judges what a person sees.
package bugs
