import { EventEmitter, once } from 'node:events'
import { isIP } from 'node:net'
import { type LeaseNetwork, networkOfLease } from '@berth/core/environments/lease-network.ts'
import { type HostQuestion, isHostAllowedByRule } from '@berth/core/sessions/interactions/host-question.ts'
import { destinationOf, findAllowedBy } from '@berth/core/sessions/interactions/host-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { sessionRedactor } from '@berth/core/sessions/log/session-redactor.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { EgressDecision, EgressTarget, SandboxEgress } from '@berth/sandboxes/driver.ts'
import { BriefAnswers } from './brief-answers.ts'
import { type Claim, ClaimLost } from './claim.ts'
import { EgressWriter, type WriterTimes } from './egress-writer.ts'
import { isRunOnLease } from './hold-sql.ts'
import { type HostRefusal, refusalText } from './host-refusals.ts'
import { type Answer, type AskingContext, HostWait } from './host-wait.ts'
import { PendingHosts } from './pending-hosts.ts'

/** Longest wait of a connection for people; the approval outlives it. */
const MOST_WAIT_MS = 120_000
/** An agent outlives its worker, and may connect before the next one has taken its Run over. */
const ARRIVAL_MS = 15_000

/** Times that tests shorten. */
export interface NetworkTimes extends WriterTimes {
  readonly waitMs?: number
  readonly arrivalMs?: number
}

interface AtWork {
  readonly claim: Claim
  /** Whether there are people who look after the work. */
  readonly asksPeople: boolean
  /** An environment is being applied: nothing is asked in the Run that waits for it. */
  readonly isSetup: boolean
}

/** A sandbox whose proxy this process serves, or on which it has a claim. */
interface Sandbox {
  readonly writer: EgressWriter
  readonly pending: PendingHosts
  readonly brief: BriefAnswers
  /** Connections that are being decided about, also while they wait for a claim: the sandbox stays known until then. */
  deciding: number
  network: Promise<LeaseNetwork> | null
  atWork: AtWork | null
}

type NetworkPart = Required<Pick<SandboxEgress, 'network' | 'observe' | 'masked'>>

/**
 * Decides for the sandboxes of this worker which hosts their environments let them reach, and has written down what they
 * reached. The operator's policy has judged before, so an environment only narrows it. A host that the environment asks about
 * is put to people in the Run at work; without one, and in a Run without people, it is refused at once.
 */
export class NetworkAccess implements Disposable {
  readonly #context: AskingContext
  readonly #times: NetworkTimes
  readonly #sandboxes = new Map<string, Sandbox>()
  /** Hears the lease id of each claim that gets to work. */
  readonly #arrivals = new EventEmitter().setMaxListeners(0)

  constructor(context: AskingContext, times: NetworkTimes = {}) {
    this.#context = context
    this.#times = times
  }

  /** Lets the sandbox of a lease ask, and be written down, under a claim that is at work on it, until the result is disposed of. */
  open(
    claim: Claim,
    leaseId: string,
    { asksPeople, isSetup = false }: { readonly asksPeople: boolean; readonly isSetup?: boolean },
  ): AsyncDisposable {
    const sandbox = this.#sandboxOf(leaseId, claim)
    const atWork = { claim, asksPeople, isSetup }
    sandbox.atWork = atWork
    sandbox.writer.claim = claim
    sandbox.brief.clear()
    this.#arrivals.emit(leaseId)
    return {
      [Symbol.asyncDispose]: async () => {
        await sandbox.writer.flush('end')
        // A worker may adopt its own Run after the process was paused; the newer claim then stays.
        if (sandbox.atWork !== atWork) return
        sandbox.atWork = null
        sandbox.writer.claim = null
        sandbox.pending.end(new ClaimLost())
        this.#forgetIdle(leaseId, sandbox)
      },
    }
  }

  /** Writes down at once what a sandbox has reached, before its Run ends. It never throws. */
  async flush(leaseId: string): Promise<void> {
    await this.#sandboxes.get(leaseId)?.writer.flush('end')
  }

