package cuda

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"tilescope/debugkern/join"
)

// prepared is a launch whose buffers are on the device.
type prepared struct {
	w      *worker
	kernel *loadedKernel
	spec   *launchSpec
	// buffers: by argument, nil for scalars; then the capture buffer, injected tiles and control block
	buffers []*deviceBuffer
	capture int // index in buffers, -1 without
	params  []*byte
	owned   []*deviceBuffer
}

// prepare allocates and fills what a launch needs. The caller closes it, an error included.
func (w *worker) prepare(spec *launchSpec, bodies [][]byte) (*prepared, error) {
	p := &prepared{w: w, spec: spec, kernel: w.kernels.at(spec.Kernel), capture: -1}
	if p.kernel == nil {
		return p, fmt.Errorf("no kernel %d is loaded", spec.Kernel)
	}
	if spec.BigCluster {
		r := w.drv.funcSet(p.kernel.fn, funcAnyCluster, 1)
		if err := w.drv.check("cuFuncSetAttribute", r); err != nil {
			return p, err
		}
	}
	if err := w.allowShared(p.kernel, spec.DynShared); err != nil {
		return p, err
	}
	var scalars [][]byte // the bytes of each argument
	for _, a := range spec.Args {
		if a.Map != nil { // encoded below, once its buffer has an address
			p.buffers = append(p.buffers, nil)
			scalars = append(scalars, mapBytes())
			p.params = append(p.params, &scalars[len(scalars)-1][0])
			continue
		}
		if a.Scalar != nil {
			p.buffers = append(p.buffers, nil)
			scalars = append(scalars, slices.Clone(a.Scalar))
			p.params = append(p.params, &scalars[len(scalars)-1][0])
			continue
		}
		b, err := p.buffer(a.Bytes, body(bodies, a.Init))
		if err != nil {
			return p, fmt.Errorf("argument %s: %w", a.Name, err)
		}
		scalars = append(scalars, binary.LittleEndian.AppendUint64(nil, b.addr()))
		if !a.Apart {
			p.params = append(p.params, &scalars[len(scalars)-1][0])
		}
		for _, at := range a.Into {
			if at.Arg < 0 || at.Arg >= len(scalars) || at.Offset < 0 || at.Offset+8 > len(scalars[at.Arg]) ||
				at.Skip < 0 || at.Skip > a.Bytes {
				return p, fmt.Errorf("argument %s: malformed place", a.Name)
			}
			binary.LittleEndian.PutUint64(scalars[at.Arg][at.Offset:], b.addr()+uint64(at.Skip))
		}
	}
	for i, a := range spec.Args {
		if a.Map == nil {
			continue
		}
		if err := p.encode(scalars[i], a.Map); err != nil {
			return p, fmt.Errorf("argument %s: tensor map: %w", a.Name, err)
		}
	}
	if spec.Probe == nil {
		return p, nil
	}
	return p, p.prepareProbe(spec.Probe, bodies)
}

// prepareProbe allocates the capture, and writes the control block that says where it is.
func (p *prepared) prepareProbe(s *probeSpec, bodies [][]byte) error {
	p.capture = len(p.buffers)
	capture, err := p.buffer(s.Capture, nil)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	capture.zero, capture.fill = true, s.Fill
	inject, err := p.buffer(s.Inject, body(bodies, s.Injected))
	if err != nil {
		return fmt.Errorf("injected tiles: %w", err)
	}
	inject.zero = true
	control := slices.Clone(body(bodies, s.Control))
	if s.CaptureAt < 0 || s.InjectAt < 0 || s.CaptureAt+8 > len(control) || s.InjectAt+8 > len(control) {
		return errors.New("malformed control block")
	}
	binary.LittleEndian.PutUint64(control[s.CaptureAt:], capture.addr())
	binary.LittleEndian.PutUint64(control[s.InjectAt:], inject.addr())
	ctl, err := p.buffer(int64(len(control)), control)
	if err != nil {
		return fmt.Errorf("control block: %w", err)
	}
	if s.Pass {
		p.params = append(p.params, pointer(ctl.addr()))
	}
	return nil
}

func (p *prepared) buffer(bytes int64, init []byte) (*deviceBuffer, error) {
	if init != nil && int64(len(init)) != bytes {
		return nil, fmt.Errorf("%d bytes for a buffer of %d", len(init), bytes)
	}
	b, err := p.w.allocate(bytes)
	if err != nil {
		return nil, err
	}
	b.init = init
	p.buffers, p.owned = append(p.buffers, b), append(p.owned, b)
	return b, nil
}

func (p *prepared) close() { p.w.release(p.owned) }

func body(bodies [][]byte, i int) []byte {
	if i < 0 || i >= len(bodies) {
		return nil
	}
	return bodies[i]
}

func pointer(addr uint64) *byte {
	return &binary.LittleEndian.AppendUint64(nil, addr)[0]
}

