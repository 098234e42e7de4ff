package debugkern

import (
	"context"
	"math/bits"

	"tilescope/debugkern/lineage"
	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// Sample is the register values of one lane just before it executed an instruction.
type Sample struct {
	At         int // the instruction, in the entry's body
	Warp, Lane int
	Values     []int64 // by register, in the order in which they were asked for, sign extended
	Known      []bool  // by register: it had been written, by an instruction that this lane executed
}

// How often an instruction is sampled: executions, and lanes of each.
const (
	sampledTimes = 12
	sampledLanes = 4
)

// Sampled executes a block once more and returns the values of integer registers of the entry when
// instructions of the entry's body were executed: some executions of each, from the first to the last, and of
// these some lanes. Errors are those of Lineage.
func (r *Run) Sampled(ctx context.Context, block probes.Dim3, at []int, regs []int32) ([]Sample, error) {
	x, trace, err := r.recorded(ctx, block)
	if err != nil {
		return nil, err
	}
	s := &sampling{fn: r.Entry(), trace: trace, of: map[int]int{}, number: map[int32]int{}, count: len(regs)}
	for _, i := range at {
		s.of[i] = 0
	}
	for k, reg := range regs {
		s.number[reg] = k
	}
	s.collect()
	bits, err := trace.Values(ctx, x.kernel, s.refs)
	if err != nil {
		return nil, err
	}
	for i, to := range s.to {
		sample := &s.out[to[0]]
		sample.Values[to[1]] = extended(bits[i], s.fn.Regs[regs[to[1]]].Type)
		sample.Known[to[1]] = true
	}
	return s.out, nil
}

// sampling collects samples of a recorded block.
type sampling struct {
	fn     *ptx.Func
	trace  *lineage.Trace
	of     map[int]int   // by instruction that is sampled: how often it is executed
	number map[int32]int // by register: which of those that were asked for it is
	count  int           // of these
	out    []Sample
	refs   []lineage.Ref
	to     [][2]int // by ref: sample and register
}

// lastWrite is the last step by which a warp's register was given a value.
type lastWrite struct {
	step, index int
	mask        uint32
}

// collect walks through the steps with what each warp last wrote to each register.
func (s *sampling) collect() {
	for i := range s.trace.Len() {
		if st := s.trace.Step(i); st.Func.Entry && st.Mask != 0 {
			if n, asked := s.of[st.Instr.Index]; asked {
				s.of[st.Instr.Index] = n + 1
			}
		}
	}
	times, last := map[int]int{}, map[int][]lastWrite{}
	for i := range s.trace.Len() {
		st := s.trace.Step(i)
		if !st.Func.Entry || st.Mask == 0 {
			continue
		}
		regs := last[st.Warp]
		if regs == nil {
			regs = make([]lastWrite, s.count)
			last[st.Warp] = regs
		}
		if all, asked := s.of[st.Instr.Index]; asked {
			if n := times[st.Instr.Index]; chosen(n, all, sampledTimes) {
				s.sample(st, regs)
			}
			times[st.Instr.Index]++
		}
		for index, reg := range st.Instr.Dests(nil) {
			if k, asked := s.number[reg]; asked {
				regs[k] = lastWrite{i + 1, index, st.Mask}
			}
		}
	}
}

// chosen reports whether the n-th of some is one of most that are spread evenly over all.
func chosen(n, all, most int) bool {
	return all <= most || n*most/all != (n-1)*most/all || n == 0 || n == all-1
}

// sample notes what the lanes of one execution have in their registers.
func (s *sampling) sample(st lineage.Step, regs []lastWrite) {
	var lanes []int
	for lane := range 32 {
		if st.Mask>>lane&1 != 0 {
			lanes = append(lanes, lane)
		}
	}
	for n, lane := range lanes {
		if !chosen(n, len(lanes), sampledLanes) {
			continue
		}
		for k, w := range regs {
			if w.step == 0 || w.mask>>lane&1 == 0 {
				continue
			}
			reg := s.fn.Body[s.trace.Step(w.step-1).Instr.Index].Dests(nil)[w.index]
			s.refs = append(s.refs, lineage.Ref{
				Step: uint32(w.step - 1), Lane: uint8(lane), Index: uint8(w.index),
				N: uint8(s.fn.Regs[reg].Type.Bytes()),
			})
			s.to = append(s.to, [2]int{len(s.out), k})
		}
		s.out = append(s.out, Sample{
			At: st.Instr.Index, Warp: st.Warp, Lane: lane,
			Values: make([]int64, s.count), Known: make([]bool, s.count),
		})
	}
}

// Executed executes a block once more and returns how often threads executed each instruction of the entry's
// body. Errors are those of Lineage.
func (r *Run) Executed(ctx context.Context, block probes.Dim3) ([]int, error) {
	_, trace, err := r.recorded(ctx, block)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(r.Entry().Body))
	for i := range trace.Len() {
		if st := trace.Step(i); st.Func.Entry && st.Mask != 0 {
			out[st.Instr.Index] += bits.OnesCount32(st.Mask)
		}
	}
	return out, nil
}
