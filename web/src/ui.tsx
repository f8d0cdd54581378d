// The parts that pages are made of.
import type { ComponentChildren, JSX } from 'preact';
import { Fragment } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Failure } from './api';

export function Page(p: { title: string; actions?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  useEffect(() => {
    document.title = p.title + ' – Lichen';
  }, [p.title]);
  return (
    <>
      <div class="head">
        <h1>{p.title}</h1>
        <span class="grow" />
        {p.actions}
      </div>
      {p.children}
    </>
  );
}

export function Panel(p: { title?: string; class?: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class={'panel ' + (p.class ?? '')}>
      {p.title && <h2>{p.title}</h2>}
      {p.children}
    </section>
  );
}

export function ErrorBox(p: { error?: Failure }): JSX.Element | null {
  if (!p.error) return null;
  return (
    <div class="error" role="alert">
      <strong>{p.error.message}</strong>
      {p.error.detail && <div>{p.error.detail}</div>}
      {p.error.hint && <div>{p.error.hint}</div>}
    </div>
  );
}

export type Tone = 'good' | 'warn' | 'bad' | 'note' | '';

export const Badge = (p: { tone?: Tone; children: ComponentChildren }): JSX.Element => <span class={'badge ' + (p.tone ?? '')}>{p.children}</span>;

/** toneOf is the colour of a word for a state. */
export function toneOf(state: string): Tone {
  switch (state) {
    case 'live':
    case 'succeeded':
    case 'ok':
    case 'active':
      return 'good';
    case 'suspect':
    case 'unavailable':
    case 'slow':
    case 'paused':
    case 'canceled':
      return 'warn';
    case 'dead':
    case 'failed':
    case 'stalled':
    case 'full':
      return 'bad';
    case 'draining':
    case 'decommissioning':
    case 'running':
    case 'idle in transaction':
      return 'note';
    default:
      return '';
  }
}

export function Tile(p: { label: string; value: string; tone?: Tone; note?: string }): JSX.Element {
  return (
    <div class={'tile ' + (p.tone ?? '')}>
      <div class="label">{p.label}</div>
      <div class="value">{p.value}</div>
      {p.note && <div class="small muted">{p.note}</div>}
    </div>
  );
}

export function Bar(p: { share: number; label: string }): JSX.Element {
  const s = Math.min(Math.max(p.share, 0), 1);
  const tone = s >= 0.95 ? 'bad' : s >= 0.8 ? 'warn' : '';
  return (
    <div class={'bar ' + tone} role="img" aria-label={p.label} title={p.label}>
      <span style={{ width: (s * 100).toFixed(1) + '%' }} />
    </div>
  );
}

export function Choice<T extends string>(p: { label: string; value: T; options: readonly (readonly [T, string])[]; onChange: (v: T) => void }): JSX.Element {
  return (
    <div class="group" role="group" aria-label={p.label}>
      {p.options.map(([v, text]) => (
        <button key={v} type="button" aria-pressed={v === p.value} onClick={() => p.onChange(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Search(p: { label: string; value: string; onChange: (v: string) => void }): JSX.Element {
  return <input type="search" placeholder={p.label} aria-label={p.label} value={p.value} onInput={(e) => p.onChange(e.currentTarget.value)} />;
}

/** Confirm is a button that asks once more. */
export function Confirm(p: { label: string; danger?: boolean; onConfirm: () => void }): JSX.Element {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return undefined;
    const t = window.setTimeout(() => setAsked(false), 4000);
    return () => window.clearTimeout(t);
  }, [asked]);
  return (
    <button
      type="button"
      class={p.danger || asked ? 'danger' : ''}
      onClick={() => {
        if (asked) p.onConfirm();
        setAsked(!asked);
      }}
    >
      {asked ? 'Sure?' : p.label}
    </button>
  );
}

/** Column is a column of a Table. */
export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** by is what rows are sorted by; without it they can't be. */
  by?: (row: T) => string | number;
  number?: boolean;
  class?: string;
  /** minor: left out where the window is not wide enough for all columns. */
  minor?: boolean;
}

const rowHeight = 37;
const windowed = 150;

/** Table shows rows, of which there may be very many: then only those in sight are made. */
export function Table<T>(p: { caption: string; rows: T[]; columns: Column<T>[]; id: (row: T) => string; empty?: string; titled?: boolean; below?: (row: T) => ComponentChildren }): JSX.Element {
  const [sort, setSort] = useState<{ i: number; down: boolean }>();
  const rows = useMemo(() => sorted(p.rows, p.columns, sort), [p.rows, sort]);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0); // the first row in sight, or one of the nine before it
  const many = rows.length > windowed;
  const first = many ? Math.max(0, top - 15) : 0;
  const last = many ? Math.min(rows.length, first + 70) : rows.length;
  const spacer = (n: number): JSX.Element | null =>
    n > 0 ? (
      <tr class="spacer" aria-hidden="true">
        <td colSpan={p.columns.length} style={{ height: n * rowHeight + 'px' }} />
      </tr>
    ) : null;
  const look = (c: Column<T>): string => (c.number ? 'number ' : '') + (c.minor ? 'minor ' : '') + (c.class ?? '');
  const sortable = p.columns.some((c) => c.by);
  return (
    <>
    {p.titled && <h2 class="over">{p.caption}</h2>}
    <div class={'table ' + (many ? 'tall' : 'cards')} ref={box} onScroll={many ? () => setTop(Math.floor((box.current?.scrollTop ?? 0) / rowHeight / 10) * 10) : undefined} tabIndex={0} role="region" aria-label={p.caption}>
      {sortable && rows.length > 1 && !many && (
        <label class="order small">
          Sort by{' '}
          <select
            value={sort ? String(sort.i) : ''}
            onChange={(e) => {
              const i = Number(e.currentTarget.value);
              setSort(e.currentTarget.value === '' ? undefined : { i, down: !!p.columns[i]?.number });
            }}
          >
            <option value="">as it comes</option>
            {p.columns.map((c, i) => c.by && <option key={c.title} value={String(i)}>{c.title}</option>)}
          </select>
        </label>
      )}
      <table role="table" class={many ? 'window' : ''} aria-rowcount={rows.length}>
        <thead role="rowgroup">
          <tr role="row">
            {p.columns.map((c, i) => (
              <th key={c.title} role="columnheader" scope="col" class={(c.number ? 'number ' : '') + (c.minor ? 'minor' : '')} aria-sort={sort?.i === i ? (sort.down ? 'descending' : 'ascending') : undefined}>
                {c.by ? (
                  <button type="button" onClick={() => setSort((s) => ({ i, down: s?.i === i ? !s.down : !!c.number }))}>
                    {c.title}
                    {sort?.i === i ? (sort.down ? ' ↓' : ' ↑') : ''}
                  </button>
                ) : (
                  c.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {spacer(first)}
          {rows.slice(first, last).map((r) => (
            <Fragment key={p.id(r)}>
            <tr role="row" class={p.below ? 'above' : ''}>
              {p.columns.map((c) => (
                <td key={c.title} role="cell" class={look(c)} data-label={c.title}>
                  {c.cell(r)}
                </td>
              ))}
            </tr>
            {p.below && (
              <tr role="row" class="below">
                <td role="cell" class="wide" colSpan={p.columns.length}>
                  {p.below(r)}
                </td>
              </tr>
            )}
            </Fragment>
          ))}
          {spacer(rows.length - last)}
        </tbody>
      </table>
      {rows.length === 0 && <div class="empty">{p.empty ?? 'There is nothing to show.'}</div>}
    </div>
    </>
  );
}

function sorted<T>(rows: T[], columns: Column<T>[], sort?: { i: number; down: boolean }): T[] {
  const by = sort && columns[sort.i]?.by;
  if (!by) return rows;
  const sign = sort.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = by(a);
    const y = by(b);
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
  });
}

/** Under is a second line of a cell, for what is asked for less often. */
export function Under(p: { of: (string | number | false | undefined)[] }): JSX.Element {
  return <div class="under small muted">{p.of.filter((x) => x !== '' && x !== undefined && x !== false).join(' · ')}</div>;
}

/** Counts are badges for what went wrong; none of what did not. */
export function Counts(p: { of: readonly (readonly [string, number, Tone])[] }): JSX.Element {
  return (
    <>
      {p.of
        .filter(([, n]) => n > 0)
        .map(([name, n, tone]) => (
          <>
            <Badge key={name} tone={tone}>
              {name} {n >= 10_000 ? (n / 1000).toFixed(1) + ' k' : n}
            </Badge>{' '}
          </>
        ))}
    </>
  );
}
