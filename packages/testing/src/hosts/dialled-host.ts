import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { type CallHandlers, type ServedLine, serveLine } from '@berth/sandboxes/line/serve-line.ts'
import { dialLine } from '@berth/sandboxes/line/upgrade.ts'

/** A token of a host, as an operator makes it. */
export interface MadeToken {
  readonly id: string
  readonly token: string
}

/** Makes the row of a host that has not dialled yet. */
export async function makeToken(
  db: Pick<Database, 'query'>,
  columns: {
    readonly organizationId?: string
    readonly pool?: string
    readonly capacity?: number
    readonly labels?: Readonly<Record<string, string>>
  } = {},
): Promise<MadeToken> {
  const [id, token] = [randomUUID(), `host-${randomBytes(24).toString('hex')}`]
  await db.query({
    text: `
      insert into hosts (id, organization_id, pool, admitted_capacity, admitted_labels, runtimes, seen_at, token_sha256, created_at)
      values ($1, $2, $3, $4, $5, '{}', now() - interval '1 day', $6, now())`,
    values: [
      id,
      columns.organizationId ?? null,
      columns.pool ?? 'default',
      columns.capacity ?? null,
      JSON.stringify(columns.labels ?? {}),
      createHash('sha256').update(token).digest(),
    ],
  })
  return { id, token }
}

/** The end of a line at a machine that holds nothing, and says what a test wants it to say. */
export interface DialledHost {
  readonly line: ServedLine
  readonly epoch: number
  /** The calls that it was asked to make, by name. */
  readonly calls: readonly string[]
}

/**
 * Dials as a host does, and answers what every host is asked.
 * @throws LineRefused
 */
export async function dialHost(
  port: number,
  token: string,
  {
    capacity = 8,
    pool,
    labels = {},
    handlers = {},
    headers = {},
  }: {
    readonly capacity?: number
    readonly pool?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly handlers?: CallHandlers
    readonly headers?: Readonly<Record<string, string>>
  } = {},
): Promise<DialledHost> {
  const credentials = {
    Authorization: `Bearer ${token}`,
    'Berth-Host-Capacity': String(capacity),
    ...(pool !== undefined && { 'Berth-Host-Pool': pool }),
    'Berth-Host-Labels': encodeURIComponent(JSON.stringify(labels)),
    'Berth-Host-Driver': 'bubblewrap',
    ...headers,
  }
  const dialled = await dialLine(new URL(`http://127.0.0.1:${port}`), credentials, AbortSignal.timeout(30_000))
  const calls: string[] = []
  const all: CallHandlers = {
    facts: async () => ({ boot: randomUUID(), describes: [], runtimes: [] }),
    list: async () => [],
    destroy: async () => null,
    ...handlers,
  }
  const noted = Object.entries(all).map(([name, handle]) => [
    name,
    (call: Parameters<typeof handle>[0]) => {
      calls.push(name)
      return handle(call)
    },
  ])
  const line = serveLine(dialled.socket, Object.fromEntries(noted) as CallHandlers)
  return { line, epoch: Number(dialled.headers['berth-epoch']), calls }
}
