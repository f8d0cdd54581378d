package ast

import "slices"

// Show is SHOW name; "all" for SHOW ALL. SHOW TIME ZONE, TRANSACTION ISOLATION
// LEVEL and SESSION AUTHORIZATION come under the setting's name.
type Show struct {
	Loc
	Name string
}

// ShowKind is what a dialect SHOW lists.
type ShowKind uint8

// The lists of ShowObjects; showKindNames names each.
const (
	ShowDatabases ShowKind = iota
	ShowSchemas
	ShowTables
	ShowColumns
	ShowIndexes
	ShowConstraints
	ShowCreate
	ShowSequences
	ShowTypes
	ShowUsers
	ShowRoles
	ShowGrants
	ShowSessions
	ShowQueries
	ShowJobs
	ShowStatistics
	ShowClusterSettings
	ShowClusterSetting
	ShowZoneConfigurations
	ShowTransactions
	ShowFunctions
	ShowEnums
	ShowRegions
	ShowSchedules
	showKinds // how many there are
)

var showKindNames = [showKinds]string{
	ShowDatabases:          "DATABASES",
	ShowSchemas:            "SCHEMAS",
	ShowTables:             "TABLES",
	ShowColumns:            "COLUMNS",
	ShowIndexes:            "INDEXES",
	ShowConstraints:        "CONSTRAINTS",
	ShowCreate:             "CREATE",
	ShowSequences:          "SEQUENCES",
	ShowTypes:              "TYPES",
	ShowUsers:              "USERS",
	ShowRoles:              "ROLES",
	ShowGrants:             "GRANTS",
	ShowSessions:           "SESSIONS",
	ShowQueries:            "QUERIES",
	ShowJobs:               "JOBS",
	ShowStatistics:         "STATISTICS",
	ShowClusterSettings:    "ALL CLUSTER SETTINGS",
	ShowClusterSetting:     "CLUSTER SETTING",
	ShowZoneConfigurations: "ZONE CONFIGURATIONS",
	ShowTransactions:       "TRANSACTIONS",
	ShowFunctions:          "FUNCTIONS",
	ShowEnums:              "ENUMS",
	ShowRegions:            "REGIONS",
	ShowSchedules:          "SCHEDULES",
}

// String returns the SQL words after SHOW.
func (k ShowKind) String() string { return showKindNames[k] }

// ShowKindNames returns the SQL words of all lists, in order.
func ShowKindNames() []string { return slices.Sorted(slices.Values(showKindNames[:])) }

// ShowObjects is a dialect SHOW that lists objects.
type ShowObjects struct {
	Loc
	Kind ShowKind
	// Name is the object of FROM name, of SHOW CREATE name, of ON name.
	Name *TableName
	// Object says what Name names: ObjTable, ObjDatabase, ObjSchema, ObjIndex,
	// ObjView, ObjSequence.
	Object ObjectKind
	// Setting is the name of ShowClusterSetting.
	Setting string
	// Grantees restricts SHOW GRANTS ... FOR.
	Grantees    []RoleSpec
	All         bool // SHOW ALL ..., SHOW CREATE ALL TABLES
	WithComment bool
	WithDetails bool
}

func (*Show) stmtNode()        {}
func (*ShowObjects) stmtNode() {}
