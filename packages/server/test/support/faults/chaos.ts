import { randomInt, randomUUID } from 'node:crypto'
import type { Interaction, Run, Session, TurnAdmission } from '@berth/contract'
import { mintRuntimeCredential } from '../../../src/identity/runtime-credentials/runtime-credential.ts'
import { activitiesOf, type EndedRun } from '../runs/ended-run.ts'
import { until } from '../until.ts'
import { type Fault, Fleet, type FleetSize, PATIENCE_MS } from './chaos-fleet.ts'

export interface ChaosOptions extends FleetSize {
  readonly sessions: number
  readonly durationMs: number
  /** Average time between two faults. */
  readonly everyMs: number
  /** The faults to choose from. One that is named twice comes twice as often. */
  readonly faults: readonly Fault[]
}

/** Counts of a chaos run. The run throws if a proof fails. */
export interface ChaosReport {
  readonly faults: Readonly<Record<string, number>>
  /** Number of Runs by status. */
  readonly runs: Readonly<Record<string, number>>
  readonly restores: number
  /** Number of questions by status. */
  readonly questions: Readonly<Record<string, number>>
  readonly presentedFiles: number
  /** Number of Sessions that lost their first work before any seal, and so cannot continue. */
  readonly neverSealed: number
  /** Number of sandboxes that were made, by driver. */
  readonly sandboxes: Readonly<Record<string, number>>
  /** Number of Events of all logs. */
  readonly events: number
}

/**
 * Gives Sessions Turn after Turn while a fleet is killed, frozen, cut off and misled about the time at random. The agent
 * of every third Session presents a file and asks people, who answer or cancel.
 *
 * Then proves for each Session: its log has no gap, each Run has one terminal event, every byte that completed Runs
 * wrote is there, and each file was presented once and by its own Run. Proves for all: no question is open, no
 * credential outlives its Run, no sandbox lacks a lease, and no process, mount, loop device, cgroup or uid is left in the end.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  await using fleet = await Fleet.open(options)
  const { sessions, durationMs, everyMs } = options
  const storm = AbortSignal.timeout(durationMs)
  const courses = Array.from({ length: sessions }, (_, n) => new Course(fleet, n % 3 === 2 ? asking : working))
  const striking = fleet.strike(options.faults, everyMs, storm)
  const sailing = Promise.all(courses.map(course => course.sail(storm)))
  await Promise.all([striking, sailing])
  for (const course of courses) await course.prove()
  const { rows: closed } = await fleet.db.query<{ ended: string }>(
    'select case when resolution is null then status else resolution end as ended from interactions',
  )
  const questions = count(closed.map(({ ended }) => ended))
  if (questions['open'] !== undefined) throw new Error(`questions are still open: ${JSON.stringify(questions)}`)
  await fleet.proveNoStrays()
  const { rows: made } = await fleet.db.query<{ driver: string }>('select driver from leases')
  const { rows: logged } = await fleet.db.query<{ count: number }>('select count(*)::integer as count from events')
  return {
    sandboxes: count(made.map(({ driver }) => driver)),
    events: logged[0]?.count ?? 0,
    faults: fleet.struck,
    runs: count(courses.flatMap(({ ended }) => ended.map(({ run }) => run.status))),
    restores: courses.reduce((sum, { restores }) => sum + restores, 0),
    questions,
    presentedFiles: courses.reduce((sum, { presented }) => sum + presented, 0),
    neverSealed: courses.reduce((sum, { neverSealed }) => sum + neverSealed, 0),
  }
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/** The work of a Session's Turns, and the checks of their Runs. */
interface Work {
  readonly runtime: string
  message(turnId: string): string
  /** Acts while the Run is active. */
  attend?(fleet: Fleet, session: Session, run: Run): Promise<void>
  /**
   * Checks an ended Run.
   * @param completed Turns of the Session whose Runs completed before this one
   * @throws Error if something is lost
   */
  check(ended: EndedRun, turnId: string, completed: readonly string[]): void
}

const working: Work = {
  runtime: 'shell',
  // Fails unless everything that earlier Runs wrote is there to the byte.
  message: id =>
    [
      'set -e',
      '[ ! -e sums ] || sha256sum -c --status sums',
      `head -c ${randomInt(1, 20_000)} /dev/urandom > file-${id}; sha256sum file-${id} >> sums; echo ${id} >> log`,
      'sleep 0.1; cat log',
    ].join('\n'),
  check(ended, _, completed) {
    if (ended.run.status !== 'completed') return
    const lines = String(activitiesOf(ended)[0]?.['output']).trim().split('\n')
    const found = lines.filter(line => completed.includes(line))
    if (JSON.stringify(found) !== JSON.stringify(completed))
      throw new Error(`session ${ended.session.id} has lost sealed work: ${JSON.stringify({ completed, lines })}`)
  },
}

