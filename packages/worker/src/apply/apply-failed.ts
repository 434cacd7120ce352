import type { ApplyError, ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'

/** An environment cannot be applied, and `code` says why. */
export class ApplyFailed extends Error {
  override readonly name = 'ApplyFailed'
  readonly code: ApplyError
  /** Results of the step that failed, for the terminal Event. */
  readonly applied: Partial<ApplyReport>

  constructor(code: ApplyError, applied: Partial<ApplyReport> = {}, options: ErrorOptions = {}) {
    super(`the environment could not be applied: ${code}`, options)
    this.code = code
    this.applied = applied
  }
}

/** An apply has failed, its lease has ended, and so has the Run for which it was made. */
export class EnvironmentFailed extends Error {
  override readonly name = 'EnvironmentFailed'
}
