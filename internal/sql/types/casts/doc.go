// Package casts converts values from one type to another: the rows of pg_cast between predeclared
// types, casts through text, and those of arrays, records and user-defined types (Find).
//
// A file per subject declares its casts (addNumericCasts, addTimeCasts and their kin); castTable
// makes one table of them when the program starts.
package casts
