import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useLoad } from '../api';
import { count, seconds, time } from '../format';
import type { Diagnostic, Diagnostics, LockWait, LockWaits, SlowStatement, SlowStatements, Transaction, Transactions } from '../types';
import { Badge, Counts, ErrorBox, Table, Under } from '../ui';

/** Notices are what nodes that did not answer leave out. */
export function Notices({ of }: { of?: string[] }): JSX.Element {
  return (
    <>
      {of?.map((n) => (
        <p key={n} class="small muted">
          {n}
        </p>
      ))}
    </>
  );
}

/** matching returns the rows that have a text in them. */
function matching<T>(rows: T[] | undefined, search: string, text: (row: T) => string): T[] {
  const low = search.toLowerCase();
  return rows?.filter((r) => text(r).toLowerCase().includes(low)) ?? [];
}

function Queries({ of }: { of: string[] }): JSX.Element {
  return (
    <>
      {of.map((q, i) => (
        <code key={i} class="clip">
          {q}
        </code>
      ))}
    </>
  );
}

export function TransactionList({ search }: { search: string }): JSX.Element {
  const { data, error } = useLoad<Transactions>('transactions?limit=1000', 10);
  const rows = useMemo(() => matching(data?.transactions, search, (t) => t.queries.join(' ')), [data, search]);
  return (
    <>
      <ErrorBox error={error} />
      <Notices of={data?.notices} />
      <p class="small muted">Blocks from BEGIN to COMMIT or ROLLBACK, by their statements; the time of their clients in between counts. A statement outside of a block is a transaction by itself.</p>
      {data && (
        <Table<Transaction>
          caption="Transaction blocks by fingerprint"
          rows={rows}
          id={(t) => t.fingerprint + '/' + t.database + '/' + t.user}
          empty="No client has run a transaction block since the nodes started."
          columns={[
            {
              title: 'Statements',
              class: 'wide',
              cell: (t) => (
                <>
                  <Queries of={t.queries} />
                  <Under of={[t.database, t.user]} />
                </>
              ),
              by: (t) => t.queries.join(' '),
            },
            { title: 'Blocks', cell: (t) => count(t.count), by: (t) => t.count, number: true },
            { title: 'Total', cell: (t) => seconds(t.total), by: (t) => t.total, number: true },
            { title: 'Mean', cell: (t) => seconds(t.mean), by: (t) => t.mean, number: true },
            { title: 'p99', cell: (t) => seconds(t.p99), by: (t) => t.p99, number: true },
            { title: 'Longest', cell: (t) => seconds(t.max), by: (t) => t.max, number: true },
            { title: 'Statements each', cell: (t) => count(t.statements / Math.max(t.count, 1)), by: (t) => t.statements / Math.max(t.count, 1), number: true },
            { title: 'Rows', cell: (t) => count(t.rows), by: (t) => t.rows, number: true },
            {
              title: 'Trouble',
              cell: (t) => (
                <Counts
                  of={[
                    ['rolled back', t.rollbacks, 'warn'],
                    ['retries', t.retries, 'warn'],
                  ]}
                />
              ),
              by: (t) => -(t.rollbacks * 1e9 + t.retries),
            },
          ]}
        />
      )}
    </>
  );
}

export function SlowList({ search }: { search: string }): JSX.Element {
  const { data, error } = useLoad<SlowStatements>('slow-statements?limit=1000', 5);
  const rows = useMemo(() => matching(data?.statements, search, (s) => s.query + s.plan + s.user), [data, search]);
  return (
    <>
      <ErrorBox error={error} />
      <Notices of={data?.notices} />
      {data && (
        <>
          <p class="small muted">
            The last executions that took {data.threshold} or longer: the setting <a href="#/settings?search=slow_statements">sql.stats.slow_statements.threshold</a>. Each node remembers 200. Once one was slow, the next ones of its kind are traced.
          </p>
          <Table<SlowStatement>
            caption="Slow statements"
            rows={rows}
            id={(s) => s.node + '/' + s.began + '/' + s.query}
            empty="No statement was that slow."
            below={(s) => (
              <>
                {s.plan && (
                  <details>
                    <summary>Plan</summary>
                    <pre>{s.plan}</pre>
                  </details>
                )}
                {s.trace && (
                  <details>
                    <summary>Trace</summary>
                    <pre>{s.trace}</pre>
                  </details>
                )}
              </>
            )}
            columns={[
              { title: 'Began', cell: (s) => time(s.began), by: (s) => -s.began, class: 'one' },
              { title: 'Took', cell: (s) => seconds(s.duration), by: (s) => s.duration, number: true },
              {
                title: 'Statement',
                class: 'wide',
                cell: (s) => (
                  <>
                    <code class="clip">{s.query}</code>
                    <Under of={[s.database, s.user, s.application, 'node ' + s.node]} />
                    {s.code && <Badge tone="bad">{s.code}</Badge>}
                  </>
                ),
                by: (s) => s.query,
              },
              { title: 'Waited', cell: (s) => seconds(s.contention), by: (s) => s.contention, number: true },
              { title: 'Rows', cell: (s) => count(s.rows), by: (s) => s.rows, number: true },
              { title: 'Read', cell: (s) => count(s.rowsRead), by: (s) => s.rowsRead, number: true },
              { title: 'Written', cell: (s) => count(s.rowsWritten), by: (s) => s.rowsWritten, number: true },
              { title: 'Retries', cell: (s) => count(s.retries), by: (s) => s.retries, number: true },
            ]}
          />
        </>
      )}
      <Bundles />
    </>
  );
}

