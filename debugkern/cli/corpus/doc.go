// Package corpus has kernels as people write them, and tests that `tilescope check` says what is true of
// each: the kernel as it stands is clean and computes what NumPy computes, and with one defect planted the
// defect is found, by its kind and at its line.
//
// The one idea: a kernel is one file of testdata, CUDA or PTX that Triton compiled, and says itself how it is
// launched, how exact its results must be, what the defect is and where it must be found:
//
//	// tilescope: --grid 4 --block 256 --arg x=randn:f32[1000] …      options of check
//	// tolerance: 1e-6        largest error of a result, over the largest value of its array; without this line results are exact
//	    __syncthreads();      // bug: the text that takes the line's place, here none
//	    s[t] += s[t + d];     // found: race
//
// The right results are in testdata/expected.npz, which testdata/expected.py makes with NumPy. TestSample
// checks some kernels from PTX that is stored in testdata/sample.zip, and the Triton kernels; TestSweep
// compiles and checks them all, and needs NVRTC (`make sweep`).
//
// Everything is in the tests. The package must not know how check works inside: it sees arguments,
// documents and archives.
package corpus
