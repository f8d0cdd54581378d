package layers_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lichendb/lichen/internal/"

// order lists the packages from the top down, a layer per line. A package may
// import packages of lower lines and, within its line, those to its right.
var order = [][]string{
	{"cli"},
	{"sim"},
	{"server"},
	{"console"},
	{"node"},
	{"sqlnode"},
	{"sql/support"},
	{"torture", "workload/killtest", "workload/ycsb", "workload/dvdrental", "workload/ecommerce", "workload/dataset", "workload", "workload/measure", "pgwire", "pgwire/nullserver", "pgwire/wire"},
	{"sql/logictest", "sql"},
	{"sql/identity", "sql/diag", "sql/kverror", "sql/audit", "sql/activity", "sql/explain", "sql/deferral", "sql/sessionvar", "sql/portal", "sql/fingerprint", "sql/copyio", "sql/tempschema", "sql/contention", "sql/routine", "sql/prepared", "sql/transaction", "sql/ids", "sql/ranges", "sql/inspect", "sql/clustersetting", "sql/show", "sql/advisory", "sql/notify", "sql/stats", "sql/jobs", "sql/ddlevents"},
	{"sql/metamorphic", "sql/generate"},
	{"sql/ddl", "sql/pgcatalog", "sql/statview"},
	{"sql/ddl/roles"},
	{"sql/ddl/alter"},
	{"sql/ddl/relations"},
	{"sql/ddl/backfill", "sql/ddl/zoneconfig"},
	{"sql/ddl/storedtext"},
	{"sql/ddl/statement"},
	{"sql/ddl/noeffect"},
	{"sql/deparse"},
	{"sql/distsql"},
	{"sql/exec"},
	{"sql/exec/mutation", "sql/exec/window", "sql/exec/aggregate", "sql/exec/join", "sql/exec/gather"},
	{"sql/exec/scan"},
	{"sql/exec/operator"},
	{"sql/exec/tableaccess", "sql/exec/rowcontainer", "sql/exec/vecexpr"},
	{"sql/exec/expr"},
	{"sql/copyfmt", "sql/advise", "sql/optimizer", "sql/optimizer/crosstype", "sql/optimizer/distribution", "sql/planner/plantest", "sql/planner", "sql/distribute", "sql/fragment", "sql/plan"},
	{"sql/access"},
	{"sql/inverted", "sql/rowcodec", "sql/catalog", "sql/catalog/membership", "sql/catalog/idgen", "sql/catalog/named", "sql/privilege"},
	{"sql/builtin"},
	{"sql/builtin/citextfuncs", "sql/builtin/hstorefuncs", "sql/builtin/fuzzyfuncs", "sql/builtin/accentfuncs", "sql/builtin/statementfuncs", "sql/builtin/ltreefuncs",
		"sql/builtin/intarrayfuncs", "sql/builtin/crosstabfuncs"},
	{"sql/builtin/catalogfuncs", "sql/builtin/sessionfuncs", "sql/builtin/aggfuncs", "sql/builtin/searchfuncs", "sql/builtin/netfuncs", "sql/builtin/geofuncs", "sql/builtin/typefuncs",
		"sql/builtin/jsonfuncs", "sql/builtin/rangefuncs", "sql/builtin/arrayfuncs", "sql/builtin/formatfuncs", "sql/builtin/datefuncs",
		"sql/builtin/stringfuncs", "sql/builtin/numfuncs", "sql/builtin/decimal", "sql/builtin/comparefuncs"},
	{"sql/builtin/call", "sql/builtin/coerce"},
	{"sql/plpgsql", "sql/parser", "sql/ast", "sql/settings", "sql/ttl"},
	{"sql/charset"},
	{"sql/vector"},
	{"sql/types/typetest", "sql/types/casts", "sql/types/typeio", "sql/types/datetime", "sql/types"},
	{"sql/jsonpath", "sql/pgregexp", "sql/ascii", "sql/geometry", "sql/textsearch", "sql/trigram", "sql/collation", "sql/hstore", "sql/ltree", "sql/intquery", "sql/boolquery"},
	{"clustertest"}, // for tests
	{"kvnode"},
	{"rebalance"},
	{"rangeops", "consistency"},
	{"eventlog", "rangestats", "spanconfig"},
	{"balance", "balance/storepool", "balance/placement", "drain"},
	{"kv/address", "kv/ingest", "kv", "kv/coord", "kv/coord/readset", "kv/coord/writebuffer"},
	{"dist", "dist/rangecache"},
	{"store"},
	{"replica"},
	{"raftgroup", "lease", "txnintent", "snapshot", "closedts", "rangefeed/processor", "rangefeed", "rangestate", "checksum"},
	{"eval", "apply"},
	{"storage/mvcc", "storage"},
	{"raftlog"},
	{"concurrency"},
	{"liveness"},
	{"nettest"}, // for tests
	{"rpc"},
	{"kvpb/kvwire"},
	{"kvpb/sendertest"},
	{"kvpb", "keys", "encoding", "hlc"},
	{"idp", "sql/stmtstats", "timeseries", "tempstore", "password", "sql/pgerr", "quota", "config", "config/zone", "config/setting", "security", "obs", "otlp", "trace", "fs/crypt/crypttest", "fs/crypt", "fs", "workers", "must", "sleep", "lock"},
	{"check", "config/hba", "config/audit", "config/identmap", "config/jwt"},
	{"config/rulelines"},
	{"plant"}, // everything may ask for planted bugs
	{"scripttest", "proptest"},
	{"layers"},
}

