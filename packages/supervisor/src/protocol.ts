import type { PortOrder } from './ports/protocol.ts'
import type { TerminalOrder } from './terminals/protocol.ts'

/**
 * The protocol between a worker and the supervisor inside a sandbox, over the lease's socket.
 *
 * Worker to supervisor: one JSON object per line (`WorkerMessage`). The first must be `hello`.
 * Supervisor to worker: one JSON line (`SupervisorGreeting`); after `welcome`, the raw bytes of the journal from the
 * requested offset, followed live. A line `p <n>` between two records answers a `ping`; it is not part of the journal
 * and does not count towards offsets.
 *
 * The journal is one file with one record per line, `<type> <payload>\n`; an offset is a byte position between records.
 *
 * The order of records has meaning. `i` is written before the agent gets the line; if the last `s` or `x` before it is
 * not an `s`, no agent got it. `s` precedes all output of its agent and `x` follows all of it; the rest of the agent's
 * process group is killed before its `x`. A supervisor runs one agent at a time: a `start` before the `x` of the
 * previous agent becomes an `f` with code `EBUSY`.
 */

/**
 * Messages of the worker. `key` (1-200 characters, no white space) makes a message idempotent: the supervisor drops a
 * key that the journal already has, whatever the message. `ack` is the offset up to which the worker has committed.
 * `keep` is the offset from which the next worker will read; everything before it is forgotten. `from` counts as both.
 *
 * `all` stops every other process of the sandbox or lets them continue, for hosts without a cgroup freezer. It needs no
 * `hello`. The supervisor answers with the same line and closes the connection. `terminal`, `port`, `prepare`, `retire` and `park`
 * take the place of `hello` on connections of their own.
 */
export type WorkerMessage =
  | { hello: { fence: number; from: number } }
  | { start: { key: string; command: readonly string[]; env: Readonly<Record<string, string>>; cwd: string } }
  | { in: { key: string; line: string } }
  | { stop: { key: string; graceMs: number } }
  | { ack: number; keep?: number }
  | { ping: number }
  | { all: 'STOP' | 'CONT' }
  | { terminal: TerminalOrder }
  | { port: PortOrder }
  | { prepare: PrepareOrder }
  | { retire: RetireOrder }
  | { park: ParkOrder }

/**
 * Ends an agent that nobody asks anything. It comes on a connection of its own, which is answered by one line once the agent has
 * ended, or at once. What workers give meanwhile is journaled behind the agent's `x`, so it reaches nobody, and they give
 * it to the next process.
 */
export interface RetireOrder {
  /** Below the highest token that was ever seen, the order is refused. */
  readonly fence: number
  readonly graceMs: number
}

/** `ended`: there is no agent any more. `kept`: it has processes outside its own group. */
export interface RetireAnswer {
  readonly retired: 'ended' | 'kept' | 'refused'
}

/**
 * Asks for the end of a sandbox in which nothing but the supervisor is left. It comes on a connection of its own, which is answered by
 * one line. From a `resume` until that connection ends, the supervisor takes no order: the caller ends it meanwhile, and may
 * start another in its place (`--resume`).
 */
export interface ParkOrder {
  /** Below the highest token that was ever seen, the order is refused. */
  readonly fence: number
}

/** Where a supervisor begins that takes the place of another: its journal's file, by offsets, and the highest token. */
export interface Resume {
  /** Of the file's first byte. */
  readonly base: number
  /** Of the first byte that the journal still has. */
  readonly start: number
  readonly end: number
  readonly fence: number
}

/** Null: the token is too low, or something would be lost. */
export interface ParkAnswer {
  readonly resume: Resume | null
}

/**
 * Makes a sandbox ready before it has a lease: the process starts, gets the line and rehearses, and the supervisor writes `PREPARED`
 * when it has answered. It comes first, on a connection of its own. The caller then writes a line to bind the sandbox,
 * which is answered with `BOUND`; if the connection ends before that, the sandbox ends. A later `start` of the same
 * command with the same environment takes the process over, and the line, once it is given, is not given again.
 */
