import { setTimeout as sleep } from 'node:timers/promises'
import { orAborted } from '@berth/platform/kit/or-aborted.ts'
import { Course } from './chaos-course.ts'
import type { Fault } from './chaos-faults.ts'
import { Fleet, type FleetSize } from './chaos-fleet.ts'
import { type WorkName, works } from './chaos-work.ts'
import { Turnstile } from './turnstile.ts'

export interface ChaosOptions extends FleetSize {
  readonly sessions: number
  /** Kinds of Sessions, which take turns. */
  readonly works: readonly WorkName[]
  /** Runs at once, of all Sessions. */
  readonly atOnce: number
  /** Time of the faults; on a busy machine three times that, until each kind of work and of sandbox has been met. */
  readonly durationMs: number
  /** Average time between two faults. */
  readonly everyMs: number
  /** The faults to choose from. One that is named twice comes twice as often. */
  readonly faults: readonly Fault[]
  /** Hears of each fault, and of each proof that failed. */
  readonly log?: (line: string) => void
  /** Ends everything that was started, at once and without proofs. */
  readonly interruption?: AbortSignal
}

/** Counts of a chaos run. */
export interface ChaosReport {
  /** Proofs that failed. */
  readonly failures: readonly string[]
  readonly faults: Readonly<Record<string, number>>
  /** Number of Runs by kind and status. */
  readonly runs: Readonly<Record<string, number>>
  readonly restores: number
  /** Number of questions by status. */
  readonly questions: Readonly<Record<string, number>>
  readonly presentedFiles: number
  /** Number of Sessions that lost their first work before any seal, and so cannot continue. */
  readonly neverSealed: number
  /** Number of sandboxes that were made, by driver. */
  readonly sandboxes: Readonly<Record<string, number>>
  /** Number of them over a tree that their host kept: a checkout, or a checkpoint that was restored. */
  readonly layers: Readonly<Record<string, number>>
  /** How often a sandbox was parked, and how often one was woken, as far as a look at intervals sees it. */
  readonly parking: { readonly parked: number; readonly woken: number }
  /** Number of Events of all logs. */
  readonly events: number
  /** Number of sealed blobs that were read back. */
  readonly blobs: number
}

/**
 * Gives Sessions Turn after Turn while a fleet is killed, frozen, cut off, filled and misled about the time at random.
 *
 * Then proves for each Session: its log has no gap and every Event that was ever read stands where it was, each Run has one
 * terminal event, every byte that completed Runs wrote is there, and each file was presented once and by its own Run.
 * Proves for all: no question is open, no credential outlives its Run, every blob that a checkpoint names is whole, no
 * sandbox lacks a lease, and no process, mount, loop device, cgroup or uid is left in the end.
 *
 * A proof that fails ends its Session's part, and the others go on.
 * @throws the reason of the interruption, once everything that was started has ended
 */
export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { interruption = new AbortController().signal } = options
  interruption.throwIfAborted()
  await using fleet = await Fleet.open(options)
  const { sessions, durationMs, everyMs, atOnce, log = () => undefined } = options
  const failures: string[] = []
  const failed = (error: unknown) => {
    // The fleet is being taken down, so nothing works any more.
    if (interruption.aborted) return
    const text = error instanceof Error ? error.message : String(error)
    failures.push(text)
    log(`FAILED ${text}`)
  }
  const over = new AbortController()
  const storm = AbortSignal.any([over.signal, AbortSignal.timeout(3 * durationMs), interruption])
  const turnstile = new Turnstile(atOnce)
  const courses = Array.from({ length: sessions }, (_, n) => {
    const name = options.works[n % options.works.length] ?? 'shell'
    return { name, course: new Course(fleet, works[name], turnstile, log) }
  })
  const drivers = [options.workers > 0 && 'bubblewrap', options.machines > 0 && 'remote'].filter(each => each !== false)
  const hasMetAll = async () =>
    options.works.every(each =>
      courses.some(({ name, course }) => name === each && course.ended.includes('completed')),
    ) &&
    (await fleet.leases().then(
      made => drivers.every(each => made.some(({ driver }) => driver === each)),
      () => false,
    ))
  const lasting = (async () => {
    await sleep(durationMs, undefined, { signal: storm })
    while (!(await hasMetAll())) await sleep(1_000, undefined, { signal: storm })
    over.abort()
  })().catch(ignored)
  const striking = fleet.strike(options.faults, everyMs, storm, { log, failed }).catch(failed)
  const parking = { parked: 0, woken: 0 }
  const counting = fleet.countParked(parking, storm)
  const sailing = courses.map(({ course }) => course.sail(storm).catch(failed))
  await orAborted(Promise.all(sailing), interruption).catch(ignored)
  // A fault that is under way restores what it took away, and may start a process again.
  await Promise.all([striking, lasting, counting])
  interruption.throwIfAborted()
  log('calm')
  await orAborted(Promise.all(courses.map(({ course }) => course.prove().catch(failed))), interruption)
  const { rows: closed } = await fleet.db.query<{ ended: string }>(
    'select case when resolution is null then status else resolution end as ended from interactions',
  )
  const questions = count(closed.map(({ ended }) => ended))
  if (questions['open'] !== undefined) failed(`questions are still open: ${JSON.stringify(questions)}`)
  const leases = await fleet.leases()
  const blobs = await fleet.proveBlobs().catch(failed)
  await fleet.proveNoStrays().catch(failed)
  const { rows: logged } = await fleet.db.query<{ count: number }>('select count(*)::integer as count from events')
  return {
    failures,
    faults: fleet.struck,
    runs: count(courses.flatMap(({ name, course }) => course.ended.map(status => `${name} ${status}`))),
    restores: courses.reduce((sum, { course }) => sum + course.restores, 0),
    questions,
    presentedFiles: courses.reduce((sum, { course }) => sum + course.presented, 0),
    neverSealed: courses.reduce((sum, { course }) => sum + course.neverSealed, 0),
    sandboxes: count(leases.map(({ driver }) => driver)),
    layers: count(leases.flatMap(({ tree }) => tree?.split('-', 1) ?? [])),
    parking,
    events: logged[0]?.count ?? 0,
    blobs: blobs ?? 0,
  }
}

const ignored = () => undefined

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
