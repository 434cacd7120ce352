import { type Event, followSession } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { plainLine } from '../plain-line.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { noticeOf, paceOf } from './interruption-notice.ts'

export interface EventsOptions {
  readonly after: number
  readonly follow?: boolean
  readonly json?: boolean
}

/** Prints a Session's log; with `follow`, also every Event to come, until the process is interrupted. */
export async function events(sessionId: string, options: EventsOptions, io: CommandIo): Promise<ExitCode> {
  const format = options.json ? jsonLine : plainLine
  const log = options.follow ? followLog(sessionId, options.after, io) : readLog(sessionId, options.after, io)
  for await (const event of log) await io.stdout.line(format(event))
  return exitCode.completed
}

async function* readLog(sessionId: string, after: number, { client }: CommandIo): AsyncGenerator<Event> {
  for (let cursor = after; ; ) {
    const page = await client.call('listEvents', { sessionId, query: { after: cursor } })
    yield* page.events
    const last = page.events.at(-1)
    if (last === undefined || last.sequence >= page.lastSequence) return
    cursor = last.sequence
  }
}

/** Reads the Session first, so that an unknown Session or an absent service is reported at once instead of retried. */
async function* followLog(
  sessionId: string,
  after: number,
  { client, stdout, stderr }: CommandIo,
): AsyncGenerator<Event> {
  await client.call('getSession', { sessionId })
  yield* followSession({
    client,
    sessionId,
    after,
    ...paceOf(stdout),
    onInterruption: interruption => {
      const notice = noticeOf(interruption)
      if (notice !== null) stderr.line(`berth: ${printableLine(notice)}`).catch(() => {})
    },
  })
}
