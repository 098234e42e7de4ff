package cuda

import (
	"fmt"
	"time"
)

// progressEvery is how often a long measurement says that it is alive.
const progressEvery = 50 * time.Millisecond

// timing is a measurement under way.
type timing struct {
	w        *worker
	id       uint64
	runs     []*prepared
	flush    *deviceBuffer
	reported time.Time
	start    [][]uintptr // events by run and launch
	stop     [][]uintptr
}

// time answers a timing request: microseconds by run and launch.
func (w *worker) time(in *incoming) ([][]float64, error) {
	op := in.Time
	t := &timing{w: w, id: in.id, reported: time.Now()}
	defer t.close()
	for i := range op.Specs {
		p, err := w.prepare(&op.Specs[i], in.buffers)
		t.runs = append(t.runs, p)
		if err != nil {
			return nil, err
		}
		if err := p.reset(false); err != nil {
			return nil, err
		}
	}
	if op.FlushL2 {
		var err error
		if t.flush, err = w.allocate(int64(2 * w.dev.L2)); err != nil {
			return nil, err
		}
	}
	for n := range op.Warmups {
		for _, p := range t.runs {
			if err := t.launch(p, n+1); err != nil {
				return nil, err
			}
		}
	}
	if err := t.measure(op.Warmups, op.Launches); err != nil {
		return nil, err
	}
	return t.collect(op.Warmups, op.Launches)
}

// launch enqueues one launch, and now and then says so.
func (t *timing) launch(p *prepared, n int) error {
	if t.flush != nil {
		if err := t.w.drv.check("cuMemsetD8Async", t.w.drv.set8Async(t.flush.addr(), byte(n),
			uint(t.flush.bytes), t.w.stream)); err != nil {
			return err
		}
	}
	if err := p.enqueue(); err != nil {
		return &launchError{n, err}
	}
	return t.progress(n)
}

// progress reports the n-th launch, at most every progressEvery.
func (t *timing) progress(n int) error {
	if time.Since(t.reported) < progressEvery && n > 1 {
		return nil
	}
	t.reported = time.Now()
	return t.w.step(t.id, "time", n)
}

// measure enqueues the launches that count, each between two events.
func (t *timing) measure(warmups, launches int) error {
	d := t.w.drv
	t.start, t.stop = make([][]uintptr, len(t.runs)), make([][]uintptr, len(t.runs))
	for n := range launches {
		for i, p := range t.runs {
			var start, stop uintptr
			if err := d.check("cuEventCreate", d.eventCreate(&start, 0)); err != nil {
				return err
			}
			t.start[i] = append(t.start[i], start)
			if err := d.check("cuEventCreate", d.eventCreate(&stop, 0)); err != nil {
				return err
			}
			t.stop[i] = append(t.stop[i], stop)
			if t.flush != nil {
				if err := d.check("cuMemsetD8Async", d.set8Async(t.flush.addr(), byte(n), uint(t.flush.bytes),
					t.w.stream)); err != nil {
					return err
				}
			}
			err := d.check("cuEventRecord", d.eventRecord(start, t.w.stream))
			if err == nil {
				err = p.enqueue()
			}
			if err == nil {
				err = d.check("cuEventRecord", d.eventRecord(stop, t.w.stream))
			}
			if err != nil {
				return &launchError{warmups + n + 1, err}
			}
			if err := t.progress(warmups + n + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect waits for the launches one by one.
func (t *timing) collect(warmups, launches int) ([][]float64, error) {
	d := t.w.drv
	out := make([][]float64, len(t.runs))
	for n := range launches {
		for i := range t.runs {
			if err := d.check("cuEventSynchronize", d.eventSync(t.stop[i][n])); err != nil {
				return nil, &launchError{warmups + n + 1, err}
			}
			var ms float32
			if err := d.check("cuEventElapsedTime", d.eventElapsed(&ms, t.start[i][n],
				t.stop[i][n])); err != nil {
				return nil, fmt.Errorf("launch %d: %w", warmups+n+1, err)
			}
			out[i] = append(out[i], float64(ms)*1e3)
			if err := t.progress(warmups + n + 1); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// close frees the events and gives the buffers back, with whole guard bands.
func (t *timing) close() {
	d := t.w.drv
	d.streamSync(t.w.stream)
	for _, events := range append(t.start, t.stop...) {
		for _, e := range events {
			d.eventFree(e)
		}
	}
	for _, p := range t.runs {
		for i, b := range p.buffers {
			if b != nil {
				t.w.checkGuards(i, b, 0) // repairs; what a launch overruns is for launches to report
			}
		}
		p.close()
	}
	if t.flush != nil {
		t.w.release([]*deviceBuffer{t.flush})
	}
}
