package rewrite

import "strings"

// casts are, for a type of integers, those that a conversion to it may have to be to: of the same width, and
// of others.
var casts = map[string][]string{
	"unsigned char":  {"signed char", "unsigned short", "unsigned"},
	"signed char":    {"unsigned char", "short", "int"},
	"char":           {"unsigned char", "short", "int"},
	"unsigned short": {"short", "unsigned", "unsigned char"},
	"short":          {"unsigned short", "int", "signed char"},
	"unsigned":       {"int", "unsigned short", "size_t"},
	"int":            {"unsigned", "short", "long long"},
	"size_t":         {"int", "unsigned"},
	"long long":      {"int", "size_t"},
}

// sameType are the spellings of a type in casts.
var sameType = map[string]string{
	"int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
	"int32_t": "int", "uint32_t": "unsigned", "unsigned int": "unsigned", "int64_t": "long long",
}

// otherCast lists a conversion of an integer to another type: of another sign, wider or narrower. f is what
// is called: static_cast<T>.
func (l *lister) otherCast(f *expr) {
	const cast = "static_cast<"
	typ, ok := strings.CutPrefix(l.t.source(f.from, f.to), cast)
	if !ok {
		return
	}
	typ = strings.TrimSuffix(typ, ">")
	if as := sameType[typ]; as != "" {
		typ = as
	}
	for i, now := range casts[typ] {
		l.put(rankCast+i, f.from, f.to, cast+now+">")
	}
}
