package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// untilOutOfMemory calls f until it fails with 53200, and returns how often it did not.
func untilOutOfMemory(t *testing.T, most int, f func(i int) error) int {
	t.Helper()
	for i := range most {
		switch err := f(i); {
		case err == nil:
		case pgerr.CodeOf(err) == pgerr.OutOfMemory:
			return i
		default:
			t.Fatal(err)
		}
	}
	t.Fatalf("%d calls found memory", most)
	return 0
}

// heldBytes is what sessions may keep in TestMemoryOfPreparedStatements.
const heldBytes = 1 << 20

// TestMemoryOfPreparedStatements prepares statements until there is no memory for another,
// and gives them back in each way there is: as many find room each time.
func TestMemoryOfPreparedStatements(t *testing.T) {
	ctx := context.Background()
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 2 * heldBytes})
	defer closeNode(t, n)
	var s *sql.Session
	parse := func(i int) error {
		_, err := s.Prepare(ctx, fmt.Sprintf("p%d", i), fmt.Sprintf("SELECT %d + $1::int", i), nil, &discard{})
		return err
	}
	fill := func() int { return untilOutOfMemory(t, 10_000, parse) }
	s = n.session(t)
	room := fill()
	if room < 1000 {
		t.Errorf("room for %d statements only", room)
	}
	for _, name := range []string{"p5", "p5", "p6"} { // their trees had to give way
		p, err := s.Statement(name)
		if err != nil {
			t.Fatal(err)
		}
		portal, err := s.Bind(ctx, "", p, []types.Datum{types.NewInt(1)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Execute(ctx, portal, 0, true, &discard{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, "EXECUTE p7(35)"); got != "42" { // its plan had to give way
		t.Errorf("EXECUTE: %s", got)
	}
	t.Logf("room for %d statements, %d bytes each", room, heldBytes/room)
	for name, forget := range map[string]func(){
		"Close": func() {
			for i := range room {
				s.CloseStatement(fmt.Sprintf("p%d", i))
			}
		},
		"DEALLOCATE ALL": func() { answer(t, s, "DEALLOCATE ALL") },
		"DISCARD ALL":    func() { answer(t, s, "DISCARD ALL") },
		"end":            func() { s.Close(); s = n.session(t) },
	} {
		forget()
		if got := fill(); got != room {
			t.Errorf("after %s: room for %d statements, at first for %d", name, got, room)
		}
	}
	other := n.session(t)
	defer other.Close()
	large := "SELECT " + strings.Repeat("1 + ", 2000) + "1"
	untilOutOfMemory(t, room/10, func(i int) error { // of what is kept for those who begin
		_, err := other.Prepare(ctx, fmt.Sprintf("q%d", i), large, nil, &discard{})
		return err
	})
	s.Close()
	if _, err := other.Prepare(ctx, "p", "SELECT 1", nil, &discard{}); err != nil {
		t.Errorf("after the end of the first session: %v", err)
	}
}

// TestMemoryOfPortals binds portals with large parameters until there is no memory.
func TestMemoryOfPortals(t *testing.T) {
	ctx := context.Background()
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 4 << 20})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	p, err := s.Prepare(ctx, "", "SELECT $1::text", nil, &discard{})
	if err != nil {
		t.Fatal(err)
	}
	arg := []types.Datum{types.NewString(strings.Repeat("x", 16<<10))}
	bind := func(i int) error {
		_, err := s.Bind(ctx, fmt.Sprintf("c%d", i), p, arg)
		return err
	}
	room := untilOutOfMemory(t, 10_000, bind)
	for i := range room {
		s.ClosePortal(fmt.Sprintf("c%d", i))
	}
	if got := untilOutOfMemory(t, 10_000, bind); room == 0 || got != room {
		t.Errorf("room for %d portals, at first for %d", got, room)
	}
}

// TestMemoryOfUnnamed has sessions hold unnamed statements and portals until there is no memory
// for another. Small ones count for nothing, and all is given back.
func TestMemoryOfUnnamed(t *testing.T) {
	ctx := context.Background()
	n := openNode(t, fs.NewMem(), nodeOptions{mem: 4 << 20})
	defer closeNode(t, n)
	var open []*sql.Session
	hold := func(s *sql.Session, text string, params ...types.Datum) error {
		p, err := s.Prepare(ctx, "", text, nil, &discard{})
		if err == nil {
			_, err = s.Bind(ctx, "", p, params)
		}
		return err
	}
	another := func() *sql.Session {
		open = append(open, n.session(t))
		return open[len(open)-1]
	}
	end := func(name string) {
		t.Helper()
		for _, s := range open {
			s.Close()
		}
		if open = nil; n.sql.MemoryUsed() != 0 {
			t.Errorf("%s: %d bytes are left", name, n.sql.MemoryUsed())
		}
	}
	many := make([]types.Datum, 500)
	sum := "SELECT 0"
	for i := range many {
		many[i] = types.NewInt(1)
		sum += fmt.Sprintf(" + $%d::int", i+1)
	}
	long := strings.Repeat("x", 60<<10)
	for name, f := range map[string]func(int) error{
		"long text":       func(i int) error { return hold(another(), fmt.Sprintf("SELECT %d /* %s */", i, long)) },
		"long parameter":  func(int) error { return hold(another(), "SELECT $1::text", types.NewString(long)) },
		"many parameters": func(int) error { return hold(another(), sum, many...) },
	} {
		if room := untilOutOfMemory(t, 1000, f); room == 0 {
			t.Errorf("%s: no room for any", name)
		}
		end(name)
	}
	s := another()
	if err := hold(s, "SELECT $1::int", types.NewInt(1)); err != nil || n.sql.MemoryUsed() != 0 {
		t.Errorf("small: %v, %d bytes", err, n.sql.MemoryUsed())
	}
	for range 200 { // each replaces the last one
		if err := hold(s, sum, many...); err != nil {
			t.Fatal(err)
		}
	}
	end("replaced")
}
