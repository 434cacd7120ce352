import { createHash, randomInt } from 'node:crypto'
import type { BerthClient } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { eventTexts } from './event-texts.ts'
import { judgeNamed, readNamed, type VerifyOptions } from './verify-statement.ts'

/** A digest of a log that was kept elsewhere: by a signed statement, or by whoever audits. */
export interface KeptDigest {
  readonly sequence: number
  /** SHA-256 in hexadecimal. */
  readonly digest: string
}

/** Whether a log is what was appended. */
export interface LogVerdict {
  readonly sessionId: string
  readonly verified: boolean
  /** Sequence of the first Event of the chain; null if the log has none yet. */
  readonly beginsAt: number | null
  /** The newest Event that was looked at. */
  readonly lastSequence: number
  readonly digest: string | null
  /** What is wrong, for people; absent if nothing is. */
  readonly fault?: string
}

export interface VerifyLogOptions extends VerifyOptions {
  /** The Session. */
  readonly log: string
  /** A digest that was kept, as `<sequence>:<sha256>`. */
  readonly digest?: string
}

/**
 * Verifies a log and says in plain lines what that proves.
 * @param named the statement that has its digest, if one is named
 */
export async function verifyLogOf(
  named: string | undefined,
  options: VerifyLogOptions,
  io: CommandIo,
): Promise<ExitCode> {
  if (named !== undefined && options.digest !== undefined) throw new UsageError('name a statement, or give --digest')
  let kept = options.digest === undefined ? null : parseKept(options.digest)
  if (named !== undefined) {
    const verdict = await judgeNamed(await readNamed(named, options), options, io)
    if (!verdict.verified) throw new Error(`the statement does not hold: ${verdict.detail}`)
    const { log, session } = verdict.statement.predicate
    if (session.id !== options.log.toLowerCase()) throw new Error(`the statement is on the session ${session.id}`)
    if (log.digest === undefined) throw new Error('the statement has no digest of the log')
    kept = { sequence: log.last, digest: log.digest.sha256 }
  }
  return printLogVerdict(options.log, kept, options.json === true, io)
}

async function printLogVerdict(
  sessionId: string,
  kept: KeptDigest | null,
  json: boolean,
  { client, stdout }: Pick<CommandIo, 'client' | 'stdout'>,
): Promise<ExitCode> {
  const verdict = await verifyLog(client, sessionId, kept)
  const { beginsAt, lastSequence, digest, fault, verified } = verdict
  if (json) await stdout.line(jsonLine(verdict))
  else if (!verified) await stdout.line(`${stdout.paint('red', 'not verified')}: ${printableLine(fault ?? '')}`)
  else {
    const to = `events ${beginsAt} to ${lastSequence} are what was appended`
    await stdout.line(`${stdout.paint('green', 'verified')}: ${to}; digest ${lastSequence}:${digest}`)
    if (beginsAt !== 1) await stdout.line(`The chain begins with event ${beginsAt}: nothing is known of those before.`)
    await stdout.line(
      kept === null
        ? 'Keep the digest elsewhere, and compare with --digest later: who can write the whole database can make a new chain.'
        : `Up to event ${kept.sequence} the log is what it was when that digest was made.`,
    )
  }
  if (verified) return exitCode.completed
  return beginsAt === null ? exitCode.usage : exitCode.failed
}

/**
 * Parses a digest as this command prints it.
 * @throws UsageError
 */
export function parseKept(text: string): KeptDigest {
  const [, sequence, digest] = /^([1-9]\d{0,14}):([a-f0-9]{64})$/.exec(text) ?? []
  if (sequence === undefined || digest === undefined) {
    throw new UsageError('a digest is given as <sequence>:<sha256>, as `berth verify --log` prints it')
  }
  return { sequence: Number(sequence), digest }
}

/**
 * Reads the whole log, makes its chain anew, and compares that with what the service says of each page's end, and with a
 * digest that was kept. Events that come meanwhile are not looked at.
 * @throws BerthError, BerthConnectionError
 */
export async function verifyLog(client: BerthClient, sessionId: string, kept: KeptDigest | null): Promise<LogVerdict> {
  const { beginsAt, lastSequence, digest } = await client.call('digestEvents', { sessionId })
  const verdict = { sessionId, beginsAt, lastSequence, digest }
  const fault =
    beginsAt === null
      ? 'the log has no chain yet: one begins with its next event'
      : (keptOutside(kept, beginsAt, lastSequence) ??
        (await findFault({ client, sessionId, beginsAt, lastSequence }, kept)))
  return fault === null ? { ...verdict, verified: true } : { ...verdict, verified: false, fault }
}

function keptOutside(kept: KeptDigest | null, beginsAt: number, lastSequence: number): string | null {
  if (kept === null) return null
  if (kept.sequence > lastSequence) return `event ${kept.sequence} is missing: the log ends with ${lastSequence}`
  return kept.sequence < beginsAt ? `the chain begins with event ${beginsAt}, after that of the digest` : null
}

interface Chained {
  readonly client: BerthClient
  readonly sessionId: string
  readonly beginsAt: number
  readonly lastSequence: number
}

async function findFault(log: Chained, kept: KeptDigest | null): Promise<string | null> {
  const { client, sessionId, beginsAt, lastSequence } = log
  // A size of its own: a page that the service holds in memory says nothing of its database.
  const limit = randomInt(51, 101)
  let chain = sha256(`berth log ${sessionId.toLowerCase()} from ${beginsAt}`)
  for (let after = beginsAt - 1; ; ) {
    const page = await client.text('listEvents', { sessionId, query: { after, limit } })
    const texts = eventTexts(page)
    if (after + texts.length > newestOf(page)) return `the log holds an event beyond its newest, ${newestOf(page)}`
    if (after >= lastSequence) return null
    if (texts.length === 0) return `event ${after + 1} is missing`
    const digests: string[] = []
    for (const text of texts.slice(0, lastSequence - after)) {
      const place = after + digests.length + 1
      const sequence = sequenceOf(text)
      if (sequence !== place) return `event ${place} is missing or moved: its place is that of ${sequence}`
      chain = sha256(chain, text)
      const digest = chain.toString('hex')
      if (place === kept?.sequence && digest !== kept.digest) {
        return `an event up to ${place} is not what it was when the digest was made`
      }
      digests.push(digest)
    }
    const broken = await findBreak(log, after, digests)
    if (broken !== null) {
      return `the chain breaks at event ${broken}: it, or one before that was appended or archived with it, was changed`
    }
    after += digests.length
  }
}

/** Returns the first Event of a page whose digest is not that of the service, by halves; null if there is none. */
async function findBreak(
  { client, sessionId }: Chained,
  after: number,
  digests: readonly string[],
): Promise<number | null> {
  const holds = async (count: number) =>
    (await client.call('digestEvents', { sessionId, query: { at: after + count } })).digest === digests[count - 1]
  if (await holds(digests.length)) return null
  let [good, bad] = [0, digests.length]
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    if (await holds(middle)) good = middle
    else bad = middle
  }
  return after + bad
}

const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

const sequenceOf = (text: string): unknown => (JSON.parse(text) as { sequence?: unknown }).sequence

const newestOf = (page: string): number => Number((JSON.parse(page) as { lastSequence?: unknown }).lastSequence)
