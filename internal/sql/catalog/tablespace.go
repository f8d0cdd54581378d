package catalog

import (
	"context"
	"encoding/json"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Tablespace says where the tables and indexes in it keep their replicas. It belongs to
// all databases. Those that are in it name it, and have its placement as their zone.
type Tablespace struct {
	Name      string `json:"-"` // in the key
	Oid       uint32
	Owner     Owner
	Placement string // replica_placement, as it was given
	// ACL is who may create in it: see privilege.ACL.
	ACL privilege.ACL `json:",omitzero"`
}

// DefaultTablespace is the name of the tablespace of whatever is in no other.
const DefaultTablespace = "pg_default"

// Tablespaces returns the tablespaces in the order of their names.
func (c *Collection) Tablespaces(ctx context.Context) ([]Tablespace, error) {
	var out []Tablespace
	var page kv.ScanResult
	span := keys.TablespaceSpan()
	for start := span.Start; start != nil; {
		if err := c.txn.Scan(ctx, start, span.End, kv.ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			t, err := decodeTablespace(keys.TablespaceName(page.Key(i)), page.Value(i))
			if err != nil {
				return nil, err
			}
			out = append(out, *t)
		}
		if start = nil; page.Resume != nil {
			start = append([]byte(nil), page.Resume...)
		}
	}
	return out, nil
}

// FindTablespace returns the tablespace of a name, nil if there is none.
func (c *Collection) FindTablespace(ctx context.Context, name string) (*Tablespace, error) {
	v, found, err := c.txn.Get(ctx, keys.Tablespace(name))
	if err != nil || !found {
		return nil, err
	}
	return decodeTablespace(name, v)
}

func decodeTablespace(name string, v []byte) (*Tablespace, error) {
	t := &Tablespace{Name: name}
	if err := json.Unmarshal(v, t); err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "damaged tablespace \"%s\": %v", name, err)
	}
	return t, nil
}

// LockTablespace keeps others from creating or dropping a tablespace, or from placing
// something in it, while the transaction lasts.
func (c *Collection) LockTablespace(ctx context.Context, name string) error {
	_, err := c.txn.Lock(ctx, keys.Tablespace(name), lock.Update, lock.WaitBlock)
	return err
}

// PutTablespace stores a tablespace that the transaction has locked.
func (c *Collection) PutTablespace(t *Tablespace) error {
	v, err := json.Marshal(t)
	if err != nil {
		return pgerr.From(err)
	}
	return c.txn.Put(keys.Tablespace(t.Name), v)
}

// DeleteTablespace removes a tablespace that the transaction has locked.
func (c *Collection) DeleteTablespace(name string) error { return c.txn.Delete(keys.Tablespace(name)) }