/** Bundles lists what EXPLAIN ANALYZE (DEBUG) has kept. */
function Bundles(): JSX.Element {
  const { data, error } = useLoad<Diagnostics>('statement-diagnostics', 15);
  return (
    <>
      <ErrorBox error={error} />
      {data && (
        <Table<Diagnostic>
          titled
        caption="Statement diagnostics"
          rows={data.diagnostics}
          id={(d) => d.id}
          empty="EXPLAIN ANALYZE (DEBUG) keeps a bundle of a statement here: plan, trace, schema, statistics, settings."
          columns={[
            { title: 'At', cell: (d) => time(d.at), by: (d) => -d.at, class: 'one' },
            { title: 'Statement', class: 'wide', cell: (d) => <code class="clip">{d.query}</code>, by: (d) => d.query },
            {
              title: 'Bundle',
              cell: (d) => (
                <a href={'/api/v2/statement-diagnostics/' + encodeURIComponent(d.id)} download>
                  Download {d.id}
                </a>
              ),
              class: 'one',
            },
            { title: 'User', cell: (d) => d.user, by: (d) => d.user },
            { title: 'Database', cell: (d) => d.database, by: (d) => d.database },
            { title: 'Node', cell: (d) => d.node, by: (d) => d.node, number: true },
          ]}
        />
      )}
    </>
  );
}

/** placeOf is what a wait was for. */
function placeOf(w: LockWait): string {
  return [w.schema, w.table].filter(Boolean).join('.') || w.database || w.key;
}

export function WaitList({ search }: { search: string }): JSX.Element {
  const { data, error } = useLoad<LockWaits>('lock-waits?limit=1000', 5);
  const rows = useMemo(() => matching(data?.waits, search, (w) => [placeOf(w), ...w.queries, ...w.blockedBy].join(' ')), [data, search]);
  return (
    <>
      <ErrorBox error={error} />
      <Notices of={data?.notices} />
      <p class="small muted">The last waits for row locks that took a millisecond or longer. Who waited, and for whom, is known once both have ended.</p>
      {data && (
        <Table<LockWait>
          caption="Waits for locks"
          rows={rows}
          id={(w) => w.node + '/' + w.began + '/' + w.txn}
          empty="No transaction has waited for another."
          columns={[
            { title: 'Began', cell: (w) => time(w.began), by: (w) => -w.began, class: 'one' },
            { title: 'Waited', cell: (w) => seconds(w.duration), by: (w) => w.duration, number: true },
            {
              title: 'Table and key',
              cell: (w) => (
                <>
                  {placeOf(w) !== w.key && placeOf(w)} {w.index && <span class="muted">{w.index}</span>}
                  <code class="clip">{w.key}</code>
                  <Under of={[w.user]} />
                </>
              ),
              by: placeOf,
              class: 'keys',
            },
            { title: 'Who waited', class: 'wide', cell: (w) => (w.queries.length ? <Queries of={w.queries} /> : <span class="muted">transaction {w.txn.slice(0, 8)}</span>), by: (w) => w.queries.join(' ') },
            { title: 'For whom', class: 'wide', cell: (w) => (w.blockedBy.length ? <Queries of={w.blockedBy} /> : <span class="muted">transaction {w.blocking.map((b) => b.slice(0, 8)).join(', ')}</span>), by: (w) => w.blockedBy.join(' ') },
            { title: 'Ended', cell: (w) => (w.granted ? 'granted' : <Badge tone="warn">gave up</Badge>), by: (w) => (w.granted ? 1 : 0) },
            { title: 'Node', cell: (w) => w.node, by: (w) => w.node, number: true },
          ]}
        />
      )}
    </>
  );
}
