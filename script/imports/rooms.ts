/**
 * The folders of the server, lowest first. A file may import from its own folder and from those named before it; types
 * count. An entry lists folders that share a level: they may import one another. A file that lies in `src` itself is a
 * folder of its own.
 */
export type Rooms = readonly (string | readonly string[])[]

export const rooms: Rooms = [
  'kit',
  'logging',
  'network',
  'storage',
  'settings',
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
  'accounts',
  'environments',
  'webhooks',
  'delivery',
  'sessions',
  'schedules',
  'admin',
  'execution',
  'composition',
  'serve',
  'main',
]

/** The order of the folders inside a folder; `.` stands for the files that lie in it directly. */
export const innerRooms: Readonly<Record<string, Rooms>> = {
  storage: ['.', 'postgres', 'keys', 'blobs', 'embedded'],
  sandboxes: ['.', 'linux', 'egress', 'seccomp', 'confined', 'bubblewrap'],
  http: ['routing', 'request', 'body', 'connection', 'reply', 'guard', 'docs', 'gateway', '.'],
  gateway: ['providers', 'accounting', 'formats', 'translate', '.'],
  sessions: [
    'session',
    'log',
    'streams',
    'artifacts',
    // A Run ends its Interactions, an Interaction resumes its Run, and a lease that ends closes both.
    ['runs', 'interactions', 'leases'],
    'turns',
    'reviews',
    'publications',
    'merges',
    '.',
  ],
  execution: ['supervisor', 'agent', 'claim', 'workspace', 'attempt', 'host', '.'],
}

/** The level of a folder in an order; -1 for a folder that the order does not name. */
export function levelOf(order: Rooms, room: string): number {
  return order.findIndex(entry => (typeof entry === 'string' ? entry === room : entry.includes(room)))
}