export interface PrepareOrder {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly line: string
  /** A request that follows the answer to the line; its own answer, one line, is dropped. */
  readonly rehearsal?: string
}

export const PREPARED = '{"prepared":true}\n'
export const BOUND = '{"bound":true}\n'

/**
 * First line of the supervisor. `refused`: a worker with a higher fence token was here. `invalid`: `from` is not an
 * offset of this journal, or was forgotten. After either, the supervisor closes the connection.
 */
export type SupervisorGreeting =
  | { welcome: { fence: number; size: number } }
  | { refused: { fence: number } }
  | { invalid: { size: number } }

/**
 * Types of a journal record:
 *
 * - `o` `<time> <line>`: the agent wrote a line to stdout.
 * - `i` `<key> <line>`: a line was given to the agent.
 * - `e` `<line>`: the agent wrote a line to stderr; long ones are cut.
 * - `s` `<key> <time> {"pid":…}`: the agent started.
 * - `k` `<key> `: a worker asked for a stop.
 * - `x` `<time> {"code":…,"signal":…,"error"?:…}`: the agent process ended.
 * - `!` `{"bytes":n}`: a stdout line longer than `MAX_LINE_BYTES` was dropped.
 * - `f` `<key> {"code":…,"error":…}`: the agent could not be started.
 *
 * A time is in milliseconds since 1970, by the clock of the supervisor's host. The agent's actions take their dates
 * from it, so a worker that reads the journal later, or again, computes the same dates.
 *
 * If the supervisor itself ended the agent, `signal` of `x` is a `SupervisorSignal`.
 */
export const recordTypes = ['o', 'i', 'e', 's', 'k', 'x', '!', 'f'] as const
export type RecordType = (typeof recordTypes)[number]

/** Types whose payload starts with the key of the message that caused them. */
export const keyedRecordTypes = ['i', 's', 'k', 'f'] as const satisfies readonly RecordType[]
export type KeyedRecordType = (typeof keyedRecordTypes)[number]

/** Types whose payload starts with a time, after the key if there is one. */
export const timedRecordTypes = ['o', 's', 'x'] as const satisfies readonly RecordType[]
export type TimedRecordType = (typeof timedRecordTypes)[number]

/**
 * Why the supervisor killed the agent: the journal reached `MAX_JOURNAL_BYTES`; a write to it failed (`error` of the
 * `x` record is the code, for example `ENOSPC`); or the agent left `MAX_STDIN_QUEUE_BYTES` of its input unread. After
 * the first two, this sandbox can start no agent any more.
 */
export type SupervisorSignal = 'JOURNAL_FULL' | 'JOURNAL_FAILED' | 'STDIN_FULL'

/** Longest line of an agent that is kept; a longer one becomes a `!` record. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Longest stderr line that is kept. */
export const MAX_STDERR_LINE_BYTES = 4096
/** Unacknowledged journal bytes above which the supervisor pauses the agent's stdout. */
export const MAX_UNACKNOWLEDGED_BYTES = 64 * 1024 * 1024
/** Most input that may wait for the agent; an agent further behind is killed. */
export const MAX_STDIN_QUEUE_BYTES = 64 * 1024 * 1024
/**
 * The journal's file never grows past this. An agent can fill it only while no worker forgets anything, for example
 * during a tool call that never ends.
 */
export const MAX_JOURNAL_BYTES = 1024 * 1024 * 1024
/** Longest line of a worker; a longer one closes its connection. */
export const MAX_MESSAGE_BYTES = 2 * MAX_LINE_BYTES
/** Longest key of a message. */
export const MAX_KEY_LENGTH = 200

/** Descriptors inherited from the sandbox's creator: the listening socket and the journal. */
export const LISTEN_FD = 3
export const JOURNAL_FD = 4

/** Inside the sandbox: the egress proxy's socket, and the loopback port on which the supervisor offers it. */
export const PROXY_SOCKET = '/run/berth/proxy.sock'
export const PROXY_PORT = 3128
