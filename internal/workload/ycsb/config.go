package ycsb

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/workload"
)

// Limits of a table that the workload can make.
const (
	maxFields      = 1000
	maxFieldLength = 1 << 24
	maxThreads     = 10_000
	maxBatch       = 10_000
)

// Config is a workload, completely described.
type Config struct {
	Target workload.Target

	Table                      string
	FieldPrefix                string
	Fields                     int
	FieldLength, MinFieldLen   int
	FieldLengthDist            string
	ReadAllFields, WriteAll    bool
	ReadByName, Verify         bool
	Mix                        Mix
	Distribution               string
	MinScan, MaxScan           int64
	ScanDist                   string
	OrderedInserts             bool
	ZeroPadding                int
	Records, Operations        int64
	InsertStart, InsertCount   int64
	HotData, HotOps            float64
	ExpPercentile, ExpFraction float64
	InsertRetries              int
	InsertRetryEvery           time.Duration

	Threads      int
	TargetRate   float64
	MaxTime      time.Duration
	BatchSize    int
	Percentiles  []float64
	Label        string
	DisplayEvery time.Duration
	Seed         uint64
	// Ignored lists the given properties that have no effect here.
	Ignored []string
}

// Mix is the proportions of the operations.
type Mix struct {
	Read, Update, Insert, Scan, ReadModifyWrite, Delete float64
}

func (m Mix) sum() float64 {
	return m.Read + m.Update + m.Insert + m.Scan + m.ReadModifyWrite + m.Delete
}

// Property describes a property that the workload knows.
type Property struct{ Name, Default, Help string }

// Known lists the properties that have an effect, with YCSB's defaults.
func Known() []Property {
	return []Property{
		{"workload", "", "core workload A to F, or the name of YCSB's core workload class"},
		{"table", "usertable", "name of the table"},
		{"recordcount", "0", "records in the table before the run"},
		{"operationcount", "0", "operations to do; 0 for as many as maxexecutiontime allows"},
		{"threadcount", "1", "threads, each with its own connection"},
		{"target", "0", "operations per second that all threads together aim for; 0 for no limit"},
		{"maxexecutiontime", "0", "seconds after which the run ends; 0 for no limit"},
		{"fieldcount", "10", "fields of a record"},
		{"fieldnameprefix", "field", "what the names of fields begin with"},
		{"fieldlength", "100", "bytes of a field"},
		{"minfieldlength", "1", "least bytes of a field unless fieldlengthdistribution is constant"},
		{"fieldlengthdistribution", "constant", "constant, uniform or zipfian"},
		{"readallfields", "true", "read all fields of a record, not one"},
		{"readallfieldsbyname", "false", "name the fields when reading all"},
		{"writeallfields", "false", "update all fields of a record, not one"},
		{"dataintegrity", "false", "write values that reads can check, and check them"},
		{"readproportion", "0.95", "proportion of reads"},
		{"updateproportion", "0.05", "proportion of updates"},
		{"insertproportion", "0", "proportion of inserts"},
		{"scanproportion", "0", "proportion of scans"},
		{"readmodifywriteproportion", "0", "proportion of reads that write the record back"},
		{"deleteproportion", "0", "proportion of deletes"},
		{"requestdistribution", "uniform", "which keys: uniform, zipfian, latest, hotspot, sequential or exponential"},
		{"minscanlength", "1", "least records of a scan"},
		{"maxscanlength", "1000", "most records of a scan"},
		{"scanlengthdistribution", "uniform", "length of scans: uniform or zipfian"},
		{"insertorder", "hashed", "order of keys: hashed or ordered"},
		{"zeropadding", "1", "digits of a key's number, filled with zeros"},
		{"insertstart", "0", "first record that this client inserts or requests"},
		{"insertcount", "", "number of records that this client inserts or requests"},
		{"hotspotdatafraction", "0.2", "hotspot: share of the records that are hot"},
		{"hotspotopnfraction", "0.8", "hotspot: share of the operations on hot records"},
		{"exponential.percentile", "95", "exponential: percent of the operations on the newest records"},
		{"exponential.frac", "0.8571428571", "exponential: share of the records that are the newest"},
		{"core_workload_insertion_retry_limit", "0", "how often a failed insert is tried again"},
		{"core_workload_insertion_retry_interval", "3", "seconds between such tries"},
		{"db.url", "", "the server, as a PostgreSQL or JDBC URL"},
		{"db.user", "", "user, instead of the URL's"},
		{"db.passwd", "", "password, instead of the URL's"},
		{"db.batchsize", "0", "records per INSERT statement while loading"},
		{"measurementtype", "hdrhistogram", "hdrhistogram is the only one"},
		{"measurement.interval", "op", "op is the only one"},
		{"hdrhistogram.percentiles", "50,95,99", "percentiles in the report"},
		{"status.interval", "1", "seconds between lines of progress; 0 for none"},
		{"label", "", "what lines of progress begin with"},
		{"seed", "1", "seed of the random numbers"},
	}
}