type place struct{ line, column int }

func places() map[string]place {
	m := map[string]place{}
	for l, line := range order {
		for c, p := range line {
			m[p] = place{l, c}
		}
	}
	return m
}

type pkg struct {
	ImportPath                         string
	Dir                                string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// testsAbove are the exceptions: tests that drive a package through those above it.
var testsAbove = map[string][]string{
	"store": {"kv"}, // row locks over transfers of leadership, through gateways
}

// TestImportOrder reports every import that goes up or sideways, tests included.
// Tests of whole systems live in server and cli.
func TestImportOrder(t *testing.T) {
	where := places()
	for _, p := range list(t) {
		name, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue
		}
		from, known := where[name]
		if !known {
			t.Errorf("package %s has no place in the import order: add it to layers_test.go", name)
			continue
		}
		check := func(imports []string, what string) {
			for _, imp := range imports {
				dep, ok := strings.CutPrefix(imp, module)
				if !ok || dep == name || what != "" && strings.HasSuffix(dep, "test") {
					continue // packages named ...test are made for tests
				}
				if what != "" && slices.Contains(testsAbove[name], dep) {
					continue
				}
				to, known := where[dep]
				if known && (to.line < from.line || to.line == from.line && to.column < from.column) {
					t.Errorf("%s %simports %s, which lies above it", name, what, dep)
				}
			}
		}
		check(p.Imports, "")
		check(p.TestImports, "(test) ")
		check(p.XTestImports, "(test) ")
	}
}

// TestDoc requires that every package says what it is.
func TestDoc(t *testing.T) {
	for _, p := range list(t) {
		found := false
		for _, f := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`(?m)^// (Package|Command) `).Match(src)
		}
		if len(p.GoFiles) > 0 && !found {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// maxFileLines is the hard limit of a source file; tables and tests excepted.
const maxFileLines = 800

// banned are calls that have a better place. Each rule names where the call is
// allowed and what to use instead.
var banned = []struct {
	pattern *regexp.Regexp
	allowed []string // prefixes of files below internal/
	instead string
	tests   bool // applies to tests too
}{
	{regexp.MustCompile(`\bos\.(Create|OpenFile|WriteFile|Rename|Remove|RemoveAll|Mkdir|MkdirAll)\(`),
		[]string{"fs/", "obs/", "cli/", "workload/", "torture/"}, "files that a node writes go through package fs", false},
	{regexp.MustCompile(`\btime\.Sleep\(`),
		[]string{"cli/", "workload/", "sim/", "torture/"}, "wait for an event, or use testing/synctest", true},
	{regexp.MustCompile(`\bfmt\.Print(ln|f)?\(`), nil, "write to the stream that the caller gave", false},
	{regexp.MustCompile(`^func init\(\)`), nil, "build it where it is used", true},
}

// TestStyle checks the rules of CONTRIBUTING.md that a machine can check.
func TestStyle(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		checkFile(t, path, strings.TrimPrefix(path, root+"/"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path, name string) {
	if strings.HasPrefix(name, "layers/") {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	isTest := strings.HasSuffix(name, "_test.go")
	virtual := false // the file's tests run in virtual time
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		n++
		virtual = virtual || strings.Contains(sc.Text(), `"testing/synctest"`)
		for _, b := range banned {
			if isTest && (!b.tests || virtual) || !b.pattern.MatchString(sc.Text()) || hasPrefix(name, b.allowed) {
				continue
			}
			t.Errorf("%s:%d: %s: %s", name, n, strings.TrimSpace(sc.Text()), b.instead)
		}
	}
	if n > maxFileLines && !isTest {
		t.Errorf("%s has %d lines, more than %d: split it", name, n, maxFileLines)
	}
}

func hasPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
