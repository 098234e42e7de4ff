package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tilescope/debugkern/cuda"
	"tilescope/kernels"
)

// compare compares the archive in the tree with the plan, and builds that are compiled anew with their PTX in
// the archive: every one of them, or of an oneIn above 1 a sample.
func compare(ctx context.Context, out io.Writer, tc *cuda.Toolchain, jobs []job, oneIn int) error {
	start := time.Now()
	data, err := os.ReadFile(archivePath)
	if err != nil {
		return err
	}
	have, err := kernels.ReadArchive(data)
	if err != nil {
		return fmt.Errorf("%s: %w", archivePath, err)
	}
	if err := asPlanned(have, jobs); err != nil {
		return err
	}
	compared, of := jobs, "all"
	if oneIn > 1 {
		compared = sample(jobs, sha256.Sum256(data), oneIn)
		of = fmt.Sprintf(
			"one in %d, and each kernel under each gate with and without probes; make archive compares all",
			oneIn)
	}
	texts, err := build(ctx, tc, compared, nil)
	if err != nil {
		return err
	}
	for i, j := range compared {
		e, _, err := have.Find(j.key)
		if err != nil {
			return fmt.Errorf("%s: %w", archivePath, err)
		}
		if texts[i] != string(e.PTX) {
			return fmt.Errorf("%s: %s is not what %s compiles: remove the archive and run make ptx",
				archivePath, j.key, pinned)
		}
	}
	if oneIn == 1 {
		if err := asPacked(data, jobs, texts); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s: %d of %d builds compiled and compared (%s), %.1f s\n", archivePath, len(compared),
		len(jobs), of, time.Since(start).Seconds())
	return nil
}

// asPlanned compares all of an archive that needs no compiler: what it was built by, which builds it has, in
// which order, and of which texts.
func asPlanned(have *kernels.Archive, jobs []job) error {
	if options := cuda.Options(arch); have.Compiler() != pinned || !slices.Equal(have.Options(), options) {
		return fmt.Errorf("%s was built by %s with %v, not by %s with %v: run make ptx", archivePath,
			have.Compiler(), have.Options(), pinned, options)
	}
	for _, j := range jobs {
		switch digest, ok := have.Digest(j.key); {
		case !ok:
			return fmt.Errorf("%s lacks %s: run make ptx", archivePath, j.key)
		case digest != j.inputs.Digest():
			return fmt.Errorf("%s: %s is out of date: run make ptx", archivePath, j.key)
		}
	}
	planned := func(k kernels.Key, j job) int { return strings.Compare(k.String(), j.key.String()) }
	if slices.CompareFunc(have.Keys(), jobs, planned) != 0 {
		return fmt.Errorf(
			"%s holds builds that the catalogue does not ask for, or another order: run make ptx",
			archivePath)
	}
	return nil
}

// asPacked compares the archive's bytes with those that ptxgen writes of the same builds.
func asPacked(have []byte, jobs []job, texts []string) error {
	w, err := pack(jobs, texts)
	if err != nil {
		return err
	}
	want, err := w.Bytes()
	if err != nil {
		return err
	}
	if string(have) != string(want) {
		return fmt.Errorf("%s has the right builds, packed in another way: remove it and run make ptx",
			archivePath)
	}
	return nil
}

// sample picks about one of oneIn jobs by a hash of seed and key, and of each kernel under each gate, with
// and without probes, at least one. It is the same on every machine, and another for another seed.
func sample(jobs []job, seed [sha256.Size]byte, oneIn int) []job {
	rank := make([]uint64, len(jobs))
	lowest := map[string]int{} // group → the job of it with the lowest rank
	for i, j := range jobs {
		h := sha256.Sum256(append(seed[:], j.key.String()...))
		rank[i] = binary.LittleEndian.Uint64(h[:])
		group := j.group()
		if at, ok := lowest[group]; !ok || rank[i] < rank[at] {
			lowest[group] = i
		}
	}
	var out []job
	for i, j := range jobs {
		if rank[i]%uint64(oneIn) == 0 || lowest[j.group()] == i {
			out = append(out, j)
		}
	}
	return out
}

// group names the kind of build of which a sample has at least one.
func (j job) group() string {
	return fmt.Sprintf("%s %s probes=%t", j.key.Kernel, j.gate, slices.Contains(j.key.Defines, instrumented))
}
