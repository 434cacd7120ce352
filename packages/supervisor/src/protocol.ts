/**
 * What a worker and the supervisor inside a sandbox say to each other over the lease's socket.
 *
 * Worker to supervisor: one JSON object per line (`WorkerMessage`). The first must be `hello`.
 * Supervisor to worker: one JSON line (`SupervisorGreeting`); after `welcome` the raw bytes of the journal from the
 * offset asked for, followed live. Between two records there may be a line `p <n>`, the answer to `ping`; it is no
 * part of the journal and does not count towards offsets.
 *
 * The journal is one file, one record per line, `<type> <payload>\n`; an offset is a byte position between records.
 *
 * Order carries meaning. `i` is written before the agent gets the line; one for which the last `s` or `x` before it is
 * not an `s` reached nobody. `s` comes before all output of that agent, `x` after all of it, and what is left of the
 * agent's process group is killed before its `x`. A supervisor runs one agent at a time: a `start` before the `x` of
 * the one before is an `f` with code `EBUSY`.
 */

/**
 * Messages of the worker. `key` (1-200 characters, no white space) makes a message idempotent: a key the journal
 * already held, for whatever message, is dropped. `ack` is the offset up to which the worker has committed; `keep`
 * the one from which the next worker will read, and what lies before it is let go of. `from` counts as both.
 *
 * `all` stops every other process of the sandbox, or lets them go on, where the host has no cgroup that can. It needs no
 * `hello`. The supervisor answers the same line and ends the connection.
 */
export type WorkerMessage =
  | { hello: { fence: number; from: number } }
  | { start: { key: string; command: readonly string[]; env: Readonly<Record<string, string>>; cwd: string } }
  | { in: { key: string; line: string } }
  | { stop: { key: string; graceMs: number } }
  | { ack: number; keep?: number }
  | { ping: number }
  | { all: 'STOP' | 'CONT' }

/**
 * First line of the supervisor. `refused`: a worker with a higher fence token has been here. `invalid`: `from` is no
 * offset of this journal, or was let go of. After both the connection ends.
 */
export type SupervisorGreeting =
  | { welcome: { fence: number; size: number } }
  | { refused: { fence: number } }
  | { invalid: { size: number } }

/**
 * Types of a journal record.
 * `o` `<time> <line>`, a line the agent wrote to stdout; `i` `<key> <line>`, a line given to the agent; `e` a line of
 * the agent's stderr, cut; `s` `<key> <time> {"pid":…}`, the agent was started; `k` `<key> `, a stop was asked for;
 * `x` `<time> {"code":…,"signal":…,"error"?:…}`, the agent process ended; `!` `{"bytes":n}`, a stdout line over
 * `MAX_LINE_BYTES` was dropped; `f` `<key> {"code":…,"error":…}`, the agent could not be started.
 *
 * A time is in milliseconds since 1970 by the clock of the supervisor's host. What an agent did is dated by it, so a
 * worker that reads the journal later, or again, comes to the same dates.
 *
 * Where the supervisor itself ended the agent, `signal` of `x` is one of `SupervisorSignal`.
 */
export const recordTypes = ['o', 'i', 'e', 's', 'k', 'x', '!', 'f'] as const
export type RecordType = (typeof recordTypes)[number]

/** Types whose payload starts with the key of the message that caused them. */
export const keyedRecordTypes = ['i', 's', 'k', 'f'] as const satisfies readonly RecordType[]
export type KeyedRecordType = (typeof keyedRecordTypes)[number]

/** Types whose payload starts, behind the key if there is one, with the time at which it happened. */
export const timedRecordTypes = ['o', 's', 'x'] as const satisfies readonly RecordType[]
export type TimedRecordType = (typeof timedRecordTypes)[number]

/**
 * Why the supervisor killed the agent: the journal is at `MAX_JOURNAL_BYTES`; it could not be written (`error` of the
 * `x` record has the code, `ENOSPC` for one); or the agent left `MAX_STDIN_QUEUE_BYTES` of its input unread. After the
 * first two nothing can be started in this sandbox any more.
 */
export type SupervisorSignal = 'JOURNAL_FULL' | 'JOURNAL_FAILED' | 'STDIN_FULL'

/** Longest line of an agent that is kept; longer ones become a `!` record. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Longest stderr line that is kept. */
export const MAX_STDERR_LINE_BYTES = 4096
/** The agent's stdout is paused while this much of the journal is not yet acknowledged. */
export const MAX_UNACKNOWLEDGED_BYTES = 64 * 1024 * 1024
/** Input that waits for an agent to read it; an agent further behind is killed. */
export const MAX_STDIN_QUEUE_BYTES = 64 * 1024 * 1024
/**
 * A journal's file never grows past this. What an agent writes fills it only while no worker lets go of anything: behind
 * a tool call, say, that never ends.
 */
export const MAX_JOURNAL_BYTES = 1024 * 1024 * 1024
/** Longest line of a worker; a longer one ends its connection. */
export const MAX_MESSAGE_BYTES = 2 * MAX_LINE_BYTES
/** Longest key of a message. */
export const MAX_KEY_LENGTH = 200

/** Descriptors that the sandbox's creator hands down: the listening socket and the journal. */
export const LISTEN_FD = 3
export const JOURNAL_FD = 4

/** Inside the sandbox: where the way out stands, and where the supervisor offers it on loopback. */
export const PROXY_SOCKET = '/run/berth/proxy.sock'
export const PROXY_PORT = 3128