// ignored are properties that belong to YCSB's Java client and make no difference
// here. A name that ends with a dot stands for all that begin with it.
var ignored = []string{
	"db", "db.driver", "jdbc.", "db.batchupdateapi", "dotransactions", "status", "exporter",
	"histogram.", "timeseries.", "measurement.trackjvm", "measurement.histogram.verbose",
	"reportlatencyforeacherror", "latencytrackederrors", "htrace.", "hdrhistogram.fileoutput",
	"threadpool.", "silent",
}

var presets = map[string]Properties{
	"a": {"readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian"},
	"b": {"readproportion": "0.95", "updateproportion": "0.05", "requestdistribution": "zipfian"},
	"c": {"readproportion": "1", "updateproportion": "0", "requestdistribution": "zipfian"},
	"d": {"readproportion": "0.95", "updateproportion": "0", "insertproportion": "0.05", "requestdistribution": "latest"},
	"e": {"readproportion": "0", "updateproportion": "0", "scanproportion": "0.95", "insertproportion": "0.05",
		"requestdistribution": "zipfian", "maxscanlength": "100", "scanlengthdistribution": "uniform"},
	"f": {"readproportion": "0.5", "updateproportion": "0", "readmodifywriteproportion": "0.5", "requestdistribution": "zipfian"},
}

// Preset returns the properties of a core workload, A to F: those of YCSB's file of
// that name.
func Preset(name string) (Properties, error) {
	p, ok := presets[strings.ToLower(name)]
	if !ok {
		return nil, fmt.Errorf("unknown workload %q: A, B, C, D, E and F are the core workloads", name)
	}
	out := Properties{"recordcount": "1000", "operationcount": "1000"}
	for k, v := range p {
		out[k] = v
	}
	return out, nil
}

// Merge puts together the properties of files (already merged in their order), of
// -p options and of flags. A core workload's own properties override the files';
// what -p and flags say overrides everything. Without a word on what the operations
// are, it's workload A.
func Merge(files, options, flags Properties) (Properties, error) {
	out := Properties{}
	overlay := func(from Properties) {
		for k, v := range from {
			out[k] = v
		}
	}
	overlay(files)
	named := Properties{}
	for _, from := range []Properties{files, options, flags} {
		if w, ok := from["workload"]; ok {
			named["workload"] = w
		}
	}
	name := named["workload"]
	if name == "" && !describesMix(files) && !describesMix(options) && !describesMix(flags) {
		name = "a"
	}
	if name != "" && !coreClass.MatchString(name) {
		preset, err := Preset(name)
		if err != nil {
			return nil, err
		}
		for _, count := range []string{"recordcount", "operationcount"} {
			if _, ok := files[count]; ok {
				delete(preset, count)
			}
		}
		overlay(preset)
	}
	overlay(options)
	overlay(flags)
	return out, nil
}

