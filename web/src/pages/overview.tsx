import type { JSX } from 'preact';
import { useLoad } from '../api';
import type { PageProps } from '../app';
import { bytes, count, seconds, share } from '../format';
import { link } from '../router';
import type { NodeInfo, Overview, Problem } from '../types';
import { Badge, Bar, ErrorBox, Page, Panel, Tile, toneOf } from '../ui';
import { MiniGraphs } from './minigraphs';

export function OverviewPage(p: PageProps): JSX.Element {
  const { data, error } = useLoad<Overview>('overview', 3);
  return (
    <Page title="Overview">
      <ErrorBox error={error} />
      {data && <Contents o={data} theme={p.theme} />}
    </Page>
  );
}

function Contents({ o, theme }: { o: Overview; theme: string }): JSX.Element {
  const t = o.totals;
  const there = o.nodes.filter((n) => n.state !== 'decommissioned');
  const live = there.filter((n) => n.state === 'live').length;
  return (
    <>
      <Problems list={o.problems} />
      <div class="tiles">
        <Tile label="Nodes" value={`${live} of ${there.length}`} note="live" tone={live < there.length ? 'warn' : ''} />
        <Tile label="Statements" value={count(t.statements) + '/s'} note={`${count(t.sessions)} sessions`} />
        <Tile label="Latency, p50" value={seconds(t.p50)} />
        <Tile label="Latency, p99" value={seconds(t.p99)} />
        <Tile label="Ranges" value={t.rangesKnown ? count(t.ranges) : 'unknown'} note={`${count(sum(there, (n) => n.ranges))} replicas`} />
        <Tile label="Under-replicated" value={t.rangesKnown ? count(t.underReplicated) : 'unknown'} tone={t.underReplicated ? 'warn' : ''} />
        <Tile label="Unavailable" value={t.rangesKnown ? count(t.unavailable) : 'unknown'} tone={t.unavailable ? 'bad' : ''} />
        <Tile label="Data" value={bytes(t.ownBytes)} note={`disks ${share(t.capacityBytes ? t.usedBytes / t.capacityBytes : 0)} full`} />
      </div>
      <MiniGraphs theme={theme} />
      <div class="grid">
        <Panel title="Replicas and leaders">
          <Balance nodes={there} />
        </Panel>
        <Panel title="Where the nodes are">
          <Places nodes={there} />
        </Panel>
      </div>
      <Panel title="Capacity">
        <div class="balance">
          {there.map((n) => {
            const used = sum(n.stores, (s) => s.usedBytes);
            const all = sum(n.stores, (s) => s.capacityBytes);
            return (
              <>
                <a href={link('nodes', n.id)}>Node {n.id}</a>
                <Bar share={all ? used / all : 0} label={`${bytes(used)} of ${bytes(all)} used`} />
                <span class="muted small">
                  {bytes(used)} of {bytes(all)}
                </span>
              </>
            );
          })}
        </div>
      </Panel>
    </>
  );
}

const sum = <T,>(list: T[], f: (x: T) => number): number => list.reduce((a, x) => a + f(x), 0);

export function Problems({ list }: { list: Problem[] }): JSX.Element {
  if (list.length === 0)
    return (
      <div class="problem fine" role="status">
        <h3>Nothing needs attention</h3>
        <p class="muted">All nodes answer, and all ranges have the replicas that they should have.</p>
      </div>
    );
  return (
    <section aria-label="Problems" aria-live="polite">
      {list.map((x) => (
        <div key={x.title} class={'problem ' + x.severity}>
          <h3>
            <a href={'#' + x.page}>{x.title}</a> <Badge tone={x.severity === 'critical' ? 'bad' : x.severity === 'warning' ? 'warn' : 'note'}>{x.severity}</Badge>
          </h3>
          {x.detail && <p>{x.detail}</p>}
          <p>
            <strong>What to do:</strong> {x.action}
          </p>
        </div>
      ))}
    </section>
  );
}

/** Balance shows the replicas of each node, and how many of them lead, moving. */
export function Balance({ nodes }: { nodes: NodeInfo[] }): JSX.Element {
  const most = Math.max(1, ...nodes.map((n) => n.ranges));
  return (
    <>
      <div class="balance">
        {nodes.map((n) => (
          <>
            <a href={link('nodes', n.id)}>Node {n.id}</a>
            <div class="stack" role="img" aria-label={`node ${n.id}: ${n.leaders} leaders of ${n.ranges} replicas`}>
              <span class="lead" style={{ width: (100 * n.leaders) / most + '%' }} />
              <span class="follow" style={{ width: (100 * Math.max(n.ranges - n.leaders, 0)) / most + '%' }} />
            </div>
            <span class="small muted">
              {n.leaders} of {n.ranges}
            </span>
          </>
        ))}
      </div>
      <div class="small muted" style={{ marginTop: '0.6rem' }}>
        <span class="key" style={{ background: 'var(--c1)', marginLeft: 0 }} />
        leaders
        <span class="key" style={{ background: 'color-mix(in srgb, var(--c1) 38%, transparent)' }} />
        other replicas
      </div>
    </>
  );
}

/** Place is a region, a zone, or what else a tier of a locality names. */
interface Place {
  name: string;
  places: Map<string, Place>;
  nodes: NodeInfo[];
}

/** tree arranges the nodes by the tiers of their localities. */
export function tree(nodes: NodeInfo[]): Place {
  const root: Place = { name: '', places: new Map(), nodes: [] };
  for (const n of nodes) {
    let at = root;
    for (const tier of n.locality ? n.locality.split(',') : []) {
      const next = at.places.get(tier) ?? { name: tier, places: new Map(), nodes: [] };
      at.places.set(tier, next);
      at = next;
    }
    at.nodes.push(n);
  }
  return root;
}

export function Places({ nodes }: { nodes: NodeInfo[] }): JSX.Element {
  const root = tree(nodes);
  return (
    <>
      {root.places.size === 0 && <p class="muted small">No node says where it is. Start nodes with --locality=region=…,zone=… to have replicas spread over regions and zones.</p>}
      <PlaceBox place={root} />
    </>
  );
}

function PlaceBox({ place }: { place: Place }): JSX.Element {
  const [key = '', value = ''] = place.name.split('=', 2);
  const inside = (
    <div class={place.name ? 'in' : 'map'}>
      {[...place.places.values()].map((x) => (
        <PlaceBox key={x.name} place={x} />
      ))}
      {place.nodes.map((n) => (
        <a key={n.id} class={'spot ' + toneOf(n.state)} href={link('nodes', n.id)}>
          <strong>Node {n.id}</strong>
          {n.state !== 'live' && <> {n.state}</>}
          <div class="small muted">
            {n.ranges} replicas, {n.leaders} lead
          </div>
        </a>
      ))}
    </div>
  );
  if (!place.name) return inside;
  return (
    <div class="place">
      <span class="name">{key}</span> <strong>{value || key}</strong>
      {inside}
    </div>
  );
}
