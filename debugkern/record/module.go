package record

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tilescope/debugkern/fatbin"
	"tilescope/debugkern/file"
	"tilescope/debugkern/report"
)

// Most bytes that are read of an image, and of a library's device code.
const (
	maxImage   = 1 << 30
	maxLibrary = 4 << 30
)

// NoPTX is a kernel of which only machine code was loaded.
type NoPTX struct {
	Kernel, Library string
	Arch            int // 90 for sm_90
}

func (e *NoPTX) Error() string {
	from := "a cubin that the program loads from memory"
	if e.Library != "" {
		from = filepath.Base(e.Library)
	}
	return fmt.Sprintf("%s: no PTX: %s has machine code alone, which is not executed here. "+
		"What would help: a build with PTX (nvcc: -gencode arch=compute_%d,code=compute_%d; an extension of "+
		"PyTorch: TORCH_CUDA_ARCH_LIST=%d.%d+PTX; CuTe DSL: CUTE_DSL_KEEP_PTX=1 CUTE_DSL_KEEP_CUBIN=1); "+
		"cuDNN and cuBLAS have none, so that another implementation has to be chosen%s",
		e.Kernel, from, e.Arch, e.Arch, e.Arch/10, e.Arch%10, e.choice())
}

// choice is how another implementation of the kernel's function is chosen, where that is known.
func (e *NoPTX) choice() string {
	name := strings.ToLower(e.Kernel)
	if strings.Contains(name, "sdpa") || strings.Contains(name, "flash") || strings.Contains(name, "fmha") {
		return ", for attention one in Triton, such as torch.nn.attention.flex_attention under torch.compile"
	}
	return ""
}

// module returns the PTX that a launch's kernel was compiled from, and who compiled it: triton, cute or "".
func (r *Recording) module(ctx context.Context) (text []byte, origin string, err error) {
	l := r.Launch
	if l.Image == "" {
		return nil, "", failedf("%s: the load of its module was not observed", l.Kernel)
	}
	image, err := file.Read(ctx, l.Image, maxImage, file.Want{What: "a module's image"})
	if err != nil {
		return nil, "", err
	}
	missing := &NoPTX{Kernel: l.Kernel, Library: l.Library, Arch: l.Arch}
	switch {
	case fatbin.Is(image):
		images, err := fatbin.Read(image)
		if err != nil {
			return nil, "", failedf("the fatbin of %s: %w", l.Kernel, err)
		}
		if text := ptxOf(images, l.Kernel); text != nil {
			return text, "", nil
		}
		for _, m := range images {
			if m.Kind == fatbin.Cubin && (m.Arch == l.Arch || !bytes.HasPrefix(image, []byte(elf.ELFMAG))) {
				image = m.Data
			}
		}
	case !bytes.HasPrefix(image, []byte(elf.ELFMAG)):
		return bytes.TrimRight(image, "\x00"), "", nil
	}
	if text, origin := compiled(ctx, image, l.Kernel); text != nil {
		return text, origin, nil
	}
	if text, err := inLibrary(ctx, l.Library, image, l.Kernel); text != nil || err != nil {
		return text, "", err
	}
	return nil, "", &report.Error{Code: report.CodeFailed, Err: missing}
}

// ptxOf is the PTX that has a kernel, of those for the newest architecture; nil where none has it.
func ptxOf(images []fatbin.Image, kernel string) []byte {
	var best *fatbin.Image
	for i := range images {
		m := &images[i]
		if m.Kind == fatbin.PTX && declares(m.Data, kernel) && (best == nil || m.Arch > best.Arch) {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	return best.Data
}

// declares reports whether a PTX text has a kernel.
func declares(text []byte, kernel string) bool {
	return regexp.MustCompile(`\.entry\s+` + regexp.QuoteMeta(kernel) + `\s*\(`).Match(text)
}

// compiled looks for a cubin in the caches and dumps of compilers that pass cubins to the driver: Triton
// writes NAME.cubin and NAME.ptx into one folder of its cache, CuTe DSL both into its dump folder where it is
// asked to.
func compiled(ctx context.Context, cubin []byte, kernel string) ([]byte, string) {
	places := map[string]string{
		"triton": os.Getenv("TRITON_CACHE_DIR"), "cute": os.Getenv("CUTE_DSL_DUMP_DIR"),
	}
	if home, err := os.UserHomeDir(); err == nil && places["triton"] == "" {
		places["triton"] = filepath.Join(home, ".triton", "cache")
	}
	for origin, dir := range places {
		if dir == "" {
			continue
		}
		for _, depth := range []string{"*", filepath.Join("*", "*")} {
			found, err := filepath.Glob(filepath.Join(dir, depth+".cubin"))
			if err != nil {
				continue // a folder whose name is no pattern
			}
			for _, path := range found {
				if text := sibling(ctx, path, cubin, kernel); text != nil {
					return text, origin
				}
			}
		}
	}
	return nil, ""
}

// sibling is the PTX next to a file that has the same bytes as a cubin.
func sibling(ctx context.Context, path string, cubin []byte, kernel string) []byte {
	if info, err := os.Stat(path); err != nil || info.Size() != int64(len(cubin)) {
		return nil
	}
	same, err := file.Read(ctx, path, maxImage, file.Want{What: "a cubin"})
	if err != nil || !bytes.Equal(same, cubin) {
		return nil
	}
	text, err := file.Read(ctx, strings.TrimSuffix(path, ".cubin")+".ptx", maxImage, file.Want{What: "PTX"})
	if err != nil || !declares(text, kernel) {
		return nil
	}
	return text
}

// fatbinSection is the section of a program or library that has its fatbins.
const fatbinSection = ".nv_fatbin"

// inLibrary looks for the fatbin that a cubin is from in the library that it lies in: the runtime may pass
// the image that it chose, without the PTX next to it.
func inLibrary(ctx context.Context, library string, cubin []byte, kernel string) ([]byte, error) {
	if library == "" {
		return nil, nil
	}
	f, err := elf.Open(library)
	if err != nil {
		return nil, nil // no library: the image lies elsewhere
	}
	defer f.Close()
	section := f.Section(fatbinSection)
	if section == nil || section.Size > maxLibrary {
		return nil, nil
	}
	data, err := section.Data()
	if err != nil {
		return nil, failedf("%s: section %s: %w", library, fatbinSection, err)
	}
	for at := 0; at < len(data); {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		n := fatbin.Size(data[at:])
		if n == 0 {
			at += 8 // containers are aligned
			continue
		}
		images, err := fatbin.Read(data[at : at+n])
		at += n
		if err != nil {
			continue // of another version; the one that is looked for may follow
		}
		for _, m := range images {
			if m.Kind == fatbin.Cubin && bytes.HasPrefix(m.Data, bytes.TrimRight(cubin, "\x00")) {
				return ptxOf(images, kernel), nil
			}
		}
	}
	return nil, nil
}
