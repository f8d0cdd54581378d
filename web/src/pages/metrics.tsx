import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { query, useKept, useLoad } from '../api';
import type { PageProps } from '../app';
import type { ChartCurve } from '../chart';
import { Chart } from '../chart';
import { time } from '../format';
import { link, setParams } from '../router';
import type { Dashboard, Dashboards, Graph, Metrics, Overview } from '../types';
import { Choice, ErrorBox, Page, Panel } from '../ui';

const spans = [
  ['15m', '15 min', 15],
  ['1h', '1 h', 60],
  ['6h', '6 h', 360],
  ['1d', '1 day', 1440],
  ['7d', '7 days', 10080],
] as const;

/** combined returns what is shown of a metric of several nodes together. */
export function combined(m: Metrics, metric: string, how: string): (number | null)[] {
  const list = m.series.filter((s) => s.name === metric);
  const n = list[0]?.values.length ?? 0;
  return Array.from({ length: n }, (_, i) => {
    const v = list.map((s) => s.values[i]).filter((x): x is number => typeof x === 'number');
    if (v.length === 0) return null;
    const sum = v.reduce((a, b) => a + b, 0);
    return how === 'max' ? Math.max(...v) : how === 'mean' ? sum / v.length : sum;
  });
}

/** curvesOf returns the curves of a graph: of the cluster, or of each node. */
function curvesOf(g: Graph, m: Metrics, each: boolean): ChartCurve[] {
  if (!each) return g.curves.map((c) => ({ label: c.label, values: combined(m, c.metric, g.combine) }));
  return g.curves.flatMap((c) =>
    m.series.filter((s) => s.name === c.metric).map((s) => ({ label: (g.curves.length > 1 ? c.label + ', ' : '') + 'node ' + s.node, values: s.values })),
  );
}

export function MetricsPage({ route, theme }: PageProps): JSX.Element {
  const boards = useLoad<Dashboards>('dashboards');
  const overview = useLoad<Overview>('overview', 30);
  const name = route.parts[1] ?? 'sql';
  const span = route.params.get('span') ?? '1h';
  const node = route.params.get('node') ?? '';
  const from = Number(route.params.get('from') ?? 0);
  const to = Number(route.params.get('to') ?? 0);
  const board = boards.data?.dashboards.find((d) => d.name === name);
  const search = route.params.size > 0 ? '?' + route.params.toString() : '';
  const nodes = overview.data?.nodes.filter((n) => n.state !== 'decommissioned') ?? [];
  return (
    <Page
      title="Metrics"
      actions={
        <>
          <label>
            Show{' '}
            <select value={node} onChange={(e) => setParams(route, { node: e.currentTarget.value })}>
              <option value="">the cluster</option>
              <option value="each">each node</option>
              {nodes.map((n) => (
                <option key={n.id} value={String(n.id)}>
                  node {n.id}
                </option>
              ))}
            </select>
          </label>
          <Choice
            label="Time span"
            value={from ? '' : span}
            options={spans.map(([v, text]) => [v, text] as const)}
            onChange={(v) => setParams(route, { span: v, from: '', to: '' })}
          />
        </>
      }
    >
      <nav class="tabs" aria-label="Dashboards">
        {boards.data?.dashboards.map((d) => (
          <a key={d.name} href={link('metrics', d.name) + search} aria-current={d.name === name ? 'page' : undefined}>
            {d.title}
          </a>
        ))}
      </nav>
      <ErrorBox error={boards.error} />
      {from > 0 && (
        <p class="small">
          {time(from)} to {time(to)}{' '}
          <button type="button" onClick={() => setParams(route, { from: '', to: '' })}>
            Back to the present
          </button>
        </p>
      )}
      {board && <Board board={board} node={node} span={span} from={from} to={to} theme={theme} onZoom={(a, b) => setParams(route, { from: a.toFixed(0), to: b.toFixed(0) })} />}
      <p class="small muted">Drag over a graph to look closer. Each node keeps its metrics for seven days; the same are at /_status/vars for Prometheus.</p>
    </Page>
  );
}

interface BoardProps {
  board: Dashboard;
  node: string;
  span: string;
  from: number;
  to: number;
  theme: string;
  onZoom: (from: number, to: number) => void;
}

function Board(p: BoardProps): JSX.Element {
  const names = [...new Set(p.board.graphs.flatMap((g) => g.curves.map((c) => c.metric)))].join(',');
  const minutes = spans.find(([v]) => v === p.span)?.[2] ?? 60;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    const t = window.setInterval(() => setNow(Date.now()), 10_000);
    return () => window.clearInterval(t);
  }, [p.span, p.board.name]);
  const to = p.from ? p.to : Math.floor(now / 10_000) * 10_000;
  const from = p.from || to - minutes * 60_000;
  const step = Math.max(10_000, Math.ceil((to - from) / 360 / 10_000) * 10_000);
  const path = query('metrics', { names, from: Math.round(from), to: Math.round(to), step, nodes: p.node === 'each' ? '' : p.node });
  const { data, error } = useKept<Metrics>(path);
  return (
    <>
      <ErrorBox error={error} />
      {data && data.missing.length > 0 && <p class="small muted">Node {data.missing.join(', ')} did not answer: its curves are missing.</p>}
      <div class="grid">
        {data &&
          p.board.graphs.map((g) => (
            <Panel key={p.board.name + g.title} class="graph">
              <div class="title">
                <h2>{g.title}</h2>
              </div>
              <details>
                <summary>What this shows</summary>
                <p class="small">{g.explain}</p>
                <p class="small muted mono">{g.curves.map((c) => c.metric).join(', ')}</p>
              </details>
              <Chart label={g.title} theme={p.theme} from={data.from} step={data.step} unit={g.unit} curves={curvesOf(g, data, p.node === 'each')} onZoom={p.onZoom} />
            </Panel>
          ))}
      </div>
    </>
  );
}
