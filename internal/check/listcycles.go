package check

import (
	"fmt"
	"slices"
	"strings"
)

// edgeKind says why one transaction comes before another.
type edgeKind uint8

const (
	ww edgeKind = 1 << iota // the other appended after it
	wr                      // the other read what it appended
	rw                      // the other appended after what it read
)

func (k edgeKind) String() string {
	switch k {
	case ww:
		return "ww"
	case wr:
		return "wr"
	}
	return "rw"
}

type listEdge struct {
	kind edgeKind
	to   *listTxn
	key  string
}

// edges finds what each list says about the order of transactions.
func (g *listGraph) edges() {
	add := func(from, to *listTxn, kind edgeKind, key string) {
		if from == nil || to == nil || from == to || !from.committed || !to.committed {
			return
		}
		e := listEdge{kind, to, key}
		if !slices.ContainsFunc(from.out, func(o listEdge) bool { return o.kind == kind && o.to == to }) {
			from.out = append(from.out, e)
		}
	}
	unseen := g.unseen()
	for key, list := range g.lists {
		for i := 1; i < len(list); i++ {
			add(g.values[listValue{key, list[i-1]}], g.values[listValue{key, list[i]}], ww, key)
		}
		for _, w := range unseen[key] {
			if len(list) > 0 {
				add(g.values[listValue{key, list[len(list)-1]}], w, ww, key)
			}
		}
	}
	for _, x := range g.txns {
		for _, r := range x.reads {
			n := len(r.seen)
			if n > 0 {
				add(g.values[listValue{r.key, r.seen[n-1]}], x, wr, r.key)
			}
			switch list := g.lists[r.key]; {
			case !x.committed || n > len(list):
			case n < len(list):
				add(x, g.values[listValue{r.key, list[n]}], rw, r.key)
			default:
				for _, w := range unseen[r.key] {
					add(x, w, rw, r.key)
				}
			}
		}
	}
}

// unseen returns who appended what nobody saw: that comes after all that was seen, in
// an unknown order.
func (g *listGraph) unseen() map[string][]*listTxn {
	there := map[listValue]bool{}
	for key, list := range g.lists {
		for _, v := range list {
			there[listValue{key, v}] = true
		}
	}
	out := map[string][]*listTxn{}
	for _, x := range g.txns {
		for key, values := range x.appends {
			if x.committed && !there[listValue{key, values[0]}] {
				out[key] = append(out[key], x)
			}
		}
	}
	return out
}

// maxCycleSteps bounds the search for cycles of one class.
const maxCycleSteps = 20_000_000

// search looks for cycles of one class.
type search struct {
	anomaly Anomaly
	kinds   edgeKind // of the edges that such a cycle has
	first   edgeKind // one of them is of this kind
	what    string
	// next says where an edge leads from a place, if a cycle of the class may go there;
	// closed, whether it may end so.
	next   func(place, listEdge) (place, bool)
	closed func(place) bool
}

// place is a transaction, and whether the edge that led to it was an rw edge.
type place struct {
	x       *listTxn
	afterRW bool
}

func searches() []search {
	always := func(place) bool { return true }
	only := func(kinds edgeKind) func(place, listEdge) (place, bool) {
		return func(_ place, e listEdge) (place, bool) { return place{e.to, false}, e.kind&kinds != 0 }
	}
	return []search{
		{G0, ww, ww, "writes in a circle", only(ww), always},
		{G1c, ww | wr, wr, "writes and reads in a circle", only(ww | wr), always},
		{GSingle, ww | wr | rw, rw, "what a read did not see came before it", only(ww | wr), always},
		{
			GNonadjacent, ww | wr | rw, rw, "what reads did not see came before them",
			func(p place, e listEdge) (place, bool) {
				return place{e.to, e.kind == rw}, !p.afterRW || e.kind != rw
			},
			func(p place) bool { return !p.afterRW },
		},
		{G2, ww | wr | rw, rw, "reads that did not see what the others wrote", only(ww | wr | rw), always},
	}
}

