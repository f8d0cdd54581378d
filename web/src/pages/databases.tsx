import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useLoad } from '../api';
import type { PageProps } from '../app';
import { ago, bytes, count, seconds, share, time } from '../format';
import type { Route } from '../router';
import { link, setParams } from '../router';
import type { Databases, IndexAdviceList, TableDetail, Tables } from '../types';
import { ErrorBox, Page, Panel, Search, Table, Tile } from '../ui';

export function DatabasesPage({ route }: PageProps): JSX.Element {
  const [, database, schema, table] = route.parts;
  if (database && schema && table) return <TablePage database={database} schema={schema} table={table} />;
  if (database) return <TablesPage database={database} route={route} />;
  return <List />;
}

function List(): JSX.Element {
  const { data, error } = useLoad<Databases>('databases', 30);
  return (
    <Page title="Databases">
      <ErrorBox error={error} />
      {data && (
        <Table
          caption="Databases"
          rows={data.databases}
          id={(d) => d.name}
          columns={[
            { title: 'Database', cell: (d) => <a href={link('databases', d.name)}>{d.name}</a>, by: (d) => d.name },
            { title: 'Owner', cell: (d) => d.owner, by: (d) => d.owner },
            { title: 'Size', cell: (d) => bytes(d.bytes), by: (d) => d.bytes, number: true },
          ]}
        />
      )}
    </Page>
  );
}

function TablesPage({ database, route }: { database: string; route: Route }): JSX.Element {
  const { data, error } = useLoad<Tables>(`databases/${encodeURIComponent(database)}/tables`, 60);
  const search = route.params.get('search') ?? '';
  const rows = useMemo(() => {
    const text = search.toLowerCase();
    return data?.tables.filter((t) => (t.schema + '.' + t.name).toLowerCase().includes(text)) ?? [];
  }, [data, search]);
  return (
    <Page title={database} actions={<Search label="Search tables" value={search} onChange={(v) => setParams(route, { search: v })} />}>
      <p>
        <a href={link('databases')}>All databases</a>
      </p>
      <ErrorBox error={error} />
      {data && (
        <>
          <Table
            caption="Tables"
            rows={rows}
            id={(t) => t.schema + '.' + t.name}
            empty="There are no tables here."
            columns={[
              { title: 'Table', cell: (t) => <a href={link('databases', database, t.schema, t.name)}>{t.name}</a>, by: (t) => t.name },
              { title: 'Schema', cell: (t) => t.schema, by: (t) => t.schema },
              { title: 'Kind', cell: (t) => t.kind, by: (t) => t.kind },
              { title: 'Owner', cell: (t) => t.owner, by: (t) => t.owner },
              { title: 'Columns', cell: (t) => t.columns, by: (t) => t.columns, number: true },
              { title: 'Indexes', cell: (t) => t.indexes, by: (t) => t.indexes, number: true },
              { title: 'Rows, about', cell: (t) => count(t.rows), by: (t) => t.rows, number: true },
              { title: 'Size', cell: (t) => (data.sized ? bytes(t.bytes) : '–'), by: (t) => t.bytes, number: true },
            ]}
          />
          <Advice database={database} />
          {!data.sized && <p class="small muted">There are many tables: the page of each tells its size.</p>}
          {data.cut && <p class="small muted">There are more tables than are shown.</p>}
        </>
      )}
    </Page>
  );
}

/** Advice shows the changes of indexes that statements speak for: of a database, or of one of its tables. */
function Advice(p: { database: string; schema?: string; table?: string }): JSX.Element {
  const { data } = useLoad<IndexAdviceList>(`databases/${encodeURIComponent(p.database)}/index-recommendations`, 60);
  const list = data?.advice.filter((a) => p.table === undefined || (a.table === p.table && a.schema === p.schema)) ?? [];
  if (list.length === 0) return <></>;
  return (
    <Panel title="Recommended indexes">
      {list.map((a) => (
        <section key={a.statement} class="advice">
          <pre>{a.statement};</pre>
          <p class="small">
            {a.kind === 'create' ? `Those statements took ${seconds(a.time)} in all: ` : 'It can go: '}
            {a.reason}.
          </p>
          {a.queries.map((q) => (
            <code key={q} class="clip">
              {q}
            </code>
          ))}
        </section>
      ))}
    </Panel>
  );
}

function TablePage(p: { database: string; schema: string; table: string }): JSX.Element {
  const path = ['databases', p.database, 'tables', p.schema, p.table].map(encodeURIComponent).join('/');
  const { data, error } = useLoad<TableDetail>(path, 60);
  return (
    <Page title={p.schema + '.' + p.table}>
      <p>
        <a href={link('databases', p.database)}>All tables of {p.database}</a>
      </p>
      <ErrorBox error={error} />
      <Advice {...p} />
      {data && <Detail t={data} />}
    </Page>
  );
}

