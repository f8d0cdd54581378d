// The pages of the console, by the names of their pictures.
export const pages = {
  overview: '#/',
  metrics: '#/metrics/sql?span=15m',
  'metrics-storage': '#/metrics/storage?span=15m&node=each',
  nodes: '#/nodes',
  node: '#/nodes/1',
  databases: '#/databases',
  tables: '#/databases/defaultdb',
  table: '#/databases/defaultdb/public/accounts',
  ranges: '#/ranges',
  statements: '#/activity/statements',
  transactions: '#/activity/transactions',
  slow: '#/activity/slow',
  waits: '#/activity/waits',
  advice: '#/databases/defaultdb/public/visits',
  'metrics-distribution': '#/metrics/distribution?span=15m',
  sessions: '#/activity/sessions',
  jobs: '#/jobs',
  events: '#/events',
  settings: '#/settings',
  shell: '#/sql',
};

/** open opens a page and waits until it shows its data. */
export async function open(page, url, where) {
  await page.goto('about:blank');
  await page.goto(url + '/' + where);
  await page.waitForSelector('main h1');
  await page.waitForLoadState('networkidle');
}

/** watch collects what a page complains of. */
export function watch(page) {
  const found = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') found.push(m.text());
  });
  page.on('pageerror', (e) => found.push(String(e)));
  return found;
}
