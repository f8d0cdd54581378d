package sql

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
	"github.com/lichendb/lichen/internal/sql/notify"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// pending is what waits for the commit of the transaction.
type pending struct {
	ranges   ranges.Pending
	settings clustersetting.Pending
	notify   notify.Session
	events   []eventlog.Event
}

// pendingMark is a state of pending; the zero one is empty.
type pendingMark struct{ ranges, settings, notify, events int }

func (p *pending) mark() pendingMark {
	return pendingMark{p.ranges.Mark(), p.settings.Mark(), p.notify.Mark(), len(p.events)}
}

// rollbackTo forgets what was added since the mark.
func (p *pending) rollbackTo(m pendingMark) {
	p.ranges.RollbackTo(m.ranges)
	p.settings.RollbackTo(m.settings)
	p.notify.RollbackTo(m.notify)
	p.events = p.events[:min(m.events, len(p.events))]
}

// afterCommit makes known what a transaction that has committed knows of tables, and does what
// waited for the commit. Failures become warnings: the commit stands.
func (ex *executor) afterCommit(ctx context.Context) {
	ex.contents.Committed(ctx, func(table catalog.ID, err error) {
		ex.srv.cfg.Logger.Warn("statistics were not stored", "table", table, "error", err)
		ex.running.warnings = append(ex.running.warnings, pgerr.New(pgerr.Warning, "the statistics that were collected could not be stored: %v", err).
			WithHint("Repeat ANALYZE."))
	})
	ex.tellEvents()
	ex.pending.settings.Committed(ctx, ex.srv.cfg.Settings)
	ex.pending.ranges.Committed(ctx, ex.srv.cfg.Ranges, ex.coll, func(table catalog.ID, err error) {
		ex.srv.cfg.Logger.Warn("ranges were not split after a commit", "table", table, "error", err)
		ex.running.warnings = append(ex.running.warnings, pgerr.New(pgerr.Warning, "the transaction was committed, but its ranges were not changed: %v", err).
			WithHint("Use ALTER TABLE ... SPLIT AT."))
	})
}

// maxPendingEvents bounds the events of a transaction that wait for its commit: of more, the first are told.
const maxPendingEvents = 100

// happened notes what a statement changes, to be told once its transaction has committed.
func (x *execution) happened(kind string) {
	ex := x.ex
	if ex.srv.cfg.OnEvent == nil || len(ex.pending.events) >= maxPendingEvents {
		return
	}
	ex.pending.events = append(ex.pending.events, eventlog.Event{Kind: kind, User: ex.who.CurrentUser(), Text: activity.Redacted(ownText(x.prepared))})
}

// tellEvents tells what has happened.
func (ex *executor) tellEvents() {
	for _, e := range ex.pending.events {
		e.At = ex.srv.cfg.DB.Clock().Now().WallTime
		ex.srv.cfg.OnEvent(e)
	}
	ex.pending.events = nil
}

// eventKind is the kind of event that a change of the catalog is, by its statement's tag.
func eventKind(tag string) string {
	for _, word := range []string{"ROLE", "USER", "GRANT", "REVOKE", "PRIVILEGES"} {
		if strings.Contains(tag, word) {
			return eventlog.RolesChanged
		}
	}
	return eventlog.SchemaChanged
}
