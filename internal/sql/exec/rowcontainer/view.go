package rowcontainer

import "unsafe"

// viewString returns a string over b's memory, which must not change while the
// string is in use.
func viewString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// viewBytes returns s's memory, which must not be written.
func viewBytes(s string) []byte {
	if s == "" {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
