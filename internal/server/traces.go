package server

import (
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/otlp"
)

// otlpHeaders is the environment variable with the headers that a collector of OpenTelemetry asks for, by OpenTelemetry's own name.
const otlpHeaders = "OTEL_EXPORTER_OTLP_HEADERS"

// newTraces returns what exports traces of statements.
func (n *Node) newTraces() *otlp.Exporter {
	return otlp.New(otlp.Options{
		Target: func() (string, float64) {
			v := n.Settings.Get()
			return v.TraceEndpoint, v.TraceShare
		},
		Resource: func() map[string]string {
			return map[string]string{
				"service.name": "lichen", "service.version": node.Version, "service.instance.id": strconv.FormatUint(uint64(n.NodeID()), 10), "lichen.cluster_id": n.ClusterID(),
			}
		},
		Headers: parseHeaders(os.Getenv(otlpHeaders)), Logger: n.log,
	})
}

// parseHeaders reads name=value pairs with commas between them, in which values are encoded as in a URL.
func parseHeaders(text string) map[string]string {
	headers := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		headers[name] = value
	}
	return headers
}

// traceMetrics are those of the export of traces.
func (n *Node) traceMetrics(f map[string]float64) {
	c := n.traces.Counts()
	f["lichen_traces_exported_total"], f["lichen_traces_dropped_total"], f["lichen_traces_failed_total"] = float64(c.Exported), float64(c.Dropped), float64(c.Failed)
}
