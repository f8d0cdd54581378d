// The types of the API, made from the server's by LICHEN_REWRITE=1 go test ./internal/console -run TestTypes.

export interface Column {
  default: string;
  name: string;
  nullable: boolean;
  type: string;
}

export interface ColumnStatistics {
  column: string;
  common: string;
  distinct: number;
  histogram: string;
  nulls: number;
  width: number;
}

export interface Credentials {
  password: string;
  username: string;
}

export interface Curve {
  label: string;
  metric: string;
}

export interface Dashboard {
  graphs: Graph[];
  name: string;
  title: string;
}

export interface Dashboards {
  dashboards: Dashboard[];
}

export interface DatabaseInfo {
  bytes: number;
  name: string;
  owner: string;
}

export interface Databases {
  databases: DatabaseInfo[];
}

export interface Diagnostic {
  at: number;
  database: string;
  id: string;
  node: number;
  query: string;
  user: string;
}

export interface Diagnostics {
  diagnostics: Diagnostic[];
}

export interface Error {
  code?: string;
  detail?: string;
  error: string;
  hint?: string;
  position?: number;
}

export interface EventInfo {
  at: number;
  dropped: number;
  kind: string;
  node: number;
  text: string;
  user: string;
}

export interface Events {
  events: EventInfo[];
}

export interface Grant {
  privileges: string[];
  role: string;
}

export interface Graph {
  combine: string;
  curves: Curve[];
  explain: string;
  title: string;
  unit: string;
}

export interface Index {
  bytes: number;
  definition: string;
  fullReads: number;
  lastRead: number;
  name: string;
  primary: boolean;
  reads: number;
  unique: boolean;
}

export interface IndexAdvice {
  kind: string;
  queries: string[];
  reason: string;
  schema: string;
  statement: string;
  table: string;
  time: number;
}

export interface IndexAdviceList {
  advice: IndexAdvice[];
  notices: string[];
}

export interface Job {
  created: number;
  database: string;
  description: string;
  error: string;
  finished: number;
  id: number;
  node: number;
  rows: number;
  status: string;
  type: string;
  user: string;
}

export interface Jobs {
  jobs: Job[];
}

export interface LockWait {
  began: number;
  blockedBy: string[];
  blocking: string[];
  blockingUser: string;
  database: string;
  duration: number;
  granted: boolean;
  index: string;
  key: string;
  node: number;
  queries: string[];
  schema: string;
  table: string;
  txn: string;
  user: string;
}

export interface LockWaits {
  notices: string[];
  waits: LockWait[];
}

export interface LoginOptions {
  provider: string;
  provider_path: string;
}

export interface MetricSeries {
  name: string;
  node: number;
  values: (number | null)[];
}

export interface Metrics {
  from: number;
  missing: number[];
  series: MetricSeries[];
  step: number;
}

export interface NewSetting {
  value: string | null;
}

export interface NodeDetail {
  configuration: NodeOption[];
  cpu: number;
  httpAddress: string;
  id: number;
  lastContact: number;
  leaders: number;
  locality: string;
  memoryBytes: number;
  p50: number;
  p99: number;
  ranges: number;
  sessions: number;
  sqlAddress: string;
  startedAt: number;
  state: string;
  statements: number;
  stores: Store[];
  values: Record<string, number>;
  version: string;
}

export interface NodeInfo {
  cpu: number;
  httpAddress: string;
  id: number;
  lastContact: number;
  leaders: number;
  locality: string;
  memoryBytes: number;
  p50: number;
  p99: number;
  ranges: number;
  sessions: number;
  sqlAddress: string;
  startedAt: number;
  state: string;
  statements: number;
  stores: Store[];
  version: string;
}

export interface NodeLog {
  text: string;
}

export interface NodeOption {
  name: string;
  value: string;
}

export interface Overview {
  at: number;
  nodes: NodeInfo[];
  problems: Problem[];
  totals: Totals;
}

export interface Problem {
  action: string;
  detail: string;
  page: string;
  severity: string;
  title: string;
}

export interface Query {
  database: string;
  limit: number;
  statement: string;
}

