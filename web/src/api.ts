// The API of the node that the page came from. Its types are generated from the server's (types.ts).
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from './types';

const prefix = '/api/v2/';

/** Failure is an error that the server answered, or that it did not answer. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly hint = '',
    readonly detail = '',
    readonly position = 0,
  ) {
    super(message);
  }
}

let token = '';
let onLoggedOut: () => void = () => undefined;

/** whenLoggedOut sets what is called when a request fails for want of a login. */
export function whenLoggedOut(f: () => void): void {
  onLoggedOut = f;
}

/** call calls the API. */
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, credentials: 'same-origin', headers: { 'X-Lichen-Token': token } };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  let response: Response;
  try {
    response = await fetch(prefix + path, init);
  } catch (e) {
    if (e instanceof DOMException && e.name === 'AbortError') throw e;
    throw new Failure('This node does not answer. It may have stopped, or the network is down.', 0);
  }
  const answer: unknown = await response.json().catch(() => ({}));
  if (!response.ok) {
    const e = answer as { error?: string; hint?: string; detail?: string; position?: number };
    if (response.status === 401 && path !== 'login') onLoggedOut();
    throw new Failure(e.error ?? response.statusText, response.status, e.hint, e.detail, e.position);
  }
  return answer as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => call<T>('GET', path, undefined, signal);
export const post = <T>(path: string, body?: unknown): Promise<T> => call<T>('POST', path, body ?? {});

/** remember keeps the token of a login. */
export function remember(s: Session): Session {
  token = s.token;
  return s;
}

/** query returns a path with parameters; those that are empty are left out. */
export function query(path: string, params: Record<string, string | number | undefined>): string {
  const p = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v !== undefined && v !== '') p.set(k, String(v));
  const text = p.toString();
  return text ? path + '?' + text : path;
}

/** Loaded is what has been loaded from a path: the last answer stays while the next is awaited, or fails. */
export interface Loaded<T> {
  data?: T;
  error?: Failure;
  reload: () => void;
}

/** useLoad loads a path, and again every so many seconds while the page is seen. */
export function useLoad<T>(path: string | undefined, seconds = 0): Loaded<T> {
  const [state, setState] = useState<{ path?: string; data?: T; error?: Failure }>({});
  const [round, setRound] = useState(0);
  const timer = useRef<number>();
  useEffect(() => {
    if (path === undefined) return undefined;
    const abort = new AbortController();
    let over = false;
    const load = async (): Promise<void> => {
      if (!document.hidden) {
        try {
          const data = await get<T>(path, abort.signal);
          if (!over) setState({ path, data });
        } catch (e) {
          if (!over && e instanceof Failure) setState((s) => ({ path, data: s.path === path ? s.data : undefined, error: e }));
        }
      }
      if (!over && seconds > 0) timer.current = window.setTimeout(() => void load(), seconds * 1000);
    };
    void load();
    return () => {
      over = true;
      abort.abort();
      window.clearTimeout(timer.current);
    };
  }, [path, seconds, round]);
  const current = state.path === path ? state : {};
  return { ...current, reload: () => setRound((n) => n + 1) };
}

/** useKept is useLoad that goes on showing the last answer while the next path is loaded. */
export function useKept<T>(path: string): Loaded<T> {
  const loaded = useLoad<T>(path);
  const [last, setLast] = useState<T>();
  useEffect(() => {
    if (loaded.data) setLast(loaded.data);
  }, [loaded.data]);
  const data = loaded.data ?? last;
  return data ? { ...loaded, data } : loaded;
}
