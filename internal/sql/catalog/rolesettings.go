package catalog

import (
	"context"
	"slices"
)

// Setting is a parameter with the value that sessions begin with.
type Setting struct{ Name, Value string }

// RoleSettings are what the sessions of a role begin with.
type RoleSettings struct {
	Role     uint32 `json:",omitempty"` // its oid; 0: those of every role
	Settings []Setting
}

// SettingsOf returns what the sessions of a role begin with; role 0 is all of them.
func SettingsOf(all []RoleSettings, role uint32) []Setting {
	for i := range all {
		if all[i].Role == role {
			return all[i].Settings
		}
	}
	return nil
}

// WithSettings returns all with those of a role replaced, in the order of the roles' oids.
func WithSettings(all []RoleSettings, role uint32, settings []Setting) []RoleSettings {
	out := slices.DeleteFunc(slices.Clone(all), func(r RoleSettings) bool { return r.Role == role })
	if len(settings) == 0 {
		return out
	}
	out = append(out, RoleSettings{Role: role, Settings: settings})
	slices.SortFunc(out, func(a, b RoleSettings) int { return int(a.Role) - int(b.Role) })
	return out
}

// ClusterSettings returns what is committed of settings that hold in all databases.
func (s *Store) ClusterSettings() []RoleSettings {
	if c := s.cluster(); c != nil {
		return c.Settings
	}
	return nil
}

// cluster returns the committed Cluster, nil if there is none.
func (s *Store) cluster() *Cluster {
	if e, ok := s.name(clusterName); ok {
		if o := s.object(e.ID); o != nil {
			c, _ := o.cur.Load().desc.(*Cluster)
			return c
		}
	}
	return nil
}

// LockCluster returns the Cluster, which nobody else changes while the transaction lasts. One
// that it makes is stored by the Put that must follow.
func (c *Collection) LockCluster(ctx context.Context) (*Cluster, error) {
	for {
		d, _, err := c.find(ctx, clusterName)
		if err != nil {
			return nil, err
		}
		if d == nil {
			made, err := c.makeCluster(ctx)
			if err != nil || made != nil {
				return made, err
			}
			continue
		}
		if err := c.LockExclusive(ctx, d.Ident().ID); err != nil {
			return nil, err
		}
		if d, _, err = c.find(ctx, clusterName); err != nil {
			return nil, err
		}
		if is, ok := d.(*Cluster); ok {
			return is, nil
		}
	}
}

// makeCluster returns a new Cluster, nil if another transaction was first.
func (c *Collection) makeCluster(ctx context.Context) (*Cluster, error) {
	id, err := c.NewID(ctx)
	if err != nil {
		return nil, err
	}
	taken, err := c.AddName(ctx, clusterName, NameEntry{ID: id})
	if err != nil || taken {
		return nil, err
	}
	return &Cluster{ID: id}, nil
}
