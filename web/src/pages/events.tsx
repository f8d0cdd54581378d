import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useLoad } from '../api';
import type { PageProps } from '../app';
import { time } from '../format';
import { link, setParams } from '../router';
import type { Events } from '../types';
import { Badge, ErrorBox, Page, Search, Table, type Tone } from '../ui';

const tones: Record<string, Tone> = { node_silent: 'bad', node_stopping: 'warn', node_back: 'good', node_joined: 'good', node_started: 'good', setting_changed: 'note', schema_changed: 'note' };

export function EventsPage({ route }: PageProps): JSX.Element {
  const { data, error } = useLoad<Events>('events?limit=2000', 5);
  const search = route.params.get('search') ?? '';
  const rows = useMemo(() => data?.events.filter((e) => (e.kind + ' ' + e.user + ' ' + e.text).toLowerCase().includes(search.toLowerCase())) ?? [], [data, search]);
  return (
    <Page title="Events" actions={<Search label="Search events" value={search} onChange={(v) => setParams(route, { search: v })} />}>
      <ErrorBox error={error} />
      {data && (
        <Table
          caption="Events"
          rows={rows}
          id={(e) => `${e.at}/${e.node}/${e.text}`}
          empty="Nothing has happened yet."
          columns={[
            { title: 'When', cell: (e) => time(e.at), by: (e) => e.at, class: 'one' },
            { title: 'What', cell: (e) => <Badge tone={tones[e.kind] ?? ''}>{e.kind.replaceAll('_', ' ')}</Badge>, by: (e) => e.kind },
            {
              title: 'Event',
              class: 'wide',
              cell: (e) => (
                <>
                  <span class="clip">{e.text}</span>
                  {e.dropped > 0 && <span class="muted"> ({e.dropped} events before it were not kept)</span>}
                </>
              ),
            },
            { title: 'User', cell: (e) => e.user, by: (e) => e.user },
            { title: 'Told by', cell: (e) => <a href={link('nodes', e.node)}>node {e.node}</a>, by: (e) => e.node, class: 'one' },
          ]}
        />
      )}
    </Page>
  );
}
