import type { Event, EventDataByType } from '../generated/types.ts'

/** A tool call of a Run; while it runs, the log has only its name. */
export interface ToolStep {
  readonly kind: 'tool'
  readonly id: string
  readonly name: string
  /** The agent's own description of the call; the name until the call has ended. */
  readonly title: string
  readonly toolKind: string
  readonly status: 'running' | 'succeeded' | 'failed'
  readonly input?: unknown
  readonly output?: string
  readonly diff?: NonNullable<EventDataByType['svc.activity.completed']['diff']>
  readonly truncated: boolean
  /** Null until the log has the call's result, which may come a little after its end. */
  readonly durationMs: number | null
}

/** A passage of the agent's reasoning. */
export interface Thought {
  readonly kind: 'thought'
  readonly id: string
  readonly text: string
}

export type Step = ToolStep | Thought

interface RowBase {
  /** Stable while the log grows at its end: the sequence of the Event that made the row. */
  readonly key: string
  readonly sequence: number
  readonly at: string
  readonly runId: string | null
}

/** Returns the members that every row of an Event has. */
export const baseOf = (event: Event): RowBase => ({
  key: String(event.sequence),
  sequence: event.sequence,
  at: event.createdAt,
  runId: event.subject.runId ?? null,
})

/** A message of a person or an installation. */
export interface PromptRow extends RowBase {
  readonly kind: 'prompt'
  readonly text: string
  readonly truncated: boolean
  readonly turnId: string | null
}

/** A message of the agent. */
export interface ReplyRow extends RowBase {
  readonly kind: 'reply'
  readonly text: string
  readonly truncated: boolean
}

/** A sub-agent that the agent started. */
export interface Lane {
  readonly id: string
  /** What the agent asked of it; '' if its runtime does not tell, or the transcript begins later. */
  readonly task: string
  /** Null while it works. */
  readonly outcome: 'completed' | 'failed' | 'cancelled' | null
  /** Its last message to the agent. */
  readonly summary: string
}

/** Tool calls and thoughts that follow one another; those of a sub-agent stay together, whichever rows come between them. */
export interface StepsRow extends RowBase {
  readonly kind: 'steps'
  readonly steps: readonly Step[]
  /** Absent for steps of the agent itself. */
  readonly lane?: Lane
}

/** How a Run ended. */
export interface EndRow extends RowBase {
  readonly kind: 'end'
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'crashed'
  readonly errorCode: string | null
  readonly stopReason: string | null
  readonly turns: number | null
  readonly costUsd: number | null
  readonly costComplete: boolean
  /** The JSON result of a Run that was asked for one. */
  readonly output?: unknown
  /** From the first start of the Run; null if the transcript does not have the start. */
  readonly durationMs: number | null
  /** The revision of the Session's changes that the Run left; absent if it changed nothing. */
  readonly changes?: Pick<EventDataByType['svc.revision.created'], 'revision' | 'files' | 'additions' | 'deletions'>
}

/** A question, a plan or an approval, at the place where the agent asked. */
export interface InteractionRow extends RowBase {
  readonly kind: 'interaction'
  readonly interactionId: string
  readonly interactionKind: 'ask_user' | 'exit_plan_mode' | 'approval'
  readonly status: 'open' | 'resolved' | 'expired'
  readonly resolution: string | null
  readonly decidedBy: NonNullable<EventDataByType['svc.interaction.resolved']['decidedBy']> | null
  /** A text for people: the first question, the plan's prompt, or the tool. */
  readonly subject: string
}

/** Connections to one host that were refused in a Run. */
export interface BlockedHost {
  readonly host: string
  readonly count: number
  /** True if a person may allow it for the environment: neither the operator nor the organization closes it. */
  readonly allowable: boolean
}

/** An action of the service, or a fact about the Session. */
export interface NoticeRow extends RowBase {
  readonly kind: 'notice'
  readonly tone: 'quiet' | 'good' | 'warning' | 'bad'
  readonly text: string
  /** More to unfold, such as the end of a setup script's output. */
  readonly detail?: string
  readonly link?: { readonly label: string; readonly url: string }
  /**
   * `omission`: a presented file was not kept. `setup`: an environment; `detail` is the end of its script's output.
   * `sandbox`: it was paused, or resumed since; `detail` is how often and how. `blocked`: see `blocked`.
   */
  readonly about?: 'omission' | 'setup' | 'sandbox' | 'blocked'
  /** A host that the sandbox was refused. */
  readonly blocked?: BlockedHost
  /** Tells the step of this notice from others, which may go on at the same time. */
  readonly step?: string
  /** True while the step goes on; the notice of its end replaces this one. */
  readonly ongoing?: boolean
}

/** A file that the agent presented. */
export interface ArtifactRow extends RowBase {
  readonly kind: 'artifact'
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
}

/** A message that the agent is still writing. It is not part of the log; the Event of the whole message replaces it. */
export interface LiveRow extends RowBase {
  readonly kind: 'live'
  readonly role: 'assistant' | 'reasoning'
  readonly text: string
}

export type Row = PromptRow | ReplyRow | StepsRow | EndRow | InteractionRow | NoticeRow | ArtifactRow | LiveRow
