package keys

// tablespacePrefix is the name under which tablespaces are kept.
const tablespacePrefix = "tablespace/"

// Tablespace is the key of a tablespace, which belongs to all databases.
func Tablespace(name string) []byte { return SystemKey(tablespacePrefix + name) }

// TablespaceSpan covers all tablespaces.
func TablespaceSpan() Span { return SystemSpan(tablespacePrefix) }

// TablespaceName returns the name in a key of TablespaceSpan.
func TablespaceName(key []byte) string { return string(key[len(SystemKey(tablespacePrefix)):]) }
