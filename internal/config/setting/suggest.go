package setting

import "strings"

// Suggest returns the name of a setting that somebody may have meant by name, "" if none
// is like it.
func Suggest(name string) string {
	name = strings.ToLower(name)
	best, least := "", len(name)/3+1
	for _, s := range all {
		d := distance(name, s.Name)
		if last := s.Name[strings.LastIndexByte(s.Name, '.')+1:]; name == last || strings.HasSuffix(name, "."+last) {
			d = min(d, 1) // in another group, as in another system
		}
		if d < least {
			best, least = s.Name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, left out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
