package main

import "strings"

// shrink leaves tokens out of a text as long as its difference stays of the
// same class.
func shrink(c comparison) comparison {
	list := tokens(c.sql)
	if len(list) > 300 {
		return c
	}
	for n := max(1, len(list)/2); n > 0; n /= 2 {
		for i := 0; i+n <= len(list); {
			rest := append(list[:i:i], list[i+n:]...)
			if s := compare(strings.Join(rest, " ")); s.class == c.class {
				list, c = rest, s
			} else {
				i++
			}
		}
	}
	return c
}
