// Package rulelines reads the lines of rules that cluster settings hold, which have the form of PostgreSQL's pg_hba.conf:
// fields between blanks, lists between commas, double quotes, comments behind #.
//
// Above it: config/hba, config/identmap, config/jwt and config/audit, which say what the fields mean. It is a leaf.
package rulelines

import (
	"fmt"
	"strings"
)

// Limits of rules.
const (
	maxLines    = 1000
	maxTextSize = 256 << 10
)

// Name is a member of a list.
type Name struct {
	Text string
	// Quoted names have no other meaning.
	Quoted bool
}

// Line is a line with its number, from 1. Each of its fields has a member at least.
type Line struct {
	Number int
	Fields [][]Name
}

// Errorf returns an error about the line.
func (l *Line) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", l.Number, fmt.Errorf(format, args...))
}

// Split takes a text apart. It leaves out lines without fields. A line that ends with a backslash goes on in the next.
func Split(text string) ([]Line, error) {
	if len(text) > maxTextSize {
		return nil, fmt.Errorf("the rules are longer than %d bytes", maxTextSize)
	}
	var out []Line
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		l := Line{Number: i + 1}
		t := strings.TrimSuffix(lines[i], "\r")
		for strings.HasSuffix(t, "\\") && i+1 < len(lines) {
			i++
			t = t[:len(t)-1] + strings.TrimSuffix(lines[i], "\r")
		}
		var err error
		if l.Fields, err = split(t); err != nil {
			return nil, l.Errorf("%w", err)
		}
		if len(l.Fields) == 0 {
			continue
		}
		if out = append(out, l); len(out) > maxLines {
			return nil, l.Errorf("there are more than %d rules", maxLines)
		}
	}
	return out, nil
}

// split returns the fields of a line.
func split(line string) (fields [][]Name, err error) {
	var list []Name
	for {
		line = strings.TrimLeft(line, " \t\r\f\v")
		if line == "" || line[0] == '#' {
			if list != nil {
				return nil, fmt.Errorf("a name is missing behind a comma")
			}
			return fields, nil
		}
		var n Name
		if n, line, err = name(line); err != nil {
			return nil, err
		}
		list = append(list, n)
		if rest, more := strings.CutPrefix(line, ","); more {
			line = rest
			continue
		}
		fields, list = append(fields, list), nil
	}
}

// name reads a name at the beginning of a line.
func name(line string) (n Name, rest string, err error) {
	for line != "" && !strings.ContainsRune(" \t\r\f\v,#", rune(line[0])) {
		if line[0] != '"' {
			n.Text, line = n.Text+line[:1], line[1:]
			continue
		}
		quoted, after, closed := strings.Cut(line[1:], "\"")
		if !closed {
			return n, "", fmt.Errorf("a quote is not closed")
		}
		n.Quoted = true
		n.Text, line = n.Text+quoted, after
		if strings.HasPrefix(line, "\"") { // two within quotes stand for one
			n.Text += "\""
		}
	}
	switch {
	case n.Text == "" && !n.Quoted:
		return n, "", fmt.Errorf("a name is missing before a comma")
	case n.Text != "" && n.Text[0] == '@' && !n.Quoted:
		return n, "", fmt.Errorf("files of names (%s) are not supported", n.Text)
	}
	return n, line, nil
}
