package types

import "strings"

// RawMember is a member of a json object, or an element of an array, as text.
type RawMember struct {
	Key   string // of an object's member
	Value string
}

// SplitJSON takes apart the outermost level of valid JSON text: members in the
// order written, repeated keys among them. For a scalar there are none.
func SplitJSON(s string, fc *FormatContext) (JSONKind, []RawMember, error) {
	var out []RawMember
	err := EachJSONMember(s, fc, func(m RawMember) bool {
		out = append(out, m)
		return true
	})
	return RawJSONKind(s), out, err
}

// EachJSONMember calls f for what SplitJSON returns, for as long as it returns true.
func EachJSONMember(s string, fc *FormatContext, f func(RawMember) bool) error {
	s = strings.Trim(s, " \t\n\r")
	kind := rawKind(s)
	if kind != KindArray && kind != KindObject {
		return nil
	}
	body := s[1 : len(s)-1]
	for i := skipJSONSpace(body, 0); i < len(body); {
		var m RawMember
		if kind == KindObject {
			end := skipJSONString(body, i)
			key, err := ParseJSON(body[i:end], fc)
			if err != nil {
				return err
			}
			m.Key = key.Str
			i = skipJSONSpace(body, skipJSONSpace(body, end)+1) // past the colon
		}
		end := skipJSONValue(body, i)
		m.Value = body[i:end]
		if err := fc.CountSteps(1 + len(m.Value)/8); err != nil || !f(m) {
			return err
		}
		i = skipJSONSpace(body, skipJSONSpace(body, end)+1) // past the comma
	}
	return nil
}

// RawJSONKind returns the kind of valid JSON text.
func RawJSONKind(s string) JSONKind { return rawKind(strings.TrimLeft(s, " \t\n\r")) }

func rawKind(s string) JSONKind {
	if s == "" {
		return KindNull
	}
	switch s[0] {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindString
	case 't', 'f':
		return KindBool
	case 'n':
		return KindNull
	}
	return KindNumber
}

func skipJSONSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\n\r", s[i]) >= 0 {
		i++
	}
	return i
}

// skipJSONString returns where the string that begins at i ends.
func skipJSONString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// skipJSONValue returns where the value that begins at i ends.
func skipJSONValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			i = skipJSONString(s, i)
			if depth == 0 {
				return i
			}
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && strings.IndexByte(", \t\n\r", c) >= 0:
			return i
		}
		i++
	}
	return i
}