// allowShared raises what the function may be launched with, above the 48 KiB that need no asking.
func (w *worker) allowShared(k *loadedKernel, bytes int) error {
	if bytes <= k.dynShared {
		return nil
	}
	if total := bytes + k.info.Shared; total > w.dev.SharedPerBlock {
		return fmt.Errorf("%s wants %d bytes of shared memory; a block on %s may have %d", k.entry, total,
			w.dev.Name, w.dev.SharedPerBlock)
	}
	if err := w.drv.check("cuFuncSetAttribute", w.drv.funcSet(k.fn, funcDynShared,
		int32(bytes))); err != nil {
		return err
	}
	k.dynShared = bytes
	return nil
}

// reset gives every buffer its contents before a launch; probing changes those of the outputs.
func (p *prepared) reset(probing bool) error {
	for i, b := range p.buffers {
		if b == nil {
			continue
		}
		output := i < len(p.spec.Args) && p.spec.Args[i].Output && p.spec.Args[i].Probing
		if err := p.w.reset(b, probing && output); err != nil {
			return err
		}
	}
	return nil
}

// enqueue launches without waiting.
func (p *prepared) enqueue() error {
	s := p.spec
	d := s.Dims
	if s.Cluster != [3]int{} {
		return p.enqueueClusters()
	}
	if s.Cooperative {
		code := p.w.drv.cooperative(p.kernel.fn, uint32(d[0]), uint32(d[1]), uint32(d[2]), uint32(d[3]),
			uint32(d[4]), uint32(d[5]), uint32(s.DynShared), p.w.stream, p.params)
		runtime.KeepAlive(p.params)
		return p.w.drv.check("cuLaunchCooperativeKernel", code)
	}
	code := p.w.drv.launch(p.kernel.fn, uint32(d[0]), uint32(d[1]), uint32(d[2]), uint32(d[3]), uint32(d[4]),
		uint32(d[5]), uint32(s.DynShared), p.w.stream, p.params, nil)
	runtime.KeepAlive(p.params)
	return p.w.drv.check("cuLaunchKernel", code)
}

// run launches once, from fresh contents, and waits.
func (p *prepared) run(n int, probing bool) error {
	if err := p.reset(probing); err != nil {
		return &launchError{n, err}
	}
	err := p.enqueue()
	if err == nil {
		err = p.w.drv.check("cuStreamSynchronize", p.w.drv.streamSync(p.w.stream))
	}
	if err != nil {
		return &launchError{n, err}
	}
	return nil
}

// launches answers a launch request.
func (w *worker) launches(in *incoming) (*launchResult, error) {
	op := in.Launch
	p, err := w.prepare(&op.Spec, in.buffers)
	defer p.close()
	if err != nil {
		return nil, err
	}
	l := &launching{prepared: p, id: in.id, out: &launchResult{}}
	w.printed.drop()
	if err := l.first(); err != nil {
		return nil, err
	}
	l.out.Printed = w.printed.take()
	defer l.closeGolden()
	if err := l.answer(op.Repeat > 1); err != nil {
		return nil, err
	}
	for n := 2; n <= op.Repeat; n++ {
		if err := l.again(n); err != nil {
			return nil, err
		}
	}
	return l.out, l.unwritten(max(op.Repeat, 1) + 1)
}

// launching is a launch request under way.
type launching struct {
	*prepared
	id      uint64
	out     *launchResult
	outputs [][]byte // of the first launch, by argument; nil where no output
	// golden: copies of the first launch's outputs and capture, where later launches are compared
	golden map[int]*deviceBuffer
}

// first launches once, timed.
func (l *launching) first() error {
	d := l.w.drv
	var start, stop uintptr
	for _, e := range []*uintptr{&start, &stop} {
		if err := d.check("cuEventCreate", d.eventCreate(e, 0)); err != nil {
			return err
		}
		defer func() { d.eventFree(*e) }()
	}
	if err := l.reset(false); err != nil {
		return &launchError{1, err}
	}
	for _, step := range []func() error{
		func() error { return d.check("cuEventRecord", d.eventRecord(start, l.w.stream)) },
		l.enqueue,
		func() error { return d.check("cuEventRecord", d.eventRecord(stop, l.w.stream)) },
		func() error { return d.check("cuStreamSynchronize", d.streamSync(l.w.stream)) },
	} {
		if err := step(); err != nil {
			return &launchError{1, err}
		}
	}
	var ms float32
	if err := d.check("cuEventElapsedTime", d.eventElapsed(&ms, start, stop)); err != nil {
		return err
	}
	l.out.Micros = float64(ms) * 1e3
	_, err := l.guards(1, nil)
	return err
}

// guards examines what launch n left: every band, and the buffers to be compared, of which it
// returns those that differ.
func (l *launching) guards(n int, compared []int) (differ []int, err error) {
	astray, differ, err := l.examine(compared)
	if err != nil {
		return nil, &launchError{n, err}
	}
	if astray {
		if err := l.overruns(n); err != nil {
			return nil, &launchError{n, err}
		}
	}
	return differ, l.w.step(l.id, "launch", n)
}