// coreClass matches the Java names of YCSB's core workload.
var coreClass = regexp.MustCompile(`(^|\.)CoreWorkload$`)

func describesMix(p Properties) bool {
	for k := range p {
		if strings.HasSuffix(k, "proportion") {
			return true
		}
	}
	return false
}

// ParseConfig makes a configuration of properties.
func ParseConfig(given Properties) (*Config, error) {
	r := &reader{values: Properties{}}
	for _, p := range Known() {
		r.values[p.Name] = p.Default
	}
	var ign, unknown []string
	for k, v := range given {
		if k == "measurementtype" && v == "histogram" {
			ign = append(ign, k+"=histogram")
		} else if _, ok := r.values[k]; ok {
			r.values[k] = v
		} else if isIgnored(k) {
			ign = append(ign, k)
		} else {
			unknown = append(unknown, k)
		}
	}
	sort.Strings(ign)
	sort.Strings(unknown)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown property: %s", strings.Join(unknown, ", "))
	}
	c := r.config()
	c.Ignored = ign
	if r.err != nil {
		return nil, r.err
	}
	return c, c.validate()
}

func isIgnored(name string) bool {
	for _, i := range ignored {
		if name == i || strings.HasSuffix(i, ".") && strings.HasPrefix(name, i) {
			return true
		}
	}
	return false
}

// reader reads typed properties and keeps the first error.
type reader struct {
	values Properties
	err    error
}

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("property %s: invalid value %q: want %s", name, r.values[name], want)
	}
}

func (r *reader) int(name string, lo, hi int64) int64 {
	n, err := strconv.ParseInt(r.values[name], 10, 64)
	if err != nil || n < lo || n > hi {
		r.fail(name, fmt.Sprintf("a whole number from %d to %d", lo, hi))
	}
	return n
}

func (r *reader) float(name string, hi float64) float64 {
	f, err := strconv.ParseFloat(r.values[name], 64)
	if err != nil || !(f >= 0 && f <= hi) {
		r.fail(name, fmt.Sprintf("a number from 0 to %g", hi))
	}
	return f
}

func (r *reader) bool(name string) bool {
	switch strings.ToLower(r.values[name]) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fail(name, "true or false")
	return false
}

func (r *reader) oneOf(name string, values ...string) string {
	for _, v := range values {
		if r.values[name] == v {
			return v
		}
	}
	r.fail(name, strings.Join(values, ", "))
	return ""
}

const maxCount = int64(1) << 53

