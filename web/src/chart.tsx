// Graphs over time, by uPlot. All on a page share the cursor; dragging over one chooses the time span of all.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { inUnit } from './format';

export interface ChartCurve {
  label: string;
  values: (number | null)[];
}

export interface ChartProps {
  label: string;
  from: number; // milliseconds
  step: number;
  curves: ChartCurve[];
  unit: string;
  theme: string;
  height?: number;
  onZoom?: (from: number, to: number) => void;
}

/** times are the forms of the time at the axis, by the seconds between two of them. */
const times: uPlot.Axis.Values = [
  [86400, '{MM}-{DD}', null, null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
];

/** maxLegend is how many curves a legend names: more are a crowd, of which one page per node tells more. */
const maxLegend = 24;

/** binary are the steps of an axis of bytes. */
const binary = Array.from({ length: 50 }, (_, i) => 2 ** i);

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function options(p: ChartProps, width: number): uPlot.Options {
  const line = colour('--line');
  const text = colour('--muted');
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: '11px system-ui, sans-serif' };
  const show = (v: number | null): string => (v === null ? '–' : inUnit(v, p.unit));
  return {
    width,
    height: p.height ?? 190,
    legend: { show: p.curves.length <= maxLegend },
    cursor: { sync: { key: 'time' }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
    scales: { y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, values: times, space: 60 },
      {
        ...axis,
        size: 76,
        ...(p.unit.startsWith('bytes') ? { incrs: binary } : {}), 
        values: (_u, ticks) => ticks.map((v) => inUnit(v, p.unit)),
      },
    ],
    series: [
      { label: 'time', value: '{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}' },
      ...p.curves.map((c, i) => ({
        label: c.label,
        stroke: colour(`--c${(i % 8) + 1}`),
        width: 1.6,
        spanGaps: false,
        points: { show: c.values.filter((v) => v !== null).length < 3, size: 5 },
        value: (_u: uPlot, v: number | null) => show(v),
      })),
    ],
    hooks: {
      setCursor: [(u) => u.cursor.idx == null && atPresent(u)],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          const from = u.posToVal(u.select.left, 'x') * 1000;
          const to = u.posToVal(u.select.left + u.select.width, 'x') * 1000;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          p.onZoom?.(from, to);
        },
      ],
    },
  };
}

/** atPresent has the legend show the last values, as long as the pointer is not over a graph. */
function atPresent(u: uPlot): void {
  const x = u.data[0];
  let last = x.length - 1;
  while (last > 0 && u.data.slice(1).every((v) => v[last] == null)) last--;
  if (x.length > 0) u.setLegend({ idx: last }, false);
}

function dataOf(p: ChartProps): uPlot.AlignedData {
  const n = p.curves[0]?.values.length ?? 0;
  const x = Array.from({ length: n }, (_, i) => (p.from + i * p.step) / 1000);
  return [x, ...p.curves.map((c) => c.values)];
}

/** summary says in words what a graph shows, for those who don't see it. */
function summary(p: ChartProps): string {
  const last = p.curves.map((c) => {
    const v = [...c.values].reverse().find((x) => x !== null);
    return `${c.label} ${v === undefined || v === null ? 'unknown' : inUnit(v, p.unit)}`;
  });
  return `${p.label}. At present: ${last.join(', ') || 'no data'}.`;
}

export function Chart(p: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const shape = p.curves.map((c) => c.label).join('\n') + p.unit + p.theme;
  const latest = useRef(p);
  latest.current = p;
  useEffect(() => {
    const el = box.current;
    if (!el) return undefined;
    const u = new uPlot(options({ ...p, onZoom: (a, b) => latest.current.onZoom?.(a, b) }, el.clientWidth || 300), dataOf(p), el);
    plot.current = u;
    const watch = new ResizeObserver(() => {
      if (el.clientWidth > 0) u.setSize({ width: el.clientWidth, height: p.height ?? 190 });
    });
    watch.observe(el);
    return () => {
      watch.disconnect();
      u.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    const u = plot.current;
    u?.setData(dataOf(p));
    if (u && u.cursor.idx == null) atPresent(u);
  }, [p.curves, p.from, p.step]);
  return <div ref={box} role="img" aria-label={summary(p)} />;
}
