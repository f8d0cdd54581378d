// Where Chromium is: CHROMIUM, the system's, or the one that Playwright has installed. Run by itself, before the tests, it has
// Playwright install one if there is none.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';

/** chromiumPath returns the path of Chromium; undefined if there is none. */
export function chromiumPath() {
  return [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', chromium.executablePath()].find((p) => p && existsSync(p));
}

if (import.meta.filename === path.resolve(process.argv[1] ?? '') && !chromiumPath()) {
  console.log('There is no Chromium here: Playwright installs one.');
  const cli = path.join(import.meta.dirname, '..', 'node_modules', 'playwright-core', 'cli.js');
  const { status } = spawnSync(process.execPath, [cli, 'install', 'chromium'], { stdio: 'inherit' });
  if (status !== 0) {
    console.error('Chromium could not be installed. Install it by your system, and set CHROMIUM to its path.');
    process.exit(1);
  }
}
