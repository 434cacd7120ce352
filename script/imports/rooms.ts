/**
 * The folders of the server, lowest first. A file may import from its own folder and from earlier ones, types included.
 * An inner list names folders of one level, which may import one another. A file directly in `src` counts as a folder.
 */
export type Rooms = readonly (string | readonly string[])[]

export const rooms: Rooms = [
  'kit',
  'logging',
  'telemetry',
  'network',
  'storage',
  'settings',
  'processes',
  'sealed-logs',
  'line',
  'sandboxes',
  'identity',
  'checkpoints',
  'git',
  'metrics',
  'git-hosts',
  'runtimes',
  'http',
  'context',
  'transcription',
  'gateway',
  'repositories',
  'discovery',
  'housekeeping',
  'releases',
  'accounts',
  'environments',
  'hosts',
  'kubernetes',
  'delivery',
  'webhooks',
  'sessions',
  'cloud',
  'console',
  'mcp',
  'triggers',
  'admin',
  'execution',
  'far-host',
  'doctor',
  'composition',
  'serve',
  'run-service',
  'run-host',
  'run-doctor',
  'run-down',
  'main',
]

/** The order of the folders inside a folder; `.` means the files directly in it. */
export const innerRooms: Readonly<Record<string, Rooms>> = {
  storage: ['.', 'postgres', 'keys', 'blobs', 'embedded'],
  sandboxes: [
    '.',
    'linux',
    'egress',
    'seccomp',
    'confined',
    'packages',
    'remote',
    'leases',
    ['bubblewrap', 'oci', 'pod'],
    'down',
  ],
  http: ['routing', 'request', 'body', 'connection', 'reply', 'guard', 'docs', 'gateway', '.'],
  gateway: ['providers', 'accounting', 'formats', 'translate', '.'],
  sessions: [
    'session',
    'log',
    'previews',
    'streams',
    'artifacts',
    'outputs',
    // A Run closes its Interactions, an Interaction resumes its Run, and the end of a lease closes both.
    ['runs', 'interactions', 'leases'],
    'terminals',
    'turns',
    'reviews',
    'publications',
    'merges',
    'purge',
    '.',
    'trials',
  ],
  execution: ['supervisor', 'agent', 'claim', 'images', 'apply', 'workspace', 'attempt', 'host', '.'],
}

/** Returns the level of a folder in an order; -1 if the order does not name it. */
export function levelOf(order: Rooms, room: string): number {
  return order.findIndex(entry => (typeof entry === 'string' ? entry === room : entry.includes(room)))
}
