import { type BerthClient, changesLabel, type Session, statusLabel, statusReason } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printTable } from '../table.ts'
import { jsonLine } from '../terminal-text.ts'

export interface SessionsOptions {
  readonly limit: number
  readonly archived?: boolean
  readonly json?: boolean
}

const pageMax = 100

/** Lists Sessions, the latest change first. */
export async function sessions(options: SessionsOptions, { client, stdout }: CommandIo): Promise<ExitCode> {
  const rows: string[][] = []
  for await (const session of readSessions(client, options)) {
    if (options.json) await stdout.line(jsonLine(session))
    else rows.push(rowOf(session))
  }
  if (!options.json) await printTable(['id', 'status', 'changes', 'updated', 'title'], rows, stdout)
  return exitCode.completed
}

async function* readSessions(client: BerthClient, options: SessionsOptions): AsyncGenerator<Session> {
  const filter = options.archived ? { archived: 'true' as const } : {}
  let cursor: string | null = null
  for (let left = options.limit; left > 0; ) {
    const after: { cursor?: string } = cursor === null ? {} : { cursor }
    const page = await client.call('listSessions', { query: { ...filter, ...after, limit: Math.min(left, pageMax) } })
    yield* page.sessions
    left -= page.sessions.length
    if (!page.hasMore || page.nextCursor === null) return
    cursor = page.nextCursor
  }
}

function rowOf(session: Session): string[] {
  const { id, archivedAt, status, changes, updatedAt, title, environment } = session
  const bound = environment ? ` [${environment.name}]` : ''
  const why = statusReason(session)
  const state = `${statusLabel(status)}${why === '' ? '' : `: ${why}`}`
  return [
    id,
    archivedAt === undefined ? state : `${state}, archived`,
    changesLabel(changes) || '-',
    updatedAt,
    title + bound,
  ]
}
