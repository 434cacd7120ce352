import { setTimeout as sleep } from 'node:timers/promises'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'
import { type ServiceProcess, startServiceProcess } from '../services/service-process.ts'
import { JumpingClock } from './jumping-clock.ts'

/** Each takes seconds, and nothing is away for as long as all of them. */
const TRIES = 60

/** A process of the service that a test kills, freezes and misleads, and starts again. */
export class Restartable {
  readonly dataDir: string
  readonly #variables: Readonly<Record<string, string>>
  readonly #fixed: Partial<Fixed>
  readonly #clock: JumpingClock
  #running: ServiceProcess | null = null

  /** @param dataDir its clock is kept beside it */
  constructor(dataDir: string, variables: Readonly<Record<string, string>>, fixed: Partial<Fixed>) {
    this.dataDir = dataDir
    this.#fixed = fixed
    this.#clock = new JumpingClock(`${dataDir}.clock`)
    this.#variables = { ...variables, ...this.#clock.variables, BERTH_DATA_DIR: dataDir }
  }

  get url(): string {
    return this.#running?.url ?? 'http://127.0.0.1:9'
  }

  /**
   * Tries again and again: the database may be away.
   * @throws Error why the last try failed
   */
  async start(): Promise<void> {
    let refusal: unknown
    for (let tries = 0; tries < TRIES; tries += 1) {
      const started = await startServiceProcess(this.#variables, this.#fixed).catch(error => {
        refusal = error
      })
      if (!started) continue
      this.#running = started
      return
    }
    throw new Error(`${this.dataDir} does not start: ${refusal}`, { cause: refusal })
  }

  /** Returns the last words of a process that has ended without being killed. */
  get endedByItself(): string | undefined {
    const running = this.#running
    if (running === null || isRunning(running.pid)) return undefined
    return `${this.dataDir} has ended by itself: ${running.lines.slice(-5).join('\n')}`
  }

  /** Returns its pid, and what it has last logged about a Session, and at all. */
  logOf(sessionId: string): string {
    const lines = this.#running?.lines ?? []
    const about = lines.filter(line => line.includes(sessionId)).slice(-5)
    return `${this.dataDir} (pid ${this.#running?.pid}): ${[...about, '...', ...lines.slice(-5)].join('\n')}`
  }

  async kill(): Promise<void> {
    await this.#running?.kill('SIGKILL')
    this.#running = null
  }

  /** Kills it, and starts it again. */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  /** Sets its clock wrong by so much while it runs. */
  jump(offsetMs: number): void {
    this.#clock.jump(offsetMs, this.#running?.pid)
  }

  /** Stops it for a time, after which it goes on in the belief that none has passed. */
  async freeze(ms: number): Promise<void> {
    const pid = this.#running?.pid
    if (pid === undefined || !isRunning(pid)) return
    process.kill(pid, 'SIGSTOP')
    await sleep(ms)
    process.kill(pid, 'SIGCONT')
  }
}
