package identmap

import (
	"strings"
	"testing"
)

// TestParse: what can't be read is refused with its line.
func TestParse(t *testing.T) {
	maps, err := Parse("# MAPNAME SYSTEM-USERNAME PG-USERNAME\n\nops  \"Ann Smith\"  ann\nops /^(.*)@corp\\.example$ \\1 # by mail")
	if err != nil || len(maps) != 2 || maps[0].Line != 3 || maps[0].System != "Ann Smith" || maps[1].Line != 4 || maps[1].Role != `\1` {
		t.Errorf("%+v, %v", maps, err)
	}
	for text, want := range map[string]string{
		"ops ann":         "line 1: a line has three fields",
		"\nops a b c":     "line 2: a line has three fields",
		"ops a,b c":       "line 1: multiple values in field 2",
		"ops /( c":        `line 1: invalid regular expression "("`,
		`ops /.*@x \1`:    `line 1: regular expression ".*@x" has no subexpressions`,
		"ops \"a b":       "line 1: a quote is not closed",
		"ops @users role": "line 1: files of names",
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAllow: a line of the map names who is let in, and as whom.
func TestAllow(t *testing.T) {
	maps, err := Parse(`ops "Ann Smith" ann
ops ann app
ops /^(.*)@corp\.example$ \1
ops /^.*@guests\.example$ guest
loose /corp\.example app
other bob bob`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, system, role string
		want               bool
	}{
		{"ops", "Ann Smith", "ann", true},
		{"ops", "Ann Smith", "app", false},
		{"ops", "ann", "app", true},
		{"ops", "ann", "ann", false}, // with a map, a name by itself does not do
		{"ops", "joe@corp.example", "joe", true},
		{"ops", "joe@corp.example", "root", false},
		{"ops", "joe@corp.example.evil", "joe", false},
		{"ops", "@corp.example", "", false},
		{"ops", "x@guests.example", "guest", true},
		{"ops", "x@guests.example", "x", false},
		{"ops", "bob", "bob", false},
		{"loose", "x@corp.example.evil", "app", true},
		{"none", "ann", "ann", false},
	} {
		if got := maps.Allow(c.name, c.system, c.role); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ops \"Ann Smith\" ann\nops /^(.*)@corp\\.example$ \\1")
	f.Fuzz(func(_ *testing.T, text string) {
		if maps, err := Parse(text); err == nil {
			maps.Allow("ops", "joe@corp.example", "joe")
		}
	})
}
