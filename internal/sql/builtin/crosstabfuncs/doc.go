// Package crosstabfuncs declares the functions of the extension tablefunc: tables across (crosstab), trees of rows (connectby), and
// numbers at random (normal_rand). They run queries, whose texts they are given, in the session's snapshot.
//
// overloads.go lists them; crosstab.go, connectby.go and random.go are what they do, result.go collects their rows.
package crosstabfuncs
