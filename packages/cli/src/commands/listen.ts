import { randomBytes } from 'node:crypto'
import { type Event, followChanges, signWebhook } from '@berth/client'
import { formatDuration } from '@berth/client/transcript'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { onInterrupt } from '../interrupts.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { readFamilies, typesOf } from '../webhooks/families.ts'
import { type AttemptResult, postDelivery } from '../webhooks/post-delivery.ts'
import { SessionForwarder } from '../webhooks/session-forwarder.ts'
import { noticeOf } from './interruption-notice.ts'

export interface ListenOptions {
  readonly forwardTo: string
  readonly families?: string
  readonly json?: boolean
}

/** Attempts at one Event; the receiver is on the same desk, so they are few and close together. */
const ATTEMPTS = 4
const FIRST_RETRY_MS = 1_000

/**
 * Forwards the Events of all Sessions of the installation to a URL, from now on, signed as the service signs webhooks,
 * until it is interrupted. It registers nothing: it follows the feed of changes and reads the logs.
 */
export async function listen(options: ListenOptions, io: CommandIo): Promise<ExitCode> {
  const { client, stdout, stderr } = io
  const url = URL.parse(options.forwardTo)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError(`${options.forwardTo} is not an http or https URL`)
  }
  const families = readFamilies(options.families)
  const secret = `whsec_${randomBytes(32).toString('base64url')}`
  await stdout.line(options.json ? jsonLine({ secret }) : `secret ${secret}`)
  const leaving = new AbortController()
  using _interrupts = onInterrupt(count => {
    leaving.abort()
    // Attempts under way end within seconds; whoever cannot wait asks twice.
    if (count > 1) process.exit(exitCode.cancelled)
  })
  const types = typesOf(families)
  const forwarder = new SessionForwarder({
    client,
    signal: leaving.signal,
    deliver: async event => {
      if (types.has(event.type)) await forward(event, { url, secret, json: options.json === true }, io, leaving.signal)
    },
  })
  const following = (async () => {
    let begun = false
    const changes = followChanges({
      client,
      signal: leaving.signal,
      onInterruption: interruption => {
        const notice = noticeOf(interruption)
        if (notice !== null) stderr.line(`berth: ${printableLine(notice)}`).catch(() => {})
      },
    })
    for await (const change of changes) {
      if (change.kind === 'session') forwarder.moved(change.sessionId, change.lastEventSequence)
      else {
        // Archived Sessions may still get Events.
        const query = { limit: 100, archived: 'true' } as const
        for await (const session of client.items('listSessions', { query }, { signal: leaving.signal })) {
          if (begun) forwarder.moved(session.id, session.lastEventSequence)
          else forwarder.skipTo(session.id, session.lastEventSequence)
        }
        if (!begun) await stderr.line(`berth: forwarding ${families.join(', ')} to ${printableLine(url.href)}`)
        begun = true
      }
    }
  })()
  try {
    await Promise.race([following, forwarder.failure])
  } finally {
    leaving.abort()
    await following.catch(() => undefined)
    await forwarder.idle()
  }
  return exitCode.completed
}

/** Posts one Event until the receiver takes it or the attempts are spent, and prints a line for each attempt. */
async function forward(
  event: Event,
  to: { readonly url: URL; readonly secret: string; readonly json: boolean },
  { client: { platform }, stdout }: CommandIo,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify(event)
  for (let attempt = 1; ; attempt++) {
    const at = new Date(platform.now())
    const result = await postDelivery(to.url, body, await signWebhook(body, to.secret, at))
    const durationMs = Math.round(platform.now() - at.getTime())
    const taken = 'status' in result && result.status >= 200 && result.status < 300
    const retryMs = taken || attempt === ATTEMPTS ? null : FIRST_RETRY_MS * 2 ** (attempt - 1)
    await stdout.line(to.json ? jsonLine({ ...identityOf(event, at), ...result, durationMs, attempt }) : lineOf())
    if (retryMs === null) return
    await platform.sleep(retryMs, signal).catch(() => undefined)
    if (signal.aborted) return

    function lineOf(): string {
      const { type, sessionId } = identityOf(event, at)
      const next = taken ? '' : retryMs === null ? ', given up' : `, again in ${formatDuration(retryMs)}`
      return printableLine(`${at.toISOString()} ${type} ${sessionId} ${outcomeOf(result)} ${durationMs} ms${next}`)
    }
  }
}

const identityOf = ({ id, type, sequence, subject }: Event, at: Date) => ({
  at: at.toISOString(),
  id,
  type,
  sessionId: subject.sessionId,
  sequence,
})

const outcomeOf = (result: AttemptResult): string => ('status' in result ? String(result.status) : result.error)
