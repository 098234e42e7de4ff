package hostrun

// What a program asks the device for depends on which one it is. So that a launch with such sizes can be
// made, one is assumed: a small one, as a kernel whose grid depends on the device takes any.
const (
	// Multiprocessors is how many the assumed device has, BlocksOfEach how many blocks of BlockThreads
	// threads are on one at a time.
	Multiprocessors = 4
	BlocksOfEach    = 2
	BlockThreads    = 256
)

// deviceProperties is cudaDeviceProp, by the members that are assumed: others are unknown.
var deviceProperties = &ctype{form: formStruct, name: "cudaDeviceProp", size: 1024, align: 8, fields: []field{
	{name: "multiProcessorCount", kind: intType}, {name: "warpSize", kind: intType, at: 4},
	{name: "maxThreadsPerBlock", kind: intType, at: 8},
	{name: "maxThreadsPerMultiProcessor", kind: intType, at: 12},
}}

// assume notes an integer that is the assumed device's where an argument points to.
func (x *execution) assume(to *node, n int64) {
	p := x.value(to)
	if p.object == nil || p.kind == nil || p.kind.elem == nil || p.kind.elem.form != formInt {
		return
	}
	x.assumed = true
	p.object.store(p.at, integerValue(p.kind.elem, n))
}

// blockSize is cudaOccupancyMaxPotentialBlockSize: the grid that fills the device, and its block.
func (x *execution) blockSize(args []*node) value {
	if len(args) < 3 {
		return success
	}
	block := int64(BlockThreads)
	if len(args) > 4 {
		if most := x.value(args[4]); most.state == known && most.i > 0 {
			block = min(block, most.i)
		}
	}
	x.assume(args[0], Multiprocessors*BlocksOfEach)
	x.assume(args[1], block)
	return success
}

// activeBlocks is cudaOccupancyMaxActiveBlocksPerMultiprocessor.
func (x *execution) activeBlocks(args []*node) value {
	if len(args) > 1 {
		x.assume(args[0], BlocksOfEach)
	}
	return success
}

// deviceAttribute is cudaDeviceGetAttribute.
func (x *execution) deviceAttribute(args []*node) value {
	if len(args) < 2 {
		return success
	}
	known := map[string]int64{"cudaDevAttrMultiProcessorCount": Multiprocessors, "cudaDevAttrWarpSize": 32,
		"cudaDevAttrMaxThreadsPerBlock": 1024}
	if n, ok := known[args[1].text]; ok {
		x.assume(args[0], n)
	} else {
		x.unknownCall("", args[:1])
	}
	return success
}

// properties is cudaGetDeviceProperties.
func (x *execution) properties(args []*node) value {
	if len(args) < 1 {
		return success
	}
	p := x.value(args[0])
	if p.object == nil || p.kind == nil || p.kind.elem != deviceProperties {
		return success
	}
	of := p.object.load(p.at)
	if of.object == nil {
		return success
	}
	x.assumed = true
	for i, n := range []int64{Multiprocessors, 32, 1024, 1024} {
		of.object.slots[i] = integerValue(intType, n)
	}
	return success
}
