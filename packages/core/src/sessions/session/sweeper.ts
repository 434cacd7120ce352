import type { PeriodicTask } from '@berth/platform/kit/periodic-tasks.ts'
import { logFailure } from '@berth/platform/storage/postgres/log-failure.ts'
import type { Context } from '../../context.ts'

/**
 * Deals with what is due in Sessions, once a second. It runs in every process, whatever its roles, so a Session moves on
 * even if no worker is left; the Session's lock lets one process deal with it.
 */
export abstract class Sweeper<Due> implements PeriodicTask {
  abstract readonly name: string
  readonly intervalMs = 1_000
  protected readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  /** What the log says of a failure: while the database is away, and else. */
  protected abstract readonly messages: { readonly waiting: string; readonly failed: string }

  /** Returns a bounded part of what is due. */
  protected abstract find(atMost: number): Promise<readonly Due[]>

  protected abstract sweep(due: Due): Promise<void>

  /**
   * Makes one pass. What cannot be dealt with, because its Session is locked for example, does not hold up the rest.
   * @throws the first failure, after the last of what is due
   */
  async round(): Promise<void> {
    const failures: unknown[] = []
    for (const due of await this.find(100)) await this.sweep(due).catch(error => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  failed(error: unknown): void {
    logFailure(this.context.log, error, this.messages)
  }
}
