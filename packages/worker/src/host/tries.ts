import { doublingMs } from '@berth/platform/kit/backoff.ts'

interface Failures {
  readonly count: number
  readonly dueAt: number
}

/** Spaces the tries of what fails: the delay doubles with each failure in a row, to a bound. */
export class Tries {
  readonly #firstMs: number
  readonly #mostMs: number
  readonly #failures = new Map<string, Failures>()

  constructor({ firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number }) {
    this.#firstMs = firstMs
    this.#mostMs = mostMs
  }

  isDue(key: string): boolean {
    return (this.#failures.get(key)?.dueAt ?? 0) <= performance.now()
  }

  /** @returns how often it has failed in a row */
  failed(key: string): number {
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const delayMs = doublingMs(count, this.#firstMs, this.#mostMs)
    this.#failures.set(key, { count, dueAt: performance.now() + delayMs })
    return count
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }

  /** Forgets everything but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#failures.keys()) if (!keys.has(key)) this.#failures.delete(key)
  }
}
