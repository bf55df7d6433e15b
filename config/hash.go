package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// hashOf gives 16 hexadecimal digits of the SHA-256 of values in one canonical form. Only what the values mean is in it:
// not the order of map keys, not whether something empty is nil, and not the offset a time is written with.
func hashOf(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		canonical(h, reflect.ValueOf(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// canonical writes a value so that different values give different text: every text has its length before it.
func canonical(w io.Writer, v reflect.Value) {
	if v.IsValid() && v.Type() == reflect.TypeFor[time.Time]() {
		fmt.Fprintf(w, "t%d;", v.Interface().(time.Time).UnixNano())
		return
	}
	switch v.Kind() {
	case reflect.Invalid:
		fmt.Fprint(w, "-;")
	case reflect.Pointer:
		if v.IsNil() {
			fmt.Fprint(w, "-;")
			return
		}
		canonical(w, v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			canonical(w, field)
		}
	case reflect.Slice:
		fmt.Fprintf(w, "[%d;", v.Len())
		for i := range v.Len() {
			canonical(w, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		fmt.Fprintf(w, "{%d;", len(keys))
		for _, key := range keys {
			canonical(w, key)
			canonical(w, v.MapIndex(key))
		}
	case reflect.String:
		fmt.Fprintf(w, "%d:%s;", v.Len(), v.String())
	case reflect.Bool:
		fmt.Fprintf(w, "%t;", v.Bool())
	case reflect.Float64:
		fmt.Fprintf(w, "%x;", v.Float())
	default:
		fmt.Fprintf(w, "%d;", v.Int())
	}
}
