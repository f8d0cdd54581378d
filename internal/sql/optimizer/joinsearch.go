package optimizer

import (
	"math"
	"slices"
)

const (
	// maxJoinSearch bounds the relations whose orders are all compared.
	maxJoinSearch = 10
	// Of more of them the order is put together step by step, the cheapest next, beginning
	// with each of maxJoinStarts relations; the best one is improved by moving relations
	// until none is gained by it, or maxJoinMoves steps were estimated.
	maxJoinStarts = 8
	maxJoinMoves  = 50_000
)

// order chooses the order in which the relations are joined, always the same one.
func (g *joinGraph) order() []int {
	if len(g.rels) <= maxJoinSearch {
		return g.search()
	}
	var best []int
	var least orderCost
	for _, start := range g.starts() {
		order := g.greedy(start)
		if cost := g.cost(order); best == nil || cost.less(least) {
			best, least = order, cost
		}
	}
	return g.improve(best, least)
}

// orderCost is what an order of many relations costs. First it counts how often relations
// are joined that nothing connects, whatever is estimated: a product of many estimates is
// not to be relied on that much.
type orderCost struct {
	products int
	cost     float64
}

func (c orderCost) less(d orderCost) bool {
	return c.products < d.products || c.products == d.products && c.cost < d.cost
}

// linked reports whether a condition connects relation i to those of s.
func (g *joinGraph) linked(s relSet, i int) bool {
	for _, k := range g.of[i] {
		if e := &g.edges[k]; e.rels.withinAnd(s, i) && e.rels.len() > 1 {
			return true
		}
	}
	return false
}

// search compares all orders: of each set of relations it keeps the cheapest way to
// join it, smaller sets first.
func (g *joinGraph) search() []int {
	type best struct {
		cost, rows float64
		last       int8
	}
	n := len(g.rels)
	sets := make([]best, 1<<n)
	sets[0].rows = 1
	rest := newRelSet(n)
	for s := 1; s < len(sets); s++ {
		g.tick()
		b := best{cost: math.Inf(1)}
		for i := range n {
			if s&(1<<i) == 0 {
				continue
			}
			rest[0] = uint64(s &^ (1 << i))
			before := &sets[rest[0]]
			rows := max(g.joined(rest, before.rows, i), leastJoined)
			cost := g.first(i)
			if rest[0] != 0 {
				cost = before.cost + g.step(rest, max(before.rows, 1), i, max(rows, 1))
			}
			if cost < b.cost {
				b.cost, b.last = cost, int8(i)
			}
			b.rows = rows // by whichever relation comes last
		}
		sets[s] = b
	}
	order := make([]int, n)
	for s, k := len(sets)-1, n-1; k >= 0; k-- {
		order[k] = int(sets[s].last)
		s &^= 1 << order[k]
	}
	return order
}

// leastJoined keeps products of many selectivities from vanishing.
const leastJoined = 1e-100

// starts returns the relations with the fewest rows.
func (g *joinGraph) starts() []int {
	all := make([]int, len(g.rels))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		switch ra, rb := g.rels[a].rows, g.rels[b].rows; {
		case ra < rb:
			return -1
		case ra > rb:
			return 1
		}
		return 0
	})
	return all[:min(len(all), maxJoinStarts)]
}

// greedy begins with a relation and adds the cheapest one next.
func (g *joinGraph) greedy(start int) []int {
	n := len(g.rels)
	order, set, rows := []int{start}, newRelSet(n, start), g.rels[start].rows
	for len(order) < n {
		next, size := -1, 0.0
		var least orderCost
		for i := range n {
			g.tick()
			if set.has(i) {
				continue
			}
			joined := g.joined(set, rows, i)
			out := max(joined, 1)
			c := orderCost{cost: g.step(set, max(rows, 1), i, out) + out*costTuple}
			if !g.linked(set, i) {
				c.products = 1
			}
			if next < 0 || c.less(least) {
				next, least, size = i, c, max(joined, leastJoined)
			}
		}
		order, rows = append(order, next), size
		set.add(next)
	}
	return order
}

// cost estimates what joining in an order costs.
func (g *joinGraph) cost(order []int) (c orderCost) {
	set, rows := newRelSet(len(g.rels)), 1.0
	for k, i := range order {
		g.tick()
		joined := max(g.joined(set, rows, i), leastJoined)
		if k == 0 {
			c.cost = g.first(i)
		} else {
			c.cost += g.step(set, max(rows, 1), i, max(joined, 1))
			if !g.linked(set, i) {
				c.products++
			}
		}
		rows = joined
		set.add(i)
	}
	return c
}

// improve moves relations to other places of an order while that makes it cheaper.
func (g *joinGraph) improve(order []int, cost orderCost) []int {
	tried := make([]int, len(order))
	left := maxJoinMoves
	for gained := true; gained; {
		gained = false
		for from := range order {
			for to := range order {
				if from == to {
					continue
				}
				if left -= len(order); left < 0 {
					return order
				}
				move(tried, order, from, to)
				if c := g.cost(tried); c.less(cost) {
					order, tried, cost, gained = tried, order, c, true
				}
			}
		}
	}
	return order
}

// move sets dst to order with one of its elements in another place.
func move(dst, order []int, from, to int) {
	copy(dst, order)
	x := dst[from]
	copy(dst[from:], order[from+1:])
	copy(dst[to+1:], dst[to:len(dst)-1])
	dst[to] = x
}
