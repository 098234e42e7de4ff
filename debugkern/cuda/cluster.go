package cuda

import (
	"errors"
	"runtime"
)

// portableCluster is how many blocks a cluster may have on every device that has clusters (CUDA C++
// Programming Guide, "Thread Block Clusters").
const portableCluster = 8

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block [3]uint32
	shared, _   uint32
	stream      uintptr
	attributes  *[2]launchAttribute
	n, _        uint32
}

// launchAttribute is CUlaunchAttribute: an id, and a union of 64 bytes.
type launchAttribute struct {
	id, _ uint32
	value [16]uint32
}

// CUlaunchAttributeID.
const (
	attributeCooperative = 2
	attributeCluster     = 4
)

var errNoClusters = errors.New("the driver cannot launch clusters: cuLaunchKernelEx is missing (CUDA 11.8 has it)")

// enqueueClusters is enqueue with the attribute of a cluster's blocks.
func (p *prepared) enqueueClusters() error {
	if p.w.drv.launchEx == nil {
		return errNoClusters
	}
	s := p.spec
	c := &launchConfig{
		shared: uint32(s.DynShared), stream: p.w.stream, attributes: &[2]launchAttribute{}, n: 1,
	}
	c.attributes[0].id = attributeCluster
	for i := range 3 {
		c.grid[i], c.block[i] = uint32(s.Dims[i]), uint32(s.Dims[3+i])
		c.attributes[0].value[i] = uint32(s.Cluster[i])
	}
	if s.Cooperative {
		c.attributes[1].id, c.attributes[1].value[0], c.n = attributeCooperative, 1, 2
	}
	code := p.w.drv.launchEx(c, p.kernel.fn, p.params, nil)
	runtime.KeepAlive(p.params)
	runtime.KeepAlive(c)
	return p.w.drv.check("cuLaunchKernelEx", code)
}
