import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { call, Failure, useLoad } from '../api';
import type { PageProps } from '../app';
import { setParams } from '../router';
import type { SettingInfo, Settings } from '../types';
import { Badge, Choice, ErrorBox, Page, Search, Table } from '../ui';

export function SettingsPage({ route, session }: PageProps): JSX.Element {
  const { data, error, reload } = useLoad<Settings>('settings');
  const [failed, setFailed] = useState<Failure>();
  const [edited, setEdited] = useState<string>();
  const search = route.params.get('search') ?? '';
  const changed = route.params.get('changed') ?? '';
  const rows = useMemo(
    () =>
      data?.settings.filter((s) => (s.name + ' ' + s.description).toLowerCase().includes(search.toLowerCase()) && (!changed || s.value !== s.default)) ?? [],
    [data, search, changed],
  );
  const put = async (name: string, value: string | null): Promise<void> => {
    try {
      await call('PUT', 'settings/' + encodeURIComponent(name), { value });
      setFailed(undefined);
      setEdited(undefined);
    } catch (e) {
      if (e instanceof Failure) setFailed(e);
    }
    reload();
  };
  return (
    <Page
      title="Cluster settings"
      actions={
        <>
          <Choice
            label="Which settings"
            value={changed}
            options={[
              ['', 'All'],
              ['true', 'Changed'],
            ]}
            onChange={(v) => setParams(route, { changed: v })}
          />
          <Search label="Search settings" value={search} onChange={(v) => setParams(route, { search: v })} />
        </>
      }
    >
      <ErrorBox error={error ?? failed} />
      {data && (
        <Table
          caption="Cluster settings"
          rows={rows}
          id={(s) => s.name}
          empty="No setting is like that."
          columns={[
            {
              title: 'Setting',
              class: 'wide',
              cell: (s) => (
                <>
                  <code>{s.name}</code>
                  <div class="small muted">{s.description}</div>
                </>
              ),
              by: (s) => s.name,
            },
            {
              title: 'Value',
              cell: (s) =>
                edited === s.name ? (
                  <Editor s={s} onSave={(v) => void put(s.name, v)} onClose={() => setEdited(undefined)} />
                ) : (
                  <>
                    <code>{s.value || '–'}</code> {s.value !== s.default && <Badge tone="note">changed</Badge>}
                  </>
                ),
            },
            { title: 'Default', cell: (s) => <code>{s.default || '–'}</code> },
            { title: 'Type', cell: (s) => s.type, by: (s) => s.type },
            {
              title: 'Change it',
              class: 'one',
              cell: (s) =>
                session.superuser && edited !== s.name ? (
                  <button type="button" aria-label={'Edit ' + s.name} onClick={() => setEdited(s.name)}>
                    Edit
                  </button>
                ) : null,
            },
          ]}
        />
      )}
    </Page>
  );
}

function Editor(p: { s: SettingInfo; onSave: (v: string | null) => void; onClose: () => void }): JSX.Element {
  const [value, setValue] = useState(p.s.value);
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        p.onSave(value);
      }}
    >
      {p.s.type === 'rules' ? (
        <textarea aria-label={p.s.name} value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      ) : (
        <input aria-label={p.s.name} value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      )}
      <div style={{ marginTop: '0.4rem' }}>
        <button class="primary">Save</button>{' '}
        <button type="button" onClick={() => p.onSave(null)}>
          Default
        </button>{' '}
        <button type="button" onClick={p.onClose}>
          Leave
        </button>
      </div>
    </form>
  );
}
