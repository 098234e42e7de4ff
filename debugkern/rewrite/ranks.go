package rewrite

// The rank of an edit is about twice the binary logarithm of how many edits of its kind, on lines that a bug
// is on, there are for one that takes the bug back. It was counted for planted bugs of
// debugkern/diagnose/bugs that diagnosis was developed with: for 443 by their patches alone, and again for
// 245 of these with the lines that a diagnosis names. Those of the edits in edits_begun.go, and
// rankSameNames, rankPastEnd, rankRounded, rankHalving, rankBits, rankOtherFactor, rankLeaders, rankRunning,
// rankLikeCall, rankIntoLoop, rankBeforeLoop, rankComponent, rankOutOfLoop, rankTruth, rankPlaced,
// rankWrappedName, rankRoundedBy, rankRoundedUp, rankBrackets, rankRowsAt, rankLastStep, rankRest,
// rankWholeLoop, rankFlat, rankCounted, rankRepeated, rankOneElement, rankStepOf, rankQuotient, rankMasked,
// rankCast, rankScore and rankNumbered are estimates: too few bugs had them. The lower the likelier.
const (
	rankMasked      = 2  // a mask in brackets, which is a factor
	rankClamped     = 4  // at least 0
	rankAll         = 6  // a barrier of all threads in the place of one of fewer
	rankStorage     = 6  // an array in a place of its own
	rankWidth       = 6  // a shuffle of all lanes
	rankTemplate    = 7  // a number as the argument of a template
	rankStepOf      = 6  // a loop's step of as many terms as take part
	rankOneElement  = 8  // one of two elements of an array that is used by a wrong index
	rankUnused      = 8  // what is computed and never used
	rankRepeated    = 8  // a loop in the place of a condition
	rankLeaving     = 8  // a loop that is left, in the place of one iteration of it
	rankAlways      = 8  // a statement without its condition, or without what leaves early
	rankReread      = 10 // an element of a pointer, that is not taken as another type
	rankLeaders     = 11 // the first of each so many lanes in the place of the first so many
	rankTwin        = 11 // a statement that is like another one, with other names
	rankSameNames   = 11 // a variable that is computed from the same, in the place of terms
	rankConstant    = 11 // a named number with another value
	rankMember      = 11 // another member of a struct
	rankComponent   = 14 // another component of a vector
	rankBits        = 11 // the bits of a float with another digit
	rankRunning     = 12 // what a variable has, as an operand of what is assigned to it
	rankQuotient    = 12 // a quotient of real numbers in the place of one of integers
	rankCrossed     = 12 // a word of two statements that follow each other exchanged
	rankOwnCallee   = 13 // another function of the kernel
	rankAnother     = 14 // what stands there for another variable
	rankArgument    = 14 // an argument of a call in its place
	rankOwnExtent   = 14 // a loop that goes over all of an array that its variable is an index of
	rankRowsAt      = 14 // a factor of a loop's bound that its variable is divided by
	rankLastStep    = 14 // a loop that takes its last, smaller step too
	rankPastEnd     = 14 // a constant or variable in the bound of a loop that goes past the end of an array
	rankExtreme     = 14 // a number that the kernel has a function for
	rankRounded     = 14 // a number that is not rounded to a multiple
	rankRoundedUp   = 10 // a quotient that is rounded up
	rankRoundedBy   = 14 // a quotient that is rounded up by another constant
	rankBrackets    = 16 // a sum in brackets, which is a factor
	rankRest        = 14 // what is left of an extent behind a tile's first element
	rankWholeLoop   = 18 // a loop over all, in the place of one over a part
	rankFlat        = 14 // an element by its indices in the place of its number in the array
	rankNumbered    = 14 // a row or column of an element, in the place of its number in the array
	rankCounted     = 14 // the end of a loop in the place of how often it runs, and the other way round
	rankHalving     = 14 // another first and last step of a reduction
	rankIndices     = 14 // two indices exchanged
	rankTerm        = 14 // the first operand of an operator alone
	rankEveryStep   = 14 // steps of one in a loop
	rankStride      = 14 // a loop that goes like another one
	rankDivisor     = 14 // what the statement divides by elsewhere
	rankLikeCall    = 15 // an argument with the operation that another call has
	rankStepped     = 15 // as many rows a step as its threads have
	rankAxes        = 15 // two axes of a block's number exchanged
	rankCallee      = 15 // another function of CUDA
	rankDeeper      = 15 // the operand of an operand
	rankCommuted    = 15 // functions and operators of real numbers in another order
	rankMoved       = 16 // a synchronisation at another place
	rankOrElse      = 16 // what is assigned under a condition, and else 0
	rankSign        = 16 // a negation left out
	rankAtomic      = 16 // an atomic addition in the place of a sum
	rankBegun       = 16 // a sum that begins anew in each iteration of a loop
	rankTruth       = 16 // a condition that always holds, or never
	rankArguments   = 17 // two arguments exchanged
	rankElsewhere   = 17 // what stands in the same role elsewhere
	rankCast        = 17 // a conversion to another type, the likeliest first
	rankEither      = 17 // one of the values of a ?:
	rankInstead     = 17 // another function in all calls of one
	rankNext        = 18 // a statement behind the next
	rankAxis        = 18 // another axis of a number of a thread or block
	rankHeader      = 18 // the header of another loop
	rankNumber      = 18 // another number, the likeliest first
	rankVariable    = 18 // a variable in the place of a term or call
	rankDigits      = 18 // other digits of a number
	rankOtherFactor = 18 // a factor at the other term of a sum
	rankIntoLoop    = 18 // a statement behind a loop in it
	rankBeforeLoop  = 18 // one of a loop's first statements before it
	rankNumbers     = 19 // two numbers of an expression exchanged
	rankSplit       = 19 // quotients and remainders by another divisor
	rankSecond      = 19 // the second operand of an operator alone
	rankName        = 20 // another variable, the likeliest first
	rankBarrier     = 20 // a barrier more
	rankOperator    = 20 // another operator
	rankStep        = 20 // another step of a loop
	rankTurned      = 20 // operands or operators in another order
	rankScore       = 20 // a score that counts only within an extent
	rankNot         = 20 // a condition negated
	rankPassed      = 20 // a value passed to a function of the kernel
	rankDonated     = 20 // what another line computes from the same variable
	rankChained     = 20 // a variable in the place of several factors or terms
	rankFixed       = 21 // a constant in the place of a number or of several terms
	rankOneMore     = 21 // one more or less
	rankNames       = 22 // two variables of an expression exchanged
	rankParameters  = 22 // two parameters of the kernel exchanged
	rankOtherValue  = 22 // 0, 1, an infinity
	rankOtherBound  = 22 // what another loop ends at
	rankConjunct    = 22 // one more part of a condition
	rankPlaced      = 22 // a statement at another place of its block
	rankOutOfLoop   = 22 // a loop's last statement behind it
	rankExtent      = 23 // an array with another extent
	rankStatement   = 23 // a statement left out
	rankCondition   = 23 // another condition
	rankLiteral     = 23 // a number in the place of a constant
	rankDefined     = 23 // a macro with another value
	rankGuard       = 24 // a condition more
	rankType        = 24 // another type of a variable
	rankFactor      = 25 // twice or half of a number, a loop that ends at an extent too
	rankWrapped     = 27 // a real operation more, with a number
	rankWrappedName = 27 // a real operation more, with a variable
	rankInner       = 28 // a factor or remainder in a term
	rankGuarded     = 28 // a value under a condition
	rankWrappedCell = 28 // a real operation more, with an element of an array
	rankFlag        = 29 // a statement under a flag of the build
	rankGrown       = 31 // a term more
)

// rankNamedExtent is by how much another extent of an array is likelier where it is a number, and other
// members of the struct have a named constant there.
const rankNamedExtent = 4

// rankCallers is by how much an edit of a condition is less likely that a caller decides by what it passes.
const rankCallers = 12

// rankUnread is by how much an edit is less likely with which nothing uses any more what a variable is given.
const rankUnread = 12

// rankDropping is by how much an edit is less likely that leaves out a flag of the build.
const rankDropping = 2

// mostLess is by how much the least likely variable is less likely than the first.
const mostLess = 6
