package zone

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/proptest"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { proptest.Main(m) }

func TestParseConstraints(t *testing.T) {
	eu, us, b := Constraint{Key: "region", Value: "eu"}, Constraint{Key: "region", Value: "us"}, Constraint{Prohibited: true, Key: "zone", Value: "b"}
	a := Constraint{Key: "zone", Value: "a"}
	for in, want := range map[string][]Conjunction{
		"[]":                                 {},
		"{}":                                 {},
		" [ +region=eu , -zone=b]":           {{0, []Constraint{eu, b}}},
		`["+region=eu","-zone=b"]`:           {{0, []Constraint{eu, b}}},
		`{"+region=eu": 1, "+region=us": 2}`: {{1, []Constraint{eu}}, {2, []Constraint{us}}},
		"{+region=eu: 1,'+region=us':2}":     {{1, []Constraint{eu}}, {2, []Constraint{us}}},
		`{"+region=eu, +zone=a": 3}`:         {{3, []Constraint{eu, a}}},
	} {
		got, err := ParseConstraints(in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"":                      `expected '[' at the end`,
		"[+region=eu":           `expected ',' at the end`,
		"[+region=eu] x":        `expected the end at "x"`,
		"[region=eu]":           "must begin with +",
		"[+ssd]":                "must name a locality",
		"[+=eu]":                "must not be empty",
		"[+region=]":            "must not be empty",
		"[+a=b=c]":              `character '=' is not allowed`,
		"[+region=eu,,+zone=a]": "expected a constraint",
		`["+region=eu]`:         "no closing",
		"{+region=eu: 0}":       "not a number of replicas",
		"{+region=eu: 10}":      "not a number of replicas",
		"{+region=eu: x}":       "not a number of replicas",
		"{+region=eu}":          "expected ':'",
		"{-region=eu: 1}":       "it prohibits",
		"[[+region=eu]]":        "expected a constraint",
		"[" + strings.Repeat("+a=b,", 64) + "+a=b]": "more than 64",
		"[+a=" + strings.Repeat("x", 129) + "]":     "longer than 128",
		"[+region=\u00e9\x00]":                      "not allowed",
	} {
		if got, err := ParseConstraints(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
}

func TestParsePreferences(t *testing.T) {
	got, err := ParsePreferences("[[+region=eu, -zone=b], [\"+zone=a\"]]")
	if err != nil || FormatPreferences(got) != "[[+region=eu, -zone=b], [+zone=a]]" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ParsePreferences("[]"); err != nil || got == nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for _, in := range []string{"", "[+region=eu]", "[[]]", "[[+region=eu]", "{}"} {
		if got, err := ParsePreferences(in); err == nil {
			t.Errorf("%s: %v", in, got)
		}
	}
}

func TestSet(t *testing.T) {
	var c Config
	for _, kv := range [][2]string{
		{"num_replicas", "5"}, {"range_max_bytes", "64MiB"}, {"range_min_bytes", " 1048576 "}, {"gc.ttlseconds", "90"},
		{"constraints", "[+region=eu]"}, {"lease_preferences", "[[+zone=a]]"}, {"voter_constraints", "{+zone=a: 1}"},
	} {
		if err := c.Set(kv[0], kv[1]); err != nil {
			t.Errorf("%s: %v", kv[0], err)
		}
	}
	var lines []string
	for _, s := range c.Settings() {
		lines = append(lines, s.Name+" = "+s.Literal)
	}
	if got, want := strings.Join(lines, "\n"), `range_min_bytes = 1048576
range_max_bytes = 67108864
gc.ttlseconds = 90
num_replicas = 5
constraints = '[+region=eu]'
voter_constraints = '{"+zone=a": 1}'
lease_preferences = '[[+zone=a]]'`; got != want {
		t.Errorf("%s", got)
	}
	for name, text := range map[string]string{
		"num_replica": "3", "num_replicas": "x", "gc.ttlseconds": "0", "range_max_bytes": "1XB", "range_min_bytes": "-1",
		"constraints": "x", "lease_preferences": "[x]",
	} {
		if err := c.Set(name, text); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s = %s: %v", name, text, err)
		}
	}
	err := c.Set("replicas", "3")
	for _, f := range fields {
		if !strings.Contains(err.Error(), f.name) {
			t.Errorf("%v does not name %s", err, f.name)
		}
	}
}

func config(t *testing.T, settings ...string) Config {
	t.Helper()
	var c Config
	for i := 0; i < len(settings); i += 2 {
		if err := c.Set(settings[i], settings[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestResolve(t *testing.T) {
	got := Resolve(config(t, "num_replicas", "5"), config(t, "num_replicas", "7", "num_voters", "3", "constraints", "[+a=b]", "gc.ttlseconds", "1"))
	if *got.NumReplicas != 5 || got.NumVoters != nil || got.Voters() != 5 || *got.GCTTL != time.Second ||
		FormatConstraints(got.Constraints) != "[+a=b]" || *got.RangeMaxBytes != 512<<20 || got.VoterConstraints == nil {
		t.Errorf("%+v", got)
	}
	got = Resolve(Config{}, config(t, "num_replicas", "5", "num_voters", "3"))
	if *got.NumReplicas != 5 || got.Voters() != 3 {
		t.Errorf("%+v", got)
	}
	got = Resolve(config(t, "constraints", "[]"), config(t, "constraints", "[+a=b]"))
	if len(got.Constraints) != 0 {
		t.Error("an empty list did not override the one above")
	}
	parent := config(t, "lease_preferences", "[[+a=b]]")
	got = Resolve(Config{}, parent)
	got.LeasePreferences[0][0].Key = "x"
	if parent.LeasePreferences[0][0].Key != "a" {
		t.Error("the resolved configuration shares memory with the one above")
	}
	if d := Default(); d.Validate() != nil || d.IsEmpty() || !(&Config{}).IsEmpty() {
		t.Error("the default is not valid")
	}
}

func TestValidate(t *testing.T) {
	for want, settings := range map[string][]string{
		"": {"num_replicas", "9", "constraints", "{+a=b: 4, +a=c: 5}"},
		"num_replicas must be 1, 3, 5, 7 or 9, not 0":  {"num_replicas", "0"},
		"num_replicas must be 1, 3, 5, 7 or 9, not 11": {"num_replicas", "11"},
		"survives no more":                  {"num_replicas", "4"},
		"num_voters must be":                {"num_voters", "2"},
		"more than num_replicas":            {"num_voters", "5"},
		"constraints asks for more":         {"constraints", "{+a=b: 2, +a=c: 2}"},
		"voter_constraints asks for more":   {"num_replicas", "5", "num_voters", "3", "voter_constraints", "{+a=b: 4}"},
		"must be less than range_max_bytes": {"range_min_bytes", "512MiB"},
		"range_max_bytes must be between":   {"range_max_bytes", "1024", "range_min_bytes", "0"},
	} {
		c := Resolve(config(t, settings...))
		err := c.Validate()
		if want == "" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

var drawWord = rapid.StringMatching(`[a-z0-9._/-]{1,8}`)

func drawConstraint(t *rapid.T, prohibited bool) Constraint {
	return Constraint{Key: drawWord.Draw(t, "key"), Value: drawWord.Draw(t, "value"), Prohibited: prohibited && rapid.Bool().Draw(t, "not")}
}

func drawConstraints(t *rapid.T) []Conjunction {
	out := []Conjunction{}
	counted := rapid.Bool().Draw(t, "counted")
	for range rapid.IntRange(0, 3).Draw(t, "conjunctions") {
		var c Conjunction
		if counted {
			c.NumReplicas = rapid.IntRange(1, MaxReplicas).Draw(t, "n")
		}
		for range rapid.IntRange(1, 3).Draw(t, "constraints") {
			c.Constraints = append(c.Constraints, drawConstraint(t, !counted))
		}
		if out = append(out, c); !counted {
			break
		}
	}
	return out
}

func drawConfig(t *rapid.T) Config {
	var c Config
	has := func(name string) bool { return rapid.Bool().Draw(t, name) }
	if has("replicas") {
		c.NumReplicas = ptr(rapid.IntRange(0, MaxReplicas).Draw(t, "n"))
	}
	if has("voters") {
		c.NumVoters = ptr(rapid.IntRange(0, MaxReplicas).Draw(t, "n"))
	}
	if has("max") {
		c.RangeMaxBytes = ptr(rapid.Int64Range(0, MaxRangeMaxBytes).Draw(t, "bytes"))
	}
	if has("min") {
		c.RangeMinBytes = ptr(rapid.Int64Range(0, MaxRangeMaxBytes).Draw(t, "bytes"))
	}
	if has("ttl") {
		c.GCTTL = ptr(time.Duration(rapid.Int64Range(1, 1e6).Draw(t, "ttl")) * time.Second)
	}
	if has("constraints") {
		c.Constraints = drawConstraints(t)
	}
	if has("voter constraints") {
		c.VoterConstraints = drawConstraints(t)
	}
	if has("preferences") {
		c.LeasePreferences = [][]Constraint{}
		for range rapid.IntRange(0, 2).Draw(t, "preferences") {
			c.LeasePreferences = append(c.LeasePreferences, []Constraint{drawConstraint(t, true)})
		}
	}
	return c
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		var again Config
		for _, s := range c.Settings() {
			if err := again.Set(s.Name, strings.Trim(s.Literal, "'")); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(c, again) {
			t.Fatalf("%+v became %+v", c.Settings(), again.Settings())
		}
	})
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Record{Kind: KindTable, End: rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "end"), Config: drawConfig(t)}
		b := Encode(&r)
		later := appendField(append([]byte(nil), b...), 99, []byte("of a later version"))
		for _, in := range [][]byte{b, later} {
			if got, err := Decode(in); err != nil || !reflect.DeepEqual(got, r) {
				t.Fatalf("%+v became %+v, %v", r, got, err)
			}
		}
	})
	if _, err := Decode([]byte{2}); err == nil {
		t.Error("an unknown format was read")
	}
}

func FuzzDecode(f *testing.F) {
	d := Default()
	f.Add(Encode(&Record{Kind: KindDefault, Config: d}))
	f.Add(Encode(&Record{Kind: KindIndex, End: []byte("x")}))
	f.Add([]byte{1, 5, 2, '[', ']'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(Encode(&r))
		if err != nil || !reflect.DeepEqual(again.Config, r.Config) || again.Kind != r.Kind || string(again.End) != string(r.End) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
		c := Resolve(r.Config)
		_ = c.Validate()
	})
}

func TestZones(t *testing.T) {
	span := func(start, end string, settings ...string) Span {
		return Span{Start: []byte(start), Record: Record{End: []byte(end), Kind: KindTable, Config: config(t, settings...)}}
	}
	s, err := NewSet([]Span{
		span("c", "d", "gc.ttlseconds", "3"), span("b", "f", "num_replicas", "5"), span("", "", "gc.ttlseconds", "1"),
		span("cc", "cd", "gc.ttlseconds", "2", "num_replicas", "1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][3]any{
		"a": {3, 1, ""}, "b": {5, 1, "b"}, "bz": {5, 1, "b"}, "c": {5, 3, "c"}, "cc": {1, 2, "cc"}, "ccz": {1, 2, "cc"},
		"cd": {5, 3, "c"}, "d": {5, 1, "b"}, "f": {3, 1, ""}, "zz": {3, 1, ""},
	} {
		c, z := s.At([]byte(key))
		if *c.NumReplicas != want[0] || int(*c.GCTTL/time.Second) != want[1] || string(z.Start) != want[2] {
			t.Errorf("%s: %d %v from %q", key, *c.NumReplicas, *c.GCTTL, z.Start)
		}
	}
	var boundaries []string
	for _, b := range s.SplitKeys([]byte("b"), []byte("f")) {
		boundaries = append(boundaries, string(b))
	}
	if got := strings.Join(boundaries, " "); got != "c cc cd d" {
		t.Error(got)
	}
	if got := len(s.SplitKeys(nil, nil)); got != 6 {
		t.Errorf("%d boundaries in all", got)
	}
	none, _ := NewSet(nil)
	if c, z := none.At([]byte("a")); z != nil || *c.NumReplicas != 3 {
		t.Error("no zone is not the default")
	}
	if _, err := NewSet([]Span{span("a", "c"), span("b", "d")}); err == nil {
		t.Error("zones that overlap were accepted")
	}
	bad, _ := NewSet([]Span{span("a", "c", "range_max_bytes", "64MiB"), span("d", "e", "num_replicas", "2")})
	if z, err := bad.Validate([]byte("a"), []byte("c")); err == nil || string(z.Start) != "a" {
		t.Errorf("%v, %v", z, err)
	}
	if _, err := bad.Validate([]byte("f"), nil); err != nil {
		t.Error(err)
	}
}
