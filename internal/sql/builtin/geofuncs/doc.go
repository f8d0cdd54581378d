// Package geofuncs declares operators and functions of the geometric types: point, lseg, line, box,
// path, polygon, circle. Package geometry calculates.
package geofuncs
