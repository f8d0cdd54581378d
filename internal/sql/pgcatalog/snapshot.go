package pgcatalog

import (
	"context"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
)

// snapshot is the catalog as the session sees it. Making one costs nothing: what is looked
// up is found in the session's Collection, and the lists are its Listing.
type snapshot struct {
	c       *Catalog
	ctx     context.Context
	db      *catalog.Database
	all     *catalog.Listing  // nil until a list is asked for
	scope   *scope            // what the lists are confined to, nil for everything
	schema  *catalog.Schema   // that was found last
	spaces  map[string]uint32 // oids of tablespaces; see tablespaceOid
	printer *deparse.Env      // see deparser

	defaults map[printedDefault]string // see columnDefault
}

func (c *Catalog) snapshot(ctx context.Context) (*snapshot, error) {
	if err := c.h.Coll.ReadPast(ctx); err != nil {
		return nil, err
	}
	return &snapshot{c: c, ctx: ctx, db: c.h.Coll.CurrentDatabase()}, nil
}

// listing has the objects of the current database.
func (s *snapshot) listing() *catalog.Listing {
	if s.all == nil {
		s.all = s.c.h.Coll.Listing()
	}
	return s.all
}

// databases are those of the cluster.
func (s *snapshot) databases() []*catalog.Database { return s.listing().Databases }

// schemas are those of the current database, built-in ones first.
func (s *snapshot) schemas() []*catalog.Schema {
	if s.scope != nil {
		return s.scope.schemas
	}
	var out []*catalog.Schema
	for _, v := range s.c.h.Coll.VirtualSchemas() {
		out = append(out, v.Schema)
	}
	return append(out, s.c.h.Coll.PeekSchemas()...)
}

// tables are the stored relations of the current database, types its user-defined types
// and collations its user-defined collations.
func (s *snapshot) tables() []*catalog.Table {
	if s.scope != nil {
		return s.scope.tables
	}
	return s.listing().Relations
}

func (s *snapshot) types() []*catalog.Table {
	if s.scope != nil {
		return s.scope.types
	}
	return s.listing().Types
}

func (s *snapshot) routines() []*catalog.Table {
	if s.scope != nil {
		return s.scope.routines
	}
	return s.listing().Routines
}

func (s *snapshot) operators() []*catalog.Table {
	if s.scope != nil {
		return s.scope.operators
	}
	return s.listing().Operators
}

func (s *snapshot) collations() []*catalog.Table {
	if s.scope != nil {
		return s.scope.collations
	}
	return s.listing().Collations
}

// tableByID returns a stored relation of the current database, nil if there is none.
func (s *snapshot) tableByID(id catalog.ID) *catalog.Table {
	if s.all != nil {
		return s.all.Relation(id)
	}
	return s.stored(s.peek(id))
}

// stored is d if it is a stored relation of the current database, else nil.
func (s *snapshot) stored(d catalog.Descriptor) *catalog.Table {
	t, ok := d.(*catalog.Table)
	if !ok || t.Database != s.db.ID || t.Kind == catalog.KindType || t.Kind == catalog.KindCollation || t.Kind == catalog.KindRoutine {
		return nil
	}
	return t
}

// peek returns a descriptor, nil if there is none.
func (s *snapshot) peek(id catalog.ID) catalog.Descriptor {
	d, err := s.c.h.Coll.Peek(s.ctx, id)
	if err != nil {
		return nil
	}
	return d
}

// schemaByID returns a schema of the current database or a built-in one, nil if there is
// none.
func (s *snapshot) schemaByID(id catalog.ID) *catalog.Schema {
	if s.schema != nil && s.schema.ID == id {
		return s.schema
	}
	x, ok := s.peek(id).(*catalog.Schema)
	if !ok || x.Database != s.db.ID && !id.IsVirtual() {
		return nil
	}
	s.schema = x
	return x
}

// schemaByOid returns a schema of the current database or a built-in one, nil if there is
// none.
func (s *snapshot) schemaByOid(oid uint32) *catalog.Schema {
	for _, v := range s.c.h.Coll.VirtualSchemas() {
		if v.Schema.Oid == oid {
			return v.Schema
		}
	}
	if x, ok := s.c.h.Coll.PeekOwner(oid).(*catalog.Schema); ok && x.Database == s.db.ID {
		return x
	}
	return nil
}

