package builtin

import (
	"strings"
	"testing"
)

// TestExtensionOids checks that the oids of what extensions bring are distinct, in their range and in order, and that what has one
// is there.
func TestExtensionOids(t *testing.T) {
	have := map[string]bool{}
	for _, list := range builtins().extensions {
		for _, o := range list {
			have[o.Key()] = true
		}
	}
	next := uint32(FirstExtensionOid)
	for line := range strings.Lines(extensionOidLines) {
		_, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch oid := extensionOids()[key]; {
		case oid != next || oid > LastExtensionOid:
			t.Errorf("%s has oid %d; the next free one is %d", key, oid, next)
		case !have[key]:
			t.Errorf("no extension brings %s", key)
		case postgresOids()[key] != 0 || ownOids()[key] != 0:
			t.Errorf("%s has another oid, too", key)
		}
		next++
	}
}

// TestExtensionsApart checks that nothing of an extension is found by those who do not ask for it.
func TestExtensionsApart(t *testing.T) {
	for _, o := range All() {
		if o.Extension != "" {
			t.Errorf("%s of %s is among what every database has", o, o.Extension)
		}
	}
	for _, name := range []string{"similarity", "akeys", "uuid_generate_v4", "soundex"} {
		if len(Functions(name)) > 0 || len(ExtensionFunctions(name)) == 0 {
			t.Errorf("%s: %d functions, %d of extensions", name, len(Functions(name)), len(ExtensionFunctions(name)))
		}
	}
	if len(Operators("?", false)) == 0 || len(ExtensionOperators("?", false)) != 5 {
		t.Errorf("?: %d operators, %d of extensions", len(Operators("?", false)), len(ExtensionOperators("?", false)))
	}
}
