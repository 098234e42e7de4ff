package cuda

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"tilescope/debugkern/cache"
)

// ptxFormat changes whenever the same inputs give other PTX than before: what we do to a
// compiler's output included.
const ptxFormat = "ptx/3"

// key identifies a build by its content: source, every header handed over or found beside it, options, the
// compiler's version and the toolkit's headers.
func (t *Toolchain) key(b Build) cache.Key {
	return t.keyOf(b, closureOf(b, t.IncludeDirs))
}

func (t *Toolchain) keyOf(b Build, c closure) cache.Key {
	last := maps.Clone(standins())
	maps.Copy(last, b.Builtin)
	b.Builtin = last
	return buildKey(t.Compiler(), b, c, t.options(b, t.directories(b)), t.headers)
}

func buildKey(compiler string, b Build, c closure, options, headers []string) cache.Key {
	var h cache.Hasher
	h.Add(ptxFormat, compiler, b.Name, b.Source)
	h.List(options)
	h.List(headers)
	for _, texts := range []map[string]string{b.Headers, b.Builtin} {
		for _, name := range sortedKeys(texts) {
			h.Add(name, texts[name])
		}
		h.List(nil) // the end of the headers
	}
	c.add(&h, b)
	return h.Key()
}

// headerStamps distinguishes versions of the toolkit's headers without reading megabytes: where they are, the
// version that cuda.h gives, and size and time of those that kernels include.
func headerStamps(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		out = append(out, dir, headerVersion(dir))
		for _, name := range []string{
			"cuda.h", "cuda_runtime.h", "cuda_fp16.h", "cuda_fp16.hpp", "cuda_bf16.h", "cuda_bf16.hpp",
			"cuda_fp8.h", "mma.h", "crt/mma.h", "crt/mma.hpp",
		} {
			if st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
				out = append(out, fmt.Sprintf("%s %d %d", name, st.Size(), st.ModTime().UnixNano()))
			}
		}
	}
	return out
}

// cachedPTX returns a build of the cache, nil where it has none. overlay has the texts that stand for files.
func cachedPTX(c *cache.Cache, key cache.Key, overlay map[string]string) *PTX {
	data, ok := c.Get(key)
	if !ok {
		return nil
	}
	p := &PTX{}
	if json.Unmarshal(data, p) != nil || p.Text == "" {
		return nil // another version's: it will be written anew
	}
	// one that no include of the source led to, but the compiler's own search did
	for _, h := range p.Headers {
		if h.Origin != OriginOwn {
			continue
		}
		text, ok := overlay[h.Path]
		if !ok {
			data, err := readText(h.Path)
			if err != nil {
				return nil
			}
			text = string(data)
		}
		if NewHeader(h.Path, text, OriginOwn) != h {
			return nil
		}
	}
	p.Cached = true
	return p
}

func keepPTX(c *cache.Cache, key cache.Key, p *PTX) {
	if c.Max() == 0 {
		return
	}
	if data, err := json.Marshal(p); err == nil { // three strings: it cannot fail
		c.Put(key, data)
	}
}
