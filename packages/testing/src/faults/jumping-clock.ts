import { writeFileSync } from 'node:fs'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'

const loader = new URL('clock-offset.ts', import.meta.url).href

/** The clock of a process of the service, which can be set wrong while the process runs. Its timers keep the true pace. */
export class JumpingClock {
  readonly #file: string

  /** @param file where the offset is kept; its directory exists */
  constructor(file: string) {
    this.#file = file
    this.#write(0)
  }

  /** Variables of a process that has this clock. */
  get variables(): Readonly<Record<string, string>> {
    return { NODE_OPTIONS: `--import=${loader}`, CLOCK_OFFSET_FILE: this.#file }
  }

  /** Sets the clock wrong by so much, in the process as well if one runs. */
  jump(offsetMs: number, pid: number | undefined): void {
    this.#write(offsetMs)
    if (pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGUSR2')
  }

  #write(offsetMs: number): void {
    writeFileSync(this.#file, String(offsetMs))
  }
}