export interface RangeInfo {
  bytes: number;
  end: string;
  id: number;
  leader: number;
  problems: string[];
  rate: number;
  replicas: ReplicaInfo[];
  start: string;
}

export interface Ranges {
  ranges: RangeInfo[];
  total: number;
}

export interface ReplicaInfo {
  leads: boolean;
  locality: string;
  node: number;
  store: number;
  votes: boolean;
}

export interface Result {
  columns: ResultColumn[];
  cut: boolean;
  notices: string[];
  rows: ((string | null)[])[];
  seconds: number;
  tags: string[];
}

export interface ResultColumn {
  name: string;
  type: string;
}

export interface Session {
  cluster: string;
  insecure: boolean;
  node: number;
  superuser: boolean;
  token: string;
  user: string;
  version: string;
  writes: boolean;
}

export interface SessionInfo {
  application: string;
  client: string;
  database: string;
  id: string;
  node: number;
  pid: number;
  query: string;
  queryId: string;
  queryStart: number;
  started: number;
  state: string;
  txnStart: number;
  user: string;
  waiting: boolean;
}

export interface Sessions {
  notices: string[];
  sessions: SessionInfo[];
}

export interface SettingInfo {
  default: string;
  description: string;
  name: string;
  origin: string;
  type: string;
  value: string;
}

export interface Settings {
  settings: SettingInfo[];
}

export interface SlowStatement {
  application: string;
  began: number;
  code: string;
  contention: number;
  database: string;
  duration: number;
  fingerprint: string;
  node: number;
  plan: string;
  query: string;
  retries: number;
  rows: number;
  rowsRead: number;
  rowsWritten: number;
  trace: string;
  user: string;
}

export interface SlowStatements {
  notices: string[];
  statements: SlowStatement[];
  threshold: string;
}

export interface Statement {
  calls: number;
  contention: number;
  database: string;
  errors: number;
  fingerprint: string;
  first: number;
  last: number;
  max: number;
  mean: number;
  nodes: number[];
  p50: number;
  p99: number;
  query: string;
  retries: number;
  rows: number;
  rowsRead: number;
  rowsWritten: number;
  total: number;
  user: string;
}

export interface StatementPlan {
  database: string;
  first: number;
  id: string;
  last: number;
  max: number;
  mean: number;
  nodes: number[];
  samples: number;
  text: string;
  user: string;
}

export interface StatementPlans {
  notices: string[];
  plans: StatementPlan[];
}

export interface Statements {
  notices: string[];
  statements: Statement[];
}

export interface Store {
  capacityBytes: number;
  disk: string;
  id: number;
  leaders: number;
  ownBytes: number;
  ranges: number;
  requestRate: number;
  usedBytes: number;
  writeRate: number;
}

export interface TableDetail {
  analyzed: number;
  bytes: number;
  columnList: Column[];
  columns: number;
  create: string;
  grants: Grant[];
  indexList: Index[];
  indexes: number;
  kind: string;
  name: string;
  owner: string;
  ranges: TableRange[];
  rangesUnknown?: string;
  rows: number;
  schema: string;
  statistics: ColumnStatistics[];
}

export interface TableInfo {
  bytes: number;
  columns: number;
  indexes: number;
  kind: string;
  name: string;
  owner: string;
  rows: number;
  schema: string;
}

export interface TableRange {
  bytes: number;
  end: string;
  id: number;
  leader: number;
  replicas: number[];
  start: string;
}

export interface Tables {
  cut: boolean;
  sized: boolean;
  tables: TableInfo[];
}

export interface Totals {
  capacityBytes: number;
  misplaced: number;
  ownBytes: number;
  p50: number;
  p99: number;
  ranges: number;
  rangesKnown: boolean;
  sessions: number;
  statements: number;
  unavailable: number;
  underReplicated: number;
  usedBytes: number;
}

export interface Transaction {
  count: number;
  database: string;
  fingerprint: string;
  max: number;
  mean: number;
  p50: number;
  p99: number;
  queries: string[];
  retries: number;
  rollbacks: number;
  rows: number;
  statements: number;
  total: number;
  user: string;
}

export interface Transactions {
  notices: string[];
  transactions: Transaction[];
}
