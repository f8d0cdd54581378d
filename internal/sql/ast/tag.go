package ast

// Tag implements Statement.
func (s *Select) Tag() string {
	if s.Into != nil {
		return "SELECT INTO"
	}
	return "SELECT"
}

// Tag implements Statement.
func (*Insert) Tag() string { return "INSERT" }

// Tag implements Statement.
func (*Update) Tag() string { return "UPDATE" }

// Tag implements Statement.
func (*Delete) Tag() string { return "DELETE" }

// Tag implements Statement.
func (*Truncate) Tag() string { return "TRUNCATE TABLE" }

// Tag implements Statement.
func (*CreateTable) Tag() string { return "CREATE TABLE" }

// Tag implements Statement.
func (s *CreateTableAs) Tag() string {
	if s.Materialized {
		return "CREATE MATERIALIZED VIEW"
	}
	return "CREATE TABLE AS"
}

// Tag implements Statement.
func (*CreateIndex) Tag() string { return "CREATE INDEX" }

// Tag implements Statement.
func (s *AlterTable) Tag() string { return "ALTER " + s.Kind.String() }

// Tag implements Statement.
func (*CreateDatabase) Tag() string { return "CREATE DATABASE" }

// Tag implements Statement.
func (*DropDatabase) Tag() string { return "DROP DATABASE" }

// Tag is the command tag.
func (*CreateTablespace) Tag() string { return "CREATE TABLESPACE" }

// Tag is the command tag.
func (*DropTablespace) Tag() string { return "DROP TABLESPACE" }

// Tag implements Statement.
func (*AlterDatabase) Tag() string { return "ALTER DATABASE" }

// Tag implements Statement.
func (*CreateSchema) Tag() string { return "CREATE SCHEMA" }

// Tag implements Statement.
func (s *AlterObject) Tag() string { return "ALTER " + s.Kind.String() }

// Tag implements Statement.
func (s *Drop) Tag() string { return "DROP " + s.Kind.String() }

// Tag implements Statement.
func (*CreateSequence) Tag() string { return "CREATE SEQUENCE" }

// Tag implements Statement.
func (*AlterSequence) Tag() string { return "ALTER SEQUENCE" }

// Tag implements Statement.
func (*CreateView) Tag() string { return "CREATE VIEW" }

// Tag implements Statement.
func (*RefreshView) Tag() string { return "REFRESH MATERIALIZED VIEW" }

// Tag implements Statement.
func (*CreateEnum) Tag() string { return "CREATE TYPE" }

// Tag implements Statement.
func (*CreateComposite) Tag() string { return "CREATE TYPE" }

// Tag implements Statement.
func (*CreateDomain) Tag() string { return "CREATE DOMAIN" }

// Tag implements Statement.
func (*AlterDomain) Tag() string { return "ALTER DOMAIN" }

// Tag implements Statement.
func (*AlterEnum) Tag() string { return "ALTER TYPE" }

// Tag implements Statement.
func (*AlterComposite) Tag() string { return "ALTER TYPE" }

// Tag implements Statement.
func (*CreateRange) Tag() string { return "CREATE TYPE" }

// Tag implements Statement.
func (*CreateCast) Tag() string { return "CREATE CAST" }

// Tag implements Statement.
func (*DropCast) Tag() string { return "DROP CAST" }

// Tag implements Statement.
func (*CreateCollation) Tag() string { return "CREATE COLLATION" }

// Tag implements Statement.
func (*UpdateExtension) Tag() string { return "ALTER EXTENSION" }
func (*CreateExtension) Tag() string { return "CREATE EXTENSION" }

// Tag implements Statement.
func (*Comment) Tag() string { return "COMMENT" }

// Tag implements Statement.
func (s *Begin) Tag() string {
	if s.Start {
		return "START TRANSACTION"
	}
	return "BEGIN"
}

// Tag implements Statement.
func (*Commit) Tag() string { return "COMMIT" }

// Tag implements Statement.
func (*Rollback) Tag() string { return "ROLLBACK" }

// Tag implements Statement.
func (*Savepoint) Tag() string { return "SAVEPOINT" }

// Tag implements Statement.
func (*Release) Tag() string { return "RELEASE" }

// Tag implements Statement.
func (*RollbackTo) Tag() string { return "ROLLBACK" }

