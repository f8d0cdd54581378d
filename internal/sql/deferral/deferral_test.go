package deferral_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deferral"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The constraints of tables.
const (
	firstOid  = 11
	secondOid = 12
)

// tables are a catalog with a deferrable constraint each, and one that is not.
type tables struct{}

func (tables) SearchPath() []string { return []string{"public"} }

func (tables) FindSchema(_ context.Context, name string) (*catalog.Schema, error) {
	if name != "public" {
		return nil, nil
	}
	s := &catalog.Schema{}
	s.ID = 2
	return s, nil
}

func (tables) Descriptors(context.Context) ([]catalog.Descriptor, error) {
	return []catalog.Descriptor{table(1, "first_key", firstOid), table(2, "second_key", secondOid), table(3, "rigid", 0)}, nil
}

// table returns a table with a key, which is deferrable if it has an oid.
func table(id catalog.ID, key string, oid uint32) *catalog.Table {
	t := &catalog.Table{Indexes: []catalog.Index{{Constraint: true, ConstraintName: key, ConstraintOid: oid, Deferrable: oid != 0}}}
	t.ID, t.Schema = id, 2
	return t
}

func check(id catalog.ID, oid uint32) *operator.Deferred {
	t := table(id, "key", oid)
	return &operator.Deferred{Table: t, Index: &t.Indexes[0]}
}

func set(deferred bool, names ...string) *ast.SetConstraints {
	st := &ast.SetConstraints{All: names == nil, Deferred: deferred}
	for _, n := range names {
		st.Names = append(st.Names, ast.TableName{Table: n})
	}
	return st
}

func deferAll(t *testing.T, c *deferral.Constraints, checks ...*operator.Deferred) {
	t.Helper()
	for _, d := range checks {
		if err := c.Defer(d); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedCheckWaits keeps what failed in the queue, and what SET CONSTRAINTS did not name.
func TestFailedCheckWaits(t *testing.T) {
	var c deferral.Constraints
	var made []catalog.ID
	failure := errors.New("23503")
	c.Init(func(_ context.Context, checks []*operator.Deferred) error {
		for _, d := range checks {
			made = append(made, d.WaitsOn().ID)
		}
		return failure
	})
	deferAll(t, &c, check(1, firstOid), check(2, secondOid))
	if err := c.Set(t.Context(), set(false, "second_key"), tables{}, true); !errors.Is(err, failure) {
		t.Errorf("the check did not fail: %v", err)
	}
	if len(made) != 1 || made[0] != 2 {
		t.Errorf("checks of tables %v were made", made)
	}
	if !c.WaitOn(2) {
		t.Error("a check that failed does not wait any more")
	}
	failure = nil
	if err := c.Set(t.Context(), set(false, "second_key"), tables{}, true); err != nil {
		t.Error(err)
	}
	if c.WaitOn(2) || !c.WaitOn(1) {
		t.Error("the check that was made waits, or the other does not")
	}
	if err := c.Check(t.Context()); err != nil || c.WaitOn(1) {
		t.Errorf("after all checks: %v", err)
	}
}

// TestSavepoint returns to the same state twice.
func TestSavepoint(t *testing.T) {
	var c deferral.Constraints
	c.Init(func(context.Context, []*operator.Deferred) error { return nil })
	if err := c.Set(t.Context(), set(true, "first_key"), tables{}, true); err != nil {
		t.Fatal(err)
	}
	deferAll(t, &c, check(1, firstOid))
	mark := c.Mark()
	for range 2 {
		deferAll(t, &c, check(2, secondOid))
		if err := c.Set(t.Context(), set(false), tables{}, true); err != nil {
			t.Fatal(err)
		}
		if c.WaitOn(1) || c.Deferred(firstOid, true) {
			t.Error("SET CONSTRAINTS ALL IMMEDIATE has left something")
		}
		c.RollbackTo(mark)
		if !c.WaitOn(1) || c.WaitOn(2) || !c.Deferred(firstOid, false) || c.Deferred(secondOid, false) {
			t.Error("the savepoint is not what it was")
		}
	}
	waiting := c.Waiting()
	deferAll(t, &c, check(2, secondOid))
	if c.Restore(waiting); c.WaitOn(2) || !c.WaitOn(1) {
		t.Error("a statement that is run again has left a check")
	}
}

func TestNames(t *testing.T) {
	for _, x := range []struct {
		st   *ast.SetConstraints
		code pgerr.Code
	}{
		{set(true, "absent"), pgerr.UndefinedObject},
		{set(true, "rigid"), pgerr.WrongObjectType},
		{set(false, "rigid"), ""},
		{&ast.SetConstraints{Names: []ast.TableName{{Schema: "nowhere", Table: "first_key"}}}, pgerr.InvalidSchemaName},
	} {
		var c deferral.Constraints
		err := c.Set(t.Context(), x.st, tables{}, false)
		if (err == nil) != (x.code == "") || err != nil && pgerr.From(err).Code != x.code {
			t.Errorf("%v: %v, want %q", x.st.Names, err, x.code)
		}
	}
}
