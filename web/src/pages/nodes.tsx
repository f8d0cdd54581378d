import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { query, useKept, useLoad } from '../api';
import type { PageProps } from '../app';
import type { ChartCurve } from '../chart';
import { Chart } from '../chart';
import { ago, bytes, count, seconds, time } from '../format';
import { link } from '../router';
import type { Metrics, NodeDetail, NodeLog, Overview, RangeInfo, Ranges } from '../types';
import { Badge, Bar, ErrorBox, Page, Panel, Table, Tile, toneOf } from '../ui';
import { Balance } from './overview';

export function NodesPage(p: PageProps): JSX.Element {
  const id = p.route.parts[1];
  return id ? <NodePage key={id} id={id} superuser={p.session.superuser} /> : <List theme={p.theme} />;
}

function List({ theme }: { theme: string }): JSX.Element {
  const { data, error } = useLoad<Overview>('overview', 3);
  return (
    <Page title="Nodes">
      <ErrorBox error={error} />
      {data && (
        <>
          <Table
            caption="Nodes"
            rows={data.nodes}
            id={(n) => String(n.id)}
            columns={[
              { title: 'Node', cell: (n) => <a href={link('nodes', n.id)}>Node {n.id}</a>, by: (n) => n.id, class: 'one' },
              { title: 'State', cell: (n) => <Badge tone={toneOf(n.state)}>{n.state}</Badge>, by: (n) => n.state },
              { title: 'Heard of', cell: (n) => ago(n.lastContact), by: (n) => n.lastContact, class: 'one' },
              { title: 'Replicas', cell: (n) => n.ranges, by: (n) => n.ranges, number: true },
              { title: 'Leaders', cell: (n) => n.leaders, by: (n) => n.leaders, number: true },
              { title: 'Statements/s', cell: (n) => count(n.statements), by: (n) => n.statements, number: true },
              { title: 'p99', cell: (n) => seconds(n.p99), by: (n) => n.p99, number: true },
              { title: 'Processors', cell: (n) => n.cpu.toFixed(2), by: (n) => n.cpu, number: true },
              { title: 'Memory', cell: (n) => bytes(n.memoryBytes), by: (n) => n.memoryBytes, number: true },
              { title: 'Files', cell: (n) => bytes(n.stores.reduce((a, s) => a + s.ownBytes, 0)), number: true },
              { title: 'Locality', cell: (n) => n.locality || '–', by: (n) => n.locality },
              { title: 'SQL address', cell: (n) => n.sqlAddress, class: 'one', minor: true },
              { title: 'Started', cell: (n) => time(n.startedAt), by: (n) => n.startedAt, class: 'one', minor: true },
              { title: 'Version', cell: (n) => n.version, class: 'one', minor: true },
            ]}
          />
          <Panel title="Replicas and leaders, as they move">
            <Balance nodes={data.nodes.filter((n) => n.state !== 'decommissioned')} />
          </Panel>
          <Moves theme={theme} />
        </>
      )}
    </Page>
  );
}

function NodePage({ id, superuser }: { id: string; superuser: boolean }): JSX.Element {
  const { data, error } = useLoad<NodeDetail>('nodes/' + encodeURIComponent(id), 5);
  return (
    <Page title={'Node ' + id} actions={<a href={link('metrics', 'sql') + '?node=' + id}>Its metrics</a>}>
      <ErrorBox error={error} />
      {data && <Detail n={data} />}
      <Replicas id={id} />
      {superuser && <Log id={id} />}
    </Page>
  );
}

