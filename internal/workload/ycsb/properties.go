package ycsb

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Properties are YCSB's properties by name.
type Properties map[string]string

// LoadFile adds the properties of a Java properties file, which override those
// already there.
func (p Properties) LoadFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := p.parse(string(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Set adds a property given as name=value.
func (p Properties) Set(assignment string) error {
	k, v, ok := strings.Cut(assignment, "=")
	if !ok || strings.TrimSpace(k) == "" {
		return fmt.Errorf("invalid property %q: give name=value", assignment)
	}
	p[strings.TrimSpace(k)] = strings.TrimSpace(v)
	return nil
}

// parse reads the format of java.util.Properties: comments with # or !, names that
// end at =, : or white space, lines continued by a backslash, escapes.
func (p Properties) parse(text string) error {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		number := i + 1
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) {
			line = line[:len(line)-1]
			if i+1 < len(lines) {
				i++
				line += strings.TrimLeft(lines[i], " \t\f")
			}
		}
		k, v := splitProperty(line)
		key, err := unescape(k)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		value, err := unescape(v)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		p[key] = strings.TrimRight(value, " \t")
	}
	return nil
}

// continued reports whether the line ends with an odd number of backslashes.
func continued(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], value
}

func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 >= len(s) {
				return "", fmt.Errorf(`malformed \u escape in %q`, s)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return "", fmt.Errorf(`malformed \u escape in %q`, s)
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
