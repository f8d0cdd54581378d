package logictest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Cluster is what a script runs on, new for each.
type Cluster interface {
	// Session starts a session; i counts those that the script has started before.
	Session(ctx context.Context, i int) (*sql.Session, error)
	// Restart ends what is not on disk; there are no sessions then.
	Restart() error
	// Settle is called after each statement.
	Settle(ctx context.Context) error
	Close() error
}

// Configuration is a way to run scripts.
type Configuration struct {
	Name string
	// Plans says that plans are what the scripts show.
	Plans bool
	// Order says that rows come in the order that the scripts show even where no ORDER
	// BY asks for it.
	Order bool
	// Rewrite, if not nil, gets the scripts with the rows that queries returned, which
	// are not compared.
	Rewrite func(path, script string) error
	New     func(t *testing.T) Cluster
	// Blocks puts statements that succeed into serializable transaction blocks, several
	// into each.
	Blocks bool
	// Within runs a script's test, in virtual time for example; nil: it runs as it is.
	Within func(t *testing.T, test func(t *testing.T))
}

// Script is a file of records. Its name is its path below the directory of all scripts: the
// area, a slash and what it is about, as in ddl/namespaces.
type Script struct {
	Name, path string
}

// Scripts returns the scripts in the folders of a directory, one for each area, in the order of
// their names.
func Scripts(t *testing.T, dir string) []Script {
	t.Helper()
	var scripts []Script
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, ".slt"); ok {
			if !strings.Contains(path, "/") {
				t.Errorf("%s lies in no folder: put it into that of its area", path)
			}
			scripts = append(scripts, Script{name, filepath.Join(dir, path)})
		}
		return err
	})
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	return scripts
}

// Run runs scripts, each as a test of its own, and fails if the flag -run selects none: a
// mistaken name must not look like a success.
func Run(t *testing.T, scripts []Script, cfg Configuration) {
	ran := false
	for _, s := range scripts {
		t.Run(s.Name, func(t *testing.T) {
			ran = true
			test := func(t *testing.T) { runScript(t, s, &cfg) }
			if cfg.Within != nil {
				cfg.Within(t, test)
			} else {
				test(t)
			}
		})
	}
	if !ran {
		t.Error("-run selects no script: they are named AREA/FILE, and an empty AREA stands for all")
	}
}

// record is a part of a script between blank lines.
type record struct {
	comments []string
	lines    []string
	line     int
}

// read cuts a script into records.
func read(src string) []record {
	var list []record
	for i, text := range strings.Split(src, "\n") {
		last := len(list) - 1
		if strings.TrimSpace(text) == "" {
			if last < 0 || list[last].line > 0 {
				list = append(list, record{})
			}
			continue
		}
		if last < 0 {
			list, last = append(list, record{}), 0
		}
		r := &list[last]
		if r.line == 0 {
			r.line = i + 1
		}
		if len(r.lines) == 0 && strings.HasPrefix(text, "#") {
			r.comments = append(r.comments, text)
		} else {
			r.lines = append(r.lines, text)
		}
	}
	return slices.DeleteFunc(list, func(r record) bool { return r.line == 0 })
}

// script is one that runs.
type script struct {
	t        *testing.T
	cfg      *Configuration
	cluster  Cluster
	sessions map[string]*sql.Session
	cur      string
	blocks   blocks
	out      strings.Builder // the script with the rows that came
}

