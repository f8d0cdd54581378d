package pgcatalog

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// defaultLocale is the locale of every database.
const defaultLocale = "C.UTF-8"

// pgDatabase lists databases.
func pgDatabase(s *snapshot, w *writer) error {
	for _, t := range catalog.Templates {
		databaseRow(w, t.Oid, t.Name, oidRoot)
		w.flag("datistemplate", true)
		w.flag("datallowconn", false)
		w.set("datacl", aclOf("CTc", "c"))
		w.done()
	}
	for _, d := range s.databases() {
		databaseRow(w, d.Oid, d.Name, uint32(d.Owner))
		w.acl("datacl", d.ACL)
		w.done()
	}
	return nil
}

func databaseRow(w *writer, oid uint32, name string, owner uint32) {
	w.oid("oid", oid)
	w.str("datname", name)
	w.oid("datdba", owner)
	w.num("encoding", utf8Encoding)
	w.str("datlocprovider", "c")
	w.flag("datistemplate", false)
	w.flag("datallowconn", true)
	w.num("datconnlimit", -1)
	w.num("datfrozenxid", 0)
	w.num("datminmxid", 0)
	w.oid("dattablespace", oidPgDefault)
	w.str("datcollate", defaultLocale)
	w.str("datctype", defaultLocale)
}

// aclOf is an acl by which root has some privileges and everybody others, by their letters; "" for
// none.
func aclOf(root, public string) types.Datum {
	items := []types.Datum{types.NewACLItem(types.ACLItemValue{Grantee: oidRoot, Grantor: oidRoot, Privileges: types.ACLBits(root)})}
	if public != "" {
		items = append(items, types.NewACLItem(types.ACLItemValue{Grantor: oidRoot, Privileges: types.ACLBits(public)}))
	}
	return types.NewArray(items)
}

// pgRoleSettings lists what sessions begin with.
func pgRoleSettings(s *snapshot, w *writer) error {
	all, err := s.c.h.Coll.Descriptors(s.ctx)
	for _, d := range all {
		switch d := d.(type) {
		case *catalog.Cluster:
			writeSettings(w, 0, d.Settings)
		case *catalog.Database:
			writeSettings(w, d.Oid, d.Settings)
		}
	}
	return err
}

func writeSettings(w *writer, database uint32, all []catalog.RoleSettings) {
	for _, r := range all {
		w.oid("setdatabase", database)
		w.oid("setrole", r.Role)
		w.set("setconfig", settingTexts(r.Settings))
		w.done()
	}
}

// tablespaces are those that PostgreSQL always has.
var tablespaces = [...]struct {
	oid  uint32
	name string
}{{oidPgDefault, "pg_default"}, {oidPgGlobal, "pg_global"}}

// pgTablespace lists the tablespaces.
func pgTablespace(s *snapshot, w *writer) error {
	for _, t := range tablespaces {
		w.oid("oid", t.oid)
		w.str("spcname", t.name)
		w.oid("spcowner", oidRoot)
		w.done()
	}
	own, err := s.c.h.Coll.Tablespaces(s.ctx)
	for i := range own {
		w.oid("oid", own[i].Oid)
		w.str("spcname", own[i].Name)
		w.oid("spcowner", uint32(own[i].Owner))
		w.acl("spcacl", own[i].ACL)
		w.set("spcoptions", types.NewArray([]types.Datum{types.NewString("replica_placement=" + own[i].Placement)}))
		w.done()
	}
	return err
}

// tablespaceOid returns the oid of a tablespace, 0 for the default one as pg_class has it.
func (s *snapshot) tablespaceOid(name string) uint32 {
	if name == "" {
		return 0
	}
	if s.spaces == nil {
		s.spaces = map[string]uint32{}
		own, _ := s.c.h.Coll.Tablespaces(s.ctx) // who reads them next meets the error
		for i := range own {
			s.spaces[own[i].Name] = own[i].Oid
		}
	}
	return s.spaces[name]
}

// comment is an entry of pg_description.
type comment struct {
	class, obj uint32
	sub        int32
	text       string
}

// commentSink takes the comment on an object, "" for none.
type commentSink func(class, obj uint32, sub int32, text string)

// eachComment passes on the comments on the objects of the current database.
func (s *snapshot) eachComment(f commentSink) {
	for _, c := range textSearchComments() {
		f(c.class, c.obj, c.sub, c.text)
	}
	for _, x := range s.schemas() {
		f(oidPgNamespace, x.Oid, 0, x.Comment)
	}
	for _, g := range s.db.EventTriggers {
		f(oidPgEvent, g.Oid, 0, g.Comment)
	}
	for _, x := range s.db.Installed() {
		f(oidPgExtension, x.Oid, 0, x.Comment)
	}
	for _, list := range [...][]*catalog.Table{s.tables(), s.collations(), s.types(), s.routines(), s.operators()} {
		for _, t := range list {
			commentsOn(t, f)
		}
	}
}

