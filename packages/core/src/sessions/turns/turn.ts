import { createHash } from 'node:crypto'
import type { Effort, Turn } from '@berth/contract'
import type { RequestedBring } from './bring.ts'

/** A file of a Turn as the database stores it; its bytes are a blob. */
export interface StoredFile {
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
  readonly sha256: string
}

export interface TurnRow {
  readonly session_id: string
  readonly id: string
  readonly sequence: number
  readonly run_id: string
  readonly request_hash: Buffer
  readonly message: string
  readonly reply_to: string | null
  readonly files: StoredFile[]
  /** JSON of the schema that its Run's result has to satisfy; null if it asks for none. */
  readonly output_schema: string | null
  /** The state of a message that steers a Run; null for every other Turn. */
  readonly steering: 'waiting' | 'taken' | 'missed' | null
  /** Commits that come into the workspace before the agent begins; null for most Turns. */
  readonly bring: readonly RequestedBring[] | null
  readonly model: string | null
  readonly effort: Effort | null
  readonly runtime: string | null
  readonly author_kind: 'app_installation' | 'person'
  readonly author_id: string
  readonly created_at: Date
}

/** Returns the Turn resource. */
export function toTurn(row: TurnRow): Turn {
  return {
    id: row.id,
    sessionId: row.session_id,
    runId: row.run_id,
    sequence: row.sequence,
    message: row.message,
    ...(row.reply_to !== null && { replyTo: { interactionId: row.reply_to } }),
    files: row.files,
    ...(row.output_schema !== null && { output: { schema: JSON.parse(row.output_schema) } }),
    ...(row.steering !== null && { steering: row.steering }),
    ...(row.model !== null && { model: row.model }),
    ...(row.effort !== null && { effort: row.effort }),
    ...(row.runtime !== null && { runtime: row.runtime }),
    createdBy: { kind: row.author_kind, id: row.author_id },
    createdAt: row.created_at.toISOString(),
  }
}

/** Everything that two requests for one Turn have to share. */
export interface TurnIdentity {
  readonly message: string
  readonly replyTo: string | null
  readonly files: readonly StoredFile[]
}

/**
 * Returns the replay identity of a Turn: its message, the Interaction it answers, and its files' bytes, but not their
 * names. The output that it asks for and whether it steers are not part of it: a repeat answers as the first request did.
 */
export function turnHash({ message, replyTo, files }: TurnIdentity): Buffer {
  const identity = [message, replyTo, files.map(file => [file.sha256, file.sizeBytes])]
  return createHash('sha256').update(JSON.stringify(identity)).digest()
}