func runScript(t *testing.T, s Script, cfg *Configuration) {
	src, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	records := read(string(src))
	for _, r := range records {
		if len(r.lines) > 0 && r.lines[0] == "skip "+cfg.Name {
			t.Skip(strings.Join(r.comments, "\n"))
		}
	}
	sc := &script{t: t, cfg: cfg, cluster: cfg.New(t), sessions: map[string]*sql.Session{}, cur: "default"}
	defer func() {
		sc.closeAll()
		if err := sc.cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	defer sc.endBlock("the end")
	for i, r := range records {
		if i > 0 {
			sc.out.WriteString("\n")
		}
		for _, l := range r.comments {
			sc.out.WriteString(l + "\n")
		}
		if len(r.lines) > 0 {
			sc.run(fmt.Sprintf("%s:%d", filepath.Base(s.path), r.line), r.lines)
		}
	}
	if cfg.Rewrite != nil {
		if err := cfg.Rewrite(s.path, sc.out.String()); err != nil {
			t.Fatal(err)
		}
	}
}

func (sc *script) session() *sql.Session {
	s := sc.sessions[sc.cur]
	if s == nil {
		var err error
		if s, err = sc.cluster.Session(context.Background(), len(sc.sessions)); err != nil {
			sc.t.Fatal(err)
		}
		sc.sessions[sc.cur] = s
	}
	return s
}

func (sc *script) closeAll() {
	for _, s := range sc.sessions {
		s.Close()
	}
	clear(sc.sessions)
}

// run runs a record.
func (sc *script) run(at string, lines []string) {
	sc.out.WriteString(lines[0] + "\n")
	switch head := strings.Fields(lines[0]); head[0] {
	case "skip":
	case "session":
		sc.endBlock(at)
		sc.cur = head[1]
	case "restart":
		sc.endBlock(at)
		sc.closeAll()
		if err := sc.cluster.Restart(); err != nil {
			sc.t.Fatal(err)
		}
	case "statement", "query":
		sc.ask(at, head, lines[1:])
	default:
		sc.t.Fatalf("%s: unknown record %q", at, lines[0])
	}
}

// endBlock commits the block that is open, if there is one.
func (sc *script) endBlock(at string) {
	if err := sc.blocks.end(); err != nil {
		sc.t.Errorf("%s: the commit of a block: %v (%s)", at, err, pgerr.CodeOf(err))
	}
}

// ask runs a statement and judges its answer.
func (sc *script) ask(at string, head, lines []string) {
	stmt, want := lines, []string(nil)
	if i := slices.Index(lines, "----"); i >= 0 {
		stmt, want = lines[:i], lines[i+1:]
	}
	text := strings.Join(stmt, "\n")
	sc.out.WriteString(text + "\n")
	s := sc.session()
	if sc.cfg.Blocks {
		if err := sc.blocks.before(s, head, text); err != nil {
			sc.t.Errorf("%s: a block before %s: %v (%s)", at, text, err, pgerr.CodeOf(err))
		}
	}
	r := NewRows(s)
	err := s.Query(context.Background(), text, r)
	if head[0] == "statement" {
		code := pgerr.Code("")
		if head[1] == "error" {
			code = pgerr.Code(head[2])
		}
		if got := pgerr.CodeOf(err); got != code {
			sc.t.Errorf("%s: %s: error %v (%s), want %q", at, text, err, got, code)
		}
	} else if err != nil {
		sc.t.Errorf("%s: %s: %v (%s)", at, text, err, pgerr.CodeOf(err))
	} else {
		sc.compare(at, head, text, r.Lines, want)
	}
	if err := sc.cluster.Settle(context.Background()); err != nil {
		sc.t.Fatalf("%s: %v", at, err)
	}
}

var (
	blanks  = regexp.MustCompile(`  +`)
	ordered = regexp.MustCompile(`(?i)\border\s+by\b|\bexplain\b|\bcopy\b|\bshow\b`)
	showing = regexp.MustCompile(`(?i)^\s*explain\b`)
)

// compare compares rows with those that a script shows.
func (sc *script) compare(at string, head []string, text string, got, want []string) {
	if len(head) > 1 && head[1] == "rowsort" {
		slices.Sort(got)
	}
	sc.out.WriteString("----\n")
	for _, l := range got {
		sc.out.WriteString(l + "\n")
	}
	if sc.cfg.Rewrite != nil || !sc.cfg.Plans && showing.MatchString(text) {
		return
	}
	if !sc.cfg.Order && !ordered.MatchString(text) {
		got = slices.Sorted(strings.SplitSeq(strings.Join(got, "\n"), "\n")) // a row may have several lines
		want = slices.Sorted(slices.Values(want))
	}
	g, w := strings.Join(got, "\n"), strings.Join(want, "\n")
	if blanks.ReplaceAllString(g, "  ") != blanks.ReplaceAllString(w, "  ") {
		sc.t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", at, text, g, w)
	}
}
