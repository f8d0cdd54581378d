package layers_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// repository is the root of the repository, from here.
var repository = filepath.Join("..", "..")

// names are what the repository's Go files declare: of each package, and in all of them.
type names struct {
	byPackage map[string]map[string]bool // by the package's folder below internal
	all       map[string]bool
	funcs     map[string]bool // functions, methods, tests and types
	scripts   map[string]bool // the logic tests, as AREA/FILE
	testdata  map[string]bool // the files of all folders of that name, without what follows a dot
	packages  map[string]bool
}

// declared reads the names of all Go files, tests included.
func declared(t *testing.T) *names {
	t.Helper()
	n := &names{map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	scripts := filepath.Join(repository, "internal", "sql", "testdata", "logic")
	walk(t, scripts, ".slt", func(path string) {
		name := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(scripts)+"/")
		n.scripts[strings.TrimSuffix(name, ".slt")] = true
	})
	walk(t, filepath.Join(repository, "internal"), "", func(path string) {
		if strings.Contains(filepath.ToSlash(path), "/testdata/") {
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			n.testdata[name] = true
		}
	})
	for _, root := range []string{"internal", "cmd", "test"} {
		walk(t, filepath.Join(repository, root), ".go", func(path string) {
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			n.addFile(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../internal/"), f)
		})
	}
	return n
}

// walk calls fn with every file below a folder whose name ends in a suffix.
func walk(t *testing.T, root, suffix string, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "node_modules" {
			return filepath.SkipDir // others wrote what is there
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			fn(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addFile notes the functions, methods, types, fields, constants and variables of a file.
func (n *names) addFile(dir string, f *ast.File) {
	n.packages[f.Name.Name] = true
	if n.byPackage[dir] == nil {
		n.byPackage[dir] = map[string]bool{}
	}
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			n.byPackage[dir][id.Name], n.all[id.Name] = true, true
		}
	}
	ast.Inspect(f, func(x ast.Node) bool {
		switch d := x.(type) {
		case *ast.FuncDecl:
			add(d.Name)
			n.funcs[d.Name.Name] = true
		case *ast.TypeSpec:
			add(d.Name)
			n.funcs[d.Name.Name] = true
		case *ast.ValueSpec:
			add(d.Names...)
		case *ast.Field:
			add(d.Names...)
		case *ast.AssignStmt: // local variables that doc.go may speak of
			for _, l := range d.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					add(id)
				}
			}
		}
		return true
	})
}

var (
	testName = regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w+`)
	goFile   = regexp.MustCompile(`[\w/]+\.go\b`)
	mdLink   = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	mdPath   = regexp.MustCompile("`((?:internal|docs|bench|test|cmd)/[^` *…]+)`")
	// symbols are what an invariant's end names: (check, group.mu.busy; TestCheck in store).
	symbols = regexp.MustCompile(`\(([\w.]+(?:[,;:] [\w.]+)*(?: in \w+)?)\)`)
)

// TestDocsNameWhatExists requires that the files, tests and symbols that the documentation names
// exist.
func TestDocsNameWhatExists(t *testing.T) {
	n := declared(t)
	walk(t, repository, ".md", func(path string) {
		eachLine(t, path, func(where, line string) {
			n.checkTests(t, where, line)
			for _, m := range mdLink.FindAllStringSubmatch(line, -1) {
				mustExist(t, where, filepath.Join(filepath.Dir(path), m[1]))
			}
			for _, m := range mdPath.FindAllStringSubmatch(line, -1) {
				mustExist(t, where, filepath.Join(repository, m[1]))
			}
		})
	})
	walk(t, filepath.Join(repository, "docs", "tour"), ".md", func(path string) { n.checkTour(t, path) })
	changes := filepath.Join(repository, "docs", "where-to-change.md")
	n.checkTour(t, changes)
	eachLine(t, changes, func(where, line string) {
		for _, m := range pathBelow.FindAllStringSubmatch(line, -1) {
			mustExist(t, where, filepath.Join(repository, "internal", m[1]))
		}
	})
	walk(t, filepath.Join(repository, "internal"), "doc.go", func(path string) { n.checkDoc(t, path) })
}

// pathBelow is a path below internal.
var pathBelow = regexp.MustCompile("`([\\w./]+/[\\w./]+)`")

// tourName is a symbol that a walk of the tour names.
var tourName = regexp.MustCompile("`((?:[A-Za-z]\\w*\\.)*([a-z]\\w*[A-Z]\\w*|[A-Z]\\w*))`")

// checkTour checks the symbols that a page names.
func (n *names) checkTour(t *testing.T, path string) {
	eachLine(t, path, func(where, line string) {
		for _, m := range tourName.FindAllStringSubmatch(line, -1) {
			if !n.all[m[2]] {
				t.Errorf("%s names %s, which does not exist", where, m[1])
			}
		}
	})
}

// checkDoc checks what a package's doc.go names.
func (n *names) checkDoc(t *testing.T, path string) {
	dir := filepath.Dir(path)
	pkg := strings.TrimPrefix(filepath.ToSlash(dir), "../../internal/")
	eachLine(t, path, func(where, line string) {
		n.checkTests(t, where, line)
		for _, f := range goFile.FindAllString(line, -1) {
			if strings.Contains(f, "/") {
				mustExist(t, where, filepath.Join(repository, "internal", f))
			} else {
				mustExist(t, where, filepath.Join(dir, f))
			}
		}
		for _, m := range symbols.FindAllStringSubmatch(line, -1) {
			n.checkSymbols(t, where, pkg, m[1])
		}
	})
}

func (n *names) checkTests(t *testing.T, where, line string) {
	t.Helper()
	for _, name := range testName.FindAllString(line, -1) {
		if !n.all[name] && !n.hasPrefix(name) {
			t.Errorf("%s names %s, which does not exist", where, name)
		}
	}
}

// hasPrefix reports whether a test's name begins as a pattern of -run does.
func (n *names) hasPrefix(prefix string) bool {
	for name := range n.all {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// checkSymbols checks a list of symbols, if it is one: words of prose have no capitals and no dots
// inside.
func (n *names) checkSymbols(t *testing.T, where, pkg, list string) {
	t.Helper()
	list, _, _ = strings.Cut(list, " in ")
	for _, s := range regexp.MustCompile(`[,;:] `).Split(list, -1) {
		if name, ok := strings.CutSuffix(s, ".slt"); ok {
			if !n.scripts[name] {
				t.Errorf("%s names %s, which does not exist", where, s)
			}
			continue
		}
		if strings.HasSuffix(s, ".go") || !regexp.MustCompile(`^[a-z]\w*[A-Z]|\w\.\w`).MatchString(s) {
			continue
		}
		last := s[strings.LastIndex(s, ".")+1:]
		if !n.byPackage[pkg][last] && !(strings.Contains(s, ".") && n.all[last]) {
			t.Errorf("%s names %s, which does not exist", where, s)
		}
	}
}

// eachLine calls fn with the lines of a file and where they stand.
func eachLine(t *testing.T, path string, fn func(where, line string)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, sc := 1, bufio.NewScanner(strings.NewReader(string(b))); sc.Scan(); i++ {
		fn(strings.TrimPrefix(filepath.ToSlash(path), "../../")+":"+strconv.Itoa(i), sc.Text())
	}
}

func mustExist(t *testing.T, where, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s names %s, which does not exist", where, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
	}
}
