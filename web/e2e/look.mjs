// Starts a cluster under load, and keeps it until the standard input ends: to look at the console by hand.
import { Cluster } from './cluster.mjs';
import { fill } from './data.mjs';

const c = await Cluster.start(3);
let stop = () => undefined;
const end = async () => {
  stop();
  await c.stop();
  process.exit(0);
};
process.stdin.resume();
process.stdin.on('end', end);
process.on('SIGTERM', end);
try {
  stop = await fill(c);
  console.log([0, 1, 2].map((i) => c.url(i)).join('\n'));
} catch (e) {
  console.error(e);
  await end();
}
