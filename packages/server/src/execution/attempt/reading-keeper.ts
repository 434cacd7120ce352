import type { LeaseRow } from '../../sessions/leases/lease-sql.ts'
import { topics } from '../../storage/postgres/wakeups.ts'
import type { AgentFacts, Reading } from '../agent/agent-conversation.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import type { Spent } from '../claim/spent-events.ts'
import type { SupervisorConnection } from '../supervisor/connection.ts'
import { presentBeforeWaiting } from '../workspace/present-files.ts'
import { recordReading } from './record-reading.ts'
import { tellTools } from './tell-tools.ts'

/** Text chunks may wait in the journal for this many bytes before an offset is committed without an event. */
const COMMIT_BYTES = 256 * 1024

/** Commits the readings of an attempt, then acknowledges them, then notifies readers of the log. */
export class ReadingKeeper {
  readonly #context: ExecutionContext
  readonly #claim: RunClaim
  readonly #leaseId: string
  readonly #connection: SupervisorConnection
  #offset: number
  #facts: AgentFacts

  constructor(
    context: ExecutionContext,
    claim: RunClaim,
    lease: LeaseRow,
    connection: SupervisorConnection,
    facts: AgentFacts,
  ) {
    this.#context = context
    this.#claim = claim
    this.#leaseId = lease.id
    this.#connection = connection
    this.#offset = lease.journal_offset
    this.#facts = facts
  }

  /**
   * Commits a reading if it has content or has grown long.
   *
   * @returns the Events it appended; null if the reading waits
   * @throws ClaimLost, RunIsOver
   */
  async keep(reading: Reading): Promise<Spent | null> {
    const { drafts, asked, withdrawn, settled, facts, offset, replayFrom } = reading
    const says = [drafts, asked, withdrawn, settled].some(part => part.length > 0) || facts !== this.#facts
    if (!says && offset - this.#offset < COMMIT_BYTES) return null
    if (asked.some(({ ask, declined }) => ask.kind !== 'approval' && declined !== true)) {
      await presentBeforeWaiting(this.#context, this.#claim, this.#leaseId)
    }
    const spent = await recordReading(this.#context, this.#claim, this.#leaseId, reading)
    tellTools(this.#claim, drafts)
    this.#offset = offset
    this.#facts = facts
    this.#connection.ack(offset, replayFrom)
    if (drafts.length + asked.length + withdrawn.length > 0) {
      this.#context.wakeups.publish(topics.session(this.#claim.organizationId, this.#claim.sessionId))
    }
    return spent
  }
}
