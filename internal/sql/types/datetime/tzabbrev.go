package datetime

import (
	"sort"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
)

// zoneAbbrev is a time zone abbreviation accepted in input.
type zoneAbbrev struct {
	name string
	east int32 // seconds east of UTC
}

// zoneAbbrevs is sorted by name: the abbreviations PostgreSQL accepts by
// default, each with its offset.
var zoneAbbrevs = []zoneAbbrev{
	{"ACDT", 37800}, {"ACSST", 37800}, {"ACST", 34200}, {"ACT", -18000}, {"ACWST", 31500},
	{"ADT", -10800}, {"AEDT", 39600}, {"AESST", 39600}, {"AEST", 36000}, {"AFT", 16200},
	{"AKDT", -28800}, {"AKST", -32400}, {"ALMST", 25200}, {"ALMT", 21600}, {"AMST", 14400},
	{"AMT", -14400}, {"ANAST", 43200}, {"ANAT", 43200}, {"ARST", -10800}, {"ART", -10800},
	{"AST", -14400}, {"AWSST", 32400}, {"AWST", 28800}, {"AZOST", 0}, {"AZOT", -3600},
	{"AZST", 14400}, {"AZT", 14400}, {"BDST", 7200}, {"BDT", 21600}, {"BNT", 28800},
	{"BORT", 28800}, {"BOT", -14400}, {"BRA", -10800}, {"BRST", -7200}, {"BRT", -10800},
	{"BST", 3600}, {"BTT", 21600}, {"CADT", 37800}, {"CAST", 34200}, {"CCT", 28800},
	{"CDT", -18000}, {"CEST", 7200}, {"CET", 3600}, {"CETDST", 7200}, {"CHADT", 49500},
	{"CHAST", 45900}, {"CHUT", 36000}, {"CKT", -36000}, {"CLST", -10800}, {"CLT", -10800},
	{"COT", -18000}, {"CST", -21600}, {"CXT", 25200}, {"DAVT", 25200}, {"DDUT", 36000},
	{"EASST", -18000}, {"EAST", -18000}, {"EAT", 10800}, {"EDT", -14400}, {"EEST", 10800},
	{"EET", 7200}, {"EETDST", 10800}, {"EGST", 0}, {"EGT", -3600}, {"EST", -18000},
	{"FET", 10800}, {"FJST", 46800}, {"FJT", 43200}, {"FKST", -10800}, {"FKT", -10800},
	{"FNST", -3600}, {"FNT", -7200}, {"GALT", -21600}, {"GAMT", -32400}, {"GEST", 14400},
	{"GET", 14400}, {"GFT", -10800}, {"GILT", 43200}, {"GMT", 0}, {"GYT", -14400},
	{"HKT", 28800}, {"HST", -36000}, {"ICT", 25200}, {"IDT", 10800}, {"IOT", 21600},
	{"IRKST", 28800}, {"IRKT", 28800}, {"IRT", 12600}, {"IST", 7200}, {"JAYT", 32400},
	{"JST", 32400}, {"KDT", 36000}, {"KGST", 21600}, {"KGT", 21600}, {"KOST", 39600},
	{"KRAST", 25200}, {"KRAT", 25200}, {"KST", 32400}, {"LHDT", 39600}, {"LHST", 37800},
	{"LIGT", 36000}, {"LINT", 50400}, {"LKT", 19800}, {"MAGST", 39600}, {"MAGT", 39600},
	{"MART", -34200}, {"MAWT", 18000}, {"MDT", -21600}, {"MEST", 7200}, {"MESZ", 7200},
	{"MET", 3600}, {"METDST", 7200}, {"MEZ", 3600}, {"MHT", 43200}, {"MMT", 23400},
	{"MPT", 36000}, {"MSD", 14400}, {"MSK", 10800}, {"MST", -25200}, {"MUST", 18000},
	{"MUT", 14400}, {"MVT", 18000}, {"MYT", 28800}, {"NDT", -9000}, {"NFT", -12600},
	{"NOVST", 25200}, {"NOVT", 25200}, {"NPT", 20700}, {"NST", -12600}, {"NUT", -39600},
	{"NZDT", 46800}, {"NZST", 43200}, {"NZT", 43200}, {"OMSST", 21600}, {"OMST", 21600},
	{"PDT", -25200}, {"PET", -18000}, {"PETST", 43200}, {"PETT", 43200}, {"PGT", 36000},
	{"PHT", 28800}, {"PKST", 21600}, {"PKT", 18000}, {"PMDT", -7200}, {"PMST", -10800},
	{"PONT", 39600}, {"PST", -28800}, {"PWT", 32400}, {"PYST", -10800}, {"PYT", -10800},
	{"RET", 14400}, {"SADT", 37800}, {"SAST", 7200}, {"SCT", 14400}, {"SGT", 28800},
	{"TAHT", -36000}, {"TFT", 18000}, {"TJT", 18000}, {"TKT", 46800}, {"TMT", 18000},
	{"TOT", 46800}, {"TRUT", 36000}, {"TVT", 43200}, {"UCT", 0}, {"ULAST", 32400},
	{"ULAT", 28800}, {"UT", 0}, {"UTC", 0}, {"UYST", -7200}, {"UYT", -10800},
	{"UZST", 21600}, {"UZT", 18000}, {"VET", -14400}, {"VLAST", 36000}, {"VLAT", 36000},
	{"VOLT", 10800}, {"VUT", 39600}, {"WADT", 28800}, {"WAKT", 43200}, {"WAST", 25200},
	{"WAT", 3600}, {"WDT", 32400}, {"WET", 0}, {"WETDST", 3600}, {"WFT", 43200},
	{"WGST", -7200}, {"WGT", -10800}, {"XJT", 21600}, {"YAKST", 32400}, {"YAKT", 32400},
	{"YAPT", 36000}, {"YEKST", 21600}, {"YEKT", 18000}, {"Z", 0}, {"ZULU", 0},
}

