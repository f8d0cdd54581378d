package layers_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
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
	byPackage map[string]*declarations // by the package's folder below internal
	all       map[string]bool
	funcs     map[string]bool // functions, methods, tests and types
	scripts   map[string]bool // the logic tests, as AREA/FILE
	testdata  map[string]bool // the files of all folders of that name, without what follows a dot
	files     map[string]bool // the names of all files but those of Go
	packages  map[string]bool
	imported  map[string]bool // the packages that are not ours
}

// declared reads the names of all Go files, tests included.
func declared(t *testing.T) *names {
	t.Helper()
	n := &names{byPackage: map[string]*declarations{}}
	for _, m := range []*map[string]bool{&n.all, &n.funcs, &n.scripts, &n.testdata, &n.files, &n.packages, &n.imported} {
		*m = map[string]bool{}
	}
	scripts := filepath.Join(repository, "internal", "sql", "testdata", "logic")
	walk(t, scripts, ".slt", func(path string) {
		name := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(scripts)+"/")
		n.scripts[strings.TrimSuffix(name, ".slt")] = true
	})
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "ROADMAP.md", "CHANGELOG.md"} {
		n.files[name] = true
	}
	walk(t, filepath.Join(repository, "docs"), "", func(path string) { n.files[filepath.Base(path)] = true })
	walk(t, filepath.Join(repository, "internal"), "", func(path string) {
		if !strings.HasSuffix(path, ".go") {
			n.files[filepath.Base(path)] = true
		}
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
	d := n.byPackage[dir]
	if d == nil {
		d = newDeclarations()
		n.byPackage[dir] = d
	}
	for _, name := range d.add(f) {
		n.all[name] = true
	}
	for _, imp := range f.Imports {
		if name := strings.Trim(imp.Path.Value, `"`); !strings.Contains(name, "/lichen/internal/") {
			n.imported[importName(name)] = true
		}
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			n.funcs[decl.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					n.funcs[s.Name.Name] = true
				}
			}
		}
	}
}

// importName returns the name of a package at a path, such as raft of go.etcd.io/raft/v3.
func importName(at string) string {
	if base := path.Base(at); !majorVersion.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(at))
}

// majorVersion is the last part of the paths of a module's later versions.
var majorVersion = regexp.MustCompile(`^v\d+$`)

var (
	testName = regexp.MustCompile(`\b(Test|Fuzz|Benchmark)[A-Z]\w+`)
	goFile   = regexp.MustCompile(`[\w/]+\.go\b`)
	// otherFile is a file of text.
	otherFile = regexp.MustCompile(`[\w/.-]+\.(?:md|txt|sql)\b`)
	mdLink    = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	mdPath    = regexp.MustCompile("`((?:internal|docs|bench|test|cmd)/[^` *…]+)`")
	// codeWord is a name that a doc.go may have anywhere: it has a capital inside, or stands behind a
	// package or a type and a dot.
	codeWord = regexp.MustCompile(`\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\b[a-z]\w*[A-Z]\w*`)
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

// checkDoc checks what a package's doc.go names: files, tests, and whatever looks like a name of code.
// Names in parentheses may be those of another package: (tear; TestTorn in store).
func (n *names) checkDoc(t *testing.T, path string) {
	dir := filepath.Dir(path)
	pkg := folder(path)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := paragraphs(string(src))
	n.checkTests(t, path, text)
	for _, f := range goFile.FindAllString(text, -1) {
		if strings.Contains(f, "/") {
			mustExist(t, path, filepath.Join(repository, "internal", f))
		} else {
			mustExist(t, path, filepath.Join(dir, f))
		}
	}
	for _, f := range otherFile.FindAllString(text, -1) {
		if base := filepath.Base(f); !n.files[base] {
			t.Errorf("%s names %s, which does not exist", path, f)
		}
	}
	text = otherFile.ReplaceAllString(text, "")
	var ms []mention
	for _, in := range inParentheses.FindAllString(text, -1) {
		ms = append(ms, n.mentioned(in)...)
	}
	for _, name := range codeWord.FindAllString(inParentheses.ReplaceAllString(text, ""), -1) {
		ms = append(ms, mention{name: name, code: true})
	}
	for _, m := range ms {
		if m.code && !n.elsewhere(m.name) && !n.visible(pkg, m) {
			t.Errorf("%s names %s, which does not exist there", path, m)
		}
	}
}

// noCode are words that look like names of code.
var noCode = map[string]bool{"pgSQL": true, "ReadyForQuery": true, "pg_hba.conf": true, "pg_ident.conf": true, "github.com": true, "golang.org": true}

// elsewhere reports whether a name is none of our code: one of SQL, which has an underscore and no capitals, one
// of an imported package, a file, or something that only looks like a name.
func (n *names) elsewhere(name string) bool {
	first, _, dotted := strings.Cut(name, ".")
	sqlName := strings.Contains(name, "_") && (strings.ToLower(name) == name || strings.ToUpper(name) == name)
	return sqlName || strings.HasSuffix(name, ".go") || dotted && n.imported[first] || n.isScript(name) || noCode[name]
}

// paragraphs returns the comment of a doc.go with its lines joined.
func paragraphs(src string) string {
	var words []string
	for line := range strings.Lines(src) {
		if comment, ok := strings.CutPrefix(line, "//"); ok {
			words = append(words, strings.Fields(comment)...)
		}
	}
	return strings.Join(words, " ")
}

func (n *names) checkTests(t *testing.T, where, line string) {
	t.Helper()
	for _, name := range testName.FindAllString(line, -1) {
		if !n.hasPrefix(name) {
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
