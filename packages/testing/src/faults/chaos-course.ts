import { createHash, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Event, Run, Session, TurnAdmission } from '@berth/contract'
import { mintRuntimeCredential } from '@berth/core/identity/runtime-credentials/runtime-credential.ts'
import { activitiesOf, type EndedRun } from '../runs/ended-run.ts'
import type { Fleet } from './chaos-fleet.ts'
import { presentedBy, type Work } from './chaos-work.ts'
import type { Turnstile } from './turnstile.ts'

/** Gives one Session Turn after Turn. If the Session cannot continue for a valid reason, it makes another. */
export class Course {
  /** Status of each Run that has ended. */
  readonly ended: string[] = []
  /** Files that Runs presented. */
  presented = 0
  restores = 0
  neverSealed = 0
  readonly #fleet: Fleet
  readonly #work: Work
  readonly #turnstile: Turnstile
  readonly #log: (line: string) => void
  /** One credential for each Run, minted while the Run was active. */
  readonly #credentials: string[] = []
  /** Digests of the Session's Events that were read, by sequence. */
  readonly #read = new Map<number, string>()
  #session: Session | null = null
  #storm: AbortSignal | null = null
  /** Turns of the Session whose Runs completed, in order. */
  #completed: string[] = []

  /** @param log hears of each Run that crashed or failed, with its reason */
  constructor(fleet: Fleet, work: Work, turnstile: Turnstile, log: (line: string) => void) {
    this.#log = log
    this.#fleet = fleet
    this.#work = work
    this.#turnstile = turnstile
  }

  async sail(storm: AbortSignal): Promise<void> {
    this.#storm = storm
    while (!storm.aborted) await this.#turnstile.pass(async () => storm.aborted || (await this.#turnAndRest(storm)))
  }

  /** Now and then gives the next Turn soon, while the sandbox is there or parked. */
  async #turnAndRest(storm: AbortSignal): Promise<void> {
    await this.#turn()
    if (randomInt(4) > 0) return
    await sleep(randomInt(10_000), undefined, { signal: storm }).catch(() => undefined)
    if (!storm.aborted) await this.#turn()
  }

  /** Runs one more Turn after the faults have ended, and looks at the whole log again. */
  prove(): Promise<void> {
    return this.#turnstile.pass(() => this.#prove())
  }

  async #prove(): Promise<void> {
    const session = this.#session
    if (session === null) return
    const events = await this.#fleet.api.events(session.id)
    const moved = [...this.#read].filter(([sequence, digest]) => digestOf(events[sequence - 1]) !== digest)
    if (moved.length > 0)
      throw new Error(`events of session ${session.id} are gone or changed: ${moved.map(([at]) => at)}`)
    this.restores += events.filter(event => event.data['name'] === 'restore').length
    const had = this.#completed.length
    const last = await this.#turn()
    const goesOn = last?.session.id === session.id && ['completed', 'cancelled'].includes(last.run.status)
    if (had > 0 && !goesOn)
      throw new Error(`session ${session.id} does not go on in calm weather: ${JSON.stringify(last?.run)}`)
    for (const credential of this.#credentials) {
      const { status } = await this.#fleet.as(credential).get('/v1/models')
      if (status !== 401) throw new Error(`a credential of an ended run of ${session.id} is answered ${status}`)
    }
  }

  async #turn(): Promise<EndedRun | null> {
    const session = this.#session ?? (await this.#begin())
    this.#session = session
    const id = randomUUID()
    const begunAt = performance.now()
    const inStorm = this.#storm?.aborted === false
    const message = this.#work.message(id)
    const answer = await this.#fleet.ask<TurnAdmission>('PUT', `/v1/sessions/${session.id}/turns/${id}`, { message })
    if (answer.status === 409) return this.#refused(session, answer.text)
    if (answer.status !== 202 && answer.status !== 200)
      throw new Error(`a turn answered ${answer.status} ${answer.text}`)
    const { run } = answer.body
    await this.#mint(session, run)
    await this.#work.attend?.(this.#fleet, session, run)
    const ended = await this.#fleet.ended(session, run.id)
    this.ended.push(ended.run.status)
    const { status } = ended.run
    if (status === 'crashed' || status === 'failed') this.#log(`${status} ${JSON.stringify(ended.run)}`)
    this.presented += presentedBy(ended).length
    for (const event of ended.events) this.#read.set(event.sequence, digestOf(event))
    if (ended.run.status === 'failed') {
      // A host without room refuses an agent's writes.
      if (this.#fleet.wasFullSince(begunAt)) return ended
      // An agent gives a request to its model up after fifteen seconds without a service.
      if (inStorm && ended.run.errorCode === 'model_unavailable') return ended
      throw new Error(`a run has failed: ${JSON.stringify([ended.run, activitiesOf(ended)])}`)
    }
    this.#work.check(ended, id, this.#completed)
    if (ended.run.status === 'completed') this.#completed.push(id)
    return ended
  }

  /** Mints a credential as a worker does for its Run; the database may be away. */
  async #mint(session: Session, run: Run): Promise<void> {
    const { rows } = await this.#fleet.db
      .query<{ organization_id: string }>('select organization_id from sessions where id = $1', [session.id])
      .catch(() => ({ rows: [] }))
    const organizationId = rows[0]?.organization_id
    if (organizationId === undefined) return
    const of = { organizationId, sessionId: session.id, runId: run.id }
    const credential = await mintRuntimeCredential(this.#fleet.db, of, new Date()).catch(() => null)
    if (credential !== null) this.#credentials.push(credential)
  }

  async #begin(): Promise<Session> {
    const { body, status, text } = await this.#fleet.ask<{ session: Session }>('PUT', `/v1/sessions/${randomUUID()}`, {
      runtime: this.#work.runtime,
      ...(this.#work.isOnRepository === true && { source: this.#fleet.source }),
    })
    if (status >= 300) throw new Error(`a session answered ${status} ${text}`)
    this.#completed = []
    this.#read.clear()
    return body.session
  }

  /** A Session may refuse only while none of its Runs has completed: completed work must never be out of reach. */
  #refused(session: Session, text: string): null {
    if (this.#completed.length > 0 || !text.includes('cloud_resume_unavailable')) {
      throw new Error(
        `session ${session.id} was refused a turn after ${this.#completed.length} completed runs: ${text}`,
      )
    }
    this.neverSealed += 1
    this.#session = null
    return null
  }
}

const digestOf = (event: Event | undefined) =>
  createHash('sha256')
    .update(JSON.stringify(event ?? null))
    .digest('hex')
