import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Failure, post, useLoad } from '../api';
import { count, time } from '../format';
import type { Job, Jobs } from '../types';
import { Badge, Confirm, ErrorBox, Page, Table, toneOf, Under } from '../ui';

export function JobsPage(): JSX.Element {
  const { data, error, reload } = useLoad<Jobs>('jobs', 3);
  const [failed, setFailed] = useState<Failure>();
  const change = async (j: Job, action: string): Promise<void> => {
    try {
      await post(`jobs/${j.id}/${action}`);
      setFailed(undefined);
    } catch (e) {
      if (e instanceof Failure) setFailed(e);
    }
    reload();
  };
  const buttons = (j: Job): JSX.Element | null => {
    if (j.type !== 'SCHEMA CHANGE' || (j.status !== 'running' && j.status !== 'paused')) return null;
    return (
      <>
        {j.status === 'running' ? (
          <button type="button" onClick={() => void change(j, 'pause')}>
            Pause
          </button>
        ) : (
          <button type="button" onClick={() => void change(j, 'resume')}>
            Resume
          </button>
        )}{' '}
        <Confirm label="Cancel" danger onConfirm={() => void change(j, 'cancel')} />
      </>
    );
  };
  return (
    <Page title="Jobs">
      <p class="muted small">Long statements that change tables, and removals of data that nobody uses any more.</p>
      <ErrorBox error={error ?? failed} />
      {data && (
        <Table
          caption="Jobs"
          rows={data.jobs}
          id={(j) => j.type + j.id}
          empty="There are no jobs. A statement such as CREATE INDEX becomes one when it has read many rows."
          columns={[
            { title: 'State', cell: (j) => <Badge tone={toneOf(j.status)}>{j.status}</Badge>, by: (j) => j.status },
            {
              title: 'Job',
              cell: (j) => (
                <>
                  <code class="clip">{j.description}</code>
                  <Under of={[j.type.toLowerCase(), j.database, j.user, j.node > 0 && 'node ' + j.node]} />
                  {j.error && <p class="small">{j.error}</p>}
                </>
              ),
              class: 'wide',
            },
            { title: 'Rows read', cell: (j) => count(j.rows), by: (j) => j.rows, number: true },
            { title: 'Began', cell: (j) => time(j.created), by: (j) => j.created, class: 'one' },
            { title: 'Ended', cell: (j) => time(j.finished), by: (j) => j.finished, class: 'one' },
            { title: 'Change it', cell: buttons, class: 'one' },
          ]}
        />
      )}
    </Page>
  );
}
