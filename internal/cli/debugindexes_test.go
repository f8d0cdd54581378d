package cli_test

import (
	"net/url"
	"strings"
	"testing"
)

// check-indexes goes through all databases, whatever their names; INSPECT's own tests damage indexes.
func TestCheckIndexes(t *testing.T) {
	at := node(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "sql", "--url", at, "-e", `create table t (a int primary key, b text unique); insert into t select i, 'b' || i from generate_series(1, 100) i; create database "A b"`)
	code, out, errOut := call("debug", "check-indexes", "--insecure", "--host="+u.Host)
	if code != 0 || out != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errOut)
	}
	for _, name := range []string{"A b", "defaultdb", "postgres"} {
		if !strings.Contains(errOut, "database "+name+": 0 differences") {
			t.Errorf("%s was not inspected: %q", name, errOut)
		}
	}
	if code, _, errOut := call("debug", "check-indexes", "--insecure", "--host="+u.Host, "--database=none"); code != 1 || !strings.Contains(errOut, `database "none" does not exist`) {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}