const form = JSON.stringify({ message: 'Which?', requestedSchema: { properties: { a: { type: 'string' } } } })

const asking: Work = {
  runtime: 'remembering',
  message: id => `tool look\nremember ${id}\npresent ${id}\nask ${form}\nrecall`,
  async attend(fleet, session, run) {
    const path = `/v1/sessions/${session.id}`
    const asked = await until(
      'a question or an end',
      async () => {
        if ((await fleet.run(session, run.id)).endedAt !== undefined) return null
        const { body } = await fleet.ask<{ interactions: Interaction[] }>('GET', `${path}/interactions`)
        return body.interactions.find(({ runId }) => runId === run.id)
      },
      PATIENCE_MS,
    )
    if (asked === null) return
    if (randomInt(4) === 0) await fleet.ask('POST', `${path}/runs/${run.id}/cancel`)
    else {
      const replyTo = { interactionId: asked.id }
      await fleet.ask('PUT', `${path}/turns/${randomUUID()}`, { message: 'mine', replyTo })
    }
  },
  check(ended, turnId, completed) {
    const presented = presentedBy(ended)
    const told = ended.run.status === 'crashed' && presented.length === 0 ? [] : [turnId]
    // A Run that was cancelled before it asked may not have had time to present.
    const early = ended.run.status === 'cancelled' && presented.length === 0
    if (!early && JSON.stringify(presented) !== JSON.stringify(told))
      throw new Error(`run ${ended.run.id} of turn ${turnId} has presented ${presented} (${ended.run.status})`)
    if (ended.run.status !== 'completed') return
    const recalled = String(ended.events.findLast(({ data }) => data['role'] === 'assistant')?.data['text'])
    const missing = completed.filter(id => !recalled.includes(id))
    if (missing.length > 0) throw new Error(`session ${ended.session.id} has forgotten ${missing}: ${recalled}`)
  },
}

const presentedBy = ({ events }: EndedRun) =>
  events.flatMap(({ type, data }) =>
    type === 'svc.artifact.created' && data['kind'] === 'presented_file' ? [data['name']] : [],
  )

/** Gives one Session Turn after Turn. If the Session cannot continue for a valid reason, it makes another. */
class Course {
  readonly ended: EndedRun[] = []
  restores = 0
  neverSealed = 0
  readonly #fleet: Fleet
  readonly #work: Work
  /** One credential for each Run, minted while the Run was active. */
  readonly #credentials: string[] = []
  #session: Session | null = null
  /** Turns of the Session whose Runs completed, in order. */
  #completed: string[] = []

  constructor(fleet: Fleet, work: Work) {
    this.#fleet = fleet
    this.#work = work
  }

  get presented(): number {
    return this.ended.reduce((sum, each) => sum + presentedBy(each).length, 0)
  }

  async sail(storm: AbortSignal): Promise<void> {
    while (!storm.aborted) await this.#turn()
  }

  /** Runs one more Turn after the faults have ended. */
  async prove(): Promise<void> {
    const session = this.#session
    if (session === null) return
    const events = await this.#fleet.api.events(session.id)
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
    const message = this.#work.message(id)
    const answer = await this.#fleet.ask<TurnAdmission>('PUT', `/v1/sessions/${session.id}/turns/${id}`, { message })
    if (answer.status === 409) return this.#refused(session, answer.text)
    if (answer.status !== 202 && answer.status !== 200)
      throw new Error(`a turn answered ${answer.status} ${answer.text}`)
    const { run } = answer.body
    await this.#mint(session, run)
    await this.#work.attend?.(this.#fleet, session, run)
    const ended = await this.#fleet.ended(session, run.id)
    this.ended.push(ended)
    if (ended.run.status === 'failed') throw new Error(`a run has failed: ${JSON.stringify(ended.run)}`)
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
    const { body } = await this.#fleet.ask<{ session: Session }>('PUT', `/v1/sessions/${randomUUID()}`, {
      runtime: this.#work.runtime,
    })
    this.#completed = []
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
