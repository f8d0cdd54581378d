package privilege

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// letters are those of aclitem, by bit.
const letters = "arwdDxtXUCTcsA"

func bitsOf(s string) (privileges, options Bits) {
	last := Bits(0)
	for _, c := range s {
		if c == '*' {
			options |= last
			continue
		}
		last = 1 << strings.IndexRune(letters, c)
		privileges |= last
	}
	return privileges, options
}

func text(a ACL) string {
	var items []string
	for _, it := range a {
		s := name(it.Grantee) + "="
		for i := range letters {
			if it.Privileges>>i&1 != 0 {
				s += letters[i : i+1]
			}
			if it.Options>>i&1 != 0 {
				s += "*"
			}
		}
		items = append(items, s+"/"+name(it.Grantor))
	}
	return "{" + strings.Join(items, ",") + "}"
}

// name is the letter of a role: a is 1.
func name(r Role) string {
	if r == Public {
		return ""
	}
	return string(rune('a' + r - 1))
}

func role(s string) Role {
	if s == "public" {
		return Public
	}
	return Role(s[0]-'a') + 1
}

// script is the state of a test script: the list of an object that a owns.
type script struct {
	kind  Kind
	owner Role
	acl   ACL
}

// do runs one line: the new list, or why it is refused.
func (s *script) do(words []string) string {
	var err error
	next := s.acl.Or(s.kind, s.owner)
	switch words[0] {
	case "kind":
		s.kind, s.owner, s.acl = Kind(words[1][0]), role("a"), nil
		return text(s.acl.Or(s.kind, s.owner))
	case "grant": // grant GRANTOR GRANTEE PRIVILEGES
		p, o := bitsOf(words[3])
		next, err = next.Grant(s.owner, role(words[1]), role(words[2]), p, o)
	case "revoke", "option": // GRANTOR GRANTEE PRIVILEGES [cascade]
		p, _ := bitsOf(words[3])
		next, err = next.Revoke(s.owner, role(words[1]), role(words[2]), p, words[0] == "option", len(words) > 4)
	case "owner":
		next, s.owner = next.WithOwner(s.owner, role(words[1])), role(words[1])
	case "without":
		next = next.Without(s.owner, role(words[1]))
	case "mask": // mask ROLES PRIVILEGES
		want, _ := bitsOf(words[2])
		p, o := next.Mask(s.owner, func(r Role) bool { return strings.Contains(words[1], name(r)) }, want)
		return fmt.Sprintf("may %s; may grant %s", p, o)
	case "grantor": // grantor ROLES PRIVILEGES
		want, _ := bitsOf(words[2])
		var roles []Role
		for _, r := range words[1] {
			roles = append(roles, role(string(r)))
		}
		g, o := next.Grantor(s.owner, roles, want)
		return fmt.Sprintf("%s may grant %s", name(g), o)
	}
	if err != nil {
		return "ERROR: " + err.Error()
	}
	if s.acl = next; next.valid(s.owner) != "" {
		return text(next) + " INVALID: " + next.valid(s.owner)
	}
	return text(next)
}

// TestScripts runs the scripts of testdata: a line with a command, and one with what comes of it.
func TestScripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s script
		var out []string
		for line := range strings.Lines(string(b)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "" || line[0] == '#':
				out = append(out, line)
			case !strings.HasPrefix(line, "  "):
				out = append(out, line, "  "+s.do(strings.Fields(line)))
			}
		}
		got := strings.Join(out, "\n") + "\n"
		if os.Getenv("LICHEN_REWRITE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != string(b) {
			t.Errorf("%s:\n%s", file, got)
		}
	}
}

// members is a graph: for each role the roles that it is a member of, upper case with ADMIN OPTION; a
// role in noInherit does not inherit.
type members struct {
	of        map[Role]string
	noInherit string
}

func (m members) Inherits(r Role) bool { return !strings.Contains(m.noInherit, name(r)) }
func (m members) MemberOf(r Role) (list []Membership) {
	for _, c := range m.of[r] {
		s := string(c)
		list = append(list, Membership{Of: role(strings.ToLower(s)), Admin: strings.ToLower(s) != s})
	}
	return list
}

func TestMembership(t *testing.T) {
	g := members{of: map[Role]string{1: "bC", 2: "d", 4: "e"}, noInherit: "d"}
	if got := Roles(g, 1, false); !slices.Equal(got, []Role{1, 2, 3, 4, 5}) {
		t.Errorf("a is a member of %v", got)
	}
	if got := Roles(g, 1, true); !slices.Equal(got, []Role{1, 2, 3, 4}) {
		t.Errorf("a has the privileges of %v", got)
	}
	for _, c := range []struct {
		role, of Role
		want     bool
	}{{1, 3, true}, {1, 2, false}, {2, 3, false}} {
		if got := Administers(g, c.role, c.of); got != c.want {
			t.Errorf("%s administers %s: %v", name(c.role), name(c.of), got)
		}
	}
	if !Circular(g, 5, 1) || Circular(g, 1, 5) || !Circular(g, 1, 1) {
		t.Error("circles are not seen")
	}
}
