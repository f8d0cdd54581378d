import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Failure, post, useLoad } from '../api';
import type { PageProps } from '../app';
import { ago, count, seconds, time } from '../format';
import type { Route } from '../router';
import { link, setParams } from '../router';
import type { SessionInfo, Sessions, Statement, StatementPlans, Statements } from '../types';
import { SlowList, TransactionList, WaitList } from './contention';
import { Badge, Confirm, Counts, ErrorBox, Page, Panel, Search, Table, Tile, toneOf, Under } from '../ui';

export function Activity({ route }: PageProps): JSX.Element {
  const tab = route.parts[1] ?? 'statements';
  const search = route.params.get('search') ?? '';
  return (
    <Page title="SQL activity" actions={<Search label="Search statements" value={search} onChange={(v) => setParams(route, { search: v })} />}>
      <nav class="tabs" aria-label="Views">
        {(
          [
            ['statements', 'Statements'],
            ['transactions', 'Transactions'],
            ['slow', 'Slow statements'],
            ['waits', 'Lock waits'],
            ['sessions', 'Sessions'],
          ] as const
        ).map(([name, title]) => (
          <a key={name} href={link('activity', name)} aria-current={tab === name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {tab === 'transactions' && <TransactionList search={search} />}
      {tab === 'slow' && <SlowList search={search} />}
      {tab === 'waits' && <WaitList search={search} />}
      {tab === 'sessions' && <SessionList search={search} />}
      {tab === 'statements' && <StatementList search={search} route={route} />}
    </Page>
  );
}

function StatementList({ search, route }: { search: string; route: Route }): JSX.Element {
  const { data, error } = useLoad<Statements>('statements?limit=1000', 10);
  const key = (s: Statement): string => s.fingerprint + '/' + s.database + '/' + s.user;
  const chosen = data?.statements.find((s) => key(s) === route.params.get('statement'));
  const all = useMemo(() => data?.statements.reduce((a, s) => a + s.total, 0) ?? 0, [data]);
  const rows = useMemo(() => data?.statements.filter((s) => s.query.toLowerCase().includes(search.toLowerCase())) ?? [], [data, search]);
  return (
    <>
      <ErrorBox error={error} />
      {data?.notices.map((n) => (
        <p key={n} class="small muted">
          {n}
        </p>
      ))}
      {chosen && <Chosen s={chosen} onClose={() => setParams(route, { statement: '' })} />}
      {data && (
        <Table
          caption="Statements by fingerprint"
          rows={rows}
          id={key}
          empty="No client has run a statement since the nodes started."
          columns={[
            {
              title: 'Statement',
              class: 'wide',
              cell: (s) => (
                <>
                  <a href={'#/activity/statements?statement=' + encodeURIComponent(key(s))}>
                    <code class="clip">{s.query}</code>
                  </a>
                  <Under of={[s.database, s.user]} />
                </>
              ),
              by: (s) => s.query,
            },
            { title: 'Calls', cell: (s) => count(s.calls), by: (s) => s.calls, number: true },
            { title: 'Share of time', cell: (s) => <Share of={all ? s.total / all : 0} />, by: (s) => s.total, number: true },
            { title: 'Mean', cell: (s) => seconds(s.mean), by: (s) => s.mean, number: true },
            { title: 'p50', cell: (s) => seconds(s.p50), by: (s) => s.p50, number: true, minor: true },
            { title: 'p99', cell: (s) => seconds(s.p99), by: (s) => s.p99, number: true },
            { title: 'Longest', cell: (s) => seconds(s.max), by: (s) => s.max, number: true },
            { title: 'Waited', cell: (s) => seconds(s.contention), by: (s) => s.contention, number: true },
            { title: 'Rows', cell: (s) => count(s.rows), by: (s) => s.rows, number: true },
            {
              title: 'Trouble',
              cell: (s) => (
                <Counts
                  of={[
                    ['errors', s.errors, 'bad'],
                    ['retries', s.retries, 'warn'],
                  ]}
                />
              ),
              by: (s) => -(s.errors * 1e9 + s.retries),
            },
          ]}
        />
      )}
    </>
  );
}

/** Share is a part of a whole, as a bar and as a figure. */
function Share({ of }: { of: number }): JSX.Element {
  return (
    <span class="share">
      <span class="bar" aria-hidden="true">
        <span style={{ width: (100 * of).toFixed(1) + '%' }} />
      </span>
      {(100 * of).toFixed(1)} %
    </span>
  );
}

function Chosen({ s, onClose }: { s: Statement; onClose: () => void }): JSX.Element {
  const { data, error } = useLoad<StatementPlans>(`statements/${s.fingerprint}/plans`, 10);
  const plans = data?.plans.filter((p) => p.database === s.database && p.user === s.user) ?? [];
  return (
    <Panel title="The statement">
      <pre>{s.query}</pre>
      <div class="tiles" style={{ marginTop: '0.8rem' }}>
        <Tile label="Calls" value={count(s.calls)} note={`${count(s.errors)} failed`} />
        <Tile label="Mean" value={seconds(s.mean)} note={`longest ${seconds(s.max)}`} />
        <Tile label="p50 and p99" value={seconds(s.p50)} note={`p99 ${seconds(s.p99)}`} />
        <Tile label="Rows a call" value={count(s.rows / Math.max(s.calls, 1))} />
        <Tile label="Read a call" value={count(s.rowsRead / Math.max(s.calls, 1))} note="entries of tables and indexes" />
        <Tile label="Written a call" value={count(s.rowsWritten / Math.max(s.calls, 1))} note="rows" />
        <Tile label="Waited a call" value={seconds(s.contention / Math.max(s.calls, 1))} note={`for other transactions; ${seconds(s.contention)} in all`} />
        <Tile label="Retries" value={count(s.retries)} />
      </div>
      <p class="small muted">
        Seen from {time(s.first)} to {time(s.last)} on node {s.nodes.join(', ')}. “_” stands for a constant.
      </p>
      <h3>{plans.length > 1 ? `Plans: ${plans.length}, the last one first` : 'Plan'}</h3>
      <ErrorBox error={error} />
      {data && plans.length === 0 && <p class="muted">No plan was seen: the statement has none, or its node has started again.</p>}
      {plans.map((p) => (
        <figure key={p.id} class="plan">
          <figcaption class="small muted">
            Seen from {time(p.first)} to {time(p.last)} on node {p.nodes.join(', ')}: {count(p.samples)} {p.samples === 1 ? 'execution' : 'executions'} looked at, mean{' '}
            {seconds(p.mean)}, longest {seconds(p.max)}.
          </figcaption>
          <pre>{p.text}</pre>
        </figure>
      ))}
      <p class="small muted">About one execution in ten seconds is looked at, and those that take longest. EXPLAIN ANALYZE in the shell measures each step of one, with values in place.</p>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Panel>
  );
}

function SessionList({ search }: { search: string }): JSX.Element {
  const { data, error, reload } = useLoad<Sessions>('sessions', 3);
  const [failed, setFailed] = useState<Failure>();
  const rows = useMemo(() => data?.sessions.filter((s) => (s.query + s.user + s.application).toLowerCase().includes(search.toLowerCase())) ?? [], [data, search]);
  const end = async (path: string): Promise<void> => {
    try {
      await post(path);
      setFailed(undefined);
    } catch (e) {
      if (e instanceof Failure) setFailed(e);
    }
    reload();
  };
  const buttons = (s: SessionInfo): JSX.Element => (
    <>
      {s.queryId && <Confirm label="Cancel query" onConfirm={() => void end(`queries/${encodeURIComponent(s.queryId)}/cancel`)} />}{' '}
      <Confirm label="End session" danger onConfirm={() => void end(`sessions/${encodeURIComponent(s.id)}/cancel`)} />
    </>
  );
  return (
    <>
      <ErrorBox error={error ?? failed} />
      {data?.notices.map((n) => (
        <p key={n} class="small muted">
          {n}
        </p>
      ))}
      {data && (
        <Table
          caption="Sessions"
          rows={rows}
          id={(s) => s.id}
          empty="There are no sessions of clients."
          columns={[
            {
              title: 'State',
              cell: (s) => (
                <>
                  <Badge tone={toneOf(s.state)}>{s.state}</Badge> {s.waiting && <Badge tone="warn">waits for a lock</Badge>}
                </>
              ),
              by: (s) => s.state,
            },
            {
              title: 'Statement',
              class: 'wide',
              cell: (s) => (
                <>
                  <code class="clip">{s.query}</code>
                  <Under of={[s.database, s.application, s.client]} />
                </>
              ),
            },
            { title: 'For', cell: (s) => (s.queryId ? ago(s.queryStart).replace(' ago', '') : '–'), by: (s) => -s.queryStart, number: true },
            { title: 'Transaction', cell: (s) => (s.txnStart ? ago(s.txnStart).replace(' ago', '') : '–'), by: (s) => -s.txnStart, number: true },
            { title: 'User', cell: (s) => s.user, by: (s) => s.user },
            { title: 'Node', cell: (s) => <a href={link('nodes', s.node)}>{s.node}</a>, by: (s) => s.node, number: true },
            { title: 'End it', cell: buttons, class: 'one' },
          ]}
        />
      )}
    </>
  );
}
