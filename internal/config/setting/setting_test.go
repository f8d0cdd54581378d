package setting

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/settings.md")

func TestOrder(t *testing.T) {
	if !slices.IsSortedFunc(all, func(a, b *Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the settings are not sorted by name")
	}
}

// Each setting sets one field, and no two the same.
func TestText(t *testing.T) {
	other := map[Type][]string{
		Duration: {"7s"}, Size: {"5MiB"}, Int: {"123", "8"}, Float: {"0.77"}, Bool: {"false", "true"},
		Choice: {"off", "SQL, DMY", "iso_8601"}, Rules: {"host all all all reject", "http://127.0.0.1:4318/v1/traces", "all all all", "staff clerk", "https://id.example", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`},
	}
	seen := map[int]string{}
	for _, s := range all {
		v := Default()
		text := s.Text(&v)
		if again, err := s.Parse(text); err != nil || again != text {
			t.Errorf("%s: the default %q reads as %q, %v", s.Name, text, again, err)
		}
		var next Values
		changed := false
		for _, o := range other[s.Type] {
			var problems []error
			if next, problems = v.With(map[string]string{s.Name: o}); problems == nil && next != v {
				changed = true
				break
			}
		}
		if !changed {
			t.Errorf("%s: none of %q changes it", s.Name, other[s.Type])
			continue
		}
		if again, err := s.Parse(s.Text(&next)); err != nil || again != s.Text(&next) {
			t.Errorf("%s: %q reads as %q, %v", s.Name, s.Text(&next), again, err)
		}
		a, b := reflect.ValueOf(v), reflect.ValueOf(next)
		for i := range a.NumField() {
			if a.Field(i).Equal(b.Field(i)) {
				continue
			}
			if seen[i] != "" {
				t.Errorf("%s sets %s, as %s does", s.Name, a.Type().Field(i).Name, seen[i])
			}
			seen[i] = s.Name
		}
	}
	for i := range reflect.TypeFor[Values]().NumField() {
		if seen[i] == "" {
			t.Errorf("no setting sets %s", reflect.TypeFor[Values]().Field(i).Name)
		}
	}
}

func TestEffects(t *testing.T) {
	var code strings.Builder
	internal := filepath.Join("..", "..")
	err := filepath.WalkDir(internal, func(path string, _ fs.DirEntry, err error) error {
		own := strings.HasPrefix(path, filepath.Join(internal, "config"))
		if err != nil || own || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		p, err := os.ReadFile(path)
		code.Write(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if strings.HasPrefix(s.Name, "sql.defaults.") {
			if !strings.Contains(code.String(), `"`+s.Name+`"`) {
				t.Errorf("%s is not a parameter of new sessions", s.Name)
			}
		}
	}
	session := []string{"StatementTimeout", "IdleInTxnTimeout", "IdleTimeout", "IntSize", "DateStyle", "IntervalStyle"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Values]()) {
		if !slices.Contains(session, f.Name) && !regexp.MustCompile(`\.`+f.Name+`\b`).MatchString(code.String()) {
			t.Errorf("nothing reads %s", f.Name)
		}
	}
}

func TestBadValues(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"server.time_until_store_dead", "soon", `"soon" is not a duration; write it as 90s, 5m or 1h30m`},
		{"server.host_based_authentication.configuration", "host all all all trust\nhost all all all ldap",
			`line 2: authentication method "ldap" is not supported; there are trust, reject, cert, scram-sha-256, md5, password, cert-password, cert-scram-sha-256, jwt, peer`},
		{"server.oidc_authentication.provider_url", "http://id.example", "it must begin with https://; http:// is for this machine (localhost) only"},
		{"server.identity_map.configuration", "ops ann", "line 1: a line has three fields: the name of the map, the name that a client shows, or /REGULAR-EXPRESSION for it, and the role"},
		{"server.time_until_store_dead", "1s", "1s does not lie between 2s and 720h"},
		{"kv.snapshot_rebalance.max_rate", "-1", `"-1" is not a size; write bytes or a unit, as in 64MiB`},
		{"kv.snapshot_rebalance.max_rate", "9e99 TiB", `"9e99 TiB" is not a size; write bytes or a unit, as in 64MiB`},
		{"kv.snapshot_rebalance.max_rate", "NaN", `"NaN" is not a size; write bytes or a unit, as in 64MiB`},
		{"kv.range_split.load_qps_threshold", "1", "1 does not lie between 100 and 2147483647"},
		{"kv.range_split.load_qps_threshold", "many", `"many" is not a whole number`},
		{"kv.allocator.qps_rebalance_threshold", "NaN", "NaN does not lie between 0.01 and 10"},
		{"kv.range_merge.queue.enabled", "2", `"2" is neither true nor false`},
		{"kv.allocator.load_based_rebalancing", "leases", `"leases" is none of 'off', 'leases and replicas'`},
		{"sql.defaults.default_int_size", "6", `"6" is none of 4, 8`},
	} {
		s, ok := Find(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		if _, err := s.Parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s = %s: %v, want %s", c.name, c.text, err, c.want)
		}
	}
}

func TestLive(t *testing.T) {
	base := Default()
	base.DeadAfter = 30 * time.Second // a flag
	l := NewLive(base)
	if changed, problems := l.Update(nil); changed || problems != nil || l.Get().DeadAfter != 30*time.Second {
		t.Error(changed, problems, l.Get().DeadAfter)
	}
	changed, problems := l.Update(map[string]string{"server.time_until_store_dead": "1m", "later.version": "x", "kv.range_merge.queue.enabled": "?"})
	if !changed || len(problems) != 2 || l.Get().DeadAfter != time.Minute || !l.Get().Merge {
		t.Error(changed, problems, l.Get())
	}
	if changed, _ := l.Update(nil); !changed || l.Get().DeadAfter != 30*time.Second {
		t.Error("a reset does not return to the flag")
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{
		"server.time_until_store_ded":       "server.time_until_store_dead",
		"kv.snapshot_recovery.max_rate":     "kv.snapshot_rebalance.max_rate",
		"KV.RANGE_MERGE.QUEUE.ENABLED":      "kv.range_merge.queue.enabled",
		"kv.range_merge.queue_interval":     "kv.range_merge.queue.interval",
		"sql.defaults.statement_time":       "sql.defaults.statement_timeout",
		"cluster.organization":              "",
		"":                                  "",
		strings.Repeat("very long ", 10000): "",
	} {
		if got := Suggest(name); got != want {
			t.Errorf("%.40q: %q, want %q", name, got, want)
		}
	}
}

func TestPage(t *testing.T) {
	v := Default()
	var b strings.Builder
	b.WriteString(`# Cluster settings

Settings that hold for all nodes, stored in the cluster and changed while it runs:

    SET CLUSTER SETTING kv.snapshot_rebalance.max_rate = '64MiB';
    RESET CLUSTER SETTING kv.snapshot_rebalance.max_rate;
    SHOW CLUSTER SETTING kv.snapshot_rebalance.max_rate;
    SHOW CLUSTER SETTINGS;

A change is part of its transaction. Once that is committed it holds on the node of the
session at once, on the others within three seconds. Durations are written as 90s, 5m or
1h30m, or as intervals; sizes as bytes or with a unit. What holds for one database, table or
index, such as gc.ttlseconds, num_replicas and range_max_bytes, is configured by
ALTER ... CONFIGURE ZONE instead, for the whole cluster by ALTER RANGE default CONFIGURE ZONE.

This page lists what package config/setting says; its test keeps it so
(go test ./internal/config/setting -update).

| setting | type | default | allowed | what it is |
|---|---|---|---|---|
`)
	for _, s := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Name, s.Type, s.Text(&v), s.Bounds, s.Doc)
	}
	const page = "../../../docs/settings.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := os.ReadFile(page)
	if err != nil || string(p) != b.String() {
		t.Errorf("docs/settings.md is not what it should be (%v); run the test with -update", err)
	}
}
