package ast

// AlterTable is ALTER TABLE (and ALTER VIEW, INDEX, SEQUENCE, MATERIALIZED VIEW
// in the forms that share its commands) with its list of commands.
type AlterTable struct {
	Loc
	Kind     ObjectKind // ObjTable, ObjIndex, ObjView, ObjSequence, ObjMaterializedView
	IfExists bool
	Only     bool
	Name     TableName
	Cmds     []*AlterCmd
}

// AlterKind is the kind of an AlterCmd.
type AlterKind uint8

// The commands of ALTER TABLE. The comment says which fields are used besides
// IfExists, IfNotExists and Cascade.
const (
	AlterAddColumn           AlterKind = iota // Def
	AlterDropColumn                           // Name
	AlterColumnType                           // Name, Type, Collate, X (USING)
	AlterColumnSetDefault                     // Name, X
	AlterColumnDropDefault                    // Name
	AlterColumnSetOnUpdate                    // Name, X; dialect
	AlterColumnDropOnUpdate                   // Name; dialect
	AlterColumnSetNotNull                     // Name
	AlterColumnDropNotNull                    // Name
	AlterColumnSetVisible                     // Name; dialect
	AlterColumnSetNotVisible                  // Name; dialect
	AlterColumnDropExpr                       // Name: DROP EXPRESSION
	AlterColumnAddIdentity                    // Name, Constraint
	AlterColumnSetIdentity                    // Name, SeqOptions; Always with AlwaysSet
	AlterColumnDropIdentity                   // Name
	AlterColumnStatistics                     // Name or Number2 column number, X
	AlterColumnSetParams                      // Name, Params
	AlterColumnResetParams                    // Name, Params
	AlterColumnStorage                        // Name, NewName
	AlterColumnCompression                    // Name, NewName
	AlterAddConstraint                        // Constraint, Name of the column whose it is
	AlterAlterConstraint                      // Name, Constraint (deferrability)
	AlterValidateConstraint                   // Name
	AlterDropConstraint                       // Name
	AlterRename                               // NewName
	AlterRenameColumn                         // Name, NewName
	AlterRenameConstraint                     // Name, NewName
	AlterSetSchema                            // NewName
	AlterOwner                                // Role
	AlterSetParams                            // Params
	AlterResetParams                          // Params
	AlterClusterOn                            // Name
	AlterSetWithoutCluster                    // nothing
	AlterSetWithoutOids                       // nothing
	AlterReplicaIdentity                      // NewName: nothing, full, default, or index with Name
	AlterSetTablespace                        // NewName
	AlterSetLogged                            // nothing
	AlterSetUnlogged                          // nothing
	AlterSetAccessMethod                      // NewName
	AlterTrigger                              // Name ("all", "user" included), NewName: enable, disable, ...
	AlterRule                                 // Name, NewName: enable, disable, ...
	AlterRowSecurity                          // NewName: enable, disable, force, no force
	AlterInherit                              // Table
	AlterNoInherit                            // Table
	AlterOfType                               // Names
	AlterNotOf                                // nothing
	AlterAttachPartition                      // Table, Bound
	AlterDetachPartition                      // Table, NewName: "", concurrently, finalize
	AlterDependsOnExtension                   // Name, No
	AlterPrimaryKey                           // Constraint; dialect ALTER PRIMARY KEY USING COLUMNS
)

// AlterCmd is one command of ALTER TABLE.
type AlterCmd struct {
	Loc
	Kind        AlterKind
	IfExists    bool
	IfNotExists bool
	Cascade     bool
	No          bool
	Name        Name
	NewName     Name
	Names       []Name
	Number      int
	Def         *ColumnDef
	Constraint  *Constraint
	Type        *TypeName
	Collate     []Name
	X           Expr
	Params      []StorageParam
	SeqOptions  []SequenceOption
	AlwaysSet   bool // SET GENERATED was written
	Always      bool // SET GENERATED ALWAYS
	Role        RoleSpec
	Table       TableName
	Bound       *PartitionBound
}

func (*AlterTable) stmtNode() {}
