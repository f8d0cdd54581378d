// A cluster of three nodes on free ports of this machine, and a browser to look at it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { chromiumPath } from './chromium.mjs';

const root = path.resolve(import.meta.dirname, '..', '..');
export const lichen = process.env.LICHEN ?? path.join(root, 'bin', 'lichen');

/** freePorts returns ports that nobody listens on. */
async function freePorts(n) {
  const servers = await Promise.all(
    Array.from({ length: n }, async () => {
      const s = net.createServer();
      s.listen(0, '127.0.0.1');
      await once(s, 'listening');
      return s;
    }),
  );
  const ports = servers.map((s) => s.address().port);
  await Promise.all(servers.map((s) => new Promise((done) => s.close(done))));
  return ports;
}

/** run runs a command to its end and returns what it printed. */
export async function run(args, input) {
  const p = spawn(lichen, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  p.stdout.on('data', (d) => (out += d));
  p.stderr.on('data', (d) => (out += d));
  p.stdin.end(input);
  const [code] = await once(p, 'close');
  if (code !== 0) throw new Error(`lichen ${args.join(' ')}: ${out}`);
  return out;
}

/** until waits for a condition. */
export async function until(what, f, timeout = 60_000) {
  const end = Date.now() + timeout;
  for (;;) {
    try {
      const v = await f();
      if (v) return v;
    } catch (e) {
      if (Date.now() > end) throw e;
    }
    if (Date.now() > end) throw new Error('in vain waited for: ' + what);
    await new Promise((done) => setTimeout(done, 200));
  }
}

const places = ['region=north,zone=a', 'region=north,zone=b', 'region=south,zone=c', 'region=south,zone=d'];

export class Cluster {
  nodes = [];

  static async start(n = 3) {
    const c = new Cluster();
    c.dir = await mkdtemp(path.join(tmpdir(), 'lichen-e2e-'));
    c.ports = await freePorts(2 * (n + 1));
    c.join = Array.from({ length: n }, (_, i) => `127.0.0.1:${c.ports[2 * i]}`).join(',');
    for (let i = 0; i < n; i++) c.launch(i);
    await until('a node that waits for its cluster', () => run(['init', '--insecure', `--host=127.0.0.1:${c.ports[0]}`]));
    for (let i = 0; i < n; i++) await c.ready(i);
    return c;
  }

  /** launch starts a node, anew or for the first time. */
  launch(i) {
    const p = spawn(
      lichen,
      [
        'start', '--insecure', `--store=${path.join(this.dir, 'n' + (i + 1))}`, `--listen-addr=127.0.0.1:${this.ports[2 * i]}`,
        `--http-addr=127.0.0.1:${this.ports[2 * i + 1]}`, `--join=${this.join}`, `--locality=${places[i]}`, '--cache=32MiB', '--max-memory=128MiB',
      ],
      { stdio: 'ignore' },
    );
    this.nodes[i] = p;
  }

  ready = (i) => until(`node ${i + 1}`, async () => (await fetch(this.url(i) + '/health?ready=1')).ok);

  url = (i = 0) => `http://127.0.0.1:${this.ports[2 * i + 1]}`;

  sqlURL = (i = 0, database = 'defaultdb') => `postgresql://root@127.0.0.1:${this.ports[2 * i]}/${database}?sslmode=disable`;

  sql = (text, database, i = 0) => run(['sql', '--url', this.sqlURL(i, database), '-e', text]);

  /** load runs a load in the background until stop is called. */
  load(i = 0) {
    const p = spawn(lichen, ['workload', 'run', 'ycsb', this.sqlURL(i), '--workload=B', '--threadcount=2', '--target=60', '--operationcount=0', '--maxexecutiontime=1200'], { stdio: 'ignore' });
    return () => p.kill('SIGINT');
  }

  async kill(i) {
    this.nodes[i].kill('SIGKILL');
    await once(this.nodes[i], 'close');
  }

  async stop() {
    for (const p of this.nodes) p.kill('SIGKILL');
    await Promise.all(this.nodes.map((p) => (p.exitCode === null && p.signalCode === null ? once(p, 'close') : null)));
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Secure is a node with certificates, whose console wants a login. */
export class Secure {
  static async start() {
    const s = new Secure();
    s.dir = await mkdtemp(path.join(tmpdir(), 'lichen-e2e-'));
    s.ports = await freePorts(2);
    const certs = ['--certs-dir=' + path.join(s.dir, 'certs'), '--ca-key=' + path.join(s.dir, 'ca.key')];
    await run(['cert', 'create-ca', ...certs]);
    await run(['cert', 'create-node', 'localhost', '127.0.0.1', ...certs]);
    await run(['cert', 'create-client', 'root', ...certs]);
    s.node = spawn(
      lichen,
      ['start-single-node', certs[0], `--store=${path.join(s.dir, 'n1')}`, `--listen-addr=127.0.0.1:${s.ports[0]}`, `--http-addr=127.0.0.1:${s.ports[1]}`, '--cache=32MiB', '--max-memory=128MiB'],
      { stdio: 'ignore' },
    );
    await until('a secure node', () => s.sql('SELECT 1'));
    return s;
  }

  url = () => `https://127.0.0.1:${this.ports[1]}`;

  sql = (text) => run(['sql', '--certs-dir=' + path.join(this.dir, 'certs'), `--host=127.0.0.1:${this.ports[0]}`, '-e', text]);

  async stop() {
    this.node.kill('SIGKILL');
    if (this.node.exitCode === null && this.node.signalCode === null) await once(this.node, 'close');
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** browser starts a browser, and says where it keeps its profile. */
export async function browser() {
  const profile = await mkdtemp(path.join(tmpdir(), 'lichen-chrome-'));
  const b = await chromium.launch({
    executablePath: chromiumPath(),
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    env: { ...process.env, HOME: profile },
  });
  return {
    b,
    async close() {
      await b.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
