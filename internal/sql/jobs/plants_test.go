//go:build plants

package jobs

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/plant"
)

// A runner that does not heed the claim makes the change after another has taken the job over.
func TestPlantsClaim(t *testing.T) {
	defer plant.Choose(plant.ClaimUnheeded)()
	s := open(t)
	former := still(s, survivor(t, s, s.past()-1), func(bool) {})
	expire(t, s, 5)
	j, err := s.Claim(ctx, 5, 2, func(bool) {})
	if err != nil || j == nil {
		t.Fatal(err)
	}
	defer j.halt()
	if err := s.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error { return former.Publish(ctx, t) }); err != nil {
		t.Errorf("the plant was not found: %v", err)
	}
}
