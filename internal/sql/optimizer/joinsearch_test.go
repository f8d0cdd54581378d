package optimizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// shape is a join graph of n relations with edges between pairs.
func shape(n int, rng *rand.Rand, pairs func(add func(a, b int))) *joinGraph {
	g := &joinGraph{of: make([][]int, n), tick: func() {}}
	for range n {
		rows := float64(1 + rng.IntN(100_000))
		g.rels = append(g.rels, graphRel{rows: rows, whole: rows, read: rows * costRow})
	}
	pairs(func(a, b int) {
		e := graphEdge{rels: newRelSet(n, a, b), lookups: newRelSet(n), sel: 1 / max(g.rels[a].rows, g.rels[b].rows)}
		if rng.IntN(2) == 0 {
			e.lookups.add(a)
		}
		g.addEdge(e)
	})
	return g
}

var joinShapes = map[string]func(n int, add func(a, b int)){
	"chain": func(n int, add func(a, b int)) {
		for i := 1; i < n; i++ {
			add(i-1, i)
		}
	},
	"star": func(n int, add func(a, b int)) {
		for i := 1; i < n; i++ {
			add(0, i)
		}
	},
	"clique": func(n int, add func(a, b int)) {
		for i := range n {
			for k := range i {
				add(i, k)
			}
		}
	},
	"cycle": func(n int, add func(a, b int)) {
		for i := range n {
			add(i, (i+1)%n)
		}
	},
	"apart": func(int, func(a, b int)) {},
}

// TestJoinOrders: every order has each relation once and is the same each time; those of
// many relations never join what nothing connects while something is connected.
func TestJoinOrders(t *testing.T) {
	for name, pairs := range joinShapes {
		for _, n := range []int{11, 33, 64, 65, 100} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				g := shape(n, rand.New(rand.NewPCG(1, uint64(n))), func(add func(a, b int)) { pairs(n, add) })
				order := g.order()
				if again := g.order(); !slices.Equal(order, again) {
					t.Errorf("%v, then %v", order, again)
				}
				sorted := slices.Sorted(slices.Values(order))
				for i := range n {
					if sorted[i] != i {
						t.Fatalf("%v is no order", order)
					}
				}
				set := newRelSet(n, order[0])
				for _, i := range order[1:] {
					linked := name == "apart"
					for _, k := range g.of[i] {
						linked = linked || g.edges[k].rels.withinAnd(set, i)
					}
					if !linked {
						t.Errorf("%v: nothing connects %d to those before", order, i)
					}
					set.add(i)
				}
			})
		}
	}
}

// TestJoinOrderQuality: what is found step by step costs little more than the best of all
// orders.
func TestJoinOrderQuality(t *testing.T) {
	for name, pairs := range joinShapes {
		worst := 1.0
		for seed := range uint64(20) {
			g := shape(9, rand.New(rand.NewPCG(2, seed)), func(add func(a, b int)) { pairs(9, add) })
			best := g.cost(g.search()).cost
			start := g.greedy(g.starts()[0])
			worst = max(worst, g.cost(g.improve(start, g.cost(start))).cost/best)
		}
		if worst > 2 {
			t.Errorf("%s: up to %.2f times the best", name, worst)
		}
	}
}

func BenchmarkJoinOrder(b *testing.B) {
	for name, pairs := range joinShapes {
		for _, n := range []int{10, 33, 100} {
			g := shape(n, rand.New(rand.NewPCG(1, uint64(n))), func(add func(a, b int)) { pairs(n, add) })
			b.Run(fmt.Sprint(name, n), func(b *testing.B) {
				for b.Loop() {
					g.order()
				}
			})
		}
	}
}
