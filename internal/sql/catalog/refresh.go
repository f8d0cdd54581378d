package catalog

import (
	"context"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
)

// image is the whole catalog as it was committed at one moment.
type image struct {
	descs map[ID]Descriptor
	names map[NameKey]NameEntry
	at    hlc.Timestamp
}

// readImage reads the catalog in t.
func readImage(ctx context.Context, t *kv.Txn) (*image, error) {
	img := &image{descs: map[ID]Descriptor{}, names: map[NameKey]NameEntry{}}
	err := scanSystem(ctx, t, sysDescriptor, func(k, v []byte) error {
		id, err := decodeIDSuffix(k)
		if err != nil {
			return err
		}
		img.descs[id], err = decodeDescriptor(id, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = scanSystem(ctx, t, sysName, func(k, v []byte) error {
		n, err := decodeNameKey(k)
		if err != nil {
			return err
		}
		img.names[n], err = decodeName(v)
		return err
	})
	img.at = t.ReadTimestamp()
	return img, err
}

func (g *gateway) readImage(ctx context.Context) (img *image, err error) {
	err = g.s.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		img, err = readImage(ctx, t)
		return err
	})
	return img, err
}

// loadAll replaces the cache by the present catalog. The locks of other nodes'
// transactions are put on the new objects before anybody finds these; what is
// pinned and locked on the old ones is void.
func (g *gateway) loadAll(ctx context.Context) error {
	g.rereads.Lock()
	defer g.rereads.Unlock()
	img, err := g.readImage(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock() // nobody gets a lock on the old objects meanwhile
	defer g.mu.Unlock()
	for _, r := range g.remote {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	s := g.s
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects
	s.objects, s.byOid, s.schemas, s.counts = map[ID]*object{}, map[uint32]ID{}, map[ID]ID{}, map[ID]*Counts{}
	s.names, s.unlisted = newNamespace(img.names), nil
	for id, d := range img.descs {
		// Plans that were made from the old object must not fit a later version.
		stored := d.Ident().Version
		if o := old[id]; o != nil {
			if v := o.cur.Load(); v.desc != nil && v.stored != stored && v.desc.Ident().Version >= stored {
				d = d.withVersion(v.desc.Ident().Version + 1)
			} else if v.desc != nil && v.stored == stored {
				d = v.desc
			}
		}
		s.setDescriptor(id, d, img.at)
		o := s.objects[id]
		o.cur.Store(&version{desc: d, since: img.at, stored: stored})
	}
	for _, r := range g.remote {
		r.replace(s.objects)
	}
	s.setMagnitude()
	s.access.Add(1)
	s.generation.Add(1)
	return nil
}

// refresh compares the whole cache with the catalog and publishes what differs:
// for changes that nobody announced.
func (g *gateway) refresh(ctx context.Context) error {
	g.rereads.Lock()
	defer g.rereads.Unlock()
	img, err := g.readImage(ctx)
	if err != nil {
		return err
	}
	fresh := newChanges()
	for id, d := range img.descs {
		fresh.descs[id] = d
	}
	s := g.s
	s.mu.RLock()
	for id := range s.objects {
		if img.descs[id] == nil {
			fresh.descs[id] = nil
		}
	}
	for k := range s.names.entries {
		if _, ok := img.names[k]; !ok {
			fresh.names[k] = nil
		}
	}
	s.mu.RUnlock()
	for k, e := range img.names {
		fresh.names[k] = &e
	}
	s.publishFresh(fresh, img.at)
	return nil
}

// reread reads descriptors and names again and publishes what has changed.
func (g *gateway) reread(ctx context.Context, ids []ID, names []NameKey, since hlc.Timestamp) error {
	g.rereads.Lock()
	defer g.rereads.Unlock()
	want := newChanges()
	for _, id := range ids {
		want.descs[id] = nil
	}
	for _, k := range names {
		want.names[k] = nil
	}
	fresh, err := g.s.readBack(ctx, want)
	if err != nil {
		return err
	}
	if since.IsEmpty() {
		since = g.s.db.Clock().Now()
	}
	g.s.publishFresh(fresh, since)
	return nil
}

// publishFresh publishes what was read back, as far as it differs from what the
// Store has.
func (s *Store) publishFresh(fresh *changes, since hlc.Timestamp) {
	s.mu.RLock()
	for id, d := range fresh.descs {
		o := s.objects[id]
		if d == nil && o == nil || d != nil && o != nil && o.cur.Load().stored == d.Ident().Version {
			delete(fresh.descs, id)
		}
	}
	for k, e := range fresh.names {
		have, ok := s.names.entries[k]
		if e == nil && !ok || e != nil && ok && have == *e {
			delete(fresh.names, k)
		}
	}
	s.mu.RUnlock()
	if len(fresh.descs) > 0 || len(fresh.names) > 0 {
		s.publish(fresh, since)
	}
}