  /** Returns the parts of a sandbox's egress that decide, observe and mask, for as long as its proxy is served. */
  route(lease: LeaseRow): NetworkPart {
    const sandbox = () => this.#sandboxOf(lease.id, keyOf(lease))
    return {
      network: {
        decide: async (target, signal) => {
          const known = sandbox()
          known.deciding += 1
          try {
            return await this.#decide(lease, known, target, signal)
          } finally {
            known.deciding -= 1
            known.writer.touch()
          }
        },
      },
      observe: {
        reached: target => sandbox().writer.reached(target),
        refused: ({ code, reason, ...target }) => sandbox().writer.refused(target, { code, reason }),
        bytes: moved => sandbox().writer.bytes(moved),
        used: use => sandbox().writer.used(use),
      },
      masked: async text => (await sessionRedactor(this.#context.db, keyOf(lease))).anyCase(text),
    }
  }

  [Symbol.dispose](): void {
    for (const { writer, pending } of this.#sandboxes.values()) {
      writer.stop()
      pending.end(new ClaimLost())
    }
    this.#sandboxes.clear()
  }

  async #decide(
    lease: LeaseRow,
    sandbox: Sandbox,
    target: EgressTarget & { readonly by?: string },
    signal: AbortSignal,
  ): Promise<EgressDecision> {
    const { environment, mode, hosts, never } = await this.#networkOf(lease, sandbox)
    const host = nameOf(target.host)
    const isAmong = (patterns: readonly string[]) => patterns.some(pattern => fitsHost(host, pattern))
    const { id: environmentId, name: environmentName } = environment ?? { id: '', name: '' }
    const refuse = (code: HostRefusal): EgressDecision => ({
      ...{ allow: false, code },
      reason: refusalText(code, target, environmentName),
    })
    if (isAmong(never)) return refuse('never_host')
    // A closed name has addresses, and nothing here knows which.
    if (never.length > 0 && isAddress(host)) return refuse('never_host')
    if (mode === 'open' || isAmong(hosts)) return allowed
    if (mode === 'listed') return refuse('not_listed')
    const { port, by: program } = target
    const of = { ...keyOf(lease), leaseId: lease.id, runtime: lease.runtime, environmentId, environmentName }
    try {
      const answer = await this.#ask(sandbox, { ...of, host, port, program }, signal)
      if (answer.kind === 'allowed') return allowed
      return refuse(answer.kind === 'refused' ? answer.reason : refusals[answer.kind])
    } catch (error) {
      if (signal.aborted) throw error
      if (!(error instanceof ClaimLost || error instanceof DatabaseUnavailable)) {
        this.#context.log.warn({ err: error, leaseId: lease.id }, 'nobody could be asked about a host')
      }
      return refuse('undecided')
    }
  }

  async #ask(sandbox: Sandbox, question: Omit<HostQuestion, 'runId'>, signal: AbortSignal): Promise<Answer> {
    const known = sandbox.atWork === null ? sandbox.brief.find(destinationOf(question)) : undefined
    if (known !== undefined) return known
    const atWork = sandbox.atWork ?? (await this.#arrival(question.leaseId, sandbox, signal))
    const { approvalRules, db, limits } = this.#context
    const runId = atWork === null || atWork.isSetup ? null : atWork.claim.runId
    if (atWork === null || runId === null) {
      const isAllowed = isHostAllowedByRule(approvalRules, question) || (await findAllowedBy(db, question)) !== null
      if (isAllowed) return { kind: 'allowed', unused: null }
      sandbox.brief.keep(destinationOf(question), { kind: 'nobody' })
      return { kind: 'nobody' }
    }
    const { claim, asksPeople } = atWork
    const wait = new HostWait(
      this.#context,
      { ...claim, runId },
      {
        ...{ question: { ...question, runId }, asksPeople, brief: sandbox.brief },
      },
    )
    const patience = AbortSignal.timeout(Math.min(limits.approvalMs, this.#times.waitMs ?? MOST_WAIT_MS))
    try {
      const until = AbortSignal.any([signal, patience])
      return await sandbox.pending.answer(destinationOf(question), until, shared => wait.answer(shared))
    } catch (error) {
      if (patience.aborted && !signal.aborted) return { kind: 'ending' }
      throw error
    }
  }

  /** Waits for this worker's claim of a Run that is under way, after another worker died. */
  async #arrival(leaseId: string, sandbox: Sandbox, signal: AbortSignal): Promise<AtWork | null> {
    if (!(await isRunOnLease(this.#context.db, leaseId))) return sandbox.atWork
    if (sandbox.atWork === null) {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(this.#times.arrivalMs ?? ARRIVAL_MS)])
      await once(this.#arrivals, leaseId, { signal: patience }).catch(() => undefined)
    }
    return sandbox.atWork
  }

  #sandboxOf(leaseId: string, { organizationId, sessionId }: SessionKey): Sandbox {
    const known = this.#sandboxes.get(leaseId)
    if (known !== undefined) return known
    const made: Sandbox = {
      writer: new EgressWriter(
        this.#context,
        { organizationId, sessionId },
        () => this.#forgetIdle(leaseId, made),
        this.#times,
      ),
      pending: new PendingHosts(),
      brief: new BriefAnswers(() => this.#context.clock.now().getTime()),
      deciding: 0,
      network: null,
      atWork: null,
    }
    this.#sandboxes.set(leaseId, made)
    return made
  }

  /** Forgets a sandbox of which nothing is pending; its next connection makes it known again. */
  #forgetIdle(leaseId: string, sandbox: Sandbox): void {
    if (sandbox.atWork !== null || sandbox.deciding > 0 || sandbox.writer.isPending) return
    if (this.#sandboxes.get(leaseId) === sandbox) this.#sandboxes.delete(leaseId)
  }

  /** A lease keeps its network for its whole life. */
  #networkOf(lease: LeaseRow, sandbox: Sandbox): Promise<LeaseNetwork> {
    sandbox.network ??= networkOfLease(this.#context.db, lease).catch((error: unknown) => {
      sandbox.network = null
      throw error
    })
    return sandbox.network
  }
}

const allowed: EgressDecision = { allow: true }

const refusals = {
  nobody: 'nobody_to_ask',
  crowded: 'too_many_asked',
  ending: 'undecided',
  secret: 'secret_not_for_host',
} as const

/** Names end without a dot, as environments write them. */
const nameOf = (host: string): string => host.replace(/\.$/, '')

/** An IPv6 address stands in brackets, as in a URL. */
const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

const keyOf = (lease: LeaseRow): SessionKey => ({
  organizationId: lease.organization_id,
  sessionId: lease.session_id,
})
