// How figures are printed.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(n: number): string {
  let i = 0;
  while (Math.abs(n) >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return (i === 0 || Math.abs(n) >= 100 ? n.toFixed(0) : n.toFixed(1)) + ' ' + (units[i] ?? '');
}

export function count(n: number): string {
  const a = Math.abs(n);
  if (a >= 1e9) return (n / 1e9).toFixed(1) + ' G';
  if (a >= 1e6) return (n / 1e6).toFixed(1) + ' M';
  if (a >= 1e4) return (n / 1e3).toFixed(1) + ' k';
  if (a >= 100 || Number.isInteger(n)) return n.toFixed(0);
  return a >= 10 ? n.toFixed(1) : n.toFixed(2);
}

/** seconds prints a duration. */
export function seconds(s: number): string {
  if (s === 0) return '0';
  if (s < 0.001) return (s * 1e6).toFixed(0) + ' µs';
  if (s < 1) return (s * 1e3).toFixed(s < 0.01 ? 2 : s < 0.1 ? 1 : 0) + ' ms';
  if (s < 120) return s.toFixed(s < 10 ? 2 : 1) + ' s';
  if (s < 7200) return (s / 60).toFixed(0) + ' min';
  if (s < 172800) return (s / 3600).toFixed(1) + ' h';
  return (s / 86400).toFixed(1) + ' d';
}

export const share = (n: number): string => (n * 100).toFixed(n < 0.1 ? 1 : 0) + ' %';

/** unit prints a figure in a unit of the dashboards. */
export function inUnit(n: number, unit: string): string {
  switch (unit) {
    case 'bytes':
      return bytes(n);
    case 'bytespersecond':
      return bytes(n) + '/s';
    case 'seconds':
      return seconds(n);
    case 'share':
      return share(n);
    case 'persecond':
      return count(n) + '/s';
    default:
      return count(n);
  }
}

const pad = (n: number): string => String(n).padStart(2, '0');

/** time prints a point in time, 0 as none. */
export function time(ms: number): string {
  if (!ms) return '–';
  const d = new Date(ms);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** ago prints how long ago a point in time is. */
export function ago(ms: number, now = Date.now()): string {
  if (!ms) return '–';
  const s = Math.max(0, (now - ms) / 1000);
  return s < 2 ? 'now' : seconds(Math.round(s)).replace('.00', '').replace('.0', '') + ' ago';
}
