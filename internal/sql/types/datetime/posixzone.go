package datetime

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ascii"
)

// maxZoneSeconds bounds the offset in a POSIX zone: 167 hours and a bit.
const maxZoneSeconds = 168 * 3600

// defaultDSTRule is when daylight saving applies if a specification with a
// daylight name does not say.
const defaultDSTRule = ",M3.2.0,M11.1.0"

// dstRule is the part of a POSIX zone that says when daylight saving applies.
var dstRule = regexp.MustCompile(`^(,(J?\d{1,3}|M\d{1,2}\.[1-5]\.[0-6])(/[+-]?\d{1,3}(:\d\d){0,2})?){2}$`)

// parsePosixZone reads a POSIX zone: a name (in angle brackets if it has
// digits or signs), the offset west of Greenwich, and perhaps a daylight name,
// offset and rule. The location's name is the whole specification, its
// abbreviations are the names in it.
func parsePosixZone(spec string) (*time.Location, bool) {
	std, rest, ok := posixName(spec)
	if !ok {
		return nil, false
	}
	west, rest, ok := posixOffset(rest)
	if !ok {
		return nil, false
	}
	footer := ""
	if rest != "" {
		if footer, ok = posixDST(std, west, rest); !ok {
			return nil, false
		}
	}
	loc, err := time.LoadLocationFromTZData(spec, zoneData(std, -west, footer))
	return loc, err == nil
}

// posixDST returns the specification of a zone with daylight saving as the
// footer of zone data.
func posixDST(std string, west int, rest string) (string, bool) {
	dst, rest, ok := posixName(rest)
	if !ok || dst == "" {
		return "", false
	}
	offset := ""
	if rest != "" && rest[0] != ',' {
		n := 0
		if n, rest, ok = posixOffset(rest); !ok {
			return "", false
		}
		offset = string(appendZone(nil, n))
	}
	if rest == "" {
		rest = defaultDSTRule
	}
	if !dstRule.MatchString(rest) {
		return "", false
	}
	return "<" + std + ">" + string(appendZone(nil, west)) + "<" + dst + ">" + offset + rest, true
}

func posixName(s string) (name, rest string, ok bool) {
	if strings.HasPrefix(s, "<") {
		name, rest, ok = strings.Cut(s[1:], ">")
		return name, rest, ok
	}
	i := 0
	for i < len(s) && !ascii.IsDigit(s[i]) && s[i] != ',' && s[i] != '-' && s[i] != '+' {
		if s[i] == '>' || s[i] == '\n' || s[i] == 0 {
			return "", "", false
		}
		i++
	}
	return s[:i], s[i:], true
}

// posixOffset reads [+-]h[h][:mm[:ss]] in seconds, west positive.
func posixOffset(s string) (west int, rest string, ok bool) {
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	for i, unit := range []int{3600, 60, 1} {
		if i > 0 {
			if s == "" || s[0] != ':' {
				break
			}
			s = s[1:]
		}
		end := 0
		for end < len(s) && ascii.IsDigit(s[end]) {
			end++
		}
		n, err := strconv.Atoi(s[:end])
		if err != nil || end > 3 || i > 0 && n > 59 {
			return 0, "", false
		}
		west += n * unit
		s = s[end:]
	}
	return sign * west, s, west < maxZoneSeconds
}

// zoneData returns the contents of a time zone file (RFC 8536, version 2) with
// one offset, and a footer for what changes.
func zoneData(abbrev string, east int, footer string) []byte {
	header := func(b []byte, zones, chars uint32) []byte {
		b = append(b, "TZif2"...)
		b = append(b, make([]byte, 15+4*4)...) // reserved; no transitions or leap seconds
		b = binary.BigEndian.AppendUint32(b, zones)
		return binary.BigEndian.AppendUint32(b, chars)
	}
	b := header(nil, 0, 0) // the version 1 block, which is skipped
	b = header(b, 1, uint32(len(abbrev)+1))
	b = binary.BigEndian.AppendUint32(b, uint32(int32(east)))
	b = append(b, 0, 0) // not daylight saving; abbreviation at 0
	b = append(b, abbrev...)
	b = append(b, 0)
	return append(append(append(b, '\n'), footer...), '\n')
}
