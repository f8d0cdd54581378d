package console

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// grafanaUnits are Grafana's names of our units.
var grafanaUnits = map[string]string{"bytes": "bytes", "bytespersecond": "Bps", "seconds": "s", "share": "percentunit", "persecond": "ops", "count": "short"}

// TestGrafana: the dashboard for Grafana has the graphs of the console. LICHEN_REWRITE=1 writes it.
func TestGrafana(t *testing.T) {
	const width, height, columns = 8, 8, 3
	var panels []object
	y := 0
	for _, d := range dashboards {
		panels = append(panels, object{"type": "row", "title": d.Title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": width * columns, "h": 1}})
		y++
		for i, g := range d.Graphs {
			var targets []object
			for _, c := range g.Curves {
				targets = append(targets, object{"expr": expression(c.Metric, g.Combine), "legendFormat": c.Label, "refId": string(rune('A' + len(targets)))})
			}
			panels = append(panels, object{
				"type": "timeseries", "title": g.Title, "description": g.Explain, "datasource": object{"type": "prometheus", "uid": "${datasource}"},
				"fieldConfig": object{"defaults": object{"unit": grafanaUnits[g.Unit], "min": 0}, "overrides": []object{}}, "targets": targets,
				"gridPos": object{"x": i % columns * width, "y": y + i/columns*height, "w": width, "h": height},
			})
		}
		y += (len(d.Graphs) + columns - 1) / columns * height
	}
	for i := range panels {
		panels[i]["id"] = i + 1
	}
	b, err := json.MarshalIndent(object{
		"title": "Lichen", "uid": "lichen", "tags": []string{"lichen"}, "schemaVersion": 39, "refresh": "10s", "timezone": "browser",
		"time": object{"from": "now-1h", "to": "now"}, "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus"},
			{"name": "instance", "type": "query", "datasource": object{"type": "prometheus", "uid": "${datasource}"}, "query": "label_values(lichen_uptime_seconds, instance)", "multi": true, "includeAll": true, "allValue": ".*", "refresh": 2},
		}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, filepath.Join("..", "..", "docs", "console", "grafana.json"), string(b)+"\n")
}

// expression is a metric of the chosen nodes, in Prometheus' language.
func expression(metric, combine string) string {
	x := metric + `{instance=~"$instance"}`
	if isCounter(metric) {
		x = "rate(" + x + "[1m])"
	}
	return map[string]string{"sum": "sum", "max": "max", "mean": "avg"}[combine] + "(" + x + ")"
}
