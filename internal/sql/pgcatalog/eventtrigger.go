package pgcatalog

// pgEventTrigger lists the event triggers of the database.
func pgEventTrigger(s *snapshot, w *writer) error {
	for _, g := range s.db.EventTriggers {
		if !w.wants("oid", g.Oid) {
			continue
		}
		w.oid("oid", g.Oid)
		w.str("evtname", g.Name)
		w.str("evtevent", g.Event)
		w.oid("evtowner", uint32(g.Owner))
		if f := s.routineByID(g.Function); f != nil {
			w.oid("evtfoid", f.Oid)
		}
		w.str("evtenabled", string(g.Enabled))
		if len(g.Tags) > 0 {
			w.set("evttags", texts(g.Tags))
		}
		w.done()
	}
	return nil
}
