/**
 * The folders of a package, lowest first. A file may import from its own folder and from earlier ones, types included.
 * An inner list names folders of one level, which may import one another. A file directly in `src` counts as a folder of
 * its own name, unless the order has `.` for all such files.
 */
export type Rooms = readonly (string | readonly string[])[]

/** The order inside each package of the service. Which packages a package may import stands in its `package.json`. */
export const rooms: Readonly<Record<string, Rooms>> = {
  platform: ['kit', 'logging', 'telemetry', 'network', 'storage', 'settings', 'processes', 'metrics'],
  sandboxes: [
    'line',
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
  core: [
    'sealed-logs',
    'identity',
    'checkpoints',
    'git',
    'git-hosts',
    'runtimes',
    'http',
    'context',
    'accounting',
    'repositories',
    'housekeeping',
    'releases',
    'accounts',
    'environments',
    'hosts',
    'delivery',
    'webhooks',
    'sessions',
  ],
  gateway: ['transcription', 'providers', 'formats', 'translate', '.'],
  worker: ['supervisor', 'agent', 'claim', 'images', 'apply', 'workspace', 'attempt', 'host', '.', 'far-host'],
  server: [
    'discovery',
    'cloud',
    'console',
    'mcp',
    'admin',
    'doctor',
    'composition',
    'serve',
    'run-service',
    'run-host',
    'run-doctor',
    'run-down',
    'main',
  ],
}

/** The order of the folders inside a folder; `.` means the files directly in it. */
export const innerRooms: Readonly<Record<string, Rooms>> = {
  'platform/storage': ['.', 'postgres', 'keys', 'blobs', 'embedded'],
  'core/http': ['routing', 'request', 'body', 'connection', 'reply', 'guard', 'docs', 'gateway', '.'],
  'core/sessions': [
    'session',
    'log',
    'previews',
    'streams',
    'artifacts',
    'outputs',
    // A Run closes its Interactions, an Interaction resumes its Run, and the end of a lease closes both.
    ['runs', 'interactions', 'leases'],
    'egress',
    'terminals',
    'turns',
    'reviews',
    'verifications',
    'statements',
    'follow-ups',
    'publications',
    'bringing',
    'merges',
    'following',
    'purge',
    '.',
    'trials',
  ],
}

/** Returns the level of a folder in an order; -1 if the order does not name it. */
export function levelOf(order: Rooms, room: string): number {
  return order.findIndex(entry => (typeof entry === 'string' ? entry === room : entry.includes(room)))
}
