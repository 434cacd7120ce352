import type { CheckResult } from '@berth/contract'
import { fitsGlob } from '@berth/contract/glob'
import { requireDocumentOfLease } from '@berth/core/environments/fix-environment.ts'
import { placeTree } from '@berth/core/git/place-tree.ts'
import { objectsOf } from '@berth/core/repositories/mirrors.ts'
import { keepArtifact } from '@berth/core/sessions/artifacts/keep-artifact.ts'
import { saveApplied } from '@berth/core/sessions/leases/apply-sql.ts'
import { workEndsAt } from '@berth/core/sessions/leases/lease-bound.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { readDocument } from '@berth/core/sessions/reviews/read-review.ts'
import { findReview, type ReviewRow } from '@berth/core/sessions/reviews/review-sql.ts'
import { beginVerification, subjectOf } from '@berth/core/sessions/verifications/begin-verification.ts'
import type { Check, VerificationRow } from '@berth/core/sessions/verifications/verification.ts'
import {
  findVerification,
  findVerificationOfSandbox,
  recordCheck,
} from '@berth/core/sessions/verifications/verification-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { SetupEnd } from '@berth/supervisor/apply'
import { environmentWith } from '../agent/agent-environment.ts'
import { ApplyFailed } from '../apply/apply-failed.ts'
import type { ApplyParts, ApplyStep, FurtherSteps } from '../apply/apply-parts.ts'
import { CheckOutput } from '../apply/check-output.ts'
import { runProgram } from '../apply/run-program.ts'
import { whileFrozen } from '../apply/while-frozen.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import { type ReadySource, readySource } from './session-source.ts'

/** A verification whose sandbox this worker sets up. */
interface Verifying {
  readonly row: VerificationRow
  readonly review: ReviewRow
  /** Returns the paths that the change touches. */
  readonly changed: () => Promise<readonly string[]>
  /** Returns the repository on this host; asks its Git host once for all checks. */
  readonly source: (signal: AbortSignal) => Promise<ReadySource | null>
}

/**
 * Returns the steps by which the sandbox of a verification checks its revision, behind those that set it up, and records
 * that it runs. Each check has two: one brings the files to the revision's tree, and one runs the check. A worker that
 * takes over goes on with the first that is not done, so no file moves under a check that runs already.
 * All of them have the time of setup and of each check once, however many sandboxes are lost meanwhile.
 * @returns null for any other sandbox
 */
export async function beginChecks(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
): Promise<FurtherSteps | null> {
  if (claim.runId !== null) return null
  const { blobs, clock, db, limits } = context
  const row = await findVerificationOfSandbox(db, claim)
  if (row === null || lease.environment_revision === null) return null
  const subject = subjectOf(row)
  const review = await findReview(db, subject, row.revision)
  if (review === null) throw new Error(`no review ${row.revision}`)
  const { checks } = await requireDocumentOfLease(db, lease)
  const by = { id: lease.id, revision: lease.environment_revision }
  const of = { checks, baseTree: review.base_tree }
  const beganAt = await underFence(context, claim, tx => beginVerification(tx, row, by, of, clock.now()), subject)
  context.wakeups.publish(topics.session(subject.organizationId, subject.sessionId))
  let paths: Promise<readonly string[]> | null = null
  const changed = () => (paths ??= readDocument(blobs, review).then(pathsOf))
  let ready: Promise<ReadySource | null> | null = null
  const source = (signal: AbortSignal) => (ready ??= readySource(context, claim, signal))
  const verifying: Verifying = { row, review, changed, source }
  const steps = checks.flatMap((check, index) => [
    treeStep(verifying, check, index),
    checkStep(verifying, check, index),
  ])
  const allMs = checks.reduce((sum, { timeoutSeconds = 0 }) => sum + timeoutSeconds * 1000, limits.setupMs)
  return { steps, endsAt: new Date(beganAt.getTime() + allMs) }
}

const pathsOf = ({ files }: Awaited<ReturnType<typeof readDocument>>): readonly string[] =>
  files.flatMap(({ path, previousPath }) => (previousPath === undefined ? [path] : [path, previousPath]))

async function isSkipped({ changed }: Verifying, { paths }: Check): Promise<boolean> {
  if (paths === undefined) return false
  return !(await changed()).some(path => paths.some(glob => fitsGlob(path, glob)))
}

/**
 * Brings the files of the repository to the revision's tree, as a Publication commits it; the agent's are not read. What an
 * earlier check has left running ends first: it could change the files under this one. What setup has started stays.
 */