/** distinct is how many values a column has, from what pg_stats tells: a negative figure is a share of the rows. */
const distinct = (n: number, rows: number): number => (n < 0 ? Math.round(-n * rows) : n);

function Detail({ t }: { t: TableDetail }): JSX.Element {
  return (
    <>
      <div class="tiles">
        <Tile label="Kind" value={t.kind} />
        <Tile label="Owner" value={t.owner} />
        <Tile label="Rows, about" value={count(t.rows)} />
        <Tile label="Size" value={bytes(t.bytes)} />
        <Tile label="Ranges" value={String(t.ranges.length)} />
      </div>
      <Panel title="Definition">
        <pre>{t.create || 'It has none.'}</pre>
      </Panel>
      <Table
        titled
        caption="Columns"
        rows={t.columnList}
        id={(c) => c.name}
        columns={[
          { title: 'Column', cell: (c) => <code>{c.name}</code>, by: (c) => c.name },
          { title: 'Type', cell: (c) => c.type },
          { title: 'Null', cell: (c) => (c.nullable ? 'yes' : 'no') },
          { title: 'Default', cell: (c) => <code>{c.default}</code>, class: 'wide' },
        ]}
      />
      {t.statistics.length > 0 && (
        <>
          <Table
            titled
        caption="Statistics of columns"
            rows={t.statistics}
            id={(c) => c.column}
            columns={[
              { title: 'Column', cell: (c) => <code>{c.column}</code>, by: (c) => c.column },
              { title: 'Null', cell: (c) => share(c.nulls), by: (c) => c.nulls, number: true },
              { title: 'Distinct values', cell: (c) => count(distinct(c.distinct, t.rows)), by: (c) => distinct(c.distinct, t.rows), number: true },
              { title: 'Width', cell: (c) => bytes(c.width), by: (c) => c.width, number: true },
              { title: 'Most common values', cell: (c) => <code class="clip">{c.common}</code>, class: 'wide' },
              { title: 'Histogram', cell: (c) => <code class="clip">{c.histogram}</code>, class: 'wide', minor: true },
            ]}
          />
          <p class="small muted">What the optimizer knows of the values{t.analyzed ? `, since ${time(t.analyzed)}` : ''}. ANALYZE renews it; tables that change are analysed by themselves.</p>
        </>
      )}
      {t.statistics.length === 0 && t.kind === 'table' && <p class="small muted">The table has no statistics of its columns yet: ANALYZE makes them.</p>}
      {t.indexList.length > 0 && (
        <Table
          titled
        caption="Indexes"
          rows={t.indexList}
          id={(i) => i.name}
          columns={[
            { title: 'Index', cell: (i) => i.name, by: (i) => i.name },
            { title: 'Kind', cell: (i) => (i.primary ? 'primary key' : i.unique ? 'unique' : '') },
            { title: 'Size', cell: (i) => bytes(i.bytes), by: (i) => i.bytes, number: true },
            { title: 'Reads', cell: (i) => count(i.reads) + (i.fullReads ? ` (${count(i.fullReads)} of all)` : ''), by: (i) => i.reads, number: true },
            { title: 'Last read', cell: (i) => (i.lastRead ? ago(i.lastRead) : 'never'), by: (i) => -i.lastRead, class: 'one' },
            { title: 'Definition', cell: (i) => <code>{i.definition}</code>, class: 'wide' },
          ]}
        />
      )}
      <Table
        titled
        caption="Grants"
        rows={t.grants}
        id={(g) => g.role}
        empty="Nobody but superusers may use it."
        columns={[
          { title: 'Role', cell: (g) => g.role },
          { title: 'May', cell: (g) => g.privileges.join(', ') },
        ]}
      />
      {t.rangesUnknown && <p class="muted">Its ranges: {t.rangesUnknown}</p>}
      {t.ranges.length > 0 && (
        <Table
          titled
        caption="Ranges"
          rows={t.ranges}
          id={(r) => String(r.id)}
          columns={[
            { title: 'Range', cell: (r) => r.id, by: (r) => r.id, number: true },
            { title: 'From', cell: (r) => <code>{r.start}</code> },
            { title: 'To', cell: (r) => <code>{r.end}</code> },
            { title: 'Size', cell: (r) => bytes(r.bytes), by: (r) => r.bytes, number: true },
            { title: 'Led by store', cell: (r) => r.leader || '–', number: true },
            { title: 'Replicas on stores', cell: (r) => r.replicas.join(', ') },
          ]}
        />
      )}
    </>
  );
}
