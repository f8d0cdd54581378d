package layers_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// retired are words that have given way to the field's, and what to say instead. They come back
// neither in names nor in comments nor in the documentation.
var retired = map[string]string{
	"patience":    "timeout, or delay",
	"tenure":      "lease sequence, range generation, or fence",
	"thaw":        "unfreeze",
	"surrender":   "subsume",
	"heirs":       "candidates",
	"crew":        "worker pool",
	"company":     "commit delay",
	"companion":   "user data",
	"hurry":       "fail fast, or write timeout",
	"hurried":     "fail-fast timeout",
	"heir":        "target",
	"handover":    "lock transfer",
	"adopted":     "subsumed",
	"adopt":       "subsume",
	"calm":        "idle, or stable",
	"ceased":      "ended, or stopped",
	"book":        "registry",
	"life":        "incarnation, process, or lifetime",
	"asleep":      "quiesced",
	"border":      "boundary, bounds, or split key",
	"borders":     "boundaries, bounds, or split keys",
	"stir":        "heartbeat",
	"stirs":       "heartbeat",
	"parked":      "quiesced",
	"presumed":    "split leader",
	"presumption": "split leader",
	"doubtful":    "ambiguous",
	"doomed":      "must restart, or fatal",
	"hasty":       "without a quorum",
	"riders":      "deferred proposals",
	"haste":       "flush",
	"forsaken":    "orphaned, or abandoned",
	"kindle":      "campaign",
}

// glossaryTerm is a row of docs/glossary.md.
var glossaryTerm = regexp.MustCompile(`^\| ([^|(]+?) (?:\([^)]*\) )?\|`)

// TestGlossary requires that code says every term of the glossary, in a name or in a comment.
func TestGlossary(t *testing.T) {
	var text strings.Builder
	walk(t, filepath.Join(repository, "internal"), ".go", func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(" " + strings.Join(words(strings.ReplaceAll(string(b), "//", " ")), " ") + " ")
	})
	all := text.String()
	found := 0
	eachLine(t, filepath.Join(repository, "docs", "glossary.md"), func(where, line string) {
		m := glossaryTerm.FindStringSubmatch(line)
		if m == nil || m[1] == "word" || strings.HasPrefix(m[1], "---") {
			return
		}
		found++
		if term := " " + strings.Join(words(m[1]), " "); !strings.Contains(all, term+" ") && !strings.Contains(all, term+"s ") {
			t.Errorf("%s: no code says %q", where, m[1])
		}
	})
	if found == 0 {
		t.Error("the glossary has no terms: has its form changed?")
	}
}

// plainEnglish are the retired words that the documentation may say in their everyday sense.
var plainEnglish = map[string]bool{"life": true}

// records are the documents that report the past in the words of their time.
var records = map[string]bool{"CHANGELOG.md": true, "verification.md": true}

// TestRetiredWords requires that the words of retired do not come back.
func TestRetiredWords(t *testing.T) {
	walk(t, repository, ".md", func(path string) {
		if records[filepath.Base(path)] {
			return
		}
		eachLine(t, path, func(where, line string) {
			for _, w := range words(line) {
				if instead := retired[w]; instead != "" && !plainEnglish[w] {
					t.Errorf("%s says %q: say %s", where, w, instead)
				}
			}
		})
	})
	for _, root := range []string{"internal", "cmd", "test"} {
		walk(t, filepath.Join(repository, root), ".go", func(path string) {
			if filepath.Base(path) != "words_test.go" {
				checkWords(t, path)
			}
		})
	}
}

// checkWords looks for retired words in the names and comments of a Go file.
func checkWords(t *testing.T, path string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile(path, -1, len(src)), src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return
		}
		if tok != token.IDENT && tok != token.COMMENT {
			continue
		}
		for _, w := range words(text) {
			if instead := retired[w]; instead != "" {
				t.Errorf("%s says %q: say %s", fset.Position(pos), w, instead)
			}
		}
	}
}

// words takes text apart into its words, in lower case; a name has a word at each capital letter.
func words(text string) (out []string) {
	begin := -1
	for i, r := range text + " " {
		if begin >= 0 && !unicode.IsLower(r) {
			out = append(out, strings.ToLower(text[begin:i]))
			begin = -1
		}
		if begin < 0 && unicode.IsLetter(r) {
			begin = i
		}
	}
	return out
}

func TestWords(t *testing.T) {
	got := strings.Join(words("rideDelay // a rider's, HTTPServer x1"), " ")
	if want := "ride delay a rider s h t t p server x"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
