import type { JSX } from 'preact';
import { query, useLoad } from '../api';
import { Chart } from '../chart';
import type { Metrics } from '../types';
import { Panel } from '../ui';
import { combined } from './metrics';

const names = ['lichen_sql_statements_total', 'lichen_sql_statement_p50_seconds', 'lichen_sql_statement_p99_seconds'];

/** MiniGraphs shows the load of the last hour. */
export function MiniGraphs({ theme }: { theme: string }): JSX.Element | null {
  const { data } = useLoad<Metrics>(query('metrics', { names: names.join(',') }), 10);
  if (!data || data.series.length === 0) return null;
  const graph = (title: string, unit: string, curves: [string, string, 'sum' | 'max'][]): JSX.Element => (
    <Panel title={title}>
      <Chart
        label={title}
        theme={theme}
        from={data.from}
        step={data.step}
        unit={unit}
        height={150}
        curves={curves.map(([metric, label, how]) => ({ label, values: combined(data, metric, how) }))}
      />
    </Panel>
  );
  return (
    <div class="grid">
      {graph('Statements per second', 'persecond', [['lichen_sql_statements_total', 'statements', 'sum']])}
      {graph('Latency', 'seconds', [
        ['lichen_sql_statement_p50_seconds', 'p50', 'max'],
        ['lichen_sql_statement_p99_seconds', 'p99', 'max'],
      ])}
    </div>
  );
}
