package activity

import "regexp"

// secret matches a password in the text of a statement: a string behind the word, in any of the ways to quote one, closed or
// not, within another string or not.
var secret = regexp.MustCompile(`(?is)(\bpassword\s+|\bpassword\b[^'"$]{0,40}?=\s*)(?:[eEbBxXnN]|u&)?(?:'+(?:[^'\\]|''|\\.)*'*|\$[a-z_0-9]*\$.*?(?:\$[a-z_0-9]*\$|$))`)

// Redacted returns the text of a statement without the passwords in it, for others to see.
func Redacted(text string) string { return secret.ReplaceAllString(text, "${1}'********'") }