// find returns what has a name in a schema: a relation, a type or the table of an index;
// nil if there is nothing.
func (s *snapshot) find(schema, name string) *catalog.Table {
	x := s.c.h.Coll.PeekSchemaNamed(s.ctx, schema)
	if x == nil {
		return nil
	}
	return s.in(x, name)
}

// in is find in a schema that is at hand.
func (s *snapshot) in(x *catalog.Schema, name string) *catalog.Table {
	if x.ID.IsVirtual() {
		return s.c.h.Coll.BuiltInNamed(x.ID, name)
	}
	return s.c.h.Coll.PeekNamed(s.ctx, x.ID, name)
}

// ownerOf returns the relation or type of the current database that has an oid or a part
// with it, nil if there is none.
func (s *snapshot) ownerOf(oid uint32) *catalog.Table {
	t, ok := s.c.h.Coll.PeekOwner(oid).(*catalog.Table)
	if !ok {
		return s.c.h.Coll.BuiltInOfType(oid)
	}
	if t.Database != s.db.ID {
		return nil
	}
	return t
}

// schemaOf returns the oid and name of a relation's schema.
func (s *snapshot) schemaOf(t *catalog.Table) (oid uint32, name string) {
	if x := s.schemaByID(t.Schema); x != nil {
		return x.Oid, x.Name
	}
	return 0, ""
}

// persistence returns relpersistence of a relation.
func (s *snapshot) persistence(t *catalog.Table) string {
	if x := s.schemaByID(t.Schema); x != nil && x.Temp != nil {
		return "t"
	}
	return "p"
}

func (s *snapshot) schemaName(t *catalog.Table) string {
	_, name := s.schemaOf(t)
	return name
}

// relations returns the stored and the built-in relations.
func (s *snapshot) relations() []*catalog.Table {
	out := slices.Clone(s.tables())
	if s.scope != nil {
		return append(out, s.scope.builtIn...)
	}
	for _, v := range s.c.h.Coll.VirtualSchemas() {
		out = slices.AppendSeq(out, s.c.h.Coll.BuiltInBetween(v.Schema.ID, "", ""))
	}
	return out
}

// relkind is pg_class.relkind.
func relkind(t *catalog.Table) string {
	if t.Materialized() {
		return "m"
	}
	switch t.Kind {
	case catalog.KindView:
		return "v"
	case catalog.KindType:
		return "c"
	case catalog.KindSequence:
		return "S"
	case catalog.KindVirtual:
		if t.BuiltInView {
			return "v"
		}
	}
	return "r"
}

// visibleColumns are the columns that PostgreSQL would have.
func visibleColumns(t *catalog.Table) []*catalog.Column {
	out := make([]*catalog.Column, 0, len(t.Columns))
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			out = append(out, &t.Columns[i])
		}
	}
	return out
}

// countVisible is the number of visibleColumns.
func countVisible(t *catalog.Table) (n int) {
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			n++
		}
	}
	return n
}

// visibleIndexes are all indexes but the primary one on hidden row ids.
func visibleIndexes(t *catalog.Table) []*catalog.Index {
	var out []*catalog.Index
	if t.ID.IsVirtual() {
		return nil // they are of no use to others
	}
	for i := range t.Indexes {
		if i > 0 || t.HasPrimaryKey() {
			out = append(out, t.Declared(&t.Indexes[i]))
		}
	}
	return out
}

// attnum returns the number of a column.
func attnum(t *catalog.Table, id catalog.ColumnID) int16 {
	if ord := t.ColumnByID(id); ord >= 0 {
		if t.Columns[ord].IndexExpression() {
			return 0 // an expression
		}
		return t.Columns[ord].Attnum
	}
	return 0
}

