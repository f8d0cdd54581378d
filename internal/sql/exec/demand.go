package exec

import "github.com/lichendb/lichen/internal/sql/plan"

// demand is what has been compiled of a part of a plan whose consumer may stop before the
// end: its sources.
type demand struct {
	sources []*source
}

// partly compiles a part of a plan that is read no further than its consumer needs. If it
// calls volatile functions, its operators ask each other for single rows: what such a call
// does must not happen for rows that nobody reads.
func (c *compiler) partly(compile func() error) error {
	outer, d := c.demand, &demand{}
	c.demand = d
	before := c.Volatile
	err := compile()
	if c.demand = outer; c.Volatile > before {
		for _, s := range d.sources {
			s.most = 1
		}
	}
	if outer != nil {
		outer.sources = append(outer.sources, d.sources...)
	}
	return err
}

// entirely compiles a part of a plan that is read to its end.
func (c *compiler) entirely(compile func() error) error {
	outer, before := c.demand, c.Volatile
	c.demand = nil
	err := compile()
	c.demand, c.Volatile = outer, before
	return err
}

// demanded compiles a node; some read their input to the end, whoever reads them.
func (c *compiler) demanded(n plan.Node) (op operator, err error) {
	switch n.(type) {
	case *plan.Sort, *plan.GroupBy, *plan.Window:
		err = c.entirely(func() error {
			op, err = c.bare(n)
			return err
		})
		return op, err
	}
	return c.bare(n)
}

// mayStop reports whether something in n reads its input in part.
func mayStop(n plan.Node) (found bool) {
	plan.Walk(n, func(n plan.Node) bool {
		_, limit := n.(*plan.Limit)
		found = found || limit
		return !found
	})
	return found
}