function treeStep(verifying: Verifying, check: Check, index: number): ApplyStep {
  return {
    name: `tree/${index}`,
    withoutCredentials: true,
    isDue: () => true,
    async run(parts, signal) {
      const { context, lease } = parts
      if (index === 0) await context.driver.keepOrphans(lease.id)
      if (await isSkipped(verifying, check)) return {}
      if (index > 0) await whileFrozen(parts, signal, () => context.driver.endOrphans(lease.id))
      const { review } = verifying
      const source = await verifying.source(signal)
      if (source === null) throw new Error('a verification has no repository')
      const pack = review.pack_sha256 === null ? null : await context.blobs.get(review.pack_sha256)
      const run: Parameters<typeof placeTree>[0]['run'] = script => context.driver.run(lease.id, script)
      const trees = { before: review.base_tree, after: review.head_tree, pack }
      await placeTree({ run, objects: objectsOf(source.mirror), ...trees }, signal)
      return {}
    },
  }
}

/** Runs one check as a program of its own, which a worker that takes over finds by its name, and records its result. */
function checkStep(verifying: Verifying, check: Check, index: number): ApplyStep {
  const { name, run: script, required = true } = check
  const subject = subjectOf(verifying.row)
  const record = async ({ claim, context }: ApplyParts, result: CheckResult) => {
    await underFence(context, claim, tx => recordCheck(tx, verifying.row, index, result), subject)
    context.wakeups.publish(topics.session(subject.organizationId, subject.sessionId))
  }
  return {
    name: `check/${index}`,
    withoutCredentials: true,
    isDue: () => true,
    async run(parts, signal) {
      const { claim, context, environment, lease, runtime } = parts
      const { blobs, clock, db } = context
      const known = (await findVerification(db, subject, verifying.row.id))?.results[index]
      // Its result was recorded, and the worker died before the step was.
      if (known?.state !== 'waiting' && known?.state !== 'running') return {}
      if (await isSkipped(verifying, check)) {
        await record(parts, { name, required, state: 'skipped' })
        return {}
      }
      const startedAt = known.startedAt ?? clock.now().toISOString()
      if (known.state === 'waiting') await record(parts, { name, required, state: 'running', startedAt })
      const wantedMs = (check.timeoutSeconds ?? 0) * 1000
      const leftMs = workEndsAt(lease).getTime() - clock.now().getTime()
      const timeoutMs = Math.max(1000, Math.min(wantedMs, leftMs))
      const output = new CheckOutput(await sessionRedactor(db, claim), outputTail =>
        record(parts, { name, required, state: 'running', startedAt, outputTail }),
      )
      let end: Pick<SetupEnd, 'exitCode' | 'timedOut'> | null = null
      const { journal, late } = await runProgram(
        { ...parts, output },
        {
          name: `check/${index}`,
          order: { setup: { script, timeoutMs } },
          env: environmentWith(runtime.reach, { ...environment, secrets: namedSecrets(check, environment.secrets) }),
          limitMs: timeoutMs,
          take: message => {
            end = parseEnd(message['end']) ?? end
          },
        },
        signal,
      )
      const { exitCode, timedOut } = end ?? { exitCode: null, timedOut: late }
      // The sandbox had no more time, which says nothing of the change.
      if (timedOut && timeoutMs < wantedMs) throw new ApplyFailed('apply_failed')
      const { whole, tail } = output.end()
      const kept = whole === '' ? null : await blobs.put(Buffer.from(whole))
      const result: CheckResult = {
        name,
        required,
        state: exitCode === 0 && !timedOut ? 'passed' : 'failed',
        exitCode,
        ...(timedOut && { timedOut }),
        startedAt,
        durationMs: Math.max(0, clock.now().getTime() - Date.parse(startedAt)),
        outputTail: tail,
      }
      await underFence(
        context,
        claim,
        async tx => {
          const now = clock.now()
          let artifactId: string | undefined
          if (kept !== null) {
            const about = { kind: 'check_output', name: `${name}.log`, mediaType: 'text/plain' } as const
            const { id, draft } = await keepArtifact(tx, subject, { runId: null, ...about, ...kept }, now)
            await appendEvents(tx, subject, [draft], now)
            artifactId = id
          }
          await recordCheck(tx, verifying.row, index, { ...result, ...(artifactId !== undefined && { artifactId }) })
          await saveApplied(tx, lease.id, { journal })
        },
        subject,
      )
      context.wakeups.publish(topics.session(subject.organizationId, subject.sessionId))
      return {}
    },
  }
}

/**
 * Returns the secrets that a check names. The change may hold any program, so it gets no other.
 * @throws ApplyFailed if the environment has one of them no more, or not yet
 */
function namedSecrets(
  { secrets = [] }: Check,
  all: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (secrets.some(name => all[name] === undefined)) throw new ApplyFailed('secret_unavailable')
  return Object.fromEntries(secrets.map(name => [name, all[name] ?? '']))
}

/** Reads the program's last message, which the check itself may have written. */
function parseEnd(value: unknown): Pick<SetupEnd, 'exitCode' | 'timedOut'> | null {
  if (typeof value !== 'object' || value === null) return null
  const { exitCode, timedOut } = value as Record<string, unknown>
  if (exitCode !== null && !Number.isSafeInteger(exitCode)) return null
  return { exitCode: exitCode as number | null, timedOut: timedOut === true }
}
