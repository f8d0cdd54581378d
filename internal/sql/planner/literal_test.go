package planner

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lookedAt counts the looks at a context.
type lookedAt struct {
	context.Context
	looks int
	after int // it is cancelled after so many
}

func (c *lookedAt) Err() error {
	if c.looks++; c.looks > c.after {
		return context.Canceled
	}
	return nil
}

// TestLongLiteral reads an array of 200,000 elements: the planner looks at the context meanwhile, and no longer once
// that has ended.
func TestLongLiteral(t *testing.T) {
	const n = 200_000
	text := "{" + strings.Repeat("12,", n) + "12}"
	c := &lookedAt{Context: t.Context(), after: 1 << 30}
	b := &builder{ctx: c, env: &Env{Format: types.NewFormatContext()}}
	x, err := b.literal(text, types.Int4Array, plan.CastExplicit, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for range x.(*plan.Const).D.ArrayElems() {
		got++
	}
	if got != n+1 {
		t.Errorf("%d elements", got)
	}
	if c.looks < n/stepsPerLook {
		t.Errorf("looked %d times", c.looks)
	}
	c = &lookedAt{Context: t.Context(), after: 2}
	b.ctx = c
	if _, err := b.literal(text, types.Int4Array, plan.CastExplicit, 0); err != context.Canceled {
		t.Errorf("once cancelled: %v", err)
	}
}
