// The frame of the console: login, menu, and the page that the address names.
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, Failure, get, post, remember, whenLoggedOut } from './api';
import { Activity } from './pages/activity';
import { DatabasesPage } from './pages/databases';
import { EventsPage } from './pages/events';
import { JobsPage } from './pages/jobs';
import { MetricsPage } from './pages/metrics';
import { NodesPage } from './pages/nodes';
import { OverviewPage } from './pages/overview';
import { RangesPage } from './pages/ranges';
import { SettingsPage } from './pages/settings';
import { ShellPage } from './pages/shell';
import type { Route } from './router';
import { useRoute } from './router';
import { useTheme } from './theme';
import type { LoginOptions, Session } from './types';
import { ErrorBox } from './ui';

export interface PageProps {
  route: Route;
  session: Session;
  theme: string;
}

const menu: readonly (readonly [string, string, ComponentType<PageProps>])[] = [
  ['', 'Overview', OverviewPage],
  ['metrics', 'Metrics', MetricsPage],
  ['nodes', 'Nodes', NodesPage],
  ['databases', 'Databases', DatabasesPage],
  ['ranges', 'Ranges', RangesPage],
  ['activity', 'SQL activity', Activity],
  ['jobs', 'Jobs', JobsPage],
  ['events', 'Events', EventsPage],
  ['settings', 'Settings', SettingsPage],
  ['sql', 'SQL shell', ShellPage],
];

export function App(): JSX.Element {
  const [session, setSession] = useState<Session | null>();
  const [error, setError] = useState<Failure>();
  const [theme, flip] = useTheme();
  const load = (): void => {
    get<Session>('session').then(
      (s) => {
        setSession(remember(s));
        setError(undefined);
      },
      (e: unknown) => {
        if (e instanceof Failure && e.status !== 401) {
          setError(e);
          window.setTimeout(load, 2000);
        }
      },
    );
  };
  useEffect(() => {
    whenLoggedOut(() => setSession(null));
    load();
  }, []);
  if (session === null) return <Login onLogin={(s) => setSession(remember(s))} />;
  if (!session)
    return (
      <main>
        <ErrorBox error={error} />
      </main>
    );
  return <Frame session={session} theme={theme} flip={flip} onLogout={() => setSession(null)} />;
}

function Frame(p: { session: Session; theme: string; flip: () => void; onLogout: () => void }): JSX.Element {
  const route = useRoute();
  const [closed, setClosed] = useState(true);
  useEffect(() => setClosed(true), [route.path]);
  const at = route.parts[0] ?? '';
  const Shown = menu.find(([name]) => name === at)?.[2];
  const logout = async (): Promise<void> => {
    await call('POST', 'logout', {}).catch(() => undefined);
    p.onLogout();
  };
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus(); }}>
        To the contents
      </a>
      <header class={'side ' + (closed ? 'closed' : '')}>
        <div class="top">
          <a class="brand" href="#/">
            <img src="/assets/icon.svg" alt="" />
            Lichen
          </a>
          <button type="button" class="menu" aria-expanded={!closed} aria-controls="menu" onClick={() => setClosed(!closed)}>
            Menu
          </button>
        </div>
        <nav id="menu" aria-label="Pages">
          {menu.map(([name, title]) => (
            <a key={name} href={'#/' + name} aria-current={name === at ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="who">
          <div class="muted">
            Node {p.session.node}, version {p.session.version}
          </div>
          {p.session.insecure ? <div class="muted">Insecure: everybody is root</div> : <div>Logged in as {p.session.user}</div>}
          <button type="button" onClick={p.flip}>
            {p.theme === 'dark' ? 'Light colours' : 'Dark colours'}
          </button>
          {!p.session.insecure && (
            <button type="button" onClick={() => void logout()}>
              Log out
            </button>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {Shown ? <Shown key={at} route={route} session={p.session} theme={p.theme} /> : <p>There is no such page.</p>}
      </main>
    </div>
  );
}

function Login(p: { onLogin: (s: Session) => void }): JSX.Element {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const [options, setOptions] = useState<LoginOptions>();
  useEffect(() => {
    get<LoginOptions>('login').then(setOptions, () => undefined); // a password will do
  }, []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      p.onLogin(await post<Session>('login', { username: name, password }));
    } catch (e) {
      if (e instanceof Failure) setError(e);
    }
    setBusy(false);
  };
  return (
    <main class="login">
      <form
        class="panel"
        onSubmit={(e) => {
          e.preventDefault();
          void submit();
        }}
      >
        <div class="brand">
          <img src="/assets/icon.svg" alt="" />
          <h1>Lichen</h1>
        </div>
        <ErrorBox error={error} />
        <label class="field">
          SQL user
          <input autocomplete="username" required value={name} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <label class="field">
          Password
          <input type="password" autocomplete="current-password" required value={password} onInput={(e) => setPassword(e.currentTarget.value)} />
        </label>
        <button class="primary" disabled={busy}>
          Log in
        </button>
        {options?.provider && (
          <a class="button" href={options.provider_path}>
            {options.provider}
          </a>
        )}
        <p class="small muted">
          <code>CREATE ROLE you LOGIN PASSWORD '…' SUPERUSER</code> makes a user who sees everything.
        </p>
      </form>
    </main>
  );
}