func (r *reader) config() *Config {
	c := &Config{
		Target:          workload.Target{URL: r.values["db.url"], User: r.values["db.user"], Password: r.values["db.passwd"]},
		Table:           r.values["table"],
		FieldPrefix:     r.values["fieldnameprefix"],
		Fields:          int(r.int("fieldcount", 1, maxFields)),
		FieldLength:     int(r.int("fieldlength", 0, maxFieldLength)),
		MinFieldLen:     int(r.int("minfieldlength", 0, maxFieldLength)),
		FieldLengthDist: r.oneOf("fieldlengthdistribution", "constant", "uniform", "zipfian"),
		ReadAllFields:   r.bool("readallfields"), ReadByName: r.bool("readallfieldsbyname"),
		WriteAll: r.bool("writeallfields"), Verify: r.bool("dataintegrity"),
		Mix: Mix{
			Read: r.float("readproportion", 1e6), Update: r.float("updateproportion", 1e6),
			Insert: r.float("insertproportion", 1e6), Scan: r.float("scanproportion", 1e6),
			ReadModifyWrite: r.float("readmodifywriteproportion", 1e6), Delete: r.float("deleteproportion", 1e6),
		},
		Distribution: r.oneOf("requestdistribution", "uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"),
		MinScan:      r.int("minscanlength", 1, maxCount), MaxScan: r.int("maxscanlength", 1, maxCount),
		ScanDist:       r.oneOf("scanlengthdistribution", "uniform", "zipfian"),
		OrderedInserts: r.oneOf("insertorder", "hashed", "ordered") == "ordered",
		ZeroPadding:    int(r.int("zeropadding", 0, 200)),
		Records:        r.int("recordcount", 0, maxCount), Operations: r.int("operationcount", 0, maxCount),
		InsertStart: r.int("insertstart", 0, maxCount),
		HotData:     r.float("hotspotdatafraction", 1), HotOps: r.float("hotspotopnfraction", 1),
		ExpPercentile: r.float("exponential.percentile", 99.999999), ExpFraction: r.float("exponential.frac", 1e6),
		InsertRetries:    int(r.int("core_workload_insertion_retry_limit", 0, 1e6)),
		InsertRetryEvery: r.seconds("core_workload_insertion_retry_interval"),
		Threads:          int(r.int("threadcount", 1, maxThreads)),
		TargetRate:       r.float("target", 1e12), MaxTime: r.seconds("maxexecutiontime"),
		BatchSize: int(r.int("db.batchsize", 0, maxBatch)), Percentiles: r.percentiles(),
		Label: r.values["label"], DisplayEvery: r.seconds("status.interval"),
		Seed: uint64(r.int("seed", 0, maxCount)),
	}
	if c.Target.URL == "" {
		c.Target.URL = workload.DefaultURL
	}
	c.InsertCount = c.Records - c.InsertStart
	if r.values["insertcount"] != "" {
		c.InsertCount = r.int("insertcount", 0, maxCount)
	}
	r.oneOf("measurementtype", "hdrhistogram")
	r.oneOf("measurement.interval", "op")
	return c
}

func (r *reader) seconds(name string) time.Duration {
	return time.Duration(r.float(name, 1e9) * float64(time.Second))
}

func (r *reader) percentiles() (out []float64) {
	for _, s := range strings.Split(r.values["hdrhistogram.percentiles"], ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			r.fail("hdrhistogram.percentiles", "numbers from 0 to 100, separated by commas")
			return nil
		}
		out = append(out, f)
	}
	return out
}

var (
	tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,2}$`)
	fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (c *Config) validate() error {
	switch {
	case !tableName.MatchString(c.Table):
		return fmt.Errorf("property table: invalid name %q", c.Table)
	case !fieldName.MatchString(c.FieldPrefix):
		return fmt.Errorf("property fieldnameprefix: invalid name %q", c.FieldPrefix)
	case c.InsertCount < 0 || c.InsertStart+c.InsertCount > c.Records:
		return fmt.Errorf("recordcount (%d) must be at least insertstart (%d) + insertcount (%d)", c.Records, c.InsertStart, max(c.InsertCount, 0))
	case c.MinScan > c.MaxScan:
		return fmt.Errorf("minscanlength (%d) must not be above maxscanlength (%d)", c.MinScan, c.MaxScan)
	case c.FieldLengthDist != "constant" && c.MinFieldLen > c.FieldLength:
		return fmt.Errorf("minfieldlength (%d) must not be above fieldlength (%d)", c.MinFieldLen, c.FieldLength)
	case c.Verify && c.FieldLengthDist != "constant":
		return fmt.Errorf("dataintegrity needs fieldlengthdistribution=constant")
	case c.ExpPercentile == 0 || c.ExpFraction == 0:
		return fmt.Errorf("exponential.percentile and exponential.frac must be above 0")
	}
	return nil
}

// ValidateRun reports what a run needs beyond what loading needs.
func (c *Config) ValidateRun() error {
	switch {
	case c.InsertCount == 0:
		return fmt.Errorf("recordcount must be the number of records in the table")
	case c.Mix.sum() <= 0:
		return fmt.Errorf("all proportions are 0")
	case c.Operations == 0 && c.MaxTime == 0:
		return fmt.Errorf("set operationcount or maxexecutiontime")
	}
	return nil
}
