import { readFixedDocument } from '@berth/core/environments/fix-environment.ts'
import { saveApplied } from '@berth/core/sessions/leases/apply-sql.ts'
import { markLayer } from '@berth/core/sessions/leases/lease-layer-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import { HostFull } from '@berth/platform/storage/host-cache.ts'
import { PackagesFailed } from '@berth/sandboxes/packages/packages-failed.ts'
import { ApplyFailed } from '../apply/apply-failed.ts'
import { beginEarly } from '../apply/begin-early.ts'
import { OutputReporter } from '../apply/output-reporter.ts'
import { watchApply } from '../apply/watch-apply.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Least time between two Events of output. */
const REPORT_MS = 1000

/** How a fresh sandbox stands to the system packages of its environment. */
export type SystemPackages =
  | { readonly state: 'built' | 'used'; readonly directory: string }
  | { readonly state: 'present' }
  | { readonly state: 'unavailable'; readonly reason: string }
  | { readonly state: 'failed' }

/**
 * Returns the layer with the system packages of a lease's environment, on this host and whole, or why its sandbox is
 * made without one. Making a layer ends with the Run: an apply that begins then tells that it was cancelled. The apply
 * begins with it, and tells what it writes.
 *
 * @returns null without an environment, and if the environment names no packages
 * @throws ClaimLost, or the signal's reason
 */
export async function findPackages(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  signal: AbortSignal,
): Promise<SystemPackages | null> {
  const { db, packages: layers } = context
  const { organizationId } = claim
  const { environment_id: environmentId, environment_revision: revision } = lease
  if (environmentId === null || revision === null) return null
  const { name, packages } = await readFixedDocument(db, { organizationId, environmentId }, revision)
  if (packages.length === 0) return null
  if (await isPresent(context, packages)) return { state: 'present' }
  if (layers.fault !== null) return { state: 'unavailable', reason: `this host installs no packages: ${layers.fault}` }
  using watch = watchApply(context, claim, signal)
  const digest = await layers.digestOf(packages)
  // Before the host has it, so that nobody removes it meanwhile.
  await underFence(context, claim, tx => markLayer(tx, lease.id, digest))
  const there = await layers.find(packages)
  if (there !== null) return { state: 'used', directory: there.directory }
  const begun = await beginEarly(context, claim, lease.id, name)
  return await install(context, claim, begun, packages, watch.signal)
}

/**
 * Makes a layer, or waits for one that is being made, and tells what is written meanwhile.
 * @throws ClaimLost, DatabaseUnavailable, or the signal's reason, unless that is an ApplyFailed
 */
async function install(
  context: ExecutionContext,
  claim: Claim,
  lease: LeaseRow,
  names: readonly string[],
  signal: AbortSignal,
): Promise<SystemPackages> {
  const { db, packages: layers } = context
  const output = new OutputReporter(context, claim, lease, await sessionRedactor(db, claim))
  output.begin()
  const failed = new AbortController()
  let pending = Promise.resolve()
  const reportAgain = () => {
    pending = pending.then(() => output.report()).catch(error => failed.abort(error))
  }
  const reporting = setInterval(reportAgain, REPORT_MS)
  // Told only once the installation goes on for this Run, whatever becomes of the Run that began it.
  const onWait = () => {
    output.push(`berth: installing ${names.join(', ')}\n`)
    reportAgain()
  }
  let written = ''
  const onOutput = (text: string) => {
    written += text
    output.push(text)
  }
  const made = await layers
    .provide(names, onOutput, AbortSignal.any([signal, failed.signal]), onWait)
    .catch(error => {
      if (isOutcome(error)) return error
      throw error
    })
    .finally(() => clearInterval(reporting))
  await pending
  if (made instanceof PackagesFailed) {
    const { message } = made
    output.push(message.startsWith(written) ? message.slice(written.length) : message)
  }
  const report = { output: await output.end() }
  await underFence(context, claim, tx => saveApplied(tx, lease.id, report))
  if (made instanceof PackagesFailed) return { state: 'failed' }
  if (made instanceof ApplyFailed) return { state: 'unavailable', reason: 'the Run was cancelled' }
  if (!(made instanceof HostFull)) return { state: made.isNew ? 'built' : 'used', directory: made.directory }
  context.log.warn({ err: made, leaseId: lease.id }, 'this host has no room for system packages')
  return { state: 'unavailable', reason: 'this host has no room for them' }
}

/** Whether an error says how the apply goes on. */
const isOutcome = (error: unknown): error is PackagesFailed | HostFull | ApplyFailed =>
  error instanceof PackagesFailed || error instanceof HostFull || error instanceof ApplyFailed

/** A host without dpkg has no package of its own. */
async function isPresent({ packages: layers }: ExecutionContext, names: readonly string[]): Promise<boolean> {
  return layers.knowsSystem && (await layers.areInstalled(names))
}
