import type { JSX } from 'preact';
import { query, useLoad } from '../api';
import type { PageProps } from '../app';
import { bytes, count } from '../format';
import { link, setParams } from '../router';
import type { RangeInfo, Ranges } from '../types';
import { Badge, Choice, ErrorBox, Page, Search, Table } from '../ui';

export function RangesPage({ route }: PageProps): JSX.Element {
  const search = route.params.get('search') ?? '';
  const problems = route.params.get('problems') ?? '';
  const { data, error } = useLoad<Ranges>(query('ranges', { search, problems, limit: 1000 }), 5);
  return (
    <Page
      title="Ranges"
      actions={
        <>
          <Choice
            label="Which ranges"
            value={problems}
            options={[
              ['', 'All'],
              ['true', 'With problems'],
            ]}
            onChange={(v) => setParams(route, { problems: v })}
          />
          <Search label="Search keys or ids" value={search} onChange={(v) => setParams(route, { search: v })} />
        </>
      }
    >
      <ErrorBox error={error} />
      {data && (
        <>
          <p class="muted small">
            {data.ranges.length} of {data.total} ranges, those that serve most requests first. The node with the filled badge leads.
          </p>
          <Table
            caption="Ranges"
            rows={data.ranges}
            id={(r) => String(r.id)}
            empty={problems ? 'All ranges are as they should be.' : 'There are none.'}
            columns={[
              { title: 'Range', cell: (r) => r.id, by: (r) => r.id, number: true },
              { title: 'Requests/s', cell: (r) => count(r.rate), by: (r) => r.rate, number: true },
              { title: 'Size', cell: (r) => bytes(r.bytes), by: (r) => r.bytes, number: true },
              {
                title: 'Nodes',
                class: 'one',
                cell: (r) =>
                  r.replicas.map((x) => (
                    <>
                      <a href={link('nodes', x.node)} title={(x.leads ? 'leads; ' : '') + (x.votes ? '' : 'does not vote; ') + x.locality}>
                        <Badge tone={x.leads ? 'good' : ''}>
                          {x.node}
                          {x.leads && <span class="skip"> leads</span>}
                        </Badge>
                      </a>{' '}
                    </>
                  )),
                by: (r) => r.leader,
              },
              { title: 'From', cell: (r) => <code>{r.start}</code>, by: (r) => r.start, class: 'keys' },
              { title: 'To', cell: (r) => <code>{r.end}</code>, class: 'keys' },
              ...(data.ranges.some((r) => r.problems.length > 0) ? [{ title: 'Problems', cell: (r: RangeInfo) => r.problems.join('; '), by: (r: RangeInfo) => -r.problems.length }] : []),
            ]}
          />
        </>
      )}
    </Page>
  );
}
