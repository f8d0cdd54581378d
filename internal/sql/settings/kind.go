package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind says which values a parameter may have, as pg_settings shows it.
type Kind struct {
	Type     string // "bool", "enum", "integer", "real" or "string"
	Unit     string // what numbers without a unit are in: "kB", "8kB", "ms" or "s"
	Min, Max string // of numbers
	Enum     []string

	norm  func(string) (string, bool) // canonical form of a value, false if invalid
	plain func(string) string         // a canonical value without its unit
}

// Kind returns what values the parameter may have.
func (p *Param) Kind() Kind {
	switch {
	case p.is.Type != "":
		return p.is
	case p.ReadOnly && (p.Default == "on" || p.Default == "off"):
		return Kind{Type: "bool"}
	case p.ReadOnly:
		if _, err := strconv.ParseInt(p.Default, 10, 32); err == nil {
			return Kind{Type: "integer", Min: p.Default, Max: p.Default}
		}
	}
	return Kind{Type: "string"}
}

// Plain returns a value as pg_settings has it: numbers without their unit.
func (p *Param) Plain(value string) string {
	if p.is.plain == nil {
		return value
	}
	return p.is.plain(value)
}

func text(norm func(string) (string, bool)) Kind { return Kind{Type: "string", norm: norm} }

var boolean = Kind{Type: "bool", norm: boolValue}

// alwaysOn is a boolean that can't be turned off.
var alwaysOn = Kind{Type: "bool", norm: func(s string) (string, bool) {
	v, ok := boolValue(s)
	return v, ok && v == "on"
}}

// alwaysOff is a boolean that can't be turned on.
var alwaysOff = Kind{Type: "bool", norm: func(s string) (string, bool) {
	v, ok := boolValue(s)
	return v, ok && v == "off"
}}

// logLevel is how severe a message is at least that the server's log gets.
var logLevel = enum("debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal", "panic")

func boolValue(s string) (string, bool) {
	switch s := strings.ToLower(s); {
	case s == "on", s == "1", s != "" && strings.HasPrefix("true", s), s != "" && strings.HasPrefix("yes", s):
		return "on", true
	case s == "off", s == "of", s == "0", s != "" && strings.HasPrefix("false", s), s != "" && strings.HasPrefix("no", s):
		return "off", true
	}
	return "", false
}

func enum(values ...string) Kind {
	return Kind{Type: "enum", Enum: values, norm: func(s string) (string, bool) {
		s = strings.ToLower(s)
		return s, slices.Contains(values, s)
	}}
}

// numbers is a kind of whole numbers within limits.
func numbers(lo, hi int64) Kind {
	return Kind{Type: "integer", Min: strconv.FormatInt(lo, 10), Max: strconv.FormatInt(hi, 10)}
}

func integer(lo, hi int64) Kind {
	k := numbers(lo, hi)
	k.norm = func(s string) (string, bool) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
		return strconv.FormatInt(n, 10), err == nil && n >= lo && n <= hi
	}
	return k
}

func fraction(lo, hi float64) Kind {
	limit := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	return Kind{Type: "real", Min: limit(lo), Max: limit(hi), norm: func(s string) (string, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return strconv.FormatFloat(f, 'g', -1, 64), err == nil && f >= lo && f <= hi // not of NaN
	}}
}

// cost is what the planner's constants are.
var cost = fraction(0, math.MaxFloat64)

// unit is a unit of sizes, in kilobytes, or of times.
type unit[N int64 | time.Duration] struct {
	name string
	n    N
}

var (
	timeUnits = []unit[time.Duration]{
		{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond},
		{"us", time.Microsecond},
	}
	sizeUnits = []unit[int64]{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}}
)

// quantity is amount, rounded to a whole number.
func quantity[N int64 | time.Duration](s string, base N, units []unit[N]) (int64, bool) {
	f, ok := amount(s, base, units)
	f = math.RoundToEven(f)
	return int64(f), ok && math.Abs(f) <= math.MaxInt32
}

// amount reads a number with or without a unit, in multiples of base.
func amount[N int64 | time.Duration](s string, base N, units []unit[N]) (float64, bool) {
	s = strings.TrimSpace(s)
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzBGKMT ")
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return 0, false
	}
	if name := strings.TrimSpace(s[len(num):]); name != "" {
		i := slices.IndexFunc(units, func(u unit[N]) bool { return u.name == name })
		if i < 0 {
			return 0, false
		}
		f *= float64(units[i].n) / float64(base)
	}
	return f, true
}

// quantities is a kind of numbers with a unit, base, which are shown in the largest unit
// that divides them.
func quantities[N int64 | time.Duration](name string, base N, units []unit[N], lo, hi int64) Kind {
	k := numbers(lo, hi)
	k.Unit = name
	k.norm = func(s string) (string, bool) {
		n, ok := quantity(s, base, units)
		if !ok || n < lo || n > hi {
			return "", false
		}
		if n > 0 {
			for _, u := range units {
				if v := N(n) * base; v%u.n == 0 {
					return fmt.Sprintf("%d%s", int64(v/u.n), u.name), true
				}
			}
		}
		return strconv.FormatInt(n, 10), true
	}
	k.plain = func(s string) string {
		n, _ := quantity(s, base, units)
		return strconv.FormatInt(n, 10)
	}
	return k
}

// kilobytes and pages are sizes.
func kilobytes(lo, hi int64) Kind { return quantities("kB", 1<<10, sizeUnits, lo, hi) }

func pages(lo, hi int64) Kind { return quantities("8kB", 8<<10, sizeUnits, lo, hi) }

// milliseconds and seconds are times.
func milliseconds(lo, hi int64) Kind {
	return quantities("ms", time.Millisecond, timeUnits, lo, hi)
}

// realMilliseconds are times with a fraction.
func realMilliseconds(lo, hi float64) Kind {
	k := fraction(lo, hi)
	k.Unit = "ms"
	read := func(s string) (float64, bool) { return amount(s, time.Millisecond, timeUnits) }
	k.norm = func(s string) (string, bool) {
		f, ok := read(s)
		if !ok || !(f >= lo && f <= hi) {
			return "", false
		}
		for _, u := range timeUnits {
			if n := f * float64(time.Millisecond) / float64(u.n); f > 0 && math.Abs(n-math.Round(n)) < 1e-8*n {
				return fmt.Sprintf("%.0f%s", n, u.name), true
			}
		}
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
	k.plain = func(s string) string {
		f, _ := read(s)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return k
}

func seconds(lo, hi int64) Kind { return quantities("s", time.Second, timeUnits, lo, hi) }

// timeout is the apply of a parameter of milliseconds.
func timeout(set func(*Fast, time.Duration)) func(*Values, string) {
	return func(v *Values, s string) {
		n, _ := quantity(s, time.Millisecond, timeUnits)
		set(&v.Fast, time.Duration(n)*time.Millisecond)
	}
}
