package pgcatalog

import (
	"net"

	"github.com/lichendb/lichen/internal/config/hba"
	"github.com/lichendb/lichen/internal/config/identmap"
)

// pgHBAFileRules lists the rules of host-based authentication.
func pgHBAFileRules(s *snapshot, w *writer) error {
	if s.c.h.HBA == nil {
		return nil
	}
	rules, err := hba.Parse(s.c.h.HBA())
	if err != nil {
		w.str("error", err.Error())
		w.done()
		return nil
	}
	for i := range rules {
		r := &rules[i]
		w.num("line_number", int64(r.Line))
		w.str("type", r.Type)
		w.set("database", texts(hba.Texts(r.Databases)))
		w.set("user_name", texts(hba.Texts(r.Users)))
		switch {
		case r.Address != "":
			w.str("address", r.Address)
		case r.Prefix.IsValid():
			w.str("address", r.Prefix.Addr().String())
			w.str("netmask", net.IP(net.CIDRMask(r.Prefix.Bits(), r.Prefix.Addr().BitLen())).String())
		}
		w.str("auth_method", r.Method)
		if len(r.Options) > 0 {
			w.set("options", texts(r.Options))
		}
		w.done()
	}
	return nil
}

// pgIdentFileMappings lists the lines of identity maps.
func pgIdentFileMappings(s *snapshot, w *writer) error {
	if s.c.h.IdentityMaps == nil {
		return nil
	}
	maps, err := identmap.Parse(s.c.h.IdentityMaps())
	if err != nil {
		w.str("error", err.Error())
		w.done()
		return nil
	}
	for i := range maps {
		m := &maps[i]
		w.num("line_number", int64(m.Line))
		w.str("map_name", m.Map)
		w.str("sys_name", m.System)
		w.str("pg_username", m.Role)
		w.done()
	}
	return nil
}
