package call

import "github.com/lichendb/lichen/internal/sql/types"

// Transition is a table of rows that a statement has changed, as the function of a trigger reads it.
type Transition struct {
	Name string
	Row  *types.T // the type of its rows
	Rows []types.Row
}

// Within returns the context of a statement that a trigger of the system runs within the one of c.
func (c *Context) Within() *Context {
	c.Random() // which both share
	own := *c
	own.Own()
	own.TriggerDepth++
	return &own
}

// Transition returns the transition table of a name that the running function knows, nil if there is none.
func (c *Context) Transition(name string) *Transition {
	for i := range c.Transitions {
		if c.Transitions[i].Name == name {
			return &c.Transitions[i]
		}
	}
	return nil
}
