import type { EventData } from '@berth/contract'

/** A tool call of a Run; while it runs, the log has only its name. */
export interface ToolStep {
  readonly kind: 'tool'
  readonly id: string
  readonly name: string
  /** What the agent says that it does; the name until the call has ended. */
  readonly title: string
  readonly toolKind: string
  readonly status: 'running' | 'succeeded' | 'failed'
  readonly input?: unknown
  readonly output?: string
  readonly diff?: NonNullable<EventData<'svc.activity.completed'>['diff']>
  readonly truncated: boolean
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

/** What a person or an installation asked for. */
export interface PromptRow extends RowBase {
  readonly kind: 'prompt'
  readonly text: string
  readonly truncated: boolean
  readonly turnId: string | null
}

/** What the agent said. */
export interface ReplyRow extends RowBase {
  readonly kind: 'reply'
  readonly text: string
  readonly truncated: boolean
}

/** A sub-agent that the agent started. */
export interface Lane {
  readonly id: string
  /** Null while it works. */
  readonly outcome: 'completed' | 'failed' | 'cancelled' | null
  /** What it told the agent at its end. */
  readonly summary: string
}

/** Tool calls and thoughts that follow one another; those of a sub-agent stand together, whatever happens between them. */
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
  readonly costUsd: number | null
  readonly costComplete: boolean
  /** From the first start of the Run; null if the start lies before what is loaded. */
  readonly durationMs: number | null
}

/** A question, a plan or an approval, where it was asked. */
export interface InteractionRow extends RowBase {
  readonly kind: 'interaction'
  readonly interactionId: string
  readonly interactionKind: 'ask_user' | 'exit_plan_mode' | 'approval'
  readonly status: 'open' | 'resolved' | 'expired'
  readonly resolution: string | null
  readonly decidedBy: NonNullable<EventData<'svc.interaction.resolved'>['decidedBy']> | null
  /** A line for people: the first question, the plan's prompt, or the tool. */
  readonly subject: string
}

/** Something the service did or the agent left. */
export interface NoticeRow extends RowBase {
  readonly kind: 'notice'
  readonly tone: 'quiet' | 'good' | 'warning' | 'bad'
  readonly text: string
  /** More to unfold, such as the end of a setup script's output. */
  readonly detail?: string
  readonly link?: { readonly label: string; readonly url: string }
  /** Set for a file that was presented and not kept. */
  readonly about?: 'omission'
}

/** A file that the agent left. */
export interface ArtifactRow extends RowBase {
  readonly kind: 'artifact'
  readonly artifactId: string
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
}

/** What the agent is saying right now. It is no part of the log, and its Event takes its place. */
export interface LiveRow extends RowBase {
  readonly kind: 'live'
  readonly role: 'assistant' | 'reasoning'
  readonly text: string
}

export type Row = PromptRow | ReplyRow | StepsRow | EndRow | InteractionRow | NoticeRow | ArtifactRow | LiveRow
