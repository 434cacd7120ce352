import type { BerthClient, Session } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import type { Output } from '../output.ts'
import { clip, jsonLine, printableLine } from '../terminal-text.ts'

export interface SessionsOptions {
  readonly limit: number
  readonly archived?: boolean
  readonly json?: boolean
}

const pageMax = 100

/** Lists Sessions, the latest change first. */
export async function sessions(options: SessionsOptions, { client, stdout }: CommandIo): Promise<ExitCode> {
  for await (const session of readSessions(client, options)) {
    await stdout.line(options.json ? jsonLine(session) : sessionLine(session, stdout))
  }
  return exitCode.completed
}

async function* readSessions(client: BerthClient, options: SessionsOptions): AsyncGenerator<Session> {
  const filter = options.archived ? { archived: 'true' as const } : {}
  let cursor: string | null = null
  for (let left = options.limit; left > 0; ) {
    const after: { cursor?: string } = cursor === null ? {} : { cursor }
    const page = await client.sessions.list({ ...filter, ...after, limit: Math.min(left, pageMax) })
    yield* page.sessions
    left -= page.sessions.length
    if (!page.hasMore || page.nextCursor === null) return
    cursor = page.nextCursor
  }
}

function sessionLine(session: Session, stdout: Output): string {
  const phase = session.archivedAt === undefined ? session.phase : 'archived'
  const head = `${session.id}  ${phase.padEnd(12)}  ${session.updatedAt}  `
  const bound = session.environment ? ` [${session.environment.name}]` : ''
  const title = printableLine(session.title + bound)
  return printableLine(head) + (stdout.isTerminal ? clip(title, Math.max(20, stdout.columns - head.length)) : title)
}
