package audit

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"all all all", ""},
		{"# nothing\n\n  a,+b, \"all\"  t,s.t,d.s.*  read, ddl # end", ""},
		{"all all", "line 1: a rule has three fields"},
		{"all all read write", "line 1: a rule has three fields"},
		{"\nall a.b.c.d read", `line 2: "a.b.c.d" is no relation`},
		{"all a..c read", `line 1: "a..c" is no relation`},
		{"all all select", `line 1: "select" is no action`},
		{"all all none,read", `line 1: "none" is no action`},
		{"all all read,", "line 1: a name is missing behind a comma"},
		{`"all all read`, "line 1: a quote is not closed"},
	} {
		_, err := Parse(c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%q: %v; want %q", c.text, err, c.want)
		}
	}
}

func TestTold(t *testing.T) {
	rules, err := Parse(`
backup        all              none
+contractors  all              all
all           bank.*.accounts  read,write
all           log.entries      write
"all"         all              role
all           all              ddl`)
	if err != nil {
		t.Fatal(err)
	}
	accounts, entries := Relation{"bank", "public", "accounts"}, Relation{"bank", "log", "entries"}
	for _, c := range []struct {
		user string
		on   Relation
		do   Actions
		want string
	}{
		{"backup", accounts, All, ""},
		{"eve", accounts, All, "read,write,ddl,role,denied"},
		{"eve", Relation{}, Denied, "denied"},
		{"ann", accounts, Denied, ""},
		{"ann", accounts, All, "read,write"},
		{"ann", accounts, Read | DDL, "read"},
		{"ann", Relation{"other", "public", "accounts"}, All, "ddl"},
		{"ann", entries, Read, ""},
		{"ann", entries, Write, "write"},
		{"ann", Relation{}, All, "ddl"},
		{"all", Relation{}, All, "role"},
	} {
		u := &User{Name: c.user, MemberOf: func(role string) bool { return role == c.user || c.user == "eve" && role == "contractors" }}
		if got := rules.Told(u, c.on, c.do).String(); got != c.want {
			t.Errorf("%s, %v, %v: %q is told; want %q", c.user, c.on, c.do, got, c.want)
		}
	}
	if got := Rules(nil).Told(&User{Name: "ann"}, accounts, All); got != None {
		t.Errorf("without rules %v is told", got)
	}
}