// overruns reads every band, notes what was written to it, and repairs it.
func (l *launching) overruns(n int) error {
	for i, b := range l.buffers {
		if b == nil {
			continue
		}
		found, err := l.w.checkGuards(i, b, n)
		if err != nil {
			return err
		}
		for _, o := range found {
			if !slices.ContainsFunc(l.out.Overruns, func(p overrun) bool {
				return p.Buffer == o.Buffer && p.After == o.After
			}) {
				l.out.Overruns = append(l.out.Overruns, o)
			}
		}
	}
	d := l.w.drv // the pattern itself may have been hit
	return d.check("cuMemcpyHtoD", d.copyIn(l.w.examiner.pattern, guardPattern, guardBytes))
}

// answer streams outputs and capture to the parent, and keeps copies on the device where they
// will be compared with.
func (l *launching) answer(keep bool) error {
	l.outputs, l.golden = make([][]byte, len(l.spec.Args)), map[int]*deviceBuffer{}
	for i, a := range l.spec.Args {
		if !a.Output {
			continue
		}
		var err error
		if l.outputs[i], err = l.w.fetch(l.buffers[i]); err != nil {
			return err
		}
		if err := l.w.out.data(i, l.id, l.outputs[i], func() error {
			return l.w.step(l.id, "read", 0)
		}); err != nil {
			return err
		}
		if keep {
			if err := l.keep(i); err != nil {
				return err
			}
		}
	}
	if l.capture < 0 {
		return nil
	}
	if keep {
		if err := l.keep(l.capture); err != nil {
			return err
		}
	}
	return l.w.streamOut(l.capture, l.id, l.buffers[l.capture])
}

// streamOut reads a buffer in chunks and sends each while the next one is being read.
func (w *worker) streamOut(stream int, id uint64, b *deviceBuffer) error {
	if w.chunks[0] == nil { // kept: memory that was never touched costs as much as the copy
		w.chunks = [2][]byte{make([]byte, chunkBytes), make([]byte, chunkBytes)}
	}
	chunks := w.chunks
	sent := join.Start(func() error { return nil })
	var failed error
	for at, i := int64(0), 0; at < b.bytes; i ^= 1 {
		n := min(b.bytes-at, chunkBytes)
		err := w.drv.check("cuMemcpyDtoH", w.drv.copyOut(chunks[i][:n], b.addr()+uint64(at), uint(n)))
		if failed = errors.Join(sent.Wait(), err); failed == nil && w.isCancelled(id) {
			failed = errCancelled
		}
		if failed != nil {
			return failed
		}
		chunk := chunks[i][:n]
		sent = join.Start(func() error { return w.out.write(frameData, uint16(stream), id, chunk) })
		at += n
	}
	return sent.Wait()
}

// unwritten counts the elements of each output that no launch wrote. An element that holds the
// bytes it started with was either not written or written with just those; one more launch, from
// other contents, decides.
func (l *launching) unwritten(n int) error {
	l.out.Unwritten = map[string]int{}
	suspect := false
	for i, a := range l.spec.Args {
		if a.Output && a.Probing {
			l.out.Unwritten[a.Name] = 0
			suspect = suspect || len(unchanged(l.outputs[i], l.before(i, false), a.Elem)) > 0
		}
	}
	if !suspect {
		return nil
	}
	if err := l.run(n, true); err != nil {
		return err
	}
	for i, a := range l.spec.Args {
		if !a.Output || !a.Probing {
			continue
		}
		again, err := l.w.fetch(l.buffers[i])
		if err != nil {
			return err
		}
		same := unchanged(again, l.before(i, true), a.Elem)
		for _, e := range unchanged(l.outputs[i], l.before(i, false), a.Elem) {
			if _, found := slices.BinarySearch(same, e); found {
				l.out.Unwritten[a.Name]++
			}
		}
	}
	return l.guardsQuietly(n)
}

// guardsQuietly repairs the bands after a launch that repeats what earlier ones have reported.
func (l *launching) guardsQuietly(n int) error {
	overruns := l.out.Overruns
	_, err := l.guards(n, nil)
	l.out.Overruns = overruns
	return err
}

// before is what output i holds before a launch.
func (l *launching) before(i int, probing bool) []byte {
	b := l.buffers[i]
	switch {
	case b.init != nil && probing:
		return complement(b.init)
	case b.init != nil:
		return b.init
	case probing:
		return bytes.Repeat([]byte{probingByte}, int(b.bytes))
	}
	return bytes.Repeat([]byte{unwrittenByte}, int(b.bytes))
}

// unchanged lists the elements whose bytes all equal those before.
func unchanged(after, before []byte, elem int) []int {
	var out []int
	elem = max(elem, 1)
	for i := 0; i+elem <= len(after); i += elem {
		if bytes.Equal(after[i:i+elem], before[i:i+elem]) {
			out = append(out, i/elem)
		}
	}
	return out
}
