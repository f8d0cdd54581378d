package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sql/metamorphic"
	"github.com/lichendb/lichen/internal/sql/optimizer"
)

// checksPerRound is how many relations are checked over one schema.
const checksPerRound = 300

// Query implements metamorphic.DB.
func (s *server) Query(ctx context.Context, sql string) ([]string, error) {
	a := s.ask(ctx, sql)
	if a.code == "" {
		return a.rows, nil
	}
	if err := s.revive(ctx); err != nil {
		return nil, &metamorphic.Error{Code: "lost", Message: err.Error()}
	}
	return nil, &metamorphic.Error{Code: a.code, Message: a.message}
}

// runRelations checks n relations, those named if any is, prints what contradicts itself, and returns the program's exit code.
func runRelations(lichen string, names []string, n int, seed uint64, limit time.Duration) int {
	ctx, until := context.Background(), time.Now().Add(limit)
	db := &server{name: "Lichen", url: lichen}
	if err := db.connect(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		return 2
	}
	checked, skipped, found := map[string]int{}, map[string]int{}, 0
	ran := 0
	for ; ran < n && time.Now().Before(until); seed++ {
		c := metamorphic.New(seed, optimizer.Rules(), names...)
		if err := c.Setup(ctx, db); err != nil {
			fmt.Fprintln(os.Stderr, "differential:", err)
			return 2
		}
		for range checksPerRound {
			ran++
			if f := c.Check(); f != nil {
				found++
				fmt.Printf("seed %d: %v\n\n", seed, f)
			}
		}
		for _, name := range metamorphic.Relations() {
			checked[name] += c.Checked[name]
			skipped[name] += c.Skipped[name]
		}
	}
	fmt.Printf("%d checks, before seed %d; %d contradictions\n", ran, seed, found)
	for _, name := range slices.Sorted(slices.Values(metamorphic.Relations())) {
		fmt.Printf("%7d held, %6d met an error: %s\n", checked[name], skipped[name], name)
	}
	if found > 0 {
		return 1
	}
	return 0
}
