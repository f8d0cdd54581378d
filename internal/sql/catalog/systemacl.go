package catalog

import "github.com/lichendb/lichen/internal/sql/privilege"

// ClusterACLs returns the lists that the transaction sees of what belongs to no database.
func (c *Collection) ClusterACLs() []privilege.SystemACL {
	if d := c.cluster(); d != nil {
		return d.ACLs
	}
	return nil
}

// cluster returns the Cluster that the transaction sees, nil if there is none; who reads the past sees that of the present.
func (c *Collection) cluster() *Cluster {
	if c.changes != nil {
		for _, d := range c.changes.descs {
			if is, ok := d.(*Cluster); ok {
				return is
			}
		}
	}
	return c.store.cluster()
}

// DatabaseACLs returns the lists that the transaction sees of what is built into the current database.
func (c *Collection) DatabaseACLs() []privilege.SystemACL {
	if c.db == nil {
		return nil
	}
	return c.CurrentDatabase().ACLs
}
