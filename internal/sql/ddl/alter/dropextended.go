package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
)

// droppedExtended is a statistics object that goes with its schema; its table stays.
type droppedExtended struct {
	table catalog.ID
	oid   uint32
	text  string
}

// extendedIn notes the statistics objects in a schema that is dropped.
func (d *dropper) extendedIn(all []*catalog.Table, s *catalog.Schema) {
	for _, t := range all {
		for i := range t.Extended {
			if x := &t.Extended[i]; x.Schema == s.ID && t.Schema != s.ID {
				d.extended = append(d.extended, droppedExtended{t.ID, x.Oid, "statistics object " + ast.QuoteIdent(s.Name) + "." + ast.QuoteIdent(x.Name)})
			}
		}
	}
}

// extendedReported names the statistics objects that were noted, and says what they depend on.
func (d *dropper) extendedReported() (names, details []string) {
	for _, x := range d.extended {
		if !d.in[x.table] {
			names = append(names, x.text)
			details = append(details, x.text+" depends on schema "+ast.QuoteIdent(d.schema.Name))
		}
	}
	return names, details
}

// dropExtended drops the statistics objects that were noted.
func (d *dropper) dropExtended(ctx context.Context) error {
	for _, x := range d.extended {
		if d.in[x.table] {
			continue
		}
		t, err := d.e.LockByID(ctx, x.table)
		if err != nil {
			return err
		}
		if err := relations.RemoveExtended(ctx, d.e, t, func(o *catalog.Extended) bool { return o.Oid == x.oid }); err != nil {
			return err
		}
		if err := d.e.Coll.Put(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
