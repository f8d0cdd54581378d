package catalog

import "github.com/lichendb/lichen/internal/sql/pgerr"

// Template is a database that PostgreSQL copies new ones from. Here templates are but names, for
// what a new database holds is the same always.
type Template struct {
	Oid  uint32
	Name string
}

// Templates are PostgreSQL's.
var Templates = []Template{{1, "template1"}, {4, "template0"}}

// TemplateByName returns the template of a name, nil if there is none.
func TemplateByName(name string) *Template {
	for i := range Templates {
		if Templates[i].Name == name {
			return &Templates[i]
		}
	}
	return nil
}

// DuplicateDatabaseError says that there is a database of a name already.
func DuplicateDatabaseError(name string) *pgerr.Error {
	return pgerr.New(pgerr.DuplicateDatabase, "database \"%s\" already exists", name)
}