// Tag implements Statement.
func (s *PrepareTxn) Tag() string {
	switch s.Kind {
	case CommitPrepared:
		return "COMMIT PREPARED"
	case RollbackPrepared:
		return "ROLLBACK PREPARED"
	default:
		return "PREPARE TRANSACTION"
	}
}

// Tag implements Statement.
func (s *SetVar) Tag() string {
	if s.Reset {
		return "RESET"
	}
	return "SET"
}

// Tag implements Statement.
func (*SetTransaction) Tag() string { return "SET" }

// Tag implements Statement.
func (*SetConstraints) Tag() string { return "SET CONSTRAINTS" }

// Tag implements Statement.
func (*Show) Tag() string { return "SHOW" }

// Tag implements Statement.
func (*ShowObjects) Tag() string { return "SHOW" }

// Tag implements Statement.
func (*SetClusterSetting) Tag() string { return "SET CLUSTER SETTING" }

// Tag implements Statement.
func (*Use) Tag() string { return "SET" }

// Tag implements Statement.
func (s *Cancel) Tag() string {
	switch s.Kind {
	case CancelSessions:
		return s.Verb + " SESSIONS"
	case CancelJobs:
		return s.Verb + " JOBS"
	default:
		return s.Verb + " QUERIES"
	}
}

// Tag implements Statement.
func (s *Discard) Tag() string { return "DISCARD " + s.Kind.String() }

// String returns the SQL word.
func (k DiscardKind) String() string {
	return [...]string{"ALL", "PLANS", "SEQUENCES", "TEMP"}[k]
}

// Tag implements Statement.
func (*Listen) Tag() string { return "LISTEN" }

// Tag implements Statement.
func (*Unlisten) Tag() string { return "UNLISTEN" }

// Tag implements Statement.
func (*Notify) Tag() string { return "NOTIFY" }

// Tag implements Statement.
func (*Copy) Tag() string { return "COPY" }

// Tag implements Statement.
func (*Explain) Tag() string { return "EXPLAIN" }

// Tag implements Statement.
func (*Prepare) Tag() string { return "PREPARE" }

// Tag implements Statement.
func (*Execute) Tag() string { return "EXECUTE" }

// Tag implements Statement.
func (s *Deallocate) Tag() string {
	if s.All {
		return "DEALLOCATE ALL"
	}
	return "DEALLOCATE"
}

// Tag implements Statement.
func (*DeclareCursor) Tag() string { return "DECLARE CURSOR" }

// Tag implements Statement.
func (s *Fetch) Tag() string {
	if s.Move {
		return "MOVE"
	}
	return "FETCH"
}

// Tag implements Statement.
func (s *CloseCursor) Tag() string {
	if s.All {
		return "CLOSE CURSOR ALL"
	}
	return "CLOSE CURSOR"
}

// Tag implements Statement.
func (*CreateRole) Tag() string { return "CREATE ROLE" }

// Tag implements Statement.
func (*AlterRole) Tag() string { return "ALTER ROLE" }

// Tag implements Statement.
func (*DropRole) Tag() string { return "DROP ROLE" }

// Tag implements Statement.
func (s *ReassignOwned) Tag() string {
	if s.Drop {
		return "DROP OWNED"
	}
	return "REASSIGN OWNED"
}

// Tag implements Statement.
func (s *Grant) Tag() string {
	tag := "GRANT"
	if s.Revoke {
		tag = "REVOKE"
	}
	if s.OnRoles {
		tag += " ROLE"
	}
	return tag
}

// Tag implements Statement.
func (*AlterDefaultPrivileges) Tag() string { return "ALTER DEFAULT PRIVILEGES" }

// Tag implements Statement.
func (s *Vacuum) Tag() string {
	if s.AnalyzeOnly {
		return "ANALYZE"
	}
	return "VACUUM"
}

// Tag implements Statement.
func (*Reindex) Tag() string { return "REINDEX" }

// Tag implements Statement.
func (*Cluster) Tag() string { return "CLUSTER" }

// Tag implements Statement.
func (*Checkpoint) Tag() string { return "CHECKPOINT" }

// Tag implements Statement.
func (*LockTable) Tag() string { return "LOCK TABLE" }

// Tag implements Statement.
func (*Do) Tag() string { return "DO" }

// Tag implements Statement.
func (*Call) Tag() string { return "CALL" }

// Tag implements Statement: the feature's name.
func (s *Unsupported) Tag() string { return s.Feature }
