/** The result of one check of a machine. */
export interface Finding {
  /** A word or two that names the check, such as `database`. */
  readonly check: string
  /** `warning`: the service works, less well than it could. `failure`: it does not start, or not with this. */
  readonly state: 'ok' | 'warning' | 'failure'
  /** The result in one line. */
  readonly detail: string
  /** The remedy, as a rule a command; null if none is needed. */
  readonly next: string | null
}

/** Takes each finding as soon as it is made. */
export type Report = (finding: Finding) => void

export const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail, next: null })

export const warning = (check: string, detail: string, next: string): Finding => ({
  check,
  state: 'warning',
  detail,
  next,
})

export const failure = (check: string, detail: string, next: string): Finding => ({
  check,
  state: 'failure',
  detail,
  next,
})

/** Returns the message of an error in one line. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replaceAll(/\s*\n\s*/g, ' ').trim()
}
