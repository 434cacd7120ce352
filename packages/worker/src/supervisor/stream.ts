import {
  type KeyedRecordType,
  keyedRecordTypes,
  MAX_KEY_LENGTH,
  MAX_MESSAGE_BYTES,
  type RecordType,
  recordTypes,
  type TimedRecordType,
  timedRecordTypes,
} from '@berth/supervisor'
import { SupervisorProtocolError } from './errors.ts'

const NEWLINE = 0x0a
const SPACE = 0x20
const MAX_GREETING_BYTES = 1024
/** The longest record of an honest supervisor: a whole message behind its key. */
const MAX_RECORD_BYTES = MAX_MESSAGE_BYTES + MAX_KEY_LENGTH + 32

interface Position {
  /** Offsets of the record's first byte and of the byte after its newline. Commit `end`. */
  readonly start: number
  readonly end: number
  /** The bytes after type, key and time; an agent may write any. */
  readonly payload: Buffer
}

interface Keyed {
  readonly key: string
}

interface Timed {
  /** Time inside the sandbox. */
  readonly at: Date
}

/** One record of a sandbox's journal. */
export type JournalRecord = {
  readonly [Type in RecordType]: Position & { readonly type: Type } & (Type extends KeyedRecordType
      ? Keyed
      : { readonly key?: undefined }) &
    (Type extends TimedRecordType ? Timed : { readonly at?: undefined })
}[RecordType]

/** Receives a supervisor's output in order: the greeting once, then records and answers to pings. */
export interface SupervisorSink {
  greeting(line: string): void
  record(record: JournalRecord): void
  pong(n: number): void
}

/**
 * Splits a supervisor's bytes into greeting, records and pongs. Buffers at most one record; payloads are views of the
 * chunks they came in.
 */
export class SupervisorStream {
  readonly #sink: SupervisorSink
  #offset: number
  #greeted = false
  #parts: Buffer[] = []
  #heldBytes = 0

  constructor(from: number, sink: SupervisorSink) {
    this.#offset = from
    this.#sink = sink
  }

  /** @throws SupervisorProtocolError */
  push(chunk: Buffer): void {
    let start = 0
    for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, newline))
      this.#take()
      start = newline + 1
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  #hold(bytes: Buffer): void {
    this.#heldBytes += bytes.length
    if (this.#heldBytes > (this.#greeted ? MAX_RECORD_BYTES : MAX_GREETING_BYTES)) {
      throw new SupervisorProtocolError('the supervisor sent an over-long record')
    }
    this.#parts.push(bytes)
  }

  #take(): void {
    const [only] = this.#parts
    const line = only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts, this.#heldBytes)
    this.#parts = []
    this.#heldBytes = 0
    if (!this.#greeted) {
      this.#greeted = true
      this.#sink.greeting(line.toString())
    } else if (line[0] === 0x70 && line[1] === SPACE) {
      this.#sink.pong(Number(line.toString('latin1', 2)))
    } else {
      this.#sink.record(this.#record(line))
    }
  }

  #record(line: Buffer): JournalRecord {
    const type = recordTypes.find(candidate => candidate.charCodeAt(0) === line[0])
    if (!type || line[1] !== SPACE) throw new SupervisorProtocolError('the supervisor sent an unknown record')
    const start = this.#offset
    const end = start + line.length + 1
    this.#offset = end
    const fields = new Fields(line.subarray(2))
    const key = isOneOf(keyedRecordTypes, type) ? fields.take() : undefined
    const at = isOneOf(timedRecordTypes, type) ? readTime(fields.take()) : undefined
    // The two lists above decide which types have a key or a time, and so does the type of a record.
    return {
      type,
      start,
      end,
      payload: fields.rest,
      ...(key !== undefined && { key }),
      ...(at && { at }),
    } as JournalRecord
  }
}

/** Takes leading words off a record's payload. */
class Fields {
  rest: Buffer

  constructor(payload: Buffer) {
    this.rest = payload
  }

  take(): string {
    const space = this.rest.indexOf(SPACE)
    if (space === -1) throw new SupervisorProtocolError('the supervisor sent a record without its key or time')
    const field = this.rest.toString('latin1', 0, space)
    this.rest = this.rest.subarray(space + 1)
    return field
  }
}

/** The largest time that a `Date` can hold. */
const MAX_TIME_MS = 8.64e15

function readTime(field: string): Date {
  const ms = Number(field)
  if (!/^\d+$/.test(field) || ms > MAX_TIME_MS) {
    throw new SupervisorProtocolError('the supervisor sent a record with an invalid time')
  }
  return new Date(ms)
}

function isOneOf(types: readonly RecordType[], type: RecordType): boolean {
  return types.includes(type)
}