// generators maps relations to what makes their rows. Relations that are not
// here are empty: they list kinds of objects that do not exist.
var generators = sync.OnceValue(func() map[string]generator {
	m := map[string]generator{
		"pg_catalog.pg_event_trigger": pgEventTrigger, "pg_catalog.pg_operator": pgOperatorOf, "pg_catalog.pg_aggregate": pgAggregateOf, "pg_catalog.pg_opclass": pgOpclassOf, "pg_catalog.pg_opfamily": pgOpfamilyOf,
		"pg_catalog.pg_statistic_ext": pgStatisticExt, "pg_catalog.pg_statistic_ext_data": pgStatisticExtData, "pg_catalog.pg_stats_ext": pgStatsExt,
		"pg_catalog.pg_enum": pgEnum, "pg_catalog.pg_cast": pgCast, "pg_catalog.pg_range": pgRange,
		"pg_catalog.pg_class": pgClass, "pg_catalog.pg_attribute": pgAttribute, "pg_catalog.pg_attrdef": pgAttrdef,
		"pg_catalog.pg_namespace": pgNamespace, "pg_catalog.pg_init_privs": pgInitPrivs, "pg_catalog.pg_index": pgIndex, "pg_catalog.pg_indexes": pgIndexes,
		"pg_catalog.pg_constraint": pgConstraint, "pg_catalog.pg_trigger": pgTrigger, "pg_catalog.pg_matviews": pgMatviews, "pg_catalog.pg_type": pgType,

		"pg_catalog.pg_collation": pgCollation, "pg_catalog.pg_database": pgDatabase,
		"pg_catalog.pg_authid": pgAuthid, "pg_catalog.pg_roles": pgRoles, "pg_catalog.pg_user": pgUser,
		"pg_catalog.pg_default_acl": pgDefaultACL, "pg_catalog.pg_shadow": pgUser, "pg_catalog.pg_group": pgGroup, "pg_catalog.pg_auth_members": pgAuthMembers, "pg_catalog.pg_db_role_setting": pgRoleSettings, "pg_catalog.pg_tablespace": pgTablespace, "pg_catalog.pg_description": pgDescription,
		"pg_catalog.pg_shdescription": pgShdescription, "pg_catalog.pg_depend": pgDepend, "pg_catalog.pg_shdepend": pgShdepend, "pg_catalog.pg_extension": pgExtension, "pg_catalog.pg_tables": pgTables,
		"pg_catalog.pg_views": pgViews, "pg_catalog.pg_sequence": pgSequence, "pg_catalog.pg_sequences": pgSequences,
		"pg_catalog.pg_settings": pgSettings, "pg_catalog.pg_stat_activity": pgStatActivity,
		"pg_catalog.pg_stat_ssl": pgStatSSL, "pg_catalog.pg_stat_gssapi": pgStatGSS,
		"pg_catalog.pg_stat_all_tables": pgStatUserTables, "pg_catalog.pg_stat_all_indexes": pgStatUserIndexes,
		"pg_catalog.pg_statio_all_tables": pgStatUserTables, "pg_catalog.pg_statio_user_tables": pgStatUserTables,
		"pg_catalog.pg_statio_all_indexes": pgStatUserIndexes, "pg_catalog.pg_statio_user_indexes": pgStatUserIndexes,
		"pg_catalog.pg_stats": pgStats, "pg_catalog.pg_statistic": pgStatistic, "pg_catalog.pg_stat_user_tables": pgStatUserTables, "pg_catalog.pg_stat_user_indexes": pgStatUserIndexes,
		"pg_catalog.pg_stat_database": pgStatDatabase, "pg_catalog.pg_hba_file_rules": pgHBAFileRules, "pg_catalog.pg_parameter_acl": pgParameterACL, "pg_catalog.pg_ident_file_mappings": pgIdentFileMappings, "pg_catalog.pg_policy": pgPolicy, "pg_catalog.pg_policies": pgPolicies,
		"pg_catalog.pg_ts_config": pgTSConfig, "pg_catalog.pg_ts_config_map": pgTSConfigMap, "pg_catalog.pg_ts_dict": pgTSDict,
		"pg_catalog.pg_ts_parser": pgTSParser, "pg_catalog.pg_ts_template": pgTSTemplate,
		"pg_catalog.pg_locks": pgLocks, "pg_catalog.pg_rewrite": pgRewrite, "pg_catalog.pg_timezone_names": pgTimezoneNames, "pg_catalog.pg_timezone_abbrevs": pgTimezoneAbbrevs,

		"pg_catalog.pg_available_extensions": pgAvailableExtensions, "pg_catalog.pg_available_extension_versions": pgAvailableExtensionVersions,
		"pg_catalog.pg_cursors": pgCursors, "pg_catalog.pg_prepared_statements": pgPreparedStatements,
		"lichen_internal.column_families":   internalFamilies,
		"lichen_internal.create_statements": internalCreate, "lichen_internal.create_all_statements": internalCreateAll, "lichen_internal.table_columns": internalColumns,
		"lichen_internal.cluster_sessions": internalSessions, "lichen_internal.node_sessions": internalSessions,
		"lichen_internal.cluster_queries": internalQueries, "lichen_internal.node_queries": internalQueries,
		"lichen_internal.cluster_transactions": internalTransactions, "lichen_internal.node_transactions": internalTransactions,
		"lichen_internal.cluster_locks": internalLocks, "lichen_internal.node_locks": internalLocks,
		"lichen_internal.jobs":          internalJobs,
		"lichen_internal.cluster_waits": internalWaits, "lichen_internal.node_waits": internalWaits,
		"information_schema.schemata": isSchemata, "information_schema.tables": isTables,
		"information_schema.columns": isColumns, "information_schema.views": isViews,
		"information_schema.sequences": isSequences, "information_schema.table_constraints": isTableConstraints,
		"information_schema.triggers":                              isTriggers,
		"information_schema.triggered_update_columns":              isTriggeredColumns,
		"information_schema.key_column_usage":                      isKeyColumnUsage,
		"information_schema.constraint_column_usage":               isConstraintColumnUsage,
		"information_schema.constraint_table_usage":                isConstraintTableUsage,
		"information_schema.check_constraints":                     isCheckConstraints,
		"information_schema.referential_constraints":               isReferentialConstraints,
		"information_schema.character_sets":                        isCharacterSets,
		"information_schema.collations":                            isCollations,
		"information_schema.enabled_roles":                         isEnabledRoles,
		"information_schema.applicable_roles":                      isApplicableRoles,
		"information_schema.administrable_role_authorizations":     isApplicableRoles,
		"information_schema.information_schema_catalog_name":       isCatalogName,
		"information_schema.table_privileges":                      isTablePrivileges,
		"information_schema.role_table_grants":                     isTablePrivileges,
		"information_schema.element_types":                         isElementTypes,
		"information_schema.attributes":                            isAttributes,
		"information_schema.user_defined_types":                    isUserDefinedTypes,
		"information_schema.domains":                               isDomains,
		"information_schema.domain_constraints":                    isDomainConstraints,
		"information_schema.domain_udt_usage":                      isDomainUDTUsage,
		"information_schema.column_domain_usage":                   isColumnDomainUsage,
		"information_schema.column_privileges":                     isColumnPrivileges,
		"information_schema.role_column_grants":                    isColumnPrivileges,
		"information_schema.column_udt_usage":                      isColumnUDTUsage,
		"information_schema.udt_privileges":                        isUDTPrivileges,
		"information_schema.usage_privileges":                      isUsagePrivileges,
		"pg_catalog.pg_proc":                                       pgProc,
		"information_schema.routines":                              isRoutines,
		"information_schema.parameters":                            isParameters,
		"information_schema.routine_privileges":                    isRoutinePrivileges,
		"information_schema.role_routine_grants":                   isRoutinePrivileges,
		"information_schema.role_udt_grants":                       isUDTPrivileges,
		"information_schema.role_usage_grants":                     isUsagePrivileges,
		"information_schema.data_type_privileges":                  isDataTypePrivileges,
		"information_schema.column_column_usage":                   isColumnColumnUsage,
		"information_schema.sql_features":                          isFeatures,
		"information_schema.sql_parts":                             isParts,
		"information_schema.sql_implementation_info":               isImplementation,
		"information_schema.sql_sizing":                            isSizing,
		"information_schema.collation_character_set_applicability": isCollationSets,
		"information_schema.view_table_usage":                      isViewTableUsage,
		"information_schema.view_column_usage":                     isViewColumnUsage,
	}
	addStatViews(m)
	return m
})

// fixedGenerators make rows that are always the same. They are given no snapshot.
var fixedGenerators = sync.OnceValue(func() map[string]generator {
	return map[string]generator{
		"pg_catalog.pg_type": builtInTypes, "pg_catalog.pg_proc": builtInProcs, "pg_catalog.pg_operator": pgOperator,
		"pg_catalog.pg_opclass": pgOpclass, "pg_catalog.pg_am": pgAm, "pg_catalog.pg_opfamily": pgOpfamily,
		"pg_catalog.pg_cast": builtInCasts, "pg_catalog.pg_aggregate": pgAggregate, "pg_catalog.pg_amop": pgAmop,
		"pg_catalog.pg_language": pgLanguage, "pg_catalog.pg_collation": builtInCollations,
	}
})

func generatorOf(t *catalog.Table) generator { return generators()[qualifiedName(t)] }

// qualifiedName is how tables.txt calls a virtual table.
func qualifiedName(t *catalog.Table) string {
	schema := namePgCatalog
	switch t.Schema {
	case virtualID(oidInformationSchema):
		schema = nameInformationSchema
	case virtualID(oidLichenInternal):
		schema = nameLichenInternal
	}
	return schema + "." + t.Name
}