function Detail({ n }: { n: NodeDetail }): JSX.Element {
  return (
    <>
      <div class="tiles">
        <Tile label="State" value={n.state} tone={toneOf(n.state) === 'good' ? '' : toneOf(n.state)} />
        <Tile label="Statements" value={count(n.statements) + '/s'} note={`${n.sessions} sessions`} />
        <Tile label="Latency, p99" value={seconds(n.p99)} note={`p50 ${seconds(n.p50)}`} />
        <Tile label="Replicas" value={String(n.ranges)} note={`${n.leaders} lead`} />
        <Tile label="Processors in use" value={n.cpu.toFixed(2)} />
        <Tile label="Memory" value={bytes(n.memoryBytes)} />
      </div>
      <Panel title="About it">
        <dl class="pairs">
          <dt>SQL address</dt>
          <dd>{n.sqlAddress || '–'}</dd>
          <dt>HTTP address</dt>
          <dd>{n.httpAddress || '–'}</dd>
          <dt>Locality</dt>
          <dd>{n.locality || '–'}</dd>
          <dt>Version</dt>
          <dd>{n.version || '–'}</dd>
          <dt>Started</dt>
          <dd>{time(n.startedAt)}</dd>
          <dt>Heard of</dt>
          <dd>{ago(n.lastContact)}</dd>
        </dl>
      </Panel>
      <Table
        titled
        caption="Stores"
        rows={n.stores}
        id={(s) => String(s.id)}
        empty="It has told of no store yet."
        columns={[
          { title: 'Store', cell: (s) => s.id },
          { title: 'Disk', cell: (s) => <Badge tone={toneOf(s.disk)}>{s.disk}</Badge> },
          { title: 'Used', cell: (s) => <Bar share={s.capacityBytes ? s.usedBytes / s.capacityBytes : 0} label={`${bytes(s.usedBytes)} of ${bytes(s.capacityBytes)}`} /> },
          { title: 'Capacity', cell: (s) => bytes(s.capacityBytes), number: true },
          { title: 'Files', cell: (s) => bytes(s.ownBytes), number: true },
          { title: 'Replicas', cell: (s) => s.ranges, number: true },
          { title: 'Leaders', cell: (s) => s.leaders, number: true },
          { title: 'Requests/s', cell: (s) => count(s.requestRate), number: true },
          { title: 'Written/s', cell: (s) => bytes(s.writeRate), number: true },
        ]}
      />
      {n.configuration.length > 0 && (
        <details class="panel">
          <summary>How it was started</summary>
          <dl class="pairs mono">
            {n.configuration.map((o) => (
              <>
                <dt>{o.name}</dt>
                <dd>{o.value || '–'}</dd>
              </>
            ))}
          </dl>
        </details>
      )}
      <details class="panel">
        <summary>All its metrics</summary>
        <dl class="pairs mono">
          {Object.entries(n.values)
            .sort(([a], [b]) => a.localeCompare(b))
            .map(([name, v]) => (
              <>
                <dt>{name}</dt>
                <dd>{Number.isInteger(v) ? v : v.toPrecision(6)}</dd>
              </>
            ))}
        </dl>
      </details>
    </>
  );
}

/** Replicas are the ranges that have one on the node. */
function Replicas({ id }: { id: string }): JSX.Element {
  const { data } = useLoad<Ranges>(`ranges?limit=${shownRanges}&node=${encodeURIComponent(id)}`, 10);
  if (!data || data.ranges.length === 0) return <></>;
  return (
    <>
      <Table
        titled
        caption="Ranges with a replica here"
        rows={data.ranges}
        id={(r) => String(r.id)}
        columns={[
          { title: 'Range', cell: (r) => r.id, by: (r) => r.id, number: true },
          { title: 'Here it', cell: (r) => (String(r.leader) === id ? <Badge tone="good">leads</Badge> : 'follows'), by: (r) => (String(r.leader) === id ? 0 : 1) },
          { title: 'Requests/s', cell: (r) => count(r.rate), by: (r) => r.rate, number: true },
          { title: 'Size', cell: (r) => bytes(r.bytes), by: (r) => r.bytes, number: true },
          { title: 'From', cell: (r) => <code>{r.start}</code>, by: (r) => r.start, class: 'keys' },
          ...(data.ranges.some((r) => r.problems.length > 0) ? [{ title: 'Problems', cell: (r: RangeInfo) => r.problems.join('; ') }] : []),
        ]}
      />
      {data.ranges.length >= shownRanges && <p class="small muted">The {shownRanges} that serve most requests.</p>}
    </>
  );
}

/** shownRanges is how many ranges of a node are shown. */
const shownRanges = 500;

/** Moves shows replicas and leaders of each node over the last quarter of an hour: how a cluster spreads and evens out. */
function Moves({ theme }: { theme: string }): JSX.Element {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const t = window.setInterval(() => setNow(Date.now()), 10_000);
    return () => window.clearInterval(t);
  }, []);
  const to = Math.floor(now / 10_000) * 10_000;
  const { data } = useKept<Metrics>(query('metrics', { names: 'lichen_store_ranges,lichen_store_leaders', from: to - 15 * 60_000, to, step: 10_000 }));
  if (!data) return <></>;
  const each = (name: string): ChartCurve[] => data.series.filter((s) => s.name === name).map((s) => ({ label: 'node ' + s.node, values: s.values }));
  return (
    <div class="grid">
      <Panel title="Replicas by node, the last 15 minutes" class="graph">
        <Chart label="Replicas by node" theme={theme} from={data.from} step={data.step} unit="count" curves={each('lichen_store_ranges')} />
      </Panel>
      <Panel title="Leaders by node, the last 15 minutes" class="graph">
        <Chart label="Leaders by node" theme={theme} from={data.from} step={data.step} unit="count" curves={each('lichen_store_leaders')} />
      </Panel>
    </div>
  );
}

function Log({ id }: { id: string }): JSX.Element {
  const { data, error, reload } = useLoad<NodeLog>(`nodes/${encodeURIComponent(id)}/log`);
  const lines = data?.text.trimEnd().split('\n').slice(-400) ?? [];
  return (
    <section>
      <div class="head">
        <h2>Log</h2>
        <span class="grow" />
        <button type="button" onClick={reload}>
          Read again
        </button>
      </div>
      {error && <p class="muted">{error.message}</p>}
      {data && (
        <div class="log" tabIndex={0} role="region" aria-label="Log">
          <pre>{lines.join('\n') || 'It is empty.'}</pre>
        </div>
      )}
    </section>
  );
}
