package zone

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseConstraints reads constraints as SQL spells them: a list that holds for
// all replicas, [+region=eu, -zone=b], or how many replicas lie where,
// {"+region=eu,+zone=a": 1, "+region=us": 2}.
func ParseConstraints(text string) ([]Conjunction, error) {
	p := flow{text: text}
	out := []Conjunction{}
	if p.peek() == '{' {
		if err := p.counted(&out); err != nil {
			return nil, err
		}
		return out, p.end()
	}
	list, err := p.list()
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		out = append(out, Conjunction{Constraints: list})
	}
	return out, p.end()
}

// ParsePreferences reads where the leader should be, the best place first:
// [[+region=eu], [+region=us, +zone=a]].
func ParsePreferences(text string) ([][]Constraint, error) {
	p := flow{text: text}
	out := [][]Constraint{}
	err := p.sequence('[', ']', func() error {
		list, err := p.list()
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return errors.New("a preference is empty")
		case len(out) == MaxConstraints:
			return errTooMany()
		}
		out = append(out, list)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, p.end()
}

// ParseConstraint reads one constraint, +key=value or -key=value.
func ParseConstraint(s string) (Constraint, error) {
	var c Constraint
	rest, required := strings.CutPrefix(s, "+")
	if !required {
		if rest, c.Prohibited = strings.CutPrefix(s, "-"); !c.Prohibited {
			return c, fmt.Errorf("constraint %q must begin with + (required) or - (prohibited)", s)
		}
	}
	var ok bool
	if c.Key, c.Value, ok = strings.Cut(rest, "="); !ok {
		return c, fmt.Errorf("constraint %q must name a locality: +key=value or -key=value", s)
	}
	if err := checkTier(c.Key); err != nil {
		return c, fmt.Errorf("constraint %q: %w", s, err)
	}
	if err := checkTier(c.Value); err != nil {
		return c, fmt.Errorf("constraint %q: %w", s, err)
	}
	return c, nil
}

// checkTier refuses what could not be printed and read back, and what no
// locality can contain.
func checkTier(s string) error {
	switch {
	case s == "":
		return errors.New("key and value must not be empty")
	case len(s) > MaxTierLen:
		return fmt.Errorf("key and value must not be longer than %d bytes", MaxTierLen)
	}
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == 0xfffd || strings.ContainsRune(`[]{},:="'\`, r) {
			return fmt.Errorf("character %q is not allowed", r)
		}
	}
	return nil
}

func errTooMany() error { return fmt.Errorf("there are more than %d constraints", MaxConstraints) }

// flow reads the small common part of JSON and YAML that constraints are written
// in: lists and maps of words, which may be quoted.
type flow struct {
	text string
	pos  int
}

// peek returns the next character that is not blank, 0 at the end.
func (p *flow) peek() byte {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *flow) unexpected(want string) error {
	if p.peek() == 0 {
		return fmt.Errorf("expected %s at the end of %q", want, p.text)
	}
	return fmt.Errorf("expected %s at %q", want, p.text[p.pos:])
}

func (p *flow) expect(c byte) error {
	if p.peek() != c {
		return p.unexpected(strconv.QuoteRune(rune(c)))
	}
	p.pos++
	return nil
}

func (p *flow) end() error {
	if p.peek() != 0 {
		return p.unexpected("the end")
	}
	return nil
}

// sequence reads items between an opening and a closing character, with commas
// between.
func (p *flow) sequence(opening, closing byte, item func() error) error {
	if err := p.expect(opening); err != nil {
		return err
	}
	for first := true; p.peek() != closing; first = false {
		if !first {
			if err := p.expect(','); err != nil {
				return err
			}
		}
		if err := item(); err != nil {
			return err
		}
	}
	return p.expect(closing)
}

// word reads a word, quoted or up to the next character that has a meaning.
func (p *flow) word() (string, error) {
	c := p.peek()
	if c == '"' || c == '\'' {
		end := strings.IndexByte(p.text[p.pos+1:], c)
		if end < 0 {
			return "", fmt.Errorf("no closing %c in %q", c, p.text)
		}
		s := p.text[p.pos+1 : p.pos+1+end]
		p.pos += end + 2
		return s, nil
	}
	n := strings.IndexAny(p.text[p.pos:], "[]{},:\"' \t\r\n")
	if n < 0 {
		n = len(p.text) - p.pos
	}
	if n == 0 {
		return "", p.unexpected("a constraint")
	}
	s := p.text[p.pos : p.pos+n]
	p.pos += n
	return s, nil
}

// list reads [constraint, ...].
func (p *flow) list() ([]Constraint, error) {
	var out []Constraint
	err := p.sequence('[', ']', func() error {
		s, err := p.word()
		if err != nil {
			return err
		}
		c, err := ParseConstraint(s)
		if err != nil {
			return err
		}
		if len(out) == MaxConstraints {
			return errTooMany()
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// counted reads {"constraint,...": n, ...}. Without quotes YAML allows no comma.
func (p *flow) counted(out *[]Conjunction) error {
	return p.sequence('{', '}', func() error {
		s, err := p.word()
		if err != nil {
			return err
		}
		var c Conjunction
		for _, part := range strings.Split(s, ",") {
			x, err := ParseConstraint(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			if x.Prohibited {
				return fmt.Errorf("constraint %q can't be given a number of replicas: it prohibits", part)
			}
			c.Constraints = append(c.Constraints, x)
		}
		if err := p.expect(':'); err != nil {
			return err
		}
		n, err := p.word()
		if err != nil {
			return err
		}
		if c.NumReplicas, err = strconv.Atoi(n); err != nil || c.NumReplicas < 1 || c.NumReplicas > MaxReplicas {
			return fmt.Errorf("%q is not a number of replicas from 1 to %d", n, MaxReplicas)
		}
		if len(*out) == MaxConstraints || len(c.Constraints) > MaxConstraints {
			return errTooMany()
		}
		*out = append(*out, c)
		return nil
	})
}
