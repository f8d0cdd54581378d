package routine

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
)

// declareEvent declares the variables of a function of event triggers.
func (p *program) declareEvent() {
	p.event = &variable{name: "tg_event", typ: types.Text}
	p.declare(p.top, p.event)
	p.declare(p.top, &variable{name: "tg_tag", typ: types.Text})
}

// openEvent gives the variables of a function of event triggers their values.
func (p *program) openEvent(f *frame) {
	f.params[p.event.slot], f.params[p.event.slot+1] = types.NewString(f.event.Event), types.NewString(f.event.Tag)
}

// EventTrigger calls the function of an event trigger.
func (r *Runner) EventTrigger(c *call.Context, t *catalog.Table, e *call.DDLEvent) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	f := &frame{r: r, t: t, def: t.Routine, fresh: t.Routine.Volatility == 'v', event: e}
	f.within(c)
	defer f.c.EndStatement()
	f.out.f = f
	return r.runBody(f, nil)
}
