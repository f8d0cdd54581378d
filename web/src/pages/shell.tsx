import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Failure, post, useLoad } from '../api';
import type { PageProps } from '../app';
import { seconds } from '../format';
import type { Databases, Result } from '../types';
import { ErrorBox, Page, Panel, Table } from '../ui';

export function ShellPage({ session }: PageProps): JSX.Element {
  const databases = useLoad<Databases>('databases');
  const [database, setDatabase] = useState('defaultdb');
  const [text, setText] = useState("SELECT node_id, state, query FROM lichen_internal.cluster_sessions");
  const [result, setResult] = useState<{ r: Result; plan: boolean }>();
  const [error, setError] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const run = async (before: string): Promise<void> => {
    setBusy(true);
    try {
      setResult({ r: await post<Result>('sql', { database, statement: before + text, limit: 1000 }), plan: before !== '' });
      setError(undefined);
    } catch (e) {
      if (e instanceof Failure) setError(e);
      setResult(undefined);
    }
    setBusy(false);
  };
  return (
    <Page title="SQL shell">
      <Panel>
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void run('');
          }}
        >
          <label class="field">
            Statement
            <textarea
              spellcheck={false}
              value={text}
              onInput={(e) => setText(e.currentTarget.value)}
              onKeyDown={(e) => {
                if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
                  e.preventDefault();
                  void run('');
                }
              }}
            />
          </label>
          <div class="head" style={{ margin: 0 }}>
            <button class="primary" disabled={busy}>
              Run
            </button>
            <button type="button" disabled={busy} onClick={() => void run('EXPLAIN ')}>
              Plan
            </button>
            <button type="button" disabled={busy} onClick={() => void run('EXPLAIN ANALYZE ')}>
              Run and show the plan
            </button>
            <label>
              Database{' '}
              <select value={database} onChange={(e) => setDatabase(e.currentTarget.value)}>
                {(databases.data?.databases ?? [{ name: 'defaultdb' }]).map((d) => (
                  <option key={d.name}>{d.name}</option>
                ))}
              </select>
            </label>
            <span class="small muted">
              Ctrl+Enter runs it as {session.user}. {session.writes ? 'It may write.' : 'It only reads: the setting server.console.sql_writes.enabled is off.'}
            </span>
          </div>
        </form>
      </Panel>
      <ErrorBox error={error} />
      {error && error.position > 0 && <pre class="panel">{pointed(text, error.position)}</pre>}
      {result && (result.plan ? <Plan r={result.r} /> : <Grid r={result.r} />)}
    </Page>
  );
}

/** pointed shows where in a statement an error is. */
function pointed(text: string, position: number): string {
  const before = [...text].slice(0, position - 1).join('');
  const from = before.lastIndexOf('\n') + 1;
  const line = text.slice(from).split('\n', 1)[0] ?? '';
  return line + '\n' + ' '.repeat([...before.slice(from)].length) + '^';
}

function Grid({ r }: { r: Result }): JSX.Element {
  const rows = r.rows.map((cells, i) => ({ i, cells }));
  return (
    <>
      <p class="small muted">
        {r.tags.join(', ') || r.rows.length + ' rows'} in {seconds(r.seconds)}
        {r.cut && ', and there are more rows'}
      </p>
      {r.notices.map((n) => (
        <p key={n} class="small">
          {n}
        </p>
      ))}
      {r.columns.length > 0 && (
        <Table
          caption="Result"
          rows={rows}
          id={(x) => String(x.i)}
          empty="No rows."
          columns={r.columns.map((c, i) => ({
            title: c.name + (r.columns.findIndex((o) => o.name === c.name) < i ? ' (' + (i + 1) + ')' : ''),
            cell: (x: { i: number; cells: (string | null)[] }) => {
              const v = x.cells[i];
              return v === null || v === undefined ? <span class="null">NULL</span> : v;
            },
            number: /^(smallint|integer|bigint|numeric|real|double)/.test(c.type),
            class: 'mono',
          }))}
        />
      )}
    </>
  );
}

function Plan({ r }: { r: Result }): JSX.Element {
  return (
    <Panel title="Plan">
      <pre>{r.rows.map((x) => x[0] ?? '').join('\n')}</pre>
    </Panel>
  );
}
