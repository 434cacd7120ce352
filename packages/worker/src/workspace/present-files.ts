import { Conversation } from '@berth/core/checkpoints/conversation.ts'
import { presentedSoFar } from '@berth/core/sessions/artifacts/artifact-sql.ts'
import { keepArtifact, type NewArtifact, omitted } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import {
  mediaTypeOf,
  presentedLimits,
  presentedName,
  presentedOmission,
} from '@berth/core/sessions/artifacts/presented-file.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { ownCredentials, type Redactor } from '@berth/platform/kit/redactor.ts'
import { type Blobs, BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import {
  frameTypes,
  type OutboxReady,
  outboxName,
  type PresentedEntry,
  type PresentedLimits,
} from '@berth/supervisor/tree'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Bound of reading an outbox, because the agent may put anything there. */
const PATIENCE_MS = 60_000
/** Number of omitted files that the log names one by one. */
const MAX_REPORTED = 24

/** A presented file or its omission, in the order of presenting. */
type Found =
  | { readonly kind: 'file'; readonly file: Omit<NewArtifact, 'runId'> }
  | { readonly kind: 'omission'; readonly data: Parameters<typeof omitted>[1] }

/** Files that an agent has presented: the blob store has their bytes, and no row names them yet. */
export interface PresentedFiles extends AsyncDisposable {
  readonly found: readonly Found[]
  /** Set once the rows are written. */
  recorded: boolean
  /** Call after the commit: removes the recorded files from the sandbox, so that no later Run presents them again. */
  settle(): Promise<void>
}

/**
 * Reads the files that a Run's agent has presented (`berth-present`), before the transaction that ends the Run. The
 * outbox lies in the agent's home, so a program with the agent's own uid reads it, and every bound is checked here
 * again.
 *
 * After a worker that dies before the commit, the next one finds the same files. A worker that dies between the commit
 * and `settle` leaves them under their batch's name. That name holds the Run and the number of files presented before,
 * so no later reading takes them for its own.
 *
 * @returns null if there are none
 * @throws BlobsUnavailable, DatabaseUnavailable, or why the program cannot be started
 */
export async function collectPresented(
  context: ExecutionContext,
  claim: RunClaim,
  leaseId: string,
): Promise<PresentedFiles | null> {
  const already = await presentedSoFar(context.db, claim, claim.runId)
  const batch = `${claim.runId}.${already.count}`
  if (!(await holdsAny(context, leaseId, batch).catch(unlessGone))) return null
  const redactor = await sessionRedactor(context.db, claim)
  const conversation = await start(context, leaseId)
  try {
    return await read(conversation, batch, presentedLimits(already), context.blobs, redactor)
  } catch (error) {
    if (error instanceof BlobsUnavailable) throw error
    context.log.warn({ err: error, runId: claim.runId }, 'presented files could not be read')
    const data = { kind: 'presented_file', name: 'presented files', sizeBytes: 0, reason: 'they could not be read' }
    return { found: [{ kind: 'omission', data }], recorded: false, settle: nothing, [Symbol.asyncDispose]: nothing }
  }
}

/** Keeps presented files as Artifacts of the Run and appends their Events, in a transaction under its fence. */
export async function keepPresented(
  tx: Queryable,
  claim: RunClaim,
  presented: PresentedFiles | null,
  now: Date,
): Promise<void> {
  const drafts: EventDraft[] = []
  for (const each of presented?.found ?? []) {
    if (each.kind === 'omission') {
      drafts.push(omitted(claim.runId, each.data))
      continue
    }
    const { draft } = await keepArtifact(tx, claim, { runId: claim.runId, ...each.file }, now)
    drafts.push(draft)
  }
  if (drafts.length > 0) await appendEvents(tx, claim, drafts, now)
  if (presented !== null) presented.recorded = true
}

/**
 * Keeps a Run's presented files before it waits for people, who may have to look at them.
 *
 * @throws ClaimLost
 */
export async function presentBeforeWaiting(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<void> {
  await using presented = await collectPresented(context, claim, leaseId)
  if (presented === null) return
  await underFence(context, claim, async (tx, task) => {
    if (task === 'run') await keepPresented(tx, claim, presented, context.clock.now())
  })
  await presented.settle()
}

/** Empties the outbox when an attempt begins: its files were presented to an attempt that is over. */
export async function discardPresented(context: ExecutionContext, claim: RunClaim, leaseId: string): Promise<void> {
  if (!(await holdsAny(context, leaseId, `${claim.runId}.0`))) return
  const conversation = await start(context, leaseId)
  try {
    const limits = { count: 0, eachBytes: 0, totalBytes: 0 }
    await using left = await read(conversation, 'left', limits, context.blobs, ownCredentials)
    left.recorded = true
    await left.settle()
  } catch (error) {
    context.log.warn({ err: error, runId: claim.runId }, 'an outbox could not be emptied')
  }
}

const nothing = async () => {}

function unlessGone(error: unknown): false {
  if (error instanceof SandboxGoneError) return false
  throw error
}

/**
 * Looks for an outbox from outside the sandbox, without following links. Most Runs present nothing, and start no
 * program.
 */
function holdsAny({ driver }: ExecutionContext, leaseId: string, batch: string): Promise<boolean> {
  return driver.hasDirectory(leaseId, 'home', [outboxName, `${outboxName}.${batch}`])
}

/** Starts the program. That it cannot be started says nothing about the files, and so fails the caller. */
function start({ driver }: ExecutionContext, leaseId: string): Promise<Conversation> {
  const signal = AbortSignal.timeout(PATIENCE_MS)
  return Conversation.start(treeOf(driver, leaseId, 'home'), 'write', { signal })
}

async function read(
  conversation: Conversation,
  batch: string,
  limits: PresentedLimits,
  blobs: Blobs,
  redactor: Redactor,
): Promise<PresentedFiles> {
  try {
    conversation.order({ kind: 'outbox', batch, limits })
    const found = await takeAll(conversation, limits, blobs, redactor)
    const presented = {
      found,
      recorded: false,
      async settle() {
        if (!presented.recorded) return
        await conversation.send(frameTypes.finish)
        // A failed removal is harmless: the batch's name keeps recorded files from every other Run.
        await conversation.next().catch(() => undefined)
      },
      [Symbol.asyncDispose]: () => conversation[Symbol.asyncDispose](),
    }
    return presented
  } catch (error) {
    await conversation[Symbol.asyncDispose]()
    throw error
  }
}

async function takeAll(
  conversation: Conversation,
  limits: PresentedLimits,
  blobs: Blobs,
  redactor: Redactor,
): Promise<Found[]> {
  const found: Found[] = []
  const left = { count: limits.count, totalBytes: limits.totalBytes }
  const unreported = { files: 0, bytes: 0 }
  for (;;) {
    const { type, payload } = await conversation.next()
    if (type === frameTypes.ready) {
      const { more } = JSON.parse(payload.toString()) as OutboxReady
      if (more || unreported.files > 0) {
        const name = more ? 'more files' : `${unreported.files} more files`
        found.push({ kind: 'omission', data: presentedOmission({ name, sizeBytes: unreported.bytes }, 'count') })
      }
      return found
    }
    if (type !== frameTypes.presented) throw new Error(`the program at the outbox sent a frame of type ${type}`)
    const entry = JSON.parse(payload.toString()) as PresentedEntry
    const name = redactor.text(presentedName(entry.name))
    if (entry.over === undefined) {
      left.count -= 1
      const file = await take(conversation, name, Math.min(limits.eachBytes, left.totalBytes), blobs)
      left.totalBytes -= file.sizeBytes
      if (left.count < 0) throw new Error('the program at the outbox presents too many files')
      found.push({ kind: 'file', file })
    } else if (found.filter(({ kind }) => kind === 'omission').length < MAX_REPORTED) {
      found.push({ kind: 'omission', data: presentedOmission({ name, sizeBytes: entry.sizeBytes }, entry.over) })
    } else {
      unreported.files += 1
      unreported.bytes += entry.sizeBytes
    }
  }
}

async function take(
  conversation: Conversation,
  name: string,
  maxBytes: number,
  blobs: Blobs,
): Promise<Omit<NewArtifact, 'runId'>> {
  const { sha256, sizeBytes } = await blobs.put(contentOf(conversation, maxBytes))
  return { kind: 'presented_file', name, mediaType: mediaTypeOf(name), sizeBytes, sha256 }
}

async function* contentOf(conversation: Conversation, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for (;;) {
    const { type, payload } = await conversation.next()
    if (type !== frameTypes.content) throw new Error(`the program at the outbox sent a frame of type ${type}`)
    if (payload.length === 0) return
    bytes += payload.length
    if (bytes > maxBytes) throw new Error('the program at the outbox presents too much')
    yield payload
  }
}
