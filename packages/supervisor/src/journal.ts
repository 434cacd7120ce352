import { JournalFile, type JournalPlace } from './journal-file.ts'
import { LineSplitter } from './line-splitter.ts'
import {
  keyedRecordTypes,
  MAX_JOURNAL_BYTES,
  MAX_KEY_LENGTH,
  type RecordType,
  type SupervisorSignal,
  type TimedRecordType,
} from './protocol.ts'

const SPACE = Buffer.from(' ')
const NEWLINE = Buffer.from('\n')
const NEWLINE_BYTE = 0x0a
const READ_BYTES = 256 * 1024
/** No beginning of a record with its key is longer: four bytes a character, the type and two spaces. */
const MAX_KEYED_BYTES = 4 * MAX_KEY_LENGTH + 3
/** Last records are few and short. Beyond this size, a worker that keeps asking a sealed journal gets no answer. */
const MAX_LAST_BYTES = 64 * 1024

/** Encodes a record as the journal stores it. `payload` contains no newline. */
export function encodeRecord(type: RecordType, ...payload: readonly (Buffer | string)[]): Buffer {
  const parts = payload.map(part => (typeof part === 'string' ? Buffer.from(part) : part))
  return Buffer.concat([Buffer.from(type), SPACE, ...parts, NEWLINE])
}

/** Encodes a record with the current time. */
export function encodeTimedRecord(type: TimedRecordType, payload: Buffer | string, key?: string): Buffer {
  return encodeRecord(type, key === undefined ? '' : `${key} `, `${Date.now()} `, payload)
}

/** Why a journal refuses records: it is full, or a write failed with `error`. */
export interface Seal {
  readonly signal: Extract<SupervisorSignal, 'JOURNAL_FULL' | 'JOURNAL_FAILED'>
  readonly error?: string
}

/**
 * The file that records everything between worker and agent, and the only source of a worker's reads. Writes are
 * synchronous, so a record is in the file before anything that follows from it happens. Of the part that a worker has
 * committed, only the part that the next worker must read again is kept.
 *
 * Invariant: `size` and the start of the kept part are always record boundaries. A write that fails half-way is cut
 * back and seals the journal. From then on it accepts only last records: the agent's end and refused starts. They live
 * in memory, after the file, so a worker learns of a full disk although nothing can be written to it.
 *
 * Only this process reads the file, and the sandbox ends with this process, so the state that a kill leaves in the file
 * does not matter. Another process goes on with the file only if this one has said where it stands (`place`), and has written
 * nothing since.
 */
export class Journal {
  readonly #file: JournalFile
  readonly #maxBytes: number
  #last: Buffer = Buffer.alloc(0)
  #acknowledged = 0
  #seal: Seal | undefined
  /** Called after every growth. */
  onGrowth: () => void = () => {}
  /** Called once, when the journal is sealed. */
  onSeal: (seal: Seal) => void = () => {}

  /** @param at where a process before this one has left the file */
  constructor(fd: number, maxBytes = MAX_JOURNAL_BYTES, at?: JournalPlace) {
    this.#file = new JournalFile(fd, { at })
    this.#maxBytes = maxBytes
  }

  /** The offset after the last record. */
  get size(): number {
    return this.#file.end + this.#last.length
  }

  get seal(): Seal | undefined {
    return this.#seal
  }

  /** Where the file stands. It is all of the journal unless that is sealed. */
  get place(): JournalPlace {
    return this.#file.place
  }

  /** Returns the keys of all records that are kept. */
  keys(): Set<string> {
    const found = new Set<string>()
    const keyed: readonly string[] = keyedRecordTypes
    const lines = new LineSplitter(MAX_KEYED_BYTES, line => {
      const [type = '', key] = line.toString().split(' ', 2)
      if (key !== undefined && keyed.includes(type)) found.add(key)
    })
    const { start, end } = this.#file
    for (let at = start; at < end; ) {
      const bytes = this.read(at, READ_BYTES)
      if (bytes.length === 0) break
      lines.push(bytes)
      at += bytes.length
    }
    return found
  }

  get unacknowledgedBytes(): number {
    return this.size - this.#acknowledged
  }

  /** Records how far a worker has committed; never moves back, and never past the end. */
  acknowledge(offset: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, Math.min(offset, this.size))
  }

  /** Forgets the records before an offset, because no worker will read them again. */
  forget(offset: number): void {
    if (offset > this.#file.start && this.isBoundary(offset)) this.#file.forget(offset)
  }

  /**
   * Appends whole records at once. @returns false if the journal is sealed, or this write sealed it: nothing was added
   */
  append(records: Buffer): boolean {
    if (this.#seal) return false
    if (this.#file.fileBytes + records.length > this.#maxBytes) return this.#sealWith({ signal: 'JOURNAL_FULL' })
    try {
      this.#file.append(records)
    } catch (error) {
      return this.#sealWith({ signal: 'JOURNAL_FAILED', error: errorCode(error) })
    }
    this.onGrowth()
    return true
  }

  /** Appends a record that a worker must see even if the journal is sealed. */
  appendLast(record: Buffer): void {
    if (this.append(record) || this.#last.length + record.length > MAX_LAST_BYTES) return
    this.#last = Buffer.concat([this.#last, record])
    this.onGrowth()
  }

  /**
   * Reads up to `maxBytes` from an offset that is still kept. The result ends between two records, unless a single
   * record is longer than that.
   */
  read(offset: number, maxBytes: number): Buffer {
    const { end } = this.#file
    if (offset >= end) return this.#last.subarray(offset - end)
    const bytes = this.#file.read(offset, Buffer.allocUnsafe(Math.min(maxBytes, end - offset)))
    const boundary = bytes.lastIndexOf(NEWLINE_BYTE) + 1
    return boundary > 0 ? bytes.subarray(0, boundary) : bytes
  }

  /** Returns true if a worker may read from this offset: it lies between two records, and the journal still has it. */
  isBoundary(offset: number): boolean {
    const { start, end } = this.#file
    if (offset === start) return true
    if (!Number.isSafeInteger(offset) || offset < start || offset > this.size) return false
    if (offset > end) return this.#last[offset - end - 1] === NEWLINE_BYTE
    return this.#file.read(offset - 1, Buffer.alloc(1))[0] === NEWLINE_BYTE
  }

  #sealWith(seal: Seal): false {
    this.#seal = seal
    this.onSeal(seal)
    return false
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