// cycles returns a cycle of each class, the worst first, and the classes for which
// the search was given up.
func (g *listGraph) cycles() (found []Finding, tired []Anomaly) {
	for _, s := range searches() {
		path, ok := g.cycle(s)
		if !ok {
			tired = append(tired, s.anomaly)
		}
		if path == nil {
			continue
		}
		var txns []*listTxn
		for _, e := range path {
			txns = append(txns, e.from)
		}
		found = append(found, *finding(s.anomaly, txns, "%s: %s", s.what, describe(path)))
	}
	return found, tired
}

// cycle looks for a cycle of a class, and no worse one; ok: all were looked at.
func (g *listGraph) cycle(s search) (path []hop, ok bool) {
	g.components(s.kinds)
	steps := 0
	for _, x := range g.txns {
		for _, e := range x.out {
			if e.kind != s.first || x.component == 0 || e.to.component != x.component {
				continue
			}
			back, done := shortestWay(place{e.to, e.kind == rw}, x, s, &steps)
			if !done {
				return nil, false
			}
			if path := append([]hop{{x, e}}, back...); back != nil && classOf(path) == s.anomaly {
				return path, true
			}
		}
	}
	return nil, true
}

// classOf says of which class a cycle is.
func classOf(path []hop) Anomaly {
	reads, adjacent, wrs := 0, false, 0
	for i, h := range path {
		switch h.kind {
		case rw:
			reads++
			adjacent = adjacent || path[(i+1)%len(path)].kind == rw
		case wr:
			wrs++
		}
	}
	switch {
	case reads == 0 && wrs == 0:
		return G0
	case reads == 0:
		return G1c
	case reads == 1:
		return GSingle
	case !adjacent:
		return GNonadjacent
	}
	return G2
}

// hop is an edge of a path.
type hop struct {
	from *listTxn
	listEdge
}

func describe(path []hop) string {
	var b strings.Builder
	for _, s := range path {
		fmt.Fprintf(&b, "#%d -%s %s→ ", s.from.op.ID, s.kind, s.key)
	}
	fmt.Fprintf(&b, "#%d", path[0].from.op.ID)
	return b.String()
}

// components numbers the strongly connected components by edges of some kinds; a
// transaction that is in no cycle has the component 0. (Tarjan's algorithm, with a
// stack of its own: histories are long.)
func (g *listGraph) components(kinds edgeKind) {
	type frame struct {
		x    *listTxn
		next int
	}
	for _, x := range g.txns {
		x.index, x.low, x.component, x.onStack = 0, 0, 0, false
	}
	count, number := 0, 0
	var stack []*listTxn
	for _, root := range g.txns {
		if root.index != 0 {
			continue
		}
		var calls []frame
		enter := func(x *listTxn) {
			count++
			x.index, x.low, x.onStack = count, count, true
			stack = append(stack, x)
			calls = append(calls, frame{x, 0})
		}
		enter(root)
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			x := f.x
			if f.next < len(x.out) {
				e := x.out[f.next]
				f.next++
				switch {
				case e.kind&kinds == 0:
				case e.to.index == 0:
					enter(e.to)
				case e.to.onStack:
					x.low = min(x.low, e.to.index)
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				p := calls[len(calls)-1].x
				p.low = min(p.low, x.low)
			}
			if x.low != x.index {
				continue
			}
			at := len(stack) - 1
			for stack[at] != x {
				at--
			}
			members := stack[at:]
			if len(members) > 1 {
				number++
			}
			for _, m := range members {
				m.onStack = false
				if len(members) > 1 {
					m.component = number
				}
			}
			stack = stack[:at]
		}
	}
}

// shortestWay returns a shortest way from a place to a transaction inside of its
// component; done: the search came to its end.
func shortestWay(from place, to *listTxn, s search, steps *int) (path []hop, done bool) {
	type origin struct {
		from place
		e    listEdge
	}
	came := map[place]origin{from: {}}
	for queue := []place{from}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if p.x == to && s.closed(p) {
			for ; p != from; p = came[p].from {
				path = append(path, hop{came[p].from.x, came[p].e})
			}
			slices.Reverse(path)
			return path, true
		}
		for _, e := range p.x.out {
			if *steps++; *steps > maxCycleSteps {
				return nil, false
			}
			q, ok := s.next(p, e)
			if _, seen := came[q]; !ok || seen || e.to.component != to.component {
				continue
			}
			came[q] = origin{p, e}
			queue = append(queue, q)
		}
	}
	return nil, true
}
