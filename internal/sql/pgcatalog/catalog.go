package pgcatalog

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/catalogfuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Host is the session that a Catalog works for.
type Host struct {
	Coll *catalog.Collection
	// Context returns the context of the running statement.
	Context func() context.Context
	// Format returns the settings for values as text; nil means the defaults.
	Format func() *types.FormatContext
	// Setting returns the value of a configuration parameter.
	Setting func(name string) (string, bool)
	// Values are the session's parameters; nil stands for the defaults.
	Values *settings.Values
	// Report asks the nodes of the cluster what goes on; nil if nothing is known.
	Report func(ctx context.Context, req ReportRequest) (*Report, error)
	// Forget has the nodes forget what statements have cost; nil: nothing is counted.
	Forget Forgetter
	// Jobs lists the cluster's jobs; nil: there are none.
	Jobs func(ctx context.Context) ([]Job, error)
	// Warn sends the client a warning with the statement's end.
	Warn func(*pgerr.Error)
	// Cursors and Prepared list the session's own.
	Cursors  func() []Cursor
	Prepared func() []PreparedStatement
	// Contents returns what is known of the contents of a table; nil if nothing ever is.
	Contents func(t *catalog.Table) Contents
	// Size estimates the bytes of the rows in a key span; nil if nothing is known.
	Size func(ctx context.Context, span keys.Span) (int64, error)
	// HBA returns the rules of host-based authentication, IdentityMaps their identity maps; nil: there are none.
	HBA, IdentityMaps func() string
}

// Catalog answers what a session asks about the catalog.
type Catalog struct {
	h Host
}

var (
	_ operator.VirtualProvider = (*Catalog)(nil)
	_ call.Catalog             = (*Catalog)(nil)
	_ types.Names              = (*Catalog)(nil)
)

// New returns the Catalog of a session.
func New(h Host) *Catalog { return &Catalog{h: h} }

func (c *Catalog) ctx() context.Context {
	if c.h.Context != nil {
		if ctx := c.h.Context(); ctx != nil {
			return ctx
		}
	}
	return context.Background()
}

// The oids of the roles and of what has fixed oids.
const (
	oidRoot           = catalog.RootOid
	oidDatabaseOwner  = 6171
	oidPgDefault      = 1663
	oidPgGlobal       = 1664
	oidHeap           = 2
	oidBtree          = catalogfuncs.OidBtree
	oidGIN            = catalogfuncs.OidGIN
	oidHash           = catalogfuncs.OidHash
	oidDefaultCollate = 100
	oidInternalLang   = 12
	utf8Encoding      = 6
	firstUnpinnedOid  = 12000 // of what the system could do without
	firstUserOid      = 16384
)

// Oids of the catalogs that others refer to.
const (
	oidPgType         = 1247
	oidPgCollation    = 3456
	oidPgAttribute    = 1249
	oidPgProc         = 1255
	oidPgClass        = 1259
	oidPgAuthid       = 1260
	oidPgDatabase     = 1262
	oidPgAttrdef      = 2604
	oidPgCast         = 2605
	oidPgOperator     = 2617
	oidPgStatisticExt = 3381
	oidPgOpclass      = 2616
	oidPgOpfamily     = 2753
	oidPgConstraint   = 2606
	oidPgNamespace    = 2615
	oidPgPolicy       = 3256
	oidPgRewrite      = 2618
	oidPgTrigger      = 2620
	oidPgExtension    = 3079
	oidPgTablespace   = 1213
	oidPgEvent        = 3466
)

// VirtualRows implements operator.VirtualProvider.
func (c *Catalog) VirtualRows(ctx context.Context, req *operator.VirtualRequest, emit func(types.Row) error) error {
	t := req.Table
	if t.Kind == catalog.KindSequence {
		return c.sequenceRow(ctx, t, emit)
	}
	fixed, gen := fixedOf(t), generatorOf(t)
	if fixed == nil && gen == nil {
		return nil // a catalog of things that do not exist here
	}
	s, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	w := newWriter(req, emit)
	if req.Index == nil {
		return w.rows(s, fixed, gen)
	}
	by := lookups[qualifiedName(t)][req.Index.ID-2].by
	for i := range req.Ranges {
		w.within = &req.Ranges[i]
		s.scope = nil
		s.scope = s.scopeBetween(by, w.within)
		if err := w.rows(s, fixed, gen); err != nil {
			return err
		}
	}
	for _, key := range req.Keys {
		w.key = key
		s.scope = nil
		s.scope = s.scopeOf(by, key[0])
		if err := w.rows(s, fixed, gen); err != nil {
			return err
		}
	}
	return nil
}

// rows emits the rows that have the key, or all.
func (w *writer) rows(s *snapshot, fixed *fixedRows, gen generator) error {
	if fixed != nil {
		list := fixed.rows
		switch {
		case w.key != nil:
			list = fixed.with(w.index, w.key)
		case w.within != nil:
			list = fixed.between(w.index, w.keyOrds[0], w.within)
		}
		for _, r := range list {
			if w.within != nil && !w.within.Contains(r[w.keyOrds[0]]) {
				continue
			}
			if err := w.emit(s.withGrants(w.t, r)); err != nil {
				return err
			}
		}
	}
	if gen == nil {
		return nil
	}
	if err := gen(s, w); err != nil {
		return err
	}
	return w.err
}

// sequenceRow is the row of SELECT * FROM sequence.
func (c *Catalog) sequenceRow(ctx context.Context, t *catalog.Table, emit func(types.Row) error) error {
	last, called, err := c.h.Coll.Store().SequenceValue(ctx, t)
	if err != nil {
		return err
	}
	if len(t.Columns) != 3 {
		return pgerr.New(pgerr.DataCorrupted, "sequence \"%s\" has no columns", t.Name)
	}
	return emit(types.Row{types.NewInt(last), types.NewInt(0), types.NewBool(called)})
}
