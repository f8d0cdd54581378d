// Pages are addressed by the part of the URL behind #, so that the server knows one page only.
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  path: string;
  parts: string[];
  params: URLSearchParams;
}

function read(): Route {
  const [path = '/', query = ''] = (window.location.hash.slice(1) || '/').split('?', 2);
  return { path, parts: path.split('/').filter(Boolean).map(decodeURIComponent), params: new URLSearchParams(query) };
}

/** useRoute returns where the user is. */
export function useRoute(): Route {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const f = (): void => setRoute(read());
    window.addEventListener('hashchange', f);
    return () => window.removeEventListener('hashchange', f);
  }, []);
  return route;
}

/** link returns the address of a page. */
export const link = (...parts: (string | number)[]): string => '#/' + parts.map((p) => encodeURIComponent(p)).join('/');

/** setParams changes the parameters of the present page. */
export function setParams(r: Route, changes: Record<string, string>): void {
  const p = new URLSearchParams(r.params);
  for (const [k, v] of Object.entries(changes)) {
    if (v) p.set(k, v);
    else p.delete(k);
  }
  const text = p.toString();
  window.location.replace('#' + r.path + (text ? '?' + text : ''));
}
