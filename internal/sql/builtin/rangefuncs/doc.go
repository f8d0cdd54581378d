// Package rangefuncs declares operators and functions of ranges and multiranges. A range is treated as a
// multirange of at most one range, so that one function serves both.
package rangefuncs
