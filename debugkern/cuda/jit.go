package cuda

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"tilescope/debugkern/cache"
)

// jitRecord is what is remembered of the driver's compilation of a module. The driver keeps the code it has
// compiled in a cache of its own, and then says nothing of registers and spills; its log has to be stored
// next to it. The log must be of the very code that is loaded, so a module's text ends with a comment that no
// text before had (Salt): the first time the driver cannot have it, compiles, and logs; from then on the same
// text gives the same code from its cache, and the log is ours.
type jitRecord struct {
	Salt string `json:"salt"`
	Log  string `json:"log"`
}

func newJITRecord() jitRecord {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return jitRecord{Salt: hex.EncodeToString(b)}
}

// salted is the text as it is handed to the driver.
func (r jitRecord) salted(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(r.Salt)+16)
	out = append(append(out, text...), "\n// tilescope "...)
	return append(append(out, r.Salt...), '\n')
}

func (b *Backend) jitKey(text []byte) cache.Key {
	var h cache.Hasher
	h.Add("jit/1", b.device.Arch, b.driver, b.device.Name, string(text))
	return h.Key()
}

// recall returns what is remembered of a text on this device and driver, or a fresh record.
func (b *Backend) recall(text []byte) jitRecord {
	data, ok := b.cfg.Cache.Get(b.jitKey(text))
	var r jitRecord
	if !ok || json.Unmarshal(data, &r) != nil || r.Salt == "" || r.Log == "" {
		return newJITRecord()
	}
	return r
}

func (b *Backend) remember(text []byte, r jitRecord) {
	if data, err := json.Marshal(r); err == nil { // two strings: it cannot fail
		b.cfg.Cache.Put(b.jitKey(text), data)
	}
}
