/**
 * What a worker and the supervisor inside a sandbox say to each other over the lease's socket.
 *
 * Worker to supervisor: one JSON object per line (`WorkerMessage`). The first must be `hello`.
 * Supervisor to worker: one JSON line, `welcome` or `refused`; after `welcome` the raw bytes of the journal from the
 * offset asked for, followed live. Between two records there may be a line `p <n>`, the answer to `ping`; it is no
 * part of the journal and does not count towards offsets.
 *
 * The journal is one file, one record per line, `<type> <payload>\n`; an offset is a byte position between records.
 */

/** Messages of the worker. `key` makes a message idempotent: a key the journal already holds is dropped. */
export type WorkerMessage =
  | { hello: { fence: number; from: number } }
  | { start: { key: string; command: readonly string[]; env: Readonly<Record<string, string>>; cwd: string } }
  | { in: { key: string; line: string } }
  | { stop: { key: string; graceMs: number } }
  | { ack: number }
  | { ping: number }

/** First line of the supervisor. `refused`: a worker with a higher fence token has been here. */
export type SupervisorGreeting = { welcome: { fence: number; size: number } } | { refused: { fence: number } }

/**
 * Types of a journal record.
 * `o` a line the agent wrote to stdout; `i` `<key> <line>`, a line given to the agent; `e` a line of the agent's
 * stderr, cut; `s` `<key> <json>`, the agent was started; `k` `<key>`, a stop was asked for;
 * `x` `{"code":…,"signal":…}`, the agent process ended; `!` `{"bytes":n}`, a stdout line over `MAX_LINE_BYTES` was
 * dropped; `f` `{"error":…}`, the agent could not be started.
 */
export const recordTypes = ['o', 'i', 'e', 's', 'k', 'x', '!', 'f'] as const
export type RecordType = (typeof recordTypes)[number]

/** Longest line of an agent that is kept; longer ones become a `!` record. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Longest stderr line that is kept. */
export const MAX_STDERR_LINE_BYTES = 4096
/** The agent's stdout is paused while this much of the journal is not yet acknowledged. */
export const MAX_UNACKNOWLEDGED_BYTES = 64 * 1024 * 1024
/** A journal never grows past this; the agent is killed and `x` carries `"signal":"JOURNAL_FULL"`. */
export const MAX_JOURNAL_BYTES = 1024 * 1024 * 1024

/** Descriptors that the sandbox's creator hands down: the listening socket and the journal. */
export const LISTEN_FD = 3
export const JOURNAL_FD = 4

/** Inside the sandbox: where the way out stands, and where the supervisor offers it on loopback. */
export const PROXY_SOCKET = '/run/berth/proxy.sock'
export const PROXY_PORT = 3128
