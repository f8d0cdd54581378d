package jwt

import (
	"errors"
	"regexp"
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
	if role == rootUser {
		return false
	}
	if len(m) == 0 {
		return claim == role
	}
	for _, line := range m {
		if line.re == nil {
			if line.text == claim && line.role == role {
				return true
			}
			continue
		}
		found := line.re.FindStringSubmatch(claim)
		if found == nil {
			continue
		}
		want := line.role
		if len(found) > 1 {
			want = strings.ReplaceAll(want, `\1`, found[1])
		}
		if want == role {
			return true
		}
	}
	return false
}