// commentsOn passes on the comments on a relation, collation or type and its parts.
func commentsOn(t *catalog.Table, f commentSink) {
	switch t.Kind {
	case catalog.KindRoutine:
		class := uint32(oidPgProc)
		if t.OwnOperator() {
			class = oidPgOperator
		}
		f(class, t.Oid, 0, t.Comment)
		return
	case catalog.KindCollation:
		f(oidPgCollation, t.Oid, 0, t.Comment)
		return
	case catalog.KindType:
		f(oidPgType, t.Oid, 0, t.Comment)
		for i, field := range t.UserType.Def.Fields {
			f(oidPgClass, t.Oid, int32(i+1), field.Comment)
		}
		for _, k := range t.UserType.Def.Checks {
			f(oidPgConstraint, k.Oid, 0, k.Comment)
		}
		for _, c := range t.UserType.Def.Casts {
			f(oidPgCast, c.Oid, 0, c.Comment)
		}
		return
	}
	f(oidPgClass, t.Oid, 0, t.Comment)
	for i := range t.Columns {
		f(oidPgClass, t.Oid, int32(t.Columns[i].Attnum), t.Columns[i].Comment)
	}
	for i := range t.Indexes {
		f(oidPgClass, t.Indexes[i].Oid, 0, t.Indexes[i].Comment)
		f(oidPgConstraint, t.Indexes[i].ConstraintOid, 0, t.Indexes[i].ConstraintComment)
	}
	for i := range t.Checks {
		f(oidPgConstraint, t.Checks[i].Oid, 0, t.Checks[i].Comment)
	}
	for i := range t.ForeignKeys {
		f(oidPgConstraint, t.ForeignKeys[i].Oid, 0, t.ForeignKeys[i].Comment)
	}
	for i := range t.Policies {
		f(oidPgPolicy, t.Policies[i].Oid, 0, t.Policies[i].Comment)
	}
	for i := range t.Extended {
		f(oidPgStatisticExt, t.Extended[i].Oid, 0, t.Extended[i].Comment)
	}
	for i := range t.Triggers {
		f(oidPgTrigger, t.Triggers[i].Oid, 0, t.Triggers[i].Comment)
	}
}

// commentOn returns the comment on an object of a catalog, any catalog if class is 0.
func (s *snapshot) commentOn(class, oid uint32, sub int32) (text string) {
	match := func(k, o uint32, n int32, t string) {
		if t != "" && text == "" && o == oid && n == sub && (class == 0 || k == class) {
			text = t
		}
	}
	if oid < firstUserOid {
		for _, c := range textSearchComments() {
			match(c.class, c.obj, c.sub, c.text)
		}
	}
	if class == 0 || class == oidPgExtension {
		for _, x := range s.db.Installed() {
			match(oidPgExtension, x.Oid, 0, x.Comment)
		}
	}
	switch d := s.c.h.Coll.PeekOwner(oid).(type) {
	case *catalog.Schema:
		if d.Database == s.db.ID {
			match(oidPgNamespace, d.Oid, 0, d.Comment)
		}
	case *catalog.Table:
		if d.Database == s.db.ID {
			commentsOn(d, match)
		}
	}
	return text
}

// pgDescription lists comments.
func pgDescription(s *snapshot, w *writer) error {
	s.eachComment(func(class, obj uint32, sub int32, text string) {
		if text == "" {
			return
		}
		w.oid("objoid", obj)
		w.oid("classoid", class)
		w.num("objsubid", int64(sub))
		w.str("description", text)
		w.done()
	})
	return nil
}

// pgShdescription lists comments on databases.
func pgShdescription(s *snapshot, w *writer) error {
	for _, d := range s.databases() {
		if d.Comment != "" {
			w.oid("objoid", d.Oid)
			w.oid("classoid", oidPgDatabase)
			w.str("description", d.Comment)
			w.done()
		}
	}
	return s.eachRole(func(r *catalog.Role) {
		if r.Comment != "" {
			w.oid("objoid", uint32(r.Oid))
			w.oid("classoid", oidPgAuthid)
			w.str("description", r.Comment)
			w.done()
		}
	})
}

// pgExtension lists the extensions of the database.
func pgExtension(s *snapshot, w *writer) error {
	for _, e := range s.db.Installed() {
		schema := uint32(oidPgCatalog)
		if x, _ := s.c.h.Coll.PeekExtensionSchema(s.ctx, e.Name); x != nil && catalog.ExtensionByName(e.Name).Oid == 0 {
			schema = x.Oid
		}
		w.oid("oid", e.Oid)
		w.str("extname", e.Name)
		w.oid("extowner", uint32(e.Owner))
		w.oid("extnamespace", schema)
		w.flag("extrelocatable", false)
		w.str("extversion", catalog.ExtensionByName(e.Name).Version)
		w.done()
	}
	return nil
}

// pgTimezoneNames lists the time zones with their offsets at present.
func pgTimezoneAbbrevs(_ *snapshot, w *writer) error {
	datetime.EachZoneAbbrev(func(name string, east int32, daylight bool) {
		w.str("abbrev", name)
		w.set("utc_offset", types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}))
		w.flag("is_dst", daylight)
		w.done()
	})
	return nil
}

func pgTimezoneNames(_ *snapshot, w *writer) error {
	now := time.Now()
	for _, name := range datetime.ZoneNames() {
		loc, ok := datetime.LoadZone(name, nil)
		if !ok {
			continue
		}
		abbrev, offset := now.In(loc).Zone()
		w.str("name", name)
		w.str("abbrev", abbrev)
		w.set("utc_offset", types.NewInterval(types.IntervalValue{Micros: int64(offset) * 1_000_000}))
		w.flag("is_dst", now.In(loc).IsDST())
		w.done()
	}
	return nil
}

// pgStatDatabase lists the databases; what PostgreSQL counts of each is not known here.
func pgStatDatabase(s *snapshot, w *writer) error {
	for _, d := range s.databases() {
		w.oid("datid", d.Oid)
		w.str("datname", d.Name)
		w.done()
	}
	return nil
}