// lookupAbbrev returns the offset east of UTC of an upper-case abbreviation.
func lookupAbbrev(name string) (int32, bool) {
	i := sort.Search(len(zoneAbbrevs), func(i int) bool { return zoneAbbrevs[i].name >= name })
	if i < len(zoneAbbrevs) && zoneAbbrevs[i].name == name {
		return zoneAbbrevs[i].east, true
	}
	return 0, false
}

// zonesOfAbbrevs are the zones of those abbreviations whose offset has changed in the
// course of time: zoneAbbrevs has what they mean now.
var zonesOfAbbrevs = map[string]string{
	"AMST": "Asia/Yerevan", "ANAST": "Asia/Anadyr", "ANAT": "Asia/Anadyr", "ARST": "America/Argentina/Buenos_Aires",
	"ART": "America/Argentina/Buenos_Aires", "AZST": "Asia/Baku", "AZT": "Asia/Baku", "CKT": "Pacific/Rarotonga",
	"CLT": "America/Santiago", "DAVT": "Antarctica/Davis", "EASST": "Pacific/Easter", "EAST": "Pacific/Easter",
	"FKST": "Atlantic/Stanley", "FKT": "Atlantic/Stanley", "GEST": "Asia/Tbilisi", "GET": "Asia/Tbilisi",
	"GYT": "America/Guyana", "IOT": "Indian/Chagos", "IRKST": "Asia/Irkutsk", "IRKT": "Asia/Irkutsk",
	"KGT": "Asia/Bishkek", "KOST": "Pacific/Kosrae", "KRAST": "Asia/Krasnoyarsk", "KRAT": "Asia/Krasnoyarsk",
	"LHDT": "Australia/Lord_Howe", "LINT": "Pacific/Kiritimati", "LKT": "Asia/Colombo", "MAGST": "Asia/Magadan",
	"MAGT": "Asia/Magadan", "MAWT": "Antarctica/Mawson", "MSK": "Europe/Moscow", "NOVST": "Asia/Novosibirsk",
	"NOVT": "Asia/Novosibirsk", "NUT": "Pacific/Niue", "OMSST": "Asia/Omsk", "OMST": "Asia/Omsk",
	"PETST": "Asia/Kamchatka", "PETT": "Asia/Kamchatka", "PYT": "America/Asuncion", "SGT": "Asia/Singapore",
	"TKT": "Pacific/Fakaofo", "TMT": "Asia/Ashgabat", "ULAT": "Asia/Ulaanbaatar", "VET": "America/Caracas",
	"VLAST": "Asia/Vladivostok", "VLAT": "Asia/Vladivostok", "VOLT": "Europe/Volgograd", "YAKST": "Asia/Yakutsk",
	"YAKT": "Asia/Yakutsk", "YEKT": "Asia/Yekaterinburg",
}

// ExprZone is a time zone as AT TIME ZONE names it. The offset of an abbreviation may
// depend on the time at which it is used.
type ExprZone struct {
	loc    *time.Location
	abbrev string // of a zone that has used it for more than one offset, else empty
}

// At returns the zone as it is meant at an instant.
func (z ExprZone) At(micros int64) *time.Location {
	if z.abbrev == "" {
		return z.loc
	}
	return time.FixedZone(z.abbrev, offsetOfAbbrev(z.abbrev, types.TimeFromMicros(micros).In(z.loc)))
}

// AtLocal is At for the reading of a clock.
func (z ExprZone) AtLocal(local int64) *time.Location {
	if z.abbrev == "" {
		return z.loc
	}
	return z.At(UTCFromLocal(local, z.loc))
}

// lastTransitionYear bounds the search for an abbreviation in zones whose rules go on for ever.
const lastTransitionYear = 2037

// offsetOfAbbrev is the offset east that an abbreviation stood for last in the zone of t,
// up to t, or first after it; of one that the zone does not use, the offset at t.
func offsetOfAbbrev(abbrev string, t time.Time) int {
	for at := t; ; {
		if name, east := at.Zone(); name == abbrev {
			return east
		}
		start, _ := at.ZoneBounds()
		if start.IsZero() {
			break
		}
		at = start.Add(-1)
	}
	for at := t; at.Year() <= lastTransitionYear; {
		_, end := at.ZoneBounds()
		if end.IsZero() {
			break
		}
		if name, east := end.Zone(); name == abbrev {
			return east
		}
		at = end
	}
	_, east := t.Zone()
	return east
}

// daylightAbbrevs are those of the abbreviations that stand for daylight saving time.
const daylightAbbrevs = "" +
	" ACDT ACSST ADT AEDT AESST AKDT ALMST AWSST AZOST BDST BRST BST CADT CDT CEST CETDST CHADT CLST CLT " +
	"EASST EAST EDT EEST EETDST EGST FJST FNST IDT KDT KGST LHDT MDT MEST MESZ METDST MSD MUST NDT NZDT " +
	"PDT PKST PMDT PYST SADT ULAST UYST UZST WADT WDT WETDST WGST YEKST "

// EachZoneAbbrev calls f for every abbreviation, in order.
func EachZoneAbbrev(f func(name string, east int32, daylight bool)) {
	for _, a := range zoneAbbrevs {
		f(a.name, a.east, strings.Contains(daylightAbbrevs, " "+a.name+" "))
	}
}
