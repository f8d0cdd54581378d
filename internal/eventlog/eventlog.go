package eventlog

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/obs"
)

// The kinds of events.
const (
	NodeStarted     = "node_started"
	NodeJoined      = "node_joined"
	NodeStopping    = "node_stopping"
	NodeSilent      = "node_silent"
	NodeBack        = "node_back"
	NodeMembership  = "node_membership"
	SchemaChanged   = "schema_changed"
	RolesChanged    = "roles_changed"
	SettingChanged  = "setting_changed"
	ConsoleLogin    = "console_login"
	SessionCanceled = "session_canceled"
)

const (
	// MaxKept is how many events are kept.
	MaxKept = 2000
	// pruneEvery is after how many events a node looks whether there are too many.
	pruneEvery = 64
	// maxQueued bounds the events that wait to be written, maxText the text of one.
	maxQueued = 256
	maxText   = 1000
	// writeTimeout bounds the time to write what is queued.
	writeTimeout = 10 * time.Second

	prefix = "event/"
	format = 1 // the first byte of a record; JSON follows
)

// Event is something that happened.
type Event struct {
	At   int64 // wall time in nanoseconds
	Node kvpb.NodeID
	Kind string
	User string `json:",omitempty"`
	Text string
	// Dropped is how many events before it were not written.
	Dropped int64 `json:",omitempty"`
}

// Log has the events of a cluster, and writes those of a node.
type Log struct {
	db      func() *kv.DB
	node    func() kvpb.NodeID
	log     *slog.Logger
	queue   chan Event
	dropped atomic.Int64
	added   int // since prune; of Run
}

// New returns a log. db and node are called once the node is part of its cluster.
func New(db func() *kv.DB, node func() kvpb.NodeID, log *slog.Logger) *Log {
	return &Log{db: db, node: node, log: log, queue: make(chan Event, maxQueued), added: pruneEvery}
}

// channelOf is the channel of the node's log that tells of an event too.
func channelOf(kind string) obs.Channel {
	switch kind {
	case SchemaChanged:
		return obs.SQLSchema
	case RolesChanged:
		return obs.UserAdmin
	case ConsoleLogin, SessionCanceled:
		return obs.Sessions
	}
	return obs.Ops
}

// Add has an event written, and tells the node's log. It does not wait.
func (l *Log) Add(e Event) {
	if e.At == 0 {
		e.At = time.Now().UnixNano()
	}
	if len(e.Text) > maxText {
		n := maxText
		for n > 0 && !utf8.RuneStart(e.Text[n]) {
			n--
		}
		e.Text = e.Text[:n] + "…"
	}
	obs.On(l.log, channelOf(e.Kind)).Info("event", "kind", e.Kind, "user", obs.Sensitive(e.User), "text", obs.Sensitive(e.Text))
	select {
	case l.queue <- e:
	default:
		l.dropped.Add(1)
	}
}

// Run writes events until ctx ends.
func (l *Log) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-l.queue:
			l.flush(ctx, e)
		}
	}
}

// flush writes an event and all that are queued.
func (l *Log) flush(ctx context.Context, first Event) {
	batch := []Event{first}
	for len(batch) < maxQueued {
		select {
		case e := <-l.queue:
			batch = append(batch, e)
			continue
		default:
		}
		break
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := l.write(ctx, batch); err != nil {
		l.dropped.Add(int64(len(batch)))
		l.log.Warn("events were not written", "events", len(batch), "err", err)
	}
}

// write writes events in one transaction.
func (l *Log) write(ctx context.Context, batch []Event) error {
	dropped := l.dropped.Load()
	batch[0].Dropped = dropped
	err := l.db().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for i := range batch {
			e := &batch[i]
			e.Node = l.node()
			b, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if err := t.Put(key(e, i), append([]byte{format}, b...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.dropped.Add(-dropped)
	if l.added += len(batch); l.added < pruneEvery {
		return nil
	}
	l.added = 0
	return l.prune(ctx)
}

// key is where an event is: by time, then node, then its place among those written together.
func key(e *Event, i int) []byte {
	k := binary.BigEndian.AppendUint64(keys.SystemKey(prefix), uint64(e.At))
	k = binary.BigEndian.AppendUint32(k, uint32(e.Node))
	return binary.BigEndian.AppendUint16(k, uint16(i))
}

// prune deletes the oldest events beyond MaxKept.
func (l *Log) prune(ctx context.Context) error {
	return l.db().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		var found [][]byte
		err := scan(ctx, t, func(k, _ []byte) error {
			found = append(found, slices.Clone(k))
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range found[:max(len(found)-MaxKept, 0)] {
			if err := t.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// scan calls fn with the records, the oldest first.
func scan(ctx context.Context, t *kv.Txn, fn func(key, value []byte) error) error {
	start := keys.SystemKey(prefix)
	end := keys.PrefixEnd(start)
	var page kvpb.ScanResponse
	for start != nil {
		page.Reset()
		if err := t.Scan(ctx, start, end, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if err := fn(page.Key(i), page.Value(i)); err != nil {
				return err
			}
		}
		start = slices.Clone(page.Resume)
	}
	return nil
}

// List returns the events of the cluster, the newest first, at most so many.
func (l *Log) List(ctx context.Context, most int) (out []Event, err error) {
	err = l.db().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		out = out[:0]
		return scan(ctx, t, func(_, v []byte) error {
			e, err := decode(v)
			out = append(out, e)
			return err
		})
	})
	slices.Reverse(out)
	return out[:min(len(out), most)], err
}

func decode(b []byte) (e Event, err error) {
	if len(b) == 0 {
		return e, errors.New("an event without a record")
	}
	if b[0] != format {
		return e, fmt.Errorf("an event has format %d: this program reads format %d", b[0], format)
	}
	return e, json.Unmarshal(b[1:], &e)
}
