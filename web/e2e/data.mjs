// Tables, statements and jobs for the console to show.
import { run } from './cluster.mjs';

/** fill makes tables, and begins a load; it returns what ends that. */
export async function fill(c) {
  await c.sql('CREATE DATABASE shop');
  await c.sql(`CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT NOT NULL, placed TIMESTAMPTZ DEFAULT now(), total DECIMAL(10,2) CHECK (total >= 0))`, 'shop');
  await c.sql(`CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT, balance DECIMAL NOT NULL DEFAULT 0); CREATE INDEX accounts_owner ON accounts (owner);
    INSERT INTO accounts SELECT i, 'owner ' || i % 50, i * 10 FROM generate_series(1, 20000) AS g (i); ANALYZE accounts;`);
  await c.sql(`CREATE ROLE reader LOGIN; GRANT SELECT ON accounts TO reader; ALTER TABLE accounts SPLIT AT VALUES (5000), (10000), (15000);`);
  await c.sql('CREATE INDEX accounts_balance ON accounts (balance)');
  await c.sql(`CREATE TABLE visits (id INT PRIMARY KEY, page TEXT, spent INT); INSERT INTO visits SELECT i, 'page ' || i % 40, i FROM generate_series(1, 5000) AS g (i); ANALYZE visits;`);
  await c.sql(Array.from({ length: 12 }, (_, i) => `SELECT count(*) FROM visits WHERE page = 'page ${i}' AND spent > ${i};`).join(' '));
  // One waits for another, which takes more than a second.
  const slow = c.sql('BEGIN; UPDATE accounts SET balance = balance + 1 WHERE id = 7; SELECT pg_sleep(1.5); COMMIT');
  await new Promise((done) => setTimeout(done, 700));
  await c.sql('UPDATE accounts SET owner = owner WHERE id = 7');
  await slow;
  await run(['workload', 'init', 'ycsb', c.sqlURL(0), '--recordcount=1000']);
  return c.load(0);
}
