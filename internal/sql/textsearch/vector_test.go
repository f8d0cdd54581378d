package textsearch

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// TestManyOfOneWord checks that of a word that comes again and again no more positions are
// kept than a vector has, and which.
func TestManyOfOneWord(t *testing.T) {
	v, last, err := Simple.ToVector(strings.Repeat("b a ", 10000), 0, nil)
	if err != nil || last != 20000 || len(v) != 2 || v[0].Word != "a" {
		t.Fatal(len(v), last, err)
	}
	for i, l := range v {
		if len(l.Positions) != MaxPositions {
			t.Fatalf("%s has %d positions", l.Word, len(l.Positions))
		}
		for n, p := range l.Positions {
			if want := 2*n + 2 - i; int(p.Pos) != want {
				t.Fatalf("%s at %d, want %d", l.Word, p.Pos, want)
			}
		}
	}
	// Beyond the last position that can be told, all are the same one.
	v, _, err = Simple.ToVector(strings.Repeat("x ", MaxPosition)+"late late late", 0, nil)
	if err != nil || !reflect.DeepEqual(v[0], Lexeme{"late", []Position{{Pos: MaxPosition}}}) {
		t.Error(v[0], err)
	}
}

// TestSteps checks that work on a text ends with the error of its Step.
func TestSteps(t *testing.T) {
	stop := errors.New("stop")
	text := strings.Repeat("some words ", 1000)
	for name, work := range map[string]func(Step) error{
		"vector":   func(s Step) error { _, _, err := English.ToVector(text, 0, s); return err },
		"tokens":   func(s Step) error { _, err := Parse(text, s); return err },
		"headline": func(s Step) error { _, err := English.Headline(text, nil, DefaultHeadline, s); return err },
	} {
		bytes := 0
		err := work(func(n int) error {
			if bytes += n; bytes >= 5000 {
				return stop
			}
			return nil
		})
		if err != stop || bytes > 5010 {
			t.Errorf("%s: %v after %d bytes", name, err, bytes)
		}
	}
	if words, err := English.words(strings.Repeat("word ", 100000), 10, nil); len(words) > 12 || err != nil {
		t.Errorf("%d words of at most 10, %v", len(words), err)
	}
}

// TestRewriteLong: a part of a long query is replaced without a look at the text of every part, of which
// there is a quadratic amount.
func TestRewriteLong(t *testing.T) {
	const operands = 4096
	q := &Query{Word: "b"}
	for range operands {
		q = Combine(OpAnd, q, &Query{Word: "a"}, 0)
	}
	target := Combine(OpAnd, &Query{Word: "b"}, &Query{Word: "a"}, 0)
	var got *Query
	if most, n := 2.0*operands, testing.AllocsPerRun(1, func() { got = q.Rewrite(target, &Query{Word: "c"}) }); n > most {
		t.Errorf("%v allocations, want %v at most", n, most)
	}
	if want := "'c'" + strings.Repeat(" & 'a'", operands-1); got.String() != want {
		t.Errorf("got %.50s… of %d operands, want %.50s… of %d", got, (got.Nodes()+1)/2, want, operands)
	}
}
