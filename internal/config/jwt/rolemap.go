package jwt

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/config/rulelines"
)

// rootUser logs in with a certificate only.
const rootUser = "root"

// roleMap says as which roles what a claim says may log in. Without lines, as the role of that name.
type roleMap []mapping

// mapping is a line: a text and a role, or a regular expression and a role with \1 for what its first group has found.
type mapping struct {
	text, role string
	re         *regexp.Regexp
}

// parseMap reads a map, of lines as in PostgreSQL's pg_ident.conf without the name of the map.
func parseMap(text string) (roleMap, error) {
	lines, err := rulelines.Split(text)
	if err != nil {
		return nil, err
	}
	var out roleMap
	for _, l := range lines {
		if len(l.Fields) != 2 || len(l.Fields[0]) != 1 || len(l.Fields[1]) != 1 {
			return nil, l.Errorf("%w", errors.New("a line has two fields: what the claim says, or /REGULAR-EXPRESSION for it, and the role"))
		}
		m := mapping{text: l.Fields[0][0].Text, role: l.Fields[1][0].Text}
		if expr, ok := strings.CutPrefix(m.text, "/"); ok {
			if m.re, err = regexp.Compile("^(?:" + expr + ")$"); err != nil {
				return nil, l.Errorf("%w", err)
			}
		}
		if m.role == rootUser {
			return nil, l.Errorf("%w", errors.New("root logs in with its certificate"))
		}
		if strings.Contains(m.role, `\1`) && (m.re == nil || m.re.NumSubexp() == 0) {
			return nil, l.Errorf("%w", errors.New(`\1 needs a regular expression with a group in parentheses`))
		}
		out = append(out, m)
	}
	return out, nil
}

// allows reports whether what a claim says may log in as a role.
func (m roleMap) allows(claim, role string) bool {
	return slices.Contains(m.roles(claim), role)
}

// roles returns the roles as which what a claim says may log in, in the order of the lines.
func (m roleMap) roles(claim string) (out []string) {
	if len(m) == 0 {
		out = append(out, claim)
	}
	for _, line := range m {
		if line.re == nil {
			if line.text == claim {
				out = append(out, line.role)
			}
			continue
		}
		found := line.re.FindStringSubmatch(claim)
		if found == nil {
			continue
		}
		role := line.role
		if len(found) > 1 {
			role = strings.ReplaceAll(role, `\1`, found[1])
		}
		out = append(out, role)
	}
	return slices.DeleteFunc(out, func(r string) bool { return r == rootUser || r == "" })
}
