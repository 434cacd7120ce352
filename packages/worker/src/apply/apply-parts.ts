import type { StoredDocument } from '@berth/core/environments/document.ts'
import type { RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import type { ApplyReport } from '@berth/core/sessions/leases/apply-report.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import type { AddedVariables } from '../agent/agent-environment.ts'
import type { Claim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import type { OutputReporter } from './output-reporter.ts'

/** Everything that a step of an apply may need. */
export interface ApplyParts {
  readonly context: ExecutionContext
  readonly claim: Claim
  /** The lease as the step before left it. */
  readonly lease: LeaseRow
  readonly runtime: RuntimeEntry
  /** The revision's document. */
  readonly document: StoredDocument
  /** The environment's variables and secrets. */
  readonly environment: AddedVariables
  /** The report so far. */
  readonly report: ApplyReport
  /** Whether a checkpoint was restored into the sandbox. */
  readonly restored: boolean
  /** Whether the Session has a launch repository. */
  readonly hasSource: boolean
  /** The agent's working directory. */
  readonly cwd: string
  /** Tells what processes of the apply write. */
  readonly output: OutputReporter
}

/**
 * One step of an apply. Its result is recorded before the next one begins. A step whose worker died is done again, so
 * what it does outside the sandbox must be idempotent; `runProgram` starts a process inside only once.
 *
 * If `signal` is aborted with an `ApplyFailed`, the apply ends as that says, and the step stops what it has started.
 * With any other reason another worker goes on, and the step leaves everything as it is.
 */
export interface ApplyStep {
  readonly name: string
  /** True if no process of the sandbox may get a credential of a Git host from here on. */
  readonly withoutCredentials?: boolean
  /** Whether the document gives it anything to do. */
  isDue(document: StoredDocument): boolean
  /** @throws ApplyFailed, and whatever says that the sandbox is lost */
  run(parts: ApplyParts, signal: AbortSignal): Promise<Partial<ApplyReport>>
}

/** Steps behind those of every apply. */
export interface FurtherSteps {
  readonly steps: readonly ApplyStep[]
  /** The whole apply fails if it has not ended by then. */
  readonly endsAt: Date
}
